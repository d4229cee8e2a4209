"""A consumer: reads below the high watermark of a broker that believes it is leader, processes, commits, crashes.

It handles one record at a time.  With `after-processing` a poll processes the record and a later step commits the
position; with `before-processing` the poll commits and a later step processes.

Source: KafkaConsumer.poll, ConsumerCoordinator.commit.
"""

from __future__ import annotations

from neverlost.model.faults import CONSUMER_CRASH
from neverlost.model.kernel import Clauses, Primitives, Value, action, smaller
from neverlost.model.kraft.broker.leader import leads
from neverlost.model.kraft.broker.log import log_end, offsets
from neverlost.model.limits import fault_enabled, record_fault
from neverlost.model.system import View


def note_processed(k: Primitives, s: View, offset: Value) -> None:
    """Effect: the record at an offset has been processed once more (two stands for more than once)."""
    for each in offsets(s):
        once_more = smaller(k, s.ghost_processed[each] + 1, 2)
        s.ghost_processed[each] = k.ite(offset == each, once_more, s.ghost_processed[each])


@action(consumer="consumer", leader="replica", says="the consumer reads its next record from {leader}")
def consumer_poll(k: Primitives, s: View, consumer: int, leader: int) -> Clauses:
    """The consumer reads its next record, below the high watermark of `leader`, and processes it; with `before-processing` it
    commits its position instead, and processes the record in a later step."""
    yield "believes it is leader", leads(s, leader)
    yield "below the high watermark", s.consumer_position < s.high_watermark[leader]
    yield "nothing in hand", k.not_(s.consumer_holds_record)
    position = s.consumer_position
    for each in offsets(s):
        here = k.all_of(position == each, k.not_(s.commits_before_processing))
        s.ghost_processed[each] = k.ite(here, smaller(k, s.ghost_processed[each] + 1, 2), s.ghost_processed[each])
    following = smaller(k, position + 1, s.sizes.offset)
    s.consumer_position = following
    s.consumer_holds_record = s.commits_before_processing
    s.consumer_committed = k.ite(s.commits_before_processing, following, s.consumer_committed)


@action(consumer="consumer", says="the consumer processes the record whose offset it has committed")
def consumer_process(k: Primitives, s: View, consumer: int) -> Clauses:
    """With `before-processing` only: process the record read; it is committed already, so a crash before this step skips it."""
    yield "a record in hand", s.consumer_holds_record
    note_processed(k, s, s.consumer_position - 1)
    s.consumer_holds_record = False


@action(consumer="consumer", says="the consumer commits its position")
def consumer_commit(k: Primitives, s: View, consumer: int) -> Clauses:
    """With `after-processing` only: commit the position; after a crash before this step the record is processed again."""
    yield "commits after processing", k.not_(s.commits_before_processing)
    yield "bound: something to commit", s.consumer_committed != s.consumer_position
    s.consumer_committed = s.consumer_position


@action(consumer="consumer", says="the consumer crashes and another continues at the committed offset", fault="consumer_crash")
def consumer_crash(k: Primitives, s: View, consumer: int) -> Clauses:
    """What was processed and not committed is processed again; what was committed first and not processed is skipped."""
    yield from fault_enabled(k, s, CONSUMER_CRASH)
    record_fault(s, CONSUMER_CRASH)
    s.consumer_position = s.consumer_committed
    s.consumer_holds_record = False


@action(consumer="consumer", leader="replica", says="the consumer's offset is beyond the log of {leader}; it resets to its end")
def consumer_reset(k: Primitives, s: View, consumer: int, leader: int) -> Clauses:
    """A consumer whose position is beyond the leader's log goes to its end and commits that: OFFSET_OUT_OF_RANGE with
    auto.offset.reset=latest."""
    yield "current leader", s.leader == leader
    yield "believes it is leader", leads(s, leader)
    end = log_end(k, s, leader)
    yield "beyond the log", s.consumer_position > end
    s.consumer_position = end
    s.consumer_committed = end
    s.consumer_holds_record = False


CONSUMER_ACTIONS = (consumer_poll, consumer_process, consumer_commit, consumer_crash, consumer_reset)
"""What a consumer does; without a consumer there are no such steps."""
