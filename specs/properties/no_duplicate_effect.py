"""No input record takes effect twice."""

from __future__ import annotations

from typing import Any

from neverlost.model.kernel import Value
from neverlost.model.transactions.state import attempts, outputs
from neverlost.model.transactions.visible import effects_seen
from neverlost.specs.property import Property


def no_duplicate_effect(k: Any, s: Any) -> Value:
    """Per input record and output partition, over all transactions that have processed it."""
    return k.all_of(*[effects_seen(k, s, number, each) <= 1 for number in attempts(s) for each in outputs(s)])


PROPERTY = Property(
    name="no-duplicate-effect",
    says="the result of an input record can be read at most once in each output partition",
    failure="shows the result of an input record twice",
    condition=no_duplicate_effect,
    needs=("input", "committed", "reads_uncommitted"),
    violated_by="transactions-3.5",
    source="KIP-98, KIP-129: exactly once",
)
