"""A transaction is seen whole or not at all."""

from __future__ import annotations

from typing import Any

from neverlost.model.kernel import Value, implies
from neverlost.model.transactions.state import attempts, partitions
from neverlost.model.transactions.visible import is_there, is_visible
from neverlost.specs.property import Property


def atomic_visibility(k: Any, s: Any) -> Value:
    """Markers reach partitions one by one, so a record that is undecided counts: it will be seen with its marker."""
    return k.all_of(
        *[
            implies(k, is_visible(k, s, each, one), is_there(k, s, each, other))
            for each in attempts(s)
            for one in partitions(s)
            for other in partitions(s)
            if one != other
        ]
    )


PROPERTY = Property(
    name="atomic-visibility",
    says="where one record of a transaction can be read, each of its records can be, or will be when its marker comes",
    failure="shows a part of a transaction",
    condition=atomic_visibility,
    needs=("undecided", "committed", "reads_uncommitted"),
    violated_by="transactions-3.5",
    source="KIP-98, atomicity across partitions",
)
