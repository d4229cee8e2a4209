"""Ascending states as differences, compressed: one or two bytes a state where a row of words takes sixteen.

Neighbours in the order of packed states share most of their bits.  A block is what differs of each state from the one before
it (exclusive or), byte plane by byte plane without those that are zero, under zstd.  Nothing is lost.

Shapes: states are rows, `uint64[n, words]`, ascending by their words from the first on.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from neverlost.checker.disk.storage import Bytes

Rows = NDArray[np.uint64]

BLOCK = 1 << 16
"""States in a block: what is decoded at once."""

WORDS = 8
"""Words of a state at most."""

_HEADER = struct.Struct("<IIQ")
"""States, bytes that follow, and one bit for each byte of a state that has a plane."""


@cache
def _zstd() -> Any:
    from pyarrow import Codec

    return Codec("zstd", compression_level=1)


def encoded(rows: Rows) -> Iterator[bytes]:
    """The blocks of ascending rows."""
    for start in range(0, len(rows), BLOCK):
        block = np.array(rows[start : start + BLOCK], "<u8", order="C")
        block[1:] ^= rows[start : start + len(block) - 1]
        planes = block.view(np.uint8).T
        used = np.flatnonzero(planes.any(axis=1))
        content = _zstd().compress(np.ascontiguousarray(planes[used]), asbytes=True)
        yield _HEADER.pack(len(block), len(content), sum(1 << int(each) for each in used)) + content


def decoded(content: Bytes, words: int) -> Iterator[Rows]:
    """The rows of what `encoded` made, block by block.

    Errors: `ValueError`, `OSError` or `struct.error` for anything else.
    """
    whole, start = memoryview(content), 0
    while start < len(whole):
        count, size, planes = _HEADER.unpack_from(whole, start)
        if count > BLOCK:
            raise ValueError(f"a block of {count} states")
        start += _HEADER.size
        used = [each for each in range(8 * words) if planes >> each & 1]
        raw = _zstd().decompress(whole[start : start + size], decompressed_size=count * len(used))
        block = np.zeros((count, 8 * words), np.uint8)
        block[:, used] = np.frombuffer(raw, np.uint8).reshape(len(used), count).T
        rows = block.view("<u8")
        yield np.bitwise_xor.accumulate(rows, axis=0)
        start += size
