"""Exact identity of packed states: a set that compares whole states, never a hash alone.

Rows are kept once, in order of discovery, so that a level is a slice; an open-addressing table of row
numbers finds them.  Everything works on whole batches: a round of probing gathers, compares and claims
free places for all pending states at once.
"""

from __future__ import annotations

import mmap
import sys

import numpy as np
from numpy.typing import NDArray

from neverlost.checker.engine.host import interrupts
from neverlost.model.interpreters.columns import Packed

Rows = NDArray[np.uint64]
"""Shape `(n, words)`: one packed state per row."""

FULLEST = 0.65
OVERFULL = 0.85
GROWTH = 1.6
PROBES = np.uint64(0x3FF)
_MULTIPLIERS = tuple(map(np.uint64, (0x9E3779B97F4A7C15, 0xD6E8FEB86659FD93, 0xC2B2AE3D27D4EB4F)))


def mix(words: Packed) -> NDArray[np.uint64]:
    """Return a 64-bit mix of each state, for placing it.  Shapes: `(words, n)` to `(n,)`."""
    first, second, third = _MULTIPLIERS
    mixed: NDArray[np.uint64] = words[0] * first
    for word in words[1:]:
        mixed ^= mixed >> np.uint64(32)
        mixed += word
        mixed *= second
    mixed ^= mixed >> np.uint64(29)
    mixed *= third
    mixed ^= mixed >> np.uint64(32)
    return mixed


def _anonymous_pages(size: int) -> mmap.mmap | None:
    """Private memory that can grow in place, or None where the system has no such thing."""
    if sys.platform != "linux":
        return None
    pages = mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    pages.madvise(mmap.MADV_HUGEPAGE)
    return pages


def _prime_from(least: int) -> int:
    """Return a table length: prime, and longer than any stride."""
    candidate = max(least, 2 * int(PROBES)) | 1
    while any(candidate % divisor == 0 for divisor in range(3, int(candidate**0.5) + 1, 2)):
        candidate += 2
    return candidate


class StateSet:
    """A growing set of packed states in order of insertion."""

    def __init__(self, words: int, expected: int = 1 << 14) -> None:
        self.words = words
        self.size = 0
        self._rows: Rows = np.empty((expected, words), np.uint64)
        self._pages: mmap.mmap | None = None
        self._table = np.zeros(_prime_from(int(expected / FULLEST)), np.uint32)

    def __len__(self) -> int:
        return self.size

    @property
    def bytes(self) -> int:
        """Memory held, touched or not."""
        return self._rows.nbytes + self._table.nbytes

    def slice(self, start: int, end: int) -> Packed:
        """Rows `start..end` as contiguous columns.  Shape: `(words, end - start)`."""
        return self._rows[start:end].T.copy()

    def add(self, states: Packed) -> int:
        """Insert the states that are not there yet, in order; how many there were."""
        count = states.shape[1]
        if not count:
            return 0
        self._reserve(count)
        before = self.size
        rows = states.T.copy()
        place, stride = self._start(mix(states))
        while len(rows):
            again, onward = self._round(rows, place)
            if not len(again) and not len(onward):
                break
            further = self._further(place.take(onward), stride.take(onward))
            pending = np.concatenate([again, onward])
            place = np.concatenate([place.take(again), further])
            stride, rows = stride.take(pending), rows.take(pending, axis=0)
        return self.size - before

    def find(self, states: Packed) -> NDArray[np.int64]:
        """Return the row number of each state, -1 where it is not there."""
        rows = states.T.copy()
        place, stride = self._start(mix(states))
        found = np.full(len(rows), -1, np.int64)
        pending = np.arange(len(rows))
        while len(pending):
            number = self._table.take(place).astype(np.int64) - 1
            same = (number >= 0) & (self._rows.take(number, axis=0) == rows.take(pending, axis=0)).all(axis=1)
            found[pending[same]] = number[same]
            onward = np.flatnonzero((number >= 0) & ~same)
            pending, stride = pending.take(onward), stride.take(onward)
            place = self._further(place.take(onward), stride)
        return found

    def _round(self, rows: Rows, place: NDArray[np.int64]) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """One probe of every pending state: those to try here again, and those to send onward."""
        entry = self._table.take(place)
        is_free = entry == 0
        free, taken = np.flatnonzero(is_free), np.flatnonzero(~is_free)
        there = self._rows.take(entry.take(taken).astype(np.int64) - 1, axis=0)
        mine = rows if len(taken) == len(rows) else rows.take(taken, axis=0)
        differs = there[:, 0] != mine[:, 0]
        for word in range(1, self.words):
            differs |= there[:, word] != mine[:, word]
        onward = taken.compress(differs)
        return self._claim(rows, place, free), onward

    def _claim(self, rows: Rows, place: NDArray[np.int64], free: NDArray[np.intp]) -> NDArray[np.intp]:
        """Settle states in free places, the first of a place only; the others, to try again."""
        if not len(free):
            return free
        wanted = place.take(free)
        ticket = np.arange(len(free), 0, -1, dtype=np.uint32)
        self._table[wanted[::-1]] = ticket[::-1]
        won = self._table.take(wanted) == ticket
        winners = free.compress(won)
        end = self.size + len(winners)
        self._table[wanted.compress(won)] = np.arange(self.size + 1, end + 1, dtype=np.uint32)
        self._rows[self.size : end] = rows.take(winners, axis=0)
        self.size = end
        return free.compress(~won)

    def _start(self, mixed: NDArray[np.uint64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """First place and stride of each state; the table's length is prime, so every stride reaches every place."""
        place = ((mixed >> np.uint64(32)) * np.uint64(len(self._table))) >> np.uint64(32)
        stride = (mixed & PROBES) + np.uint64(1)
        return place.astype(np.int64), stride.astype(np.int64)

    def _further(self, place: NDArray[np.int64], stride: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the next place of each state, wrapped around."""
        place = place + stride
        place[place >= len(self._table)] -= len(self._table)
        return place

    def _reserve(self, more: int) -> None:
        """Room for `more` states; most of them are usually there already, so the table is only kept from overflowing."""
        needed = self.size + more
        if needed > len(self._rows):
            with interrupts.later():  # while they are moved, there are none
                self._rows = self._enlarged(max(needed, int(len(self._rows) * GROWTH)))
        if self.size + more // 4 > len(self._table) * FULLEST or needed > len(self._table) * OVERFULL:
            grown = int(len(self._table) * FULLEST * GROWTH)
            self._rebuild(max(self.size + more // 2, grown, int(needed * FULLEST / OVERFULL) + 1))

    def _enlarged(self, length: int) -> Rows:
        """Return the rows in a longer array; where the system can move pages, without copying or touching them."""
        size = length * self.words * 8
        if self._pages is not None:
            del self._rows
            self._pages.resize(size)
            return np.frombuffer(self._pages, np.uint64).reshape(length, self.words)
        pages = _anonymous_pages(size)
        longer = np.empty((length, self.words), np.uint64) if pages is None else np.frombuffer(pages, np.uint64)
        longer = longer.reshape(length, self.words)
        longer[: self.size] = self._rows[: self.size]
        self._pages = pages
        return longer

    def _rebuild(self, capacity: int, chunk: int = 1 << 19) -> None:
        """A larger table for the same rows; no comparison is needed, because they all differ."""
        self._table = np.zeros(_prime_from(int(capacity / FULLEST)), np.uint32)
        for start in range(0, self.size, chunk):
            end = min(start + chunk, self.size)
            place, stride = self._start(mix(self.slice(start, end)))
            number = np.arange(start + 1, end + 1, dtype=np.uint32)
            while len(number):
                free = self._table.take(place) == 0
                self._table[place.compress(free)] = number.compress(free)
                lost = np.flatnonzero(self._table.take(place) != number)
                number, stride = number.take(lost), stride.take(lost)
                place = self._further(place.take(lost), stride)
