"""Temporary folders that do not outlive their owner: what a killed process left is cleared by the next that needs one."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from neverlost.checker.machine import locks
from neverlost.specs.errors import InputError

PREFIX = "neverlost-scratch-"


@contextmanager
def folder(what: str) -> Iterator[str]:
    """A folder of this process, held for as long as it is there.

    Errors: `InputError` where none can be made.
    """
    clear()
    try:
        place = tempfile.mkdtemp(prefix=f"{PREFIX}{what}-")
    except OSError as problem:
        raise InputError(f"cannot make a temporary folder: {problem.strerror or problem}; set TMPDIR") from None
    try:
        with locks.held(place, locks.OWNER):
            yield place
    finally:
        shutil.rmtree(place, ignore_errors=True)


def clear() -> int:
    """Remove the folders that no process holds any longer; how many there were."""
    found = 0
    for each in Path(tempfile.gettempdir()).glob(f"{PREFIX}*"):
        try:
            is_left = each.stat().st_uid == os.getuid() and (each / locks.OWNER).exists()
        except OSError:
            continue
        if is_left and locks.is_free(each, locks.OWNER):
            shutil.rmtree(each, ignore_errors=True)
            found += 1
    return found
