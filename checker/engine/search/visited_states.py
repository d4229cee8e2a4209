"""Exact identity of packed states: a set that compares whole states, never a hash alone.

Rows are kept once, in order of discovery, so that a level is a slice.  A dictionary of their bytes says which are there.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from neverlost.checker.engine.host import interrupts
from neverlost.model.interpreters.columns import Packed

ROOM = 1 << 14
"""Rows that there is room for at first."""


class StateSet:
    """A growing set of packed states; each has a row number, counted from 0 in order of insertion."""

    def __init__(self, words: int) -> None:
        self.words, self.size = words, 0
        self._rows: NDArray[np.uint64] = np.empty((ROOM, words), np.uint64)
        self._numbers: dict[bytes, int] = {}

    def __len__(self) -> int:
        return self.size

    def slice(self, start: int, end: int) -> Packed:
        """Return rows `start..end - 1` as contiguous columns.  Shape: `(words, end - start)`."""
        return self._rows[start:end].T.copy()

    def add(self, states: Packed) -> int:
        """Insert the states that are not there yet, once each and in order; return how many were inserted."""
        fresh = [key for key in dict.fromkeys(self._keys(states)) if key not in self._numbers]
        end = self.size + len(fresh)
        with interrupts.delay_interrupts():  # what is known and what has a row are the same states
            if end > len(self._rows):
                more = np.empty((max(end, 2 * self.size) - self.size, self.words), np.uint64)
                self._rows = np.concatenate([self._rows[: self.size], more])
            self._rows[self.size : end] = np.frombuffer(b"".join(fresh), np.uint64).reshape(-1, self.words)
            self._numbers.update(zip(fresh, range(self.size, end), strict=True))
            self.size = end
        return len(fresh)

    def find(self, states: Packed) -> NDArray[np.int64]:
        """Return the row number of each state, -1 where it is not there."""
        return np.array([self._numbers.get(key, -1) for key in self._keys(states)], np.int64)

    def _keys(self, states: Packed) -> list[bytes]:
        found: list[bytes] = np.ascontiguousarray(states.T).view(f"V{8 * self.words}").ravel().tolist()
        return found
