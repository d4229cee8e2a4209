"""No committed offset is beyond a record that was never processed."""

from __future__ import annotations

from typing import Any

from neverlost.model.kernel import Value, implies
from neverlost.model.kraft.broker.log import offsets
from neverlost.specs.property import Property


def at_least_once(k: Any, s: Any) -> Value:
    """Otherwise a consumer that continues after a crash skips a record for good."""
    return k.all_of(
        *[
            implies(
                k,
                s.consumer_committed > offset,
                k.any_of(s.ghost_processed[offset] > 0, k.all_of(s.consumer_holds_record, s.consumer_position == offset + 1)),
            )
            for offset in offsets(s)
        ]
    )


PROPERTY = Property(
    name="at-least-once",
    says="every record below the committed offset of the consumer has been processed, or is in its hands",
    failure="skips a record",
    condition=at_least_once,
    needs=(
        "consumer_committed",
        "consumer_holds_record",
        "ghost_processed",
    ),
    violated_by="kraft",
    source="P-PROC",
)
