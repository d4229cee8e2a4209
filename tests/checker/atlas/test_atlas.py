"""The atlas: the same questions give the same bytes, a stopped build goes on, and what is shipped is what a search finds."""

from __future__ import annotations

import json
import random
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from neverlost.checker.atlas import index, lookup, table
from neverlost.checker.atlas.build import Build, build
from neverlost.checker.atlas.lookup import question
from neverlost.checker.atlas.unit import Unit, units
from neverlost.checker.digest import question_id
from neverlost.checker.outcome import Verdict
from neverlost.checker.search.explore import explore
from neverlost.checker.search.options import Options
from neverlost.model.catalogue import models
from neverlost.model.limits import AnyNumber
from neverlost.model.system import bind
from neverlost.specs.common_settings import ACKED, CHAPTERS, ONE, USUAL, Chapter, RegionChapter
from neverlost.specs.configuration.choose import choose
from neverlost.specs.property import properties
from neverlost.specs.region import usual
from neverlost.specs.spot import Spot

SMALL = Chapter("one replica", (1,), USUAL | ONE, together=24)


@pytest.fixture(scope="module")
def small() -> list[Unit]:
    return list(units([SMALL]))[:8]


@pytest.fixture(scope="module")
def whole(small: list[Unit], tmp_path_factory: pytest.TempPathFactory) -> Build:
    return build(small, tmp_path_factory.mktemp("whole"))


def bytes_of(rows: Any, place: Path) -> bytes:
    """The table and its index."""
    table.write(rows, place)
    return place.read_bytes() + place.with_suffix(".index").read_bytes()


def test_the_same_questions_give_the_same_bytes(small: list[Unit], whole: Build, tmp_path: Path) -> None:
    """Decided at once, and after a build that was stopped with some units done."""
    some = build(small[::2], tmp_path / "parts")
    assert 0 < len(some.rows) < len(whole.rows) and not whole.failures
    rest = build(small, tmp_path / "parts", workers=2)
    assert bytes_of(whole.rows, tmp_path / "a") == bytes_of(rest.rows, tmp_path / "b")


def test_a_row_is_found_by_what_means_the_same_and_by_nothing_else(whole: Build, tmp_path: Path) -> None:
    bytes_of(whole.rows, tmp_path / "a")
    atlas = index.read(tmp_path / "a.index")
    given = {"kafka.version": "4.4", "replication.factor": 1, "bounds.records": 1, "consumer.commit": "before-processing"}

    def found(**more: Any) -> tuple[Verdict, int | None] | None:
        chosen = choose({key: (value, "test") for key, value in (given | more).items()})
        asked = question(chosen.model, dict(chosen.configuration) | Spot(1, 0).limits)
        return atlas.find(question_id(chosen.model, asked, ["acked-never-lost"]))

    answer = found()
    assert answer is not None and answer[0] is Verdict.VIOLATED and answer[1]
    assert found(acks="1") is None and found(**{"bounds.records": 3}) is None
    assert atlas.is_of_these_models and not index.Atlas({"digests": {"kraft": "sha256:0"}}, [], b"", b"").is_of_these_models


def test_no_question_is_asked_twice() -> None:
    """Versions that differ in nothing that matters here share their rows."""
    every = [json.dumps([each.model, one], sort_keys=True) for each in units([SMALL]) for one in each.configurations]
    assert len(set(every)) == len(every) <= len(list(SMALL.questions())) * 2 / 3


def check_row(row: table.Row) -> None:
    """What the row's question says is its identifier, and what a search finds is its answer."""
    model, asked = models()[row.model], row.asked
    assert question_id(model, asked, [row.property]) == row.id
    outcome = explore(bind(model, asked), [properties()[row.property]], Options(workers=1))
    (finding,) = outcome.findings
    steps = len(finding.trace.steps) if finding.trace is not None else None
    assert (str(finding.verdict), steps) == (row.verdict, row.steps), row


def shipped_rows(replicas: int, many: int, seed: int) -> list[table.Row]:
    """Rows of the shipped atlas, drawn at random from those of so many replicas at most."""
    place, atlas = Path(table.__file__).with_name(table.FILE), index.shipped()
    assert atlas is not None and atlas.is_of_these_models, f"{place} is of other models: neverlost atlas build makes it again"
    sizes = [each for each in table.read(place) if json.loads(each.question).get("replication.factor", 3) <= replicas]
    return random.Random(seed).sample([each for each in sizes if each.verdict != "inconclusive"], many)


def test_the_index_has_what_the_table_has() -> None:
    """Every row is found with its answer, and what questions read is what a fresh reading finds."""
    rows, atlas = table.read(Path(table.__file__).with_name(table.FILE)), index.shipped()
    assert atlas is not None and len(atlas) == len(rows)
    assert all(atlas.find(each.id) == (Verdict(each.verdict), each.steps) for each in rows)
    for row in random.Random(1).sample([each for each in rows if each.asked["replication.factor"] < 3], 8):
        model = models()[row.model]
        assert atlas.read_by(model, model.sizes(row.asked)) == lookup.read_afresh(model, row.asked)


def test_a_sample_of_the_shipped_atlas() -> None:
    for row in shipped_rows(replicas=2, many=12, seed=1):
        check_row(row)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(5))
def test_a_larger_sample_of_the_shipped_atlas(seed: int) -> None:
    for row in shipped_rows(replicas=3, many=40, seed=seed):
        check_row(row)


def test_each_setting_has_one_region() -> None:
    """With eligible leader replicas others may be out while fewer than min.insync.replicas lost data."""
    caps = {
        (replicas, least, elr): usual(
            {"replication.factor": replicas, "min.insync.replicas": least, "eligible.leader.replicas": elr}
        ).out_beside
        for replicas, least, elr in [
            (1, 1, True),
            (2, 1, True),
            (2, 2, True),
            (3, 1, True),
            (3, 2, True),
            (3, 3, True),
            (3, 2, False),
        ]
    }
    assert [*caps.values()] == [(1,), (2, 0), (2, 1), (3, 1, 0), (3, 2, 0), (3, 2, 1), (3, 1, 0)]
    chapter = RegionChapter("two replicas", (2,), USUAL | ONE, ACKED, defects=("fixed",))
    asked = [(chosen.configuration, limits) for chosen, limits in chapter.questions()]
    assert all(each["defects"] == "fixed" and limits["faults.leader_move"] == AnyNumber() for each, limits in asked)
    assert {limits["faults.out"] for _, limits in asked} == {AnyNumber(2, (2, 0)), AnyNumber(2, (2, 1))}


BUILD = [sys.executable, "-m", "neverlost", "atlas", "build", "--chapter", "1", "--share", "7/10"]


@pytest.mark.slow
def test_a_tenth_after_a_kill_and_on_spark(tmp_path: Path) -> None:
    assert CHAPTERS[0].replicas == (1, 2)
    first = [*BUILD, "--state-dir", str(tmp_path / "killed"), "--out", str(tmp_path / "killed.parquet")]
    process = subprocess.Popen(first, stderr=subprocess.PIPE, text=True)
    assert process.stderr is not None and "units" in process.stderr.readline()
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert not (tmp_path / "killed.parquet").exists()
    subprocess.run(first, check=True)
    master = ["--master", "local[2]", "--state-dir", str(tmp_path / "spark"), "--out", str(tmp_path / "spark.parquet")]
    subprocess.run([*BUILD, *master], check=True)
    assert (tmp_path / "killed.parquet").read_bytes() == (tmp_path / "spark.parquet").read_bytes()
