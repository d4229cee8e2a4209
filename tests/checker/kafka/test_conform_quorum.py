"""Kafka's own classes of the quorum against the model's voters."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from neverlost.checker.kafka.conform.quorum import voters
from tests.support.program import neverlost


def test_the_settings_are_the_models_own() -> None:
    """Every event that is judged is an action of the model, and what is reached at first are voters without a leader."""
    bound = voters.system(voters.SHORT[0])
    state, successors = next(voters.reachable(bound))
    values = bound.nested(state)
    assert voters.voter_of(values, 0) == (0, 0, -1, -1, 0, (0, 1, 2)) and voters.end_of(values, 0) == (0, 0)
    assert {step.action.name for step, _ in successors} == {"candidate_begin_epoch", "controller_crash"}


@pytest.mark.kafka
@pytest.mark.parametrize("version", ["3.9", "4.3", "4.4"])
def test_kafkas_voters_do_what_the_models_do(version: str, tmp_path: Path) -> None:
    result = tmp_path / "result.json"
    ran = neverlost("conform", "--kafka-version", version, "--part", "quorum", "--short", "--json", str(result))
    assert ran.returncode == 0, ran.stderr
    (part,) = json.loads(result.read_text())["parts"]
    assert part["part"] == "quorum" and part["transitions"] > 9000 and not part["differences"]


def test_voters_are_those_of_the_last_set_in_a_log() -> None:
    bound = voters.system(voters.CHANGING)
    found = {voters.members_of(bound.nested(state), 0) for state, _ in voters.reachable(bound)}
    assert found == {(0, 1), (0,), (1,), (0, 1, 2)}


@pytest.mark.kafka
@pytest.mark.parametrize(
    "wrong",
    [
        "bounds.max_leader_epoch=1 mechanism.durable-votes=off faults.kill=1",
        f"{voters.CHANGING} mechanism.removed-leader-not-counted=off",
    ],
)
def test_a_model_without_a_rule_is_caught(wrong: str) -> None:
    """A process has one Java: it is asked in one of its own."""
    program = (
        "from neverlost.checker.kafka.conform.quorum import voters\n"
        "from neverlost.checker.kafka.conform.java import jvm, kafka\n"
        "judge = kafka.of_version('4.3')\n"
        "jvm.start(judge.jars, judge.java)\n"
        f"print(len(voters.compare('{wrong}').differences))\n"
    )
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=300)
    assert ran.returncode == 0 and int(ran.stdout) > 0, ran.stderr
