"""Every acknowledged record is on a disk."""

from __future__ import annotations

from typing import Any

from neverlost.model.kernel import Value, implies
from neverlost.model.kraft.broker.log import holds_record
from neverlost.model.kraft.state import everyone
from neverlost.specs.property import Property


def no_global_loss(k: Any, s: Any) -> Value:
    """Dead brokers count: their disks may come back."""
    return k.all_of(
        *[
            implies(k, s.ghost_acked[record], k.any_of(*[holds_record(k, s, each, record) for each in everyone(s)]))
            for record in range(s.sizes.record)
        ]
    )


PROPERTY = Property(
    name="no-global-loss",
    says="every acknowledged record is in the log of at least one replica, running or not",
    failure="loses acknowledged records on every disk",
    condition=no_global_loss,
    needs=(
        "ghost_acked",
        "log_record",
    ),
    violated_by="kraft",
    source="P-GLOBAL; NoCommittedRecordLostGlobally of the published specifications",
)
