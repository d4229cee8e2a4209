"""No leader of the newest epoch lacks an acknowledged record of the quorum's log."""

from __future__ import annotations

from typing import Any

from neverlost.model.kernel import Value, implies
from neverlost.model.quorum.log import holds_readable
from neverlost.model.quorum.roles import is_leader
from neverlost.specs.property import Property


def quorum_keeps_acked(k: Any, s: Any) -> Value:
    """A leader is of the newest epoch when no voter, running or not, knows of a newer one."""
    voters = range(s.sizes.replica)
    newest = [
        k.all_of(is_leader(s, leader), *[s.epoch[each] <= s.epoch[leader] for each in voters if each != leader])
        for leader in voters
    ]
    return k.all_of(
        *[
            implies(k, k.all_of(newest[leader], s.ghost_acked[record]), holds_readable(k, s, leader, record))
            for leader in voters
            for record in range(s.sizes.record)
        ]
    )


PROPERTY = Property(
    name="quorum-keeps-acked",
    says="no leader of the newest epoch lacks an acknowledged record of the quorum's log",
    failure="loses acknowledged metadata",
    condition=quorum_keeps_acked,
    needs=("epoch", "ghost_acked", "log_record", "role"),
    violated_by="kraft-quorum",
    source="LeaderHasAllAckedValues of KRaft.tla and PullRaft.tla; Raft 5.4, leader completeness",
)
