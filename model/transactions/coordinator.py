"""The transaction coordinator: InitProducerId, EndTxn, the time-out, the end of a transaction, and its own failover.

What it decides is in `__transaction_state` before it acts on it; whether that can be lost is for the partition models to say,
and a switch here.

Source: TransactionCoordinator, TransactionMetadata, TransactionStateManager, TransactionMarkerChannelManager.
"""

from __future__ import annotations

from neverlost.model.kernel import Clauses, Primitives, Value, action
from neverlost.model.system import View
from neverlost.model.transactions.state import (
    ABORT,
    ABORTING,
    BUMPING,
    CLOSED,
    COMMIT,
    COMMITTING,
    COMPLETE_ABORT,
    COMPLETE_COMMIT,
    EMPTY,
    INITIALISED,
    INITIALISING,
    NOT_SENT,
    ONGOING,
    PREPARE_ABORT,
    PREPARE_COMMIT,
    READY,
    everyone,
    is_idle,
    is_prepared,
    one_more,
    partitions,
    spend,
)


def epoch_is_left(s: View) -> Clauses:
    """Clause: the bound leaves another producer epoch."""
    yield "bound: a producer epoch is left", s.producer_epoch < s.sizes.epoch - 1


def prepare(k: Primitives, s: View, state: Value) -> None:
    """Effect: the decision is in the log; markers are owed to every partition of the transaction."""
    s.transaction_state = state
    for each in partitions(s):
        s.needs_marker[each] = s.in_transaction[each]


@action(producer="producer", says="the coordinator gives producer {producer} a new epoch")
def coordinator_init_producer(k: Primitives, s: View, producer: int) -> Clauses:
    """InitProducerId gives a producer a new epoch: who used the transactional.id before is fenced from here on.

    A coordinator that gave two producers one epoch could not distinguish the one that was replaced from its successor.

    Source: TransactionCoordinator.prepareInitProducerIdTransit, TransactionMetadata.prepareIncrementProducerEpoch.
    """
    yield "has asked", s.phase[producer] == INITIALISING
    yield "no transaction in hand", k.any_of(is_idle(k, s), k.not_(s.abort_on_init))
    yield from epoch_is_left(s)
    is_new = s.producer_epoch < 0
    s.producer_epoch = k.ite(k.any_of(is_new, s.epoch_bump_on_init), s.producer_epoch + 1, s.producer_epoch)
    s.transaction_state = k.ite(is_idle(k, s), EMPTY, s.transaction_state)
    s.epoch[producer] = s.producer_epoch
    s.phase[producer] = INITIALISED


def fence(k: Primitives, s: View) -> None:
    """Effect: the coordinator decides by itself to abort the open transaction, with a new epoch that no producer has."""
    s.producer_epoch = s.producer_epoch + 1
    prepare(k, s, PREPARE_ABORT)


@action(producer="producer", says="the coordinator aborts the open transaction, before it answers producer {producer}")
def coordinator_abort_for_init(k: Primitives, s: View, producer: int) -> Clauses:
    """A producer that asks for an epoch finds a transaction open, a predecessor's or its own: that is aborted first.

    Source: TransactionCoordinator.prepareInitProducerIdTransit (ONGOING), TransactionMetadata.prepareFenceProducerEpoch.
    """
    yield "asks for an epoch", k.any_of(s.phase[producer] == INITIALISING, s.phase[producer] == BUMPING)
    yield "aborts what is open", s.abort_on_init
    yield "a transaction is open", s.transaction_state == ONGOING
    current = k.any_of(s.phase[producer] == INITIALISING, s.epoch[producer] == s.producer_epoch)
    yield "not fenced", current
    yield from epoch_is_left(s)
    fence(k, s)


@action(producer="producer", says="the coordinator gives producer {producer} the next epoch after an error")
def coordinator_bump_epoch(k: Primitives, s: View, producer: int) -> Clauses:
    """InitProducerId with the epoch that the producer has: it goes on with the next, unless another has replaced it (KIP-360).

    Source: TransactionMetadata.prepareIncrementProducerEpoch with an expected epoch.
    """
    yield "has asked", s.phase[producer] == BUMPING
    yield "no transaction in hand", is_idle(k, s)
    yield "not fenced", s.epoch[producer] == s.producer_epoch
    yield from epoch_is_left(s)
    s.producer_epoch = s.producer_epoch + 1
    s.transaction_state = EMPTY
    s.epoch[producer] = s.producer_epoch
    s.phase[producer] = INITIALISED


@action(says="the coordinator aborts the transaction, which has timed out")
def coordinator_time_out(k: Primitives, s: View) -> Clauses:
    """After transaction.timeout.ms the coordinator aborts an open transaction with a new epoch: its producer is fenced.

    Source: TransactionCoordinator.abortTimedOutTransactions.
    """
    yield "a transaction is open", s.transaction_state == ONGOING
    yield from epoch_is_left(s)
    fence(k, s)


def is_current(k: Primitives, s: View, attempt: int) -> Value:
    """Return True if a request to end a transaction has the coordinator's producer epoch."""
    return s.attempt_epoch[attempt] == s.producer_epoch


def is_repeated(k: Primitives, s: View, attempt: int) -> Value:
    """Return True if a request has the epoch of the one that was decided: the coordinator's, with version 2 the one before."""
    return s.attempt_epoch[attempt] + k.ite(s.bumps_epoch, 1, 0) == s.producer_epoch


def is_asked(k: Primitives, s: View, attempt: int, commit_state: int, abort_state: int) -> Value:
    """Return True if the coordinator's state is the one of these two that goes with what the request asks for."""
    return s.transaction_state == k.ite(s.asked[attempt] == COMMIT, commit_state, abort_state)


def may_prepare(k: Primitives, s: View, attempt: int) -> Value:
    """Return True if a request of the current epoch decides what is open; with version 2 also if it aborts and nothing is."""
    nothing = k.all_of(s.bumps_epoch, s.asked[attempt] == ABORT, is_idle(k, s))
    return k.all_of(is_current(k, s, attempt), k.any_of(s.transaction_state == ONGOING, nothing))


def is_done(k: Primitives, s: View, attempt: int) -> Value:
    """Return True if a request asks for what the transaction that was completed last has come to, by epoch and outcome."""
    return k.all_of(is_repeated(k, s, attempt), is_asked(k, s, attempt, COMPLETE_COMMIT, COMPLETE_ABORT))


def answer_end(k: Primitives, s: View, attempt: int) -> None:
    """Effect: the producer that waits for it learns how its transaction ended, leaves it, and has version 2's next epoch."""
    commits = s.asked[attempt] == COMMIT
    for each in everyone(s):
        is_ending = k.any_of(s.phase[each] == COMMITTING, s.phase[each] == ABORTING)
        waits = k.all_of(s.attempt[each] == attempt + 1, is_ending)
        s.ghost_answered[attempt] = k.ite(waits, s.asked[attempt], s.ghost_answered[attempt])
        after_abort = k.ite(s.needs_new_epoch[each], BUMPING, INITIALISED)
        s.phase[each] = k.ite(waits, k.ite(commits, READY, after_abort), s.phase[each])
        s.position[each] = k.ite(k.all_of(waits, commits), s.input[attempt] + 1, s.position[each])
        s.epoch[each] = k.ite(k.all_of(waits, s.bumps_epoch), s.attempt_epoch[attempt] + 1, s.epoch[each])
        forget_attempt(k, s, each, waits)


def forget_attempt(k: Primitives, s: View, producer: int, when: Value = True) -> None:
    """Effect, if `when` is true: the producer is in no transaction any more."""
    s.attempt[producer] = k.ite(when, 0, s.attempt[producer])
    s.needs_new_epoch[producer] = k.all_of(s.needs_new_epoch[producer], k.not_(when))
    for each in partitions(s):
        s.sent[producer][each] = k.ite(when, NOT_SENT, s.sent[producer][each])


@action(attempt="attempt", says="the coordinator decides the open transaction, as {attempt} asks")
def coordinator_prepare(k: Primitives, s: View, attempt: int) -> Clauses:
    """EndTxn: the decision is written to `__transaction_state`, and then the producer is answered; markers follow.

    With version 1 an EndTxn that was late decides whichever transaction is open now, since all of them have one epoch; with
    version 2 every end brings a new epoch.

    Source: TransactionCoordinator.endTransaction, TransactionMetadata.prepareAbortOrCommit; KIP-890.
    """
    yield "EndTxn has arrived", s.end_request[attempt] > 0
    yield "may decide", may_prepare(k, s, attempt)
    yield "bound: a producer epoch is left", k.any_of(k.not_(s.bumps_epoch), s.producer_epoch < s.sizes.epoch - 1)
    s.end_request[attempt] = s.end_request[attempt] - 1
    prepare(k, s, k.ite(s.asked[attempt] == COMMIT, PREPARE_COMMIT, PREPARE_ABORT))
    s.producer_epoch = k.ite(s.bumps_epoch, s.producer_epoch + 1, s.producer_epoch)
    answer_end(k, s, attempt)


@action(attempt="attempt", says="the coordinator answers {attempt} that it is done already")
def coordinator_answer_again(k: Primitives, s: View, attempt: int) -> Clauses:
    """EndTxn once more, after the transaction has ended as asked: it is answered as before.

    Source: TransactionCoordinator.endTransaction (COMPLETE_COMMIT, COMPLETE_ABORT; isRetry with version 2).
    """
    yield "EndTxn has arrived", s.end_request[attempt] > 0
    yield "already done", is_done(k, s, attempt)
    yield "nothing to decide", k.not_(may_prepare(k, s, attempt))
    s.end_request[attempt] = s.end_request[attempt] - 1
    answer_end(k, s, attempt)


@action(attempt="attempt", says="the coordinator refuses to end {attempt}")
def coordinator_refuse_end(k: Primitives, s: View, attempt: int) -> Clauses:
    """EndTxn is refused, with PRODUCER_FENCED or INVALID_TXN_STATE: fatal for the producer that waits.

    Source: TransactionCoordinator.endTransaction; KAFKA-20785 is a commit that meets the coordinator's own abort.
    """
    in_progress = k.all_of(is_repeated(k, s, attempt), is_asked(k, s, attempt, PREPARE_COMMIT, PREPARE_ABORT))
    yield "EndTxn has arrived", s.end_request[attempt] > 0
    yield "not in progress", k.not_(in_progress)
    yield "not done", k.not_(is_done(k, s, attempt))
    yield "nothing to decide", k.not_(may_prepare(k, s, attempt))
    s.end_request[attempt] = s.end_request[attempt] - 1
    for each in everyone(s):
        is_ending = k.any_of(s.phase[each] == COMMITTING, s.phase[each] == ABORTING)
        waits = k.all_of(s.attempt[each] == attempt + 1, is_ending)
        s.phase[each] = k.ite(waits, CLOSED, s.phase[each])
        forget_attempt(k, s, each, waits)


@action(says="the coordinator has every marker's answer: the transaction is complete")
def coordinator_complete(k: Primitives, s: View) -> Clauses:
    """The transaction is complete once every partition has its marker; only then may the next one begin.

    Source: TransactionMarkerChannelManager.maybeWriteTxnCompletion, TransactionMetadata.prepareComplete.
    """
    yield "transaction is decided", is_prepared(k, s)
    yield "no marker is owed", k.not_(k.any_of(*[s.needs_marker[each] for each in partitions(s)]))
    s.transaction_state = k.ite(s.transaction_state == PREPARE_COMMIT, COMPLETE_COMMIT, COMPLETE_ABORT)
    for each in partitions(s):
        s.in_transaction[each] = False


def begin_coordinator(k: Primitives, s: View) -> None:
    """Effect: another broker is the coordinator, with an epoch that is one higher, unless that rule is switched off."""
    s.ghost_coordinators = s.ghost_coordinators + 1
    s.coordinator_epoch = s.coordinator_epoch + k.ite(s.coordinator_epoch_bump, 1, 0)


@action(says="the coordinator moves to another broker", fault="coordinator_move")
def coordinator_move(k: Primitives, s: View) -> Clauses:
    """The new coordinator reads `__transaction_state` and sends every marker of a decided transaction, written or not.

    Source: TransactionCoordinator.onElection, TransactionStateManager.loadTransactionsForTxnTopicPartition.
    """
    yield from one_more(s, "coordinator_move")
    yield "bound: there is something to find", s.producer_epoch >= 0
    spend(s, "coordinator_move")
    begin_coordinator(k, s)
    for each in partitions(s):
        s.needs_marker[each] = k.all_of(is_prepared(k, s), s.in_transaction[each])


@action(
    says="the coordinator moves to a broker that lacks the last record of __transaction_state, the decision",
    fault="transaction_log_loss",
)
def coordinator_lose_decision(k: Primitives, s: View) -> Clauses:
    """The record that decided the transaction is lost although the producer was answered: the transaction is open again.

    Source: transaction.state.log.replication.factor and transaction.state.log.min.isr: a partition like any other.
    """
    yield from one_more(s, "transaction_log_loss")
    yield "transaction is decided", is_prepared(k, s)
    spend(s, "transaction_log_loss")
    begin_coordinator(k, s)
    s.transaction_state = ONGOING
    s.producer_epoch = k.ite(s.bumps_epoch, s.producer_epoch - 1, s.producer_epoch)
    for each in partitions(s):
        s.needs_marker[each] = False


COORDINATOR_ACTIONS = (
    coordinator_init_producer,
    coordinator_abort_for_init,
    coordinator_bump_epoch,
    coordinator_time_out,
    coordinator_prepare,
    coordinator_answer_again,
    coordinator_refuse_end,
    coordinator_complete,
    coordinator_move,
    coordinator_lose_decision,
)
