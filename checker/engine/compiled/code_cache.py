"""Machine code that is kept between searches, in files.

It is kept under the digest of its program, the compiler and the processor.  A file or a folder that is a link, or that others
may have written, is ignored, as is a file that is damaged; deleting any of them costs time only.
"""

from __future__ import annotations

import contextlib
import ctypes
import hashlib
import os
import sys
import threading
from collections.abc import Iterator, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # a compiler begins sooner without
    from neverlost.model.system import System
    from neverlost.specs.property import Property

KEPT = 256
"""Files in the folder at most; the oldest go."""

PLAIN = os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK

_own: list[Path] = []
"""The folder of those who want no code that an earlier run left."""


@contextlib.contextmanager
def compiling_afresh() -> Iterator[None]:
    """In this block, compile everything here and use no compiled code that an earlier run left."""
    from neverlost.checker.engine.host import scratch

    with scratch.folder("machine-code") as place:
        _own.append(Path(place))
        try:
            yield
        finally:
            _own.pop()


def folder() -> Path:
    """Return the folder of the code cache: `neverlost` in the user's cache folder."""
    shared = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "neverlost" / "machine-code"
    return _own[-1] if _own else shared


@contextlib.contextmanager
def opened(place: Path) -> Iterator[int]:
    """Open a folder that no other user can write to. Errors: `OSError` for any other folder, and for a link."""
    handle = os.open(place, os.O_RDONLY | os.O_DIRECTORY | PLAIN)
    try:
        require_own(handle)
        yield handle
    finally:
        os.close(handle)


def require_own(handle: int) -> None:
    """Raise `OSError` if another user owns the open file, or can write to it."""
    status = os.fstat(handle)
    if status.st_uid != os.getuid() or status.st_mode & 0o022:
        raise PermissionError("others may have written it")


def read(path: Path) -> bytes | None:
    """Return cached compiled code; None if there is none that can be trusted."""
    try:
        with opened(path.parent) as place, os.fdopen(os.open(path.name, os.O_RDONLY | PLAIN, dir_fd=place), "rb") as stream:
            require_own(stream.fileno())
            digest, content = stream.read(64), stream.read()
    except OSError:
        return None
    return content if hashlib.sha256(content).hexdigest().encode() == digest else None


def write(path: Path, content: bytes) -> None:
    """Cache compiled code, whole or not at all; a folder that cannot be written, or that others can write, is no error."""
    with contextlib.suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        with opened(path.parent) as place:
            temporary = f".machine-code-{os.getpid()}-{threading.get_ident()}"
            handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | PLAIN, 0o600, dir_fd=place)
            with os.fdopen(handle, "wb") as stream:
                stream.write(hashlib.sha256(content).hexdigest().encode() + content)
            os.replace(temporary, path.name, src_dir_fd=place, dst_dir_fd=place)
            ages = {each: os.stat(each, dir_fd=place, follow_symlinks=False).st_mtime for each in os.listdir(place)}
            for old in sorted(ages, key=lambda each: ages[each])[:-KEPT]:
                os.unlink(old, dir_fd=place)


def cache_marker_of(system: System, properties: Sequence[Property], symmetry: bool) -> Path:
    """The file that says that a search of this name and these values left machine code.

    Then the text of the program, which takes its time, is worth writing early; that text decides what code is used, whatever
    this file says.
    """
    said = [
        system.model.name,
        *map(repr, system.configurations),
        repr(sorted(system.disabled)),
        *[each.name for each in properties],
    ]
    return folder() / hashlib.sha256("\0".join([*said, repr(symmetry)]).encode()).hexdigest()


def prepare() -> None:
    """Load the compiler's library in another thread; an import would stop every thread meanwhile."""
    found = find_spec("llvmlite") if sys.platform == "linux" else None
    if found is not None and found.origin is not None:
        library = Path(found.origin).with_name("binding") / "libllvmlite.so"
        threading.Thread(target=ctypes.CDLL(None).dlopen, args=(os.fsencode(library), os.RTLD_NOW), daemon=True).start()
