"""A lemma as a value: a predicate that helps to prove properties of some models by induction."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

from neverlost.model.kernel import Configuration, Value, for_every
from neverlost.model.system import System


@dataclass(frozen=True)
class Lemma:
    """A named predicate that holds in every reachable state of its models, and why.

    `conjuncts(k, s)` gives its parts.  `only_for` names the one property that needs it; None stands for all.
    """

    name: str
    says: str
    why: str
    conjuncts: Callable[[Any, Any], list[Value]]
    only_for: str | None = None

    def condition(self, k: Any, s: Any) -> Value:
        """All conjuncts at once."""
        return k.all_of(*self.conjuncts(k, s))


def each_of(k: Any, s: Any, axis: str, body: Callable[[Any], list[Value]]) -> list[Value]:
    """Conjuncts for each element of an axis: those of one after the other, or one about all where the axis has no bound."""
    if axis in getattr(k, "open_axes", ()):
        return [for_every(k, s, axis, lambda each: k.all_of(*body(each)))]
    return [conjunct for each in range(s.sizes[axis]) for conjunct in body(each)]


@dataclass(frozen=True)
class Theory:
    """The lemmas that together are inductive for some models, in the configurations that the argument covers."""

    models: tuple[str, ...]
    lemmas: tuple[Lemma, ...]
    covers: Callable[[Configuration], bool] = lambda configuration: True


@cache
def theories() -> tuple[Theory, ...]:
    """Every theory, from the files in `specs/lemmas/`."""
    import neverlost.specs.lemmas as folder

    return tuple(
        importlib.import_module(f"{folder.__name__}.{each.name}").THEORY for each in pkgutil.iter_modules(folder.__path__)
    )


def lemmas_of(system: System, goal: str | None = None) -> tuple[Lemma, ...]:
    """The hand-written lemmas of a system, for a property or for all; none where none was written that covers it."""
    covering = (
        theory for theory in theories() if system.model.name in theory.models and all(map(theory.covers, system.configurations))
    )
    found = next(covering, None)
    return tuple(each for each in found.lemmas if goal is None or each.only_for in (None, goal)) if found else ()
