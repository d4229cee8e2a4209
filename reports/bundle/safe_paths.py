"""Reads the files of a bundle so that nothing in it leads outside: plain files under plain names, and only those that are
listed."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterator
from pathlib import Path

from neverlost.specs.configuration.input import Contents
from neverlost.specs.errors import InputError
from neverlost.specs.strict_json import parse_json

MANIFEST = "manifest.json"
DEEPEST, MOST_FILES, MOST_BYTES = 4, 50_000, 1 << 30

TOO_LARGE = f"its files are larger than {MOST_BYTES >> 30} GiB"

NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._+-]{0,120}")
"""What a file or folder of a bundle may be called."""


def read_files(folder: Path) -> Contents:
    """Return the content of every file of a bundle by name, as `traces/x`.  Errors: `InputError` if the folder cannot be read,
    or has an empty folder, what is no plain file, unsafe names, two that differ in case only, or too much."""
    entries = dict(_entries(folder, ""))
    if sum(each.st_size for each in entries.values()) > MOST_BYTES:
        raise _refused(folder, TOO_LARGE)
    names = list(entries)
    alike = {name.casefold() for name in names}
    if len(alike) < len(names):
        twice = next(name for name in names if sum(name.casefold() == other.casefold() for other in names) > 1)
        raise _refused(folder, f"{twice!r} is there in two spellings, which some file systems take for one")
    left, found = MOST_BYTES, {}
    for name in sorted(names):
        found[name] = _content(folder, name, left)
        left -= len(found[name])
    return found


def read_manifest(folder: Path, files: Contents) -> dict[str, str]:
    """Return the digests that a bundle's manifest lists, by file name; `InputError` without a manifest, or for a bad one."""
    if MANIFEST not in files:
        raise InputError(f"{str(folder)!r} has no {MANIFEST}; name the --out directory of a command")
    found = parse_json(files[MANIFEST].decode("utf-8", "replace"), f"{str(folder)!r}: {MANIFEST}")
    if not isinstance(found, dict):
        raise InputError(f"{str(folder / MANIFEST)!r} is not a document of ours: it is no JSON object")
    names = found.get("files")
    if not isinstance(names, dict) or not all(isinstance(each, str) for each in names.values()):
        raise InputError(f"{str(folder / MANIFEST)!r} is not the manifest of a bundle")
    outside = next((name for name in names if not _is_plain(name)), None)
    if outside is not None:
        raise _refused(folder, f"{MANIFEST} lists {outside!r}, which is no name of a file inside a bundle")
    return names


def _is_plain(name: str) -> bool:
    parts = name.split("/")
    return len(parts) <= DEEPEST and all(NAME.fullmatch(each) and not each.endswith(".") for each in parts)


def _entries(folder: Path, prefix: str) -> Iterator[tuple[str, os.stat_result]]:
    """Yield name and status of each file below `prefix` in a folder, at any depth; `InputError` for a link, device or pipe, an
    empty folder, an unsafe name, too many files, and what cannot be read."""
    try:
        with os.scandir(folder / prefix if prefix else folder) as entries:
            found = sorted((each.name, each.stat(follow_symlinks=False)) for each in entries)
    except OSError as problem:
        raise InputError(f"cannot read {str(folder / prefix)!r}: {problem.strerror}") from None
    if len(found) > MOST_FILES:
        raise _refused(folder, f"more than {MOST_FILES:,} files")
    for own, about in found:
        name = f"{prefix}{own}"
        if not _is_plain(name):
            raise _refused(folder, f"{name!r} is no name of a file that neverlost writes")
        if stat.S_ISDIR(about.st_mode):
            below = list(_entries(folder, f"{name}/"))
            if not below:
                raise _refused(folder, f"{name!r} is an empty folder")
            yield from below
        elif stat.S_ISREG(about.st_mode):
            yield name, about
        else:
            kinds = {stat.S_IFLNK: "a link", stat.S_IFIFO: "a pipe", stat.S_IFSOCK: "a socket"}
            raise _refused(folder, f"{name!r} is {kinds.get(stat.S_IFMT(about.st_mode), 'a device')}, not a plain file")


def _content(folder: Path, name: str, most: int) -> bytes:
    try:
        handle = os.open(folder / name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        with os.fdopen(handle, "rb") as stream:
            about = os.fstat(handle)
            if not stat.S_ISREG(about.st_mode):
                raise _refused(folder, f"{name!r} is not a plain file")
            found = stream.read(min(most, about.st_size) + 1)  # as many bytes are set aside before any is read
    except OSError as problem:
        raise InputError(f"cannot read {str(folder / name)!r}: {problem.strerror}") from None
    if len(found) > most:
        raise _refused(folder, TOO_LARGE)
    return found


def _refused(folder: Path, why: str) -> InputError:
    return InputError(f"bundle {str(folder)!r} is refused: {why}")
