"""A lemma as a value: a predicate that helps to prove properties of some models by induction."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

from model.kernel import Model, Value


@dataclass(frozen=True)
class Lemma:
    """A named predicate that holds in every reachable state of its models, and why.

    `condition(k, s)` gives its conjuncts, each of which is proved by itself.
    """

    name: str
    says: str
    why: str
    conjuncts: Callable[[Any, Any], list[Value]]

    def condition(self, k: Any, s: Any) -> Value:
        """All conjuncts at once."""
        return k.all_of(*self.conjuncts(k, s))


@dataclass(frozen=True)
class Theory:
    """The lemmas that together are inductive for some models, and the properties that they imply."""

    models: tuple[str, ...]
    lemmas: tuple[Lemma, ...]


@cache
def theories() -> tuple[Theory, ...]:
    """Every theory, from the files in `specs/lemmas/`."""
    import specs.lemmas as folder

    return tuple(importlib.import_module(f"specs.lemmas.{each.name}").THEORY for each in pkgutil.iter_modules(folder.__path__))


def lemmas_of(model: Model) -> tuple[Lemma, ...]:
    """The hand-written lemmas of a model; none where nobody wrote any."""
    return tuple(lemma for theory in theories() if model.name in theory.models for lemma in theory.lemmas)
