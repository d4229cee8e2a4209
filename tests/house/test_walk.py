"""A reader of one call of `check` opens at most twenty files, and never goes up: CONTRIBUTING has the list."""

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
MOST = 20


def test_check_is_read_in_few_files_without_a_climb() -> None:
    command = [sys.executable, "-m", "tests.tools.walk_check"]
    environment = os.environ | {"PYTHONPATH": f"{ROOT / '.package'}{os.pathsep}{ROOT}"}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=True)
    *stays, numbers = done.stdout.splitlines()
    assert numbers.startswith(f"{len(stays)} stays, 0 climbs")
    assert len(stays) <= MOST
    listed = (ROOT / "CONTRIBUTING.md").read_text().partition("walk_check`:\n\n```\n")[2].partition("\n```")[0]
    assert stays == listed.splitlines()
