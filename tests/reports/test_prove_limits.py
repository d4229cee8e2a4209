"""What `prove` says when it is cut short: inconclusive, with what was covered, and nothing left running."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from neverlost.checker.engine.outcome import Verdict
from neverlost.checker.engine.proof.induction import ProofBudget, prove
from tests.checker.prove.test_bounded_search import is_alive
from tests.checker.prove.test_induction import STRONG, kip_320, lemmas

LARGE = ["model=kip-320", "replication.factor=3", "bounds.records=3", "bounds.max_leader_epoch=3"]
PROVE = ["prove", *[part for each in LARGE for part in ("--set", each)]]


def children_of(pid: int) -> list[int]:
    return [int(each) for each in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc to see the children")
@pytest.mark.parametrize("method", [["bmc", "--depth", "60"], ["induction"]], ids=lambda each: each[0])
def test_an_interrupt_says_what_was_covered_and_leaves_no_process(method: list[str], tmp_path: Path) -> None:
    asked = [*PROVE, "--property", "strong-isr", "--property", "weak-isr", "--method", *method, "--out", str(tmp_path)]
    with subprocess.Popen(
        [sys.executable, "-m", "neverlost", *asked],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as process:
        deadline = time.monotonic() + 120
        while len(children := children_of(process.pid)) < 2:
            assert process.poll() is None and time.monotonic() < deadline
        os.killpg(process.pid, signal.SIGINT)
        said, errors = process.communicate(timeout=60)
    assert process.returncode == 20, errors
    assert "interrupted" in said and "Traceback" not in said + errors
    assert [each for each in children if is_alive(each)] == []
    document = json.loads((tmp_path / "result.json").read_text())
    assert document["verdict"] == "inconclusive" and "interrupted" in document["reason"]
    assert [each["verdict"] for each in document["properties"]] == ["inconclusive"] * 2
    assert not (tmp_path / "obligations").exists()


@pytest.mark.parametrize("method", ["bmc", "induction"])
@pytest.mark.parametrize(
    ("limit", "reason"), [("--time-limit=0.001", "the time limit was reached"), ("--memory-limit=1M", "out of memory")]
)
def test_too_little_time_or_memory_is_inconclusive(method: str, limit: str, reason: str) -> None:
    command = [sys.executable, "-m", "neverlost", *PROVE, "--property", "strong-isr", "--method", method, limit]
    done = subprocess.run(command, capture_output=True, text=True, check=False)  # a copy of a process has its memory already
    assert done.returncode == 20, done.stderr
    assert "inconclusive" in done.stdout and reason in done.stdout


@pytest.mark.slow
def test_a_millisecond_for_each_obligation_proves_no_less_than_it_says() -> None:
    """If no solver answers an obligation in time, it is unknown; one unknown obligation makes the proof inconclusive."""
    found = prove(kip_320(3, 2, 3), STRONG, lemmas(), ProofBudget(patience=0.001), look_up=False)
    unknown = [each for each in found.open if each.answer == "unknown"]
    assert unknown and all(each.reason.startswith(("z3 said unknown: ", "z3 and cvc5 said unknown: ")) for each in unknown)
    assert found.verdict == Verdict.INCONCLUSIVE and not found.is_complete
