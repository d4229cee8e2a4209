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
    """What a version's known defects do inside the region: a verdict, and how many steps the shortest loss has (None: none).

    `defects` are those that can matter.  Unless they lose nothing, `bounds` has a bound for each set of rates, by its name,
    that has a price for every one of them, and `not_priced` are the defects without a price in some set.
    """

    defects: tuple[str, ...] = ()
    verdict: Verdict = Verdict.HOLDS
    steps: int | None = None
    bounds: Mapping[str, Bound] = field(default_factory=dict)
    not_priced: tuple[str, ...] = ()


@dataclass(frozen=True)
class ConfigurationNines:
    """A configuration without Kafka's defects, its tolerance table and (`found`) its bound for each set of rates, by name."""

    chosen: Chosen
    survived: Tolerance
    found: Mapping[str, Bound | NoBound]
    shipped: Shipped = Shipped()

    @property
    def first(self) -> Bound | NoBound:
        """The bound (or `NoBound`) at the first set of rates."""
        return next(iter(self.found.values()))
