"""Every member of a presumed leader's own ISR has the leader's log up to its high watermark."""

from __future__ import annotations

from typing import Any

from model.kernel import Value, implies
from model.replicated_log import same_entry
from specs.property import Property


def weak_isr(k: Any, s: Any) -> Value:
    """Source: KafkaReplication.tla, WeakIsr."""
    everyone = range(s.sizes["replica"])
    return k.all_of(
        *[
            implies(
                k,
                k.all_of(s.leader[leader] == leader, s.high_watermark[leader] > offset, s.isr[leader][member]),
                same_entry(k, s, leader, member, offset),
            )
            for leader in everyone
            for member in everyone
            for offset in range(s.sizes["offset"])
        ]
    )


PROPERTY = Property(
    name="weak-isr",
    says="every member of a presumed leader's ISR has the leader's log up to its high watermark",
    condition=weak_isr,
    needs=("leader", "high_watermark", "isr", "log_end_offset", "log_record", "log_epoch"),
    violated_by="truncate-to-hw",
    source="KafkaReplication.tla WeakIsr",
)
