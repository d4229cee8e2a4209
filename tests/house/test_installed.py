"""The installed package: it owns one top-level name, lives beside packages that own the names of our rooms, and is typed."""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
import zipfile
from collections.abc import Mapping
from pathlib import Path

import numpy
import pytest

from tests.support.program import ROOT
from tests.support.wheel import wheel

SMALL = ("check", "--set", "model=kip-320", "--set", "replication.factor=1", "--property", "weak-isr", "--quiet")
OTHER = {"model/__init__.py": "OWNER = 'other'\n", "reports/__init__.py": "OWNER = 'other'\n"}


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return wheel(tmp_path_factory.mktemp("wheel"))


def made_wheel(folder: Path, name: str, files: Mapping[str, str]) -> Path:
    """A wheel of some files, as a build would make it."""
    about = f"{name}-1.0.dist-info"
    parts = dict(files) | {
        f"{about}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n",
        f"{about}/WHEEL": "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    parts[f"{about}/RECORD"] = "".join(f"{each},,\n" for each in [*parts, f"{about}/RECORD"])
    path = folder / f"{name}-1.0-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as archive:
        for place, text in parts.items():
            archive.writestr(place, text)
    return path


class Environment:
    """A virtual environment that sees the dependencies of this one, but nothing that is installed for development."""

    def __init__(self, folder: Path) -> None:
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder)], check=True)
        self.bin = folder / "bin"
        site = sysconfig.get_path("purelib", vars={"base": str(folder), "platbase": str(folder)})
        Path(site, "dependencies.pth").write_text(f"{Path(numpy.__file__).parents[1]}\n")

    def pip(self, *arguments: str) -> None:
        """Run pip on it, offline."""
        command = [sys.executable, "-m", "pip", "--python", str(self.bin / "python"), "-q", *arguments]
        subprocess.run(command, check=True, capture_output=True, text=True)

    def install(self, path: Path) -> None:
        self.pip("install", "--no-deps", "--no-index", str(path))

    def run(self, *command: str, cwd: Path | None = None, path: str = "") -> subprocess.CompletedProcess[str]:
        """A program of the environment, where nothing else is on the path of Python."""
        environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"} | {"NO_COLOR": "1"}
        environment |= {"PYTHONPATH": path} if path else {}
        program = [str(self.bin / command[0]), *command[1:]]
        return subprocess.run(program, cwd=cwd or self.bin, capture_output=True, text=True, env=environment, check=False)


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> Environment:
    return Environment(tmp_path_factory.mktemp("environment"))


def works(environment: Environment, cwd: Path | None = None, path: str = "") -> None:
    for program in (("neverlost",), ("python", "-m", "neverlost")):
        done = environment.run(*program, *SMALL, cwd=cwd, path=path)
        assert (done.returncode, done.stdout) == (0, "HOLDS        weak-isr\n"), done.stderr


def other_works(environment: Environment) -> None:
    done = environment.run("python", "-c", "import model, reports; print(model.OWNER, reports.OWNER)")
    assert done.stdout == "other other\n", done.stderr


def test_it_owns_one_top_level_name(built: Path) -> None:
    with zipfile.ZipFile(built) as archive:
        names = {each.partition("/")[0] for each in archive.namelist()}
    assert {each for each in names if not each.endswith(".dist-info")} == {"neverlost"}


@pytest.mark.slow
def test_beside_a_distribution_with_the_names_of_our_rooms(built: Path, environment: Environment, tmp_path: Path) -> None:
    other = made_wheel(tmp_path, "other", OTHER)
    for first, second in ((other, built), (built, other)):
        environment.install(first)
        environment.install(second)
        works(environment)
        other_works(environment)
        environment.pip("uninstall", "-y", "neverlost")
        other_works(environment)
        left = {each.name.partition(".")[0] for each in environment.bin.parent.rglob("neverlost/**/*") if each.is_file()}
        assert left <= {"kept_digests"}, "beside bytecode, and as bytecode of another level pip leaves it"
        assert environment.run("python", "-c", "import neverlost.model").returncode == 1
        environment.install(built)
        environment.pip("uninstall", "-y", "other")
        works(environment)
        environment.pip("uninstall", "-y", "neverlost")


def test_in_a_directory_with_the_names_of_our_rooms(built: Path, environment: Environment, tmp_path: Path) -> None:
    environment.install(built)
    for name in ("model/__init__.py", "specs/__init__.py", "reports.py", "checker.py"):
        place = tmp_path / name
        place.parent.mkdir(exist_ok=True)
        place.write_text("OWNER = 'mine'\n")
    works(environment, cwd=tmp_path)
    works(environment, cwd=tmp_path, path=".")
    code = "import neverlost, neverlost.model, reports, model, specs; print(reports.OWNER, model.OWNER, specs.OWNER)"
    assert environment.run("python", "-c", code, cwd=tmp_path).stdout == "mine mine mine\n"
    environment.pip("uninstall", "-y", "neverlost")


def test_strict_types_hold_in_the_tree() -> None:
    done = subprocess.run([sys.executable, "-m", "mypy"], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


def test_the_wheel_has_every_module_of_the_tree_and_nothing_else(built: Path) -> None:
    rooms = [path for room in ("model", "specs", "checker", "reports") for path in (ROOT / room).rglob("*.py")]
    own = (ROOT / ".package" / "neverlost").glob("*.py")
    with zipfile.ZipFile(built) as archive:
        there = {each for each in archive.namelist() if each.endswith(".py")}
    assert there == {f"neverlost/{each.relative_to(ROOT)}" for each in rooms} | {f"neverlost/{each.name}" for each in own}
