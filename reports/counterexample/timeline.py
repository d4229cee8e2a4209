"""A counterexample as frames: who did what, what every broker looks like then, what changed, what is lost.

The terminal, SVG and Mermaid pictures are drawn from these frames; nothing here knows how.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from neverlost.checker.outcome import Trace
from neverlost.model.scene import Lane, Scene
from neverlost.model.sentences import describe
from neverlost.model.system import System
from neverlost.specs.property import RECOVERY, SAFETY, Property


@dataclass(frozen=True)
class Frame:
    """One moment.  `changed` names the parts of each lane that differ from the frame before (`log`, `HW`, ...)."""

    number: int
    says: str
    is_fault: bool
    scene: Scene
    changed: tuple[frozenset[str], ...]
    controller_changed: bool


@dataclass(frozen=True)
class Timeline:
    """All frames of a counterexample.  `lost` are promised records that the broken property misses at the end."""

    model: str
    title: str
    frames: tuple[Frame, ...]
    lost: frozenset[int]

    @property
    def verdict_line(self) -> str:
        """What the last frame shows."""
        if not self.lost:
            return self.title
        names = ", ".join(f"m{record}" for record in sorted(self.lost))
        return f"{self.title}: {names} {'is' if len(self.lost) == 1 else 'are'} gone where it must be"


def timeline(system: System, broken: Property, trace: Trace, breaks: bool = True) -> Timeline:
    """The frames of a trace, which need not break the property.

    Errors: `ValueError` for a model without a portrait.
    """
    draw = system.model.portrait
    if draw is None:
        raise ValueError(f"{system.model.name} has no portrait")
    scenes = [draw(system.nested(state)) for state in trace.states]
    steps = [None, *(system.steps[number] for number in trace.steps)]
    says = [(describe(system, step), step is not None and step.action.fault is not None) for step in steps]
    shown = frames(says, scenes)
    if not breaks:
        return Timeline(system.model.name, broken.name, shown, frozenset())
    lost = _lost(scenes) if broken.kind == SAFETY else frozenset[int]()
    end = ": nothing but a further fault leads on from here" if broken.kind == RECOVERY else ""
    return Timeline(system.model.name, f"violates {broken.name}{end}", shown, lost)


def frames(says: Sequence[tuple[str, bool]], scenes: Sequence[Scene]) -> tuple[Frame, ...]:
    """Frames of what happened (with whether it was a fault) and what it looked like then."""
    found = []
    for number, ((said, is_fault), scene) in enumerate(zip(says, scenes, strict=True)):
        before = scenes[max(number - 1, 0)]
        changed = tuple(_changes(old, new) for old, new in zip(before.lanes, scene.lanes, strict=True))
        moved = (before.leader, before.epoch, before.isr, before.notes) != (scene.leader, scene.epoch, scene.isr, scene.notes)
        found.append(Frame(number, said, is_fault, scene, changed, moved))
    return tuple(found)


def _changes(before: Lane, after: Lane) -> frozenset[str]:
    parts = {
        "log": (before.log, after.log),
        "HW": (before.high_watermark, after.high_watermark),
        "epoch": (before.epoch, after.epoch),
        "role": (before.role, after.role),
        "ISR": (before.isr, after.isr),
        "notes": (before.notes, after.notes),
    }
    return frozenset(name for name, (old, new) in parts.items() if old != new)


def _lost(scenes: list[Scene]) -> frozenset[int]:
    """Records promised in some frame that a leader or a member of the ISR lacks in the last one."""
    promised: set[int] = set().union(*(scene.promised for scene in scenes))
    last = scenes[-1]
    responsible = [lane for lane in last.lanes if lane.is_leader or lane.broker in last.isr]
    held = [{record for record, _ in lane.log} for lane in responsible]
    return frozenset(record for record in promised if not all(record in each for each in held))


def missing(lane: Lane, frame: Frame, lost: frozenset[int]) -> list[int]:
    """Lost records that this broker lacks though it leads or is in the ISR."""
    if not (lane.is_leader or lane.broker in frame.scene.isr):
        return []
    return sorted(lost - {record for record, _ in lane.log})


def isr_text(members: tuple[int, ...]) -> str:
    """Broker numbers as Kafka's tools print them."""
    return ",".join(str(member + 1) for member in members) or "none"
