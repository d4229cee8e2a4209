"""Ascending states as differences, compressed: one or two bytes a state where a row of words takes sixteen.

Neighbours in the order of packed states share most of their bits.  A block is its first state, and what differs of each state
from the one before it (exclusive or), byte plane by byte plane without those that are zero, under zstd.  Nothing is lost.

Shapes: states are rows, `uint64[n, words]`, ascending by their words from the first on.  A plane is the same byte of every
difference, `uint8[length]`, where `length` is the number of states and up to seven zeros.
"""

from __future__ import annotations

import struct
from bisect import bisect_left
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from neverlost.checker.disk.storage import Bytes

Rows = NDArray[np.uint64]
Planes = NDArray[np.uint8]

BLOCK = 1 << 15
"""States in a block: what is decoded at once."""

GROUP = 8
"""Planes are as long as whole groups of so many states, so that machine code need not look at single ones."""

_HEADER = struct.Struct("<II")
"""States and compressed bytes.  One bit for each byte of a state that has a plane, the first state and the planes follow."""


@dataclass(frozen=True)
class Block:
    """A block as it is stored.  `planes` has a bit for each plane."""

    count: int
    planes: int
    first: Rows
    content: memoryview

    def __len__(self) -> int:
        return self.count

    def stored(self) -> bytes:
        """The block as it is in a file."""
        header, planes = _HEADER.pack(self.count, len(self.content)), self.planes.to_bytes(len(self.first), "little")
        return b"".join([header, planes, self.first.tobytes(), self.content])

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
    return Block(len(rows), used, rows[0].astype("<u8"), memoryview(content)).stored()


def portions(rows: Rows) -> Iterator[Rows]:
    """Rows as those of each block."""
    return (rows[start : start + BLOCK] for start in range(0, len(rows), BLOCK))


class Run:
    """Ascending states that are stored block after block, and where each block begins; nothing is decompressed.

    Errors: `ValueError` or `struct.error` for content that is no such thing.
    """

    def __init__(self, content: Bytes, words: int) -> None:
        self._content, self._starts, self._words = memoryview(content), [0], words
        firsts, self.count = [], 0
        while self._starts[-1] < len(self._content):
            block, end = self._read(self._starts[-1])
            if not 0 < block.count <= BLOCK or end > len(self._content) or (block.count > 1 and not block.planes):
                raise ValueError(f"a block of {block.count} states in {len(block.content)} bytes")
            self._starts.append(end)
            firsts.append(block.first)
            self.count += block.count
        self.firsts = np.array(firsts, np.uint64).reshape(-1, words)

    def _read(self, start: int) -> tuple[Block, int]:
        (count, size), place = _HEADER.unpack_from(self._content, start), start + _HEADER.size
        planes = int.from_bytes(self._content[place : place + self._words], "little")
        first = np.frombuffer(self._content, "<u8", self._words, place + self._words)
        begin = place + 9 * self._words
        return Block(count, planes, first, self._content[begin : begin + size]), begin + size

    def __len__(self) -> int:
        return self.count

    def blocks(self, low: int = 0, high: int | None = None) -> Iterator[Block]:
        """The blocks with numbers `low..high - 1`; all of them, if nothing is said."""
        return (self._read(start)[0] for start in self._starts[:-1][low:high])

    def about(self, rows: Rows) -> Iterator[Block]:
        """The blocks that may have one of some ascending states."""
        if not len(rows) or not len(self.firsts):
            return
        first, end = max(before(self.firsts, after(rows[0])) - 1, 0), before(self.firsts, after(rows[-1]))
        place = 0
        for number in range(first, end):
            there = len(rows) if number + 1 == len(self.firsts) else place + before(rows[place:], self.firsts[number + 1])
            if there > place:
                yield self._read(self._starts[number])[0]
            place = there

    def between(self, low: Rows | None, high: Rows | None) -> Iterator[Block]:
        """The blocks that may have states from one up to another, which is left out; None is no bound."""
        first = 0 if low is None else max(before(self.firsts, after(low)) - 1, 0)
        return self.blocks(first, None if high is None else before(self.firsts, high))


def before(rows: Rows, state: Rows) -> int:
    """How many of some ascending states come before a state."""
    wanted = state.tolist()
    return bisect_left(range(len(rows)), wanted, key=lambda number: rows[number].tolist())


def after(state: Rows) -> Rows:
    """A row that comes right after a state and nothing else; it may have a word more."""
    return np.append(state, np.uint64(0))
