"""The set of states in machine code is exact, whatever the widths of its words and however it grows."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from neverlost.checker.engine.compiled import state_tables
from neverlost.checker.engine.compiled.state_tables import StateTables, make_latest
from neverlost.checker.engine.compiled.table_text import (
    BUCKETS,
    LEAST_K,
    LIMIT,
    PLACES,
    TABLE_SIGNATURES,
    TABLES,
    K,
    Layout,
    emit_table_functions,
)
from neverlost.model.interpreters.llvm import Loaded, OptimizationLevel, compile_program

WIDTHS = [(40,), (63,), (63, 18), (56, 63, 60), (63, 63, 63, 1)]


def loaded(widths: tuple[int, ...], level_bits: int = 8) -> tuple[Layout, Loaded]:
    layout = Layout(widths, level_bits)
    return layout, Loaded(compile_program(emit_table_functions(layout), OptimizationLevel.GOOD), TABLE_SIGNATURES)


def states(chance: np.random.Generator, widths: tuple[int, ...], size: int, low: int) -> NDArray[np.uint64]:
    """Random states that often differ in a few bits only, and often not at all."""
    found = np.empty((size, len(widths)), np.uint64)
    for word, width in enumerate(widths):
        found[:, word] = chance.integers(0, min(1 << width, low), size, dtype=np.uint64) << np.uint64(max(0, width - 20))
        found[:, word] &= np.uint64((1 << width) - 1)
    return found


def mixed(code: Loaded, rows: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """What `scatter` makes of rows for one worker: each of them, but some repetitions."""
    found, filled, latest = np.empty_like(rows), np.zeros(1, np.int64), make_latest(rows.shape[1])
    owners, places = np.zeros(TABLES, np.int64), np.array([found.ctypes.data], np.uint64)
    pointers = [each.ctypes.data for each in (owners, places, filled, latest)]
    code.functions["scatter"](rows.ctypes.data, len(rows), *pointers)
    return found[: filled[0]]


def taken_in(code: Loaded, tables: StateTables, rows: NDArray[np.uint64], level: int) -> NDArray[np.uint64]:
    """The rows that were new."""
    passed_on, fresh = mixed(code, rows), np.zeros_like(rows)
    return fresh[: tables.absorb(passed_on, len(passed_on), level, fresh)]


def absorbed(code: Loaded, tables: StateTables, rows: NDArray[np.uint64], level: int) -> list[tuple[int, ...]]:
    return [tuple(each) for each in taken_in(code, tables, rows, level).tolist()]


@pytest.mark.parametrize("widths", WIDTHS, ids=str)
def test_only_repetitions_are_passed_over(widths: tuple[int, ...]) -> None:
    _, code = loaded(widths)
    first = np.zeros((2, len(widths)), np.uint64)
    first[1, 0] = 1
    rows = np.concatenate([first, states(np.random.default_rng(2), widths, 20_000, 40)])
    each = np.concatenate([mixed(code, rows[n : n + 1]) for n in range(len(rows))])
    found = mixed(code, rows)
    assert [*dict.fromkeys(map(tuple, found.tolist()))] == [*dict.fromkeys(map(tuple, each.tolist()))]
    assert len(mixed(code, np.repeat(rows[:5], 7, axis=0))) == len(np.unique(rows[:5], axis=0))
    sifted, left, latest = rows.copy(), np.zeros(1, np.int64), make_latest(len(widths))
    code.functions["sift"](sifted.ctypes.data, len(rows), left.ctypes.data, latest.ctypes.data)
    assert np.array_equal(mixed(code, sifted[: left[0]]), found)


@pytest.mark.parametrize("widths", WIDTHS, ids=str)
def test_the_tables_hold_exactly_what_was_inserted(widths: tuple[int, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(state_tables, "FULLEST", 0.01)
    layout, code = loaded(widths)
    tables = StateTables(layout, code.functions, k=LEAST_K)
    chance = np.random.default_rng(7)
    levels: dict[tuple[int, ...], int] = {}
    for level, (size, low) in enumerate([(0, 9), (1, 9), (2, 2), (5_000, 40), (60_000, 1 << 20), (60_000, 1 << 20), (9, 3)]):
        rows = states(chance, widths, size, low)
        fresh = absorbed(code, tables, rows, level)
        wanted = list(dict.fromkeys(each for each in map(tuple, rows.tolist()) if each not in levels))
        assert fresh == wanted
        levels |= dict.fromkeys(wanted, level)
        assert len(tables) == len(levels)
    assert tables.descriptions[:, K].min() > LEAST_K
    for level in range(7):
        found = [tuple(row) for number in range(TABLES) for row in tables.collect(number, level).tolist()]
        assert sorted(found) == sorted(state for state, at in levels.items() if at == level)


def test_tables_grow_when_states_lie_too_far_from_their_buckets(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(state_tables, "FULLEST", 1.0)
    layout, code = loaded((63, 20))
    tables = StateTables(layout, code.functions, k=LEAST_K)
    rows = np.unique(states(np.random.default_rng(1), (63, 20), 900_000, 1 << 20), axis=0)
    places = int((tables.descriptions[:, PLACES] * tables.descriptions[:, BUCKETS]).sum())
    assert len(rows) > places
    assert np.array_equal(taken_in(code, tables, rows, 3), rows)
    assert len(tables) == len(rows) and len(taken_in(code, tables, rows, 4)) == 0
    found = np.concatenate([tables.collect(number, 3) for number in range(TABLES)])
    assert np.array_equal(np.unique(found, axis=0), rows)


def test_room_is_made_for_what_is_expected() -> None:
    layout, code = loaded((63, 20))
    tables = StateTables(layout, code.functions, k=LEAST_K)
    rows = np.unique(states(np.random.default_rng(3), (63, 20), 50_000, 1 << 20), axis=0)
    absorbed(code, tables, rows, 3)
    before = tables.descriptions.copy()
    for number in range(TABLES):
        tables.reserve(number, len(rows), 1 << 21)
    assert np.array_equal(before, tables.descriptions)
    for number in range(TABLES):
        tables.reserve(number, 1 << 20, 1 << 21)
    assert (tables.descriptions[:, LIMIT] > (1 << 21) // TABLES).all()
    assert absorbed(code, tables, rows, 4) == []


@pytest.mark.parametrize("widths", WIDTHS, ids=str)
def test_mixing_is_a_bijection_that_spreads(widths: tuple[int, ...]) -> None:
    _, code = loaded(widths)
    rows = np.zeros((4096, len(widths)), np.uint64)
    place = int(np.argmax(widths)) if len(widths) < 3 else 2
    rows[:, place] |= np.arange(4096, dtype=np.uint64) << np.uint64(widths[place] - 12)
    found = mixed(code, rows)
    assert len(np.unique(found, axis=0)) == 4096
    assert all((found[:, word] >> np.uint64(width)).max() == 0 for word, width in enumerate(widths))
    tables: Any = np.bincount((found[:, 0] & np.uint64(TABLES - 1)).astype(np.int64), minlength=TABLES)
    assert tables.min() > 4096 // TABLES // 2 and tables.max() < 2 * 4096 // TABLES


@pytest.mark.parametrize("widths", WIDTHS, ids=str)
def test_a_table_is_full_before_it_grows(widths: tuple[int, ...]) -> None:
    layout, code = loaded(widths)
    tables = StateTables(layout, code.functions, k=LEAST_K)
    rows = np.unique(states(np.random.default_rng(2), widths, 900_000, 1 << 20), axis=0)
    tables.absorb(mixed(code, rows), len(rows), 0, np.zeros_like(rows))
    places = tables.descriptions[:, PLACES] * tables.descriptions[:, BUCKETS]
    assert len(tables) == len(rows) > 0.2 * places.sum()
