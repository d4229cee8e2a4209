"""Matrices become cells; a sweep's verdicts are those that each cell has alone, and say where they come from."""

from __future__ import annotations

import json
import random
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from neverlost.checker.engine.engines.explore import explore
from neverlost.checker.engine.outcome import Verdict
from neverlost.checker.engine.search.options import Options
from neverlost.checker.questions.sweep.sweep import EXPLORED, REPLAYED, SAME, Sweep, Sweeper
from neverlost.model.system import bind
from neverlost.reports.documents.measurements import differences, take_measured_values
from neverlost.specs.configuration.keys import GROWING
from neverlost.specs.configuration.matrix import Matrix, parse_matrix, read_matrix, shipped
from neverlost.specs.errors import InputError
from neverlost.specs.properties import properties
from tests.support.program import neverlost

MATRIX = """
properties = ["acked-never-lost"]
model = ["kraft", "kraft-elr"]
symmetry = true
[topic]
replication.factor = 2
min.insync.replicas = "1..3"
unclean.leader.election.enable = [false, true]
[producer]
acks = ["1", "all"]
[faults]
lossy_crash = "0..2"
crash = 1
[bounds]
records = 1
"""


def parsed(text: str = MATRIX) -> Matrix:
    return parse_matrix("test", text, "test.toml", {})


def swept(matrix: Matrix, **changes: Any) -> Sweep:
    asked = [properties()[name] for name in matrix.properties]
    options = Options(workers=1, symmetry=bool(matrix.symmetry), **changes)
    return Sweeper([(each.model, each.configuration) for each in matrix.cells], asked, options, GROWING).run()


@cache
def found() -> tuple[Matrix, Sweep]:
    matrix = parsed()
    return matrix, swept(matrix)


def test_every_cell_has_the_verdict_that_it_has_alone() -> None:
    matrix, sweep = found()
    assert len(matrix.cells) == 72
    for number in random.Random(6).sample(range(72), 12):
        (asked,) = (properties()[name] for name in matrix.properties)
        alone = explore(bind(*sweep.cells[number]), [asked], Options(workers=1))
        (decision,) = sweep.decisions[number]
        assert decision.verdict is alone.verdict, matrix.cells[number].coordinates
        if decision.how == EXPLORED and decision.trace is not None:
            (finding,) = alone.findings
            assert finding.trace is not None and len(finding.trace.steps) == len(decision.trace.steps)


def test_derived_verdicts_say_what_they_come_from() -> None:
    _, sweep = found()
    hows = [each.how for (each,) in sweep.decisions]
    assert {how: hows.count(how) > 0 for how in (EXPLORED, SAME, REPLAYED)} == {EXPLORED: True, SAME: True, REPLAYED: True}
    for number, (decision,) in enumerate(sweep.decisions):
        configuration = sweep.cells[number][1]
        if decision.how == SAME:
            assert decision.source is not None
            other = sweep.cells[decision.source][1]
            differing = {name for name in configuration if configuration[name] != other[name]}
            assert differing == {"min.insync.replicas"} and configuration["min.insync.replicas"] == 3
        if decision.how == REPLAYED:
            assert decision.verdict is Verdict.VIOLATED and decision.trace is not None and decision.source is not None
            spent = decision.trace.faults(sweep.systems[number]).get("lossy_crash", 0)
            assert spent < configuration["faults.lossy_crash"]


def test_a_sweep_that_is_cut_short_decides_nothing_that_it_did_not_see() -> None:
    sweep = swept(parsed(), limits=Options().limits.__class__(seconds=1e-9))
    assert {each.verdict for (each,) in sweep.decisions} == {Verdict.INCONCLUSIVE}


@pytest.mark.parametrize("name", sorted(shipped()))
def test_shipped_matrices_are_read(name: str) -> None:
    matrix = read_matrix(name)
    assert matrix.cells and matrix.varying and matrix.says
    assert len({tuple(map(str, (each.coordinates.get(key) for key in matrix.varying))) for each in matrix.cells}) == len(
        matrix.cells
    ), "each cell has a name of its own"


def test_the_durability_matrix_has_at_least_500_cells() -> None:
    assert len(read_matrix("durability").cells) >= 500


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[topic]\nmin.insync.replica = 1", "unknown key 'min.insync.replica'"),
        ('[topic]\nmin.insync.replicas = "3..1"', "bad range '3..1' for min.insync.replicas in test.toml: it is empty"),
        ("[topic]\nmin.insync.replicas = []", "min.insync.replicas in test.toml has no values"),
        ('model = "kraft"\n[producer]\nacks = ["2"]', "bad value '2' for acks in test.toml"),
        ("model = [", "malformed TOML in 'test.toml'"),
        ('model = "kraft"\n[[exclude]]\nmodel = "kraft"', "test.toml has no cells: every combination is excluded"),
        ('model = "kraft"\npair = 1', "pair in test.toml should be written as [[pair]] tables"),
        ('model = "kraft"\n[faults]\ncrash = 1\n[[pair]]\nfaults.crash = 1', "faults.crash in test.toml stands both by itself"),
        ('model = "krafft"', "unknown model 'krafft'"),
        ("symmetry = 3", "bad value 3 for symmetry in test.toml: use true or false"),
        (
            '[topic]\nreplication.factor = "1..7"\nmin.insync.replicas = "1..7"\n[faults]\n'
            + "\n".join(f'{each} = "0..9"' for each in ("crash", "lossy_crash", "fence")),
            "20,000 is the most",
        ),
    ],
)
def test_bad_matrices_are_refused_in_one_line(text: str, message: str) -> None:
    with pytest.raises(InputError) as problem:
        parsed(text)
    assert message in str(problem.value)


def test_pairs_and_exclusions() -> None:
    text = 'model = "kraft"\n[topic]\nmin.insync.replicas = "1..2"\n[[pair]]\nfaults.crash = 1\n[[pair]]\nfaults.fence = 2\n'
    assert len(parsed(text).cells) == 4
    fewer = parsed(text + "[[exclude]]\nmin.insync.replicas = 1\nfaults.fence = 2\n")
    assert [dict(each.coordinates)["min.insync.replicas"] for each in fewer.cells] == [1, 2, 2]


def test_the_command_and_its_baseline(tmp_path: Path) -> None:
    (tmp_path / "m.toml").write_text(MATRIX.replace('"0..2"', "1"))
    first = neverlost("sweep", "m.toml", "--out", "out", cwd=tmp_path)
    assert first.returncode == 0, first.stderr
    document = json.loads((tmp_path / "out" / "result.json").read_text())
    assert len(document["cells"]) == 24 and document["verdicts"]["inconclusive"] == 0
    violated = next(each for each in document["cells"] if each["verdict"] == "violated")
    trace = tmp_path / "out" / violated["properties"][0]["trace"]
    assert neverlost("replay", str(trace)).returncode == 12
    same = neverlost("sweep", "m.toml", "--baseline", "out/result.json", cwd=tmp_path)
    assert same.returncode == 0 and "as the baseline says" in same.stdout
    violated["properties"][0]["verdict"] = "holds"
    (tmp_path / "old.json").write_text(json.dumps(document))
    changed = neverlost("sweep", "m.toml", "--baseline", "old.json", cwd=tmp_path)
    assert changed.returncode == 21
    lines = [line for line in changed.stdout.splitlines() if line.startswith("changed:")]
    name = " ".join(
        f"{key}={str(value).lower() if isinstance(value, bool) else value}" for key, value in violated["cell"].items()
    )
    assert lines == [f"changed: {name}: acked-never-lost held, is violated"]


def test_unknown_matrices_are_named(tmp_path: Path) -> None:
    done = neverlost("sweep", "smal")
    assert done.returncode == 64 and "did you mean 'small'?" in done.stderr
    (tmp_path / "bad.json").write_text('{"schema": "neverlost.result/1", "cells": [{"cell": []}]}')
    done = neverlost("sweep", "small", "--baseline", str(tmp_path / "bad.json"))
    assert done.returncode == 64 and "is not the JSON document of a sweep" in done.stderr


def test_spark_gives_the_same_document(tmp_path: Path) -> None:
    """Everything but times, memory and the engine's name."""
    (tmp_path / "m.toml").write_text(MATRIX.replace('"0..2"', "0").replace('"1..3"', "[1, 2]"))
    for engine, more in (("memory", ()), ("spark", ("--master", "local[2]"))):
        done = neverlost("sweep", "m.toml", "--engine", engine, *more, "--json", f"{engine}.json", cwd=tmp_path, timeout=600)
        assert done.returncode == 0, done.stderr
    memory, spark = (json.loads((tmp_path / f"{engine}.json").read_text()) for engine in ("memory", "spark"))
    assert (memory["engine"], spark["engine"]) == ("memory", "spark") and len(memory["cells"]) == 16
    spark = take_measured_values("result.json", spark, memory)
    assert [path for path, _, _ in differences(memory, spark)] == ["engine"]
    spark["cells"][3]["properties"][0]["verdict"] = "inconclusive"
    assert [path for path, _, _ in differences(memory, spark)][1:] == [
        f"cells[{memory['cells'][3]['id']}].properties[acked-never-lost].verdict"
    ]
