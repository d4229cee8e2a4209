"""Large spaces as columns find them, on one, two and four workers, in memory and within little of it; minutes in all."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from neverlost.checker.engine.engines.explore import explore
from neverlost.checker.engine.host import resources
from neverlost.checker.engine.host.resources import measure_memory
from neverlost.checker.engine.search.options import Options, SearchLimits
from neverlost.model.system import System
from tests.support.modern import system
from tests.support.searches import classic, essence

LITTLE = 400 << 20
"""Bytes beside what this process has already."""

ONCE = {"crash": 1, "lossy_crash": 1, "isr_shrink": 1, "leader_move": 1}
SPACES: dict[str, tuple[Callable[[], System], int]] = {
    "kip-320": (lambda: classic("kip-320", 3, 2, 2, 2), 737_794),
    "kip-320, 3 records": (lambda: classic("kip-320", 3, 3, 3, 2), 4_093_531),
    "kraft-elr, faults once": (lambda: system("kraft-elr", records=2, **ONCE), 4_128_374),
    "kraft, four replicas": (lambda: system("kraft", rf=4, crash="any:2"), 867_336),
}


@cache
def found_by_columns(name: str) -> dict[str, Any]:
    make, states = SPACES[name]
    found = explore(make(), (), Options(machine_code=False))
    assert found.counts.distinct == states
    return essence(found)


@pytest.mark.slow
@pytest.mark.parametrize("place", [None, "levels"], ids=["in memory", "within little"])
@pytest.mark.parametrize("workers", [1, 2, 4])
@pytest.mark.parametrize("name", SPACES)
def test_any_number_of_workers_finds_what_columns_find(name: str, workers: int, place: str | None, tmp_path: Path) -> None:
    expected = found_by_columns(name)
    options = Options(workers=workers)
    if place:
        limits = SearchLimits(memory_bytes=measure_memory() + LITTLE)
        options = replace(options, limits=limits, state_dir=tmp_path / place)
    found = explore(SPACES[name][0](), (), options)
    assert found.reason is None and essence(found) == expected


@pytest.mark.slow
@pytest.mark.parametrize("workers", [1, 2, 4])
def test_orbits_of_four_replicas_hold_every_state(workers: int, tmp_path: Path) -> None:
    make, states = SPACES["kraft, four replicas"]
    for place in (None, tmp_path / "levels"):
        found = explore(make(), (), Options(workers=workers, symmetry=True, state_dir=place))
        assert found.reason is None and found.orbit_states == states and found.counts.distinct < states / 12


def test_memory_is_measured_where_there_is_no_proc(monkeypatch: pytest.MonkeyPatch) -> None:
    """As on macOS: a process then counts with the most that it has had."""
    monkeypatch.setattr(resources, "Path", lambda *_: Path("/there-is-no-such-folder"))
    assert measure_memory() == resources.peak_memory() > 1_000_000
