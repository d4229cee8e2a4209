"""The application: it consumes a record, writes its results and its offset in one transaction, and does so again.

Several producers have one transactional.id: the one that was started last, and those before it that may still be alive.

Source: KafkaProducer, TransactionManager (the client's); KIP-98, KIP-360, KIP-447, KIP-890.
"""

from __future__ import annotations

from neverlost.model.kernel import Clauses, Primitives, Value, action
from neverlost.model.system import View
from neverlost.model.transactions.coordinator import forget_attempt
from neverlost.model.transactions.state import (
    ABORT,
    ABORTING,
    ABSENT,
    BUMPING,
    CLOSED,
    COMMIT,
    COMMITTING,
    COPIES,
    FAILED,
    INITIALISED,
    INITIALISING,
    NOT_SENT,
    ONGOING,
    OPEN,
    READY,
    WAITING,
    WRITTEN,
    everyone,
    is_open,
    is_prepared,
    one_more,
    partitions,
    spend,
)
from neverlost.model.transactions.store import TRANSACTION, does


def works_on(k: Primitives, s: View, producer: int, attempt: int, *phases: int) -> Clauses:
    """Clauses: the producer is in this transaction, in one of these phases."""
    yield "in this transaction", s.attempt[producer] == attempt + 1
    yield "in this phase", k.any_of(*[s.phase[producer] == each for each in phases])


def waits(k: Primitives, s: View, producer: int) -> Value:
    """Return True if a producer waits for an answer of a partition."""
    return k.any_of(*[s.sent[producer][each] == WAITING for each in partitions(s)])


@action(producer="producer", says="producer {producer} starts and asks for its epoch")
def producer_start(k: Primitives, s: View, producer: int) -> Clauses:
    """initTransactions: a producer asks for its epoch, after a restart or while the first is only taken for dead."""
    yield "not started", s.phase[producer] == ABSENT
    yield (
        "bound: one after the other",
        k.all_of(True, *[s.phase[each] > INITIALISING for each in everyone(s) if each < producer]),
    )
    s.phase[producer] = INITIALISING


@action(producer="producer", says="producer {producer} reads the group's offset")
def producer_read_offset(k: Primitives, s: View, producer: int) -> Clauses:
    """After its start and after an abort it goes on from the committed offset; a pending offset commit has to be decided first.

    Source: OffsetFetch with requireStable, UNSTABLE_OFFSET_COMMIT; KIP-447.
    """
    yield "has an epoch", s.phase[producer] == INITIALISED
    yield "no offset commit is undecided", k.not_(is_open(k, s, s.sizes.offsets))
    s.position[producer] = s.group_offset
    s.phase[producer] = READY


@action(producer="producer", attempt="attempt", says="producer {producer} begins transaction {attempt}")
def producer_begin(k: Primitives, s: View, producer: int, attempt: int) -> Clauses:
    """The producer takes the next input record; beginTransaction sends nothing."""
    yield "works in transactions", does(s, TRANSACTION)
    yield "between transactions", s.phase[producer] == READY
    yield "bound: a transaction is left", s.next_attempt == attempt
    yield "bound: an input record is left", s.position[producer] < s.sizes.attempt
    s.next_attempt = attempt + 1
    s.attempt[producer] = attempt + 1
    s.input[attempt] = s.position[producer]
    s.attempt_epoch[attempt] = s.epoch[producer]
    s.phase[producer] = OPEN


@action(
    producer="producer",
    attempt="attempt",
    partition="partition",
    says="producer {producer} sends the record of {attempt} to {partition}",
)
def producer_send(k: Primitives, s: View, producer: int, attempt: int, partition: int) -> Clauses:
    """The producer sends a result or, once all are sent, answered or not, the offset; version 1 adds the partition first.

    Source: Sender, AddPartitionsToTxn, AddOffsetsToTxn, TxnOffsetCommit;
    TransactionCoordinator.handleAddPartitionsToTransaction.
    """
    yield from works_on(k, s, producer, attempt, OPEN)
    before = [s.sent[producer][each] for each in partitions(s) if each < partition]
    yield "not sent", s.sent[producer][partition] == NOT_SENT
    yield "bound: one partition after the other", k.all_of(True, *[each != NOT_SENT for each in before])
    yield "no request has failed", k.all_of(True, *[each != FAILED for each in before])
    adds = k.all_of(s.epoch[producer] == s.producer_epoch, k.not_(is_prepared(k, s)))
    yield "coordinator adds the partition", k.any_of(s.bumps_epoch, adds)
    s.transaction_state = k.ite(s.bumps_epoch, s.transaction_state, ONGOING)
    s.in_transaction[partition] = k.any_of(s.in_transaction[partition], k.not_(s.bumps_epoch))
    s.sent[producer][partition] = WAITING
    s.request[attempt][partition] = s.request[attempt][partition] + 1


@action(
    producer="producer",
    attempt="attempt",
    partition="partition",
    says="producer {producer} sends {attempt} to {partition} again",
    fault="request_retry",
)
def producer_send_again(k: Primitives, s: View, producer: int, attempt: int, partition: int) -> Clauses:
    """The answer is missing: the producer sends the batch again, and both copies may arrive.

    Source: Sender.reenqueueBatch; delivery.timeout.ms.
    """
    yield from one_more(s, "request_retry")
    yield from works_on(k, s, producer, attempt, OPEN)
    yield "waits", s.sent[producer][partition] == WAITING
    yield "bound: so many copies", s.request[attempt][partition] < COPIES
    s.request[attempt][partition] = s.request[attempt][partition] + 1
    spend(s, "request_retry")


@action(
    producer="producer",
    attempt="attempt",
    partition="partition",
    says="producer {producer} gives up on {attempt} at {partition}, which is still on its way",
    fault="late_request",
)
def producer_give_up(k: Primitives, s: View, producer: int, attempt: int, partition: int) -> Clauses:
    """delivery.timeout.ms passes: the transaction has to be aborted, and with version 1 the producer asks for a new epoch then.

    Source: RecordAccumulator.expiredBatches, TransactionManager.maybeTransitionToErrorState; KIP-360.
    """
    yield from one_more(s, "late_request")
    yield from works_on(k, s, producer, attempt, OPEN)
    yield "waits", s.sent[producer][partition] == WAITING
    s.sent[producer][partition] = FAILED
    s.needs_new_epoch[producer] = k.not_(s.bumps_epoch)
    spend(s, "late_request")


@action(producer="producer", attempt="attempt", says="producer {producer} asks to commit {attempt}")
def producer_commit(k: Primitives, s: View, producer: int, attempt: int) -> Clauses:
    """commitTransaction: EndTxn, after every record has been answered.

    Source: TransactionManager.beginCommit; Sender.maybeSendAndPollTransactionalRequest.
    """
    yield from works_on(k, s, producer, attempt, OPEN)
    yield "everything is written", k.all_of(*[s.sent[producer][each] == WRITTEN for each in partitions(s)])
    s.asked[attempt] = COMMIT
    s.end_request[attempt] = 1
    s.phase[producer] = COMMITTING


@action(producer="producer", attempt="attempt", says="producer {producer} aborts {attempt}")
def producer_abort(k: Primitives, s: View, producer: int, attempt: int) -> Clauses:
    """abortTransaction, after an error or at will; where nothing was sent the coordinator has nothing to end.

    Source: TransactionManager.beginAbort.
    """
    yield from works_on(k, s, producer, attempt, OPEN)
    yield "waits for nothing", k.not_(waits(k, s, producer))
    has_sent = k.any_of(*[s.sent[producer][each] != NOT_SENT for each in partitions(s)])
    s.asked[attempt] = ABORT
    s.end_request[attempt] = k.ite(has_sent, 1, 0)
    s.ghost_answered[attempt] = k.ite(has_sent, 0, ABORT)
    s.phase[producer] = k.ite(has_sent, ABORTING, INITIALISED)
    forget_attempt(k, s, producer, k.not_(has_sent))


@action(producer="producer", attempt="attempt", says="producer {producer} asks to end {attempt} again", fault="request_retry")
def producer_end_again(k: Primitives, s: View, producer: int, attempt: int) -> Clauses:
    """The answer to EndTxn is missing: the producer sends it again, and both copies may arrive.

    Source: TransactionManager.EndTxnHandler; KIP-890.
    """
    yield from one_more(s, "request_retry")
    yield from works_on(k, s, producer, attempt, COMMITTING, ABORTING)
    yield "bound: so many copies", s.end_request[attempt] < COPIES
    s.end_request[attempt] = s.end_request[attempt] + 1
    spend(s, "request_retry")


@action(producer="producer", says="producer {producer} learns that it is fenced, and closes")
def producer_learn_fenced(k: Primitives, s: View, producer: int) -> Clauses:
    """A producer of an older epoch is answered PRODUCER_FENCED to AddPartitionsToTxn or InitProducerId, and closes.

    Source: TransactionCoordinator.handleAddPartitionsToTransaction, prepareInitProducerIdTransit.
    """
    asks = k.any_of(k.all_of(s.phase[producer] == OPEN, k.not_(s.bumps_epoch)), s.phase[producer] == BUMPING)
    yield "asks the coordinator", asks
    yield "has an older epoch", s.epoch[producer] != s.producer_epoch
    s.phase[producer] = CLOSED
    forget_attempt(k, s, producer)


@action(producer="producer", says="producer {producer} dies", fault="producer_crash")
def producer_crash(k: Primitives, s: View, producer: int) -> Clauses:
    """The producer closes, wherever it is; what it has sent may still arrive."""
    yield from one_more(s, "producer_crash")
    yield "is alive", k.all_of(s.phase[producer] != ABSENT, s.phase[producer] != CLOSED)
    s.phase[producer] = CLOSED
    forget_attempt(k, s, producer)
    spend(s, "producer_crash")


PRODUCER_ACTIONS = (
    producer_start,
    producer_read_offset,
    producer_begin,
    producer_send,
    producer_send_again,
    producer_give_up,
    producer_commit,
    producer_abort,
    producer_end_again,
    producer_learn_fenced,
    producer_crash,
)
