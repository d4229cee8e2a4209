"""No verdict is vacuous without a word: an allowed fault that never struck stands beside it, everywhere.

An unclean election by an operator needs a partition without a leader (Kafka ElectLeaders with ElectionType.UNCLEAN elects only
where there is none), so it never happens where nothing else may fail; a lossy crash may happen at once.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import z3

import neverlost
from neverlost.checker.questions.coverage import list_single, look_for_strikes
from neverlost.model.interpreters.terms import Terms, bound_slots, compute_bit_width, lift_condition, variables
from neverlost.model.kraft.broker.log import EMPTY
from neverlost.model.system import System, bind
from neverlost.specs.cases.claim import list_cases
from neverlost.specs.configuration.choose import choose, choose_each, read_settings
from neverlost.specs.configuration.matrix import read_matrix, shipped
from neverlost.specs.properties import list_defined, properties
from neverlost.specs.property import RECOVERY
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
    assert "1 of them vacuous" in shown.stdout and "1 cell in which it holds vacuously is left out" in shown.stdout


@pytest.mark.slow
def test_a_proof_names_the_faults_whose_steps_can_never_be_taken() -> None:
    """The lemmas say that some replica in sync is unimpaired, so no partition is without a leader for an operator to elect."""
    given = {"model": "kraft-elr", "defects": "fixed", "faults.at_once": 2, "bounds.records": 1}
    given |= {"faults.disk_loss": "any", "faults.unclean_election": 1}
    found = neverlost.prove(given, method="induction", properties=["committed-never-lost"], workers=2)
    assert found.verdict == "holds" and found.properties[0].name == "committed-never-lost"
    (proof,) = found.proofs
    assert proof["never"]["faults"] == ["unclean_election"] and "broker_lose_disk" not in proof["never"]["actions"]
    assert found.cite().count(SAYS) == 1


ONE_RECORD = "it compares two records, and there is one"


def test_what_compares_two_records_says_so_where_there_is_one(tmp_path: Path) -> None:
    asked = ["check", *given(**{"faults.leader_move": 1}), "--property", "log-matching", "--property", "acked-never-lost"]
    shown, quiet, as_json = program(*asked), program(*asked, "--quiet"), json.loads(program(*asked, "--json", "-").stdout)
    assert shown.returncode == 0 and f"VACUOUS: log-matching: {ONE_RECORD}" in shown.stdout.splitlines()
    assert quiet.stdout.splitlines()[:2] == [
        f"HOLDS        log-matching (VACUOUS: {ONE_RECORD})",
        "HOLDS        acked-never-lost",
    ]
    assert [each.get("never") for each in as_json["properties"]] == [["second_record"], None]
    assert program(*asked, "--out", str(tmp_path)).returncode == 0
    for name in ("report.html", "report.md"):
        assert (tmp_path / name).read_text().count(ONE_RECORD) == (tmp_path / name).read_text().count("log-matching holds in")
    assert program("verify", str(tmp_path)).returncode == 0
    assert "VACUOUS" not in program(*asked, "--set", "bounds.records=2", "--quiet").stdout


@pytest.mark.slow
def test_a_table_and_a_matrix_of_one_record_bound_nothing(tmp_path: Path) -> None:
    table = neverlost.tolerance(GIVEN | {"defects": "fixed"}, properties=["log-matching"]).document
    assert list(table["says"].values()) == [[f"VACUOUS: log-matching: {ONE_RECORD}."]]
    (tmp_path / "matrix.toml").write_text(MATRIX.replace("acked-never-lost", "log-matching").replace("[0, 2]", "[0, 1]"))
    found = neverlost.sweep(tmp_path / "matrix.toml", workers=1).document
    assert all("second_record" in each["properties"][0]["never"] for each in found["cells"])
    assert found["boundary"] == [] and not any("survives any" in each["says"] for each in found["fault_tolerance"])


SMALLEST = [
    "bounds.records=1",
    "bounds.records=1 faults.producer_retry=1",
    "replication.factor=1 min.insync.replicas=1",
    "bounds.producers=1",
    "bounds.partitions=1",
    "bounds.transactions=1",
    "bounds.producers=2 faults.coordinator_move=1",
    "bounds.records=2 faults.reassign=1",
]
MODELS = ["kafka.version=3.9", "kafka.version=4.3 eligible.leader.replicas=true"]
MODELS += [f"model={each}" for each in ("majority", "pull-raft", "kip-320", "kraft-quorum", "kraft-composed", "transactions")]
BY_CONSTRUCTION = {"accepts-at-minimum-isr", "isr-electable", "only-isr-electable"}
"""What the rules of the controller and the leader say word for word, whatever the sizes are."""


@pytest.mark.parametrize("model", MODELS)
def test_what_no_state_can_violate_is_what_is_called_vacuous(model: str) -> None:
    """Z3 looks for a violating state among all values of all fields in which a log has what is below its high watermark."""
    tried = 0
    for sizes in SMALLEST:
        keys = [each for each in sizes.split() if reads(model, each)]
        if not keys:
            continue
        (chosen,) = choose_each(read_settings([*model.split(), *keys]))
        system, tried = bind(chosen.model, chosen.configuration), tried + 1
        single = {each for each in list_defined(system, properties()) if list_single(system, properties()[each])}
        assert cannot_be_violated(system) - BY_CONSTRUCTION == single, sizes
    assert tried > 1


def reads(model: str, setting: str) -> bool:
    (chosen,) = choose_each(read_settings(model.split()))
    return setting.partition("=")[0] in chosen.model.keys


def cannot_be_violated(system: System) -> set[str]:
    terms = Terms(compute_bit_width(system) + 2)
    state = variables(system, terms, "any")
    found = set()
    for name in list_defined(system, properties()):
        asked, solver = properties()[name], z3.Solver()
        solver.add(*bound_slots(system, terms, state), lift_condition(system, terms, state, has_what_it_shows))
        solver.add(z3.Not(lift_condition(system, terms, state, asked.condition)))
        if asked.kind != RECOVERY and solver.check() == z3.unsat:
            found.add(name)
    return found


def has_what_it_shows(k: Any, s: Any) -> Any:
    """Every log has a record at each offset below its high watermark."""
    if not {"high_watermark", "log_record"} <= set(s._system.places):
        return True
    places = [(log, offset) for log in range(s.sizes.replica) for offset in range(len(s.log_record[0]))]
    return k.all_of(True, *[k.any_of(k.not_(s.high_watermark[log] > at), s.log_record[log][at] != EMPTY) for log, at in places])


def test_nothing_shipped_asks_what_can_only_hold() -> None:
    """No case of the corpus that is to hold, and no shipped matrix."""
    for name, case in list_cases().items():
        for chosen in choose_each(read_settings(case.keys)) if case.expected == "holds" else ():
            assert list_single(bind(chosen.model, chosen.configuration), properties()[case.property]) == (), name
    for each in shipped():
        matrix = read_matrix(each, {})
        for cell in matrix.cells:
            asked = matrix.properties or cell.model.guarantees
            system = bind(cell.model, cell.configuration)
            assert [one for one in asked if list_single(system, properties()[one])] == [], each
