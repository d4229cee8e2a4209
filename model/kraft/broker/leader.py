"""What a broker does that believes it is leader: append, handle fetches, adopt the ISR that the controller has confirmed.

Source: Partition.scala (appendRecordsToLeader, updateFollowerFetchState, makeLeader, makeFollower).
"""

from __future__ import annotations

from neverlost.model.faults import PRODUCER_RETRY
from neverlost.model.kernel import NO_REPLICA, Clauses, Primitives, Value, action, count, different, larger
from neverlost.model.kraft.broker.high_watermark import acknowledge, is_waited_for, raise_high_watermark, settle_epoch_start
from neverlost.model.kraft.broker.log import EMPTY, agreed_end, append, has_beyond, has_room, is_prefix, log_end, offsets
from neverlost.model.kraft.state import ACKS, ELECTED, UP_TO_DATE, everyone, is_isr_big_enough, others
from neverlost.model.limits import fault_enabled, record_fault
from neverlost.model.system import View


def leads(s: View, broker: int) -> Value:
    """Return True if a broker believes it is leader, rightly or not."""
    return s.follows[broker] == broker


def is_answered(k: Primitives, s: View, follower: int, leader: int) -> Value:
    """Return True if a follower follows `leader` (which, without fenced fetches, must lead) and awaits no late answer of it."""
    asks = s.follows[follower] == leader
    if s.sizes.late_responses:
        asks = k.all_of(asks, s.diverging_sender[follower] != leader)
    return asks if s.sizes.fenced_fetch else k.all_of(asks, leads(s, leader))


def logs_agree(k: Primitives, s: View, follower: int, leader: int) -> Value:
    """Return True if a leader takes a follower's log for a beginning of its own; where logs are not compared, if not longer."""
    if s.sizes.late_bytes:
        return agreed_end(k, s, follower, leader) == log_end(k, s, follower)
    if s.sizes.compares_logs:
        return is_prefix(k, s, follower, leader)
    return log_end(k, s, follower) <= log_end(k, s, leader)


def is_up_to_date_leader(k: Primitives, s: View, broker: int) -> Value:
    """Return True if a broker leads in the controller's leader epoch and knows the controller's partition epoch."""
    return k.all_of(s.leader == broker, s.leader_knows == UP_TO_DATE)


def note_late_responses(k: Primitives, s: View, leader: int, when: Value) -> None:
    """Effect, if `when` is true: `leader`, deposed, may still answer the followers whose log is a beginning of its own."""
    if not s.sizes.late_bytes:
        return
    for each in others(s, leader):
        asks = k.all_of(when, s.follows[each] == leader, has_beyond(k, s, leader, each), logs_agree(k, s, each, leader))
        s.late_sender[each] = k.ite(asks, leader, s.late_sender[each])
        s.late_epoch[each] = k.ite(asks, s.led_epoch[leader], s.late_epoch[each])


def forget_late_response(k: Primitives, s: View, follower: int, when: Value = True) -> None:
    """Effect, if `when` is true: forget that a deposed leader may still send a response to `follower`."""
    if s.sizes.late_bytes:
        s.late_sender[follower] = k.ite(when, NO_REPLICA, s.late_sender[follower])
        s.late_epoch[follower] = k.ite(when, 0, s.late_epoch[follower])


def forget_leadership(k: Primitives, s: View, broker: int, when: Value = True) -> None:
    """Effect, if `when` is true: drop what a leader keeps in memory; with fenced fetches its followers then have no leader."""
    s.pending[broker] = k.ite(when, NO_REPLICA, s.pending[broker])
    if s.sizes.reassignment:
        s.late_record[broker] = k.all_of(k.not_(when), s.late_record[broker])
        if s.sizes.effective_min_isr:
            s.replicas_known[broker] = k.ite(when, 0, s.replicas_known[broker])
    note_late_responses(k, s, broker, when)
    for each in everyone(s):
        s.leader_isr[broker][each] = k.all_of(k.not_(when), s.leader_isr[broker][each])
        s.fetch_offset[broker][each] = k.ite(when, 0, s.fetch_offset[broker][each])
    if s.sizes.epochs:
        s.led_epoch[broker] = k.ite(when, 0, s.led_epoch[broker])
    if s.sizes.fenced_fetch:
        for each in others(s, broker):
            s.follows[each] = k.ite(k.all_of(when, s.follows[each] == broker), NO_REPLICA, s.follows[each])


def leave_request_behind(k: Primitives, s: View, replica: Value, when: Value = True) -> None:
    """Effect, if `when` is true: note that the forgotten request about `replica` may still be on its way, unless outdated."""
    if not s.sizes.copies_requests:
        return
    is_over = k.any_of(k.not_(when), s.request_outdated)
    s.forgotten = k.ite(is_over, s.forgotten, replica)
    if s.sizes.fetches_unregistered:
        s.forgotten_names_no_epoch = k.ite(is_over, s.forgotten_names_no_epoch, s.request_names_no_epoch)


def drop_pending(k: Primitives, s: View, leader: int) -> None:
    """Effect: the leader gives up the change that it asked for; its high watermark waits for no added replica, and may rise."""
    for each in everyone(s):
        dropped = k.all_of(s.pending[leader] == each, k.not_(s.leader_isr[leader][each]))
        s.fetch_offset[leader][each] = k.ite(dropped, 0, s.fetch_offset[leader][each])
    s.pending[leader] = NO_REPLICA
    raise_high_watermark(k, s, leader)
    settle_epoch_start(k, s, leader)


def adopt_isr(k: Primitives, s: View, leader: int) -> None:
    """Effect: the leader takes the controller's ISR, with no change pending, and is up to date; its high watermark may rise."""
    s.pending[leader] = NO_REPLICA
    s.request_outdated = False
    for each in everyone(s):
        s.leader_isr[leader][each] = s.isr[each]
    for each in others(s, leader):
        s.fetch_offset[leader][each] = k.ite(s.isr[each], s.fetch_offset[leader][each], 0)
    s.leader_knows = UP_TO_DATE
    if s.sizes.reassignment:
        s.assignment_to_come = False
        if s.sizes.effective_min_isr:
            s.replicas_known[leader] = count(k, list(s.is_replica))
    raise_high_watermark(k, s, leader)
    settle_epoch_start(k, s, leader)


def put_in_log(k: Primitives, s: View, leader: int, record: Value) -> None:
    """Effect: the leader appends a record, acknowledges it if acks is 0 or 1, and raises its high watermark where it can."""
    append(k, s, leader, record)
    if s.sizes.epochs:
        for each in range(s.sizes.record):
            s.record_epoch[each] = k.ite(record == each + 1, s.led_epoch[leader], s.record_epoch[each])
    acknowledge(k, s, record, s.acks <= ACKS["1"])
    raise_high_watermark(k, s, leader)


def accepts_writes(k: Primitives, s: View, leader: int) -> Value:
    """Return True if the leader knows of enough in-sync replicas for this producer; acks 0 and 1 are never refused."""
    return k.any_of(s.acks <= ACKS["1"], is_isr_big_enough(k, s, list(s.leader_isr[leader]), leader))


@action(leader="replica", says="{leader} receives the producer's next record")
def leader_append(k: Primitives, s: View, leader: int) -> Clauses:
    """Any broker that believes it is leader appends, a stale one of an older epoch too; only what is committed counts.

    Unless acks is 0 or 1 it refuses while it knows of fewer than min.insync.replicas in-sync replicas (NOT_ENOUGH_REPLICAS),
    so that no producer waits for an acknowledgement that one more failure could break.
    """
    yield "believes it is leader", leads(s, leader)
    yield "bound: a record is left", s.next_record < s.sizes.record
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
def leader_append_retry(k: Primitives, s: View, record: int, leader: int) -> Clauses:
    """A record that is sent again is appended again, unless idempotence lets the leader find its sequence number in its log.

    Without idempotence the retry of a record whose answer was lost is in the log twice (KIP-98).
    """
    yield from fault_enabled(k, s, PRODUCER_RETRY)
    yield "was sent", s.next_record > record
    yield "believes it is leader", leads(s, leader)
    yield "bound: a slot is left", has_room(k, s, leader)
    yield "enough in-sync replicas", accepts_writes(k, s, leader)
    known = k.any_of(*[s.log_record[leader][offset] == record + 1 for offset in offsets(s)])
    yield "not recognised as a duplicate", k.not_(k.all_of(s.idempotence, known))
    record_fault(s, PRODUCER_RETRY)
    put_in_log(k, s, leader, record + 1)


@action(leader="replica", says="the producer's next record is lost in transit; with acks=0 it counts as sent")
def producer_send_lost_in_transit(k: Primitives, s: View, leader: int) -> Clauses:
    """With acks=0 a record that never arrives counts as acknowledged; `leader` is the broker that it was meant for."""
    yield "acks=0", s.acks == ACKS["0"]
    yield "meant for the leader", s.leader == leader
    yield "bound: a record is left", s.next_record < s.sizes.record
    s.next_record = s.next_record + 1
    acknowledge(k, s, s.next_record, True)


@action(leader="replica", follower="replica", where=different, says="{leader} handles the fetch of {follower}")
def leader_note_fetch(k: Primitives, s: View, leader: int, follower: int) -> Clauses:
    """The leader notes the fetch offset of a follower that it waits for; its high watermark may rise.  The response is later.

    With `diverging-fetch-ignored` (KAFKA-13141) a fetch whose log diverges counts for nothing; else the leader commits
    records that the follower is about to truncate.
    """
    yield "follower is in the leader's epoch", is_answered(k, s, follower, leader)
    yield "follower is in the maximal ISR", is_waited_for(k, s, leader, follower)
    known = larger(k, log_end(k, s, follower), s.high_watermark[leader])
    yield "bound: a new fetch offset", known != s.fetch_offset[leader][follower]
    yield "logs agree", k.any_of(k.not_(s.diverging_fetch_ignored), logs_agree(k, s, follower, leader))
    s.fetch_offset[leader][follower] = known
    raise_high_watermark(k, s, leader)
    settle_epoch_start(k, s, leader)


@action(leader="stalling", offset="offset", says="a request thread of {leader} stands still before it waits for the followers")
def leader_stall_request(k: Primitives, s: View, leader: int, offset: int) -> Clauses:
    """The request of a record that is in the log has other partitions to append to, and so is in no purgatory yet.

    Only there would it be answered when the broker becomes a follower.  One request at a time stands still, and only on a
    leader that was deposed, or elected anew, and has not noticed.

    Source: ReplicaManager.appendRecords (the loop of appendToLocalLog, then delayedProducePurgatory.tryCompleteElseWatch).
    """
    yield "believes it is leader", leads(s, leader)
    yield "bound: deposed and has not noticed", k.any_of(s.leader != leader, s.leader_knows == ELECTED)
    yield "bound: no other request stands still", s.stalled_on == NO_REPLICA
    record = s.log_record[leader][offset]
    yield "appended here", record != EMPTY
    acked = [k.all_of(record == each + 1, s.ghost_acked[each]) for each in range(s.sizes.record)]
    yield "not answered yet", k.not_(k.any_of(*acked))
    s.stalled_on = leader
    s.stalled_record = record
    s.stalled_offset = offset


@action(leader="stalling", says="a request that stood still on {leader} is answered with success")
def leader_answer_stalled_request(k: Primitives, s: View, leader: int) -> Clauses:
    """The request succeeds by its offset: the broker leads now and its high watermark is beyond, whatever record is there now.

    Source: Partition.checkEnoughReplicasReachOffset, DelayedProduce.tryComplete, ProducePartitionStatus.
    """
    yield "stands still here", s.stalled_on == leader
    yield "believes it is leader", leads(s, leader)
    yield "high watermark is beyond its offset", s.high_watermark[leader] > s.stalled_offset
    yield "enough in-sync replicas", accepts_writes(k, s, leader)
    acknowledge(k, s, s.stalled_record, True)
    s.stalled_on = NO_REPLICA
    s.stalled_record = EMPTY
    s.stalled_offset = 0


LEADER_ACTIONS = (
    leader_append,
    leader_append_retry,
    producer_send_lost_in_transit,
    leader_note_fetch,
    leader_stall_request,
    leader_answer_stalled_request,
)
