"""Logs of any length in the modern models: what a proof for every size reads in place of what goes over all offsets or records.

The actions, the lemmas and the properties are those that exploration runs.  Only the log's vocabulary, and what commits and
acknowledges, goes over all offsets of a log or over all records; each is said here without that, and a test compares each step
with the one that it stands for.

A log's end is a field here, where exploration counts the records; that they end there is a lemma (`every_size`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from neverlost.model import kernel
from neverlost.model.faults import LOSSY_CRASH
from neverlost.model.kernel import (
    Clauses,
    Field,
    Primitives,
    Unbounded,
    Value,
    at,
    fill,
    for_every,
    for_some,
    number,
    put,
    smaller,
)
from neverlost.model.kraft.broker import log
from neverlost.model.kraft.broker.high_watermark import acknowledge, answer_producers, note_committed
from neverlost.model.kraft.broker.log import EMPTY, log_end, truncate_to
from neverlost.model.kraft.lifecycle import stops
from neverlost.model.kraft.state import ACKS
from neverlost.model.limits import fault_enabled, harmless_loss_enabled, record_fault
from neverlost.model.system import View

OFFSET, RECORD = "offset", "record"
UNBOUNDED = (
    Unbounded(
        OFFSET, "bound: a slot is left", ("high_watermark", "fetch_offset", "leader_epoch_start_offset", "log_end_offset")
    ),
    Unbounded(RECORD, "bound: a record is left", ("next_record", "log_record", "ghost_committed")),
)


def make_log_end(slots: int) -> Field:
    """Return the field of log end offsets, from 0 to `slots`; exploration has none, since it counts the records."""
    return number("log_end_offset", 0, slots, "replica")


def end_of_log(k: Primitives, s: View, replica: int) -> Value:
    """Return a replica's log end offset, which is a field here; stands for `log_end`."""
    return s.log_end_offset[replica]


def is_beginning(k: Primitives, s: View, replica: int, other: int) -> Value:
    """Return True if a replica's whole log is the beginning of another's; stands for `is_prefix`."""
    here, there = s.log_record[replica], s.log_record[other]
    same = for_every(k, s, OFFSET, lambda offset: k.any_of(here[offset] == EMPTY, here[offset] == there[offset]))
    return k.all_of(log_end(k, s, replica) <= log_end(k, s, other), same)


def is_longer(k: Primitives, s: View, replica: int, other: int) -> Value:
    """Return True if a replica's log is longer than another's; stands for `has_beyond`."""
    return log_end(k, s, replica) > log_end(k, s, other)


def append_at_end(k: Primitives, s: View, replica: int, content: Value) -> None:
    """Effect: put a record's number at the log end offset, which moves on by one; stands for `append`."""
    end = s.log_end_offset[replica]
    put(k, s.log_record[replica], end, content)
    s.log_end_offset[replica] = end + 1


def copy_at_end(k: Primitives, s: View, source: int, target: int) -> None:
    """Effect: append what `source` has at the target's log end offset, if it has anything there; stands for `copy_next`."""
    end = s.log_end_offset[target]
    put(k, s.log_record[target], end, at(k, s.log_record[source], end))
    s.log_end_offset[target] = k.ite(s.log_end_offset[source] > end, end + 1, end)


def keep_common(k: Any, s: View, replica: int, other: int) -> None:
    """Effect: drop a replica's records from where its log first differs from another's; stands for `truncate_to_common`."""
    here, there = s.log_record[replica], s.log_record[other]
    end = k.first_of(OFFSET, s.log_end_offset[replica], lambda offset: here[offset] != there[offset])
    truncate_to(k, s, replica, end)


def keep_below(k: Primitives, s: View, replica: int, end: Value) -> None:
    """Effect: drop a replica's records at `end` and after; stands for `truncate_to`."""
    records = s.log_record[replica]
    fill(records, kernel.row(k, s, OFFSET, lambda offset: k.ite(end > offset, records[offset], EMPTY)))
    s.log_end_offset[replica] = smaller(k, s.log_end_offset[replica], end)


def commit_all_below(k: Primitives, s: View, leader: int) -> None:
    """Effect: offsets below the high watermark that have no committed record yet get theirs; stands for `note_committed`."""
    reached, committed, records = s.high_watermark[leader], s.ghost_committed, s.log_record[leader]

    def after(offset: int) -> Value:
        return k.ite(k.all_of(reached > offset, committed[offset] == EMPTY), records[offset], committed[offset])

    fill(committed, kernel.row(k, s, OFFSET, after))


def answer_all_producers(k: Primitives, s: View, leader: int, is_full: Value) -> None:
    """Effect: with acks=all, if `is_full`, what is below the high watermark is acknowledged; stands for `answer_producers`."""
    reached, acked, records = s.high_watermark[leader], s.ghost_acked, s.log_record[leader]

    def is_passed(record: int) -> Value:
        return for_some(k, s, OFFSET, lambda offset: k.all_of(reached > offset, records[offset] == record + 1))

    full = k.all_of(s.acks == ACKS["all"], is_full)
    fill(acked, kernel.row(k, s, RECORD, lambda record: k.any_of(acked[record], k.all_of(full, is_passed(record)))))


def acknowledge_one(k: Primitives, s: View, record: Value, when: Value) -> None:
    """Effect: a record (0: none) is acknowledged to the producer, if `when` is true; stands for `acknowledge`."""
    acked = s.ghost_acked
    fill(acked, kernel.row(k, s, RECORD, lambda each: k.any_of(acked[each], k.all_of(when, record == each + 1))))


def lose_unflushed(k: Primitives, s: View, broker: int, kept: int | None) -> Clauses:
    """A running broker loses its log from `kept` on (None: nothing); the caller stops it; stands for `crash_unflushed`."""
    yield from fault_enabled(k, s, LOSSY_CRASH, broker)
    yield "broker is running", s.is_running[broker]
    if kept is None:
        yield from harmless_loss_enabled(s)
    else:
        yield "records are not flushed one by one", k.not_(s.flushes_each_record)
        yield "bound: something is lost", s.log_record[broker][kept] != EMPTY
    record_fault(s, LOSSY_CRASH, broker)
    if kept is not None:
        truncate_to(k, s, broker, kept)


INSTEAD: dict[Callable[..., Any], Callable[..., Any]] = {
    log_end: end_of_log,
    log.is_prefix: is_beginning,
    log.has_beyond: is_longer,
    log.append: append_at_end,
    log.copy_next: copy_at_end,
    log.truncate_to_common: keep_common,
    truncate_to: keep_below,
    note_committed: commit_all_below,
    answer_producers: answer_all_producers,
    acknowledge: acknowledge_one,
    stops.crash_unflushed: lose_unflushed,
}
"""What stands for each function that goes over all offsets or records by itself."""
