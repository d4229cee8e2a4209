"""A spot of the tolerance table: so many brokers lose data at once while so many others are out."""

from __future__ import annotations

from dataclasses import dataclass

from neverlost.model.kraft.faults import DATA_LOSS, OUT
from neverlost.model.limits import AnyNumber

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

    def is_within(self, other: Spot) -> bool:
        """Whether the other allows everything that this one allows."""
        return self.losing <= other.losing and self.out <= other.out


def spots(replicas: int) -> list[Spot]:
    """Every spot of the table for so many replicas."""
    return [Spot(losing, out) for losing in range(replicas + 1) for out in range(replicas + 1 - losing)]
