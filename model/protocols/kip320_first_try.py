"""KIP-320 as first tried: followers truncate when a fetch does not match, and send no current epoch.

Source: Kip320FirstTry.tla; never shipped.
"""

from __future__ import annotations

from neverlost.model.classic.log import latest_epoch, truncate
from neverlost.model.classic.protocol import (
    follow,
    has_offset,
    is_following,
    presumes_leadership,
    replicas,
    replicate,
    request_to_follow,
    set_isr_member,
    true_leader,
)
from neverlost.model.kernel import Clauses, Primitives, Value, action, at, different, smaller
from neverlost.model.protocols.kip279 import MODEL as KIP_279
from neverlost.model.protocols.kip279 import first_non_matching_offset
from neverlost.model.protocols.kip320 import has_high_watermark_reached_epoch
from neverlost.model.system import View


def epoch_before(k: Primitives, s: View, replica: int, end_offset: Value) -> Value:
    """Return the epoch of the record before an end offset of 1 or more; 0 beyond the log."""
    return at(k, list(s.log_epoch[replica]), end_offset - 1)


def is_caught_up_to_epoch(k: Primitives, s: View, leader: int, follower: int, end_offset: Value) -> Value:
    """Return True if `follower` follows this leader and both have the same epoch just before `end_offset`, or that is 0."""
    matches = k.all_of(
        s.log_end_offset[leader] >= end_offset,
        s.log_end_offset[follower] >= end_offset,
        epoch_before(k, s, leader, end_offset) == epoch_before(k, s, follower, end_offset),
    )
    return k.all_of(presumes_leadership(s, leader), is_following(s, follower, leader), k.any_of(end_offset == 0, matches))


@action(
    replica="replica",
    leader="replica",
    epoch="epoch",
    where=lambda replica, leader, epoch: replica != leader,
    says="broker {replica} applies LeaderAndIsr of epoch {epoch} and follows {leader} without truncating",
)
def become_follower(k: Primitives, s: View, replica: int, leader: int, epoch: int) -> Clauses:
    """The follower changes its epoch and leaves its log as it is; a later fetch that does not match makes it truncate.

    Source: Kip320FirstTry.tla, BecomeFollower.
    """
    yield from request_to_follow(k, s, replica, leader, epoch)
    follow(k, s, replica, leader, epoch)


@action(follower="replica", leader="replica", where=different, says="broker {follower} fetches from {leader}")
def follower_fetch(k: Primitives, s: View, follower: int, leader: int) -> Clauses:
    """A fetch names the epoch of the follower's last record, not the follower's current epoch; the leader compares that entry.

    Source: Kip320FirstTry.tla, FollowerFetch.
    """
    end = s.log_end_offset[follower]
    yield "log matches the leader's", is_caught_up_to_epoch(k, s, leader, follower, end)
    yield "leader has more", has_offset(s, leader, end)
    replicate(k, s, follower, leader)


@action(
    follower="replica",
    leader="replica",
    where=different,
    says="broker {follower} learns from {leader} that their logs diverge",
)
def follower_truncate(k: Primitives, s: View, follower: int, leader: int) -> Clauses:
    """A fetch beyond the leader's log, or whose last epoch differs there, makes the follower truncate to the common log.

    That may happen at any time in an epoch, also after the follower was counted for the high watermark.

    Source: Kip320FirstTry.tla, FollowerTruncate.
    """
    end = s.log_end_offset[follower]
    yield "presumes leadership", presumes_leadership(s, leader)
    yield "follows the leader", is_following(s, follower, leader)
    other_epoch = epoch_before(k, s, leader, end) != latest_epoch(k, s, follower)
    diverges = k.all_of(end > 0, s.log_end_offset[leader] >= end, other_epoch)
    yield "needs truncation", k.any_of(end > s.log_end_offset[leader], diverges)
    new_end = first_non_matching_offset(k, s, leader, follower)
    truncate(k, s, follower, new_end)
    s.high_watermark[follower] = smaller(k, new_end, s.high_watermark[follower])


@action(leader="replica", says="{leader} advances its high watermark")
def leader_advance_high_watermark(k: Primitives, s: View, leader: int) -> Clauses:
    """The high watermark rises by one if each ISR member's entry there is of the same epoch as the leader's entry.

    A member that is in an older epoch may have it too, truncate it on its way to the leader's epoch, and then be elected: this
    is what breaks strong-isr, and why KIP-320 sends the current epoch instead.

    Source: Kip320FirstTry.tla, ImprovedLeaderIncHighWatermark.
    """
    watermark = s.high_watermark[leader]
    yield "presumes leadership", presumes_leadership(s, leader)
    yield "leader has the record", has_offset(s, leader, watermark)
    for replica in replicas(s):
        reached = is_caught_up_to_epoch(k, s, leader, replica, watermark + 1)
        yield "ISR has the record", k.any_of(k.not_(s.isr[leader][replica]), reached)
    s.high_watermark[leader] = watermark + 1


@action(leader="replica", replica="replica", where=different, says="{leader} finds {replica} too slow")
def leader_shrink_isr(k: Primitives, s: View, leader: int, replica: int) -> Clauses:
    """An ISR member is removed that does not follow the leader, lags, or has another epoch where the leader's log ends.
    Source: Kip320FirstTry.tla, LeaderShrinkIsrBetterFencing."""
    yield from true_leader(k, s, leader)
    yield "in the leader's ISR", s.isr[leader][replica]
    yield "not caught up", k.not_(is_caught_up_to_epoch(k, s, leader, replica, s.log_end_offset[leader]))
    set_isr_member(s, leader, replica, False)


@action(leader="replica", replica="replica", where=different, says="{leader} finds {replica} caught up")
def leader_expand_isr(k: Primitives, s: View, leader: int, replica: int) -> Clauses:
    """A follower joins that matches the leader below the high watermark, once that is in the leader's epoch (KAFKA-7128).

    Source: Kip320FirstTry.tla, LeaderExpandIsrBetterFencing.
    """
    yield from true_leader(k, s, leader)
    yield "outside the leader's ISR", k.not_(s.isr[leader][replica])
    yield "reached the high watermark", is_caught_up_to_epoch(k, s, leader, replica, s.high_watermark[leader])
    yield "high watermark in the current epoch", has_high_watermark_reached_epoch(k, s, leader)
    set_isr_member(s, leader, replica, True)


_CHANGED = KIP_279.differing(
    "kip-320-first-try",
    "followers truncate when a fetch does not match, not on becoming followers (a rejected design)",
    replacing={
        each.name: each
        for each in (become_follower, follower_fetch, leader_advance_high_watermark, leader_shrink_isr, leader_expand_isr)
    },
    source="Kip320FirstTry.tla",
)
MODEL = _CHANGED.differing(_CHANGED.name, _CHANGED.summary, actions=(*_CHANGED.actions, follower_truncate))
