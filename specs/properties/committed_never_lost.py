"""A record that was below a leader's high watermark is in the log of every later leader."""

from __future__ import annotations

from typing import Any

from neverlost.model.kernel import Value, implies
from neverlost.model.kraft.broker.log import EMPTY, offsets
from neverlost.model.kraft.state import ELECTED, everyone
from neverlost.specs.property import Property


def committed_never_lost(k: Any, s: Any) -> Value:
    """Once the current leader has applied its leadership, its log holds every committed record at its offset."""
    return k.all_of(
        *[
            implies(
                k,
                k.all_of(s.leader == leader, s.leader_knows != ELECTED, s.ghost_committed[offset] != EMPTY),
                s.log_record[leader][offset] == s.ghost_committed[offset],
            )
            for leader in everyone(s)
            for offset in offsets(s)
        ]
    )


PROPERTY = Property(
    name="committed-never-lost",
    says="a record that was below the high watermark of the leader of its time is in the log of every later leader",
    failure="loses committed records",
    condition=committed_never_lost,
    needs=("ghost_committed", "leader_knows", "log_record"),
    violated_by="kraft",
    source="kafka-scenarios P-VIS",
)
