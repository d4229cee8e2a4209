"""The vocabulary of a replica's log: record ids and leader epochs by offset, and a log end offset.

Offsets are 0-based and the log end offset is exclusive.  A record id of 0 marks an empty slot, whose
epoch is 0 too, so that equal logs are equal states.
"""

from __future__ import annotations

from collections.abc import Callable

from neverlost.model.kernel import Field, Primitives, Value, at, for_every, implies, number
from neverlost.model.system import View

EMPTY = 0
"""The record id of a slot beyond the log end offset."""


def log_fields(log_size: int, records: int, max_epoch: int) -> tuple[Field, ...]:
    """Return the fields of the replicas' logs: log end offset, record ids (1 to `records`; 0: empty slot), leader epochs."""
    return (
        number("log_end_offset", 0, log_size, "replica"),
        number("log_record", 0, records, "replica", "offset"),
        number("log_epoch", 0, max_epoch, "replica", "offset"),
    )


def append(k: Primitives, s: View, replica: int, record: Value, epoch: Value) -> None:
    """Effect: put a record with its epoch at the log end offset, which grows by one."""
    end = s.log_end_offset[replica]
    for offset in range(s.sizes.offset):
        here = end == offset
        s.log_record[replica][offset] = k.ite(here, record, s.log_record[replica][offset])
        s.log_epoch[replica][offset] = k.ite(here, epoch, s.log_epoch[replica][offset])
    s.log_end_offset[replica] = end + 1


def copy_next(k: Primitives, s: View, source: int, target: int) -> None:
    """Effect: append to `target` the record, with its epoch, that `source` has at the target's log end offset."""
    end = s.log_end_offset[target]
    append(k, s, target, at(k, list(s.log_record[source]), end), at(k, list(s.log_epoch[source]), end))


def truncate(k: Primitives, s: View, replica: int, end: Value) -> None:
    """Effect: drop the records at `end` and after; `end` is at most the log end offset."""
    for offset in range(s.sizes.offset):
        kept = end > offset
        s.log_record[replica][offset] = k.ite(kept, s.log_record[replica][offset], EMPTY)
        s.log_epoch[replica][offset] = k.ite(kept, s.log_epoch[replica][offset], 0)
    s.log_end_offset[replica] = end


def latest_epoch(k: Primitives, s: View, replica: int) -> Value:
    """Return the epoch of the last record; 0, which is an epoch too, for an empty log."""
    last = s.log_epoch[replica][0]
    for offset in range(1, s.sizes.offset):
        last = k.ite(s.log_end_offset[replica] > offset, s.log_epoch[replica][offset], last)
    return last


def same_entry(k: Primitives, s: View, one: int, other: int, offset: int) -> Value:
    """Return True if both logs have a record at an offset, and it is the same one with the same epoch."""
    return k.all_of(
        s.log_end_offset[one] > offset,
        s.log_end_offset[other] > offset,
        s.log_record[one][offset] == s.log_record[other][offset],
        s.log_epoch[one][offset] == s.log_epoch[other][offset],
    )


def members_have_committed_log(k: Primitives, s: View, is_member: Callable[[int, int], Value]) -> Value:
    """Return True if all ISR members of every presumed leader have its records and epochs below its high watermark.

    `is_member(leader, replica)` says whether a replica counts as a member of that leader's ISR.
    """

    def at_offset(offset: int, leader: int, member: int) -> Value:
        shown = k.all_of(s.leader[leader] == leader, s.high_watermark[leader] > offset, is_member(leader, member))
        return implies(k, shown, same_entry(k, s, leader, member, offset))

    return for_every(
        k,
        s,
        "replica",
        lambda leader: for_every(
            k,
            s,
            "replica",
            lambda member: k.all_of(*[at_offset(each, leader, member) for each in range(s.sizes.offset)]),
        ),
    )
