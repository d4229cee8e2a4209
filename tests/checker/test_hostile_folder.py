"""Nothing is run that lies in the working directory: no child Python imports a module from there."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from tests.support.program import ROOT

THIRD_PARTIES = {"llvmlite", "neverlost", "numpy", "py4j", "pyarrow", "pyspark", "rich", "typer", "z3", "sitecustomize"}


@pytest.fixture
def hostile(tmp_path: Path) -> Path:
    """A folder with a module under each name that a Python may import; one that is imported leaves the file `ran`."""
    place = tmp_path / "hostile"
    place.mkdir()
    for name in sys.stdlib_module_names | THIRD_PARTIES:
        (place / f"{name}.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'a').write('{name} ')\n")
    return place


def run(place: Path, *command: str) -> subprocess.CompletedProcess[str]:
    """A command in the hostile folder, with a cache of its own: nothing that was compiled before is at hand."""
    environment = os.environ | {"XDG_CACHE_HOME": str(place.parent / "cache"), "PYTHONPATH": str(ROOT)}
    return subprocess.run(command, cwd=place, env=environment, capture_output=True, text=True, timeout=120, check=False)


def nothing_ran(place: Path) -> bool:
    return not (place.parent / "ran").exists()


def script(place: Path, text: str) -> tuple[str, ...]:
    """A user's script, in another folder."""
    (place.parent / "script.py").write_text(SYSTEM + textwrap.dedent(text))
    return sys.executable, str(place.parent / "script.py")


SYSTEM = """
from neverlost.checker.engine.engines import memory
from neverlost.checker.engine.engines.explore import explore
from neverlost.checker.engine.search.options import Options
from tests.support.searches import classic
system = classic("kip-101", 2, 2, 2, 2)
"""


def test_the_folder_is_hostile(hostile: Path) -> None:
    assert run(hostile, sys.executable, "-c", "import hashlib").returncode == 0 and not nothing_ran(hostile)


def test_the_compiler_imports_nothing_from_there(hostile: Path) -> None:
    text = """
    from neverlost.checker.engine.compiled import programs
    programs.WORTH_OPTIMISING = -1.0
    found = programs.Programs(system, ())
    assert not found.improve()
    print(found._compiler.wait(), found.improve())
    """
    done = run(hostile, *script(hostile, text))
    assert done.stdout.split() == ["0", "True"] and nothing_ran(hostile), done.stderr


@pytest.mark.slow
def test_spark_s_workers_import_nothing_from_there(hostile: Path) -> None:
    text = """
    conf = (("neverlost.driver.states", "0"), ("neverlost.task.least", "50"))
    found = explore(system, (), Options(spark_master="local[2]", spark_conf=conf), None, "spark")
    print(found.counts.distinct, found.cluster.jobs)
    """
    done = run(hostile, *script(hostile, text))
    states, jobs = map(int, done.stdout.split())
    assert states > 1000 and jobs and nothing_ran(hostile), done.stderr


def test_a_search_that_compiles_and_a_bundle_that_brings_modules(hostile: Path) -> None:
    """`neverlost` itself: a search of 120,879 states, and `verify .` in the folder that is to be verified."""
    program = str(Path(sys.executable).with_name("neverlost"))
    sizes = ["replication.factor=2", "bounds.records=3", "bounds.max_leader_epoch=3"]
    asked = [part for each in ("model=kip-320", *sizes) for part in ("--set", each)]
    done = run(hostile, program, "check", *asked, "--property", "weak-isr")
    assert done.returncode == 0 and "120,879 distinct states" in done.stdout and nothing_ran(hostile), done.stderr
    (hostile / "manifest.json").write_text('{"files": {}}')
    done = run(hostile, program, "verify", ".")
    assert done.returncode == 64 and "hashlib.py was added" in done.stderr and nothing_ran(hostile)
