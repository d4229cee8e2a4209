"""No record is processed twice."""

from __future__ import annotations

from typing import Any

from neverlost.model.kernel import Value
from neverlost.model.kraft.broker.log import offsets
from neverlost.specs.property import Property


def at_most_once(k: Any, s: Any) -> Value:
    """Two stands for more than once."""
    return k.all_of(*[s.ghost_processed[offset] <= 1 for offset in offsets(s)])


PROPERTY = Property(
    name="at-most-once",
    says="no record is processed more than once",
    failure="processes a record twice",
    condition=at_most_once,
    needs=("ghost_processed",),
    violated_by="kraft",
    source="P-PROC",
)
