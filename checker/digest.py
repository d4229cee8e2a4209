"""A digest of everything that decides which states are reachable and what is asked of them.

Two runs with the same digest, configuration and bounds explore the same states: results and stored levels carry it.
"""

from __future__ import annotations

import hashlib
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable

from neverlost.model.kernel import Model

SOURCES = ("neverlost.model", "neverlost.specs.properties")


@cache
def sources_digest() -> str:
    """SHA-256 over the names and contents of the model's and the properties' source files."""
    found = hashlib.sha256()
    for name, text in sorted(pair for package in SOURCES for pair in _sources(files(package), package.replace(".", "/"))):
        found.update(f"{name}\0{len(text)}\0".encode())
        found.update(text)
    return found.hexdigest()


def _sources(folder: Traversable, prefix: str) -> list[tuple[str, bytes]]:
    found = []
    for each in folder.iterdir():
        if each.is_dir():
            found += _sources(each, f"{prefix}/{each.name}")
        elif each.name.endswith(".py"):
            found.append((f"{prefix}/{each.name}", each.read_bytes().replace(b"\r\n", b"\n")))
    return found


def model_digest(model: Model) -> str:
    """The digest that results and stored levels carry for a model."""
    return "sha256:" + hashlib.sha256(f"{model.name}\0{sources_digest()}".encode()).hexdigest()
