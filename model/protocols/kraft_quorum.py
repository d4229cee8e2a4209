"""kraft-quorum: the controllers' own log, whose loss is a loss of metadata."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from neverlost.model.faults import LEADER_MOVE, MAJORITY_FAULTS
from neverlost.model.kernel import Configuration, Field, Model, Sizes, flag, number, replica_id
from neverlost.model.limits import AT_ONCE, Limits, contradiction, left, limit_fields, limit_of, limits_of
from neverlost.model.quorum import changes, mechanisms, membership, roles, snapshots, stops, voters
from neverlost.model.snapshot import DOWN, FOLLOWER, LEADER, STALE_LEADER, WAITING, BrokerView, ClusterSnapshot, members, named

FAULTS = tuple(each for each in MAJORITY_FAULTS if each is not LEADER_MOVE)
"""What may go wrong; that a voter misses its leader is none, since every message may be late."""


@dataclass(frozen=True)
class QuorumSizes(Sizes):
    """Lengths of the axes, and which parts of the protocol exist.

    A log has room for every record, for the first entry of each epoch's leader (epoch 0 has none), and for changes of voters.
    """

    replica: int
    record: int
    epoch: int
    follower_flushes: bool
    leader_flushes: bool
    directory_ids: bool
    more_than_half: bool
    snapshots: bool
    change: int
    limits: Limits

    is_impaired = staticmethod(stops.is_impaired)

    @property
    def offset(self) -> int:
        """How many slots a log has."""
        return self.record + self.epoch - 1 + self.change

    @property
    def one_is_enough(self) -> bool:
        """True if a leader may be enough alone to commit: of one voter, of two if half is enough, or if voters may change."""
        return self.change > 0 or self.replica == 1 or (self.replica == 2 and not self.more_than_half)

    @property
    def voter_set(self) -> int:
        """How many sets of voters there are: the first one, and one for each change."""
        return self.change + 1

    @property
    def directory(self) -> bool:
        """True if the state has each controller's directory: where there are directory ids and voters may change."""
        return self.directory_ids and self.change > 0

    @property
    def flushed_end(self) -> bool:
        """True if a log may have a part that is not on disk."""
        return not (self.follower_flushes and self.leader_flushes)

    @property
    def kept(self) -> int:
        """How many lengths a power loss may leave a log: 0 to `offset` - 1, and `offset` where losing nothing is a step."""
        return self.offset + self.limits.harmless_losses

    @property
    def has_impaired(self) -> bool:
        """True if a limit of faults counts impaired controllers."""
        return self.limits.has_at_once or bool(self.limits.marked)


def sizes(configuration: Configuration) -> QuorumSizes:
    """Return the sizes that a configuration needs."""
    return QuorumSizes(
        replica=configuration["replication.factor"] + configuration["quorum.observers"],
        record=configuration["bounds.records"],
        epoch=configuration["bounds.max_leader_epoch"] + 1,
        follower_flushes=configuration[mechanisms.FLUSH_BEFORE_FETCH.key],
        leader_flushes=configuration[mechanisms.FLUSH_BEFORE_COMMIT.key],
        directory_ids=configuration[mechanisms.DIRECTORY_IDS.key],
        more_than_half=configuration[mechanisms.MAJORITY_QUORUM.key],
        snapshots=configuration[mechanisms.SNAPSHOTS.key],
        change=configuration["bounds.voter_changes"],
        limits=limits_of(configuration, FAULTS),
    )


def fields(configuration: Configuration) -> tuple[Field, ...]:
    """Return the variables that a configuration needs, grouped by where they are kept."""
    size = sizes(configuration)
    last_epoch = size.epoch - 1
    last_content = size.record + last_epoch + size.change
    directories = membership.NEXT_DIRECTORY if size.directory else membership.FIRST_DIRECTORY
    return (
        *[flag(each.flag, frozen=True) for each in mechanisms.READ],
        # on disk: the log, and quorum-state
        number("log_record", 0, last_content, "replica", "offset"),
        *([number("flushed_end", 0, size.offset, "replica")] if size.flushed_end else []),
        number("epoch", 0, last_epoch, "replica"),
        replica_id("voted_for", size.replica, "replica"),
        replica_id("leader", size.replica, "replica"),
        *([number("log_start", 0, size.offset, "replica")] if size.snapshots else []),
        *([number("snapshot_end", 0, size.offset, "replica")] if size.snapshots else []),
        *([flag("is_voter", "replica")] if size.directory_ids and not size.change else []),
        *([number("directory", 1, directories, "replica")] if size.directory else []),
        # in memory
        flag("is_running", "replica"),
        number("role", roles.FOLLOWER, roles.LEADER, "replica"),
        flag("has_vote", "replica", "replica"),
        number("fetch_offset", 0, size.offset, "replica", "replica"),
        number("high_watermark", 0, size.offset, "replica"),
        # clients and ghosts
        number("next_record", 0, size.record),
        number("record_epoch", 0, last_epoch, "record"),
        *([number("next_change", 0, size.change)] if size.change else []),
        *([number("change_epoch", 0, last_epoch, "change")] if size.change else []),
        *([number("voter_set", 0, directories, "voter_set", "replica")] if size.change else []),
        flag("ghost_acked", "record"),
        *([flag("ghost_lost_data", "replica")] if size.has_impaired else []),
        *limit_fields(configuration, FAULTS),
    )


def initial(configuration: Configuration) -> list[dict[str, Any]]:
    """Return the one initial state: controllers that were just formatted and started, in epoch 0 and without a leader."""
    size = sizes(configuration)
    voting = [int(each < configuration["replication.factor"]) for each in range(size.replica)]
    sets = [voting] + [[0] * size.replica] * size.change
    return [{"is_running": True, "is_voter": True, "directory": 1, "voter_set": sets, **left(configuration, FAULTS)}]


def contradiction_of(configuration: Configuration) -> str | None:
    """Return what is wrong with keys together, or None; controllers that do not vote need changes of voters that admit them."""
    observers = configuration["quorum.observers"]
    if observers and not configuration["bounds.voter_changes"]:
        return f"quorum.observers={observers}: nothing makes them voters; set bounds.voter_changes too"
    return contradiction(configuration)


def first_change_of(values: Mapping[str, Any]) -> int:
    """Return the number that stands in a log for the first change of voters; the next ones stand for later changes."""
    sets = values.get("change_epoch", ())
    contents = len(values["log_record"][0])
    return contents - len(sets) + 1


def epoch_of_entry(values: Mapping[str, Any], content: int) -> int:
    """Return the epoch in which an entry was appended, by the number that stands for it in a log."""
    records, change = len(values["record_epoch"]), content - first_change_of(values)
    if content <= records:
        return int(values["record_epoch"][content - 1])
    return int(values["change_epoch"][change]) if change >= 0 else content - records


def snapshot_drawn(values: Mapping[str, Any], voter: int) -> tuple[str, ...]:
    """Return where a controller's snapshot ends and its log begins, as a note; empty if both are 0 or not modelled."""
    if "snapshot_end" not in values or not (values["snapshot_end"][voter] or values["log_start"][voter]):
        return ()
    return (f"snapshot to {values['snapshot_end'][voter]}, log from {values['log_start'][voter]}",)


def changes_drawn(values: Mapping[str, Any]) -> tuple[str, ...]:
    """Return a note for each set of voters that was appended: the number of its entry, and who votes, counted from 1."""
    first, made = first_change_of(values), values.get("next_change", 0)
    sets = enumerate(values.get("voter_set", ())[1 : made + 1])
    return tuple(
        f"m{first + change}: the voters are {','.join(str(each + 1) for each, number in enumerate(members) if number)}"
        for change, members in sets
    )


def portrait(values: Mapping[str, Any]) -> ClusterSnapshot:
    """Return every controller with its log and epoch; there is no ISR."""
    records = len(values["record_epoch"])
    newest = max((e for e, r in zip(values["epoch"], values["role"], strict=True) if r == roles.LEADER), default=None)
    lanes = []
    for voter, log in enumerate(values["log_record"]):
        follows, is_running, epoch = values["leader"][voter], values["is_running"][voter], values["epoch"][voter]
        leads = values["role"][voter] == roles.LEADER
        role = (LEADER if epoch == newest else STALE_LEADER) if leads else WAITING if follows in (-1, voter) else FOLLOWER
        asks = values["role"][voter] == roles.CANDIDATE
        lanes.append(
            BrokerView(
                broker=voter,
                role=role if is_running else DOWN,
                log=tuple((each, epoch_of_entry(values, each)) for each in log if each),
                high_watermark=values["high_watermark"][voter] if is_running else None,
                epoch=epoch,
                is_leader=role == LEADER,
                follows=named(follows),
                notes=(*(("candidate",) if asks else ()), *snapshot_drawn(values, voter)),
            )
        )
    return ClusterSnapshot(
        leader=next((each.broker for each in lanes if each.is_leader), None),
        epoch=newest,
        isr=(),
        lanes=tuple(lanes),
        acked=frozenset(number + 1 for number in members(values["ghost_acked"])),
        notes=(f"entries after m{records} are the first ones of leaders", *changes_drawn(values)),
        authority="quorum",
    )


MODEL = Model(
    name="kraft-quorum",
    summary="the controller quorum: KRaft's log of metadata, its elections, and what a lost directory does to them",
    keys=(
        "replication.factor",
        "quorum.observers",
        *[each.key for each in FAULTS],
        AT_ONCE,
        "bounds.records",
        "bounds.max_leader_epoch",
        "bounds.voter_changes",
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
        changes.leader_add_voter,
        changes.leader_remove_voter,
        changes.leader_resign,
        snapshots.controller_snapshot,
        snapshots.controller_delete_prefix,
        snapshots.follower_load_snapshot,
        snapshots.controller_crash_losing_snapshot,
    ),
    guarantees=("quorum-keeps-acked", "one-leader-per-epoch", "votes-once-per-epoch", "log-matching"),
    frozen={
        **{each.flag: (lambda key: lambda c: int(c[key]))(each.key) for each in mechanisms.READ},
        **{each.limit: limit_of(each) for each in FAULTS},
        "at_once": lambda c: c[AT_ONCE],
    },
    defaults={each.key: each not in mechanisms.LATER for each in mechanisms.QUORUM_MECHANISMS}
    | {"bounds.records": 1, "bounds.max_leader_epoch": 3},
    contradiction=contradiction_of,
    normalise=stops.settle,
    portrait=portrait,
    source="KIP-595, KIP-853, KIP-996; KafkaRaftClient, QuorumState",
)
