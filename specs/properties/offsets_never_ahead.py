"""The group's offset does not pass an input record whose result is missing."""

from __future__ import annotations

from typing import Any

from neverlost.model.kernel import Value, implies
from neverlost.model.transactions.state import attempts, outputs
from neverlost.model.transactions.visible import has_effect
from neverlost.specs.property import Property


def offsets_never_ahead(k: Any, s: Any) -> Value:
    """Else the next producer would skip it."""
    return k.all_of(
        *[
            implies(k, s.group_offset > number, has_effect(k, s, number, partition))
            for number in attempts(s)
            for partition in outputs(s)
        ]
    )


PROPERTY = Property(
    name="offsets-never-ahead",
    says="for every input record below the group's committed offset each output has its result, visible or about to be",
    failure="skips an input record",
    condition=offsets_never_ahead,
    needs=("group_offset", "input", "committed"),
    violated_by="transactions-4.1",
    source="KIP-98, sendOffsetsToTransaction",
)
