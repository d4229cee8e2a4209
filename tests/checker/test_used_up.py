"""Little shared memory, disk or memory: a search ends with the exact count or with 20 or 64, and nothing is half-written.

The limits that an issue of a cluster's size meets, 64 MB, 20 MB and 1 GB, are the slow rows: `pytest -m slow` with this file.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.support import apart, kills
from tests.support.program import ROOT

EARLY = """
from neverlost.checker.engine.engines import memory
memory.WORTH_COMPILING = {compiling}
from neverlost.reports.cli import main
main()
"""
"""The program, which goes over to compiled code while the search is small."""

NEVER = 1 << 40


@dataclass(frozen=True)
class Space:
    """A space and its size: of the first, TLC's."""

    records: int
    epochs: int
    distinct: int
    depth: int

    @property
    def arguments(self) -> list[str]:
        settings = (f"bounds.records={self.records}", f"bounds.max_leader_epoch={self.epochs}")
        return ["explore", "kip-320", *(word for each in settings for word in ("--set", each)), "--json", "-"]

    def judge(self, done: subprocess.CompletedProcess[str], ends: Sequence[int] = (0, 20, 64)) -> None:
        """The exact count, or none and why."""
        assert done.returncode in ends and "Traceback" not in done.stderr, f"{done.returncode}: {done.stderr}"
        if done.returncode == 64:
            assert done.stdout == "" and done.stderr.count("\n") == 1
        elif done.returncode == 0:
            states: dict[str, Any] = json.loads(done.stdout)["states"]
            assert (states["distinct"], states["depth"], states["left"]) == (self.distinct, self.depth, 0)
        elif done.stdout:
            assert json.loads(done.stdout)["reason"]
        else:
            assert "nothing is claimed" in done.stderr


SMALL = Space(2, 1, 39_619, 22)
MILLIONS = Space(3, 2, 4_093_531, 31)


def run(command: Sequence[str], **more: str) -> subprocess.CompletedProcess[str]:
    environment = os.environ | {"NO_COLOR": "1", **more}
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, env=environment, timeout=380, check=False)


def program(space: Space, *more: str, compiling: int = NEVER) -> list[str]:
    return [sys.executable, "-c", EARLY.format(compiling=compiling), *space.arguments, *more]


needs_mounts = pytest.mark.skipif(not apart.means(), reason="no process can have mounts of its own on this machine")


@needs_mounts
@pytest.mark.parametrize(
    ("size", "space", "ends"),
    [("200k", SMALL, (0, 20)), ("8m", SMALL, (0,)), pytest.param("64m", MILLIONS, (0,), marks=pytest.mark.slow)],
)
def test_little_shared_memory(size: str, space: Space, ends: Sequence[int]) -> None:
    space.judge(run(apart.with_folders(program(space, "--workers", "3"), {"/dev/shm": size})), ends)


@needs_mounts
@pytest.mark.parametrize(("size", "space"), [("250k", SMALL), pytest.param("20m", MILLIONS, marks=pytest.mark.slow)])
def test_a_full_disk_ends_undecided_and_the_search_goes_on_elsewhere(size: str, space: Space, tmp_path: Path) -> None:
    small, larger = tmp_path / "small", tmp_path / "larger"
    small.mkdir()
    keeping = program(space, "--state-dir", str(small / "states"), "--out", str(small / "out"), "--workers", "1")
    copied = ["sh", "-c", f'"$@"; ended=$?; cp -r {small} {larger}; exit $ended', "sh", *keeping]
    done = run(apart.with_folders(copied, {small: size}), TMPDIR=str(small))
    space.judge(done, (20,))
    assert "no space is left on the device" in json.loads(done.stdout)["reason"]
    assert kills.broken(larger) == []
    space.judge(run(program(space, "--state-dir", str(larger / "states"), "--resume", "--workers", "1")), (0,))


GROUPS = Path("/sys/fs/cgroup/memory")


@pytest.mark.parametrize(
    ("megabytes", "ends"), [(120, (20,)), pytest.param(1_000, (0,), marks=pytest.mark.slow)], ids=["little", "1 GB"]
)
@pytest.mark.parametrize("compiling", [NEVER, 2_000], ids=["columns", "machine code"])
def test_little_memory(megabytes: int, ends: Sequence[int], compiling: int) -> None:
    """In a group of the system's own where one can be made, else by the shell's limit of addresses."""
    own = GROUPS / f"neverlost-{os.getpid()}"
    limit = f"ulimit -v {(megabytes + 1_000) * 1_000}"
    if is_grouped := os.access(GROUPS, os.W_OK) and (GROUPS / "cgroup.procs").exists():
        own.mkdir()
        (own / "memory.limit_in_bytes").write_text(f"{megabytes}M")
        limit = f"echo $$ > {own}/cgroup.procs"
    try:
        command = program(MILLIONS, "--workers", "2", compiling=compiling)
        MILLIONS.judge(run(["sh", "-c", f'{limit} && exec "$@"', "sh", *command]), ends)
    finally:
        if is_grouped:
            _removed(own)


def _removed(group: Path, seconds: float = 60) -> None:
    """The last process of a group may still be ending."""
    deadline = time.monotonic() + seconds
    while (group / "cgroup.procs").read_text() and time.monotonic() < deadline:
        time.sleep(0.05)
    group.rmdir()
