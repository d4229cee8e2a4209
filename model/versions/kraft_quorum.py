"""kraft-quorum: the controllers' own log, whose loss is a loss of metadata."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from neverlost.model.kernel import Configuration, Field, Model, Sizes, flag, number, replica_id
from neverlost.model.kraft.faults import LEADER_MOVE, MAJORITY_FAULTS
from neverlost.model.limits import AT_ONCE, Limits, contradiction, left, limit_fields, limit_of, limits_of
from neverlost.model.quorum import mechanisms, roles, stops, voters
from neverlost.model.scene import DOWN, FOLLOWER, LEADER, STALE_LEADER, WAITING, Lane, Scene, members, named

FAULTS = tuple(each for each in MAJORITY_FAULTS if each is not LEADER_MOVE)
"""What may go wrong; that a voter misses its leader is none, since every message may be late."""


@dataclass(frozen=True)
class QuorumSizes(Sizes):
    """Lengths of the axes, and which parts of the protocol exist.

    A log has room for every record and for the entry with which the leader of each epoch begins.
    """

    replica: int
    record: int
    epoch: int
    majority: int
    follower_flushes: bool
    leader_flushes: bool
    directory_ids: bool
    limits: Limits

    is_impaired = staticmethod(stops.is_impaired)

    @property
    def offset(self) -> int:
        """Slots of a log."""
        return self.record + self.epoch - 1

    @property
    def flushed_end(self) -> bool:
        """Whether a log may have a part that is not on disk."""
        return not (self.follower_flushes and self.leader_flushes)

    @property
    def has_impaired(self) -> bool:
        """Whether a limit asks which controllers are impaired."""
        return self.limits.has_at_once or bool(self.limits.marked)


def sizes(configuration: Configuration) -> QuorumSizes:
    """The sizes that a configuration needs."""
    voters_ = configuration["replication.factor"]
    more_than_half = configuration[mechanisms.MAJORITY_QUORUM.key]
    return QuorumSizes(
        replica=voters_,
        record=configuration["bounds.records"],
        epoch=configuration["bounds.max_leader_epoch"] + 1,
        majority=voters_ // 2 + 1 if more_than_half else (voters_ + 1) // 2,
        follower_flushes=configuration[mechanisms.FLUSH_BEFORE_FETCH.key],
        leader_flushes=configuration[mechanisms.FLUSH_BEFORE_COMMIT.key],
        directory_ids=configuration[mechanisms.DIRECTORY_IDS.key],
        limits=limits_of(configuration, FAULTS),
    )


def fields(configuration: Configuration) -> tuple[Field, ...]:
    """Every variable, by where it is kept."""
    size = sizes(configuration)
    last_epoch = size.epoch - 1
    return (
        *[flag(each.flag, frozen=True) for each in mechanisms.READ],
        # on disk: the log, and quorum-state
        number("log_record", 0, size.record + last_epoch, "replica", "offset"),
        *([number("flushed_end", 0, size.offset, "replica")] if size.flushed_end else []),
        number("epoch", 0, last_epoch, "replica"),
        replica_id("voted_for", size.replica, "replica"),
        replica_id("leader", size.replica, "replica"),
        *([flag("is_voter", "replica")] if size.directory_ids else []),
        # in memory
        flag("is_running", "replica"),
        number("role", roles.FOLLOWER, roles.LEADER, "replica"),
        flag("has_vote", "replica", "replica"),
        number("fetch_offset", 0, size.offset, "replica", "replica"),
        number("high_watermark", 0, size.offset, "replica"),
        # clients and ghosts
        number("next_record", 0, size.record),
        number("record_epoch", 0, last_epoch, "record"),
        flag("ghost_acked", "record"),
        *([flag("ghost_lost_data", "replica")] if size.has_impaired else []),
        *limit_fields(configuration, FAULTS),
    )


def initial(configuration: Configuration) -> list[dict[str, Any]]:
    """Controllers that were just formatted and started: epoch 0, without a leader."""
    return [{"is_running": True, "is_voter": True, **left(configuration, FAULTS)}]


def portrait(values: Mapping[str, Any]) -> Scene:
    """Every controller with its log and epoch; there is no ISR."""
    records = len(values["record_epoch"])
    newest = max((e for e, r in zip(values["epoch"], values["role"], strict=True) if r == roles.LEADER), default=None)
    lanes = []
    for voter, log in enumerate(values["log_record"]):
        follows, is_running, epoch = values["leader"][voter], values["is_running"][voter], values["epoch"][voter]
        leads = values["role"][voter] == roles.LEADER
        role = (LEADER if epoch == newest else STALE_LEADER) if leads else WAITING if follows in (-1, voter) else FOLLOWER
        entries = ((each, values["record_epoch"][each - 1] if each <= records else each - records) for each in log if each)
        asks = values["role"][voter] == roles.CANDIDATE
        lanes.append(
            Lane(
                broker=voter,
                role=role if is_running else DOWN,
                log=tuple(entries),
                high_watermark=values["high_watermark"][voter] if is_running else None,
                epoch=epoch,
                is_leader=role == LEADER,
                follows=named(follows),
                notes=("candidate",) if asks else (),
            )
        )
    return Scene(
        leader=next((each.broker for each in lanes if each.is_leader), None),
        epoch=newest,
        isr=(),
        lanes=tuple(lanes),
        acked=frozenset(number + 1 for number in members(values["ghost_acked"])),
        notes=(f"entries after m{records} are the first ones of leaders",),
        authority="quorum",
    )


MODEL = Model(
    name="kraft-quorum",
    summary="the controller quorum: KRaft's log of metadata, its elections, and what a lost directory does to them",
    keys=(
        "replication.factor",
        *[each.key for each in FAULTS],
        AT_ONCE,
        "bounds.records",
        "bounds.max_leader_epoch",
        *[each.key for each in mechanisms.QUORUM_MECHANISMS],
    ),
    sizes=sizes,
    fields=fields,
    initial=initial,
    actions=(
        voters.candidate_begin_epoch,
        voters.voter_grant_vote,
        voters.voter_learn_epoch,
        voters.voter_follow,
        voters.controller_append,
        voters.leader_note_fetch,
        voters.follower_append,
        voters.follower_truncate,
        stops.controller_crash,
        stops.controller_crash_lossy,
        stops.controller_lose_disk,
        stops.controller_restart,
    ),
    guarantees=("quorum-keeps-acked", "one-leader-per-epoch", "votes-once-per-epoch", "log-matching"),
    frozen={
        **{each.flag: (lambda key: lambda c: int(c[key]))(each.key) for each in mechanisms.READ},
        **{each.limit: limit_of(each) for each in FAULTS},
        "at_once": lambda c: c[AT_ONCE],
    },
    defaults={each.key: each not in mechanisms.LATER for each in mechanisms.QUORUM_MECHANISMS}
    | {"bounds.records": 1, "bounds.max_leader_epoch": 3},
    contradiction=contradiction,
    normalise=stops.settle,
    portrait=portrait,
    source="KIP-595, KIP-853, KIP-996; KafkaRaftClient, QuorumState",
)
