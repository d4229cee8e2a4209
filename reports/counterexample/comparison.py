"""Repeats a counterexample's steps under a configuration that holds, and finds where and why the two behaviours diverge."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from neverlost.checker.engine.outcome import Behaviour, find_same_steps, follow_steps
from neverlost.model.interpreters import ints
from neverlost.model.sentences import Names, attempted, beliefs_of, leader_of, metadata_of, numbered, role_of
from neverlost.model.snapshot import BrokerView, ClusterSnapshot
from neverlost.model.system import System


@dataclass(frozen=True)
class Comparison:
    """The steps of a counterexample, as far as another configuration takes them.  `differs` is the first step, from 1, after
    which the state looks different there (0: the initial one does), with the differences in words; `refused` the step, from 1,
    that is not possible there, with the guard clause (or other reason) that blocks it.  Each is None where there is none."""

    trace: Behaviour
    differs: tuple[int, tuple[str, ...]] | None
    refused: tuple[int, str] | None

    @property
    def diverges(self) -> int:
        """The number of the step from which the state differs, else of that which is refused; without either, of the last."""
        first = self.differs or self.refused
        return first[0] if first else len(self.trace.steps)

    def why(self, says: str) -> str:
        """Return in words from where on and how the states differ, and which step is refused, if any; `says` is that step."""
        found = []
        if self.differs is not None:
            place, differences = self.differs
            found.append(f"{f'from step {place} on' if place else 'from the beginning'}: " + "; ".join(differences))
        if self.refused is not None:
            found.append(f"step {self.refused[0]} is refused ({self.refused[1]}): {says}")
        else:
            found.append("the same steps leave nothing lost there")
        return "; ".join(found)

    def document(self, system: System, trace: Behaviour) -> dict[str, Any]:
        """Return where and why the steps diverge, for a result document; `system` and `trace` are the counterexample's."""
        says = ""
        if self.refused:
            last = self.refused[0] - 1
            says = attempted(system, trace.states[last], system.steps[trace.steps[last]])
        found: dict[str, Any] = {"step": self.diverges, "why": self.why(says)}
        if self.differs is not None:
            found["differs"] = {"step": self.differs[0], "says": list(self.differs[1])}
        if self.refused is not None:
            found["refused"] = {"step": self.refused[0], "clause": self.refused[1]}
        return found


def follow(system: System, trace: Behaviour, other: System) -> Comparison:
    """Return the comparison of a trace with its steps in another system, from the initial state that gets furthest."""
    steps = find_same_steps(system, trace, other)
    behaviours = [follow_steps(other, start, steps) for _, start in other.initial_states()]
    taken = max(behaviours, key=lambda each: len(each.steps))
    return Comparison(taken, _first_difference(system, trace, other, taken), _refused(other, taken, steps))


def _refused(system: System, taken: Behaviour, steps: Sequence[int | None]) -> tuple[int, str] | None:
    """Return the number, from 1, of the first step that was not taken, and what blocks it, in words; None if all were taken."""
    place = len(taken.steps)
    if place == len(steps):
        return None
    number = steps[place]
    if number is None:
        return place + 1, "there is no such step"
    return place + 1, ", ".join(ints.refusals(system, taken.states[-1], system.steps[number]))


def _first_difference(system: System, trace: Behaviour, other: System, taken: Behaviour) -> tuple[int, tuple[str, ...]] | None:
    draw, draw_other = system.model.portrait, other.model.portrait
    if draw is None or draw_other is None:
        return None
    for place, (here, there) in enumerate(zip(trace.states, taken.states, strict=False)):
        found = differences(draw(system.nested(here)), draw_other(other.nested(there)))
        if found:
            return place, tuple(found)
    return None


def differences(here: ClusterSnapshot, there: ClusterSnapshot, given: Names = ()) -> list[str]:
    """Return a text for each difference of a second scene from a first one; `given` are the user's names of brokers."""
    names = numbered(max(len(here.lanes), len(there.lanes)), given)
    about = {"leader": (leader_of(here, names), leader_of(there, names)), "epoch": (here.epoch, there.epoch)}
    known = _notes(metadata_of(here, names), metadata_of(there, names))
    found = [f"{here.authority}: {each}" for each in [*_changes(about), *known]]
    if len(here.lanes) != len(there.lanes):
        found.append(f"{len(there.lanes)} brokers instead of {len(here.lanes)}")
    for one, other in zip(here.lanes, there.lanes, strict=False):
        parts = {
            "": (role_of(one, names), role_of(other, names)),
            "log": (_log(one), _log(other)),
            "high watermark": (one.high_watermark, other.high_watermark),
            "epoch": (one.epoch, other.epoch),
        }
        known = _notes(beliefs_of(one, here, names), beliefs_of(other, there, names))
        found += [f"broker {names[one.broker]}: {each}" for each in [*_changes(parts), *known]]
    return found


def _changes(about: dict[str, tuple[Any, Any]]) -> list[str]:
    return [
        f"{name} {'none' if there is None else there} instead of {'none' if here is None else here}".strip()
        for name, (here, there) in about.items()
        if here != there
    ]


def _notes(here: list[str], there: list[str]) -> list[str]:
    return [*(each for each in there if each not in here), *(f'no "{each}"' for each in here if each not in there)]


def _log(lane: BrokerView) -> str:
    return "[" + " ".join(f"m{record}" + ("" if epoch is None else f"(e{epoch})") for record, epoch in lane.log) + "]"
