"""Whole files by name in a folder: on a local disk, or on anything that Arrow's file systems reach.

A file appears under its name complete or not at all, and is never changed afterwards.
"""

from __future__ import annotations

import os
import uuid
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Protocol

from neverlost.checker.engine.host.resources import USED_UP, ResourceExhausted
from neverlost.specs.errors import InputError

_SMALL = 1 << 20
"""Bytes up to which a remote file is held in memory; larger ones are copied to the local disk."""

Bytes = Any
"""Anything with the buffer protocol."""


class Storage(Protocol):
    """A folder of immutable files; names may contain one level of folders, with `/`."""

    location: str

    def read(self, name: str) -> Bytes | None: ...
    def create(self, name: str, parts: Sequence[Bytes]) -> bool: ...
    def names(self) -> list[str]: ...
    def remove(self, names: Iterable[str]) -> None: ...


def open_storage(location: str | Path) -> Storage:
    """Return the storage of a local path or of a URI such as `hdfs://…` or `s3a://…`.

    Errors: `InputError` when the scheme is unknown or the URI cannot be used.
    """
    text = str(location).removeprefix("file://")
    return _open_remote(text) if "://" in text else LocalStorage(text)


class LocalStorage:
    """Files on a local disk; reading maps them into memory instead of copying."""

    def __init__(self, location: str | Path) -> None:
        self.location = os.path.abspath(location)

    def _path(self, name: str) -> Path:
        return Path(self.location, name)

    def read(self, name: str) -> Bytes | None:
        """Return the content, or None when there is no such file.  Errors: `InputError` where it cannot be read."""
        import mmap

        try:
            with open(self._path(name), "rb") as file:
                size = os.fstat(file.fileno()).st_size
                return mmap.mmap(file.fileno(), size, access=mmap.ACCESS_READ) if size else b""
        except FileNotFoundError:
            return None
        except OSError as problem:
            raise InputError(f"cannot read {self._path(name)}: {problem.strerror}; check the state directory") from None

    def create(self, name: str, parts: Sequence[Bytes]) -> bool:
        """Write a new file durably; return False if the name is taken.  Errors: `InputError`; `ResourceExhausted` if full."""
        path = self._path(name)
        temporary = path.with_name(f".{path.name}.{uuid.uuid4().hex}")
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            with open(temporary, "wb") as file:
                for part in parts:
                    file.write(part)
                file.flush()
                os.fsync(file.fileno())
            try:
                os.link(temporary, path)  # unlike a rename, refuses to replace
            except FileExistsError:
                return False
            _sync_folder(path.parent)
            return True
        except OSError as problem:
            if problem.errno in USED_UP:
                says = f"{USED_UP[problem.errno]}; free some, and go on with --resume"
                raise ResourceExhausted(f"cannot write {path}: {says}") from None
            raise InputError(f"cannot write {path}: {problem.strerror}; choose another state directory") from None
        finally:
            with suppress(OSError):
                temporary.unlink()

    def names(self) -> list[str]:
        """Return the name of every file, here and in folders below, relative to this folder, sorted."""
        root = Path(self.location)
        return sorted(Path(folder, each).relative_to(root).as_posix() for folder, _, files in os.walk(root) for each in files)

    def remove(self, names: Iterable[str]) -> None:
        """Delete files; those that are gone already do not matter."""
        for name in names:
            self._path(name).unlink(missing_ok=True)


def _sync_folder(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


class ArrowStorage:
    """Files behind one of Arrow's file systems (HDFS, S3, GCS, or one written in Python).

    A process that uses a large file copies it once to its local disk, so that visited states never have to fit into memory.
    """

    def __init__(self, filesystem: Any, path: str, location: str) -> None:
        self._filesystem, self._root, self.location = filesystem, path.rstrip("/"), location

    def _path(self, name: str) -> str:
        return f"{self._root}/{name}"

    def read(self, name: str) -> Bytes | None:
        """Return the content, or None when there is no such file.  Errors: `InputError` where it cannot be read."""
        try:
            with self._filesystem.open_input_file(self._path(name)) as file:
                size = file.size()
                return file.read_buffer(size) if size <= _SMALL else _copy_to_disk(file, size)
        except FileNotFoundError:
            return None
        except OSError as problem:
            raise InputError(f"cannot read {self.location}/{name}: {problem}; check the state directory") from None

    def create(self, name: str, parts: Sequence[Bytes]) -> bool:
        """Write a new file; return False, and write nothing, when the name is taken.

        An object store shows an object only after its single upload; elsewhere a rename shows it.  Errors: `InputError`.
        """
        path = self._path(name)
        try:
            if self._filesystem.get_file_info(path).is_file:
                return False
            self._filesystem.create_dir(path.rsplit("/", 1)[0], recursive=True)
            is_object_store = self._filesystem.type_name in ("s3", "gcs", "abfs")
            target = path if is_object_store else f"{path}.{uuid.uuid4().hex}.writing"
            with self._filesystem.open_output_stream(target) as stream:
                for part in parts:
                    stream.write(part)
            if target != path:
                self._filesystem.move(target, path)
            return True
        except OSError as problem:
            raise InputError(f"cannot write {self.location}/{name}: {problem}; choose another state directory") from None

    def names(self) -> list[str]:
        """Return the name of every file, here and in folders below, relative to this folder, sorted.  Errors: `InputError`."""
        from pyarrow.fs import FileSelector

        try:
            found = self._filesystem.get_file_info(FileSelector(self._root, allow_not_found=True, recursive=True))
        except OSError as problem:
            raise InputError(f"cannot list {self.location}: {problem}; check the state directory") from None
        return sorted(each.path.removeprefix(self._root + "/") for each in found if each.is_file)

    def remove(self, names: Iterable[str]) -> None:
        """Delete files; those that are gone already do not matter.  Errors: `InputError`."""
        for name in names:
            try:
                if self._filesystem.get_file_info(self._path(name)).is_file:
                    self._filesystem.delete_file(self._path(name))
            except OSError as problem:
                raise InputError(f"cannot remove {self.location}/{name}: {problem}; check the state directory") from None


def _copy_to_disk(file: Any, size: int) -> Bytes:
    """Return a local copy, mapped into memory; it goes away with the last use."""
    import mmap
    import tempfile

    with tempfile.TemporaryFile(prefix="neverlost-") as copy:
        while part := file.read(_SMALL):
            copy.write(part)
        copy.flush()
        return mmap.mmap(copy.fileno(), size, access=mmap.ACCESS_READ)


def _open_remote(uri: str) -> ArrowStorage:
    from pyarrow import ArrowException
    from pyarrow.fs import FileSystem

    try:
        filesystem, path = FileSystem.from_uri(uri.replace("s3a://", "s3://", 1))
    except (ArrowException, OSError, ValueError) as problem:
        reason = str(problem).splitlines()[0]
        raise InputError(f"cannot use {uri!r} as a state directory: {reason}; use a path, hdfs://… or s3a://…") from None
    return ArrowStorage(filesystem, path, uri)
