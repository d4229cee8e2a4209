"""`neverlost prove` as a program: output, files, exit status."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from neverlost.checker.engine.engines.explore import explore
from neverlost.checker.engine.evidence import ledger
from neverlost.checker.engine.proof import smtlib
from neverlost.checker.engine.search.options import Options, SearchLimits
from neverlost.reports.documents.ledger_file import read_ledger
from neverlost.reports.questions.prove.api import free_cells
from neverlost.specs.properties import properties
from tests.support import obligations
from tests.support.program import neverlost


def prove(*arguments: str) -> subprocess.CompletedProcess[str]:
    return neverlost("prove", *arguments, timeout=600)


CLASSIC = ["--set", "replication.factor=2", "--set", "bounds.max_leader_epoch=2", "--property", "strong-isr"]


def test_a_counterexample_is_found_drawn_and_kept(tmp_path: Path) -> None:
    done = prove("--set", "model=truncate-to-hw", *CLASSIC, "--depth", "9", "--out", str(tmp_path))
    assert done.returncode == 12, done.stderr
    assert "VIOLATED" in done.stdout and "strong-isr: is broken without any fault (9 steps)" in done.stdout
    document = json.loads((tmp_path / "result.json").read_text())
    assert document["verdict"] == "violated" and document["method"] == "bmc" and document["depth"] == 9
    assert document["properties"][0]["trace"] == "strong-isr.itf.json"
    assert document["solver"].startswith("z3 ") and isinstance(document["seed"], int)
    assert [(each.status, each.steps) for each in read_ledger(tmp_path)] == [("refuted", 9)]
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
    assert [each.status for each in read_ledger(tmp_path)] == ["proved"]
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


KRAFT = ["model=kraft", "faults.lossy_crash=1", "bounds.records=1", "defects=fixed"]
FREE = ["--free", "acks", "--free", "unclean.leader.election.enable", "--free", "flush.messages", "--depth", "5"]


@pytest.mark.slow
def test_free_keys_list_their_unsafe_values() -> None:
    keys = [part for each in KRAFT for part in ("--set", each)]
    done = prove(*keys, "--property", "acked-never-lost", *FREE, "--json", "-")
    assert done.returncode == 12, done.stderr
    document = json.loads(done.stdout)
    assert len(document["cells"]) == 4 * 2 * 2
    found = {(each["acks"], each["unclean.leader.election.enable"], each["flush.messages"]) for each in document["unsafe"]}
    assert found == explored_unsafe()
    assert {("0", False, "default"), ("1", True, "default")} <= found
    assert not any(acks == "all" for acks, _, _ in found)


def explored_unsafe() -> set[tuple[str, bool, str]]:
    """The same question, put to the explorer."""
    given = {key: (value, "test") for key, value in dict(each.split("=") for each in KRAFT).items()}
    _, system, _ = free_cells(given, [each for each in FREE[:6] if not each.startswith("--")])
    options = Options(limits=SearchLimits(depth=5), workers=1, every_configuration=True)
    outcome = explore(system, [properties()["acked-never-lost"]], options)
    cells = [system.configurations[each.configuration] for each in outcome.findings if each.trace is not None]
    return {(each["acks"], each["unclean.leader.election.enable"], each["flush.messages"]) for each in cells}


FREE_KEYS = ["min.insync.replicas", "acks", "unclean.leader.election.enable", "flush.messages"]
MATRIX = """
[topic]
min.insync.replicas = "1..3"
unclean.leader.election.enable = [false, true]
flush.messages = ["1", "default"]
[producer]
acks = ["0", "1", "all", "min.insync.replicas"]
"""
FIXED = ["replication.factor=3", "faults.lossy_crash=1", "faults.isr_shrink=1", "bounds.records=1"]


@pytest.mark.slow
@pytest.mark.parametrize("model", ["kraft", "kraft-elr"])
def test_four_free_keys_are_unsafe_exactly_where_a_complete_sweep_says(model: str, tmp_path: Path) -> None:
    """Every unsafe cell, with the steps of its shortest counterexample; the sweep has no depth, so none is deeper."""
    fixed = [part for each in (f"model={model}", *FIXED) for part in ("--set", each)]
    free = [part for each in FREE_KEYS for part in ("--free", each)]
    proved = prove(*fixed, *free, "--property", "acked-never-lost", "--depth", "9", "--json", "-")
    assert proved.returncode == 12, proved.stderr
    matrix = tmp_path / "matrix.toml"
    matrix.write_text(MATRIX)
    swept = neverlost("sweep", str(matrix), *fixed, "--property", "acked-never-lost", "--json", "-")
    assert swept.returncode == 0, swept.stderr
    by_z3, by_search = steps_by_cell(proved.stdout), steps_by_cell(swept.stdout)
    assert len(by_search) == 3 * 4 * 2 * 2 and "inconclusive" not in {each["verdict"] for each in cells_of(swept.stdout)}
    assert by_z3 == by_search
    assert sum(steps is not None for steps in by_z3.values()) == 22


def cells_of(text: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(text)["cells"]
    return found


def steps_by_cell(text: str) -> dict[tuple[object, ...], int | None]:
    cells = [(tuple(each["config"][key] for key in FREE_KEYS), each["properties"][0].get("steps")) for each in cells_of(text)]
    return dict(cells)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--method", "magic"], "unknown method 'magic' in --method"),
        (["--set", "model=kraft", "--free", "ack"], "unknown key 'ack' in --free"),
        (["--set", "model=kraft", "--free", "bounds.records"], "bounds.records cannot be left free without its values"),
        (["--set", "model=kraft", "--free", "bounds.records=1,2"], "these keys cannot be left free together"),
        (
            ["--set", "model=kraft", "--set", "replication.factor=2", "--free", "replication.factor=1,2"],
            "replication.factor is free and has a value",
        ),
        (["--unbounded"], "--unbounded needs --method induction"),
        (["--every-rf"], "--every-rf needs --method induction"),
        (["--method", "induction", "--free", "acks"], "--free needs --method bmc"),
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
