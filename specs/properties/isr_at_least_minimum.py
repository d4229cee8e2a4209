"""The ISR never has fewer members than min.insync.replicas: what books say and Kafka does not promise."""

from __future__ import annotations

from typing import Any

from neverlost.model.kernel import Value, count
from neverlost.specs.property import Property


def isr_at_least_minimum(k: Any, s: Any) -> Value:
    """Return the setting bounds what is accepted, not the ISR."""
    return count(k, list(s.isr)) >= s.min_isr


PROPERTY = Property(
    name="isr-at-least-minimum",
    says="the ISR has at least min.insync.replicas members",
    condition=isr_at_least_minimum,
    needs=("isr", "min_isr"),
    violated_by="kraft",
    source="a common claim; min.insync.replicas bounds which writes are accepted and, since 3.7, the high watermark",
)
