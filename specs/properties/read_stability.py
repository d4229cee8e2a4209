"""A consumer that reads an offset again gets the same record."""

from __future__ import annotations

from typing import Any

from neverlost.model.kernel import Value, implies
from neverlost.model.kraft.broker.leader import leads
from neverlost.model.kraft.broker.log import EMPTY, offsets
from neverlost.model.kraft.state import everyone
from neverlost.specs.property import Property


def read_stability(k: Any, s: Any) -> Value:
    """Below the high watermark every leader serves what was served first at that offset."""
    return k.all_of(
        *[
            implies(
                k,
                k.all_of(leads(s, leader), s.high_watermark[leader] > offset, s.ghost_committed[offset] != EMPTY),
                s.log_record[leader][offset] == s.ghost_committed[offset],
            )
            for leader in everyone(s)
            for offset in offsets(s)
        ]
    )


PROPERTY = Property(
    name="read-stability",
    says="a consumer that reads an offset again, from any broker that believes it is leader, gets the same record",
    failure="shows readers another record at the same offset",
    condition=read_stability,
    needs=(
        "follows",
        "ghost_committed",
        "high_watermark",
        "log_record",
    ),
    violated_by="kraft",
    source="P-VIS; ConsistentRead of the published specifications",
)
