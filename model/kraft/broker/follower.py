"""What a follower does with a fetch response: append, learn the high watermark, truncate.

A fetch is two steps, because its request and its response do different things at different times: the leader notes the
fetch offset (`leader_note_fetch`, `leader_ask_to_expand_isr`), and the follower takes records together with the high
watermark that the leader had.  So a follower learns a high watermark one fetch after it helped to raise it.

Source: Partition.fetchRecords (the response is read before the follower's state is updated), ReplicaFetcherThread.
"""

from __future__ import annotations

from neverlost.model.kernel import NO_REPLICA, Clauses, Primitives, Value, action, different, implies, larger, smaller
from neverlost.model.kraft.broker.high_watermark import is_waited_for
from neverlost.model.kraft.broker.leader import forget_late_response, is_answered, logs_agree
from neverlost.model.kraft.broker.log import (
    EMPTY,
    agreed_end,
    common_end,
    copy_next,
    end_for_last_epoch,
    epoch_of,
    has_beyond,
    has_unknown_epoch,
    last_epoch,
    log_end,
    offsets,
    truncate_to,
    truncate_to_common,
)
from neverlost.model.kraft.sizes import BY_EPOCH, TO_HIGH_WATERMARK
from neverlost.model.system import View


@action(follower="replica", leader="replica", where=different, says="broker {follower} receives a fetch response of {leader}")
def follower_take_response(k: Primitives, s: View, follower: int, leader: int) -> Clauses:
    """The follower appends the leader's next record, if any; its high watermark rises to the leader's, at most its own log end.

    The leader reads before it notes the fetch offset, so the response never carries the high watermark that this very
    fetch raises: a follower that is elected may know a lower one than was exposed, and must not truncate to it (KIP-101).
    """
    yield "in the leader's epoch", is_answered(k, s, follower, leader)
    end = log_end(k, s, follower)
    known = larger(k, end, s.high_watermark[leader])
    asked = implies(k, is_waited_for(k, s, leader, follower), s.fetch_offset[leader][follower] == known)
    yield "bound: the request was handled", asked
    behind = k.all_of(s.high_watermark[follower] < end, s.high_watermark[follower] < s.high_watermark[leader])
    yield "bound: brings something", k.any_of(has_beyond(k, s, leader, follower), behind)
    if s.sizes.reassignment:
        yield "a replica", s.is_replica[follower]
    yield "logs agree", logs_agree(k, s, follower, leader)
    copy_next(k, s, leader, follower)
    reached = smaller(k, s.high_watermark[leader], log_end(k, s, follower))
    s.high_watermark[follower] = larger(k, reached, s.high_watermark[follower])


@action(
    follower="replica", leader="replica", where=different, says="broker {follower} learns from {leader} that their logs diverge"
)
def follower_truncate(k: Primitives, s: View, follower: int, leader: int) -> Clauses:
    """The follower truncates, since the logs diverge or its offset is out of range; the leader learns nothing from that.

    Where fetches compare logs it drops what follows the last entry that both share, found by leader epochs; elsewhere only
    what is beyond the leader's log end.  A high watermark beyond its own new log end is lowered to it.
    """
    yield "in the leader's epoch", is_answered(k, s, follower, leader)
    yield "bound: logs diverge", k.not_(logs_agree(k, s, follower, leader))
    if s.sizes.late_bytes:
        truncate_to(k, s, follower, agreed_end(k, s, follower, leader))
    elif s.sizes.compares_logs:
        truncate_to_common(k, s, follower, leader)
    else:
        truncate_to(k, s, follower, log_end(k, s, leader))
    lower_high_watermark(k, s, follower)


@action(
    follower="diverging_reader",
    leader="replica",
    where=different,
    says="broker {follower} takes the high watermark of {leader} from a diverging response, before it truncates",
)
def follower_note_high_watermark(k: Primitives, s: View, follower: int, leader: int) -> Clauses:
    """Until KAFKA-14704 a follower raised its high watermark to the leader's (at most to its own log end) before it truncated a
    log that diverges: readers may see what is about to go."""
    yield "high watermark comes first", k.not_(s.truncation_before_high_watermark)
    yield "in the leader's epoch", is_answered(k, s, follower, leader)
    yield "bound: logs diverge", k.not_(logs_agree(k, s, follower, leader))
    reached = smaller(k, s.high_watermark[leader], log_end(k, s, follower))
    yield "bound: it is higher", reached > s.high_watermark[follower]
    s.high_watermark[follower] = reached


@action(
    follower="late_reader",
    leader="replica",
    where=different,
    says="a response of {leader}, that the logs diverge, is on its way to broker {follower}",
)
def leader_send_diverging_response(k: Primitives, s: View, follower: int, leader: int) -> Clauses:
    """A diverging answer is on its way: the follower may read it after it has stopped following, or has followed anew.

    Until it is read the fetcher thread asks this leader for nothing else.
    """
    yield "in the leader's epoch", is_answered(k, s, follower, leader)
    yield "bound: logs diverge", k.not_(logs_agree(k, s, follower, leader))
    yield "nothing is on its way", s.diverging_sender[follower] == NO_REPLICA
    s.diverging_sender[follower] = leader
    s.diverging_end[follower] = common_end(k, s, follower, leader)


@action(
    follower="late_reader",
    leader="replica",
    where=different,
    says="broker {follower} truncates its log by a response that {leader} sent before",
)
def follower_truncate_late(k: Primitives, s: View, follower: int, leader: int) -> Clauses:
    """The log is truncated as the response says, if its sender is followed or nothing checks that: committed records may go.

    A leader would truncate its own log (KAFKA-13207); one that follows the same leader again, in a later epoch, drops what it
    has fetched since (KAFKA-18991).
    """
    yield "on its way", s.diverging_sender[follower] == leader
    owns = s.follows[follower] == leader
    yield "the fetcher owns the partition, or does not look", k.any_of(owns, s.sizes.truncates_when_removed)
    truncate_to(k, s, follower, s.diverging_end[follower])
    lower_high_watermark(k, s, follower)
    forget_response(k, s, follower)


@action(follower="late_reader", says="broker {follower} drops a response to a fetch of before")
def follower_drop_late_response(k: Primitives, s: View, follower: int) -> Clauses:
    """A follower that does not follow the sender drops its response: the partition has left its fetcher, or it is cut off."""
    sender = s.diverging_sender[follower]
    yield "on its way", sender != NO_REPLICA
    yield "not following its sender", sender != s.follows[follower]
    forget_response(k, s, follower)


@action(
    follower="late_follower",
    leader="replica",
    where=different,
    says="broker {follower} receives a fetch response that {leader} sends after its leadership",
)
def follower_take_late_bytes(k: Primitives, s: View, follower: int, leader: int) -> Clauses:
    """A response is a slice of the segment's file, and its bytes are read when the network thread sends them.

    By then the deposed leader may have truncated and copied another log; the follower, which has not learned of a new leader,
    appends what stands there now at its own log end.  Records have one size: others leave a batch that is not well formed.
    With `newer-epochs-dropped` it takes no record of an epoch newer than the fetch's, with `older-epochs-dropped` none of an
    epoch older than its own last record's.

    Source: FileRecords.writeTo, UnifiedLog.append (KAFKA-18723), AbstractFetcherThread.processFetchRequest.
    """
    yield "on its way", s.late_sender[follower] == leader
    yield "bound: brings something", has_beyond(k, s, leader, follower)
    brought: Value = -1
    for offset in reversed(offsets(s)):
        is_end = s.log_record[follower][offset] == EMPTY
        brought = k.ite(is_end, epoch_of(k, s, s.log_record[leader][offset]), brought)
    newer, older = brought > s.late_epoch[follower], brought < last_epoch(k, s, follower)
    yield "of no newer epoch", k.not_(k.all_of(s.newer_epochs_dropped, newer))
    yield "of no older epoch", k.not_(k.all_of(s.older_epochs_dropped, older))
    copy_next(k, s, leader, follower)
    forget_late_response(k, s, follower)


def forget_response(k: Primitives, s: View, broker: int, when: Value = True) -> None:
    """Effect, if `when` is true: no diverging response is on its way to a broker any more."""
    if s.sizes.late_responses:
        s.diverging_sender[broker] = k.ite(when, NO_REPLICA, s.diverging_sender[broker])
        s.diverging_end[broker] = k.ite(when, 0, s.diverging_end[broker])


def lower_high_watermark(k: Primitives, s: View, replica: int) -> None:
    """Effect: lower the replica's high watermark to its log end, if it is beyond it."""
    s.high_watermark[replica] = smaller(k, s.high_watermark[replica], log_end(k, s, replica))


def truncate_before_fetching(k: Primitives, s: View, follower: int, leader: int) -> None:
    """Effect, unless fetches compare logs: a new follower truncates log and high watermark, as its version does."""
    if s.sizes.compares_logs:
        return
    if s.sizes.truncation == TO_HIGH_WATERMARK:
        truncate_to(k, s, follower, s.high_watermark[follower])
    elif s.sizes.truncation == BY_EPOCH:
        truncate_to(k, s, follower, _end_by_epoch(k, s, follower, leader))
    else:
        truncate_to_common(k, s, follower, leader)
    lower_high_watermark(k, s, follower)


def _end_by_epoch(k: Primitives, s: View, follower: int, leader: int) -> Value:
    """Return where the follower's last epoch ends on the leader; if the leader's is older, the follower's high watermark."""
    unknown = has_unknown_epoch(k, s, follower, leader)
    return k.ite(unknown, s.high_watermark[follower], end_for_last_epoch(k, s, follower, leader))


FOLLOWER_ACTIONS = (
    follower_take_response,
    follower_truncate,
    follower_note_high_watermark,
    leader_send_diverging_response,
    follower_truncate_late,
    follower_drop_late_response,
    follower_take_late_bytes,
)
