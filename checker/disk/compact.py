"""Ascending states as differences, compressed: one or two bytes a state where a row of words takes sixteen.

Neighbours in the order of packed states share most of their bits.  A block is its first state, and what differs of each state
from the one before it (exclusive or), byte plane by byte plane without those that are zero, under zstd.  Nothing is lost.

Shapes: states are rows, `uint64[n, words]`, ascending by their words from the first on.  A plane is the same byte of every
difference, `uint8[length]`, where `length` is the number of states and up to seven zeros.
"""

from __future__ import annotations

import struct
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from itertools import zip_longest
from typing import Any

import numpy as np
from numpy.typing import NDArray

from neverlost.checker.disk.storage import Bytes

Rows = NDArray[np.uint64]
Planes = NDArray[np.uint8]

BLOCK = 1 << 15
"""States in a block: what is decoded at once."""

WORDS = 8
"""Words of a state at most."""

GROUP = 8
"""Planes are as long as whole groups of so many states, so that machine code need not look at single ones."""

_HEADER = struct.Struct("<IIQ")
"""States, compressed bytes, and one bit for each byte of a state that has a plane.  The first state and the planes follow."""


@dataclass(frozen=True)
class Block:
    """A block as it is stored.  `planes` has a bit for each plane."""

    count: int
    planes: int
    first: Rows
    content: memoryview

    @property
    def length(self) -> int:
        """Bytes of a plane."""
        return whole_groups(self.count)

    def numbers(self) -> list[int]:
        """Which bytes of a state have a plane."""
        return [each for each in range(8 * len(self.first)) if self.planes >> each & 1]

    def raw(self) -> Planes:
        """The planes.

        Errors: `ValueError` or `OSError` where the content is no such thing.
        """
        used = self.numbers()
        found = _zstd().decompress(self.content, decompressed_size=self.length * len(used)) if used else b""
        return np.frombuffer(found, np.uint8).reshape(len(used), self.length)


Split = Callable[[Rows], tuple[Planes, int]]
"""All planes of the states of a block, and a bit for each that is not zero."""

Join = Callable[[Block], Rows]


def whole_groups(count: int) -> int:
    """A number of states rounded up."""
    return -(-count // GROUP) * GROUP


@cache
def _zstd() -> Any:
    from pyarrow import Codec

    return Codec("zstd", compression_level=1)


def split(rows: Rows) -> tuple[Planes, int]:
    """The planes of the states of a block."""
    differences = np.zeros((whole_groups(len(rows)), rows.shape[1]), "<u8")
    differences[1 : len(rows)] = rows[1:] ^ rows[:-1]
    planes = differences.view(np.uint8).T
    return planes, sum(1 << int(each) for each in np.flatnonzero(planes.any(axis=1)))


def join(block: Block) -> Rows:
    """The states of a block."""
    differences = np.zeros((block.length, 8 * len(block.first)), np.uint8)
    differences[:, block.numbers()] = block.raw().T
    rows = differences.view("<u8")[: block.count]
    rows[0] ^= block.first
    return np.bitwise_xor.accumulate(rows, axis=0)


def encoded(rows: Rows, by: Split = split) -> bytes:
    """One block, of as many states."""
    planes, used = by(rows)
    content = _zstd().compress(planes[[each for each in range(len(planes)) if used >> each & 1]].tobytes(), asbytes=True)
    return b"".join([_HEADER.pack(len(rows), len(content), used), rows[0].astype("<u8").tobytes(), content])


def portions(rows: Rows) -> Iterator[Rows]:
    """Rows as those of each block."""
    return (rows[start : start + BLOCK] for start in range(0, len(rows), BLOCK))


def blocks(content: Bytes, words: int) -> Iterator[Block]:
    """The blocks that stand one after another in some content; nothing is decompressed.

    Errors: `ValueError` or `struct.error` for what is no such content.
    """
    whole, start = memoryview(content), 0
    while start < len(whole):
        count, size, planes = _HEADER.unpack_from(whole, start)
        begin = start + _HEADER.size + 8 * words
        start = begin + size
        if not 0 < count <= BLOCK or start > len(whole) or (count > 1 and not planes):
            raise ValueError(f"a block of {count} states in {size} bytes")
        yield Block(count, planes, np.frombuffer(whole, "<u8", words, begin - 8 * words), whole[begin:start])


def about(found: Iterable[Block], rows: Rows) -> Iterator[Block]:
    """Of ascending blocks, those that may have one of some ascending states."""
    waiting, start = [*found], 0
    for block, after in zip_longest(waiting, waiting[1:]):
        end = len(rows) if after is None else start + _before(rows[start:], after.first)
        if end > start:
            yield block
        start = end


def _before(rows: Rows, state: Rows) -> int:
    """How many of some ascending states come before a state."""
    wanted = state.tolist()
    return bisect_left(range(len(rows)), wanted, key=lambda number: rows[number].tolist())
