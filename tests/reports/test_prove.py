"""`neverlost prove` as a program: output, files, exit status."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from neverlost.checker.engine.evidence import ledger
from neverlost.checker.engine.proof import smtlib
from tests.support import obligations
from tests.support.program import neverlost


def prove(*arguments: str) -> subprocess.CompletedProcess[str]:
    return neverlost("prove", *arguments, timeout=600)


def ledger_of(folder: Path) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads((folder / ledger.FILE).read_text())["lines"]
    return found


CLASSIC = ["--set", "replication.factor=2", "--set", "bounds.max_leader_epoch=2", "--property", "strong-isr"]


def test_a_counterexample_is_found_drawn_and_kept(tmp_path: Path) -> None:
    done = prove("--set", "model=truncate-to-hw", *CLASSIC, "--depth", "9", "--out", str(tmp_path))
    assert done.returncode == 12, done.stderr
    assert "VIOLATED" in done.stdout and "strong-isr: is broken without any fault (9 steps)" in done.stdout
    document = json.loads((tmp_path / "result.json").read_text())
    assert document["verdict"] == "violated" and document["method"] == "bmc" and document["depth"] == 9
    assert document["properties"][0]["trace"] == "strong-isr.itf.json"
    assert document["solver"].startswith("z3 ") and isinstance(document["seed"], int)
    assert [(each["status"], each["steps"]) for each in ledger_of(tmp_path)] == [("refuted", 9)]
    again = neverlost("replay", str(tmp_path / "strong-isr.itf.json"))
    assert again.returncode == 12 and "9 steps" in again.stdout, again.stderr


def test_a_bounded_search_without_a_counterexample_is_inconclusive() -> None:
    done = prove("--set", "model=kip-320", *CLASSIC, "--depth", "5", "--json", "-")
    assert done.returncode == 20, done.stderr
    document = json.loads(done.stdout)
    assert document["verdict"] == "inconclusive" and document["depth"] == 5
    assert document["reason"] == "no counterexample of up to 5 steps; nothing is known beyond"


def test_a_proof_leaves_its_obligations_and_a_line_in_the_ledger(tmp_path: Path) -> None:
    done = prove("--set", "model=kip-320", "--method", "induction", *CLASSIC, "--out", str(tmp_path))
    assert done.returncode == 0, done.stderr
    written = tmp_path / "obligations" / "strong-isr"
    many = sum(each["checks"] for each in json.loads((written / smtlib.MANIFEST).read_text())["files"])
    assert "HOLDS" in done.stdout and f"{many} of {many} obligations proved" in done.stdout
    assert obligations.recheck(written) == []
    assert [each["status"] for each in ledger_of(tmp_path)] == ["proved"]
    document = json.loads((tmp_path / "result.json").read_text())
    assert document["proofs"][0]["open"] == [] and document["proofs"][0]["obligations"] == many


def test_a_proof_that_does_not_close_lists_what_is_open(tmp_path: Path) -> None:
    """kip-279 at two replicas keeps the property, but no lemmas are written for it."""
    done = prove("--set", "model=kip-279", "--method", "induction", *CLASSIC, "--json", str(tmp_path / "r.json"))
    assert done.returncode == 20, done.stderr
    assert "a counterexample to induction" in done.stdout and "a lemma is missing" in done.stdout
    assert "  0 a state that keeps all lemmas" in done.stdout and "breaks the-property, which says: " in done.stdout
    document = json.loads((tmp_path / "r.json").read_text())
    assert document["verdict"] == "inconclusive" and "counterexamples to induction" in document["reason"]
    assert document["proofs"][0]["open"] and document["proofs"][0]["counterexamples"]


def test_a_failed_proof_of_a_violated_property_is_a_violation() -> None:
    done = prove("--set", "model=truncate-to-hw", "--method", "induction", *CLASSIC, "--json", "-")
    assert done.returncode == 12, done.stderr
    assert json.loads(done.stdout)["properties"][0]["steps"] == 9


EXPANSION = "leader_expand_isr: high watermark in the current epoch"
WEAKENED = ["--set", "model=kip-320", "--set", "replication.factor=3", "--set", "bounds.records=2", "--without", EXPANSION]


@pytest.mark.slow
@pytest.mark.parametrize("method", ["bmc", "induction"])
def test_a_protocol_without_a_needed_clause_is_refuted_by_a_real_behaviour(method: str, tmp_path: Path) -> None:
    """Bounded search finds it; a failed proof finds it too, because its counterexamples are looked up by exploration."""
    done = prove(*WEAKENED, "--property", "strong-isr", "--method", method, "--out", str(tmp_path))
    assert done.returncode == 12, done.stderr
    document = json.loads((tmp_path / "result.json").read_text())
    assert document["without"] == [EXPANSION] and document["properties"][0]["steps"] == 11
    assert ("a counterexample to induction" in done.stdout) == (method == "induction")
    assert not (tmp_path / ledger.FILE).exists(), "the ledger is about the protocol as it is"
    again = neverlost("replay", str(tmp_path / "strong-isr.itf.json"))
    said = f"NOT the model as it is, but without {EXPANSION}: "
    assert again.returncode == 0 and again.stdout.startswith(said + "a counterexample of that mutant only")
    trace = json.loads((tmp_path / "strong-isr.itf.json").read_text())
    assert trace["#meta"]["neverlost"]["says"][0].startswith(said)
    for picture in ("strong-isr.svg", "report.html"):
        assert said in (tmp_path / picture).read_text(), picture
    assert neverlost("verify", str(tmp_path)).returncode == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--method", "magic"], "unknown method 'magic' in --method"),
        (["--unbounded"], "--unbounded needs --method induction"),
        (["--every-rf"], "--every-rf needs --method induction"),
        (
            ["--set", "model=kraft", "--without", "leader_append: nothing"],
            "unknown guard clause 'leader_append: nothing' in --without",
        ),
        (["--depth", "-1"], "bad value '-1' for --depth"),
        (["--set", "model=kraft", "--property", "strong"], "unknown property 'strong'"),
    ],
)
def test_bad_usage_is_one_line_and_64(arguments: list[str], message: str) -> None:
    done = prove(*arguments)
    assert done.returncode == 64
    assert message in done.stderr and done.stderr.count("\n") == 1 and done.stdout == ""


@pytest.mark.parametrize("method", ["bmc", "induction"])
def test_a_loss_that_needs_no_fault_is_a_violation(method: str) -> None:
    """With acks=0 a record counts as sent before any broker has it."""
    keys = ("kafka.version=3.9", "replication.factor=2", "bounds.records=1", "acks=0")
    settings = [part for each in keys for part in ("--set", each)]
    limit = ("--depth", "1") if method == "bmc" else ()
    assert prove(*settings, "--property", "acked-never-lost", "--method", method, *limit, "--quiet").returncode == 12


def test_where_nothing_may_fail_no_unreachable_state_is_shown() -> None:
    keys = ("kafka.version=3.9", "replication.factor=2", "bounds.records=1")
    settings = [part for each in keys for part in ("--set", each)]
    done = prove(*settings, "--property", "acked-never-lost", "--method", "induction")
    assert done.returncode == 20 and "a counterexample to induction" not in done.stdout
    assert "nothing may fail here" in done.stdout and "neverlost check visits every state and decides it" in done.stdout


def test_a_proof_that_does_not_close_as_shipped_says_why() -> None:
    """The fifth example of the guide: the lemmas are about Kafka as designed, which the bugs of a release break."""
    asked = ["prove", "--method", "induction", "--set", "model=kraft-elr", "--set", "min.insync.replicas=2"]
    done = neverlost(*asked, "--set", "faults.lossy_crash=1", "--property", "acked-never-lost")
    assert done.returncode == 20
    (last,) = [line for line in done.stdout.splitlines() if line.startswith("inconclusive: ")]
    assert "the written lemmas are about Kafka as designed" in last and "--set defects=fixed" in last
