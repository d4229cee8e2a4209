"""The elected leader has every committed record, from its election on."""

from __future__ import annotations

from typing import Any

from neverlost.model.kernel import Value, implies
from neverlost.model.kraft.broker.log import EMPTY, offsets
from neverlost.model.kraft.state import everyone
from neverlost.specs.property import Property


def leader_completeness(k: Any, s: Any) -> Value:
    """Stronger than committed-never-lost: it does not wait until the leader has applied its leadership."""
    return k.all_of(
        *[
            implies(
                k,
                k.all_of(s.leader == leader, s.is_running[leader], s.ghost_committed[offset] != EMPTY),
                s.log_record[leader][offset] == s.ghost_committed[offset],
            )
            for leader in everyone(s)
            for offset in offsets(s)
        ]
    )


PROPERTY = Property(
    name="leader-completeness",
    says="the elected leader, if it is running, has every committed record at its offset",
    condition=leader_completeness,
    needs=(
        "ghost_committed",
        "is_running",
        "leader",
        "log_record",
    ),
    violated_by="kraft",
    source="LeaderCompleteness of the published specifications",
)
