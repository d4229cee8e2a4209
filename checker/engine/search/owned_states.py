"""The visited states of a search by columns, and its frontier."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from neverlost.checker.engine.outcome import EngineError
from neverlost.checker.engine.search.configurations import Configurations
from neverlost.checker.engine.search.expansion import BATCH, Expansion
from neverlost.checker.engine.search.level_report import Checks, LevelReport
from neverlost.checker.engine.search.symmetry import Symmetry
from neverlost.checker.engine.search.visited_states import StateSet
from neverlost.checker.engine.storage.levels import PACKED, Level, StateFile, Store
from neverlost.model.interpreters.columns import Packed
from neverlost.model.system import System, Words
from neverlost.specs.property import Property


class OwnedStates:
    """Visited states, level by level, in this process; the newest level is the frontier, whose states it expands."""

    def __init__(self, system: System, properties: Sequence[Property], symmetry: bool) -> None:
        self.system, self.properties = system, tuple(properties)
        self.symmetry = Symmetry(system) if symmetry else None
        self.configurations = Configurations(system)
        self.expansion = Expansion(system, self.configurations, self.symmetry)
        self.checks = Checks(system, properties, self.configurations, self.symmetry)
        self.states = StateSet(system.words)
        self.bounds: list[int] = [0]
        self._next = 0

    @property
    def waiting(self) -> int:
        """How many states of the frontier, the newest level, are not expanded yet."""
        return self._width - self._next

    @property
    def _width(self) -> int:
        return self.bounds[-1] - self.bounds[-2] if len(self.bounds) > 1 else 0

    def _frontier(self, start: int, end: int) -> Packed:
        return self.states.slice(self.bounds[-2] + start, self.bounds[-2] + end)

    def _batches(self) -> Iterator[Packed]:
        for start in range(0, self._width, BATCH):
            yield self._frontier(start, min(start + BATCH, self._width))

    @property
    def known(self) -> int:
        """How many distinct states were inserted so far."""
        return len(self.states)

    def absorb(self, states: Packed) -> None:
        self.states.add(states)

    def forget(self, decided: NDArray[np.bool_]) -> None:
        """From now on expand no state of a configuration that is True in `decided` (an entry for each configuration)."""
        self.expansion.forget(decided)

    def counts(self) -> tuple[int, int, int, Counter[str]]:
        """Return how many states are generated, distinct and waiting, and how often each action fired."""
        return self.expansion.generated, self.known, self.waiting, self.expansion.fired

    def close(self) -> None:
        """Do nothing: there is nothing to release."""

    def expand(self) -> bool:
        """Expand one batch of the frontier and insert its successors; return True if some of the frontier is left to expand."""
        end = min(self._next + BATCH, self._width)
        batch = self._frontier(self._next, end)
        self._next = end
        found = self.expansion.of(batch)
        if found is not None:
            self.states.add(found)
        return self.waiting > 0

    def close_level(self) -> LevelReport:
        """Make the states inserted since the last level the frontier, check the properties on them, and return the report."""
        self.bounds.append(len(self.states))
        self._next = 0
        report = self.checks.report(self._width)
        for batch in self._batches():
            self.checks.add(batch, report)
        return report

    def restore(self, store: Store, level: Level) -> None:
        """Insert a level that an earlier search stored, as the frontier, and add what it counted to the counts here."""
        for file in level.files:
            self.absorb(store.read_packed(file))
        self.bounds.append(len(self.states))
        self.expansion.generated += level.generated
        self.expansion.fired.update(level.fired)
        self._next = 0

    def keep(self, location: str, depth: int) -> list[StateFile]:
        """Write the newest level to a file, of level `depth`, of the store at a location; return a list of the file's entry."""
        width = self._width
        whole = self._frontier(0, width) if width else np.empty((self.system.words, 0), np.uint64)
        return [Store.attach(location).write_level(depth, whole, PACKED)]

    def parents(self, targets: Sequence[Words], depth: int) -> dict[Words, tuple[Words, int]]:
        """Return by target its smallest predecessor in level `depth`, and the lowest number of a step from that to the target.

        Errors: `EngineError` if some target has no predecessor there.
        """
        homes = np.unique(self.configurations.of(np.array(targets, np.uint64).T))
        return require_predecessors(targets, self.expansion.find_parents(self._level_batches(depth, homes), targets))

    def _level_batches(self, depth: int, homes: NDArray[np.int64]) -> Iterator[Packed]:
        """Yield the states of level `depth` in batches, of several configurations those with the numbers `homes`."""
        for start in range(self.bounds[depth], self.bounds[depth + 1], BATCH):
            batch = self.states.slice(start, min(start + BATCH, self.bounds[depth + 1]))
            is_one = self.configurations.count == 1
            yield batch if is_one else batch.compress(np.isin(self.configurations.of(batch), homes), axis=1)


def require_predecessors(targets: Sequence[Words], found: dict[Words, tuple[Words, int]]) -> dict[Words, tuple[Words, int]]:
    """Return `found` unchanged.  Errors: `EngineError` unless its keys are exactly the targets."""
    if set(found) != set(targets):
        raise EngineError("a state of a trace has no predecessor in the level before it")
    return found
