"""Where the high watermark advances, and what follows from it: records are committed, and producers are answered.

A leader's high watermark is the smallest log end offset that it knows of in its *maximal* ISR: the ISR that the controller
has confirmed and the change that it has asked for.  Waiting for both makes it safe that the leader does not know which of
them the controller has (KIP-497).

Source: Partition.scala (maybeIncrementLeaderHW, checkEnoughReplicasReachOffset, isUnderMinIsr), DelayedProduce.
"""

from __future__ import annotations

from neverlost.model.kernel import Primitives, Value, count
from neverlost.model.kraft.broker.log import epoch_of, log_end, offsets
from neverlost.model.kraft.state import ACKS, is_isr_big_enough, minimum_isr, others
from neverlost.model.system import View


def is_waited_for(k: Primitives, s: View, leader: int, follower: int) -> Value:
    """Return True if a follower is in the ISR that the leader knows or, with `maximal_isr`, the leader has asked to add it."""
    return k.any_of(s.leader_isr[leader][follower], k.all_of(s.maximal_isr, s.pending[leader] == follower))


def raise_high_watermark(k: Primitives, s: View, leader: int) -> None:
    """Effect: the high watermark rises to the smallest log end offset that the leader knows of in its maximal ISR.

    It stays while the known ISR is below the minimum (where it is strict, KAFKA-15583): else no ELR member need have what is
    committed.  What is below it is committed, acknowledged with acks=all, and counts as fetched by all the leader waits for.
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
    note_committed(k, s, leader)
    answer_producers(k, s, leader, count(k, [True, *waited.values()]) >= minimum_isr(k, s, leader))


def note_committed(k: Primitives, s: View, leader: int) -> None:
    """Effect: note what is below the leader's high watermark as committed, unless another record was committed there before."""
    for offset in offsets(s):
        is_first = k.all_of(s.high_watermark[leader] > offset, s.ghost_committed[offset] == 0)
        s.ghost_committed[offset] = k.ite(is_first, s.log_record[leader][offset], s.ghost_committed[offset])


def answer_producers(k: Primitives, s: View, leader: int, is_full: Value) -> None:
    """Effect: with acks=all, what is below the high watermark is acknowledged if `is_full`: the maximal ISR is big enough.

    With acks=min.insync.replicas, which is proposed, a record is acknowledged that so many ISR members have, below the high
    watermark or not; under `fenced-longest-log`, one at or before a record of the leader's own epoch that so many have.
    """
    counts = [_copies(k, s, leader, offset) >= minimum_isr(k, s, leader) for offset in offsets(s)]
    copied = [k.all_of(s.acks == ACKS["min.insync.replicas"], each) for each in counts]
    if s.sizes.asks_for_logs:
        own = [epoch_of(k, s, record) == s.led_epoch[leader] for record in s.log_record[leader]]
        copied = [k.any_of(*map(k.all_of, copied[offset:], own[offset:])) for offset in offsets(s)]
    for offset in offsets(s):
        passed = k.all_of(s.acks == ACKS["all"], s.high_watermark[leader] > offset, is_full)
        acknowledge(k, s, s.log_record[leader][offset], k.any_of(passed, copied[offset]))


def _copies(k: Primitives, s: View, leader: int, offset: int) -> Value:
    """Return how many ISR members, the leader included, it knows to have an offset; 1 unless acks=min.insync.replicas."""
    known = [
        k.all_of(s.acks == ACKS["min.insync.replicas"], s.leader_isr[leader][each], s.fetch_offset[leader][each] > offset)
        for each in others(s, leader)
    ]
    return count(k, [True, *known])


def acknowledge(k: Primitives, s: View, record: Value, when: Value) -> None:
    """Effect: a record (0: none) is acknowledged to the producer, if `when` is true."""
    for each in range(s.sizes.record):
        s.ghost_acked[each] = k.any_of(s.ghost_acked[each], k.all_of(when, record == each + 1))


def settle_epoch_start(k: Primitives, s: View, leader: int) -> None:
    """Effect: set the leader epoch's start offset to 0 if `leader` is the current one and its high watermark reaches it."""
    covered = k.all_of(s.leader == leader, s.high_watermark[leader] >= s.leader_epoch_start_offset)
    s.leader_epoch_start_offset = k.ite(covered, 0, s.leader_epoch_start_offset)
