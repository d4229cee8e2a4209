"""What a broker does that takes itself for the leader: append, raise the high watermark, keep the ISR.

Source: Partition.scala (appendRecordsToLeader, maybeIncrementLeaderHW, maybeExpandIsr, maybeShrinkIsr).
"""

from __future__ import annotations

from typing import Any

from model.kernel import NOBODY, Clauses, Value, action, count, different, larger
from model.modern_log import append, is_prefix, log_end, offsets
from model.modern_state import ACKS, UP_TO_DATE, everyone, others


def leads(s: Any, broker: int) -> Value:
    """Whether a broker takes itself for the leader."""
    return s.follows[broker] == broker


def is_newest_leader(k: Any, s: Any, broker: int) -> Value:
    """Whether a broker leads in the controller's leader epoch and knows the controller's partition epoch."""
    return k.all_of(s.leader == broker, s.leader_knows == UP_TO_DATE)


def is_waited_for(k: Any, s: Any, leader: int, follower: int) -> Value:
    """Whether a follower is in the leader's maximal ISR: the ISR it knows and the change it has asked for."""
    return k.any_of(s.leader_isr[leader][follower], s.pending[leader] == follower)


def raise_high_watermark(k: Any, s: Any, leader: int) -> None:
    """Effect: the high watermark becomes the smallest log end offset that the leader knows of in its maximal ISR.

    It stays while the known ISR is below the minimum.  Records that it passes are committed and, with acks=all,
    acknowledged.
    """
    old = s.high_watermark[leader]
    new = log_end(k, s, leader)
    for follower in others(s, leader):
        known = s.fetch_offset[leader][follower]
        new = k.ite(k.all_of(is_waited_for(k, s, leader, follower), known < new), known, new)
    is_enough = count(k, list(s.leader_isr[leader])) >= s.min_isr
    new = k.ite(k.all_of(is_enough, new > old), new, old)
    s.high_watermark[leader] = new
    for follower in others(s, leader):
        known = s.fetch_offset[leader][follower]
        behind = k.all_of(is_waited_for(k, s, leader, follower), known < new)
        s.fetch_offset[leader][follower] = k.ite(behind, new, known)
    for record in range(s.sizes["record"]):
        passed = k.any_of(*[k.all_of(s.log_record[leader][o] == record + 1, new > o) for o in offsets(s)])
        s.ghost_committed[record] = k.any_of(s.ghost_committed[record], passed)
        s.ghost_acked[record] = k.any_of(s.ghost_acked[record], k.all_of(s.acks == ACKS["all"], passed))


def forget_leadership(k: Any, s: Any, broker: int, when: Value = True) -> None:
    """Effect: drop what a leader keeps in memory, and leave its followers without a leader."""
    s.pending[broker] = k.ite(when, NOBODY, s.pending[broker])
    for each in everyone(s):
        s.leader_isr[broker][each] = k.all_of(k.not_(when), s.leader_isr[broker][each])
        s.fetch_offset[broker][each] = k.ite(when, 0, s.fetch_offset[broker][each])
    for each in others(s, broker):
        s.follows[each] = k.ite(k.all_of(when, s.follows[each] == broker), NOBODY, s.follows[each])


def adopt_isr(k: Any, s: Any, leader: int) -> None:
    """Effect: the leader takes the ISR from the controller; a change that it asked for is settled by that."""
    s.pending[leader] = NOBODY
    s.request_outdated = False
    for each in everyone(s):
        s.leader_isr[leader][each] = s.isr[each]
    for each in others(s, leader):
        s.fetch_offset[leader][each] = k.ite(s.isr[each], s.fetch_offset[leader][each], 0)
    s.leader_knows = UP_TO_DATE
    raise_high_watermark(k, s, leader)
    settle_epoch_start(k, s, leader)


def settle_epoch_start(k: Any, s: Any, leader: int) -> None:
    """Effect: forget the leader epoch's start offset once the newest leader's high watermark covers it."""
    covered = k.all_of(s.leader == leader, s.high_watermark[leader] >= s.leader_epoch_start)
    s.leader_epoch_start = k.ite(covered, 0, s.leader_epoch_start)


@action(leader="replica", says="the producer's next record reaches leader {leader}, which appends it")
def leader_append(k: Any, s: Any, leader: int) -> Clauses:
    yield "takes itself for the leader", leads(s, leader)
    yield "bound: a record is left", s.next_record < s.sizes["record"]
    is_enough = count(k, list(s.leader_isr[leader])) >= s.min_isr
    yield "enough in-sync replicas", k.any_of(s.acks != ACKS["all"], is_enough)
    append(k, s, leader, s.next_record + 1)
    for record in range(s.sizes["record"]):
        answered = k.all_of(s.next_record == record, s.acks <= ACKS["1"])
        s.ghost_acked[record] = k.any_of(s.ghost_acked[record], answered)
    s.next_record = s.next_record + 1
    raise_high_watermark(k, s, leader)


@action(leader="replica", follower="replica", where=different, says="leader {leader} handles a fetch of {follower}, in sync")
def leader_note_fetch(k: Any, s: Any, leader: int, follower: int) -> Clauses:
    """The fetch offset of an ISR member tells the leader what it has; the answer is another step."""
    yield "follower is in the leader's epoch", s.follows[follower] == leader
    yield "follower is in the maximal ISR", is_waited_for(k, s, leader, follower)
    known = larger(k, log_end(k, s, follower), s.high_watermark[leader])
    yield "tells something new", known != s.fetch_offset[leader][follower]
    yield "logs agree", is_prefix(k, s, follower, leader)
    s.fetch_offset[leader][follower] = known
    raise_high_watermark(k, s, leader)
    settle_epoch_start(k, s, leader)


@action(leader="replica", follower="replica", where=different, says="leader {leader} asks to add {follower} to the ISR")
def leader_ask_to_expand_isr(k: Any, s: Any, leader: int, follower: int) -> Clauses:
    """A fetch of a replica outside the ISR makes the leader send AlterPartition when the replica has caught up."""
    yield "follower is in the leader's epoch", s.follows[follower] == leader
    yield "newest leader", is_newest_leader(k, s, leader)
    yield "no request in flight", s.pending[leader] == NOBODY
    yield "outside the ISR", k.not_(s.leader_isr[leader][follower])
    yield "logs agree", is_prefix(k, s, follower, leader)
    end = log_end(k, s, follower)
    yield "reached the high watermark", end >= s.high_watermark[leader]
    yield "reached the leader epoch's start", end >= s.leader_epoch_start
    yield "follower is not fenced", k.not_(s.is_fenced[follower])
    s.pending[leader] = follower
    s.fetch_offset[leader][follower] = end


@action(
    leader="replica",
    follower="replica",
    where=different,
    says="leader {leader} asks to drop slow broker {follower} from the ISR",
    fault="isr_shrink",
)
def leader_ask_to_shrink_isr(k: Any, s: Any, leader: int, follower: int) -> Clauses:
    yield "bound: a shrink is left", s.isr_shrink_left > 0
    yield "newest leader", is_newest_leader(k, s, leader)
    yield "no request in flight", s.pending[leader] == NOBODY
    yield "in the ISR", s.leader_isr[leader][follower]
    yield "follower is running", s.is_running[follower]
    s.isr_shrink_left = s.isr_shrink_left - 1
    s.pending[leader] = follower
