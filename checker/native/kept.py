"""Machine code that is kept between searches, in files.

It is kept under the digest of its program, the compiler and the processor.  A file that is damaged, or that others may have
written, is ignored; deleting any of them costs time only.
"""

from __future__ import annotations

import contextlib
import ctypes
import hashlib
import os
import sys
import tempfile
import threading
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # a compiler begins sooner without
    from neverlost.model.system import System
    from neverlost.specs.property import Property

KEPT = 256
"""Files in the folder at most; the oldest go."""


def folder() -> Path:
    """Where machine code is kept: `neverlost` in the user's cache folder."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "neverlost" / "machine-code"


def read(path: Path) -> bytes | None:
    """Machine code that was kept; None where there is none, or none that can be trusted."""
    try:
        with path.open("rb") as stream:
            status = os.fstat(stream.fileno())
            if hasattr(os, "getuid") and (status.st_uid != os.getuid() or status.st_mode & 0o022):
                return None
            digest, content = stream.read(64), stream.read()
    except OSError:
        return None
    return content if hashlib.sha256(content).hexdigest().encode() == digest else None


def write(path: Path, content: bytes) -> None:
    """Keep machine code, whole or not at all; a folder that cannot be written to is no failure."""
    with contextlib.suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        handle, temporary = tempfile.mkstemp(prefix=".machine-code-", dir=path.parent)
        with os.fdopen(handle, "wb") as stream:
            stream.write(hashlib.sha256(content).hexdigest().encode() + content)
        os.replace(temporary, path)
        for old in sorted(path.parent.glob("*"), key=lambda each: each.stat().st_mtime)[:-KEPT]:
            old.unlink(missing_ok=True)


def sign_of(system: System, properties: Sequence[Property], symmetry: bool) -> Path:
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
    """Have another thread bring the compiler's library into memory; an import of it would keep every thread waiting."""
    found = find_spec("llvmlite") if sys.platform == "linux" else None
    if found is not None and found.origin is not None:
        library = Path(found.origin).with_name("binding") / "libllvmlite.so"
        threading.Thread(target=ctypes.CDLL(None).dlopen, args=(os.fsencode(library), os.RTLD_NOW), daemon=True).start()
