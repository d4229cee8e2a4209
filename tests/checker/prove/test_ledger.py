"""The ledger keeps the strongest thing known about each configuration and property."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from neverlost.checker.evidence import ledger
from neverlost.checker.evidence.ledger import BOUNDED, EXHAUSTED, OPEN, PROVED, REFUTED, Line, record
from neverlost.checker.outcome import Counts, Finding, Outcome, Trace, Verdict
from neverlost.model.catalogue import models
from neverlost.model.system import bind
from neverlost.specs.errors import InputError
from neverlost.specs.property import properties
from tests.support.program import neverlost

STRONG = properties()["strong-isr"]


def line(status: str, **more: object) -> Line:
    return Line("kip-320", "sha256:1", {"replication.factor": 2}, "strong-isr", status, "test", **more)  # type: ignore[arg-type]


def outcome(verdict: Verdict, trace: Trace | None = None, reason: str | None = None) -> Outcome:
    keys = {"replication.factor": 2, "bounds.records": 1, "bounds.log_size": 1, "bounds.max_leader_epoch": 1}
    system = bind(models()["kip-320"], keys)
    return Outcome(system, (Finding(STRONG, 0, verdict, trace),), Counts(), 0.0, reason)


@pytest.mark.parametrize(
    ("known", "new", "kept"),
    [
        (BOUNDED, EXHAUSTED, EXHAUSTED),
        (EXHAUSTED, BOUNDED, EXHAUSTED),
        (EXHAUSTED, PROVED, PROVED),
        (PROVED, OPEN, PROVED),
        (OPEN, REFUTED, REFUTED),
    ],
)
def test_a_line_never_gives_way_to_a_weaker_one(tmp_path: Path, known: str, new: str, kept: str) -> None:
    record(tmp_path, [line(known)])
    assert [each.status for each in record(tmp_path, [line(new)])] == [kept]
    assert [each.status for each in ledger.read(tmp_path)] == [kept]


def test_deeper_and_less_bounded_lines_win(tmp_path: Path) -> None:
    record(tmp_path, [line(BOUNDED, steps=7)])
    assert record(tmp_path, [line(BOUNDED, steps=5)])[0].steps == 7
    assert record(tmp_path, [line(BOUNDED, steps=9)])[0].steps == 9
    record(tmp_path, [line(PROVED, unbounded=("epochs",))])
    assert record(tmp_path, [line(PROVED)])[0].unbounded == ("epochs",)


def test_other_subjects_are_left_alone(tmp_path: Path) -> None:
    record(tmp_path, [line(PROVED)])
    other = Line("kip-320", "sha256:2", {"replication.factor": 2}, "strong-isr", OPEN, "test")
    assert sorted(each.status for each in record(tmp_path, [other])) == [OPEN, PROVED]
    assert [each.name for each in tmp_path.iterdir()] == ["ledger.json"]


def test_outcomes_become_lines() -> None:
    refuted = outcome(Verdict.VIOLATED, Trace(((), ()), (0,)))
    assert [(each.status, each.steps) for each in ledger.lines_of(refuted, "d", "exploration")] == [(REFUTED, 1)]
    holds = outcome(Verdict.HOLDS)
    assert ledger.lines_of(holds, "d", "exploration")[0].status == EXHAUSTED
    proved = ledger.lines_of(holds, "d", "induction", proved=True, unbounded=("epochs",))[0]
    assert (proved.status, proved.unbounded) == (PROVED, ("epochs",))
    assert proved.says == "strong-isr is proved by induction, whatever the number of epochs (induction)"
    cut = outcome(Verdict.INCONCLUSIVE, reason="limit")
    assert [(each.status, each.steps) for each in ledger.lines_of(cut, "d", "z3", depth=10)] == [(BOUNDED, 10)]
    assert ledger.lines_of(cut, "d", "z3")[0].status == OPEN


def test_a_file_that_is_no_ledger_is_an_input_error(tmp_path: Path) -> None:
    (tmp_path / "ledger.json").write_text(json.dumps({"schema": "other"}))
    with pytest.raises(InputError, match="is not a ledger"):
        record(tmp_path, [line(OPEN)])


def test_check_and_prove_write_the_same_ledger(tmp_path: Path) -> None:
    keys = ["--set", "model=kip-320", "--set", "replication.factor=2", "--property", "strong-isr", "--out", str(tmp_path)]
    runs = [(["prove", "--depth", "3"], BOUNDED), (["check"], EXHAUSTED), (["prove", "--method", "induction"], PROVED)]
    for command, status in runs:
        neverlost(*command, *keys)
        assert [(each.goal, each.status) for each in ledger.read(tmp_path)] == [("strong-isr", status)]
