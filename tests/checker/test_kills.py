"""Work of each kind that needs no Java is killed, and gone on with; 200 kills: `python -m tests.support.kills --count 200`."""

from __future__ import annotations

import subprocess
import sys

from tests.support.program import ROOT

KINDS = ("stored", "sweep", "observe")


def test_work_that_is_killed_goes_on_to_the_same_answer() -> None:
    command = [
        sys.executable,
        "-m",
        "tests.support.kills",
        "--count",
        str(len(KINDS)),
        "--seed",
        "3",
        "--only",
        ",".join(KINDS),
    ]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count("the same answer") == len(KINDS)
