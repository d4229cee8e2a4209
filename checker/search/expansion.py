"""Steps from batches of states to the states that they lead to, as a search identifies these."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from neverlost.checker.search.configurations import Configurations
from neverlost.checker.search.symmetry import Symmetry
from neverlost.model.interpreters.columns import Packed, Successors
from neverlost.model.system import System, Words

BATCH = 1 << 17
"""States expanded at once: large enough to hide the interpreter, small enough for the caches."""


class Expansion:
    """The successors of states, counted as a whole and by action; with symmetry they are canonical forms."""

    def __init__(self, system: System, configurations: Configurations, symmetry: Symmetry | None) -> None:
        self.system, self.configurations, self.symmetry = system, configurations, symmetry
        self.generated = 0
        self.fired: Counter[str] = Counter()
        self.decided: NDArray[np.bool_] | None = None
        self._successors = Successors(system)

    def forget(self, decided: NDArray[np.bool_]) -> None:
        """Stop expanding states of these configurations."""
        self.decided = decided if decided.any() else None

    def close(self) -> None:
        """Nothing to release."""

    def of(self, batch: Packed) -> Packed | None:
        """Successors of a batch, without the configurations that have nothing left to decide; None where there are none."""
        if self.decided is not None:
            batch = batch.compress(~self.decided[self.configurations.of(batch)], axis=1)
        parts = []
        for number, rows, words in self._successors.of(batch):
            self.generated += len(rows)
            self.fired[self.system.steps[number].action.name] += len(rows)
            parts.append(words)
        return self._identified(np.concatenate(parts, axis=1)) if parts else None

    def _identified(self, states: Packed) -> Packed:
        return self.symmetry.canonical(states) if self.symmetry else states

    def steps(self, batch: Packed) -> Iterator[tuple[int, NDArray[np.intp], Packed]]:
        """Step number, rows of the batch, and the states that they lead to; nothing is counted."""
        for number, rows, words in self._successors.of(batch):
            yield number, rows, self._identified(words)

    def leading_to(self, batch: Packed, targets: Packed) -> Iterator[tuple[int, int, Words]]:
        """Step number, row of the batch and target of every step from the batch to one of the targets; nothing is counted."""
        taken = list(self._successors.of(batch))
        if not taken:
            return
        after = self._identified(np.concatenate([words for _, _, words in taken], axis=1))
        numbers = np.concatenate([np.full(len(rows), number) for number, rows, _ in taken])
        sources = np.concatenate([rows for _, rows, _ in taken])
        known = set(zip(*targets.tolist(), strict=True))
        for place in np.flatnonzero(np.isin(after[0], targets[0])):
            reached = tuple(int(word[place]) for word in after)
            if reached in known:
                yield int(numbers[place]), int(sources[place]), reached
