"""Every member of the quorum's ISR has any presumed leader's log up to its high watermark."""

from __future__ import annotations

from typing import Any

from model.kernel import Value, implies
from model.replicated_log import same_entry
from specs.property import Property


def strong_isr(k: Any, s: Any) -> Value:
    """Source: KafkaReplication.tla, StrongIsr."""
    everyone = range(s.sizes["replica"])
    return k.all_of(
        *[
            implies(
                k,
                k.all_of(s.leader[leader] == leader, s.high_watermark[leader] > offset, s.quorum_isr[member]),
                same_entry(k, s, leader, member, offset),
            )
            for leader in everyone
            for member in everyone
            for offset in range(s.sizes["offset"])
        ]
    )


PROPERTY = Property(
    name="strong-isr",
    says="every member of the quorum's ISR has any presumed leader's log up to its high watermark",
    condition=strong_isr,
    needs=("leader", "high_watermark", "quorum_isr", "log_end_offset", "log_record", "log_epoch"),
    violated_by="truncate-to-hw",
    source="KafkaReplication.tla StrongIsr",
)
