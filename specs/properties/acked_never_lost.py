"""The current leader has every acknowledged record."""

from __future__ import annotations

from typing import Any

from neverlost.model.kernel import Value, implies
from neverlost.model.kraft.broker.log import holds_record
from neverlost.model.kraft.state import ELECTED, everyone
from neverlost.specs.property import Property


def acked_never_lost(k: Any, s: Any) -> Value:
    """Once the current leader has applied its leadership, its log holds every acknowledged record."""
    return k.all_of(
        *[
            implies(
                k,
                k.all_of(s.leader == leader, s.leader_knows != ELECTED, s.ghost_acked[record]),
                holds_record(k, s, leader, record),
            )
            for leader in everyone(s)
            for record in range(s.sizes.record)
        ]
    )


PROPERTY = Property(
    name="acked-never-lost",
    says="the current leader, once it has applied its leadership, has every acknowledged record",
    failure="loses acknowledged records",
    condition=acked_never_lost,
    needs=("ghost_acked", "leader_knows", "log_record"),
    violated_by="kraft",
    source="kafka-scenarios P-ACK",
)
