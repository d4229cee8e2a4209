"""Digests of the models and properties as they are written, kept beside the bytecode from one run to the next.

They are valid for the bytes of every file of `model` and `specs` and of the modules that make a digest, and for one Python.  A
program uses them that begins with none of these modules imported: whoever imports them may alter them before asking.  They are
kept by where an object stands, never by its own name: a plan's model has the name of the model that it is made from.
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
from collections.abc import Iterator
from typing import Any

ROOMS = ("model", "specs")
"""The rooms that hold models and properties, with whatever these reach."""

OURS = tuple(f"neverlost.{each}." for each in ROOMS)

MAKERS = ("digest.py", "semantic_digest.py", "source_definitions.py", "kept_digests.py")
"""The modules that make a digest."""

_kept: dict[str, str] = {}
_sources: str | None = None


def begin() -> None:
    """Use the digests of earlier runs, and keep those of this one, if no model or property can have been altered yet."""
    global _sources
    if __spec__.cached is None or any(name.startswith(OURS) for name in sys.modules):
        return
    _sources = _digest_sources()
    try:
        with open(_file(), encoding="ascii") as stream:
            found = json.load(stream)
        if found["sources"] == _sources:
            _kept.update(found["digests"])
    except (OSError, ValueError, KeyError, TypeError):
        _kept.clear()


def find(subject: Any) -> str | None:
    """Return the digest of a model or property that stands in a module of ours, where it is known."""
    place = _place_of(subject)
    return None if place is None else _kept.get(place)


def keep(subject: Any, digest: str) -> None:
    """Keep the digest of a model or property that stands in a module of ours, if Python may write bytecode."""
    place = _place_of(subject)
    if place is None:
        return
    _kept[place] = digest
    if not sys.dont_write_bytecode and _digest_sources() == _sources:  # nobody has edited them meanwhile
        try:
            os.makedirs(os.path.dirname(_file()), exist_ok=True)
            with open(temporary := f"{_file()}.{os.getpid()}", "w", encoding="ascii") as stream:
                json.dump({"sources": _sources, "digests": _kept}, stream)
            os.replace(temporary, _file())
        except OSError:
            return


def _file() -> str:
    return f"{__spec__.cached}.json"


def _place_of(subject: Any) -> str | None:
    if _sources is None:
        return None
    ours = ((name, module) for name, module in sorted(sys.modules.items()) if name.startswith(OURS))
    return next((f"{name}.{each}" for name, module in ours for each, value in vars(module).items() if value is subject), None)


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
    for each in sorted(os.scandir(folder), key=lambda each: each.name):
        if not each.is_dir():
            yield each.path
        elif each.name != "__pycache__":
            yield from _walk(each.path)
