"""No verdict is vacuous without a word: an allowed fault that never struck stands beside it, everywhere.

An unclean election by an operator needs a partition without a leader (Kafka ElectLeaders with ElectionType.UNCLEAN elects only
where there is none), so it never happens where nothing else may fail; a lossy crash may happen at once.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import neverlost
from neverlost.checker.questions.coverage import look_for_strikes
from neverlost.model.system import bind
from neverlost.specs.configuration.choose import choose
from tests.support.program import neverlost as program

GIVEN: dict[str, Any] = {"kafka.version": "3.9", "replication.factor": 2, "bounds.records": 1}
NAMED = ["--property", "acked-never-lost"]
SAYS = "this says nothing about unclean elections: allowed, but never happened"


def given(**more: Any) -> list[str]:
    return [part for key, value in (GIVEN | more).items() for part in ("--set", f"{key}={value}")]


def test_a_fault_that_never_struck_is_beside_the_verdict_everywhere(tmp_path: Path) -> None:
    asked = ["check", *given(**{"faults.unclean_election": 1}), *NAMED]
    shown, quiet, as_json = program(*asked), program(*asked, "--quiet"), json.loads(program(*asked, "--json", "-").stdout)
    assert shown.returncode == 0 and f"VACUOUS: {SAYS}" in shown.stdout.splitlines()
    assert quiet.stdout.splitlines()[0] == f"HOLDS        acked-never-lost (VACUOUS: {SAYS})"
    assert as_json["never"]["faults"] == ["unclean_election"] and as_json["never"]["not_seen"] == []
    assert "controller_elect_uncleanly" in as_json["never"]["actions"]
    assert program(*asked, "--out", str(tmp_path)).returncode == 0
    for name in ("report.html", "report.md"):
        assert SAYS in (tmp_path / name).read_text(), name
    assert program("verify", str(tmp_path)).returncode == 0


def test_a_fault_that_struck_is_not_called_vacuous() -> None:
    found = neverlost.check(GIVEN | {"faults.lossy_crash": 1}, properties=["acked-never-lost"], workers=1).document
    assert found["verdict"] == "holds" and found["never"]["faults"] == []
    assert not {"broker_lose_disk", "controller_fence"} & set(found["never"]["actions"])  # not allowed, so not worth a word
    assert (
        "broker_crash_lossy" not in found["never"]["actions"]
        and "VACUOUS" not in program("check", *given(**{"faults.lossy_crash": 1}), *NAMED).stdout
    )


@pytest.mark.parametrize(
    ("faults", "never"),
    [
        ({"faults.unclean_election": 1}, ("unclean_election",)),
        ({"faults.unclean_election": 1, "faults.kill": 2}, ()),
        ({"faults.isr_shrink": "any", "replication.factor": 1}, ("isr_shrink",)),
        ({"faults.data_loss": "any:1", "faults.out": "any:1"}, ()),
    ],
)
def test_strikes_are_found_by_the_definition_of_the_model(faults: dict[str, Any], never: tuple[str, ...]) -> None:
    chosen = choose({key: (str(value), "test") for key, value in (GIVEN | faults).items()})
    assert look_for_strikes(bind(chosen.model, chosen.configuration)).faults == never


MATRIX = """
kafka.version = "3.9"
replication.factor = 2
bounds.records = 1
properties = ["acked-never-lost"]
faults.unclean_election = [0, 1]
faults.kill = [0, 2]
"""


def test_a_cell_in_which_a_fault_never_struck_bounds_nothing(tmp_path: Path) -> None:
    """One cell of four: an unclean election, and no two killed brokers that could make one possible."""
    (tmp_path / "matrix.toml").write_text(MATRIX)
    found = neverlost.sweep(tmp_path / "matrix.toml", workers=1).document
    never = {tuple(each["cell"].values()): each["properties"][0].get("never") for each in found["cells"]}
    assert [cell for cell, faults in never.items() if faults] == [(0, 1)] and never[0, 1] == ["unclean_election"]
    (boundary,) = found["boundary"]
    assert boundary["rule"]["vacuous"] == 1 and boundary["rule"]["cells"] == 3
    assert not any("unclean election" in each["says"] and "kill" not in each["says"] for each in found["fault_tolerance"])
    shown = program("sweep", str(tmp_path / "matrix.toml"))
    assert "1 of them vacuous" in shown.stdout and "1 cell in which an allowed fault never struck is left out" in shown.stdout


def test_a_proof_names_the_faults_whose_steps_can_never_be_taken() -> None:
    """The lemmas say that some replica in sync is unimpaired, so no partition is without a leader for an operator to elect."""
    given = {"model": "kraft-elr", "defects": "fixed", "faults.at_once": 2, "bounds.records": 1}
    given |= {"faults.disk_loss": "any", "faults.unclean_election": 1}
    found = neverlost.prove(given, method="induction", properties=["committed-never-lost"], workers=2)
    assert found.verdict == "holds" and found.properties[0].name == "committed-never-lost"
    (proof,) = found.proofs
    assert proof["never"]["faults"] == ["unclean_election"] and "broker_lose_disk" not in proof["never"]["actions"]
    assert found.cite().count(SAYS) == 1
