"""Every member of the quorum's ISR has any presumed leader's log up to its high watermark."""

from __future__ import annotations

from typing import Any

from neverlost.model.classic.log import members_have_committed_log
from neverlost.model.kernel import Value
from neverlost.specs.property import Property


def strong_isr(k: Any, s: Any) -> Value:
    """Source: KafkaReplication.tla, StrongIsr."""
    return members_have_committed_log(k, s, lambda leader, member: s.quorum_isr[member])


PROPERTY = Property(
    name="strong-isr",
    says="every member of the quorum's ISR has any presumed leader's log up to its high watermark",
    condition=strong_isr,
    needs=("leader", "high_watermark", "quorum_isr", "log_end_offset", "log_record", "log_epoch"),
    violated_by="truncate-to-hw",
    source="KafkaReplication.tla StrongIsr",
)
