"""A counterexample as frames: what happened, the state of every broker then, what changed, and what is lost.  The terminal and
the diagram are drawn from these frames."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from neverlost.checker.engine.outcome import Behaviour
from neverlost.model.sentences import (
    Names,
    beliefs_of,
    leader_of,
    listed,
    metadata_of,
    names_of,
    numbered,
    records_named,
    role_of,
    sentences,
    weakness,
)
from neverlost.model.snapshot import BrokerView, ClusterSnapshot
from neverlost.model.system import System
from neverlost.reports.counterexample.affected import NOTHING_SAID, Affected, find_affected
from neverlost.specs.property import RECOVERY, SAFETY, Property


@dataclass(frozen=True)
class Frame:
    """One moment of a counterexample.  For each broker `changed` names the parts of its lane that differ from the frame before
    (`log`, `HW`, ...), and `dropped` has the records that its log had in the frame before and no longer has."""

    number: int
    says: str
    is_fault: bool
    scene: ClusterSnapshot
    changed: tuple[frozenset[str], ...]
    dropped: tuple[tuple[int, ...], ...]
    controller_changed: bool


ACKNOWLEDGED, GONE, LEADS = "acknowledged", "lost", "leads without it"
"""The three moments of a loss."""


@dataclass(frozen=True)
class Timeline:
    """All frames of a counterexample.  `lost` are acknowledged or committed records that a leader or an ISR member lacks at the
    end, `names` the brokers' names; `affected` says which records can be lost so, where the steps show it."""

    model: str
    title: str
    frames: tuple[Frame, ...]
    lost: frozenset[int]
    names: Names
    affected: Affected = NOTHING_SAID

    @property
    def verdict_line(self) -> str:
        """The end in a sentence: which records are lost, or which an ISR member lacks; without any, what else is violated."""
        if not self.lost:
            return self.title
        acked = self.frames[-1].scene.acked
        word = "acknowledged " if self.lost <= acked else "" if self.lost & acked else "committed "
        many = len(self.lost) > 1
        if lacking := self._members_that_lack():
            verb = "lacks" if len(lacking) == 1 else "lack"
            return f"{self.title}: ISR member {listed(lacking, self.names)} {verb} {word}{records_named(self.lost)}"
        return f"{self.title}: {word}record{'s' * many} {records_named(self.lost)} {'are' if many else 'is'} lost"

    @property
    def moments(self) -> dict[int, str]:
        """What the deciding frames show, by the frame's number: the first in which all lost records are acknowledged, the first
        in which a broker drops one of them, and the last if a leader lacks one there; empty without a lost record."""
        found: dict[int, str] = {}
        for frame in self.frames if self.lost else ():
            if self.lost <= frame.scene.acked and ACKNOWLEDGED not in found.values():
                found[frame.number] = ACKNOWLEDGED
            elif any(self.lost & set(dropped) for dropped in frame.dropped) and GONE not in found.values():
                found[frame.number] = GONE
        if self.lost and any(lane.is_leader and not self.lost <= lane.records for lane in self.last.scene.lanes):
            found[self.last.number] = LEADS
        return found

    @property
    def still_held(self) -> list[str]:
        """A sentence for each follower that still has lost records, which it will truncate; empty unless a leader lacks one."""
        lanes = self.last.scene.lanes
        leaders = [lane.broker for lane in lanes if lane.is_leader and not self.lost <= lane.records]
        held = [(lane, sorted(self.lost & lane.records)) for lane in lanes if leaders and not lane.is_leader]
        return [
            f"broker {self.name(lane)} still has {records_named(kept)}; it truncates that when it follows leader "
            f"{listed(leaders, self.names)}"
            for lane, kept in held
            if kept
        ]

    def _members_that_lack(self) -> list[int]:
        """Return the ISR members that lack a lost record while every leader has all of them; none unless there is a leader."""
        lanes = self.last.scene.lanes
        leaders = [lane for lane in lanes if lane.is_leader]
        is_held = bool(leaders) and all(self.lost <= lane.records for lane in leaders)
        return [each for each in self.last.scene.isr if is_held and not self.lost <= lanes[each].records]

    @property
    def last(self) -> Frame:
        """The frame in which the counterexample ends."""
        return self.frames[-1]

    @property
    def authority(self) -> str:
        """The name of what appoints leaders, such as the controller."""
        return self.last.scene.authority

    def name(self, lane: BrokerView) -> str:
        return self.names[lane.broker]

    def role(self, lane: BrokerView) -> str:
        """Return a broker's role in words."""
        return role_of(lane, self.names)

    def beliefs(self, lane: BrokerView, frame: Frame) -> list[str]:
        """Return texts: what a broker that believes it is leader knows, true or stale, and any notes on the broker."""
        return beliefs_of(lane, frame.scene, self.names)

    def leader(self, frame: Frame) -> str:
        """Return who leads according to the controller, in words: `leader 1` or `no leader`."""
        return leader_of(frame.scene, self.names)

    def metadata(self, frame: Frame) -> list[str]:
        """Return texts of the controller's metadata, and of which records are acknowledged or committed."""
        return metadata_of(frame.scene, self.names)

    def lost_at(self, lane: BrokerView, frame: Frame) -> list[int]:
        """Return the lost records that a broker drops in a frame; in the last, a leader or ISR member also those it lacks."""
        gone = set(frame.dropped[lane.broker])
        if frame is self.last and (lane.is_leader or lane.broker in frame.scene.isr):
            gone |= self.lost - lane.records
        return sorted(gone & self.lost)


def timeline(system: System, broken: Property, trace: Behaviour, breaks: bool = True, given: Names = ()) -> Timeline:
    """Return the timeline of a trace; if `breaks` is False, the trace violates nothing and no record counts as lost.  `given`
    are the user's names of the replicas.  Errors: `ValueError` for a model without cluster snapshots."""
    draw = system.model.portrait
    if draw is None:
        raise ValueError(f"{system.model.name} has no portrait")
    scenes = [draw(system.nested(state)) for state in trace.states]
    faults = [False, *(system.steps[number].action.fault is not None for number in trace.steps)]
    said = sentences(system, trace.states, trace.steps, given)
    shown, names = frames(list(zip(said, faults, strict=True)), scenes), names_of(system, given)
    if not breaks:
        return Timeline(system.model.name, broken.name, shown, frozenset(), names)
    lost = _lost(scenes, broken.name in OF_LEADERS) if broken.kind == SAFETY else frozenset[int]()
    end = ": nothing but a further fault leads on from here" if broken.kind == RECOVERY else ""
    affected = find_affected(system, trace, scenes, lost, names)
    return Timeline(system.model.name, f"{weakness(system)}violates {broken.name}{end}", shown, lost, names, affected)


def frames(says: Sequence[tuple[str, bool]], scenes: Sequence[ClusterSnapshot]) -> tuple[Frame, ...]:
    """Return the frames, given what happened before each (and whether that was a fault) and its cluster snapshot."""
    found = []
    for number, ((said, is_fault), scene) in enumerate(zip(says, scenes, strict=True)):
        before = scenes[max(number - 1, 0)]
        lanes = list(zip(before.lanes, scene.lanes, strict=True))
        changed = tuple(_changes((old, before), (new, scene)) for old, new in lanes)
        dropped = tuple(tuple(record for record, _ in old.log if record not in new.records) for old, new in lanes)
        found.append(Frame(number, said, is_fault, scene, changed, dropped, before.metadata != scene.metadata))
    return tuple(found)


def _changes(was: tuple[BrokerView, ClusterSnapshot], now: tuple[BrokerView, ClusterSnapshot]) -> frozenset[str]:
    """Return the names of the parts of a lane that differ; beliefs also differ when the controller's metadata move on."""
    (before, _), (after, scene) = was, now
    names = numbered(len(scene.lanes))
    parts = {
        "log": (before.log, after.log),
        "HW": (before.high_watermark, after.high_watermark),
        "epoch": (before.epoch, after.epoch),
        "role": ((before.role, before.follows), (after.role, after.follows)),
        "beliefs": (beliefs_of(*was, names), beliefs_of(*now, names)),
    }
    return frozenset(name for name, (old, new) in parts.items() if old != new)


OF_LEADERS = ("exactly-once", "no-duplicates")
"""Properties of a leader's log alone."""


def _lost(scenes: list[ClusterSnapshot], of_leaders: bool) -> frozenset[int]:
    """Return the records that were acknowledged or committed in some frame and that a leader lacks in the last one; if none
    lacks any, and it is not `of_leaders` alone, those that a member of the ISR lacks."""
    promised: set[int] = set().union(*(scene.promised for scene in scenes))
    last = scenes[-1]
    members = [] if of_leaders else [lane for lane in last.lanes if lane.broker in last.isr]
    lacking = [promised - lane.records for lane in last.lanes if lane.is_leader] or [set()]
    return frozenset(set().union(*lacking) or set().union(*(promised - lane.records for lane in members)))
