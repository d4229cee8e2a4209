"""A partition's leader: records and offset commits of a transaction, and the markers that decide them.

Source: UnifiedLog.analyzeAndValidateProducerState, ProducerAppendInfo, ProducerStateManager; for offsets the group coordinator.
"""

from __future__ import annotations

from neverlost.model.kernel import Clauses, Primitives, Value, action, smaller
from neverlost.model.system import View
from neverlost.model.transactions.state import (
    APPROVED,
    COMMIT,
    COPIES,
    FAILED,
    ONGOING,
    OUTDATED,
    PREPARE_COMMIT,
    WAITING,
    WRITTEN,
    attempts,
    everyone,
    is_open,
    is_prepared,
    one_more,
    spend,
)


def verifies(k: Primitives, s: View, partition: int) -> Value:
    """Return True if a leader asks the coordinator before a transaction's first record: with version 2, or if switched on."""
    rule = s.offset_commit_verification if partition == s.sizes.offsets else s.transaction_verification
    return k.any_of(s.bumps_epoch, rule)


def is_known(k: Primitives, s: View, attempt: int, partition: int) -> Value:
    """Return True if the partition has an open transaction that counts as the request's own: then it does not ask."""
    same_epoch = s.partition_epoch[partition] == s.attempt_epoch[attempt]
    return k.all_of(is_open(k, s, partition), k.any_of(same_epoch, k.not_(s.open_transaction_by_epoch)))


def is_old(k: Primitives, s: View, attempt: int, partition: int) -> Value:
    """Return True if the partition has seen a newer producer epoch than the request's."""
    return k.all_of(s.producer_epoch_check, s.attempt_epoch[attempt] < s.partition_epoch[partition])


def is_duplicate(k: Primitives, s: View, attempt: int, partition: int) -> Value:
    """Return True if the partition has the batch already, by sequence number and epoch; an offset commit has no such number."""
    if partition == s.sizes.offsets:
        return False
    copies = s.undecided[attempt][partition] + s.committed[attempt][partition]
    has_it = k.any_of(copies > 0, s.aborted[attempt][partition])
    return k.all_of(s.sequence_check, has_it, s.partition_epoch[partition] == s.attempt_epoch[attempt])


def is_accepted(k: Primitives, s: View, attempt: int, partition: int) -> Value:
    """Return True if the coordinator accepts a request: its epoch is current, and no decided transaction is incomplete.

    With version 1 the partition must be in the open transaction; with 2 it is added.
    """
    has_it = k.all_of(s.transaction_state == ONGOING, s.in_transaction[partition])
    return k.all_of(s.attempt_epoch[attempt] == s.producer_epoch, k.not_(is_prepared(k, s)), k.any_of(s.bumps_epoch, has_it))


def may_append(k: Primitives, s: View, attempt: int, partition: int) -> Value:
    """Return True if the leader lets a request write, as far as verification goes."""
    asks, known = verifies(k, s, partition), is_known(k, s, attempt, partition)
    approval = s.approval[attempt][partition]
    unasked = k.all_of(approval == 0, s.request[attempt][partition] > 0, k.any_of(k.not_(asks), known))
    guard_holds = k.any_of(approval == APPROVED, k.not_(s.verification_guard))
    return k.any_of(unasked, k.all_of(approval > 0, k.any_of(known, guard_holds)))


def take(k: Primitives, s: View, attempt: int, partition: int) -> None:
    """Effect: one copy of a request is no longer on its way: the one that was verified, if any was."""
    is_approved = s.approval[attempt][partition] > 0
    s.request[attempt][partition] = k.ite(is_approved, s.request[attempt][partition], s.request[attempt][partition] - 1)
    s.approval[attempt][partition] = 0


def answer(k: Primitives, s: View, attempt: int, partition: int, found: int) -> None:
    """Effect: the producer that still waits for a request is answered `found`; after `FAILED`, version 1 needs a new epoch."""
    for each in everyone(s):
        waits = k.all_of(s.attempt[each] == attempt + 1, s.sent[each][partition] == WAITING)
        s.sent[each][partition] = k.ite(waits, found, s.sent[each][partition])
        if found == FAILED:
            s.needs_new_epoch[each] = k.any_of(s.needs_new_epoch[each], k.all_of(waits, k.not_(s.bumps_epoch)))


def outdate_approvals(k: Primitives, s: View, partition: int, when: Value = True) -> None:
    """Effect, if `when` is true: approvals of requests to this partition are outdated, since something was written to it."""
    for each in attempts(s):
        s.approval[each][partition] = k.ite(
            k.all_of(when, s.approval[each][partition] == APPROVED), OUTDATED, s.approval[each][partition]
        )


@action(
    attempt="attempt", partition="partition", says="the leader of {partition} has the coordinator verify a request of {attempt}"
)
def leader_verify(k: Primitives, s: View, attempt: int, partition: int) -> Clauses:
    """Before the first record of a transaction the leader asks the coordinator whether the partition is in it.

    A request that was late arrives after its transaction has ended: without the question it would open a transaction that
    no marker ends (KAFKA-14402).  With transaction version 2 the question adds the partition, if the epoch is the current one.

    Source: UnifiedLog.maybeStartTransactionVerification; TransactionCoordinator.handleVerifyPartitionsInTransaction,
    handleAddPartitionsToTransaction; KIP-890.
    """
    yield "a request has arrived", s.request[attempt][partition] > 0
    yield "not asked yet", s.approval[attempt][partition] == 0
    yield "the partition asks", verifies(k, s, partition)
    yield "no open transaction", k.not_(is_known(k, s, attempt, partition))
    yield "no newer epoch", k.not_(is_old(k, s, attempt, partition))
    yield "not there yet", k.not_(is_duplicate(k, s, attempt, partition))
    yield "coordinator accepts", is_accepted(k, s, attempt, partition)
    s.request[attempt][partition] = s.request[attempt][partition] - 1
    s.approval[attempt][partition] = APPROVED
    s.transaction_state = ONGOING
    s.in_transaction[partition] = True


@action(attempt="attempt", partition="partition", says="the leader of {partition} appends the record of {attempt}")
def leader_append_transactional(k: Primitives, s: View, attempt: int, partition: int) -> Clauses:
    """The record joins the partition's open transaction, or opens one.

    Source: UnifiedLog.analyzeAndValidateProducerState, ProducerAppendInfo.appendDataBatch; for offsets
    GroupCoordinator.handleTxnCommitOffsets, later OffsetMetadataManager.commitTransactionalOffset.
    """
    yield "verified, or known", may_append(k, s, attempt, partition)
    yield "no newer epoch", k.not_(is_old(k, s, attempt, partition))
    yield "not there yet", k.not_(is_duplicate(k, s, attempt, partition))
    take(k, s, attempt, partition)
    s.undecided[attempt][partition] = smaller(k, s.undecided[attempt][partition] + 1, COPIES)
    s.partition_epoch[partition] = s.attempt_epoch[attempt]
    outdate_approvals(k, s, partition)
    if partition == s.sizes.offsets:
        s.pending_offset = s.input[attempt] + 1
    answer(k, s, attempt, partition, WRITTEN)


@action(attempt="attempt", partition="partition", says="the leader of {partition} has the record of {attempt} already")
def leader_find_duplicate(k: Primitives, s: View, attempt: int, partition: int) -> Clauses:
    """A batch whose sequence number the leader knows is answered with success and not written again.

    Source: ProducerStateEntry.findDuplicateBatch; KIP-98.
    """
    yield "a request has arrived", k.any_of(s.request[attempt][partition] > 0, s.approval[attempt][partition] > 0)
    yield "there already", is_duplicate(k, s, attempt, partition)
    take(k, s, attempt, partition)
    answer(k, s, attempt, partition, WRITTEN)


@action(attempt="attempt", partition="partition", says="the leader of {partition} refuses the record of {attempt}")
def leader_refuse(k: Primitives, s: View, attempt: int, partition: int) -> Clauses:
    """The leader refuses a request of an older epoch, one that the coordinator does not accept, or one with outdated approval.

    The producer that still waits has to abort.

    Source: ProducerAppendInfo.checkProducerEpoch; UnifiedLog.batchMissingRequiredVerification.
    """
    request, approval = s.request[attempt][partition], s.approval[attempt][partition]
    known = is_known(k, s, attempt, partition)
    unknown = k.all_of(
        approval == 0,
        verifies(k, s, partition),
        k.not_(known),
        k.not_(is_prepared(k, s)),
        k.not_(is_accepted(k, s, attempt, partition)),
    )
    outdated = k.all_of(approval == OUTDATED, s.verification_guard, k.not_(known))
    yield "a request has arrived", k.any_of(request > 0, approval > 0)
    yield "not there yet", k.not_(is_duplicate(k, s, attempt, partition))
    yield "old, unknown or outdated", k.any_of(is_old(k, s, attempt, partition), unknown, outdated)
    take(k, s, attempt, partition)
    answer(k, s, attempt, partition, FAILED)


def takes_marker(k: Primitives, s: View, partition: int, epoch: Value, coordinator: Value) -> Value:
    """Return True if a partition accepts a marker: its epochs are not old; a strict version 2 wants a newer one, or a retry."""
    seen = s.partition_epoch[partition]
    is_strict = k.all_of(s.bumps_epoch, s.strict_marker_epoch)
    again = k.all_of(s.marker_retry_accepted, epoch == seen, k.not_(is_open(k, s, partition)))
    by_epoch = k.ite(is_strict, k.any_of(epoch > seen, again), epoch >= seen)
    return k.all_of(
        k.any_of(by_epoch, k.not_(s.producer_epoch_check)),
        k.any_of(s.partition_coordinator[partition] <= coordinator, k.not_(s.coordinator_epoch_check)),
    )


def decide(
    k: Primitives, s: View, partition: int, commits: Value, epoch: Value, coordinator: Value, when: Value = True
) -> None:
    """Effect, if `when`: a marker decides all undecided records; in the offsets' partition a commit moves the group offset."""
    for each in attempts(s):
        found = s.undecided[each][partition]
        both = smaller(k, s.committed[each][partition] + found, COPIES)
        s.committed[each][partition] = k.ite(k.all_of(when, commits), both, s.committed[each][partition])
        ends_badly = k.all_of(when, k.not_(commits), found > 0)
        s.aborted[each][partition] = k.any_of(s.aborted[each][partition], ends_badly)
        s.undecided[each][partition] = k.ite(when, 0, found)
    s.partition_epoch[partition] = k.ite(when, epoch, s.partition_epoch[partition])
    s.partition_coordinator[partition] = k.ite(when, coordinator, s.partition_coordinator[partition])
    outdate_approvals(k, s, partition, when)
    if partition == s.sizes.offsets:
        moves = k.all_of(when, commits, s.pending_offset > 0)
        s.group_offset = k.ite(moves, s.pending_offset, s.group_offset)
        s.pending_offset = k.ite(when, 0, s.pending_offset)


def marker_arrives(k: Primitives, s: View, partition: int) -> Clauses:
    """Clauses and effect: the partition accepts the marker that the coordinator owes it."""
    yield "transaction is decided", is_prepared(k, s)
    yield "marker is owed", s.needs_marker[partition]
    yield "marker is accepted", takes_marker(k, s, partition, s.producer_epoch, s.coordinator_epoch)
    decide(k, s, partition, s.transaction_state == PREPARE_COMMIT, s.producer_epoch, s.coordinator_epoch)


@action(partition="partition", says="the leader of {partition} appends the coordinator's marker")
def leader_write_marker(k: Primitives, s: View, partition: int) -> Clauses:
    """WriteTxnMarkers: the marker decides the transaction in this partition, and the coordinator has the answer.

    Version 2 markers carry the epoch that the transaction's end has brought; those of version 1 carry the transaction's own,
    unless it was aborted by the coordinator itself.  A marker that is refused for its epoch is never sent again.

    Source: KafkaApis.handleWriteTxnMarkersRequest, ProducerAppendInfo.appendEndTxnMarker,
    TransactionMarkerRequestCompletionHandler.
    """
    yield from marker_arrives(k, s, partition)
    s.needs_marker[partition] = False


@action(
    partition="partition",
    says="the leader of {partition} appends the coordinator's marker, and the answer is lost",
    fault="marker_retry",
)
def leader_write_marker_unanswered(k: Primitives, s: View, partition: int) -> Clauses:
    """The marker decides the transaction in this partition, and its answer is lost: the coordinator will send it again.

    Source: TransactionMarkerRequestCompletionHandler, disconnected; KAFKA-19999.
    """
    yield from one_more(s, "marker_retry")
    yield from marker_arrives(k, s, partition)
    spend(s, "marker_retry")


@action(
    partition="partition",
    says="the coordinator sends its marker to {partition} again, and the first copy is still on its way",
    fault="marker_retry",
)
def coordinator_send_marker_again(k: Primitives, s: View, partition: int) -> Clauses:
    """A marker is sent again while its first copy, whose connection broke, is on its way and may be handled later.

    Source: TransactionMarkerRequestCompletionHandler, disconnected.
    """
    yield "the model has late markers", s.sizes.has_late_markers
    yield from one_more(s, "marker_retry")
    yield "transaction is decided", is_prepared(k, s)
    yield "marker is owed", s.needs_marker[partition]
    if s.sizes.has_late_markers:
        yield "bound: one late marker at a time", s.late_marker[partition] == 0
        s.late_marker[partition] = s.transaction_state - PREPARE_COMMIT + COMMIT
        s.late_marker_epoch[partition] = s.producer_epoch
        s.late_marker_coordinator[partition] = s.coordinator_epoch
    spend(s, "marker_retry")


@action(partition="partition", says="the late copy of a marker reaches the leader of {partition}")
def leader_take_late_marker(k: Primitives, s: View, partition: int) -> Clauses:
    """The late copy of a marker is checked like any other, and its answer reaches no request.

    Source: ProducerAppendInfo.appendEndTxnMarker.
    """
    yield "the model has late markers", s.sizes.has_late_markers
    if s.sizes.has_late_markers:
        marker, epoch = s.late_marker[partition], s.late_marker_epoch[partition]
        coordinator = s.late_marker_coordinator[partition]
        yield "a late marker is on its way", marker > 0
        taken = takes_marker(k, s, partition, epoch, coordinator)
        decide(k, s, partition, marker == COMMIT, epoch, coordinator, taken)
        s.late_marker[partition] = 0
        s.late_marker_epoch[partition] = 0
        s.late_marker_coordinator[partition] = 0


@action(attempt="attempt", partition="partition", says="{partition} loses the record of {attempt}", fault="output_loss")
def partition_lose_record(k: Primitives, s: View, attempt: int, partition: int) -> Clauses:
    """All copies of a partition's last record are lost; if an offset, the group's goes back.  When: see the partition models.

    Source: __consumer_offsets and the topics of the results are replicated like any other.
    """
    yield from one_more(s, "output_loss")
    copies = s.undecided[attempt][partition] + s.committed[attempt][partition]
    yield "the record is there", copies > 0
    later = [s.undecided[each][partition] + s.committed[each][partition] for each in attempts(s) if each > attempt]
    yield "it is the last", k.all_of(True, *[each == 0 for each in later])
    s.undecided[attempt][partition] = 0
    s.committed[attempt][partition] = 0
    if partition == s.sizes.offsets:
        s.pending_offset = 0
        s.group_offset = smaller(k, s.group_offset, s.input[attempt])
    spend(s, "output_loss")


@action(attempt="attempt", partition="partition", says="{partition} loses the marker of {attempt}", fault="output_loss")
def partition_lose_marker(k: Primitives, s: View, attempt: int, partition: int) -> Clauses:
    """A commit's marker is lost with the suffix that an unclean election or a lossy crash takes: its record is undecided again.

    The coordinator has had its answer and will not send the marker again (KAFKA-20716).

    Source: ProducerStateManager.truncateAndReload.
    """
    yield from one_more(s, "output_loss")
    committed = s.committed[attempt][partition]
    yield "a marker is there", committed > 0
    later = [each for each in attempts(s) if each > attempt]
    there = [s.undecided[each][partition] + s.committed[each][partition] for each in later]
    yield (
        "it is the last",
        k.all_of(True, *[each == 0 for each in there], *[k.not_(s.aborted[each][partition]) for each in later]),
    )
    s.undecided[attempt][partition] = committed
    s.committed[attempt][partition] = 0
    if partition == s.sizes.offsets:
        s.pending_offset = s.group_offset
        s.group_offset = smaller(k, s.group_offset, s.input[attempt])
    spend(s, "output_loss")


PARTITION_ACTIONS = (
    leader_verify,
    leader_append_transactional,
    leader_find_duplicate,
    leader_refuse,
    leader_write_marker,
    leader_write_marker_unanswered,
    coordinator_send_marker_again,
    leader_take_late_marker,
    partition_lose_record,
    partition_lose_marker,
)
