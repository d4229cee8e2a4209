"""Tables of packed states in memory, and the memory they take; what is done to them is `table_text`."""

from __future__ import annotations

import contextlib
import mmap
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from neverlost.checker.engine.compiled.table_text import (
    ADDRESS,
    BUCKET,
    BUCKETS,
    BYTES,
    COMPARED,
    DESCRIPTION,
    INVERSE,
    INVERSE_BITS,
    LANES,
    LATEST,
    LEAST_K,
    LEAST_PARTS,
    LIMIT,
    MOST_BUCKETS,
    PARTS,
    PLACES,
    RECIPROCAL,
    RECIPROCAL_BITS,
    TABLES,
    USED,
    WHOLE,
    K,
    Layout,
)
from neverlost.checker.engine.outcome import EngineError

FULLEST = 0.70
"""Share of the places that may be taken; with ten places to a bucket few states then lie far from their own."""

START_K = 10
"""Tables begin with room for two million states, in 32 MB that are touched as they fill."""

SMALL = 12
"""Tables of fewer than `LEAST_PARTS << SMALL` buckets grow four times as large."""

MARGIN = 64
"""Each table gets room for 1/MARGIN more states than expected, because states are not spread quite evenly over tables."""

GROWTH = 1.2
"""The factor by which a larger table grows at least."""

HUGE_PAGE = 1 << 21
"""Bytes; a table that is spread over few pages is found two to three times as fast once it exceeds the caches."""

SMALL_MEMORY = 1 << 16
"""Bytes; less is left to the interpreter, which keeps it for later."""

PIECE = 2 * HUGE_PAGE
"""Bytes that rows get at once; what no row is written to is never touched, and so takes no memory."""

HORIZON = 3
"""Levels ahead for which tables get room at once: each time, every state in them moves."""

GENEROUS = 1 << 31
"""Bytes; larger tables get room for one level only.  With a limit of memory, tables grow only when they are full."""


def allocate_zeros(size: int) -> NDArray[np.uint8]:
    """Return an array of `size` zero bytes; a large one, on Linux, is on huge pages and goes back to the system when freed.

    The system hands out a page when it is touched first, and that takes as long for a small one as for a quarter of a huge one:
    a last part that fills half a huge page gets a whole one.  Errors: `MemoryError` where the system has none.
    """
    if sys.platform != "linux" or size < SMALL_MEMORY:
        return np.zeros(size, np.uint8)
    huge = (size + HUGE_PAGE // 2) // HUGE_PAGE * HUGE_PAGE
    try:
        pages = mmap.mmap(-1, max(size, huge) + (HUGE_PAGE if huge else 0), flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    except OSError:
        raise MemoryError(f"{size} bytes for states") from None
    whole = np.frombuffer(pages, np.uint8)
    if not huge:
        return whole[:size]
    start = -whole.ctypes.data % HUGE_PAGE
    with contextlib.suppress(OSError):
        pages.madvise(mmap.MADV_HUGEPAGE, start, huge)
    return whole[start : start + size]


def allocate_rows(count: int, words: int) -> NDArray[np.uint64]:
    """Return rows of zeros in memory of `allocate_zeros`."""
    return allocate_zeros(count * words * 8).view(np.uint64).reshape(count, words)


class Arena:
    """Rows that come a few at a time and are kept, in large pieces of memory; a piece is freed with the last of its rows."""

    def __init__(self, words: int) -> None:
        self._words = words
        self._free = np.empty((0, words), np.uint64)

    def room(self, count: int) -> NDArray[np.uint64]:
        """Return `count` or more free rows, all zero; the caller tells `take` how many of them it has written."""
        if len(self._free) < count:
            self._free = allocate_rows(max(2 * count, PIECE // (8 * self._words)), self._words)
        return self._free

    def take(self, count: int) -> NDArray[np.uint64]:
        """Return the first rows of the room, which are not free from now on."""
        taken, self._free = self._free[:count], self._free[count:]
        return taken


def _count_bytes(buckets: int) -> int:
    """Return a table's bytes: buckets, room to align them, and room after the last body, which is stored with what follows."""
    return buckets * BUCKET + 2 * BUCKET


def make_latest(words: int) -> NDArray[np.uint64]:
    """Return what `scatter` remembers at first: rows that differ from every state that is looked for in their places."""
    rows = np.zeros((LATEST, words), np.uint64)
    rows[0, 0] = 1
    return rows


class StateTables:
    """A set of states in `TABLES` tables, which grow one by one; different threads may use different tables at once."""

    def __init__(self, layout: Layout, functions: Mapping[str, Callable[..., int]], k: int = START_K) -> None:
        self.layout, self.functions = layout, functions
        self.descriptions = np.zeros((TABLES, DESCRIPTION), np.uint64)
        self._memory: list[NDArray[np.uint8]] = []
        size = _count_bytes(LEAST_PARTS << max(k, LEAST_K))
        shared = allocate_zeros(TABLES * size) if size < HUGE_PAGE else None  # let go when the last of them has grown
        for number in range(TABLES):
            part = None if shared is None else shared[number * size :][:size]
            self.descriptions[number], memory = self._new(LEAST_PARTS, max(k, LEAST_K), part)
            self._memory.append(memory)

    def __len__(self) -> int:
        return int(self.descriptions[:, USED].sum())

    @property
    def bytes(self) -> int:
        """Memory of all tables, touched or not."""
        return sum(each.nbytes for each in self._memory)

    def _new(self, parts: int, k: int, memory: NDArray[np.uint8] | None = None) -> tuple[NDArray[np.uint64], NDArray[np.uint8]]:
        """Return an empty table of `parts << k` buckets: its description and memory.  Errors: `EngineError` for too many."""
        if k > self.layout.rest_bits or parts << k > MOST_BUCKETS:
            raise EngineError("a table of states cannot grow any more")
        buckets, size, places = parts << k, self.layout.bytes(k), self.layout.places(k)
        memory = allocate_zeros(_count_bytes(buckets)) if memory is None else memory
        description = np.zeros(DESCRIPTION, np.uint64)
        description[ADDRESS] = -(-memory.ctypes.data // BUCKET) * BUCKET
        description[[K, PARTS, RECIPROCAL, INVERSE, BYTES, PLACES, BUCKETS, LANES]] = (
            k,
            parts,
            (1 << RECIPROCAL_BITS) // parts + 1,
            (1 << INVERSE_BITS) // parts + 1,
            size,
            places,
            buckets,
            (1 << places) - 1,
        )
        description[LIMIT] = max(1, self._room(parts, k))
        whole = (1 << 8 * size) - 1
        level = (1 << self.layout.level_bits) - 1
        for start, mask in ((WHOLE, whole), (COMPARED, whole & ~level)):
            description[start : start + 8] = [mask >> 64 * n & 0xFFFF_FFFF_FFFF_FFFF for n in range(8)]
        return description, memory

    def address(self, number: int) -> int:
        """Return the memory address of a table's description."""
        return int(self.descriptions[number:].ctypes.data)

    def grow(self, number: int, expected: int = 0) -> None:
        """Move the states of a table into a larger one, with room for `expected` states in all, or for more."""
        old = self.descriptions[number]
        parts, k = int(old[PARTS]), int(old[K])
        wanted = max(expected, int(old[LIMIT]) * 4 if k < SMALL else 0) or int(old[LIMIT] * GROWTH)
        while True:
            parts, k = (parts + 1, k) if parts < 2 * LEAST_PARTS - 1 else (LEAST_PARTS, k + 1)
            if self._room(parts, k) < wanted:
                continue
            new, memory = self._new(parts, k)
            if self.functions["move"](self.address(number), new.ctypes.data, number):
                break
        new[USED] = old[USED]
        self.descriptions[number] = new
        self._memory[number] = memory

    def _room(self, parts: int, k: int) -> int:
        """Return how many states a table of `parts << k` buckets takes before it has to grow."""
        return int((parts << k) * self.layout.places(k) * FULLEST)

    def are_short(self, soon: int) -> bool:
        """Return True if `soon` more states, spread evenly over all tables, would make some table too full."""
        return any(self._is_short(number, soon) for number in range(TABLES))

    def _is_short(self, number: int, soon: int) -> bool:
        return int(self.descriptions[number, USED]) + soon // TABLES > int(self.descriptions[number, LIMIT])

    def reserve(self, number: int, soon: int, later: int) -> None:
        """Make room in a table for its share of the states that come later, if those that come soon would not fit."""
        if self._is_short(number, soon):
            wanted = int(self.descriptions[number, USED]) + later // TABLES
            self.grow(number, wanted + wanted // MARGIN)

    def absorb(self, mixed: NDArray[Any], count: int, level: int, fresh: NDArray[np.uint64]) -> int:
        """Insert the first `count` mixed states; return how many were new.  `fresh`, with room for all, gets those, unmixed."""
        filled = np.zeros(1, np.int64)
        done = 0
        while True:
            places = self.descriptions.ctypes.data, level, fresh.ctypes.data, filled.ctypes.data
            done = self.functions["absorb"](mixed.ctypes.data, done, count, *places)
            if done >= count:
                return int(filled[0])
            self.grow(int(mixed[done, 0]) & (TABLES - 1))

    def collect(self, number: int, level: int) -> NDArray[np.uint64]:
        """Return those states of a table that a level brought, in no particular order."""
        found = np.empty((int(self.descriptions[number, USED]), self.layout.words), np.uint64)
        filled = np.zeros(1, np.int64)
        self.functions["collect"](self.address(number), number, level, found.ctypes.data, filled.ctypes.data)
        return found[: int(filled[0])].copy()


class Growth:
    """The sizes of the last levels, and how many states are expected to come, for which room is made."""

    def __init__(self, is_limited: bool) -> None:
        self.expected = (0, 0)
        self._is_limited = is_limited
        self._sizes: list[int] = []

    def add(self, size: int, table_bytes: int) -> None:
        """Note a level's size, and expect what the next one and the next few bring; nothing if a search has a memory limit."""
        self._sizes = [*self._sizes[-2:], size]
        soon, later = predict_growth(self._sizes)
        self.expected = (0, 0) if self._is_limited else (soon, later if table_bytes < GENEROUS else soon)

    def forget(self) -> None:
        """Expect nothing more: room was made for what was expected."""
        self.expected = (0, 0)


def predict_growth(growth: Sequence[int]) -> tuple[int, int]:
    """Return about how many states the next level, and the next `HORIZON`, bring; `growth` has the sizes of the last three.

    Both are 0 for fewer sizes or where one is 0.  It is for making room only: where it is wrong, tables grow when full.
    """
    if len(growth) < 3 or not all(growth):
        return 0, 0
    first, second, size = growth
    ratio = size / second
    change = min(1.0, ratio / (second / first))
    sizes = []
    for _ in range(HORIZON):
        ratio *= change
        size = int(size * ratio)
        sizes.append(size)
    return sizes[0], sum(sizes)
