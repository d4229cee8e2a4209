"""One search for each directory: a lock that the operating system releases with its owner, however that ends."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TextIO

from neverlost.specs.errors import InputError

FILE, OWNER = "lock.json", "owner.json"
"""The lock of a state directory, and that of a temporary folder."""

_held: set[Path] = set()
"""The lock files that this process holds: the system's locks do not exclude their own owner."""


@contextmanager
def hold_lock(place: Path | str | None, name: str = FILE) -> Iterator[None]:
    """Hold the lock of a local directory, made if it is missing; do nothing for None, and for a place with "://" in it.

    Errors: `InputError` where another search holds it, with who and since when, and where no lock can be written.
    """
    if place is None or "://" in str(place):
        yield
        return
    folder = Path(place).absolute()
    if folder / name in _held:
        raise _describe_use(folder)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        file = _lock_file(folder, name)
    except OSError as problem:
        raise InputError(f"cannot use {str(place)!r} as a state directory: {problem.strerror or problem}") from None
    with file:
        try:
            yield
        finally:
            _held.discard(folder / name)
            (folder / name).unlink(missing_ok=True)


def _lock_file(folder: Path, name: str) -> TextIO:
    """Lock a file, write into it who holds it, and return it open.  Errors: `InputError` where another process holds it."""
    import fcntl

    with ExitStack() as unless_held:
        file = unless_held.enter_context(open(folder / name, "a+", encoding="utf-8"))
        try:
            fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            is_it = os.path.samestat(os.fstat(file.fileno()), os.stat(folder / name))
        except (BlockingIOError, PermissionError, FileNotFoundError):
            raise _describe_use(folder) from None
        if not is_it:
            raise _describe_use(folder)
        file.truncate(0)
        file.write(json.dumps({"process": os.getpid(), "host": os.uname().nodename, "since": time.strftime("%F %T")}))
        file.flush()
        _held.add(folder / name)
        unless_held.pop_all()
    return file


def was_held(folder: Path, name: str) -> bool:
    """Return True if a folder's lock file names a holder, who may have been killed since; who ends well removes the file."""
    try:
        return (folder / name).stat().st_size > 0
    except FileNotFoundError:
        return False


def is_free(folder: Path, name: str) -> bool:
    """Return True if no process holds a folder's lock; its file is made where it is missing.  False if it cannot be opened."""
    import fcntl

    if folder.absolute() / name in _held:
        return False
    try:
        with open(folder / name, "a+", encoding="utf-8") as file:
            fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return True
    except OSError:
        return False


def _describe_use(folder: Path) -> InputError:
    return InputError(f"state directory {str(folder)!r} is in use by {_describe_owner(folder)}; wait, or choose another")


def _describe_owner(folder: Path) -> str:
    try:
        about = json.loads((folder / FILE).read_text(encoding="utf-8"))
        return f"process {about['process']} on {about['host']} since {about['since']}"
    except (OSError, ValueError, KeyError, TypeError):
        return "another search"
