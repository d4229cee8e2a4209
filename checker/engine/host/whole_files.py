"""Writing results: whole files under their final name, or nothing."""

from __future__ import annotations

import json
import os
import re
import tempfile
from collections.abc import Mapping
from os import PathLike
from pathlib import Path
from typing import Any

from neverlost.checker.engine.host.visible import visible
from neverlost.specs.errors import InputError

UNFINISHED = re.compile(r"\..+\.(json|md|html|svg|xml|sarif|toml|txt|csv|log|sh|xz|smt2|parquet|\d\d)\.[a-z0-9_]{8}")
"""The names of temporary files that `write_bytes` leaves behind where it is killed."""


def write_text(path: PathLike[str] | str, text: str) -> Path:
    """Write a text in UTF-8, as `write_bytes` does; characters that are obeyed instead of shown are escaped."""
    return write_bytes(path, visible(text).encode())


def write_bytes(path: PathLike[str] | str, content: bytes) -> Path:
    """Write a file under a temporary name in its folder, which is made if missing; rename it, over an old one; return its path.

    A pipe, or what is in /dev or /proc, is written to directly.  Errors: `InputError` where the place cannot be written.
    """
    path = Path(path)
    temporary: str | None = None
    try:
        if path.is_dir():
            raise InputError(f"{str(path)!r} is a directory; name a file")
        # a rename would put a file in the place of something else; /dev/stdout may well lead to a file
        if path.exists() and (not path.is_file() or path.absolute().parts[1] in ("dev", "proc")):
            path.write_bytes(content)
            return path
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, temporary = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
        with os.fdopen(handle, "wb") as stream:
            stream.write(content)
            stream.flush()
            os.fsync(stream.fileno())
        os.chmod(temporary, 0o644)
        os.replace(temporary, path)
        temporary = None
    except OSError as problem:
        raise InputError(f"cannot write {str(path)!r}: {problem.strerror or problem}") from None
    finally:
        if temporary is not None and os.path.exists(temporary):
            os.unlink(temporary)
    return path


def clear_unfinished(folder: Path) -> None:
    """Remove what is left, in a folder and below, of files whose writer was killed."""
    for path in folder.rglob(".*.*"):
        if UNFINISHED.fullmatch(path.name) and path.is_file() and not path.is_symlink():
            path.unlink(missing_ok=True)


def as_json(document: Mapping[str, Any]) -> str:
    """Return a document as JSON text, indented by 1; characters that a terminal obeys instead of showing are escaped."""
    return visible(json.dumps(document, indent=1, ensure_ascii=False)) + "\n"


def writable_directory(path: PathLike[str] | str) -> Path:
    """Return a directory for results, which is there or which the first file will make: a run that fails before leaves nothing.

    Errors: `InputError` where there is a file, or no permission.
    """
    path = Path(path)
    try:
        there = next(each for each in (path, *path.absolute().parents) if each.exists())
        if not there.is_dir():
            raise InputError(f"cannot make directory {str(path)!r}: {str(there)!r} is a file")
    except (OSError, ValueError) as problem:
        raise InputError(f"cannot make directory {str(path)!r}: {getattr(problem, 'strerror', None) or problem}") from None
    if not os.access(there, os.W_OK | os.X_OK):
        raise InputError(f"cannot write into {str(there)!r}: permission denied")
    return path
