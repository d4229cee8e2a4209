"""Every member of a presumed leader's own ISR has the leader's log up to its high watermark."""

from __future__ import annotations

from typing import Any

from neverlost.model.classic.log import members_have_committed_log
from neverlost.model.kernel import Value
from neverlost.specs.property import Property


def weak_isr(k: Any, s: Any) -> Value:
    """Source: KafkaReplication.tla, WeakIsr."""
    return members_have_committed_log(k, s, lambda leader, member: s.isr[leader][member])


PROPERTY = Property(
    name="weak-isr",
    says="every member of a presumed leader's ISR has the leader's log up to its high watermark",
    condition=weak_isr,
    needs=("leader", "high_watermark", "isr", "log_end_offset", "log_record", "log_epoch"),
    violated_by="truncate-to-hw",
    source="KafkaReplication.tla WeakIsr",
)
