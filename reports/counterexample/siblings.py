"""A counterexample's steps once more under a configuration that holds: where the two runs part, and why."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from neverlost.checker.outcome import Trace, followed, same_steps
from neverlost.model.interpreters import ints
from neverlost.model.scene import Lane, Scene
from neverlost.model.sentences import describe
from neverlost.model.system import System
from neverlost.reports.counterexample.timeline import isr_text


@dataclass(frozen=True)
class Run:
    """The same steps, as far as the other configuration takes them.

    `differs` is the first step after which it looks different there, with the differences in words; `refused` the step
    that is not possible there, with the guard clause that blocks it (or what else does).
    """

    trace: Trace
    differs: tuple[int, tuple[str, ...]] | None
    refused: tuple[int, str] | None

    @property
    def parts(self) -> int:
        """The step at which the setting mattered first."""
        first = self.differs or self.refused
        return first[0] if first else len(self.trace.steps)

    def why(self, says: str) -> str:
        """The parting in a sentence; `says` is the refused step in words."""
        told = []
        if self.differs is not None:
            place, differences = self.differs
            told.append(f"{f'from step {place} on' if place else 'from the beginning'}: " + "; ".join(differences))
        if self.refused is not None:
            told.append(f"step {self.refused[0]} is refused ({self.refused[1]}): {says}")
        else:
            told.append("the same steps leave nothing lost there")
        return "; ".join(told)

    def document(self, system: System, trace: Trace) -> dict[str, Any]:
        """The parting, for the result document."""
        says = describe(system, system.steps[trace.steps[self.refused[0] - 1]]) if self.refused else ""
        found: dict[str, Any] = {"step": self.parts, "why": self.why(says)}
        if self.differs is not None:
            found["differs"] = {"step": self.differs[0], "says": list(self.differs[1])}
        if self.refused is not None:
            found["refused"] = {"step": self.refused[0], "clause": self.refused[1]}
        return found


def follow(system: System, trace: Trace, other: System) -> Run:
    """The steps of a trace in another system, from the initial state that takes them furthest."""
    steps = same_steps(system, trace, other)
    runs = [followed(other, start, steps) for _, start in other.initial_states()]
    taken = max(runs, key=lambda each: len(each.steps))
    return Run(taken, _first_difference(system, trace, other, taken), _refused(other, taken, steps))


def _refused(system: System, taken: Trace, steps: Sequence[int | None]) -> tuple[int, str] | None:
    """The place of the first step that cannot be taken, and what blocks it."""
    place = len(taken.steps)
    if place == len(steps):
        return None
    number = steps[place]
    if number is None:
        return place + 1, "there is no such step"
    return place + 1, ", ".join(ints.refusals(system, taken.states[-1], system.steps[number]))


def _first_difference(system: System, trace: Trace, other: System, taken: Trace) -> tuple[int, tuple[str, ...]] | None:
    draw, draw_other = system.model.portrait, other.model.portrait
    if draw is None or draw_other is None:
        return None
    for place, (here, there) in enumerate(zip(trace.states, taken.states, strict=False)):
        found = differences(draw(system.nested(here)), draw_other(other.nested(there)))
        if found:
            return place, tuple(found)
    return None


def differences(here: Scene, there: Scene) -> list[str]:
    """What a second scene shows otherwise than a first one."""
    about = {
        "leader": (_broker(here.leader), _broker(there.leader)),
        "epoch": (here.epoch, there.epoch),
        "ISR": (isr_text(here.isr), isr_text(there.isr)),
    }
    found = [f"controller: {each}" for each in [*_changes(about), *_notes(here.notes, there.notes)]]
    if len(here.lanes) != len(there.lanes):
        found.append(f"{len(there.lanes)} brokers instead of {len(here.lanes)}")
    for one, other in zip(here.lanes, there.lanes, strict=False):
        found += [f"broker {one.broker + 1}: {each}" for each in _lane_differences(one, other)]
    return found


def _lane_differences(one: Lane, other: Lane) -> list[str]:
    about = {
        "": (one.role, other.role),
        "log": (_log(one), _log(other)),
        "high watermark": (one.high_watermark, other.high_watermark),
        "epoch": (one.epoch, other.epoch),
        "ISR": (None if one.isr is None else isr_text(one.isr), None if other.isr is None else isr_text(other.isr)),
    }
    return [*_changes(about), *_notes(one.notes, other.notes)]


def _changes(about: dict[str, tuple[Any, Any]]) -> list[str]:
    return [
        f"{name} {'none' if there is None else there} instead of {'none' if here is None else here}".strip()
        for name, (here, there) in about.items()
        if here != there
    ]


def _notes(here: tuple[str, ...], there: tuple[str, ...]) -> list[str]:
    return [*(each for each in there if each not in here), *(f'no "{each}"' for each in here if each not in there)]


def _broker(number: int | None) -> str:
    return "none" if number is None else str(number + 1)


def _log(lane: Lane) -> str:
    return "[" + " ".join(f"m{record}" + ("" if epoch is None else f"(e{epoch})") for record, epoch in lane.log) + "]"
