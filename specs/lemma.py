"""A lemma as a value: a predicate that helps to prove properties of some models by induction."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from neverlost.model.kernel import Configuration, Value, for_every


@dataclass(frozen=True)
class Lemma:
    """A named predicate that holds in every reachable state of its models, and why.

    `conjuncts(k, s)` gives its parts.  `only_for` names the one property that needs it; None stands for all.
    """

    name: str
    says: str
    why: str
    conjuncts: Callable[..., list[Value]]
    only_for: str | None = None

    def condition(self, k: Any, s: Any) -> Value:
        """Return True if all conjuncts of the lemma hold."""
        return k.all_of(*self.conjuncts(k, s))


def as_lemma(says: str, why: str, only_for: str | None = None) -> Callable[[Callable[..., list[Value]]], Lemma]:
    """Return the decorator that makes a function the lemma of its name, with hyphens."""
    return lambda conjuncts: Lemma(conjuncts.__name__.replace("_", "-"), says, why, conjuncts, only_for)


def each_of(k: Any, s: Any, axis: str, body: Callable[[Any], list[Value]]) -> list[Value]:
    """Return the conjuncts of `body` for each element of an axis, one after the other; if the axis has no bound, a single one
    about all elements."""
    if axis in getattr(k, "open_axes", ()):
        return [for_every(k, s, axis, lambda each: k.all_of(*body(each)))]
    return [conjunct for each in range(s.sizes[axis]) for conjunct in body(each)]


@dataclass(frozen=True)
class Theory:
    """The lemmas that together are inductive for some models, in the configurations that the argument covers."""

    models: tuple[str, ...]
    lemmas: tuple[Lemma, ...]
    covers: Callable[[Configuration], bool] = lambda configuration: True
