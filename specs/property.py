"""A property as a value."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from neverlost.model.kernel import Value

SAFETY, AVAILABILITY, RECOVERY = "safety", "availability", "recovery"
"""Kinds of properties."""


@dataclass(frozen=True)
class Property:
    """A named condition that must hold in every reachable state.

    Of the kind `RECOVERY` it need not hold everywhere, but it must be possible everywhere that it holds again, by steps
    that are no faults.  `needs` are the fields it reads: a model without them does not define the property.  `violated_by`
    names a model (or mutant, as `model-clause`) that breaks it; a property that nothing breaks is no check.  Where there is
    only one of what it `compares` two of, it holds for want of a second one.
    `failure` is what then happens, as an operator says it ("stops accepting writes").
    """

    name: str
    says: str
    condition: Callable[[Any, Any], Value]
    needs: tuple[str, ...]
    violated_by: str
    failure: str = ""
    source: str = ""
    kind: str = SAFETY
    compares: tuple[str, ...] = ()


def as_property(
    *,
    says: str,
    needs: tuple[str, ...],
    violated_by: str,
    failure: str = "",
    source: str = "",
    kind: str = SAFETY,
    compares: tuple[str, ...] = (),
) -> Callable[[Callable[[Any, Any], Value]], Property]:
    """Return the decorator that makes a condition the property of the function's name, with hyphens."""
    return lambda condition: Property(
        condition.__name__.replace("_", "-"), says, condition, needs, violated_by, failure, source, kind, compares
    )
