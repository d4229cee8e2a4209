"""What a state looks like to those who run Kafka: plain data for the pictures and the sentences, from plain state values.

Brokers are numbers of the model here; `neverlost.model.sentences` puts them into words, under the names that their user has
for them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

Log = tuple[tuple[int, int | None], ...]
"""Records with their leader epochs (None where the model does not number them), by offset."""

LEADER, STALE_LEADER, FOLLOWER, WAITING, DOWN = "leader", "stale leader", "follower", "without leader", "down"
REMOVED = "no replica"
"""Roles.  A stale leader believes it is leader, but not by the newest decision of the controller or quorum."""

STALE, NOT_APPLIED = "has stale metadata", "has not applied its leadership yet"
"""How far behind the controller the current leader is."""


@dataclass(frozen=True)
class BrokerView:
    """One broker: what it is and holds and, if it believes it is leader, what it knows.

    `isr` is the ISR that it knows, `pending` the ISR change of its AlterPartition request (`add` or `remove`, and the
    replica), `fetched` the fetch offsets beyond its high watermark that it remembers of its followers.
    """

    broker: int
    role: str
    log: Log
    high_watermark: int | None = None
    epoch: int | None = None
    isr: tuple[int, ...] | None = None
    is_leader: bool = False
    follows: int | None = None
    pending: tuple[str, int] | None = None
    fetched: tuple[tuple[int, int], ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def log_end_offset(self) -> int:
        """The offset after the last record."""
        return len(self.log)

    @property
    def records(self) -> frozenset[int]:
        """The records of the log, by their numbers."""
        return frozenset(record for record, _ in self.log)

    def has_fetched(self, follower: BrokerView, offset: int) -> bool:
        """Return True if a follower's log is the same as this broker's up to an offset, which is left out."""
        return follower.log[:offset] == self.log[:offset]


@dataclass(frozen=True)
class ClusterSnapshot:
    """Controller and brokers at one moment.

    `authority` names what decides who leads; `acked` are the records that were acknowledged to the producer, `committed` those
    that consumers could read; `knowledge` says how the current leader is behind the controller (empty: it is not).
    """

    leader: int | None
    epoch: int | None
    isr: tuple[int, ...]
    lanes: tuple[BrokerView, ...]
    acked: frozenset[int] = frozenset()
    committed: frozenset[int] = frozenset()
    elr: tuple[int, ...] = ()
    last_known_leader: int | None = None
    fenced: tuple[int, ...] = ()
    adding: tuple[int, ...] = ()
    removing: tuple[int, ...] = ()
    min_isr: int | None = None
    knowledge: str = ""
    notes: tuple[str, ...] = ()
    authority: str = "controller"

    @property
    def promised(self) -> frozenset[int]:
        """The acknowledged and the committed records."""
        return self.acked | self.committed

    @property
    def metadata(self) -> ClusterSnapshot:
        """The snapshot with no brokers in `lanes`, to compare all the rest, acknowledged and committed records included."""
        return ClusterSnapshot(**{**vars(self), "lanes": ()})


def members(flags: list[Any]) -> tuple[int, ...]:
    """Return the numbers, from 0, of the replicas whose flag is set."""
    return tuple(number for number, is_set in enumerate(flags) if is_set)


def named(replica: int) -> int | None:
    """Return a replica-valued field as a broker number, or None for none."""
    return None if replica < 0 else replica


def log_of(values: Mapping[str, Any], replica: int) -> Log:
    """Return a replica's records with their epochs, up to its log end offset."""
    end = values["log_end_offset"][replica]
    pairs = zip(values["log_record"][replica], values["log_epoch"][replica], strict=True)
    return tuple((record, epoch) for record, epoch in list(pairs)[:end])
