"""Every member of the current leader's ISR that follows it has the leader's log up to the leader's high watermark."""

from __future__ import annotations

from typing import Any

from neverlost.model.kernel import Value, implies
from neverlost.model.kraft.broker.leader import is_answered
from neverlost.model.kraft.state import UP_TO_DATE, everyone
from neverlost.specs.property import Property


def knows_newest_epoch(k: Any, s: Any, follower: int, leader: int) -> Value:
    """Return True if a follower is in the leader's epoch; where fetches are fenced, being answered says so."""
    answered = is_answered(k, s, follower, leader)
    return answered if s.sizes.fenced_fetch else k.all_of(answered, k.not_(s.is_stale[follower]))


def isr_matches_leader(k: Any, s: Any) -> Value:
    """Unlike log-matching it does not count brokers that do not yet know the current leader and have yet to truncate."""
    return k.all_of(
        *[
            implies(
                k,
                k.all_of(
                    s.leader == leader,
                    s.leader_knows == UP_TO_DATE,
                    s.leader_isr[leader][follower],
                    knows_newest_epoch(k, s, follower, leader),
                    s.high_watermark[leader] > offset,
                    s.high_watermark[follower] > offset,
                ),
                s.log_record[leader][offset] == s.log_record[follower][offset],
            )
            for leader in everyone(s)
            for follower in everyone(s)
            if leader != follower
            for offset in range(s.sizes.offset)
        ]
    )


PROPERTY = Property(
    name="isr-matches-leader",
    says="a member of the current leader's ISR that follows it agrees with it at every offset below both high watermarks",
    condition=isr_matches_leader,
    needs=("follows", "high_watermark", "leader_isr", "leader_knows", "log_record"),
    violated_by="kraft",
    source="KIP-101 scenario 2, KIP-279; WeakIsr of the public TLA+ modules, for brokers with memory and restarts",
)
