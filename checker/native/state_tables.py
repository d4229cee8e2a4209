"""Tables of packed states in memory, and the memory they take; what is done to them is `table_text`."""

from __future__ import annotations

import contextlib
import mmap
import sys
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from neverlost.checker.native.table_text import (
    ADDRESS,
    BUCKETS,
    BYTES,
    COMPARED,
    DESCRIPTION,
    DISTANCE_BITS,
    LEAST_K,
    LEAST_PARTS,
    LIMIT,
    LINE,
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
from neverlost.checker.outcome import EngineError

FULLEST = 0.84
"""Share of the places that may be taken; with seven places to a bucket few states then lie far from their own."""

SMALL = 15
"""Tables of fewer than `LEAST_PARTS << SMALL` buckets are doubled, larger ones grow by a quarter or less."""


HUGE_PAGE = 1 << 21
"""Bytes; a table that is spread over few pages is found two to three times as fast once it exceeds the caches."""


def _cleared(size: int) -> NDArray[np.uint8]:
    """Memory of zeros, on huge pages where it is worth one and the system has them."""
    if sys.platform != "linux" or size < HUGE_PAGE // 2:
        return np.zeros(size, np.uint8)
    try:
        pages = mmap.mmap(-1, size + HUGE_PAGE, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    except OSError:
        raise MemoryError(f"{size} bytes for a table of states") from None
    with contextlib.suppress(OSError):
        pages.madvise(mmap.MADV_HUGEPAGE)
    whole = np.frombuffer(pages, np.uint8)
    return whole[-whole.ctypes.data % HUGE_PAGE :]


class StateTables:
    """`TABLES` tables, each of which grows by itself; different tables may be used by different threads at once."""

    def __init__(self, layout: Layout, functions: Mapping[str, Callable[..., int]], k: int = LEAST_K) -> None:
        self.layout, self.functions = layout, functions
        self.descriptions = np.zeros((TABLES, DESCRIPTION), np.uint64)
        self._memory: list[NDArray[np.uint8]] = []
        for number in range(TABLES):
            self.descriptions[number], memory = self._new(LEAST_PARTS, k)
            self._memory.append(memory)

    def __len__(self) -> int:
        return int(self.descriptions[:, USED].sum())

    @property
    def bytes(self) -> int:
        """Memory of all tables, touched or not."""
        return sum(each.nbytes for each in self._memory)

    def _new(self, parts: int, k: int) -> tuple[NDArray[np.uint64], NDArray[np.uint8]]:
        """The description of an empty table of `parts << k` buckets, and its memory."""
        if k > self.layout.rest_bits:
            raise EngineError("a table of states cannot grow any more")
        buckets, bucket, size = parts << k, self.layout.bucket, self.layout.bytes(k)
        memory = _cleared(buckets * bucket + 4 * LINE)
        description = np.zeros(DESCRIPTION, np.uint64)
        description[ADDRESS] = -(-memory.ctypes.data // (2 * LINE)) * (2 * LINE)
        description[[K, PARTS, RECIPROCAL, BYTES, PLACES, BUCKETS]] = (
            k,
            parts,
            (1 << RECIPROCAL_BITS) // parts + 1,
            size,
            bucket // size,
            buckets,
        )
        description[LIMIT] = max(1, int(buckets * (bucket // size) * FULLEST))
        whole = (1 << 8 * size) - 1
        level = ((1 << self.layout.level_bits) - 1) << DISTANCE_BITS
        for start, mask in ((WHOLE, whole), (COMPARED, whole & ~level)):
            description[start : start + 8] = [mask >> 64 * n & 0xFFFF_FFFF_FFFF_FFFF for n in range(8)]
        return description, memory

    def address(self, number: int) -> int:
        """Where the description of a table is."""
        return int(self.descriptions[number:].ctypes.data)

    def grow(self, number: int) -> None:
        """Move the states of a table into a larger one."""
        old = self.descriptions[number]
        parts, k = int(old[PARTS]), int(old[K])
        while True:
            if k < SMALL:
                k += 1
            else:
                parts, k = (parts + 1, k) if parts < 2 * LEAST_PARTS - 1 else (LEAST_PARTS, k + 1)
            new, memory = self._new(parts, k)
            if self.functions["move"](self.address(number), new.ctypes.data, number):
                break
        new[USED] = old[USED]
        self.descriptions[number] = new
        self._memory[number] = memory

    def absorb(self, mixed: NDArray[Any], count: int, level: int, fresh: NDArray[np.uint64]) -> int:
        """Insert mixed states; how many were new.  `fresh` takes those, unmixed, and has room for all."""
        filled = np.zeros(1, np.int64)
        done = 0
        while True:
            places = self.descriptions.ctypes.data, level, fresh.ctypes.data, filled.ctypes.data
            done = self.functions["absorb"](mixed.ctypes.data, done, count, *places)
            if done >= count:
                return int(filled[0])
            self.grow(int(mixed[done, 0]) & (TABLES - 1))

    def collect(self, number: int, level: int) -> NDArray[np.uint64]:
        """The states of a table that a level brought, in no order."""
        found = np.empty((int(self.descriptions[number, USED]), self.layout.words), np.uint64)
        filled = np.zeros(1, np.int64)
        self.functions["collect"](self.address(number), number, level, found.ctypes.data, filled.ctypes.data)
        return found[: int(filled[0])].copy()
