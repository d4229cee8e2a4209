"""The ledger has a line for each configuration and property of a result, and nothing of other runs."""

from __future__ import annotations

import json
from pathlib import Path

from neverlost.checker.engine.evidence.ledger import BOUNDED, EXHAUSTED, PROVED, LedgerLine, format_ledger
from tests.support.program import neverlost


def line(status: str, model_digest: str) -> LedgerLine:
    return LedgerLine("kip-320", model_digest, {"replication.factor": 2}, "strong-isr", status, "test")


def test_a_subject_has_one_line_and_subjects_are_in_order() -> None:
    lines = [line(PROVED, "sha256:2"), line(EXHAUSTED, "sha256:1"), line(PROVED, "sha256:2")]
    found = json.loads(format_ledger(lines))["lines"]
    assert [(each["model_digest"], each["status"]) for each in found] == [("sha256:1", EXHAUSTED), ("sha256:2", PROVED)]


def test_check_and_prove_write_the_line_of_their_own_result(tmp_path: Path) -> None:
    keys = ["--set", "model=kip-320", "--set", "replication.factor=2", "--property", "strong-isr", "--out", str(tmp_path)]
    runs = [(["prove", "--method", "induction"], PROVED), (["check"], EXHAUSTED), (["prove", "--depth", "3"], BOUNDED)]
    for command, status in runs:
        neverlost(*command, *keys)
        lines = json.loads((tmp_path / "ledger.json").read_text())["lines"]
        assert [(each["goal"], each["status"]) for each in lines] == [("strong-isr", status)]
    done = neverlost("verify", str(tmp_path))
    assert done.returncode == 0 and "1 line of the ledger derived from the result again" in done.stdout, done.stderr
