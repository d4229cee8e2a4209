"""majority: the same producers and faults on a majority-quorum log, because every design review asks "why not just Raft?"."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from neverlost.model.faults import MAJORITY_FAULTS
from neverlost.model.kernel import Configuration, Field, Model, Sizes, flag, number, replica_id
from neverlost.model.kraft.state import ACKS, ELECTED, UP_TO_DATE
from neverlost.model.limits import AT_ONCE, Limits, contradiction, is_counted, left, limit_fields, limit_of, limits_of
from neverlost.model.majority import protocol as quorum_log
from neverlost.model.snapshot import DOWN, FOLLOWER, LEADER, STALE_LEADER, WAITING, BrokerView, ClusterSnapshot, members, named


@dataclass(frozen=True)
class MajoritySizes(Sizes):
    """Lengths of the axes, and what the limits of faults need.

    Where faults are counted every failure of a leader and every move brings a term; where they are not, terms are ranks:
    as many as can be distinguished, and one for the next election.
    """

    replica: int
    offset: int
    record: int
    term: int
    limits: Limits
    has_ranks: bool
    compares_logs: bool = True
    fenced_fetch: bool = True

    is_impaired = staticmethod(quorum_log.is_impaired)

    @property
    def has_impaired(self) -> bool:
        """True if a limit of faults counts impaired brokers."""
        return self.limits.has_at_once or bool(self.limits.marked)

    @property
    def kept(self) -> int:
        """How many lengths a power loss may leave a log: 0 to `offset` - 1, and `offset` where losing nothing is a step."""
        return self.offset + self.limits.harmless_losses

    @property
    def ballot(self) -> int:
        """How many sets of brokers there are, as bits; a ballot is one of them."""
        return 1 << self.replica


def sizes(configuration: Configuration) -> MajoritySizes:
    """Return the sizes that a configuration needs."""
    replicas, records = configuration["replication.factor"], configuration["bounds.records"]
    has_ranks = not all(is_counted(configuration, each) for each in MAJORITY_FAULTS)
    terms = replicas + records + 3 if has_ranks else 1 + sum(configuration[each.key] for each in MAJORITY_FAULTS)
    return MajoritySizes(replicas, records, records, terms, limits_of(configuration, MAJORITY_FAULTS), has_ranks)


def fields(configuration: Configuration) -> tuple[Field, ...]:
    """Return the variables that a configuration needs, grouped by who knows them."""
    size = sizes(configuration)
    replicas, records, last_term = size.replica, size.record, size.term - 1
    return (
        number("acks", 0, 2, frozen=True),
        flag("flushes_each_record", frozen=True),
        # what everyone could find out: who won the newest election, and whether it still runs
        replica_id("leader", replicas),
        number("leader_knows", ELECTED, UP_TO_DATE),
        number("newest_term", 0, last_term),
        # on disk
        number("log_record", 0, records, "replica", "offset"),
        number("term", 0, last_term, "replica"),
        # in memory
        flag("is_running", "replica"),
        replica_id("follows", replicas, "replica"),
        number("high_watermark", 0, records, "replica"),
        number("fetch_offset", 0, records, "replica", "replica"),
        # clients and ghosts
        number("next_record", 0, records),
        number("record_epoch", 0, last_term, "record"),
        flag("ghost_acked", "record"),
        number("ghost_committed", 0, records, "offset"),
        *([flag("ghost_lost_data", "replica")] if size.has_impaired else []),
        *limit_fields(configuration, MAJORITY_FAULTS),
    )


def initial(configuration: Configuration) -> list[dict[str, Any]]:
    """Return the one initial state: all run and follow broker 0, which leads; logs are empty."""
    return [{"leader": 0, "leader_knows": UP_TO_DATE, "is_running": True, "follows": 0, **left(configuration, MAJORITY_FAULTS)}]


def portrait(values: Mapping[str, Any]) -> ClusterSnapshot:
    """Return every broker with its log and term; there is no ISR."""
    epochs = values["record_epoch"]
    lanes = []
    for replica, log in enumerate(values["log_record"]):
        follows, is_running = values["follows"][replica], values["is_running"][replica]
        leads = follows == replica
        is_leader = leads and values["leader"] == replica
        role = LEADER if is_leader else STALE_LEADER if leads else WAITING if follows < 0 else FOLLOWER
        lanes.append(
            BrokerView(
                broker=replica,
                role=role if is_running else DOWN,
                log=tuple((record, epochs[record - 1]) for record in log if record),
                high_watermark=values["high_watermark"][replica] if is_running else None,
                epoch=values["term"][replica],
                is_leader=is_leader,
                follows=named(follows),
            )
        )
    return ClusterSnapshot(
        leader=named(values["leader"]),
        epoch=values["newest_term"],
        isr=(),
        lanes=tuple(lanes),
        acked=frozenset(number + 1 for number in members(values["ghost_acked"])),
        committed=frozenset(record for record in values["ghost_committed"] if record),
        authority="quorum",
    )


MODEL = Model(
    name="majority",
    summary="a majority-quorum log (Raft, KRaft's own log) with kraft's acks, kills, data losses, leader moves and guarantees",
    keys=("replication.factor", "acks", "flush.messages", *[each.key for each in MAJORITY_FAULTS], AT_ONCE, "bounds.records"),
    sizes=sizes,
    fields=fields,
    initial=initial,
    actions=(
        quorum_log.leader_append,
        quorum_log.leader_note_fetch,
        quorum_log.follower_take_response,
        quorum_log.follower_truncate,
        quorum_log.voters_replace_dead_leader,
        quorum_log.voters_replace_live_leader,
        quorum_log.broker_follow,
        quorum_log.broker_crash,
        quorum_log.broker_crash_lossy,
        quorum_log.broker_lose_disk,
        quorum_log.broker_restart,
    ),
    guarantees=("acked-never-lost", "committed-never-lost", "log-matching", "single-leader-per-epoch"),
    frozen={
        "acks": lambda c: min(ACKS[c["acks"]], ACKS["all"]),
        "flushes_each_record": lambda c: int(c["flush.messages"] == "1"),
        **{each.limit: limit_of(each) for each in MAJORITY_FAULTS},
        "at_once": lambda c: c[AT_ONCE],
    },
    contradiction=contradiction,
    normalise=quorum_log.settle,
    portrait=portrait,
    source="Raft (Ongaro and Ousterhout 2014); KIP-595",
)
