"""A configuration with what it survives and the bounds that follow at some rates."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from neverlost.checker.engine.outcome import Verdict
from neverlost.checker.questions.nines.bounds import Bound, NoBound
from neverlost.checker.questions.tolerance.tolerance import Tolerance
from neverlost.specs.configuration.choose import Chosen


@dataclass(frozen=True)
class Shipped:
    """What the known defects of a version do inside a region: a verdict, and the steps of the shortest loss.

    `defects` are those that can matter; `bounds`, by the name of the rates, are there where each of them has a price, and
    `not_priced` are those that have none.
    """

    defects: tuple[str, ...] = ()
    verdict: Verdict = Verdict.HOLDS
    steps: int | None = None
    bounds: Mapping[str, Bound] = field(default_factory=dict)
    not_priced: tuple[str, ...] = ()


@dataclass(frozen=True)
class ConfigurationNines:
    """A configuration as designed with its table, and a bound for each set of rates, by its name."""

    chosen: Chosen
    survived: Tolerance
    found: Mapping[str, Bound | NoBound]
    shipped: Shipped = Shipped()

    @property
    def first(self) -> Bound | NoBound:
        """The bound at the first rates."""
        return next(iter(self.found.values()))
