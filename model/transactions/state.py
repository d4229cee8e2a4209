"""The state of one transactional.id: what its producers, its coordinator and the partitions of a transaction know.

A transaction (an *attempt*) reads one input record, writes its result to every output partition and commits its offset to a
partition of `__consumer_offsets`, the last of the partitions here.  One producer id has every record, so a marker decides all
of a partition's records that are undecided: the order in the log does not matter, and the state counts copies.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from neverlost.model.kernel import Clauses, Configuration, Field, Primitives, Sizes, Value, flag, number
from neverlost.model.system import View
from neverlost.model.transactions.mechanisms import MECHANISMS

ABSENT, INITIALISING, INITIALISED, READY, OPEN, COMMITTING, ABORTING, BUMPING, CLOSED = range(9)
"""What a producer is at: not started; waiting for its epoch; about to read the group's offset; between transactions; in one;
waiting for the answer to EndTxn; asking for a new epoch after an error (KIP-360); fenced, failed or crashed."""

NOT_SENT, WAITING, WRITTEN, FAILED = range(4)
"""A producer's request to a partition, as the producer knows it."""

COMMIT, ABORT = 1, 2
"""How a transaction ends; 0 while that is open."""

EMPTY, ONGOING, PREPARE_COMMIT, PREPARE_ABORT, COMPLETE_COMMIT, COMPLETE_ABORT = range(6)
"""TransactionState."""

APPROVED, OUTDATED = 1, 2
"""What the coordinator has said of a request: its partition is in the transaction; and that something was written since."""

COPIES = 2
"""How many copies of one request, and of one record, are counted at most."""

FAULTS = {
    "late_request": "a producer may give up waiting for a request that is still on its way",
    "request_retry": "a producer may send a request again of which an older copy is still on its way",
    "marker_retry": "the answer to a marker may be lost, or an older copy of one still be on its way",
    "coordinator_move": "the transaction coordinator may move to another broker",
    "producer_crash": "a producer may die",
    "transaction_log_loss": "__transaction_state may lose the record that has decided a transaction",
    "output_loss": "a partition may lose the acknowledged record of a transaction, or its marker",
}
"""Kinds of faults by name, with what completes "how many times"."""


@dataclass(frozen=True)
class TransactionSizes(Sizes):
    """Lengths of the axes: producers, outputs with the offsets partition, attempts; and how often the coordinator may move."""

    producer: int
    partition: int
    attempt: int
    moves: int
    has_late_markers: bool

    @property
    def epoch(self) -> int:
        """How many producer epochs there are: one a producer, two a transaction (its end; after an error), one to spare."""
        return self.producer + 2 * self.attempt + 1

    @property
    def replica(self) -> int:
        """How many partitions there are, which the pictures show as brokers."""
        return self.partition

    @property
    def offsets(self) -> int:
        """The number of the partition of `__consumer_offsets`, the last one."""
        return self.partition - 1


def sizes(configuration: Configuration) -> TransactionSizes:
    """Return the sizes that a configuration needs."""
    return TransactionSizes(
        producer=configuration["bounds.producers"],
        partition=configuration["bounds.partitions"] + 1,
        attempt=configuration["bounds.transactions"],
        moves=configuration["faults.coordinator_move"] + configuration["faults.transaction_log_loss"],
        has_late_markers=configuration["faults.marker_retry"] > 0,
    )


def fields(configuration: Configuration) -> tuple[Field, ...]:
    """Return every variable, grouped by who knows it."""
    size = sizes(configuration)
    attempts, last_epoch, moves = size.attempt, size.epoch - 1, size.moves
    late = size.has_late_markers
    return (
        flag("bumps_epoch", frozen=True),
        flag("reads_uncommitted", frozen=True),
        number("results", 0, 4, frozen=True),
        *[flag(each.flag, frozen=True) for each in MECHANISMS],
        # the producers
        number("phase", ABSENT, CLOSED, "producer"),
        number("epoch", 0, last_epoch, "producer"),
        number("position", 0, attempts, "producer"),
        number("attempt", 0, attempts, "producer"),
        number("sent", NOT_SENT, FAILED, "producer", "partition"),
        flag("needs_new_epoch", "producer"),
        # transactions and their requests on the way
        number("next_attempt", 0, attempts),
        number("input", 0, attempts - 1, "attempt"),
        number("attempt_epoch", 0, last_epoch, "attempt"),
        number("asked", 0, ABORT, "attempt"),
        number("request", 0, COPIES, "attempt", "partition"),
        number("approval", 0, OUTDATED, "attempt", "partition"),
        number("end_request", 0, COPIES, "attempt"),
        # the coordinator; all but the markers that are left to write is in __transaction_state
        number("transaction_state", EMPTY, COMPLETE_ABORT),
        number("producer_epoch", -1, last_epoch),
        flag("in_transaction", "partition"),
        flag("needs_marker", "partition"),
        number("coordinator_epoch", 0, moves),
        # the partitions
        number("partition_epoch", -1, last_epoch, "partition"),
        number("partition_coordinator", 0, moves, "partition"),
        number("undecided", 0, COPIES, "attempt", "partition"),
        number("committed", 0, COPIES, "attempt", "partition"),
        flag("aborted", "attempt", "partition"),
        *([number("late_marker", 0, ABORT, "partition")] if late else []),
        *([number("late_marker_epoch", 0, last_epoch, "partition")] if late else []),
        *([number("late_marker_coordinator", 0, moves, "partition")] if late else []),
        number("pending_offset", 0, attempts),
        number("group_offset", 0, attempts),
        number("ghost_coordinators", 0, moves),
        # what the application was answered
        number("ghost_answered", 0, ABORT, "attempt"),
        *[number(f"{name}_left", 0, configuration[f"faults.{name}"]) for name in FAULTS],
    )


def initial(configuration: Configuration) -> list[dict[str, Any]]:
    """Return the one initial state: no producer has started, and the coordinator does not know the transactional.id."""
    budgets = {f"{name}_left": configuration[f"faults.{name}"] for name in FAULTS}
    return [{"producer_epoch": -1, "partition_epoch": -1, **budgets}]


def everyone(s: View) -> range:
    """Return all producers."""
    return range(s.sizes.producer)


def attempts(s: View) -> range:
    """Return all transactions, begun or not."""
    return range(s.sizes.attempt)


def partitions(s: View) -> range:
    """Return every partition that a transaction writes to, that of the offsets last."""
    return range(s.sizes.partition)


def outputs(s: View) -> range:
    """Return the partitions of the application's results."""
    return range(s.sizes.offsets)


def one_more(s: View, fault: str) -> Clauses:
    """Clause: this kind of fault may strike once more."""
    yield f"bound: one more {fault.replace('_', ' ')}", getattr(s, f"{fault}_left") > 0


def spend(s: View, fault: str) -> None:
    """Effect: a fault of this kind has struck, and one fewer is left."""
    setattr(s, f"{fault}_left", getattr(s, f"{fault}_left") - 1)


def is_open(k: Primitives, s: View, partition: int) -> Value:
    """Return True if a partition has undecided records: its last stable offset is before its end."""
    return k.any_of(*[s.undecided[each][partition] > 0 for each in attempts(s)])


def is_prepared(k: Primitives, s: View) -> Value:
    """Return True if the coordinator has decided a transaction that is not complete yet."""
    return k.any_of(s.transaction_state == PREPARE_COMMIT, s.transaction_state == PREPARE_ABORT)


def is_idle(k: Primitives, s: View) -> Value:
    """Return True if the coordinator has no transaction in hand."""
    return k.not_(k.any_of(s.transaction_state == ONGOING, is_prepared(k, s)))


def settle(k: Primitives, s: View) -> None:
    """Effect, after every step: what no step will ask for again is forgotten, so that states that differ in it are one."""
    for attempt in attempts(s):
        under_way = [s.attempt[each] == attempt + 1 for each in everyone(s)]
        on_its_way = [k.any_of(s.request[attempt][each] > 0, s.approval[attempt][each] > 0) for each in partitions(s)]
        is_needed = k.any_of(s.end_request[attempt] > 0, *under_way, *on_its_way)
        s.attempt_epoch[attempt] = k.ite(is_needed, s.attempt_epoch[attempt], 0)
    for each in everyone(s):
        s.epoch[each] = k.ite(s.phase[each] == CLOSED, 0, s.epoch[each])
        s.position[each] = k.ite(k.any_of(s.phase[each] == CLOSED, s.phase[each] <= INITIALISED), 0, s.position[each])
