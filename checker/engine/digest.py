"""Digests of what a model, a property or a lemma means, which results, stored levels and the ledger carry.

Two that agree have the same reachable states, or the same condition; `neverlost.checker.engine.semantic_digest` says what
counts.
"""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any

from neverlost.checker.engine.compiled import code_cache
from neverlost.checker.engine.host import own_process
from neverlost.checker.engine.semantic_digest import describe_meaning
from neverlost.model.interpreters import ints
from neverlost.model.kernel import Model
from neverlost.model.system import System
from neverlost.specs.lemma import Lemma
from neverlost.specs.property import Property

SEMANTICS = (ints.take, ints.evaluate, System)
"""What the words of a model mean: the defining interpreter."""

_known: dict[int, tuple[Any, str]] = {}
"""Digests that were asked for, by the identity of what they are of, which is kept alive with them."""

_kept: dict[str, str] = {}
"""Digests that an earlier run of the program found for the same sources, by what they are of."""

ROOMS = ("model", "specs", "checker/engine")
"""The folders whose files decide a digest."""


@cache
def _recall_digests() -> Path:
    """Recall what earlier runs of the program with the same sources have found, and return the file of it."""
    sources, here = hashlib.sha256(sys.version.encode()), Path(__file__).parents[2]
    for each in sorted(path for room in ROOMS for end in ("py", "toml") for path in (here / room).rglob(f"*.{end}")):
        content = each.read_bytes()
        sources.update(f"{each.relative_to(here)}\0{len(content)}\0".encode() + content)
    file = code_cache.folder() / sources.hexdigest()
    known = code_cache.read(file)
    _kept.update(json.loads(known) if known is not None else {})
    return file


def keep_digests() -> None:
    """Keep the digests that were asked for, for later runs of the program, if some of them were not kept yet."""
    found = {_label(subject): said for subject, said in _known.values()}
    if own_process.is_program and found.keys() - _kept.keys():
        code_cache.write(_recall_digests(), json.dumps(_kept | found, sort_keys=True).encode())


def _label(subject: Any) -> str:
    return f"{type(subject).__name__} {subject.name}"


def model_digest(model: Model) -> str:
    """Return the digest of a model: its name, state, initial states and actions."""
    return _digest_once(model, *SEMANTICS)


def property_digest(asked: Property) -> str:
    """Return the digest of a property: its name, kind and condition."""
    return _digest_once(asked)


def lemma_digest(lemma: Lemma) -> str:
    """Return the digest of a lemma: its name, parts and property."""
    return _digest_once(lemma)


def question_digest(model: Model, asked: Iterable[Property]) -> str:
    return _digest_together(model_digest(model), *map(property_digest, asked))


def _digest_once(subject: Any, *more: Any) -> str:
    if id(subject) not in _known:
        if own_process.is_program:
            _recall_digests()
        _known[id(subject)] = subject, _kept.get(_label(subject)) or _digest(subject, *more)
    return _known[id(subject)][1]


@cache
def _digest_together(*digests: str) -> str:
    return _digest(*digests)


def _digest(*values: Any) -> str:
    return "sha256:" + hashlib.sha256(describe_meaning(*values).encode()).hexdigest()
