"""Rows are sorted by their words, known rows are taken away, and planes are made and read as NumPy does it."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import numpy as np
import pytest

from neverlost.checker.engine.compiled import ascending as module
from neverlost.checker.engine.compiled.ascending import Ascending, strike_known
from neverlost.checker.engine.compiled.order_text import ORDER_SIGNATURES, emit_order_functions
from neverlost.checker.engine.storage import compact
from neverlost.checker.engine.storage.levels import ASCENDING, FORMAT, Store
from neverlost.model.interpreters.llvm import Loaded, OptimizationLevel, compile_program
from neverlost.model.interpreters.machine_code import Rows


def tuples(rows: Rows) -> list[tuple[int, ...]]:
    return [*map(tuple, rows.tolist())]


@pytest.mark.parametrize("widths", [(9,), (40, 20), (63, 7, 64), (3,) * 9], ids=str)
def test_whole_sets(widths: tuple[int, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "SMALL", 300)
    monkeypatch.setattr(module, "RANGE", 700)
    monkeypatch.setattr(compact, "BLOCK", 1000)
    code = Loaded(compile_program(emit_order_functions(len(widths)), OptimizationLevel.NONE), ORDER_SIGNATURES)
    store = Store.create(tmp_path, {"format": FORMAT, "words": len(widths)})
    chance = np.random.default_rng(3)
    for size, values in ((0, 2), (1, 2), (3, 2), (500, 4), (9_000, 1 << 20)):
        rows = np.stack([chance.integers(0, min(1 << bits, values), size, dtype=np.uint64) for bits in widths], axis=1)
        rows <<= np.array([max(0, bits - 20) for bits in widths], np.uint64)
        distinct = np.unique(rows, axis=0).reshape(-1, len(widths))
        known = np.unique(np.concatenate([distinct[::3], distinct[1::7] ^ np.uint64(1)]), axis=0).reshape(-1, len(widths))
        taken = {*tuples(known)}
        expected = [row for row in tuples(distinct) if row not in taken]
        files = [store.write(part.T, "runs", ASCENDING) for part in (known, known[:0], known[5:9], known[: len(known) // 2])]
        for workers in (1, 2, 3):
            code_on = Ascending(code.functions, len(widths), workers)
            blocks = [each.copy() for each in np.array_split(chance.permutation(rows), 3)]
            found = code_on.sort(blocks)
            assert not blocks and tuples(found) == sorted(tuples(rows))
            found = code_on.distinct(found).copy()
            assert (found == distinct).all()
            runs = [code_on.run([*each]) for each in ([rows[::2], rows[1:7]], [distinct[1::2]], [distinct.copy()], [])]
            left = code_on.unite(runs, [partial(store.blocks, file, code_on.join) for file in files])
            assert [row for block in left.blocks() for row in tuples(compact.join(block))] == expected
            assert code_on.encode(distinct) == [compact.encode_block(part) for part in compact.cut_portions(distinct)]
        content = b"".join(code_on.encode(distinct))
        for block in compact.Run(content, len(widths)).blocks():
            assert (code_on.join(block) == compact.join(block)).all()
        for blocks in ([known], np.array_split(known, 5), [known[:0], known], [known, known[-1:]]):
            assert tuples(strike_known(code.functions, distinct.copy(), blocks)) == expected
        assert (strike_known(code.functions, distinct.copy(), []) == distinct).all()
