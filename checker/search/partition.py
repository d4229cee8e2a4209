"""One worker's share of a search: the states it owns, its part of the frontier, and the questions asked of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from neverlost.checker.disk.levels import KEYED, PACKED, StateFile, Store
from neverlost.checker.disk.sorted_states import Keyed, key_range, keyed, sorted_distinct, unkeyed, within, without
from neverlost.checker.outcome import EngineError
from neverlost.checker.search.configurations import Cells
from neverlost.checker.search.symmetry import Symmetry
from neverlost.checker.search.visited_states import StateSet, mix
from neverlost.model.interpreters.columns import Packed, Successors, holds
from neverlost.model.system import System, Words
from neverlost.specs.property import Property

BATCH = 1 << 17
"""States expanded at once: large enough to hide the interpreter, small enough for the caches."""

RANGES = 16
"""Visited states that do not fit in memory are sorted range by range, so that sorting needs little of it."""

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
        self.store: Store | None = None
        self.runs: list[StateFile] = []
        self.distinct = 0
        self._fresh: Packed | None = None
        self.generated = 0
        self.fired: Counter[str] = Counter()
        self._successors = Successors(system)
        self._next = 0
        self.decided: NDArray[np.bool_] | None = None

    @property
    def waiting(self) -> int:
        """Frontier states that are not expanded yet."""
        return self._width - self._next

    @property
    def _width(self) -> int:
        """How many states the frontier has."""
        if self._fresh is not None:
            return int(self._fresh.shape[1])
        return self.bounds[-1] - self.bounds[-2] if len(self.bounds) > 1 else 0

    def _frontier(self, start: int, end: int) -> Packed:
        if self._fresh is not None:
            return np.ascontiguousarray(self._fresh[:, start:end])
        return self.states.slice(self.bounds[-2] + start, self.bounds[-2] + end)

    def _batches(self) -> Iterator[Packed]:
        for start in range(0, self._width, BATCH):
            yield self._frontier(start, min(start + BATCH, self._width))

    @property
    def known(self) -> int:
        """Distinct states so far; those of an unfinished level count once nothing is on storage."""
        return self.distinct if self.runs else len(self.states)

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
        end = min(self._next + BATCH, self._width)
        batch = self._frontier(self._next, end)
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
        self._next = 0

    def close_level(self) -> LevelReport:
        """The states inserted since the last level become the frontier, and are checked."""
        start, end = self.bounds[-1], len(self.states)
        self.bounds.append(end)
        self._fresh = self._unvisited(start, end) if self.runs else None
        self.start_level()
        report = LevelReport(self._width)
        self.distinct += report.new
        if self.cells.count > 1:
            report.by_cell = np.zeros(self.cells.count, np.int64)
        for batch in self._batches():
            self.check(batch, report)
        return report

    def restore_level(self, generated: int, fired: Mapping[str, int]) -> None:
        """Close a level whose states were adopted from a store, with what an earlier search counted."""
        self.distinct += len(self.states) - self.bounds[-1]
        self.bounds.append(len(self.states))
        self._fresh = None
        self.generated += generated
        self.fired.update(fired)
        self.start_level()

    def keep(self, location: str, depth: int) -> StateFile:
        """Write the frontier as a level's file."""
        width = self._width
        whole = self._frontier(0, width) if width else np.empty((self.system.words, 0), np.uint64)
        return self._attached(location).write_level(depth, whole, PACKED)

    def _attached(self, location: str) -> Store:
        if self.store is None:
            self.store = Store.attach(location)
        return self.store

    def offload(self, location: str) -> None:
        """Move the visited states to storage, as sorted runs by range of keys; the frontier stays here.

        The levels themselves must be in the store already.
        """
        store = self._attached(location)
        for part in range(RANGES):
            low, high = key_range(part, RANGES)
            pieces = [_keyed_within(self.states.slice(start, end), low, high) for start, end in self._chunks()]
            run = sorted_distinct(np.concatenate(pieces, axis=1))
            self.runs.append(store.write(run, "runs", KEYED, low, high))
        frontier = self._frontier(0, self._width) if self._width else np.empty((self.system.words, 0), np.uint64)
        self.states = StateSet(self.system.words)
        self.states.add(frontier)
        self.bounds, self._fresh = [0, len(self.states)], None
        self.start_level()

    def _chunks(self) -> Iterator[tuple[int, int]]:
        for start in range(0, len(self.states), BATCH):
            yield start, min(start + BATCH, len(self.states))

    def _unvisited(self, start: int, end: int) -> Packed:
        """Of the states inserted since the last level, those that are in no run."""
        if self.store is None:
            raise EngineError("visited states were moved to a store that is not there")
        candidates = sorted_distinct(keyed(self.states.slice(start, end)))
        kept = []
        for part in range(RANGES):
            low, high = key_range(part, RANGES)
            left = within(candidates, low, high)
            for run in self.runs:
                if run.low == low and left.shape[1]:
                    left = without(left, self.store.read(run))
            kept.append(left)
        return unkeyed(np.concatenate(kept, axis=1))

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
        """The states of a level, of those still in memory.  Units: depth 0 is the initial one."""
        return self.states.slice(self.bounds[depth], self.bounds[depth + 1])

    def _level_batches(self, depth: int) -> Iterator[Packed]:
        """A level in batches; once states were moved to storage, this worker's share of its files."""
        if self.runs and self.store is not None:
            for file in self.store.levels()[depth].files[self.number :: self.total]:
                states = self.store.packed(file)
                yield from (np.array(states[:, start : start + BATCH]) for start in range(0, states.shape[1], BATCH))
            return
        for start in range(self.bounds[depth], self.bounds[depth + 1], BATCH):
            yield self.states.slice(start, min(start + BATCH, self.bounds[depth + 1]))

    def steps(self, batch: Packed) -> Iterator[tuple[int, NDArray[np.intp], Packed]]:
        """Step number, parent rows and the states that they lead to, as the search identifies them."""
        for number, rows, words in self._successors.of(batch):
            yield number, rows, self.symmetry.canonical(words) if self.symmetry else words

    def parents(self, targets: Sequence[Words], depth: int) -> dict[Words, tuple[Words, int]]:
        """Of each target that has one here, the smallest state of a level with a step to it, and the lowest such step."""
        best: dict[Words, tuple[Words, int]] = {}
        columns = np.array(targets, np.uint64).T
        homes = np.unique(self.cells.of(columns))
        for batch in self._level_batches(depth):
            if self.cells.count > 1:
                batch = batch.compress(np.isin(self.cells.of(batch), homes), axis=1)
            for number, row, target in self._leading_to(batch, columns):
                found = (tuple(int(word[row]) for word in batch), number)
                best[target] = min(best.get(target, found), found)
        return best

    def _leading_to(self, batch: Packed, targets: Packed) -> Iterator[tuple[int, int, Words]]:
        """Step number, row of the batch and target of every step from the batch to one of the targets."""
        taken = list(self._successors.of(batch))
        if not taken:
            return
        after = np.concatenate([words for _, _, words in taken], axis=1)
        numbers = np.concatenate([np.full(len(rows), number) for number, rows, _ in taken])
        sources = np.concatenate([rows for _, rows, _ in taken])
        after = self.symmetry.canonical(after) if self.symmetry else after
        likely = np.flatnonzero(np.isin(after[0], targets[0]))
        known = set(zip(*targets.tolist(), strict=True))
        for place in likely:
            reached = tuple(int(word[place]) for word in after)
            if reached in known:
                yield int(numbers[place]), int(sources[place]), reached


def _keyed_within(states: Packed, low: int, high: int) -> Keyed:
    """The keyed form of the states whose keys are in `low..high - 1`."""
    found = keyed(states)
    return found.compress((found[0] >= np.uint64(low)) & (found[0] <= np.uint64(high - 1)), axis=1)
