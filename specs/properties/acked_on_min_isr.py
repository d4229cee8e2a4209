"""Every acknowledged record is on min.insync.replicas disks, as long as no fault destroys a copy."""

from __future__ import annotations

from typing import Any

from neverlost.model.kernel import Value, count, implies
from neverlost.model.kraft.broker.log import holds_record
from neverlost.model.kraft.state import everyone, minimum_isr
from neverlost.specs.property import Property


def acked_on_min_isr(k: Any, s: Any) -> Value:
    """Disks of dead brokers count, and the minimum is at most the number of replicas.

    Ask it with budgets without lossy crashes: those destroy copies by definition.
    """
    return k.all_of(
        *[
            implies(
                k,
                s.ghost_acked[record],
                count(k, [holds_record(k, s, each, record) for each in everyone(s)]) >= minimum_isr(k, s),
            )
            for record in range(s.sizes.record)
        ]
    )


PROPERTY = Property(
    name="acked-on-min-isr",
    says="every acknowledged record is in the logs of min.insync.replicas replicas, running or not",
    failure="has acknowledged records on too few disks",
    condition=acked_on_min_isr,
    needs=("ghost_acked", "log_record", "min_isr"),
    violated_by="kraft",
    source="P-DUR; holds with acks=all until a copy is destroyed or a reassignment drops it",
)
