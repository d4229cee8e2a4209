"""Decides by Kafka's rules whom a partition without a leader may elect, and which offsets that loses at least and at most.

With acks=all a record is acknowledged once every member of the ISR has it, and who leaves the ISR for the ELR keeps that:
a member of the controller's last ISR or ELR that lost no data has every acknowledged record, and so has the last known leader.
A record is known by its offset and leader epoch; below a high watermark all is committed.  No more is taken for known.

Source: Partition.scala (maybeIncrementLeaderHW), KIP-966, KIP-101; `tests/checker/test_rescue.py` holds it to reachable states.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from neverlost.specs.inputs.replica_files import ReplicaFiles

WENT = ("up", "clean", "killed", "power", "disk", "cut", "unknown")
"""How a broker went; `up`: it runs and never went."""

INTACT = ("up", "clean", "killed", "cut")
"""Ways to go that take nothing from the log."""

ELECT, WAIT, UNKNOWN = "elect", "wait", "unknown"


@dataclass(frozen=True)
class OfflinePartition:
    """What is known of the partition: the controller's last record, how each broker went, and the replicas' files."""

    replicas: tuple[int, ...]
    isr: tuple[int, ...]
    elr: tuple[int, ...]
    last_known_elr: tuple[int, ...]
    went: Mapping[int, str]
    files: Mapping[int, ReplicaFiles]

    @property
    def members(self) -> tuple[int, ...]:
        """Who had every acknowledged record when the controller wrote last."""
        return tuple(dict.fromkeys((*self.isr, *self.elr))) or self.last_known_elr

    def is_intact(self, broker: int) -> bool:
        """Return True if a broker has lost no data, for all that is known."""
        return self.went.get(broker, "unknown") in INTACT


@dataclass(frozen=True)
class OffsetRange:
    """Offsets from `first` to before `end`; None: there is no telling where it ends."""

    first: int
    end: int | None


@dataclass(frozen=True)
class Candidate:
    """What is lost if one replica is elected.

    `at_least` are committed offsets, `at_most` offsets that may have been acknowledged; None where there are none.  `truncates`
    says at which offset the log of each other replica ends afterwards.  With a `problem` the files cannot be believed.
    """

    broker: int
    at_least: OffsetRange | None
    at_most: OffsetRange | None
    truncates: Mapping[int, int]
    problem: str | None = None

    @property
    def loses_nothing(self) -> bool:
        """True if in every state that fits it has all that was acknowledged."""
        return self.problem is None and self.at_most is None


@dataclass(frozen=True)
class RescueAdvice:
    """What to do.  `says` is to elect the `broker`, to wait for it, or that its log would have to be known."""

    says: str
    broker: int | None
    candidates: tuple[Candidate, ...]


def find_common_end(one: ReplicaFiles, other: ReplicaFiles) -> int:
    """Return up to which offset two logs have the same records, by their leader epochs; what only one has deleted counts."""
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
    """Return what to do."""
    usable = [each for each in seen.files.values() if each.problem is None and each.broker in seen.replicas]
    candidates = tuple(_judge(seen, usable, each) for each in seen.files.values())
    order = [*seen.members, *seen.replicas]
    safe = [each.broker for each in candidates if each.loses_nothing]
    if safe:
        return RescueAdvice(ELECT, min(safe, key=order.index), candidates)
    known = {each.broker for each in candidates if each.problem is None}
    missing = [each for each in seen.members or seen.replicas if each not in known and seen.went.get(each) != "disk"]
    whole = [each for each in missing if each not in seen.files and seen.members and seen.is_intact(each)]
    if whole:
        return RescueAdvice(WAIT, whole[0], candidates)
    if missing or not known:
        return RescueAdvice(UNKNOWN, missing[0] if missing else None, candidates)
    ends = {each.broker: (each.epochs[-1][0] if each.epochs else -1, each.end) for each in usable}
    best = min(
        (each for each in candidates if each.problem is None), key=lambda each: (_size(each), *_negative(ends[each.broker]))
    )
    return RescueAdvice(ELECT, best.broker, candidates)


def _negative(end: tuple[int, int]) -> tuple[int, int]:
    return -end[0], -end[1]


def _size(each: Candidate) -> float:
    if each.at_most is None:
        return 0
    return float("inf") if each.at_most.end is None else each.at_most.end - each.at_most.first


def _judge(seen: OfflinePartition, usable: Sequence[ReplicaFiles], log: ReplicaFiles) -> Candidate:
    broker, problem = log.broker, log.problem
    if broker not in seen.replicas:
        problem = f"broker {broker} has no replica of the partition (its replicas: {', '.join(map(str, seen.replicas))})"
    if problem is not None:
        return Candidate(broker, None, OffsetRange(0, None), {}, problem)
    common = {each.broker: find_common_end(log, each) for each in usable}
    least = _find_least(usable, log, common)
    most = _find_most(seen, usable, log, common)
    truncates = {other: end for other, end in common.items() if other != broker}
    if least is not None and (most is None or (most.end is not None and least.end is not None and least.end > most.end)):
        said = f"offset {least.first} was committed and broker {broker} lacks it, though"
        why = f"{said} its controller's record and how brokers went say otherwise; look again at --describe and --went"
        return Candidate(broker, least, OffsetRange(least.first, None), truncates, why)
    return Candidate(broker, least, most, truncates)


def _find_least(usable: Sequence[ReplicaFiles], log: ReplicaFiles, common: Mapping[int, int]) -> OffsetRange | None:
    """Return the committed offsets that a log lacks for certain: below a high watermark, and not shared or beyond its end."""
    found = []
    for each in usable:
        high = each.high_watermark or 0
        found.append(OffsetRange(common[each.broker], min(high, each.end)))
        found.append(OffsetRange(log.end, high))
    best = max(found, key=lambda each: (each.end or 0) - each.first)
    return best if (best.end or 0) > best.first else None


def _find_most(
    seen: OfflinePartition, usable: Sequence[ReplicaFiles], log: ReplicaFiles, common: Mapping[int, int]
) -> OffsetRange | None:
    """Return the offsets that may have been acknowledged and that a log may lack."""
    members = [each for each in usable if each.broker in seen.members and seen.is_intact(each.broker)]
    if members:
        ranges = [OffsetRange(common[each.broker], each.end) for each in members]
        best = min(ranges, key=lambda each: (each.end or 0) - each.first)
        return best if (best.end or 0) > best.first else None
    shared = [min(common[each.broker], each.high_watermark or 0) for each in usable]
    return OffsetRange(max(shared), None)
