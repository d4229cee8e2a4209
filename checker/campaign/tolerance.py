"""What a configuration survives, whatever the number of faults: a verdict for so many brokers that lose data at once while so
many others are out.

Each spot of the table is a question of its own: any number of faults, of which so many brokers suffer at once.  Spots whose
states have the same fields share a search, which distinguishes them by their limits, so a counterexample is a shortest one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from neverlost.checker.campaign.sweep import Decision, Sweep, Sweeper
from neverlost.checker.outcome import Verdict
from neverlost.checker.search.options import Options, Reporter
from neverlost.model.kernel import Configuration, Model
from neverlost.model.kraft.faults import DATA_LOSS, OUT
from neverlost.model.limits import AnyNumber
from neverlost.specs.property import Property

AXES = (DATA_LOSS.key, OUT.key)
"""The two keys that a table varies: brokers that lose data, and others that are slow, fenced or shut down."""


@dataclass(frozen=True, order=True)
class Spot:
    """How many brokers lose data at once, while how many others are out."""

    losing: int
    out: int

    @property
    def limits(self) -> dict[str, int | AnyNumber]:
        """The fault limits that it stands for."""
        return {key: AnyNumber(many) if many else 0 for key, many in zip(AXES, (self.losing, self.out), strict=True)}


def spots(replicas: int) -> list[Spot]:
    """Every spot of the table for so many replicas."""
    return [Spot(losing, out) for losing in range(replicas + 1) for out in range(replicas + 1 - losing)]


@dataclass(frozen=True)
class Tolerance:
    """The verdicts on each property at each spot, and the sweep that found them."""

    model: Model
    configuration: Configuration
    sweep: Sweep
    decisions: Mapping[Spot, tuple[Decision, ...]]
    cells: Mapping[Spot, int]

    def decision(self, spot: Spot, name: str) -> Decision:
        """The decision on a property at a spot."""
        return next(each for each in self.decisions[spot] if each.property.name == name)

    @property
    def is_complete(self) -> bool:
        """Whether every verdict is known."""
        return all(each.verdict is not Verdict.INCONCLUSIVE for row in self.decisions.values() for each in row)


def tolerance(
    model: Model,
    configuration: Configuration,
    properties: Sequence[Property],
    options: Options,
    more: Mapping[str, Any] | None = None,
    engine: str = "memory",
    reporter: Reporter | None = None,
    decided: Callable[[int, int], None] | None = None,
) -> Tolerance:
    """The table of a configuration; `more` are limits of other faults, which every spot allows.

    `decided` is called with how many spots are decided, and how many there are.
    """
    every = spots(configuration["replication.factor"])
    cells = [(model, dict(configuration) | dict(more or {}) | each.limits) for each in every]
    sweep = Sweeper(cells, properties, options, (), engine, reporter, decided).run()
    found = dict(zip(every, sweep.decisions, strict=True))
    return Tolerance(model, configuration, sweep, found, {spot: number for number, spot in enumerate(every)})
