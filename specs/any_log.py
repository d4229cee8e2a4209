"""Logs of any length: what a proof for every size reads in place of what goes over all offsets of a log.

The actions and the property are those that exploration runs.  Only four functions of the log's vocabulary go over the offsets
by themselves; each is said here without that, and a test compares each with the one that it stands for, on every log of a
bounded instance.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from neverlost.model.classic.log import EMPTY, append, members_have_committed_log, same_entry, truncate
from neverlost.model.interpreters.otherwise import call_otherwise
from neverlost.model.kernel import Primitives, Unbounded, Value, fill, for_every, implies, put, row
from neverlost.model.protocols.kip279 import first_non_matching_offset
from neverlost.model.system import System, View
from neverlost.specs.property import Property

OFFSETS = Unbounded("offset", "bound: room in the log", ("log_end_offset", "high_watermark"))


def append_at_end(k: Primitives, s: View, replica: int, record: Value, epoch: Value) -> None:
    """Effect: put a record with its epoch at the log end offset, which grows by one; stands for `append`."""
    end = s.log_end_offset[replica]
    put(k, s.log_record[replica], end, record)
    put(k, s.log_epoch[replica], end, epoch)
    s.log_end_offset[replica] = end + 1


def keep_below(k: Primitives, s: View, replica: int, end: Value) -> None:
    """Effect: drop the records at `end` and after; stands for `truncate`."""
    records, epochs = s.log_record[replica], s.log_epoch[replica]
    fill(records, row(k, s, "offset", lambda offset: k.ite(end > offset, records[offset], EMPTY)))
    fill(epochs, row(k, s, "offset", lambda offset: k.ite(end > offset, epochs[offset], 0)))
    s.log_end_offset[replica] = end


def end_of_shared_log(k: Any, s: View, leader: int, follower: int) -> Value:
    """Return one more than the last offset where both have one entry, 0 for none; stands for `first_non_matching_offset`."""
    end = s.log_end_offset[follower]
    found: Value = k.end_of("offset", end, lambda offset: same_entry(k, s, leader, follower, offset))
    return found


def members_have_each_committed_entry(k: Primitives, s: View, is_member: Callable[[int, int], Value]) -> Value:
    """Return True if each member, by `is_member(leader, member)`, of each broker that believes it leads has that one's log
    below its high watermark; stands for `members_have_committed_log`."""

    def at_offset(leader: int, member: int, offset: int) -> Value:
        shown = k.all_of(s.leader[leader] == leader, s.high_watermark[leader] > offset, is_member(leader, member))
        return implies(k, shown, same_entry(k, s, leader, member, offset))

    def of_pair(leader: int, member: int) -> Value:
        return for_every(k, s, "offset", lambda offset: at_offset(leader, member, offset))

    return for_every(k, s, "replica", lambda leader: for_every(k, s, "replica", lambda member: of_pair(leader, member)))


INSTEAD: dict[Callable[..., Any], Callable[..., Any]] = {
    append: append_at_end,
    truncate: keep_below,
    first_non_matching_offset: end_of_shared_log,
    members_have_committed_log: members_have_each_committed_entry,
}
"""What stands for each function that goes over all offsets by itself."""


def _list_unless_open(elements: Any) -> Any:
    """Return some elements as a list; a row without a bound as it is."""
    return elements if hasattr(elements, "select") else list(elements)


def read_with_any_log(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function of a model or a property that says the same of logs of any length."""
    return call_otherwise(function, INSTEAD, {"list": _list_unless_open})


def open_logs(system: System, goal: Property) -> tuple[System, Property]:
    """Return a system and a property whose logs may have any length; of a system without logs, both as they are."""
    if OFFSETS.axis not in system.sizes:
        return system, goal
    model = system.model
    actions = tuple(replace(each, body=read_with_any_log(each.body)) for each in model.actions)
    opened = replace(model, actions=actions, unbounded=(*model.unbounded, OFFSETS))
    return replace(system, model=opened), replace(goal, condition=read_with_any_log(goal.condition))
