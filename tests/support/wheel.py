"""The project's wheel, built from a copy of its source, and laid out as an installation."""

from __future__ import annotations

import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

from tests.support.program import ROOT

ROOMS = ("model", "specs", "checker", "reports")


def wheel(folder: Path) -> Path:
    """The wheel, in the folder."""
    source = folder / "source"
    source.mkdir()
    for each in (*ROOMS, ".package"):
        left_out = shutil.ignore_patterns("__pycache__", "published", "decisions", "*.egg-info")
        shutil.copytree(ROOT / each, source / each, symlinks=True, ignore=left_out)
    for each in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / each, source)
    command = [sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "-w", str(folder), str(source)]
    subprocess.run(command, check=True, capture_output=True, text=True)
    (built,) = folder.glob("neverlost-*.whl")
    return built


def unpacked(folder: Path) -> Path:
    """A folder that has the installed package, to be put on a path."""
    return installed(wheel(folder), folder / "installed")


def installed(built: Path, target: Path) -> Path:
    """A wheel's files, where they may be imported from."""
    with zipfile.ZipFile(built) as archive:
        archive.extractall(target)
    return target
