"""Logs of any length: the vocabulary of a replica's log where offsets have no bound.

The actions and properties are those that exploration runs; only the four functions that go over all offsets by themselves are
read otherwise, and a test compares each with the one that it stands for, on every log of a bounded instance.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from neverlost.model.classic.log import (
    EMPTY,
    append,
    members_have_committed_log,
    same_entry,
    truncate,
)
from neverlost.model.interpreters.otherwise import call_otherwise
from neverlost.model.kernel import Primitives, Unbounded, Value, fill, for_every, implies, put, row
from neverlost.model.protocols.kip279 import first_non_matching_offset
from neverlost.model.system import System, View

OFFSET = "offset"


def append_anywhere(k: Primitives, s: View, replica: int, record: Value, epoch: Value) -> None:
    """Effect: as `append`."""
    end = s.log_end_offset[replica]
    put(k, s.log_record[replica], end, record)
    put(k, s.log_epoch[replica], end, epoch)
    s.log_end_offset[replica] = end + 1


def truncate_anywhere(k: Primitives, s: View, replica: int, end: Value) -> None:
    """Effect: as `truncate`."""
    for log, nothing in ((s.log_record[replica], EMPTY), (s.log_epoch[replica], 0)):
        fill(log, row(k, s, OFFSET, lambda o, log=log, nothing=nothing: k.ite(end > o, log[o], nothing)))
    s.log_end_offset[replica] = end


def first_non_matching_offset_anywhere(k: Any, s: View, leader: int, follower: int) -> Value:
    """As `first_non_matching_offset`."""
    return k.end_of(OFFSET, s.log_end_offset[follower], lambda o: same_entry(k, s, leader, follower, o))


def members_have_committed_log_anywhere(k: Primitives, s: View, is_member: Callable[[int, int], Value]) -> Value:
    """As `members_have_committed_log`."""

    def at_offset(offset: int, leader: int, member: int) -> Value:
        shown = k.all_of(s.leader[leader] == leader, s.high_watermark[leader] > offset, is_member(leader, member))
        return implies(k, shown, same_entry(k, s, leader, member, offset))

    def of_leader(leader: int) -> Value:
        return for_every(k, s, "replica", lambda m: for_every(k, s, OFFSET, lambda o: at_offset(o, leader, m)))

    return for_every(k, s, "replica", of_leader)


ANYWHERE = {
    append: append_anywhere,
    truncate: truncate_anywhere,
    first_non_matching_offset: first_non_matching_offset_anywhere,
    members_have_committed_log: members_have_committed_log_anywhere,
}


def keep_row(elements: Any) -> Any:
    """Return a row without a length as it is, and any other as a list."""
    return elements if hasattr(elements, "select") else list(elements)


def without_log_bound(system: System) -> System:
    """Return the system with logs of any length, for a reading that quantifies over offsets."""
    model = system.model
    offsets = Unbounded(OFFSET, "bound: room in the log", ("log_end_offset", "high_watermark"))
    actions = tuple(replace(each, body=read_anywhere(each.body)) for each in model.actions)
    return replace(system, model=replace(model, actions=actions, unbounded=(*model.unbounded, offsets)))


def read_anywhere(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function of the model, with the vocabulary of logs of any length."""
    return call_otherwise(function, ANYWHERE, {"list": keep_row})
