"""Digests of what a model, a property or a lemma means, which results, stored levels and the ledger carry.

Two that agree have the same reachable states, or the same condition; `neverlost.checker.engine.semantic_digest` says what
counts.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from functools import cache
from typing import Any

from neverlost.checker.engine import kept_digests
from neverlost.model.interpreters import ints
from neverlost.model.kernel import Model
from neverlost.model.system import System
from neverlost.specs.lemma import Lemma
from neverlost.specs.property import Property

SEMANTICS = (ints.take, ints.evaluate, System)
"""The defining interpreter, which says what a model's words mean; it is part of every model's digest."""

_known: dict[int, tuple[Any, str]] = {}
"""Digests that were asked for, by the identity of what they are of, which is kept alive with them."""


def model_digest(model: Model) -> str:
    """Return the digest of a model: name, state, initial states and actions, and the interpreter that gives them meaning."""
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
        _known[id(subject)] = subject, kept_digests.remember(subject, lambda: _digest(subject, *more))
    return _known[id(subject)][1]


@cache
def _digest_together(*digests: str) -> str:
    return _digest(*digests)


def _digest(*values: Any) -> str:
    from neverlost.checker.engine.semantic_digest import describe_meaning

    return "sha256:" + hashlib.sha256(describe_meaning(*values).encode()).hexdigest()
