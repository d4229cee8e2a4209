"""A spot of the tolerance table: how many brokers lose data at once, and how many others are out meanwhile."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from neverlost.model.any_number import AnyNumber
from neverlost.model.faults import CRASH, DATA_LOSS, OUT
from neverlost.model.kernel import Configuration
from neverlost.model.limits import AT_ONCE
from neverlost.model.protocols.kraft_standing import ADDING, ELR, ISR, REPLICAS, roles

AXES = (DATA_LOSS.key, OUT.key)
"""The two keys that a table varies: brokers that lose data, and others that are slow, fenced or shut down."""

OF_MEMBERS = (DATA_LOSS.key, CRASH.key, AT_ONCE)
"""The keys where members of a quorum are stopped, and none is ever fenced or dropped."""


@dataclass(frozen=True, order=True)
class FaultBudget:
    """How many brokers lose data at once (`losing`), and how many others are out meanwhile."""

    losing: int
    out: int

    @property
    def limits(self) -> dict[str, int | AnyNumber]:
        """The limits, by the two keys `AXES`, with which the spot is asked about."""
        return {key: AnyNumber(many) if many else 0 for key, many in zip(AXES, (self.losing, self.out), strict=True)}

    def limits_among(self, keys: Collection[str]) -> dict[str, int | AnyNumber]:
        """Return the fault limits of the spot for a model that has these keys.

        Without `faults.out` any number of stops stands for the brokers that are out, and a limit of all at once for how many.
        A stop may then take the place of a loss of data, so the limits allow this spot and more.
        """
        if OUT.key in keys:
            return self.limits
        stops = AnyNumber() if self.out else 0
        return {DATA_LOSS.key: self.limits[DATA_LOSS.key], CRASH.key: stops, AT_ONCE: self.losing + self.out}

    def is_within(self, other: FaultBudget) -> bool:
        """Return True if `other` allows everything that this budget allows."""
        return self.losing <= other.losing and self.out <= other.out


def fault_budgets(replicas: int) -> list[FaultBudget]:
    return [FaultBudget(losing, out) for losing in range(replicas + 1) for out in range(replicas + 1 - losing)]


def spots_of(configuration: Configuration) -> list[FaultBudget]:
    """Return every spot of a configuration's table: so many of its brokers lose data and so many others are out.  Counted are
    brokers that begin in the ISR or ELR, whether they run or not, but not those that a reassignment is adding."""
    holders = sum(ADDING not in each and bool({ISR, ELR} & each) for each in roles({REPLICAS: (), **configuration}))
    return fault_budgets(holders or max(1, configuration["replication.factor"] - configuration.get("start.outside_isr", 0)))
