"""A search in machine code finds what the columns interpreter finds, with any number of workers."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import neverlost.checker.engine.compiled
from neverlost.checker.engine.compiled import compiled_search as team
from neverlost.checker.engine.compiled import programs
from neverlost.checker.engine.compiled.expansion import NativeExpansion
from neverlost.checker.engine.engines import memory
from neverlost.checker.engine.engines.explore import explore
from neverlost.checker.engine.outcome import EngineError, Outcome, Verdict
from neverlost.checker.engine.search import level_search
from neverlost.checker.engine.search.configurations import Configurations
from neverlost.checker.engine.search.expansion import Expansion
from neverlost.checker.engine.search.options import Options, SearchLimits
from neverlost.model.interpreters import compiled_program as native_program
from neverlost.model.interpreters.llvm import OptimizationLevel
from neverlost.model.kernel import ModelError
from neverlost.model.system import System
from neverlost.specs.properties import guarantees, properties
from tests.model.test_native import without_guards
from tests.support.searches import classic, essence, kraft_matrix

ENOUGH = 1 << 50
"""Bytes that no search needs."""

SYSTEMS: dict[str, Callable[[], System]] = {
    "kip-320": lambda: classic("kip-320", 3, 2, 2, 1),
    "kip-279": lambda: classic("kip-279", 3, 2, 2, 1),
    "kip-101": lambda: classic("kip-101", 2, 3, 2, 2),
    "three configurations": kraft_matrix,
}


@pytest.fixture(autouse=True)
def soon(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Machine code continues almost at once, in small portions, and is kept in a folder of the test."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr("neverlost.checker.engine.engines.memory.WORTH_COMPILING", 12)
    monkeypatch.setattr(team, "CHUNK", 64)
    monkeypatch.setattr(team, "ROOM", 1 << 10)
    monkeypatch.setattr(team, "CHECKED", 100)


def searched(system: System, **options: Any) -> Outcome:
    return explore(system, guarantees(system.model), Options(**options))


@pytest.mark.parametrize("name", SYSTEMS)
@pytest.mark.parametrize(
    "how",
    [{}, {"keep_going": True}, {"every_configuration": True}, {"keep_going": True, "symmetry": True}],
    ids=["first", "all", "each", "orbits"],
)
def test_machine_code_finds_what_columns_find(name: str, how: dict[str, bool], monkeypatch: pytest.MonkeyPatch) -> None:
    used = []
    monkeypatch.setattr(
        team.CompiledSearch, "expand", lambda self, expand=team.CompiledSearch.expand: used.append(1) or expand(self)
    )
    system = SYSTEMS[name]()
    expected = essence(searched(system, machine_code=False, **how))
    assert not used
    for workers in (1, 2, 3):
        assert essence(searched(system, workers=workers, **how)) == expected
    assert used


def test_levels_that_entries_do_not_count_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(team, "DEEP", 5)
    system, asked = SYSTEMS["kip-279"](), [properties()["strong-isr"]]
    found = explore(system, asked, Options(workers=2))
    assert found.findings[0].trace is not None and len(found.findings[0].trace.steps) > 8
    assert essence(found) == essence(explore(system, asked, Options(machine_code=False)))


def test_a_cut_search_is_inconclusive() -> None:
    system = SYSTEMS["kip-320"]()
    cut = searched(system, limits=SearchLimits(depth=9), workers=2)
    assert essence(cut) == essence(searched(system, limits=SearchLimits(depth=9), machine_code=False))
    assert cut.verdict == Verdict.INCONCLUSIVE and cut.counts.left > 0


def test_a_search_that_keeps_its_levels_resumes_to_the_same_counterexample(tmp_path: Path) -> None:
    system, asked, place = SYSTEMS["kip-279"](), [properties()["strong-isr"]], tmp_path / "levels"
    expected = explore(system, asked, Options(machine_code=False))
    explore(system, asked, Options(workers=2, state_dir=place, limits=SearchLimits(depth=6)))
    for machine_code in (True, False, True):
        resumed = explore(system, asked, Options(workers=2, state_dir=place, resume=True, machine_code=machine_code))
        assert resumed.findings == expected.findings and resumed.counts == expected.counts
        assert resumed.fired == expected.fired and resumed.growth == expected.growth


@pytest.mark.parametrize("name", ["kip-279", "three configurations"])
def test_tables_that_are_emptied_lose_nothing(name: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The level's files say what was visited; a search that goes on from them does the same."""
    system, asked, emptied = SYSTEMS[name](), [], []
    expected = searched(system, machine_code=False, keep_going=True)

    def relieve(search: memory.MemorySearch, most: float = 0) -> None:
        if isinstance(search.workers, team.CompiledSearch) and search.store is not None:
            asked.append(len(emptied))
            if len(asked) % 5 in (1, 2):
                search.workers.offload(search.store.files.location)
                emptied.append(1)

    monkeypatch.setattr(memory.MemorySearch, "_relieve", relieve)
    monkeypatch.setattr(memory, "WORTH_EMPTYING", 0)
    limits, place = SearchLimits(memory_bytes=ENOUGH), tmp_path / "levels"
    assert essence(searched(system, workers=2, limits=limits, keep_going=True)) == essence(expected)
    assert len(emptied) > 2
    kept = {"limits": limits, "state_dir": place, "keep_going": True}
    searched(system, **kept | {"limits": SearchLimits(memory_bytes=ENOUGH, depth=7)})
    for _ in range(2):
        resumed = searched(system, resume=True, **kept)
        assert resumed.findings == expected.findings and resumed.counts == expected.counts
        assert resumed.growth == expected.growth and resumed.fired == expected.fired


@pytest.mark.parametrize("is_the_compiler_s", [True, False])
def test_memory_that_a_compiler_takes_ends_the_compiler(
    is_the_compiler_s: bool, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A limit that it alone exceeds ends no search; what is too little without a state in the tables says so."""
    system, begun, ended = SYSTEMS["kip-279"](), list[int](), list[int]()
    begin, close = team.CompiledSearch.__init__, programs.Programs.close
    expected = searched(system)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))  # what that left is not there

    def used() -> int:
        return ENOUGH + 1 if begun and not (ended and is_the_compiler_s) else 0

    monkeypatch.setattr(team.CompiledSearch, "__init__", lambda *given: begun.append(1) or begin(*given))
    monkeypatch.setattr(programs.Programs, "close", lambda program: ended.append(1) or close(program))
    for module in (memory, level_search):
        monkeypatch.setattr(module, "measure_memory", used)
    found = searched(system, limits=SearchLimits(memory_bytes=ENOUGH))
    if is_the_compiler_s:
        assert essence(found) == essence(expected) and ended
    else:
        takes = f"with hardly a state in its tables this search takes {ENOUGH + 1} bytes"
        assert found.reason == f"the memory limit of {ENOUGH} bytes was reached: {takes}" and found.counts.distinct > 30


@pytest.mark.parametrize("workers", [1, 2])
def test_an_interrupt_is_inconclusive(workers: int) -> None:
    def interrupt(progress: Any) -> None:
        if progress.level == 8:
            raise KeyboardInterrupt

    found = explore(SYSTEMS["kip-320"](), (), Options(workers=workers), interrupt)
    assert found.verdict == Verdict.INCONCLUSIVE and found.reason == "interrupted" and found.counts.distinct > 100


def test_a_step_that_leaves_its_bounds_is_named() -> None:
    unbounded = classic("kip-320", 2, 2, 2, 1, disabled=[("leader_write", "bound: record left")])
    with pytest.raises(ModelError, match=r"leader_write\(.*wrote next_record = 3, outside 0..2"):
        searched(unbounded, workers=2, limits=SearchLimits(depth=30))


def test_machine_code_that_differs_from_columns_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(native_program, "run_guard", without_guards)
    with pytest.raises((EngineError, ModelError), match="machine code"):
        searched(SYSTEMS["kip-279"]())


def test_without_a_compiler_columns_do_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    system = SYSTEMS["kip-279"]()
    expected = essence(searched(system))
    for name in ("programs", "compiled_search"):
        monkeypatch.delitem(sys.modules, f"neverlost.checker.engine.compiled.{name}")
        monkeypatch.delattr(neverlost.checker.engine.compiled, name)
    monkeypatch.setitem(sys.modules, "neverlost.model.interpreters.machine_code", None)
    monkeypatch.setattr(team.CompiledSearch, "__init__", None)
    with pytest.raises(ImportError):
        importlib.import_module("neverlost.checker.engine.compiled.compiled_search")
    assert essence(searched(system)) == expected


def test_a_compiler_that_fails_leaves_the_work_to_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    tried: list[str] = []

    def fail(text: str, effort: OptimizationLevel) -> bytes:
        tried.append(text)
        raise RuntimeError("no such processor")

    system = SYSTEMS["kip-279"]()
    expected = essence(searched(system))
    monkeypatch.setattr(programs, "compile_program", fail)
    monkeypatch.setattr(programs, "read", lambda path: None)
    assert essence(searched(system)) == expected
    assert len(tried) == 1


def test_a_task_that_is_run_again_finds_the_same() -> None:
    system = SYSTEMS["kip-279"]()
    rows = np.array([system.pack(state) for _, state in system.initial_states()], np.uint64)
    columns = Expansion(system, Configurations(system), None)
    found = NativeExpansion(columns, rows.T)
    for _ in range(6):
        first, second = found.of(rows.T), found.of(rows.T)
        assert first is not None and second is not None and np.array_equal(first, second)
        rows = np.unique(first.T, axis=0)
        wanted = columns.of(rows.T)
        assert wanted is not None and np.array_equal(np.unique(wanted.T, axis=0), np.unique(found.of(rows.T).T, axis=0))
    found.close()
