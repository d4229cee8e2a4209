"""The steps that explain walks, in machine code: worth compiling where there are many walks."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

import numpy as np

from neverlost.checker.engine.compiled.programs import Programs
from neverlost.model.interpreters.machine_code import Rows
from neverlost.model.system import System, Words, bind

REMEMBERED = 10_000
"""States whose successors are remembered."""


class CompiledSteps:
    """All steps of systems that have one model and the same sizes; `system` has the configurations of all of them.  Errors:
    `ModelError` where a step leaves the declared bounds."""

    def __init__(self, systems: Sequence[System]) -> None:
        configurations = [each for system in systems for each in system.configurations]
        self.system = bind(systems[0].model, *configurations, disabled=systems[0].disabled)
        self._programs = Programs(self.system, ())
        self._programs.agree(np.array([self.system.pack(state) for _, state in self.system.initial_states()], np.uint64))
        self._known: dict[Words, tuple[list[int], Rows]] = {}

    def successors(self, states: Collection[Words], numbers: Collection[int]) -> Iterator[Words]:
        """Yield the successors of some states by the steps with these numbers, the same one perhaps more than once."""
        if len(self._known) > REMEMBERED:
            self._known.clear()
        missing = [each for each in states if each not in self._known]
        if missing:
            self._expand(missing)
        for state in states:
            steps, rows = self._known[state]
            yield from (tuple(rows[at].tolist()) for at, number in enumerate(steps) if number in numbers)

    def _expand(self, states: Sequence[Words]) -> None:
        rows = np.array(states, np.uint64)
        if self._programs.improve():
            self._programs.agree(rows)
        after, origins = self._programs.successors(rows)
        order = np.argsort(origins & 0xFFFFFFFF)
        after, origins = after[order], origins[order]
        ends = np.searchsorted(origins & 0xFFFFFFFF, np.arange(len(states) + 1)).tolist()
        steps = (origins >> 32).tolist()
        for number, state in enumerate(states):
            chosen = slice(ends[number], ends[number + 1])
            self._known[state] = steps[chosen], after[chosen]

    def close(self) -> None:
        self._programs.close()
