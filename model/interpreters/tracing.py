"""The interpreter that notes which fields are read.

Protocol functions cannot branch on state values, so one reading of a function finds every field that it depends on.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from neverlost.model.interpreters.ints import Ints, IntsView
from neverlost.model.system import State, Step, System


class NotingView(IntsView):
    """A view of a state that adds to `noted` the names of the fields that are read, and of arrays that are assigned to."""

    __slots__ = ("noted",)
    noted: set[str]

    def __init__(self, system: System, noted: set[str], state: State | None = None) -> None:
        super().__init__(system, state or lowest(system))
        object.__setattr__(self, "noted", noted)

    def __getattr__(self, name: str) -> Any:
        self.noted.add(name)
        return super().__getattr__(name)


def lowest(system: System) -> State:
    """Return the state in which each slot has its lowest value."""
    return tuple(slot.low for slot in system.slots)


def read_by_steps(system: System, steps: Iterable[Step]) -> set[str]:
    """Return the names of the fields that any of these steps reads, and of arrays that one of them assigns to."""
    noted, state = set[str](), lowest(system)
    for step in steps:
        for _ in step.run(Ints, NotingView(system, noted, state)):
            pass
    return noted
