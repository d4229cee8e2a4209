"""Acknowledged writes are accepted whenever the cluster has finished reacting."""

from __future__ import annotations

from typing import Any

from neverlost.model.kernel import Value, implies
from neverlost.model.kraft.broker.availability import is_settled, is_writable
from neverlost.specs.property import AVAILABILITY, Property


def stays_writable(k: Any, s: Any) -> Value:
    """While a failure is being detected or a leader is applying its leadership no Kafka accepts writes; that is not counted."""
    return implies(k, is_settled(k, s), is_writable(k, s))


PROPERTY = Property(
    name="stays-writable",
    says="in every state in which nothing is left to detect or to learn, the leader accepts the producer writes",
    failure="stops accepting writes",
    condition=stays_writable,
    needs=(
        "is_fenced",
        "leader_isr",
        "leader_knows",
    ),
    violated_by="kraft",
    source="P-WAV",
    kind=AVAILABILITY,
)
