"""Steps from batches of states to the states that they lead to, as a search identifies these."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from neverlost.checker.engine.search.configurations import Configurations
from neverlost.checker.engine.search.symmetry import Symmetry
from neverlost.model.interpreters.columns import Packed, Successors
from neverlost.model.system import System, Words

BATCH = 1 << 17
"""States expanded at once: large enough to hide the interpreter, small enough for the caches."""


class Expansion:
    """Computes successors and counts them, in all and by action; with symmetry they are canonical."""

    def __init__(self, system: System, configurations: Configurations, symmetry: Symmetry | None) -> None:
        self.system, self.configurations, self.symmetry = system, configurations, symmetry
        self.generated = 0
        self.fired: Counter[str] = Counter()
        self.decided: NDArray[np.bool_] | None = None
        self._successors = Successors(system)

    def forget(self, decided: NDArray[np.bool_]) -> None:
        """From now on expand no state of a configuration that is True in `decided`."""
        self.decided = decided if decided.any() else None

    def close(self) -> None:
        """Do nothing: there is nothing to release."""

    def of(self, batch: Packed) -> Packed | None:
        """Return and count the successors of a batch, repeats too, without decided configurations; None if there are none."""
        if self.decided is not None:
            batch = batch.compress(~self.decided[self.configurations.of(batch)], axis=1)
        parts = []
        for number, rows, words in self._successors.of(batch):
            self.generated += len(rows)
            self.fired[self.system.steps[number].action.name] += len(rows)
            parts.append(words)
        return self._identify(np.concatenate(parts, axis=1)) if parts else None

    def _identify(self, states: Packed) -> Packed:
        return self.symmetry.canonical(states) if self.symmetry else states

    def steps(self, batch: Packed) -> Iterator[tuple[int, NDArray[np.intp], Packed]]:
        """Yield step number, rows of the batch and target states, of decided configurations too; nothing is counted."""
        for number, rows, words in self._successors.of(batch):
            yield number, rows, self._identify(words)

    def take_steps(self, batch: Packed) -> Taken:
        """Return every step from the states of a batch, of decided configurations too; nothing is counted."""
        parts = list(self._successors.of(batch))
        after = np.concatenate([batch[:, :0], *[words for _, _, words in parts]], axis=1)
        numbers = np.concatenate([np.empty(0, np.int64), *[np.full(len(rows), number) for number, rows, _ in parts]])
        return Taken(numbers, np.concatenate([np.empty(0, np.int64), *[rows for _, rows, _ in parts]]), self._identify(after))


@dataclass(frozen=True)
class Taken:
    """Steps taken: the number of each, the row of its source, and its target."""

    numbers: NDArray[np.int64]
    rows: NDArray[np.int64]
    after: Packed

    def leading_to(self, targets: Packed) -> Iterator[tuple[int, int, Words]]:
        """Yield step number, row and target of every step to one of the targets."""
        known = set(zip(*targets.tolist(), strict=True))
        for place in np.flatnonzero(np.isin(self.after[0], targets[0])):
            reached = tuple(int(word[place]) for word in self.after)
            if reached in known:
                yield int(self.numbers[place]), int(self.rows[place]), reached
