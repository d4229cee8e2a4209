"""The program as a test runs it, and where the repository and the tests' data are."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from tests.support import copies

ROOT = Path(__file__).resolve().parents[2]
DATA = ROOT / "tests" / "data"


def neverlost(*arguments: str, cwd: Path = ROOT, timeout: float = 120) -> subprocess.CompletedProcess[str]:
    """A run of the program: exit status, stdout and stderr.  Units: seconds."""
    environment = os.environ | {"NO_COLOR": "1"}
    if sys.platform == "linux":
        return copies.run(arguments, cwd, environment, timeout)
    command = [sys.executable, "-m", "neverlost", *arguments]
    return subprocess.run(command, cwd=cwd, capture_output=True, text=True, env=environment, timeout=timeout, check=False)


INTERRUPTING = """
import os, signal, sys
from neverlost.reports import cli
from neverlost.reports.terminal.progress import PartsProgress

ending = signal.Signals[sys.argv.pop(1)]
PartsProgress.__call__ = lambda self, name: os.kill(os.getpid(), ending)
cli.main()
"""


def interrupted(ending: str, *arguments: str, timeout: float = 120) -> subprocess.CompletedProcess[str]:
    """A run of the program that gets a signal as soon as the first of its parts is done."""
    command = [sys.executable, "-c", INTERRUPTING, ending, *arguments]
    environment = os.environ | {"NO_COLOR": "1"}
    return subprocess.run(command, capture_output=True, text=True, env=environment, timeout=timeout, check=False)


def document(*arguments: str) -> dict[str, Any]:
    """The JSON document of a run."""
    found: dict[str, Any] = json.loads(neverlost(*arguments, "--json", "-").stdout)
    return found
