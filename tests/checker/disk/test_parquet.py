"""The exported states: the same states, read by other programs."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

import duckdb
import pyarrow.parquet as pq
import pytest

from neverlost.checker.engine.disk import on_disk_search
from neverlost.checker.engine.disk import parquet as dataset
from neverlost.checker.engine.search.options import Options
from neverlost.checker.engine.storage.levels import Store
from neverlost.model.interpreters import ints
from neverlost.model.system import State, System
from neverlost.specs.errors import InputError
from tests.support.program import neverlost
from tests.support.searches import classic, kraft_matrix


@cache
def by_hand(system_text: tuple[Any, ...]) -> dict[State, int]:
    """Every reachable state with its depth, by the defining interpreter."""
    system = classic(*system_text)
    frontier = [state for _, state in system.initial_states()]
    depths = dict.fromkeys(frontier, 0)
    while frontier:
        following = []
        for state in frontier:
            for step in system.steps:
                after = ints.take(system, state, step)
                if after is not None and after not in depths:
                    depths[after] = depths[state] + 1
                    following.append(after)
        frontier = following
    return depths


def exported(system: System, place: Path, **options: Any) -> Path:
    on_disk_search.explore(system, (), Options(state_dir=place / "levels", **options))
    dataset.export(system, Store.attach(place / "levels"), place / "export")
    return place / "export"


def asked(directory: Path, query: str) -> list[tuple[Any, ...]]:
    """What DuckDB answers."""
    with duckdb.connect() as connection:
        connection.execute(f"CREATE VIEW states AS SELECT * FROM read_parquet('{directory}/states/*.parquet')")
        return connection.execute(query).fetchall()


SMALL = ("kip-101", 3, 1, 1, 1)


def test_the_table_holds_exactly_the_reachable_states(tmp_path: Path) -> None:
    system = classic(*SMALL)
    directory = exported(system, tmp_path)
    columns = ", ".join(dataset.name_column(slot) for slot in system.slots)
    rows = asked(directory, f"SELECT {columns}, depth, configuration FROM states")
    found = {tuple(map(int, row[:-2])): row[-2] for row in rows}
    assert len(rows) == len(found)
    assert found == by_hand(SMALL)
    assert {row[-1] for row in rows} == {0}


def test_the_dictionary_describes_every_column_and_its_values(tmp_path: Path) -> None:
    system = kraft_matrix()
    directory = exported(system, tmp_path)
    described = json.loads((directory / "dictionary.json").read_text())
    schema = pq.read_schema(next((directory / "states").iterdir()))
    assert [each["column"] for each in described["columns"]] == schema.names
    assert [each["type"] for each in described["columns"]] == [str(kind) for kind in schema.types]
    for each in described["columns"][2:]:
        ((low, high),) = asked(directory, f"SELECT min({each['column']}), max({each['column']}) FROM states")
        assert each["low"] <= low <= high <= each["high"]
    total = asked(directory, "SELECT count(*) FROM states")
    assert total == [(described["states"],)]


def test_configurations_are_distinguished(tmp_path: Path) -> None:
    system = kraft_matrix()
    outcome = on_disk_search.explore(system, (), Options(state_dir=tmp_path / "levels"))
    dataset.export(system, Store.attach(tmp_path / "levels"), tmp_path / "export")
    counted = asked(tmp_path / "export", "SELECT configuration, count(*) FROM states GROUP BY 1 ORDER BY 1")
    assert counted == list(enumerate(outcome.distinct_by_configuration))
    listed = json.loads((tmp_path / "export" / "configurations.json").read_text())
    assert [each["acks"] for each in listed] == ["1", "all", "all"]
    pairs = asked(tmp_path / "export", "SELECT DISTINCT configuration, min_isr, acks FROM states ORDER BY 1")
    assert [min_isr for _, min_isr, _ in pairs] == [1, 1, 2]


def test_a_directory_in_use_is_refused(tmp_path: Path) -> None:
    system = classic("kip-320", 2, 1, 1, 1)
    directory = exported(system, tmp_path)
    with pytest.raises(InputError, match=r"export directory .* is not empty; choose another"):
        dataset.export(system, Store.attach(tmp_path / "levels"), directory)


@pytest.mark.slow
def test_a_larger_table_opens_in_duckdb_and_spark(tmp_path: Path) -> None:
    """737,794 states: the same answer from both programs."""
    from neverlost.checker.engine.spark import session as spark_session

    system = classic("kip-320", 3, 2, 2, 2)
    directory = exported(system, tmp_path)
    assert asked(directory, "SELECT count(*), max(depth) + 1 FROM states") == [(737_794, 26)]
    session = spark_session.start("local[2,4]", {}, "tests")
    try:
        session.read.parquet(str(directory / "states")).createOrReplaceTempView("states")
        by_depth = "SELECT depth, count(*), sum(high_watermark_0) FROM states GROUP BY 1 ORDER BY 1"
        assert [tuple(row) for row in session.sql(by_depth).collect()] == asked(directory, by_depth)
    finally:
        session.stop()


@pytest.mark.parametrize("engine", ["memory", "spark"])
def test_the_command_exports(tmp_path: Path, engine: str) -> None:
    bounds = ["--set", "replication.factor=2", "--set", "bounds.records=1", "--set", "bounds.max_leader_epoch=1"]
    asked_for = ["explore", "kip-320", *bounds, "--engine", engine, "--export", str(tmp_path / "export")]
    first = neverlost(*asked_for, "--json", "-")
    assert first.returncode == 0, first.stderr
    counts = json.loads(first.stdout)["states"]
    assert asked(tmp_path / "export", "SELECT count(*), max(depth) + 1 FROM states") == [(counts["distinct"], counts["depth"])]
    second = neverlost(*asked_for)
    assert (second.returncode, second.stdout) == (64, "")
    assert second.stderr == f"neverlost: export directory {str(tmp_path / 'export')!r} is not empty; choose another\n"
