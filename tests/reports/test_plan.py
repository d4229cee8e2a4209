"""Plans: each step begins wherever the one before may be, and what it reaches is what another way of asking reaches."""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from neverlost.checker.engine.engines.explore import explore
from neverlost.checker.engine.outcome import Verdict
from neverlost.checker.engine.search.options import Options
from neverlost.checker.questions.roll.controller_steps import decide_controller_step
from neverlost.checker.questions.roll.maintenance_plan import read_plan
from neverlost.checker.questions.roll.plan_phases import Phase, carried, decided
from neverlost.model.interpreters import ints
from neverlost.model.system import bind
from neverlost.reports.questions.roll.plan_api import plan
from neverlost.specs.errors import InputError
from neverlost.specs.properties import properties
from tests.support.modern import explored, system
from tests.support.program import ROOT, neverlost

ACKED = [properties()["acked-never-lost"]]
SMALL = """
kafka.version = "{version}"
topic = {{ replication.factor = 2, min.insync.replicas = 2 }}
cluster = {{ defects = "fixed" }}
faults = {{ out = "any:2" }}
"""


def phases(tmp_path: Path, *steps: str, version: str = "3.9", first: str = SMALL) -> list[Phase]:
    file = tmp_path / "plan.toml"
    file.write_text(first.format(version=version) + "".join(f"[[step]]\n{each}\n" for each in steps))
    found = decided(read_plan(file), ACKED, Options(workers=1))
    for phase in found:
        for said in phase.said:
            check_parts(said.parts)
    return found


def check_parts(parts: Any) -> None:
    """Each part is a behaviour on ints, and begins in a state that the last one of the part before stands for."""
    for part in parts:
        for state, number, after in zip(part.trace.states, part.trace.steps, part.trace.states[1:], strict=False):
            assert ints.take(part.system, state, part.system.steps[number]) == after
    for one, other in pairwise(parts):
        end = np.array(one.system.pack(one.trace.states[-1]), np.uint64)[:, None]
        begun, _ = carried(one.system, end, other.system)
        assert other.system.pack(other.trace.states[0]) in {tuple(map(int, row)) for row in begun.T}


def test_a_step_of_min_isr_is_the_fault_of_that_name(tmp_path: Path) -> None:
    """With two replicas there is one other value, so the search with one such change among its faults is the whole plan."""
    given = {"rf": 2, "min_isr": 2, "out": "any:2", "defects": "fixed"}
    _, step = phases(tmp_path, "min.insync.replicas = 1")
    alone = explored(system("3.9", **given, min_isr_change=1), "acked-never-lost")
    assert (step.outcome.counts.distinct, step.outcome.verdict) == (alone.counts.distinct, alone.verdict)


def test_a_step_that_changes_nothing_reaches_nothing_new(tmp_path: Path) -> None:
    before, same = phases(tmp_path, 'kafka.version = "4.0"')
    assert before.outcome.counts.distinct == same.outcome.counts.distinct == same.states.shape[1] == len(same.sources)


def test_amid_an_upgrade_everything_is_reached_that_either_version_reaches(tmp_path: Path) -> None:
    before, amid = phases(tmp_path, 'kafka.version = "3.8"', version="2.8")
    assert amid.step is not None and {"strict_high_watermark", "shrink_keeps_leader_epoch"} <= amid.step.reads.keys()
    new = bind(before.outcome.system.model, amid.outcome.system.configurations[0])
    alone = explore(new, (), Options(workers=1)).counts.distinct
    assert amid.outcome.counts.distinct >= max(alone, before.outcome.counts.distinct)
    assert {said.is_done for said in amid.said} == {False, True}


def test_a_loss_goes_through_the_phases(tmp_path: Path) -> None:
    """With two replicas and min ISR 1, what only a leader holds is lost with its data; with min ISR 2 only if both are out."""
    _, lowered, losing = phases(tmp_path, "min.insync.replicas = 1", 'faults.data_loss = "any:1"')
    assert {each.verdict for each in lowered.said} == {Verdict.HOLDS}
    (said,) = losing.said
    assert said.verdict is Verdict.VIOLATED and [each.phase for each in said.parts] == [0, 1, 2]


def test_with_elr_and_a_third_replica_states_go_on(tmp_path: Path) -> None:
    first = SMALL.replace("out = ", "data_loss = ").replace("any:2", "any:1").replace("replicas = 2", "replicas = 1")
    *_, grown = phases(tmp_path, "replication.factor = 3", first=first)
    assert grown.outcome.verdict is Verdict.HOLDS and grown.outcome.system.sizes["replica"] == 3
    first = SMALL.replace("defects", "eligible.leader.replicas = false, defects")
    before, enabled = phases(tmp_path, "eligible.leader.replicas = true", version="4.1", first=first)
    assert enabled.outcome.verdict is Verdict.HOLDS
    down = sum(
        not all(before.outcome.system.nested(before.outcome.system.unpack(each))["is_running"]) for each in before.states.T
    )
    assert len(enabled.sources) > before.states.shape[1] and down


@pytest.mark.parametrize(
    ("step", "message"),
    [
        ("", "has no steps"),
        ("[[step]]\nreplication.factor = 1", "step 1 of"),
        ("[[step]]\nmin.insync.replicas = 3", "bad value '3' for min.insync.replicas in step 1"),
        ('[[step]]\nkafka.version = "2.4"', "nodes with and without"),
        ('[[step]]\nkafka.version = "4.3"\neligible.leader.replicas = true', "raise the feature level in a step of its own"),
        ("[[step]]\nfaults.leader_move = 1", "a plan's faults have no number"),
        ("[[step]]\nwaits = 1\nmin.insync.replicas = 1", "bad value 1 for waits"),
        ("[[step]]\nwhatever = 1", "unknown key 'whatever'"),
        ("[[step]]\nremove-voter = 1", "which are not named: add voters = .1, 2, 3. above the first step"),
    ],
)
def test_what_is_no_plan(step: str, message: str, tmp_path: Path) -> None:
    file = tmp_path / "plan.toml"
    file.write_text(SMALL.format(version="3.9") + step)
    with pytest.raises(InputError, match=message):
        read_plan(file)


@pytest.mark.parametrize(
    ("version", "step", "message"),
    [
        (0, "add-voter = 4", "step 1 of .* changes the voters, which takes kraft.version = 1"),
        (2, "add-voter = 4", "bad value '2' for kraft.version"),
        (1, "add-voter = 3", "bad value '3' for add-voter in step 1 .* does not vote yet .voters: 1, 2, 3."),
        (1, "remove-voter = 4", "bad value '4' for remove-voter in step 1 .* one that votes"),
        (1, 'replace-controller-disk = "x"', "bad value 'x' for replace-controller-disk"),
        (1, "add-voter = 4\nacks = 1", "step 1 of .* changes add-voter and acks: make each a step of its own"),
        (1, "add-voter = 4\nwaits = true", "waits in step 1 of"),
        (1, "remove-voter = 1\n[[step]]\nremove-voter = 2\n[[step]]\nremove-voter = 3", "removes the last voter"),
    ],
)
def test_a_change_of_controllers_that_cannot_be_is_refused(version: int, step: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=message):
        read_plan(of_controllers(tmp_path, version, f"[[step]]\n{step}\n"))
    with pytest.raises(InputError, match=r"bad value .* for voters"):
        read_plan(of_controllers(tmp_path, 1, "[[step]]\nadd-voter = 4\n", voters="[1, 1]"))


def of_controllers(folder: Path, version: int, steps: str, voters: str = "[1, 2, 3]") -> Path:
    file = folder / "controllers.toml"
    file.write_text(f"kraft.version = {version}\nvoters = {voters}\n{SMALL.format(version='4.0')}{steps}")
    return file


@pytest.mark.slow
def test_a_controllers_new_disk_loses_metadata_without_directory_ids_alone(tmp_path: Path) -> None:
    """As `neverlost scenarios controller-disk-replaced` has it; the steps of a partition go on beside it."""
    steps = "[[step]]\nmin.insync.replicas = 1\n[[step]]\nreplace-controller-disk = 3\n"
    done = neverlost("roll", "--plan", str(of_controllers(tmp_path, 0, steps)), "--out", str(tmp_path / "out"))
    assert done.returncode == 12, done.stderr
    assert "Step 2, replace-controller-disk 3: LOST, 12 steps." in done.stdout and "committed metadata" in done.stdout
    assert "Step 1, min.insync.replicas=1: writes stop; once it is done: ok." in done.stdout
    assert neverlost("verify", str(tmp_path / "out")).returncode == 0
    (step,) = plan(of_controllers(tmp_path, 1, "[[step]]\nreplace-controller-disk = 3\n")).phases[1:]
    assert (step["number"], step["meanwhile"]) == (1, "ok")


def test_a_step_of_controllers_loses_with_rules_of_the_quorum_off(tmp_path: Path) -> None:
    (step,) = read_plan(of_controllers(tmp_path, 1, "[[step]]\nremove-voter = 2\n", voters="[2, 7]")).of_controllers
    assert decide_controller_step(step, Options(workers=1)).verdict is Verdict.HOLDS
    rules = {"mechanism.majority-quorum": False, "mechanism.own-epoch-commit": False}
    broken = replace(step, system=bind(step.system.model, {**step.system.configurations[0], **rules}))
    assert decide_controller_step(broken, Options(workers=1)).verdict is Verdict.VIOLATED


def test_every_shipped_plan_can_be_read() -> None:
    names = {file.stem: read_plan(file) for file in (ROOT / "specs" / "plans").glob("*.toml")}
    assert {"enable-elr", "lower-min-isr", "raise-rf", "replace-controllers", "upgrade"} <= names.keys()
    assert all(each.says and all(step.says for step in (*each.steps, *each.of_controllers)) for each in names.values())


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("lower-min-isr", ["writes stop", "writes stop", "LOST"]),
        ("raise-rf", ["ok", "ok", "ok", "writes stop"]),
        ("enable-elr", ["writes stop", "writes stop"]),
        ("upgrade", ["ok", "ok"]),
        ("replace-controllers", ["ok", "ok", "ok"]),
    ],
)
def test_shipped_plans(name: str, expected: list[str]) -> None:
    found = plan(ROOT / "specs" / "plans" / f"{name}.toml")
    assert [each["meanwhile"].split(",")[0] for each in found.phases] == expected


def test_the_command_and_its_bundle(tmp_path: Path) -> None:
    file = tmp_path / "plan.toml"
    file.write_text(SMALL.format(version="3.9") + '[[step]]\nmin.insync.replicas = 1\n[[step]]\nfaults.data_loss = "any:1"\n')
    done = neverlost("roll", "--plan", str(file), "--out", str(tmp_path / "out"))
    assert done.returncode == 12, done.stderr
    assert "Step 1, min.insync.replicas=1: writes stop; once it is done: ok." in done.stdout
    assert "STEP 2: faults.data_loss=any:1" in done.stdout and "acknowledged record m1 is lost" in done.stdout
    result = json.loads((tmp_path / "out" / "result.json").read_text())
    assert [each["phase"] for each in result["phases"][2]["counterexample"]][-1] == "faults.data_loss=any:1"
    again = neverlost("verify", str(tmp_path / "out"))
    assert again.returncode == 0, again.stdout + again.stderr
    done = neverlost("roll", "--plan", str(file), "--kafka-version", "3.9")
    assert done.returncode == 64 and "--plan says itself where the cluster begins" in done.stderr
