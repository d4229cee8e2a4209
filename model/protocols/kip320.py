"""KIP-320: fetches, truncation and ISR expansion are fenced by the leader epoch.

Rules added: a follower fetches and truncates only against a leader in its own epoch; only followers in the leader's epoch count
for the high watermark; a replica joins the ISR only after the high watermark has reached the leader's epoch.

Source: Kip320.tla; Kafka 2.1.
"""

from __future__ import annotations

from collections.abc import Callable

from neverlost.model.classic.protocol import (
    has_offset,
    is_following,
    presumes_leadership,
    replicate,
    request_to_follow,
    set_isr_member,
    true_leader,
    truncate_and_follow,
)
from neverlost.model.kernel import Clauses, Primitives, Value, action, at, different, for_every, implies
from neverlost.model.protocols.kip279 import MODEL as KIP_279
from neverlost.model.protocols.kip279 import first_non_matching_offset
from neverlost.model.system import View


def is_in_leader_epoch(k: Primitives, s: View, leader: int, follower: int) -> Value:
    """Return True if `leader` believes it leads, and `follower` follows it in the same leader epoch."""
    return k.all_of(
        presumes_leadership(s, leader),
        is_following(s, follower, leader),
        s.leader_epoch[follower] == s.leader_epoch[leader],
    )


def has_high_watermark_reached_epoch(k: Primitives, s: View, leader: int) -> Value:
    """Return True if the high watermark is at the log's end or at a record of the leader's own epoch."""
    watermark = s.high_watermark[leader]
    epoch_there = at(k, list(s.log_epoch[leader]), watermark)
    return k.any_of(
        watermark == s.log_end_offset[leader],
        k.all_of(has_offset(s, leader, watermark), epoch_there == s.leader_epoch[leader]),
    )


@action(follower="replica", leader="replica", where=different, says="broker {follower} fetches from {leader}")
def follower_fetch(k: Primitives, s: View, follower: int, leader: int) -> Clauses:
    """A fetch carries the follower's current leader epoch, and a leader of another epoch refuses it (FENCED_LEADER_EPOCH).

    Without it a broker that has not noticed its successor goes on serving followers, and these count for its high watermark
    (KAFKA-7395).  The logs agree by then, because truncation came before the first fetch.

    Source: Kip320.tla, FencedFollowerFetch.
    """
    yield "presumes leadership", presumes_leadership(s, leader)
    yield "follows the leader", is_following(s, follower, leader)
    yield "fetch epoch matches", s.leader_epoch[follower] == s.leader_epoch[leader]
    yield "leader has more", has_offset(s, leader, s.log_end_offset[follower])
    replicate(k, s, follower, leader)


@action(leader="replica", says="{leader} advances its high watermark")
def leader_advance_high_watermark(k: Primitives, s: View, leader: int) -> Clauses:
    """The high watermark rises by one offset when every ISR member has that offset and is in the leader's own epoch.

    A follower of an older epoch may still truncate the record on its way to this epoch; if it counted, a record would be
    committed that an electable replica is about to drop.

    Source: Kip320.tla, FencedLeaderIncHighWatermark.
    """
    watermark = s.high_watermark[leader]
    yield "leader has the record", has_offset(s, leader, watermark)

    def each_member(condition: Callable[[int], Value]) -> Value:
        return for_every(k, s, "replica", lambda each: implies(k, s.isr[leader][each], condition(each)))

    yield "ISR is in the leader's epoch", each_member(lambda each: is_in_leader_epoch(k, s, leader, each))
    yield "ISR has the record", each_member(lambda each: has_offset(s, each, watermark))
    s.high_watermark[leader] = watermark + 1


@action(leader="replica", replica="replica", where=different, says="{leader} finds {replica} too slow")
def leader_shrink_isr(k: Primitives, s: View, leader: int, replica: int) -> Clauses:
    """A follower is removed that lags, or that has not reached the leader's epoch and so cannot be counted.

    Source: Kip320.tla, FencedLeaderShrinkIsr.
    """
    yield from true_leader(k, s, leader)
    yield "in the leader's ISR", s.isr[leader][replica]
    lags = s.log_end_offset[replica] < s.log_end_offset[leader]
    yield "not caught up", k.any_of(k.not_(is_in_leader_epoch(k, s, leader, replica)), lags)
    set_isr_member(s, leader, replica, False)


@action(leader="replica", replica="replica", where=different, says="{leader} finds {replica} caught up")
def leader_expand_isr(k: Primitives, s: View, leader: int, replica: int) -> Clauses:
    """A follower joins the ISR at the high watermark, once that has reached the leader's own epoch.

    Until then the leader does not know how far the one before had committed: the members of the ISR have all of it, others may
    not, and one that is admitted too early can be elected without committed records (KAFKA-7128).

    Source: Kip320.tla, FencedLeaderExpandIsr.
    """
    yield from true_leader(k, s, leader)
    yield "outside the leader's ISR", k.not_(s.isr[leader][replica])
    yield "in the leader's epoch", is_in_leader_epoch(k, s, leader, replica)
    yield "reached the high watermark", s.log_end_offset[replica] >= s.high_watermark[leader]
    yield "high watermark in the current epoch", has_high_watermark_reached_epoch(k, s, leader)
    set_isr_member(s, leader, replica, True)


@action(
    replica="replica",
    leader="replica",
    epoch="epoch",
    where=lambda replica, leader, epoch: replica != leader,
    says="broker {replica} applies LeaderAndIsr of epoch {epoch} and follows {leader} from their last common entry on",
)
def become_follower(k: Primitives, s: View, replica: int, leader: int, epoch: int) -> Clauses:
    """Truncation is fenced as well: the leader must be in the epoch that the follower enters.

    A stale leader's log may still change, and the point found there with it; with `kip-279`'s rule that breaks strong-isr.

    Source: Kip320.tla, FencedBecomeFollowerAndTruncate.
    """
    yield from request_to_follow(k, s, replica, leader, epoch)
    yield "leader presumes leadership", presumes_leadership(s, leader)
    yield "leader is in the epoch", s.leader_epoch[leader] == epoch
    truncate_and_follow(k, s, replica, leader, epoch, first_non_matching_offset(k, s, leader, replica))


MODEL = KIP_279.differing(
    "kip-320",
    "fetches, truncation and ISR expansion are fenced by the leader epoch (Kafka 2.1)",
    replacing={
        each.name: each
        for each in (follower_fetch, leader_advance_high_watermark, leader_shrink_isr, leader_expand_isr, become_follower)
    },
    source="Kip320.tla",
)
