"""Machine code that is kept between searches, in files.

It is kept under the digest of its program, the compiler and the processor, and signed with a secret of the folder: a file
from elsewhere, or under another name, is ignored.  So is a file or a folder that is a link, or that others may have written,
and a file that is damaged; deleting any of them costs time only.
"""

from __future__ import annotations

import contextlib
import hashlib
import hmac
import os
import secrets
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

SECRET = "secret"
KEPT = 256
"""Files in the folder at most; the oldest go."""

PLAIN = os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK

_own: list[Path] = []
"""The folders of the open blocks of `compile_afresh`, the innermost last."""


@contextlib.contextmanager
def compile_afresh() -> Iterator[None]:
    """In this block keep compiled code in a new temporary folder, removed after it: what an earlier run left is not used."""
    from neverlost.checker.engine.host import scratch

    with scratch.hold_folder("machine-code") as place:
        _own.append(Path(place))
        try:
            yield
        finally:
            _own.pop()


def folder() -> Path:
    """Return the folder of the code cache: that of the innermost open `compile_afresh`, else one in the user's cache folder."""
    shared = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "neverlost" / "machine-code"
    return _own[-1] if _own else shared


@contextlib.contextmanager
def open_own_folder(place: Path) -> Iterator[int]:
    """Yield the descriptor of a folder; `OSError` if it is missing or a link, or if another user owns it or can write to it."""
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
        with (
            open_own_folder(path.parent) as place,
            os.fdopen(os.open(path.name, os.O_RDONLY | PLAIN, dir_fd=place), "rb") as stream,
        ):
            require_own(stream.fileno())
            signature, content = stream.read(64), stream.read()
            is_ours = hmac.compare_digest(signature, _sign(place, path.name, content))
    except OSError:
        return None
    return content if is_ours else None


def _sign(place: int, name: str, content: bytes) -> bytes:
    """Return a file's signature with the secret of the open folder, where one is made if missing.  Errors: `OSError` if that
    cannot be made or read, or if others may have written it."""
    if SECRET not in os.listdir(place):
        with _make_file(place) as (stream, temporary):
            stream.write(secrets.token_bytes(32))
        with contextlib.suppress(FileExistsError):
            os.link(temporary, SECRET, src_dir_fd=place, dst_dir_fd=place, follow_symlinks=False)
        os.unlink(temporary, dir_fd=place)
    with os.fdopen(os.open(SECRET, os.O_RDONLY | PLAIN, dir_fd=place), "rb") as stream:
        require_own(stream.fileno())
        return hmac.new(stream.read(), name.encode() + b"\0" + content, hashlib.sha256).hexdigest().encode()


@contextlib.contextmanager
def _make_file(place: int) -> Iterator[tuple[BinaryIO, str]]:
    """Yield a new file of an open folder, and its name, which nobody else uses; it is removed if the block raises `OSError`."""
    name = f".machine-code-{os.getpid()}-{threading.get_ident()}"
    handle = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL | PLAIN, 0o600, dir_fd=place)
    try:
        with os.fdopen(handle, "wb") as stream:
            yield stream, name
    except OSError:  # the disk is full
        os.unlink(name, dir_fd=place)
        raise


def write(path: Path, content: bytes) -> None:
    """Cache compiled code, or do nothing if the folder is not ours or the disk is full; remove the oldest beyond `KEPT`."""
    with contextlib.suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        with open_own_folder(path.parent) as place:
            signature = _sign(place, path.name, content)
            with _make_file(place) as (stream, temporary):
                stream.write(signature + content)
            os.replace(temporary, path.name, src_dir_fd=place, dst_dir_fd=place)
            ages = {
                each: os.stat(each, dir_fd=place, follow_symlinks=False).st_mtime
                for each in os.listdir(place)
                if each != SECRET
            }
            for old in sorted(ages, key=lambda each: ages[each])[:-KEPT]:
                os.unlink(old, dir_fd=place)
