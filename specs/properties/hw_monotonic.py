"""The high watermark that clients see never goes backwards."""

from __future__ import annotations

from typing import Any

from neverlost.model.kernel import Value, implies
from neverlost.model.kraft.broker.log import EMPTY, offsets
from neverlost.model.kraft.state import ELECTED, everyone
from neverlost.specs.property import Property


def hw_monotonic(k: Any, s: Any) -> Value:
    """Return a new leader starts with the high watermark that it had as a follower."""
    return k.all_of(
        *[
            implies(
                k,
                k.all_of(s.leader == leader, s.leader_knows != ELECTED, s.ghost_committed[offset] != EMPTY),
                s.high_watermark[leader] > offset,
            )
            for leader in everyone(s)
            for offset in offsets(s)
        ]
    )


PROPERTY = Property(
    name="hw-monotonic",
    says="the current leader, once it has applied its leadership, has no lower high watermark than an earlier leader has shown",
    condition=hw_monotonic,
    needs=(
        "ghost_committed",
        "high_watermark",
        "leader_knows",
    ),
    violated_by="kraft",
    source="P-LHW, KIP-207: known not to hold at a new leader; ListOffsets waits for it since 2.2",
)
