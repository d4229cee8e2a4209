"""Steps from batches of states to the states that they lead to, as a search identifies these."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

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

    def find_parents(self, batches: Iterable[Packed], targets: Sequence[Words]) -> dict[Words, tuple[Words, int]]:
        """Return, for each target that has a predecessor in the batches, the smallest one and the lowest step from it; decided
        configurations have steps too, and nothing is counted."""
        found: dict[Words, tuple[Words, int]] = {}
        for batch in batches:
            parts = list(self._successors.of(batch))
            if not parts:
                continue
            after = self._identify(np.concatenate([words for *_, words in parts], axis=1)).T
            origins = np.concatenate([rows | number << 32 for number, rows, _ in parts])
            note_parents(found, targets, batch.T, after, origins)
        return found


def note_parents(
    found: dict[Words, tuple[Words, int]], targets: Sequence[Words], states: Packed, after: Packed, origins: NDArray[np.int64]
) -> None:
    """Note in `found`, by target, the smallest state with a step to it and the lowest such step, if less than what is there.
    `after` has a row for each step; bits 0-31 of its origin are the row of `states` it leaves, those above its number."""
    known, firsts = set(targets), np.array([each[0] for each in targets], np.uint64)
    for at in np.flatnonzero(np.isin(after[:, 0], firsts)):
        target = tuple(after[at].tolist())
        if target in known:
            one = tuple(states[origins[at] & 0xFFFFFFFF].tolist()), int(origins[at] >> 32)
            found[target] = min(one, found.get(target, one))
