"""Temporary folders that do not outlive their owner: what a killed process left is cleared by the next that needs one."""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
import time
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

from neverlost.checker.engine.host import locks
from neverlost.specs.errors import InputError

PREFIX = "neverlost-scratch-"
MEMORY = "/dev/shm"
"""A folder in memory, where there is one."""

TRIES = 5
"""How many folders are tried, at most, until one can be locked."""

UNOWNED = 3600.0
"""Seconds after which a folder is left over whose owner was killed before it could lock it."""


@contextmanager
def hold_folder(what: str, in_memory: bool = False) -> Iterator[str]:
    """Yield a new temporary folder, locked until it is removed after the block; `in_memory` where that can be.

    Errors: `InputError` where none can be made.
    """
    clear_once()
    base = MEMORY if in_memory and os.access(MEMORY, os.W_OK) else None
    with contextlib.ExitStack() as stack:
        for _ in range(TRIES - 1):
            with contextlib.suppress(InputError):  # another process took the last one for left over before it was locked
                place = _make_folder(f"{PREFIX}{what}-", base, stack)
                break
        else:
            place = _make_folder(f"{PREFIX}{what}-", base, stack)
        yield place


def _make_folder(prefix: str, base: str | None, stack: contextlib.ExitStack) -> str:
    """Return a new folder that is held until the stack is left.  Errors: `InputError` where none can be made, or locked."""
    try:
        place = tempfile.mkdtemp(prefix=prefix, dir=base)
    except OSError as problem:
        raise InputError(f"cannot make a temporary folder: {problem.strerror or problem}; set TMPDIR") from None
    stack.callback(shutil.rmtree, place, ignore_errors=True)
    stack.enter_context(locks.hold_lock(place, locks.OWNER))
    return place


@cache
def clear_once() -> None:
    """Remove what is left over, as `clear` does, when the process first asks; nothing later."""
    clear()


class Folder:
    """A temporary folder that is held for as long as this object is there, or until `cleanup`."""

    def __init__(self, what: str) -> None:
        """Make the folder, with `what` in its name.  Errors: `InputError` where none can be made."""
        stack = contextlib.ExitStack()
        self.name = stack.enter_context(hold_folder(what))
        self._finalizer = weakref.finalize(self, stack.close)

    def __enter__(self) -> str:
        return self.name

    def __exit__(self, *_: object) -> None:
        self.cleanup()

    def cleanup(self) -> None:
        """Remove the folder, unless that is done already."""
        self._finalizer()


def clear() -> int:
    """Remove this user's temporary folders of ours that are left over and that no process holds; return how many it removed."""
    found = 0
    for each in (path for base in {tempfile.gettempdir(), MEMORY} for path in Path(base).glob(f"{PREFIX}*")):
        try:
            about = each.stat()
            is_left = locks.was_held(each, locks.OWNER) or time.time() - about.st_mtime > UNOWNED
        except OSError:
            continue
        if is_left and about.st_uid == os.getuid() and locks.is_free(each, locks.OWNER):
            shutil.rmtree(each, ignore_errors=True)
            found += 1
    return found
