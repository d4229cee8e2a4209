"""One search for each state directory: the second is refused by name, and a killed owner holds nothing."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from neverlost.checker.engine.engines.explore import explore
from neverlost.checker.engine.host import locks, scratch
from neverlost.checker.engine.search.options import Options, SearchProgress
from neverlost.specs.errors import InputError
from neverlost.specs.properties import guarantees
from tests.support.program import neverlost
from tests.support.searches import classic, essence

HOLD = """
import sys
from neverlost.checker.engine.host import locks
with locks.hold_lock(sys.argv[1]):
    print("held", flush=True)
    sys.stdin.read()
"""


def test_a_directory_is_held_by_one_process_and_by_none_after_it_was_killed(tmp_path: Path) -> None:
    command = [sys.executable, "-c", HOLD, str(tmp_path)]
    owner = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert owner.stdout is not None and owner.stdout.readline() == "held\n"
    with pytest.raises(InputError, match=rf"is in use by process {owner.pid} on .* since \d"), locks.hold_lock(tmp_path):
        pass
    done = neverlost("explore", "kip-320", "--set", "replication.factor=2", "--state-dir", str(tmp_path))
    assert done.returncode == 64 and f"in use by process {owner.pid}" in done.stderr
    os.kill(owner.pid, signal.SIGKILL)
    owner.communicate()
    with (
        locks.hold_lock(tmp_path),
        pytest.raises(InputError, match=f"in use by process {os.getpid()}"),
        locks.hold_lock(tmp_path),
    ):
        pass
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("more", [(), ("--resume",)], ids=["anew", "resumed"])
def test_a_second_search_is_refused_and_the_first_is_exact(tmp_path: Path, more: tuple[str, ...]) -> None:
    system, refused = classic("kip-320", 2, 2, 2, 1), []

    def meanwhile(progress: SearchProgress) -> None:
        if progress.level == 5 and not refused:
            asked = ("--set", "replication.factor=2", "--state-dir", str(tmp_path / "s"))
            refused.append(neverlost("explore", "kip-320", *asked, *more))

    found = explore(system, guarantees(system.model), Options(state_dir=tmp_path / "s"), meanwhile)
    assert refused[0].returncode == 64 and f"in use by process {os.getpid()}" in refused[0].stderr
    assert essence(found) == essence(explore(system, guarantees(system.model), Options(workers=1)))


def test_a_temporary_folder_is_left_over_once_its_owner_has_been(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Between its making and its lock a new one must not be cleared by another process."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    made_now, left_over = (tmp_path / f"{scratch.PREFIX}{name}" for name in ("new", "old"))
    for each, owner in ((made_now, ""), (left_over, '{"process": 1}')):
        each.mkdir()
        (each / locks.OWNER).write_text(owner)
    assert scratch.clear() == 1 and made_now.exists() and not left_over.exists()
