"""Rows in ascending order: what `order_text` does to whole arrays."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

import numpy as np

from neverlost.checker.native.order_text import DIGIT
from neverlost.model.interpreters.machine_code import Rows

Functions = Mapping[str, Callable[..., int]]


def ascending(functions: Functions, rows: Rows, widths: Sequence[int]) -> Rows:
    """The rows, of which nothing is kept as it was, in ascending order; `widths` are the bits of each word."""
    rows = np.ascontiguousarray(rows)
    others = np.empty_like(rows)
    for word in reversed(range(len(widths))):
        for shift in range(0, widths[word], DIGIT):
            places = np.zeros(1 << DIGIT, np.int64)
            if functions["spread"](rows.ctypes.data, others.ctypes.data, len(rows), places.ctypes.data, word, shift):
                rows, others = others, rows
    return rows


def unknown(functions: Functions, rows: Rows, known: Iterable[Rows]) -> Rows:
    """Of ascending rows, which are overwritten, those that are in none of some blocks, which ascend as a whole."""
    start, kept = 0, np.zeros(1, np.int64)
    for block in known:
        if start == len(rows):
            break
        block = np.ascontiguousarray(block)
        start = functions["strike"](rows.ctypes.data, start, len(rows), kept.ctypes.data, block.ctypes.data, len(block))
    end = int(kept[0]) + len(rows) - start
    rows[int(kept[0]) : end] = rows[start:]
    return rows[:end]
