"""The project's wheel, built from a copy of its source, and laid out as an installation; `python -m tests.support.wheel` checks
the types of what would be installed."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

from tests.support.program import ROOT

ROOMS = ("model", "specs", "checker", "reports")


def wheel(folder: Path) -> Path:
    """The wheel, in the folder."""
    source = folder / "source"
    source.mkdir()
    for each in ROOMS:
        left_out = shutil.ignore_patterns("__pycache__", "published", "decisions")
        shutil.copytree(ROOT / each, source / each, ignore=left_out)
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


def typed(built: Path, folder: Path) -> subprocess.CompletedProcess[str]:
    """Strict static checks of the installed package; an editable install is a mapping that no checker sees through."""
    place = installed(built, folder / "checked")
    settings = ["--config-file", str(ROOT / "pyproject.toml"), "--python-executable", sys.executable]
    cache = ["--cache-dir", str(ROOT / ".mypy_cache")]
    command = [sys.executable, "-m", "mypy", *settings, *cache, "--package", "neverlost"]
    return subprocess.run(command, cwd=place, capture_output=True, text=True, check=False)


def main() -> None:
    """Build, check, and say what is wrong."""
    with tempfile.TemporaryDirectory(prefix="neverlost-types-") as folder:
        done = typed(wheel(Path(folder)), Path(folder))
    print(done.stdout, end="")
    print(done.stderr, end="", file=sys.stderr)
    sys.exit(done.returncode)


if __name__ == "__main__":
    main()
