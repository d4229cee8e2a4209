"""The same application without Kafka's transactions: results in a store of its own, the offset there or in Kafka.

What is exactly once then rests on the store: result and offset in one transaction of it, and a check that who writes is the
newest consumer.  Here the producer epoch stands for the group's generation.

Source: KafkaConsumer's documentation (storing offsets outside Kafka, manual offset control).
"""

from __future__ import annotations

from neverlost.model.kernel import Clauses, Primitives, Value, action
from neverlost.model.system import View
from neverlost.model.transactions.state import COMMIT, COMMITTING, READY, outputs

TRANSACTION, STORE, FENCING_STORE, RESULT_FIRST, OFFSET_FIRST = RESULTS = (
    "transaction",
    "store",
    "fencing-store",
    "result-then-offset",
    "offset-then-result",
)
"""Values of `results`, in the order of their numbers in the state."""


def does(s: View, results: str) -> Value:
    """Return True if the application writes its results in this way, one of `RESULTS`."""
    return s.results == RESULTS.index(results)


def take_input(s: View, producer: int, attempt: int) -> Clauses:
    """Clauses and effect: the consumer has the next input record."""
    yield "between records", s.phase[producer] == READY
    yield "bound: a transaction is left", s.next_attempt == attempt
    yield "bound: an input record is left", s.position[producer] < s.sizes.attempt
    s.next_attempt = attempt + 1
    s.input[attempt] = s.position[producer]
    s.asked[attempt] = COMMIT


def write_result(s: View, attempt: int) -> None:
    """Effect: the results of a transaction are in the store, in each output."""
    for each in outputs(s):
        s.committed[attempt][each] = 1


def write_offset(s: View, attempt: int) -> None:
    """Effect: the group's offset is past the input record of a transaction."""
    s.committed[attempt][s.sizes.offsets] = 1
    s.group_offset = s.input[attempt] + 1


@action(
    producer="producer", attempt="attempt", says="consumer {producer} writes the result and the offset of {attempt} together"
)
def store_write_both(k: Primitives, s: View, producer: int, attempt: int) -> Clauses:
    """One transaction of the store has both; a store that fences refuses a consumer of an older generation."""
    yield "result and offset together", k.any_of(does(s, STORE), does(s, FENCING_STORE))
    yield "is the newest, where that is checked", k.any_of(does(s, STORE), s.epoch[producer] == s.producer_epoch)
    yield from take_input(s, producer, attempt)
    write_result(s, attempt)
    write_offset(s, attempt)
    s.position[producer] = s.position[producer] + 1


@action(producer="producer", attempt="attempt", says="consumer {producer} writes the first half of {attempt}")
def store_write_first(k: Primitives, s: View, producer: int, attempt: int) -> Clauses:
    """The consumer writes the first half: the result (processed at least once), or the offset (at most once), as is set.

    Source: OffsetCommit is refused with ILLEGAL_GENERATION where the group has gone on without the consumer.
    """
    yield "one after the other", k.any_of(does(s, RESULT_FIRST), does(s, OFFSET_FIRST))
    yield "offset: the newest", k.any_of(does(s, RESULT_FIRST), s.epoch[producer] == s.producer_epoch)
    yield from take_input(s, producer, attempt)
    s.attempt[producer] = attempt + 1
    s.phase[producer] = COMMITTING
    for each in outputs(s):
        s.committed[attempt][each] = k.ite(does(s, RESULT_FIRST), 1, 0)
    s.committed[attempt][s.sizes.offsets] = k.ite(does(s, OFFSET_FIRST), 1, 0)
    s.group_offset = k.ite(does(s, OFFSET_FIRST), s.input[attempt] + 1, s.group_offset)


@action(producer="producer", attempt="attempt", says="consumer {producer} writes the second half of {attempt}")
def store_write_second(k: Primitives, s: View, producer: int, attempt: int) -> Clauses:
    """The other half, the offset or the result, is written: what a crash in between leaves out."""
    yield "one after the other", k.any_of(does(s, RESULT_FIRST), does(s, OFFSET_FIRST))
    yield "offset: the newest", k.any_of(does(s, OFFSET_FIRST), s.epoch[producer] == s.producer_epoch)
    yield "has written the first", k.all_of(s.attempt[producer] == attempt + 1, s.phase[producer] == COMMITTING)
    write_result(s, attempt)
    s.committed[attempt][s.sizes.offsets] = 1
    s.group_offset = k.ite(does(s, RESULT_FIRST), s.input[attempt] + 1, s.group_offset)
    s.position[producer] = s.position[producer] + 1
    s.attempt[producer] = 0
    s.phase[producer] = READY


STORE_ACTIONS = (store_write_both, store_write_first, store_write_second)
