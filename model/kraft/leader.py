"""What a broker does that takes itself for the leader: append, note fetches, raise the high watermark, acknowledge.

Source: Partition.scala (appendRecordsToLeader, updateFollowerFetchState, maybeIncrementLeaderHW,
checkEnoughReplicasReachOffset).
"""

from __future__ import annotations

from typing import Any

from neverlost.model.kernel import NOBODY, Clauses, Value, action, count, different, larger
from neverlost.model.kraft.log import append, has_room, is_prefix, log_end, offsets
from neverlost.model.kraft.state import ACKS, UP_TO_DATE, everyone, is_isr_big_enough, minimum_isr, others


def leads(s: Any, broker: int) -> Value:
    """Whether a broker takes itself for the leader."""
    return s.follows[broker] == broker


def is_answered(k: Any, s: Any, follower: int, leader: int) -> Value:
    """Whether a leader would answer a follower's fetch: both in one epoch where fetches are fenced, else if it leads."""
    asks = s.follows[follower] == leader
    return asks if s.sizes["fenced_fetch"] else k.all_of(asks, leads(s, leader))


def logs_agree(k: Any, s: Any, follower: int, leader: int) -> Value:
    """Whether a leader finds nothing wrong with a fetch: without a look at the epochs, that it is not beyond its log."""
    if s.sizes["compares_logs"]:
        return is_prefix(k, s, follower, leader)
    return log_end(k, s, follower) <= log_end(k, s, leader)


def is_newest_leader(k: Any, s: Any, broker: int) -> Value:
    """Whether a broker leads in the controller's leader epoch and knows the controller's partition epoch."""
    return k.all_of(s.leader == broker, s.leader_knows == UP_TO_DATE)


def is_waited_for(k: Any, s: Any, leader: int, follower: int) -> Value:
    """Whether a follower is in the leader's maximal ISR: the ISR it knows and the change it has asked for."""
    return k.any_of(s.leader_isr[leader][follower], k.all_of(s.maximal_isr, s.pending[leader] == follower))


def raise_high_watermark(k: Any, s: Any, leader: int) -> None:
    """Effect: the high watermark becomes the smallest log end offset that the leader knows of in its maximal ISR.

    It stays while the known ISR is below the minimum (where the high watermark is strict).  Records that it passes are
    committed and, with acks=all, acknowledged.
    """
    old = s.high_watermark[leader]
    new = log_end(k, s, leader)
    waited = {each: is_waited_for(k, s, leader, each) for each in others(s, leader)}
    for follower, waits in waited.items():
        known = s.fetch_offset[leader][follower]
        new = k.ite(k.all_of(waits, known < new), known, new)
    enough = k.any_of(k.not_(s.strict_high_watermark), is_isr_big_enough(k, s, list(s.leader_isr[leader]), leader))
    new = k.ite(k.all_of(enough, new > old), new, old)
    s.high_watermark[leader] = new
    for follower, waits in waited.items():
        known = s.fetch_offset[leader][follower]
        s.fetch_offset[leader][follower] = k.ite(k.all_of(waits, known < new), new, known)
    least = minimum_isr(k, s, leader)
    answered = count(k, [True, *waited.values()]) >= least
    for offset in offsets(s):
        passed = new > offset
        here = s.log_record[leader][offset]
        s.ghost_committed[offset] = k.ite(k.all_of(passed, s.ghost_committed[offset] == 0), here, s.ghost_committed[offset])
        acked = k.all_of(s.acks == ACKS["all"], passed, answered)
        enough_copies = k.all_of(
            s.acks == ACKS["min.insync.replicas"], _copies(k, s, leader, offset) >= minimum_isr(k, s, leader)
        )
        acknowledge(k, s, here, k.any_of(acked, enough_copies))


def _copies(k: Any, s: Any, leader: int, offset: int) -> Value:
    """How many ISR members, the leader included, are known to have an offset; only acks=min.insync.replicas counts them."""
    known = [
        k.all_of(s.acks == ACKS["min.insync.replicas"], s.leader_isr[leader][each], s.fetch_offset[leader][each] > offset)
        for each in others(s, leader)
    ]
    return count(k, [True, *known])


def acknowledge(k: Any, s: Any, record: Value, when: Value) -> None:
    """Effect: the producer is told that a record (0: none) is written."""
    for each in range(s.sizes["record"]):
        s.ghost_acked[each] = k.any_of(s.ghost_acked[each], k.all_of(when, record == each + 1))


def settle_epoch_start(k: Any, s: Any, leader: int) -> None:
    """Effect: forget the leader epoch's start offset once the newest leader's high watermark covers it."""
    covered = k.all_of(s.leader == leader, s.high_watermark[leader] >= s.leader_epoch_start)
    s.leader_epoch_start = k.ite(covered, 0, s.leader_epoch_start)


def forget_leadership(k: Any, s: Any, broker: int, when: Value = True) -> None:
    """Effect: drop what a leader keeps in memory, and leave its followers without a leader that would answer."""
    s.pending[broker] = k.ite(when, NOBODY, s.pending[broker])
    for each in everyone(s):
        s.leader_isr[broker][each] = k.all_of(k.not_(when), s.leader_isr[broker][each])
        s.fetch_offset[broker][each] = k.ite(when, 0, s.fetch_offset[broker][each])
    if s.sizes["epochs"]:
        s.led_epoch[broker] = k.ite(when, 0, s.led_epoch[broker])
    if s.sizes["fenced_fetch"]:
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


def put_in_log(k: Any, s: Any, leader: int, record: Value) -> None:
    """Effect: the leader appends a record; with acks 0 or 1 that is all that the producer waits for."""
    append(k, s, leader, record)
    if s.sizes["epochs"]:
        for each in range(s.sizes["record"]):
            s.record_epoch[each] = k.ite(record == each + 1, s.led_epoch[leader], s.record_epoch[each])
    acknowledge(k, s, record, s.acks <= ACKS["1"])
    raise_high_watermark(k, s, leader)


def accepts_writes(k: Any, s: Any, leader: int) -> Value:
    """Whether the leader knows of enough in-sync replicas for this producer; acks 0 and 1 are never refused."""
    return k.any_of(s.acks <= ACKS["1"], is_isr_big_enough(k, s, list(s.leader_isr[leader]), leader))


@action(leader="replica", says="{leader} receives the producer's next record")
def leader_append(k: Any, s: Any, leader: int) -> Clauses:
    yield "takes itself for the leader", leads(s, leader)
    yield "bound: a record is left", s.next_record < s.sizes["record"]
    yield "bound: a slot is left", has_room(k, s, leader)
    yield "enough in-sync replicas", accepts_writes(k, s, leader)
    record = s.next_record + 1
    s.next_record = record
    put_in_log(k, s, leader, record)


@action(
    record="retried",
    leader="replica",
    says="the producer, without an answer, sends {record} again to {leader}",
    fault="producer_retry",
)
def leader_append_retry(k: Any, s: Any, record: int, leader: int) -> Clauses:
    """A leader that finds the record's sequence number in its log answers without appending."""
    yield "bound: a retry is left", s.producer_retry_left > 0
    yield "was sent", s.next_record > record
    yield "takes itself for the leader", leads(s, leader)
    yield "bound: a slot is left", has_room(k, s, leader)
    yield "enough in-sync replicas", accepts_writes(k, s, leader)
    known = k.any_of(*[s.log_record[leader][offset] == record + 1 for offset in offsets(s)])
    yield "not recognised as a duplicate", k.not_(k.all_of(s.idempotence, known))
    s.producer_retry_left = s.producer_retry_left - 1
    put_in_log(k, s, leader, record + 1)


@action(leader="replica", says="the producer's next record is lost in transit; with acks=0 it counts as sent")
def producer_send_into_the_void(k: Any, s: Any, leader: int) -> Clauses:
    """`leader` is the broker that the record was meant for."""
    yield "acks=0", s.acks == ACKS["0"]
    yield "meant for the leader", s.leader == leader
    yield "bound: a record is left", s.next_record < s.sizes["record"]
    s.next_record = s.next_record + 1
    acknowledge(k, s, s.next_record, True)


@action(leader="replica", follower="replica", where=different, says="{leader} handles the fetch of {follower}")
def leader_note_fetch(k: Any, s: Any, leader: int, follower: int) -> Clauses:
    """The fetch offset of an ISR member tells the leader what it has; the answer is another step."""
    yield "follower is in the leader's epoch", is_answered(k, s, follower, leader)
    yield "follower is in the maximal ISR", is_waited_for(k, s, leader, follower)
    known = larger(k, log_end(k, s, follower), s.high_watermark[leader])
    yield "bound: tells something new", known != s.fetch_offset[leader][follower]
    yield "logs agree", k.any_of(k.not_(s.diverging_fetch_ignored), logs_agree(k, s, follower, leader))
    s.fetch_offset[leader][follower] = known
    raise_high_watermark(k, s, leader)
    settle_epoch_start(k, s, leader)
