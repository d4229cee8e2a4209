"""What is acknowledged to the producer can be read at the current leader."""

from __future__ import annotations

from typing import Any

from neverlost.model.kernel import Value, implies
from neverlost.model.kraft.broker.log import offsets
from neverlost.model.kraft.state import ELECTED, everyone
from neverlost.specs.property import Property


def acked_visible(k: Any, s: Any) -> Value:
    """Read your own write: each acknowledged record is below the current leader's high watermark."""
    return k.all_of(
        *[
            implies(
                k,
                k.all_of(s.leader == leader, s.leader_knows != ELECTED, s.ghost_acked[record]),
                k.any_of(
                    *[
                        k.all_of(s.log_record[leader][offset] == record + 1, s.high_watermark[leader] > offset)
                        for offset in offsets(s)
                    ]
                ),
            )
            for leader in everyone(s)
            for record in range(s.sizes.record)
        ]
    )


PROPERTY = Property(
    name="acked-visible",
    says="every acknowledged record is below the current leader's high watermark",
    failure="hides acknowledged records from readers",
    condition=acked_visible,
    needs=("ghost_acked", "high_watermark", "leader_knows", "log_record"),
    violated_by="kraft",
    source="read your own write (scenario acks-minisr-acked-invisible); holds with acks=all as long as leadership stays",
)
