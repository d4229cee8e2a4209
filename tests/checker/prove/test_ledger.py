"""The ledger keeps the strongest thing known about each configuration and property."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from neverlost.checker.engine.evidence.ledger import BOUNDED, EXHAUSTED, OPEN, PROVED, REFUTED, LedgerLine
from neverlost.checker.engine.outcome import EngineError
from neverlost.reports.documents.ledger_file import add_to_ledger, read_ledger
from neverlost.specs.errors import InputError
from tests.support.program import neverlost


def line(status: str, **more: object) -> LedgerLine:
    return LedgerLine("kip-320", "sha256:1", {"replication.factor": 2}, "strong-isr", status, "test", **more)  # type: ignore[arg-type]


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
    add_to_ledger(tmp_path, [line(known)])
    assert [each.status for each in add_to_ledger(tmp_path, [line(new)])] == [kept]
    assert [each.status for each in read_ledger(tmp_path)] == [kept]


def test_deeper_and_less_bounded_lines_win(tmp_path: Path) -> None:
    add_to_ledger(tmp_path, [line(BOUNDED, steps=7)])
    assert add_to_ledger(tmp_path, [line(BOUNDED, steps=5)])[0].steps == 7
    assert add_to_ledger(tmp_path, [line(BOUNDED, steps=9)])[0].steps == 9
    add_to_ledger(tmp_path, [line(PROVED, unbounded=("epochs",))])
    assert add_to_ledger(tmp_path, [line(PROVED)])[0].unbounded == ("epochs",)


def test_other_subjects_are_left_alone(tmp_path: Path) -> None:
    add_to_ledger(tmp_path, [line(PROVED)])
    other = LedgerLine("kip-320", "sha256:2", {"replication.factor": 2}, "strong-isr", OPEN, "test")
    assert sorted(each.status for each in add_to_ledger(tmp_path, [other])) == [OPEN, PROVED]
    assert [each.name for each in tmp_path.iterdir()] == ["ledger.json"]


def test_contradictions_are_errors_whichever_came_first(tmp_path: Path) -> None:
    refuted = line(REFUTED, steps=4)
    for number, other in enumerate((line(PROVED), line(EXHAUSTED), line(BOUNDED, steps=4))):
        for order in ((refuted, other), (other, refuted)):
            place = tmp_path / f"{number}{order[0].status}"
            add_to_ledger(place, order[:1])
            with pytest.raises(EngineError, match=r"the ledger contradicts itself: .* is refuted in 4 steps"):
                add_to_ledger(place, order[1:])
            assert read_ledger(place) == [order[0]]
    for other in (line(BOUNDED, steps=3), line(OPEN)):
        assert add_to_ledger(tmp_path / other.status.replace(" ", ""), [other, refuted]) == [refuted]


def test_a_file_that_is_no_ledger_is_an_input_error(tmp_path: Path) -> None:
    (tmp_path / "ledger.json").write_text(json.dumps({"schema": "other"}))
    with pytest.raises(InputError, match="is not a ledger"):
        add_to_ledger(tmp_path, [line(OPEN)])


def test_check_and_prove_write_the_same_ledger(tmp_path: Path) -> None:
    keys = ["--set", "model=kip-320", "--set", "replication.factor=2", "--property", "strong-isr", "--out", str(tmp_path)]
    runs = [(["prove", "--depth", "3"], BOUNDED), (["check"], EXHAUSTED), (["prove", "--method", "induction"], PROVED)]
    for command, status in runs:
        neverlost(*command, *keys)
        assert [(each.goal, each.status) for each in read_ledger(tmp_path)] == [("strong-isr", status)]


def test_a_ledger_that_is_larger_than_any_of_ours_is_not_read(tmp_path: Path) -> None:
    with (tmp_path / "ledger.json").open("wb") as file:
        file.truncate(100 << 30)
    with pytest.raises(InputError, match="larger than 64 MiB"):
        read_ledger(tmp_path)
