"""Which records a loss can take: a rule in words, derived from the steps of one counterexample."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from neverlost.checker.engine.outcome import Behaviour
from neverlost.model.faults import DISK_LOSS, LOSSY_CRASH, RACK_LOSS
from neverlost.model.sentences import Names, listed
from neverlost.model.snapshot import ClusterSnapshot
from neverlost.model.system import System


@dataclass(frozen=True)
class Affected:
    """Which acknowledged records can be lost, as a sentence, which is empty where nothing is said.  The flags say that these
    are records not fetched, or not flushed; both may be true, or neither."""

    says: str = ""
    is_unfetched: bool = False
    is_unflushed: bool = False


NOTHING_SAID = Affected()


def find_affected(
    system: System, trace: Behaviour, scenes: Sequence[ClusterSnapshot], lost: frozenset[int], names: Names
) -> Affected:
    """Return which acknowledged records can be lost as `lost` were; `NOTHING_SAID` unless the steps show one way for all."""
    leaders = [each.broker for each in scenes[-1].lanes if each.is_leader and not lost & each.records]
    if len(leaders) != 1 or not lost or not lost <= scenes[-1].acked:
        return NOTHING_SAID
    faults = [system.steps[number].action.fault for number in trace.steps]
    found = {_find_rule(faults, scenes, record, leaders[0], names) for record in lost}
    return found.pop() if len(found) == 1 else NOTHING_SAID


def _find_rule(
    faults: Sequence[str | None], scenes: Sequence[ClusterSnapshot], record: int, leader: int, names: Names
) -> Affected:
    """Return which records can be lost as this one was: any that a broker has not fetched or not flushed; by a lost disk, every
    one; if no log ever had it, any that has not reached the leader; `NOTHING_SAID` if the steps show none of these."""
    if not any(record in lane.records for scene in scenes for lane in scene.lanes):
        return Affected("That can be any record that has not reached the leader yet.")
    cause = _find_cause(faults, scenes, record, leader)
    if cause is None:
        return NOTHING_SAID
    broker, is_fetch = cause
    unflushed = sorted(_brokers_that_lost(faults, scenes, record, (LOSSY_CRASH.name, RACK_LOSS.name)))
    says = [f"broker {names[broker]} has not fetched"] if is_fetch else []
    if unflushed:
        has, its = ("s {} have", "their") if len(unflushed) > 1 else (" {} has", "its")
        says.append(f"broker{has.format(listed(unflushed, names))} appended since {its} last flush")
    if says:
        return Affected(f"That can be any acknowledged record that {' and '.join(says)}.", is_fetch, bool(unflushed))
    return Affected(
        f"That can be every acknowledged record, because broker {names[broker]} comes back with an empty directory."
    )


def _find_cause(
    faults: Sequence[str | None], scenes: Sequence[ClusterSnapshot], record: int, broker: int
) -> tuple[int, bool] | None:
    """Return the broker that is the cause of `broker` lacking a record, and True if that one never fetched it or False if a
    fault took it; from a broker that truncated its log the search goes on at its leader.  None for another cause."""
    last = len(scenes) - 1
    while True:
        held = [number for number in range(last + 1) if record in scenes[number].lanes[broker].records]
        if not held:
            return broker, True
        last = held[-1]
        if faults[last] in (LOSSY_CRASH.name, RACK_LOSS.name, DISK_LOSS.name):
            return broker, False
        follows = scenes[last + 1].lanes[broker].follows
        if faults[last] is not None or follows is None or record in scenes[last].lanes[follows].records:
            return None
        broker = follows


def _brokers_that_lost(
    faults: Sequence[str | None], scenes: Sequence[ClusterSnapshot], record: int, kinds: Collection[str]
) -> set[int]:
    """Return the brokers from whose logs faults of these kinds took a record."""
    return {
        before.broker
        for fault, one, other in zip(faults, scenes, scenes[1:], strict=False)
        for before, after in zip(one.lanes, other.lanes, strict=True)
        if fault in kinds and record in before.records and record not in after.records
    }
