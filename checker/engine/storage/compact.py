"""Ascending states as differences, compressed: one or two bytes a state where a row of words takes sixteen.

Neighbours in the order of packed states share most of their bits.  A block is its first state, and what differs of each state
from the one before it (exclusive or): for every state one bit for each of its bytes, and then the bytes that differ,
under zstd.  Nothing is lost.

Shapes: states are rows, `uint64[n, words]`, ascending by their words from the first on; their bits `uint8[n, words]`.
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

from neverlost.checker.engine.storage.storage import Bytes

Rows = NDArray[np.uint64]
Bits = NDArray[np.uint8]
Different = NDArray[np.uint8]

BLOCK = 1 << 15
"""States in a block: what is decoded at once."""

_HEADER = struct.Struct("<III")
"""States, bytes that differ, and compressed bytes.  The first state and the compressed bytes follow."""


@dataclass(frozen=True)
class Block:
    """A block as it is stored."""

    count: int
    different: int
    first: Rows
    content: memoryview

    def __len__(self) -> int:
        return self.count

    def to_bytes(self) -> bytes:
        """Return the block as it is in a file."""
        header = _HEADER.pack(self.count, self.different, len(self.content))
        return b"".join([header, self.first.tobytes(), self.content])

    def raw(self) -> tuple[Bits, Different]:
        """Return a bit for each byte of each state, set if it differs from the state before, and the exclusive ors of those.

        Errors: `ValueError` or `OSError` where the content is no such thing.
        """
        size = self.count * len(self.first)
        whole = np.frombuffer(_get_zstd().decompress(self.content, decompressed_size=size + self.different), np.uint8)
        if np.bitwise_count(whole[:size]).sum(dtype=np.int64) != self.different:
            raise ValueError(f"not {self.different} bytes that differ")
        return whole[:size].reshape(self.count, -1), whole[size:]


Split = Callable[[Rows], tuple[Bits, Different]]
"""Takes the states of a block; returns what `Block.raw` does, with no difference for the first state."""

Join = Callable[[Block], Rows]


@cache
def _get_zstd() -> Any:
    from pyarrow import Codec

    return Codec("zstd", compression_level=1)


def split(rows: Rows) -> tuple[Bits, Different]:
    """Return what differs of each state of a block from the one before it, as `Block.raw` does."""
    differences = np.zeros(rows.shape, "<u8")
    differences[1:] = rows[1:] ^ rows[:-1]
    found = differences.view(np.uint8)
    return np.packbits(found != 0, axis=1, bitorder="little"), found[found != 0]


def join(block: Block) -> Rows:
    bits, different = block.raw()
    differences = np.zeros((block.count, 8 * len(block.first)), np.uint8)
    differences[np.unpackbits(bits, axis=1, bitorder="little").view(np.bool_)] = different
    rows = differences.view("<u8")
    rows[0] ^= block.first
    return np.bitwise_xor.accumulate(rows, axis=0)


def encode_block(rows: Rows, by: Split = split) -> bytes:
    """Return the states as one block, in its stored form."""
    bits, different = by(rows)
    content = _get_zstd().compress(bits.tobytes() + different.tobytes(), asbytes=True)
    return Block(len(rows), len(different), rows[0].astype("<u8"), memoryview(content)).to_bytes()


def cut_portions(rows: Rows) -> Iterator[Rows]:
    """Return the rows in portions, each for one block."""
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
            most = 8 * words * block.count
            if not 0 < block.count <= BLOCK or block.different > most or end > len(self._content):
                raise ValueError(f"a block of {block.count} states in {len(block.content)} bytes")
            self._starts.append(end)
            firsts.append(block.first)
            self.count += block.count
        self.firsts = np.array(firsts, np.uint64).reshape(-1, words)

    def _read(self, start: int) -> tuple[Block, int]:
        count, different, size = _HEADER.unpack_from(self._content, start)
        first = np.frombuffer(self._content, "<u8", self._words, start + _HEADER.size)
        begin = start + _HEADER.size + 8 * self._words
        return Block(count, different, first, self._content[begin : begin + size]), begin + size

    def __len__(self) -> int:
        return self.count

    def blocks(self, low: int = 0, high: int | None = None) -> Iterator[Block]:
        """Return the blocks with numbers `low..high - 1`; by default all of them."""
        return (self._read(start)[0] for start in self._starts[:-1][low:high])

    def about(self, rows: Rows) -> Iterator[Block]:
        """Yield the blocks that may have one of some ascending states."""
        if not len(rows) or not len(self.firsts):
            return
        first, end = (
            max(count_before(self.firsts, make_successor(rows[0])) - 1, 0),
            count_before(self.firsts, make_successor(rows[-1])),
        )
        place = 0
        for number in range(first, end):
            there = len(rows) if number + 1 == len(self.firsts) else place + count_before(rows[place:], self.firsts[number + 1])
            if there > place:
                yield self._read(self._starts[number])[0]
            place = there

    def between(self, low: Rows | None, high: Rows | None) -> Iterator[Block]:
        """Return the blocks that may have states from one up to another, which is left out; None is no bound."""
        first = 0 if low is None else max(count_before(self.firsts, make_successor(low)) - 1, 0)
        return self.blocks(first, None if high is None else count_before(self.firsts, high))


def count_before(rows: Rows, state: Rows) -> int:
    """Return how many of some ascending states come before a state."""
    wanted = state.tolist()
    return bisect_left(range(len(rows)), wanted, key=lambda number: rows[number].tolist())


def make_successor(state: Rows) -> Rows:
    """Return a row that comes right after a state, before any other one: it has a word more."""
    return np.append(state, np.uint64(0))
