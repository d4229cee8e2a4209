"""Visited states that do not fit in memory: on storage, as sorted runs by range of keys."""

from __future__ import annotations

import numpy as np

from neverlost.checker.engine.search.expansion import BATCH
from neverlost.checker.engine.search.visited_states import StateSet
from neverlost.checker.engine.storage.levels import KEYED, StateFile, Store
from neverlost.checker.engine.storage.sorted_states import Keyed, key_range, keyed, sorted_distinct, unkeyed, within, without
from neverlost.model.interpreters.columns import Packed

RANGES = 16
"""Keys are sorted range by range, so that sorting needs little memory."""


class VisitedRuns:
    """The runs that one worker has written.  False while there are none."""

    def __init__(self) -> None:
        self._runs: list[StateFile] = []
        self._store: Store | None = None

    def __bool__(self) -> bool:
        return bool(self._runs)

    def add(self, store: Store, states: StateSet) -> None:
        """Write states, as one run for each range of keys; one range at a time is in memory twice."""
        self._store = store
        spans = [(start, min(start + BATCH, len(states))) for start in range(0, len(states), BATCH)]
        for part in range(RANGES):
            low, high = key_range(part, RANGES)
            run = sorted_distinct(np.concatenate([_keyed_within(states.slice(*each), low, high) for each in spans], axis=1))
            self._runs.append(store.write(run, "runs", KEYED, low, high))

    def unvisited(self, states: Packed) -> Packed:
        """Of some states, those that are in no run."""
        if self._store is None:
            return states
        candidates = sorted_distinct(keyed(states))
        kept = []
        for part in range(RANGES):
            low, high = key_range(part, RANGES)
            left = within(candidates, low, high)
            for run in self._runs:
                if run.low == low and left.shape[1]:
                    left = without(left, self._store.read(run))
            kept.append(left)
        return unkeyed(np.concatenate(kept, axis=1))


def _keyed_within(states: Packed, low: int, high: int) -> Keyed:
    """Return the keyed form of the states whose keys are in `low..high - 1`."""
    found = keyed(states)
    return found.compress((found[0] >= np.uint64(low)) & (found[0] <= np.uint64(high - 1)), axis=1)
