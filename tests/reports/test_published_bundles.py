"""The published bundles, one of each kind, verify on machines that did not write them, and with another Python."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

import neverlost
from tests.support.program import neverlost as program
from tests.support.wheel import unpacked
from tests.tools.publish.bundles import KINDS, MAKE, PLACE

OTHER = os.environ.get("NEVERLOST_OTHER_PYTHON")
"""Another version of Python that has the dependencies."""


@pytest.mark.parametrize("kind", KINDS)
def test_a_published_bundle_verifies(kind: str) -> None:
    try:
        found = neverlost.verify(PLACE / kind)
    except neverlost.InputError as problem:
        raise AssertionError(f"{problem}; make them again: {MAKE}") from None
    other = [each for each in found.unchecked if "not what this version renders" not in each]
    assert not other, f"make them again: {MAKE}"


def test_report_names_the_files_that_it_wrote_and_no_others(tmp_path: Path) -> None:
    for kind in ("check", "nines", "tolerance", "observation"):
        out = tmp_path / kind
        done = program("report", str(PLACE / kind), "--out", str(out))
        assert done.returncode == 0 and done.stdout.splitlines() == [f"wrote {each}" for each in _reports(out)] != []


def _reports(place: Path) -> list[Path]:
    return [place / name for name in ("report.md", "report.html") if (place / name).exists()]


@pytest.mark.skipif(OTHER is None, reason="NEVERLOST_OTHER_PYTHON names no other Python with the dependencies")
def test_another_python_verifies_them(tmp_path: Path) -> None:
    environment = os.environ | {"PYTHONPATH": str(unpacked(tmp_path))}
    for kind in KINDS:
        shutil.copytree(PLACE / kind, tmp_path / kind)
        command = [str(OTHER), "-P", "-m", "neverlost", "verify", kind, "--json", "-"]
        done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=300, check=False)
        assert done.returncode in (0, 20), done.stderr
        assert [each for each in json.loads(done.stdout)["unchecked"] if "renders" not in each and "cvc5" not in each] == []
