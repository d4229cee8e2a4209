"""The atlas: the same questions give the same bytes, a stopped build goes on, and what is shipped is what a search finds."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from neverlost.checker.engine.digest import model_digest
from neverlost.checker.engine.engines.explore import explore
from neverlost.checker.engine.host.processes import JobReport
from neverlost.checker.engine.outcome import EngineError, Verdict
from neverlost.checker.engine.search.options import Options
from neverlost.checker.questions.atlas import index, lookup
from neverlost.checker.questions.atlas.lookup import question
from neverlost.checker.questions.question_id import question_id
from neverlost.checker.questions.tolerance.fault_budget import FaultBudget
from neverlost.checker.questions.tolerance.region import usual
from neverlost.model.any_number import AnyNumber
from neverlost.model.protocols import models
from neverlost.model.system import bind
from neverlost.specs.configuration.choose import choose
from neverlost.specs.properties import properties
from tests.tools.atlas import __main__ as building_tool
from tests.tools.atlas import build as building
from tests.tools.atlas import build_task as unit
from tests.tools.atlas import decision_procedures as ways
from tests.tools.atlas import table
from tests.tools.atlas.build import Build, build
from tests.tools.atlas.build_task import Unit, units
from tests.tools.atlas.common_settings import (
    ACKED,
    CHAPTERS,
    INDUCTION,
    NO_RETURN,
    ONE,
    SAFE,
    SEARCH,
    TABLE,
    TWO,
    USUAL,
    Chapter,
    RegionChapter,
    loses_all,
)

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
        asked = question(chosen.model, dict(chosen.configuration) | FaultBudget(1, 0).limits)
        return atlas.find(question_id(chosen.model, asked, ["acked-never-lost"]))

    answer = found()
    assert answer is not None and answer[0] is Verdict.VIOLATED and answer[1]
    assert found(acks="1") is None and found(**{"bounds.records": 3}) is None
    assert is_of_these_models(atlas) and not is_of_these_models(index.Atlas({"digests": {"kraft": "sha256:0"}}, [], b"", b""))


def is_of_these_models(atlas: index.Atlas) -> bool:
    """Return True if the answers are about the models as they are now."""
    known = models()
    return all(name in known and model_digest(known[name]) == each for name, each in atlas.header["digests"].items())


def test_no_question_is_asked_twice() -> None:
    """Versions that differ in nothing that matters here share their rows."""
    every = [json.dumps([each.model, one], sort_keys=True) for each in units([SMALL]) for one in each.configurations]
    assert len(set(every)) == len(every) <= len(list(SMALL.questions())) * 2 / 3


def check_row(row: table.AnswerRow) -> None:
    """What the row's question says is its identifier, and what a search finds is its answer."""
    model, asked = models()[row.model], row.asked
    assert question_id(model, asked, [row.property]) == row.id
    outcome = explore(bind(model, asked), [properties()[row.property]], Options(workers=1))
    (finding,) = outcome.findings
    steps = len(finding.trace.steps) if finding.trace is not None else None
    assert (str(finding.verdict), steps) == (row.verdict, row.steps), row


def shipped_rows(replicas: int, many: int, seed: int) -> list[table.AnswerRow]:
    """Rows of the shipped atlas, drawn at random from those of so many replicas at most."""
    place, atlas = Path(index.__file__).with_name(table.FILE), index.shipped()
    assert atlas is not None and is_of_these_models(atlas), (
        f"{place} is of other models: python -m tests.tools.atlas build makes it again"
    )
    sizes = [each for each in table.read(place) if json.loads(each.question).get("replication.factor", 3) <= replicas]
    return random.Random(seed).sample(sizes, many)


def test_the_index_has_what_the_table_has() -> None:
    """Every row is found with its answer, and what questions read is what a fresh reading finds."""
    rows, atlas = table.read(Path(index.__file__).with_name(table.FILE)), index.shipped()
    assert atlas is not None and len(atlas) == len(rows)
    assert all(atlas.find(each.id) == (Verdict(each.verdict), each.steps) for each in rows)
    for row in random.Random(1).sample([each for each in rows if each.asked["replication.factor"] < 3], 8):
        model = models()[row.model]
        assert atlas.read_by(model, model.sizes(row.asked)) == lookup.read_afresh(model, row.asked)


def test_a_sample_of_the_shipped_atlas() -> None:
    for row in shipped_rows(replicas=2, many=6, seed=1):
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


WHOLE = (
    "one or two replicas",
    "three replicas",
    "three replicas, some outside the ISR",
    "brokers are stopped",
    "brokers are stopped, some are outside the ISR",
    "three replicas and kills",
)
BUILDING = """
import json, sys
from pathlib import Path
from tests.tools.atlas.build import build
from tests.tools.atlas.build_task import unit_of
if __name__ == "__main__":
    chosen = [unit_of(each) for each in json.loads(Path(sys.argv[1]).read_text())]
    build(chosen, Path(sys.argv[2]), report=lambda done, of: print(f"{done} of {of} units", flush=True))
"""


@pytest.mark.slow
def test_a_tenth_after_a_kill_and_in_processes(tmp_path: Path) -> None:
    """A tenth of the chapters that are decided whole, drawn by a printed seed; ATLAS_SEED draws another one."""
    seed = int(os.environ.get("ATLAS_SEED", "1"))
    every = list(units(each for each in CHAPTERS if each.name in WHOLE))
    chosen = random.Random(seed).sample(every, len(every) // 10)
    print(f"seed {seed}: {len(chosen)} of {len(every)} units, {sum(len(each.configurations) for each in chosen)} settings")
    (tmp_path / "units.json").write_text(json.dumps([each.text for each in chosen]))
    (tmp_path / "building.py").write_text(BUILDING)
    (tmp_path / "killed").mkdir()
    command = [sys.executable, str(tmp_path / "building.py"), str(tmp_path / "units.json"), str(tmp_path / "killed")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None and process.stdout.readline() == f"1 of {len(chosen)} units\n"
        process.send_signal(signal.SIGKILL)
    left = len(chosen) - len(list((tmp_path / "killed").glob("*.json")))
    assert 0 < left < len(chosen)
    (tmp_path / "whole").mkdir()
    resumed = build(chosen, tmp_path / "killed")
    by_two = build(chosen, tmp_path / "whole", workers=2)
    assert not resumed.failures and not by_two.failures
    one, other = bytes_of(resumed.rows, tmp_path / "a"), bytes_of(by_two.rows, tmp_path / "b")
    print(f"{len(resumed.rows)} rows, {left} units decided after the kill")
    assert one == other, "the tables differ"


def test_a_question_that_was_cut_short_has_no_row(small: list[Unit], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A unit whose search ended early is named, and asked again by the next build."""
    monkeypatch.setattr(ways, "explore", lambda *asked: replace(explore(*asked), reason="out of memory"))
    assert unit.decide(small[0].text) == unit.CUT_SHORT
    monkeypatch.setattr(building.processes, "run", lambda work, jobs, workers: [JobReport(0, "result", unit.CUT_SHORT)])
    found = build(small[:1], tmp_path)
    assert found.rows == () and found.failures == (f"{small[0].name}: memory or disk ended the search",)
    assert not list(tmp_path.iterdir())


def test_what_the_atlas_covers_is_counted_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every question about one replica is decided."""
    monkeypatch.setattr(building_tool, "CHAPTERS", (replace(SMALL, defects=("fixed",)),))
    counted = building_tool.count_atlas(tmp_path / "coverage.json")
    (chapter,) = counted["chapters"]
    assert chapter["questions"] == chapter["decided"] > 0 == counted["all"]["undecided"]


def test_of_several_ways_the_best_answer_is_kept() -> None:
    """A decided row before an open one, steps before none; two ways that disagree are an error."""
    open_, holds, lost, shortest = (
        table.AnswerRow("kraft", "{}", "acked-never-lost", "nl-1", verdict, steps)
        for verdict, steps in (("inconclusive", None), ("holds", None), ("violated", None), ("violated", 9))
    )
    assert table.best([open_, holds]) == table.best([holds, open_]) == [holds]
    assert table.best([lost, shortest, open_]) == table.best([shortest, lost]) == [shortest]
    with pytest.raises(EngineError, match="acked-never-lost is holds and violated"):
        table.best([holds, lost])


PROVED = Chapter("two replicas: proofs", (2,), USUAL | ONE, defects=("fixed",), together=100, how=INDUCTION)
LOST = Chapter("two replicas: losses", (2,), USUAL | ONE, SAFE, defects=("fixed",), how=NO_RETURN, wanted=loses_all)


@pytest.mark.parametrize(("chapter", "says"), [(PROVED, "holds"), (LOST, "violated")], ids=["proofs", "losses"])
def test_proofs_and_losses_without_a_search_of_everything_are_what_is_shipped(chapter: Chapter, says: str) -> None:
    """Of two replicas, which the shipped atlas has by search; the newest version's units."""
    atlas, compared = index.shipped(), 0
    assert atlas is not None
    for each in [one for one in units([chapter]) if one.model == "kraft-elr"][:2]:
        assert each.how == unit.unit_of(each.text).how == chapter.how
        for row in unit.rows_of(unit.decide(each.text)):
            known = atlas.find(row.id)
            assert known is not None and row.steps is None and row.verdict in (known[0], "inconclusive"), row
            compared += row.verdict == says
    assert compared >= 4


@pytest.mark.slow
@pytest.mark.parametrize("chapter", [each for each in CHAPTERS if each.how != SEARCH], ids=lambda each: each.name)
def test_proofs_and_losses_that_are_shipped_are_found_again(chapter: Chapter) -> None:
    """One unit of each chapter, drawn by a printed seed; ATLAS_SEED draws another one."""
    seed, atlas = int(os.environ.get("ATLAS_SEED", "1")), index.shipped()
    chosen = random.Random(seed).choice([each for each in units([chapter]) if each.model == "kraft-elr"])
    print(f"seed {seed}: {chosen.name}, {len(chosen.configurations)} settings")
    assert atlas is not None
    for row in unit.rows_of(unit.decide(chosen.text)):
        known = atlas.find(row.id)
        assert known is not None and row.verdict in (known[0], "inconclusive"), row


@pytest.mark.slow
def test_where_two_records_say_more_than_one() -> None:
    """Every usual setting of one and two replicas, decided with two records and compared with the shipped row of one."""
    atlas, differing, compared = index.shipped(), set(), 0
    assert atlas is not None
    for each in units([Chapter("two records", (1, 2), USUAL | TWO, TABLE, together=50)]):
        for row in unit.rows_of(unit.decide(each.text)):
            model = models()[row.model]
            asked = question(model, {**row.asked, "bounds.records": 1})
            known = atlas.find(question_id(model, asked, [row.property]))
            assert known is not None
            compared += 1
            if str(known[0]) != row.verdict:
                differing.add((row.verdict, row.asked["mechanism.diverging-fetch-ignored"], row.property))
    print(f"{compared} rows compared")
    assert differing == {("violated", False, name) for name in TABLE[:2]}


def test_with_three_replicas_two_records_say_what_one_says() -> None:
    """The rows of two records that are shipped: as designed, decided by proofs and losses, beside the searched rows of one."""
    atlas, compared = index.shipped(), dict.fromkeys(TABLE, 0)
    assert atlas is not None
    for row in table.read(Path(index.__file__).with_name(table.FILE)):
        if row.asked["bounds.records"] == 2 and row.asked["replication.factor"] == 3 and row.verdict != Verdict.INCONCLUSIVE:
            model = models()[row.model]
            asked = question(model, {**row.asked, "bounds.records": 1})
            known = atlas.find(question_id(model, asked, [row.property]))
            assert known is not None and known[0] == row.verdict, row
            compared[row.property] += 1
    print(compared)
    assert min(compared.values()) >= 20
