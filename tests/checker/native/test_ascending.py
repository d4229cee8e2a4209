"""Rows are sorted by their words, and known rows are taken away, whatever blocks they come in."""

from __future__ import annotations

import numpy as np
import pytest

from neverlost.checker.native.ascending import ascending, unknown
from neverlost.checker.native.order_text import ORDER_SIGNATURES, order_text
from neverlost.model.interpreters.machine_code import Loaded, compiled


@pytest.mark.parametrize("widths", [(9,), (40, 20), (63, 7, 64)], ids=str)
def test_sorting_and_taking_away(widths: tuple[int, ...]) -> None:
    code = Loaded(compiled(order_text(len(widths)), is_fast=False), ORDER_SIGNATURES)
    chance = np.random.default_rng(3)
    for size, values in ((0, 2), (1, 2), (3, 2), (500, 4), (5_000, 1 << 20)):
        rows = np.stack([chance.integers(0, min(1 << bits, values), size, dtype=np.uint64) for bits in widths], axis=1)
        rows <<= np.array([max(0, bits - 20) for bits in widths], np.uint64)
        distinct = np.unique(rows, axis=0).reshape(-1, len(widths))
        found = ascending(code.functions, chance.permutation(distinct), widths)
        assert (found == distinct).all()
        known = np.unique(np.concatenate([distinct[::3], distinct[1::7] ^ np.uint64(1)]), axis=0).reshape(-1, len(widths))
        taken = {*map(tuple, known.tolist())}
        expected = [row for row in map(tuple, distinct.tolist()) if row not in taken]
        for blocks in ([known], np.array_split(known, 5), [known[:0], known], [known, known[-1:]]):
            assert [*map(tuple, unknown(code.functions, found.copy(), blocks).tolist())] == expected
        assert (unknown(code.functions, found.copy(), []) == distinct).all()
