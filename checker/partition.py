"""One worker's share of a search: the states it owns, its part of the frontier, and the questions asked of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from checker.cells import Cells
from checker.identity import StateSet, mix
from checker.symmetry import Symmetry
from model.columns import Packed, Successors, holds
from model.system import System, Words
from specs.property import Property

BATCH = 1 << 17
"""States expanded at once: large enough to hide the interpreter, small enough for the caches."""

Violations = dict[tuple[int, int], Words]
"""(property, configuration) to the smallest packed state that breaks it."""


@dataclass
class LevelReport:
    """What a finished level brought."""

    new: int
    violations: Violations = field(default_factory=dict)
    by_cell: NDArray[np.int64] | None = None
    orbits: int = 0

    def merge(self, other: LevelReport) -> LevelReport:
        """The two reports as one; the smallest violation wins, so that the split does not matter."""
        for key, words in other.violations.items():
            self.violations[key] = min(words, self.violations.get(key, words))
        by_cell = self.by_cell if other.by_cell is None or self.by_cell is None else self.by_cell + other.by_cell
        return LevelReport(self.new + other.new, self.violations, by_cell, self.orbits + other.orbits)


class Partition:
    """States whose mix falls to this worker.  `number` of `total` tells which."""

    def __init__(self, system: System, properties: Sequence[Property], symmetry: bool, number: int = 0, total: int = 1) -> None:
        self.system, self.properties = system, tuple(properties)
        self.number, self.total = number, total
        self.symmetry = Symmetry(system) if symmetry else None
        self.cells = Cells(system)
        self.states = StateSet(system.words)
        self.bounds: list[int] = [0]
        self.generated = 0
        self.fired: Counter[str] = Counter()
        self._successors = Successors(system)
        self._next = 0
        self.decided: NDArray[np.bool_] | None = None

    @property
    def waiting(self) -> int:
        """Frontier states that are not expanded yet."""
        return self.bounds[-1] - self._next

    def owners(self, mixed: NDArray[np.uint64]) -> NDArray[np.int64]:
        """The worker that owns each state."""
        return ((mixed >> np.uint64(10)) % np.uint64(self.total)).astype(np.int64)

    def absorb(self, states: Packed) -> None:
        """Insert states that this worker owns."""
        self.states.add(states)

    def adopt(self, states: Packed) -> None:
        """Insert those of the states that this worker owns."""
        if self.total > 1:
            states = states.compress(self.owners(mix(states)) == self.number, axis=1)
        self.absorb(states)

    def expand(self) -> list[Packed]:
        """Expand one batch of the frontier; keep the successors that are ours and hand out the others, by owner."""
        end = min(self._next + BATCH, self.bounds[-1])
        batch = self.states.slice(self._next, end)
        self._next = end
        found = self.successors(batch)
        if found is None:
            return [np.empty((self.system.words, 0), np.uint64)] * self.total
        mixed = mix(found)
        if self.total == 1:
            self.states.add(found, mixed)
            return []
        owner = self.owners(mixed)
        given = [found.compress(owner == each, axis=1) for each in range(self.total)]
        self.states.add(given[self.number])
        return given

    def successors(self, batch: Packed) -> Packed | None:
        """Successors of a batch, without the configurations that have nothing left to decide."""
        if self.decided is not None:
            batch = batch.compress(~self.decided[self.cells.of(batch)], axis=1)
        parts = []
        for number, rows, words in self._successors.of(batch):
            self.generated += len(rows)
            self.fired[self.system.steps[number].action.name] += len(rows)
            parts.append(words)
        if not parts:
            return None
        found = np.concatenate(parts, axis=1)
        return self.symmetry.canonical(found) if self.symmetry else found

    def forget(self, decided: NDArray[np.bool_]) -> None:
        """Stop expanding states of these configurations."""
        self.decided = decided if decided.any() else None

    def start_level(self) -> None:
        """Make the newest closed level the frontier."""
        self._next = self.bounds[-2]

    def close_level(self) -> LevelReport:
        """The states inserted since the last level become the frontier, and are checked."""
        start, end = self.bounds[-1], len(self.states)
        self.bounds.append(end)
        self.start_level()
        report = LevelReport(end - start)
        if self.cells.count > 1:
            report.by_cell = np.zeros(self.cells.count, np.int64)
        for first in range(start, end, BATCH):
            self.check(self.states.slice(first, min(first + BATCH, end)), report)
        return report

    def check(self, states: Packed, report: LevelReport) -> None:
        """Ask the properties about some states of a new level."""
        cells = self.cells.of(states) if self.cells.count > 1 else None
        if cells is not None and report.by_cell is not None:
            report.by_cell += np.bincount(cells, minlength=self.cells.count)
        if self.symmetry:
            report.orbits += self.symmetry.orbit_total(states)
        for number, each in enumerate(self.properties):
            broken = np.flatnonzero(~holds(self.system, states, each.condition))
            if not len(broken):
                continue
            bad = states.take(broken, axis=1)
            order = np.lexsort(bad[::-1])
            homes = np.zeros(len(order), np.int64) if cells is None else cells[broken][order]
            for cell in np.unique(homes):
                smallest = tuple(int(word[order[np.argmax(homes == cell)]]) for word in bad)
                key = (number, int(cell))
                report.violations[key] = min(smallest, report.violations.get(key, smallest))

    def level(self, depth: int) -> Packed:
        """The states of a level.  Units: depth 0 is the initial one."""
        return self.states.slice(self.bounds[depth], self.bounds[depth + 1])

    def steps(self, batch: Packed) -> Iterator[tuple[int, NDArray[np.intp], Packed]]:
        """Step number, parent rows and the states that they lead to, as the search identifies them."""
        for number, rows, words in self._successors.of(batch):
            yield number, rows, self.symmetry.canonical(words) if self.symmetry else words

    def parent(self, target: Words, depth: int) -> tuple[Words, int] | None:
        """The smallest state of a level with a step to the target, and the lowest such step."""
        wanted = np.array(target, np.uint64).reshape(-1, 1)
        best: tuple[Words, int] | None = None
        for start in range(self.bounds[depth], self.bounds[depth + 1], BATCH):
            batch = self.states.slice(start, min(start + BATCH, self.bounds[depth + 1]))
            for number, rows, after in self.steps(batch):
                for row in rows[np.flatnonzero((after == wanted).all(axis=0))]:
                    found = (tuple(int(word[row]) for word in batch), number)
                    best = found if best is None else min(best, found)
        return best
