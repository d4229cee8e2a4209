"""Decides by Kafka's rules whom a partition without a leader may elect, and which offsets that loses at least and at most.

With acks=all a record is acknowledged once every member of the ISR has it, and who leaves the ISR for the ELR keeps that:
a member of the controller's last ISR or ELR that lost no data has every acknowledged record, and so has the last known leader.
As many replicas have it as the ISR had to have, so it is in one of the logs that are seen and whole if fewer are missing; with
acks=1 that is one.  A record is known by its offset and leader epoch; below a high watermark all is committed.

Source: Partition.scala (maybeIncrementLeaderHW), KIP-966, KIP-101; `tests/checker/test_rescue.py` holds it to reachable states.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from neverlost.specs.inputs.replica_files import ReplicaFiles

ELECT, WAIT, UNKNOWN = "elect", "wait", "unknown"

POWER, DISK_GONE = "power", "disk-gone"
INTACT = ("up", "clean", "killed", "cut-off")
"""Ways in which a broker may have gone that take nothing from its log; `up`: it runs and never went."""

WENT = (*INTACT, POWER, DISK_GONE, UNKNOWN)
"""How a broker went, since it was in the ISR for the last time."""


@dataclass(frozen=True)
class OfflinePartition:
    """What the operator knows: the controller's last record, how each broker went, and the files of the replicas.

    `min_isr` is what min.insync.replicas was while the records were written.  With `is_flushed` each record was on disk
    before it was acknowledged.
    """

    replicas: tuple[int, ...]
    isr: tuple[int, ...]
    elr: tuple[int, ...]
    last_known_elr: tuple[int, ...]
    went: Mapping[int, str]
    files: Mapping[int, ReplicaFiles]
    acks: str = "all"
    min_isr: int = 1
    is_flushed: bool = False

    @property
    def copies(self) -> int:
        """On how many replicas an acknowledged record was, at least: with acks=all `min_isr`, with acks 0 or 1 one."""
        return 1 if self.acks in ("0", "1") else self.min_isr

    @property
    def members(self) -> tuple[int, ...]:
        """Who had every acknowledged record when the controller wrote last: ISR and ELR; if both are empty, last known ELR."""
        return tuple(dict.fromkeys((*self.isr, *self.elr))) or self.last_known_elr

    def is_intact(self, broker: int) -> bool:
        """Return True if the way in which a broker went took no data, and its files, if they are there, do not show a loss."""
        return self.is_said_intact(broker) and not self.is_cut(broker)

    def is_said_intact(self, broker: int) -> bool:
        """Return True if the way in which a broker went took no data (power: if `is_flushed`); False if it is unknown."""
        went = self.went.get(broker, UNKNOWN)
        return went in INTACT or (self.is_flushed and went == POWER)

    def is_cut(self, broker: int) -> bool:
        """Return True if there are files of a broker and its log ends below its high watermark: then it has lost data."""
        log = self.files.get(broker)
        return log is not None and (log.high_watermark or 0) > log.end


@dataclass(frozen=True)
class OffsetRange:
    """Offsets from `first` to before `end`; if `end` is None, it is not known where they end."""

    first: int
    end: int | None

    @property
    def size(self) -> float:
        return float("inf") if self.end is None else max(0, self.end - self.first)

    def intersect(self, other: OffsetRange) -> OffsetRange:
        ends = [each.end for each in (self, other) if each.end is not None]
        return OffsetRange(max(self.first, other.first), min(ends, default=None))


@dataclass(frozen=True)
class Candidate:
    """What the election of one replica loses: ranges of offsets, each None where there are none.

    `at_least` are committed and lost for certain; `at_most` may have been acknowledged and may be lost; `may_have_read` may be
    lost, too, and consumers may have read them.  `truncates` has, for each other replica whose files are believed, the offset
    at which its log ends afterwards.  With a `problem` the replica's own files are not believed.
    """

    broker: int
    at_least: OffsetRange | None
    at_most: OffsetRange | None
    truncates: Mapping[int, int]
    problem: str | None = None
    may_have_read: OffsetRange | None = None

    @property
    def loses_nothing(self) -> bool:
        """True if its files can be believed and its election loses no offset that may have been acknowledged."""
        return self.problem is None and self.at_most is None


@dataclass(frozen=True)
class RescueAdvice:
    """What to do with `broker`: elect it, wait for it, or (`unknown`) read its log first; None: no log is left."""

    says: str
    broker: int | None
    candidates: tuple[Candidate, ...]


def find_common_end(one: ReplicaFiles, other: ReplicaFiles) -> int:
    """Return the offset before which two logs agree, by their leader epochs; what one of them has deleted counts as equal."""
    first = max((each.epochs[0][1] for each in (one, other) if each.epochs), default=0)
    shortest = min(one.end, other.end)
    steps = sorted({first, *(start for each in (one, other) for _, start in each.epochs)})
    for offset in steps:
        if first <= offset < shortest and _epoch_at(one, offset) != _epoch_at(other, offset):
            return offset
    return shortest


def _epoch_at(log: ReplicaFiles, offset: int) -> int:
    return max((epoch for epoch, start in log.epochs if start <= offset), default=-1)


def advise(seen: OfflinePartition) -> RescueAdvice:
    """Return the one broker to elect, to wait for, or whose log to read first, with what each candidate's election loses."""
    usable = [each for each in seen.files.values() if _find_problem(seen, each) is None]
    candidates = tuple(_judge(seen, usable, each) for each in seen.files.values())
    order = list(dict.fromkeys((*seen.members, *seen.replicas)))
    safe = [each.broker for each in candidates if each.loses_nothing]
    if safe:
        return RescueAdvice(ELECT, min(safe, key=order.index), candidates)
    known = {each.broker: each for each in candidates if each.problem is None}
    missing = [each for each in order if each not in known and seen.went.get(each) != DISK_GONE]
    whole = [each for each in missing if each not in seen.files and each in seen.members and seen.is_intact(each)]
    if whole and seen.acks == "all":
        return RescueAdvice(WAIT, whole[0], candidates)
    if missing or not known:
        return RescueAdvice(UNKNOWN, missing[0] if missing else None, candidates)
    return RescueAdvice(ELECT, find_least_bad(seen, candidates), candidates)


def find_least_bad(seen: OfflinePartition, candidates: Sequence[Candidate]) -> int | None:
    """Return who loses least, of equals who has the newest epoch, then the longest log; None if no files are believed."""

    def cost(each: Candidate) -> tuple[float, ...]:
        log = seen.files[each.broker]
        lost = [0 if one is None else one.size for one in (each.at_most, each.at_least)]
        return *lost, -(log.epochs[-1][0] if log.epochs else -1), -log.end

    best = min((each for each in candidates if each.problem is None), key=cost, default=None)
    return None if best is None else best.broker


def _find_problem(seen: OfflinePartition, log: ReplicaFiles) -> str | None:
    """Return why the files of a replica cannot be believed, so that nothing rests on them; None where they can."""
    if log.broker not in seen.replicas:
        return f"broker {log.broker} has no replica of the partition (its replicas: {', '.join(map(str, seen.replicas))})"
    if log.problem is None and seen.is_cut(log.broker) and seen.is_said_intact(log.broker):
        ends = f"its log ends at {log.end}, below its high watermark {log.high_watermark}, so it has lost data"
        return f"{ends}; take its files again, and if they stay so say how it lost them, such as --went {log.broker}={POWER}"
    return log.problem


def _judge(seen: OfflinePartition, usable: Sequence[ReplicaFiles], log: ReplicaFiles) -> Candidate:
    broker, problem = log.broker, _find_problem(seen, log)
    if problem is not None:
        return Candidate(broker, None, OffsetRange(0, None), {}, problem)
    common = {each.broker: find_common_end(log, each) for each in usable}
    least, within = _find_least(usable, log, common), _find_members_range(seen, usable, common)
    known = OffsetRange(max(min(common[each.broker], each.high_watermark or 0) for each in usable), None)
    read = within.intersect(known)
    most = (read if seen.acks == "all" else known).intersect(_find_copies_range(seen, usable, common))
    truncates = {other: end for other, end in common.items() if other != broker}
    if least is not None and least.intersect(within) != least:
        said = f"offset {least.first} was committed and broker {broker} lacks it, though"
        why = f"{said} its controller's record and how brokers went say otherwise; look again at --describe and --went"
        return Candidate(broker, least, OffsetRange(least.first, None), truncates, why)
    return Candidate(broker, least, most if most.size else None, truncates, may_have_read=read if read.size else None)


def _find_least(usable: Sequence[ReplicaFiles], log: ReplicaFiles, common: Mapping[int, int]) -> OffsetRange | None:
    """Return the longest range of committed offsets that `log` lacks for certain: offsets below some replica's high watermark
    that are beyond the end of `log`, or where it differs from that replica; None without one."""
    found = []
    for each in usable:
        high = each.high_watermark or 0
        found.append(OffsetRange(common[each.broker], min(high, each.end)))
        found.append(OffsetRange(log.end, high))
    best = max(found, key=lambda each: each.size)
    return best if best.size else None


def _find_members_range(seen: OfflinePartition, usable: Sequence[ReplicaFiles], common: Mapping[int, int]) -> OffsetRange:
    """Return the range of the committed offsets that a log may lack, by the members that lost nothing and whose files are seen:
    from where it no longer agrees with any of them to where they no longer agree; without such members every offset."""
    members = [each for each in usable if each.broker in seen.members and seen.is_intact(each.broker)]
    if not members:
        return OffsetRange(0, None)
    shared = min(find_common_end(one, other) for one in members for other in members)
    return OffsetRange(max(common[each.broker] for each in members), shared)


def _find_copies_range(seen: OfflinePartition, usable: Sequence[ReplicaFiles], common: Mapping[int, int]) -> OffsetRange:
    """Return the range of acknowledged offsets that a log may lack: what intact logs have and it has not, or every offset if
    at least `copies` replicas are not seen intact."""
    whole = [each for each in usable if seen.is_intact(each.broker)]
    if len(seen.replicas) - len(whole) >= seen.copies:
        return OffsetRange(0, None)
    more = [OffsetRange(common[each.broker], each.end) for each in whole if each.end > common[each.broker]]
    return OffsetRange(min((each.first for each in more), default=0), max((each.end or 0 for each in more), default=0))
