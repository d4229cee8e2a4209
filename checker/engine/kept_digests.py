"""Digests of the models and properties as they are written, kept beside the bytecode from one run to the next.

They are valid for one Python and the bytes of every module of `model` and `specs`, the data beside it, and what makes a digest.
A program uses them that begins with none of these modules imported: whoever imports one may alter it before asking.  They are
kept by where an object stands, never by its own name: a plan's model has the name of the model that it is made from.
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
from collections.abc import Callable, Iterator
from typing import Any

ROOMS = ("model", "specs")
"""The packages of `neverlost` that hold models and properties, with whatever these reach."""

MAKERS = ("digest.py", "semantic_digest.py", "source_definitions.py", "kept_digests.py")
"""The modules that make a digest."""

OURS = tuple(f"neverlost.{each}." for each in ROOMS)

_kept: dict[str, str] = {}
_sources: str | None = None


def begin() -> None:
    """Use the digests of earlier runs, and keep those of this one, if no model or property can have been altered yet."""
    global _sources
    if __spec__.cached is None or any(name.startswith(OURS) for name in sys.modules):
        return
    _sources = _digest_sources()
    try:
        with open(f"{__spec__.cached}.json", encoding="ascii") as stream:
            found = json.load(stream)
        _kept.update(found["digests"] if found["sources"] == _sources else {})
    except (OSError, ValueError, KeyError, TypeError):
        _kept.clear()


def remember(subject: Any, make: Callable[[], str]) -> str:
    """Return the digest of what is a global of a module of `model` or `specs`: the kept one, else the one that `make` returns,
    kept if Python may write bytecode and the sources are as at `begin`; of anything else, or without `begin`, make it."""
    ours = ((name, module) for name, module in sorted(sys.modules.items()) if _sources and name.startswith(OURS))
    place = next((f"{name}.{each}" for name, module in ours for each, value in vars(module).items() if value is subject), None)
    if place is None:
        return make()
    if place not in _kept:
        _kept[place] = make()
        if not sys.dont_write_bytecode and _digest_sources() == _sources:
            _write()
    return _kept[place]


def _write() -> None:
    path = f"{__spec__.cached}.json"
    try:
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(temporary := f"{path}.{os.getpid()}", "w", encoding="ascii") as stream:
            json.dump({"sources": _sources, "digests": _kept}, stream)
        os.replace(temporary, path)
    except OSError:
        return


def _digest_sources() -> str:
    here = os.path.dirname(__file__)
    top = os.path.dirname(os.path.dirname(here))
    found = hashlib.sha256(sys.version.encode())
    files = [path for room in ROOMS for path in _walk(os.path.join(top, room))]
    for path in (*files, *(os.path.join(here, each) for each in MAKERS)):
        with open(path, "rb", buffering=0) as stream:
            content = stream.read()
        found.update(f"{path[len(top) :]} {len(content)} ".encode() + content)
    return found.hexdigest()


def _walk(folder: str) -> Iterator[str]:
    """Yield the files of a package and of those in it; in a folder that is no package no module has anything to read."""
    found = sorted(os.scandir(folder), key=lambda each: each.name)
    for each in found if any(each.name == "__init__.py" for each in found) else ():
        yield from _walk(each.path) if each.is_dir() else [each.path]
