"""Searches on stored levels: equal to searches in memory, resumable at every level, and never wrong about damage."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow.fs
import pytest

from neverlost.checker.engine.compiled import expansion
from neverlost.checker.engine.disk import on_disk_search
from neverlost.checker.engine.disk.level_tasks import (
    Counted,
    LevelTask,
    SearchDescription,
    Settled,
    collect_results,
    describe_task,
    expand,
    parse_settled,
    search_back,
    settle,
)
from neverlost.checker.engine.engines.explore import explore
from neverlost.checker.engine.outcome import Outcome
from neverlost.checker.engine.search.options import Options, SearchLimits
from neverlost.checker.engine.storage import storage as storage_module
from neverlost.checker.engine.storage.levels import PACKED, Level, Store, describe_search
from neverlost.model.interpreters.columns import pack_rows, unpack_row
from neverlost.model.system import System, Words
from neverlost.specs.errors import InputError
from neverlost.specs.properties import guarantees
from tests.support.searches import classic, essence, kraft_any_crash, kraft_matrix

SYSTEMS = {
    "holds": lambda: classic("kip-320", 2, 2, 2, 2),
    "violated": lambda: classic("kip-101", 3, 1, 1, 1),
    "matrix": kraft_matrix,
    "any number": kraft_any_crash,
}


def in_memory(system: System, **options: Any) -> dict[str, Any]:
    return essence(explore(system, guarantees(system.model), Options(workers=1, **options)))


def on_storage(system: System, place: str | Path, **options: Any) -> Outcome:
    return on_disk_search.explore(system, guarantees(system.model), Options(state_dir=place, **options))


@pytest.mark.parametrize("name", SYSTEMS)
@pytest.mark.parametrize("options", [{}, {"keep_going": True}, {"every_configuration": True}], ids=str)
def test_stored_equals_memory(tmp_path: Path, name: str, options: dict[str, Any]) -> None:
    system = SYSTEMS[name]()
    assert essence(on_storage(system, tmp_path / "s", **options)) == in_memory(system, **options)


def test_symmetry_on_storage_equals_memory(tmp_path: Path) -> None:
    system = classic("kip-101", 3, 1, 1, 1)
    options = {"symmetry": True, "keep_going": True}
    assert essence(on_storage(system, tmp_path / "s", **options)) == in_memory(system, **options)


@pytest.mark.parametrize(("name", "symmetry"), [("violated", False), ("violated", True), ("matrix", False)])
def test_machine_code_does_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, symmetry: bool) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setitem(on_disk_search.TUNING, "neverlost.task.columns", 30)
    monkeypatch.setattr(expansion, "CHUNK", 20)
    used: list[int] = []
    of = expansion.NativeExpansion.of
    monkeypatch.setattr(expansion.NativeExpansion, "of", lambda self, batch: used.append(batch.shape[1]) or of(self, batch))
    system, options = SYSTEMS[name](), {"symmetry": symmetry, "every_configuration": True}
    assert essence(on_storage(system, tmp_path / "s", **options)) == in_memory(system, **options)
    assert sum(used) > 100


@pytest.mark.parametrize("depth", [1, 2, 5, 8])
@pytest.mark.parametrize("options", [{"keep_going": True}, {}], ids=["all", "first violation"])
def test_a_search_resumes_from_any_level(tmp_path: Path, depth: int, options: dict[str, Any]) -> None:
    system = classic("kip-101", 3, 1, 1, 1)
    cut = on_storage(system, tmp_path / "s", limits=SearchLimits(depth=depth), **options)
    assert cut.reason is not None and cut.counts.left > 0
    resumed = on_storage(system, tmp_path / "s", resume=True, **options)
    assert essence(resumed) == in_memory(system, **options)


def test_resuming_a_finished_search_only_reports_it_again(tmp_path: Path) -> None:
    system = classic("kip-320", 2, 2, 2, 1)
    first = essence(on_storage(system, tmp_path / "s"))
    before = sorted(path.name for path in (tmp_path / "s").rglob("*"))
    assert essence(on_storage(system, tmp_path / "s", resume=True)) == first
    assert sorted(path.name for path in (tmp_path / "s").rglob("*")) == before


def test_a_search_stopped_at_a_violation_can_go_on(tmp_path: Path) -> None:
    system = classic("kip-101", 3, 1, 1, 1)
    on_storage(system, tmp_path / "s")
    assert essence(on_storage(system, tmp_path / "s", resume=True, keep_going=True)) == in_memory(system, keep_going=True)


def test_forgotten_configurations_do_not_pass_as_explored(tmp_path: Path) -> None:
    system = kraft_matrix()
    on_storage(system, tmp_path / "s", every_configuration=True)
    with pytest.raises(InputError, match="was made for another forgets_decided"):
        on_storage(system, tmp_path / "s", keep_going=True, resume=True)


def test_runs_are_merged_and_gone_at_the_end(tmp_path: Path) -> None:
    system = classic("kip-320", 2, 2, 2, 2)
    on_storage(system, tmp_path / "s", limits=SearchLimits(depth=12))
    runs = Store.attach(tmp_path / "s").levels()[-1].facts["generations"]
    assert len(runs) <= 6
    on_storage(system, tmp_path / "s", resume=True)
    assert not list((tmp_path / "s" / "runs").iterdir())


def test_levels_of_another_writer_are_continued(tmp_path: Path) -> None:
    """Packed files in any order, without runs: what an engine that keeps its states elsewhere would commit."""
    system = classic("kip-320", 2, 2, 2, 1)
    first = on_storage(system, tmp_path / "a")
    source = Store.attach(tmp_path / "a")
    target = Store.create(tmp_path / "b", source.meta)
    for level in source.levels()[:6]:
        states = [unpack_row(system, words, row) for words in source.level(level.depth) for row in range(words.shape[1])]
        file = target.write_level(level.depth, pack_rows(system, states[::-1]), PACKED)
        target.commit(Level(level.depth, (file,), level.generated, level.fired))
    resumed = on_storage(system, tmp_path / "b", resume=True)
    assert essence(resumed) == essence(first)


@pytest.mark.parametrize("name", SYSTEMS)
@pytest.mark.parametrize("first", ["memory", "stored"])
def test_engines_go_on_from_each_other_s_levels(tmp_path: Path, name: str, first: str) -> None:
    system = SYSTEMS[name]()
    engines = [explore, on_disk_search.explore] if first == "memory" else [on_disk_search.explore, explore]
    options = Options(state_dir=tmp_path / "s", keep_going=True, workers=1)
    cut = engines[0](system, guarantees(system.model), replace(options, limits=SearchLimits(depth=7)))
    assert cut.counts.left > 0
    resumed = engines[1](system, guarantees(system.model), replace(options, resume=True))
    assert essence(resumed) == in_memory(system, keep_going=True)


class EveryTaskTwice:
    """What a cluster with retries and speculation does: each task runs twice, and the first result is lost."""

    master, parallelism = "none", 3

    def __init__(self, search: SearchDescription) -> None:
        self.search = search
        self.levels: list[int] = []

    def level(self, task: LevelTask) -> tuple[list[Settled], Counted]:
        text = describe_task(self.search, task)
        blocks = [block for number in range(len(task.slices)) for block in self._second(expand, text, [number])]
        rows = [
            row
            for owner in range(task.parts)
            for row in self._second(settle, text, [(to, block) for to, block in blocks if to == owner])
        ]
        self.levels.append(task.parts)
        found, counted = collect_results(map(bytes, rows))
        return [parse_settled(body) for body in found], counted

    def parents(self, task: LevelTask, targets: Sequence[Words]) -> dict[Words, tuple[Words, int]]:
        text = describe_task(self.search, task, targets=targets)
        found, _ = collect_results(row for n in range(len(task.slices)) for row in self._second(search_back, text, [n]))
        best: dict[Words, tuple[Words, int]] = {}
        for target, words, step in (each for body in found for each in body):
            before = (tuple(words), step)
            best[tuple(target)] = min(before, best.get(tuple(target), before))
        return best

    def _second(self, task: Any, text: str, given: list[Any]) -> list[Any]:
        list(task(text, given))
        return list(task(text, given))

    def events(self) -> list[str]:
        return []

    def prepare(self) -> None:
        """Nothing to start."""

    cancel = close = prepare


@pytest.mark.parametrize("name", SYSTEMS)
def test_tasks_that_run_twice_count_once(tmp_path: Path, name: str) -> None:
    system = SYSTEMS[name]()
    hired: list[EveryTaskTwice] = []

    def hire(search: SearchDescription) -> EveryTaskTwice:
        hired.append(EveryTaskTwice(search))
        return hired[-1]

    conf = (("neverlost.driver.states", "20"), ("neverlost.task.least", "30"), ("neverlost.task.candidates", "2000"))
    options = Options(state_dir=tmp_path / "s", keep_going=True, spark_conf=conf)
    found = on_disk_search.explore(system, guarantees(system.model), options, None, hire)
    assert essence(found) == in_memory(system, keep_going=True)
    assert max(hired[0].levels) >= 4
    store = Store.attach(tmp_path / "s")
    named = {file.name for level in store.levels() for file in level.files}
    assert {name for name in store.files.names() if name.endswith(".states")} == named


def committed(place: Path, depth: int = 9) -> tuple[System, list[Level]]:
    system = classic("kip-320", 2, 2, 2, 1)
    on_storage(system, place, limits=SearchLimits(depth=depth))
    return system, Store.attach(place).levels()


@pytest.mark.parametrize("kind", ["frontier", "run"])
@pytest.mark.parametrize("damage", ["flip", "truncate", "swap", "remove"])
def test_damage_stops_a_resumed_search(tmp_path: Path, kind: str, damage: str) -> None:
    system, levels = committed(tmp_path / "s")
    victim = (levels[-1].files if kind == "frontier" else levels[-1].runs)[0]
    path = tmp_path / "s" / victim.name
    content = path.read_bytes()
    other = tmp_path / "s" / levels[3].files[0].name
    if damage == "remove":
        path.unlink()
    else:
        flipped = content[:70] + bytes([content[70] ^ 4]) + content[71:]
        path.write_bytes({"flip": flipped, "truncate": content[:-16], "swap": other.read_bytes()}[damage])
    with pytest.raises(InputError, match=f"(damaged|missing) state file .*{victim.name}"):
        on_storage(system, tmp_path / "s", resume=True)


def test_a_killed_search_leaves_nothing_that_counts(tmp_path: Path) -> None:
    system, levels = committed(tmp_path / "s")
    (tmp_path / "s" / f"level-{len(levels):04d}").mkdir()
    (tmp_path / "s" / f"level-{len(levels):04d}" / "half.states").write_bytes(b"half a fi")
    (tmp_path / "s" / f".level-{len(levels):04d}.json.1234").write_bytes(b"{")
    assert essence(on_storage(system, tmp_path / "s", resume=True)) == in_memory(system)


@pytest.mark.parametrize("engine", ["memory", "stored"])
def test_a_search_that_was_killed_before_its_first_level_leaves_nothing(tmp_path: Path, engine: str) -> None:
    system, place = classic("kip-320", 2, 2, 2, 1), tmp_path / "s"
    on_storage(system, place, limits=SearchLimits(depth=3))
    for each in place.glob("level-*.json"):
        each.unlink()
    (place / ".level-0000.json.967795e1").write_bytes(b"{")
    asked = Options(state_dir=place, resume=True)
    found = explore(system, guarantees(system.model), asked) if engine == "memory" else on_storage(system, place, resume=True)
    assert essence(found) == in_memory(system)
    assert not list(place.rglob(".*"))


@pytest.fixture
def shared_memory_files(monkeypatch: pytest.MonkeyPatch) -> None:
    """A file system that is not local: Arrow's own in-memory one, behind a scheme of its own."""
    filesystem = pyarrow.fs._MockFileSystem()
    real = storage_module.open_storage

    def found(location: str | Path) -> storage_module.Storage:
        text = str(location)
        if not text.startswith("memory://"):
            return real(location)
        return storage_module.ArrowStorage(filesystem, text.removeprefix("memory://"), text)

    monkeypatch.setattr("neverlost.checker.engine.storage.levels.open_storage", found)


@pytest.mark.usefixtures("shared_memory_files")
@pytest.mark.parametrize("small", [1 << 20, 64], ids=["held in memory", "copied to disk"])
def test_storage_need_not_be_local(monkeypatch: pytest.MonkeyPatch, small: int) -> None:
    monkeypatch.setattr(storage_module, "_SMALL", small)
    system = classic("kip-101", 3, 1, 1, 1)
    on_storage(system, "memory://bucket/search", limits=SearchLimits(depth=6), keep_going=True)
    store = Store.attach("memory://bucket/search")
    assert len(store.levels()) == 7
    resumed = on_storage(system, "memory://bucket/search", resume=True, keep_going=True)
    assert essence(resumed) == in_memory(system, keep_going=True)
    with pytest.raises(InputError, match="already holds a search"):
        on_storage(system, "memory://bucket/search")
    victim = store.levels()[4].files[0]
    store.files.remove([victim.name])
    with pytest.raises(InputError, match=f"missing state file memory://bucket/search/{victim.name}"):
        Store.open("memory://bucket/search", describe_search(system, guarantees(system.model))).check()


def test_an_unknown_scheme_is_an_input_error() -> None:
    with pytest.raises(InputError, match="cannot use 'floppy://a' as a state directory"):
        on_storage(classic("kip-320", 2, 1, 1, 1), "floppy://a")


class Unreachable:
    """A file system as Arrow has it, of an object store that does not answer."""

    type_name = "s3"

    def __getattr__(self, name: str) -> Any:
        def fail(*place: Any, **how: Any) -> None:
            raise OSError(f"When asking {name}: curl error 7")

        return fail


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        (lambda store: store.names(), "cannot list s3://b/x"),
        (lambda store: store.remove(["a"]), "cannot remove s3://b/x/a"),
        (lambda store: store.create("a", [b"1"]), "cannot write s3://b/x/a"),
        (lambda store: store.read("a"), "cannot read s3://b/x/a"),
    ],
)
def test_a_store_that_does_not_answer_is_one_line(asked: Callable[[storage_module.Storage], Any], message: str) -> None:
    end = r": When asking \w+: curl error 7; (check the|choose another) state directory$"
    with pytest.raises(InputError, match=f"^{message}{end}"):
        asked(storage_module.ArrowStorage(Unreachable(), "b/x", "s3://b/x"))


@pytest.mark.parametrize("value", ["²", "1.5", "-1", ""])
def test_a_tuning_that_is_no_whole_number_is_an_input_error(value: str) -> None:
    with pytest.raises(InputError, match=f"bad value '{value}' for neverlost.task.states in --spark-conf: use a whole number"):
        on_disk_search.parse_tuning({"neverlost.task.states": value})
    assert on_disk_search.parse_tuning({"neverlost.task.states": "7"})["neverlost.task.states"] == 7


def test_a_file_in_the_way_is_an_input_error(tmp_path: Path) -> None:
    (tmp_path / "s").write_text("not a folder")
    with pytest.raises(InputError, match=r"cannot write .*meta\.json: (File exists|Not a directory); choose another"):
        on_storage(classic("kip-320", 2, 1, 1, 1), tmp_path / "s")


def test_unnamed_models_are_searched_here(tmp_path: Path) -> None:
    """A model that is not in the catalogue cannot be named to others."""
    system = classic("kip-320", 2, 1, 1, 1)
    mutant = System(system.model.differing("mutant", ""), system.configurations)

    def no_workers(search: object) -> on_disk_search.Jobs:
        raise AssertionError("hired for a model that other processes do not know")

    found = on_disk_search.explore(mutant, (), Options(state_dir=tmp_path / "s"), None, no_workers)
    assert found.counts == explore(system, (), Options(workers=1)).counts
