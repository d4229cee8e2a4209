"""Rows in ascending order: what `order_text` does to whole arrays, by several threads."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import Any

import numpy as np

from neverlost.checker.engine.compiled.order_text import DIGIT
from neverlost.checker.engine.storage import compact
from neverlost.checker.engine.storage.compact import Bits, Block, Different, Run, count_before
from neverlost.model.interpreters.machine_code import Rows

Functions = Mapping[str, Callable[..., int]]

SMALL = 1 << 15
"""The most rows that are sorted at once, by their last digit first: they and their copy fit the processor's cache."""

RANGE = 1 << 18
"""Rows that are united at once, about."""

Known = Callable[[Rows], Iterable[Rows]]
"""Takes ascending rows; returns blocks, ascending as a whole, that have at least those of the rows that are known."""


class Ascending:
    """Sorts and compresses rows of a fixed number of words by compiled code, with several threads."""

    def __init__(self, functions: Functions, words: int, workers: int = 1) -> None:
        self.functions, self.words, self.workers = functions, words, workers
        self._own = threading.local()

    def _each(self, work: Callable[[Any], Any], things: Sequence[Any]) -> list[Any]:
        if self.workers == 1 or len(things) < 2:
            return [work(each) for each in things]
        with ThreadPoolExecutor(self.workers) as pool:
            return [*pool.map(work, things)]

    def sort(self, blocks: list[Rows]) -> Rows:
        """Return the rows of some blocks in ascending order, repeats too; the list `blocks` is emptied."""
        blocks[:] = [each for each in map(np.ascontiguousarray, blocks) if len(each)]
        total = sum(map(len, blocks))
        if total <= SMALL or not (digits := self._digits(blocks, min(DIGIT, (total // SMALL).bit_length() + 1))):
            whole = np.concatenate([np.empty((0, self.words), np.uint64), *blocks])
            blocks.clear()
            return self._small(whole, np.empty_like(whole))
        found, ends = self._spread(blocks, total, digits[0])
        pieces = [found[start:end] for start, end in zip([0, *ends], ends, strict=False) if end > start]
        self._each(self._put, sorted(pieces, key=len, reverse=True))
        return found

    def _put(self, piece: Rows) -> None:
        """Sort rows in place."""
        if len(piece) > SMALL:
            piece[:] = Ascending(self.functions, self.words).sort([piece.copy()])
            return
        others = self._room(len(piece))
        found = self._small(piece, others)
        if found is others:
            piece[:] = others

    def _room(self, rows: int) -> Rows:
        """Return a buffer of this many rows, at most `SMALL`, of this thread alone; its next call gets the same memory."""
        if not hasattr(self._own, "rows"):
            self._own.rows = np.empty((SMALL, self.words), np.uint64)
        found: Rows = self._own.rows[:rows]
        return found

    def _digits(self, blocks: Sequence[Rows], width: int = DIGIT) -> list[tuple[int, int]]:
        """Return word and shift of digits of `width` bits that hold every bit in which rows differ, most significant first;
        none if all rows are equal."""
        bits = np.zeros(self.words, np.uint64)
        for block in blocks:
            found = np.empty(self.words, np.uint64)
            self.functions["differ"](block.ctypes.data, len(block), found.ctypes.data)
            bits |= found | (block[0] ^ blocks[0][0])
        digits = []
        for word, value in enumerate(bits.tolist()):
            while value:
                shift = max(0, value.bit_length() - width)
                digits.append((word, shift))
                value &= (1 << shift) - 1
        return digits

    def _spread(self, blocks: list[Rows], total: int, digit: tuple[int, int]) -> tuple[Rows, list[int]]:
        """Return the rows grouped by one digit, and where the group of each value ends; the list `blocks` is emptied."""
        counts = np.zeros(1 << DIGIT, np.int64)
        for block in blocks:
            self.functions["tally"](block.ctypes.data, len(block), counts.ctypes.data, *digit)
        ends = np.cumsum(counts)
        found, places = np.empty((total, self.words), np.uint64), ends - counts
        while blocks:
            block = blocks.pop()
            self.functions["arrange"](block.ctypes.data, len(block), found.ctypes.data, places.ctypes.data, *digit)
        return found, ends.tolist()

    def _small(self, rows: Rows, others: Rows) -> Rows:
        """Sort rows in place or into `others`, and return whichever holds them."""
        digits = np.array(self._digits([rows])[::-1] if len(rows) > 1 else [], np.int64)
        places = np.empty(1 << DIGIT, np.int64)
        given = others.ctypes.data, places.ctypes.data, digits.ctypes.data, len(digits)
        return others if self.functions["sort"](rows.ctypes.data, len(rows), *given) else rows

    def distinct(self, rows: Rows) -> Rows:
        """Return each of the ascending rows once, in the first places of the given array, which is overwritten."""
        return rows[: self.functions["unique"](rows.ctypes.data, len(rows))]

    def encode(self, rows: Rows) -> list[bytes]:
        """Return ascending rows as a list of compressed blocks."""
        return self._each(lambda part: compact.encode_block(part, self._split), [*compact.cut_portions(rows)])

    def _split(self, rows: Rows) -> tuple[Bits, Different]:
        room = np.concatenate([rows[:1], rows])
        bits, different = np.empty((len(rows), self.words), np.uint8), np.empty(8 * rows.size, np.uint8)
        count = self.functions["split"](room[1:].ctypes.data, len(rows), bits.ctypes.data, different.ctypes.data)
        return bits, different[:count]

    def join(self, block: Block) -> Rows:
        """Return the rows of a block.  Errors: `ValueError` or `OSError` where it is damaged."""
        bits, different = block.raw()
        rows, first = np.empty((block.count, self.words), np.uint64), np.array(block.first, np.uint64)
        given = different.ctypes.data, rows.ctypes.data, first.ctypes.data
        self.functions["join"](bits.ctypes.data, block.count, *given)
        return rows

    def run(self, blocks: list[Rows]) -> Run:
        """Return the distinct rows of some blocks, ascending and compressed; the list `blocks` is emptied."""
        return Run(b"".join(self.encode(self.distinct(self.sort(blocks)))), self.words)

    def unite(self, runs: Sequence[Run], known: Sequence[Known]) -> Run:
        """Return the distinct rows of several runs as one run, without the known rows."""
        firsts = np.concatenate([np.empty((0, self.words), np.uint64), *[each.firsts for each in runs]])
        ranges = max(1, sum(map(len, runs)) // RANGE)
        order = np.lexsort(firsts.T[::-1])
        bounds = [None, *(firsts[order[len(order) * each // ranges]] for each in range(1, ranges)), None]
        found = self._each(lambda span: self._unite_range(runs, known, *span), [*pairwise(bounds)])
        return Run(b"".join(block for blocks in found for block in blocks), self.words)

    def _unite_range(self, runs: Sequence[Run], known: Sequence[Known], low: Rows | None, high: Rows | None) -> list[bytes]:
        parts = [slice_between(self.join(block), low, high) for run in runs for block in run.between(low, high)]
        rows = Ascending(self.functions, self.words).sort(parts) if len(runs) > 1 else np.concatenate(parts or [self._none()])
        rows = self.distinct(rows)
        for each in known:
            rows = strike_known(self.functions, rows, each(rows))
        return [compact.encode_block(part, self._split) for part in compact.cut_portions(rows)]

    def _none(self) -> Rows:
        return np.empty((0, self.words), np.uint64)


def slice_between(rows: Rows, low: Rows | None, high: Rows | None) -> Rows:
    """Return those of the ascending rows from `low` on and before `high`; None is no bound."""
    return rows[0 if low is None else count_before(rows, low) : len(rows) if high is None else count_before(rows, high)]


def strike_known(functions: Functions, rows: Rows, known: Iterable[Rows]) -> Rows:
    """Return those of the ascending rows that are in none of the ascending `known` blocks, in the first places of the given
    array, which is overwritten."""
    start, kept = 0, np.zeros(1, np.int64)
    for block in known:
        if start == len(rows):
            break
        block = np.ascontiguousarray(block)
        start = functions["strike"](rows.ctypes.data, start, len(rows), kept.ctypes.data, block.ctypes.data, len(block))
    end = int(kept[0]) + len(rows) - start
    rows[int(kept[0]) : end] = rows[start:]
    return rows[:end]
