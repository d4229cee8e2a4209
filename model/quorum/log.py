"""The quorum's log: clients' records, sets of voters, and an entry with which every leader begins its epoch.

A slot holds a record's number, that of the entry with which the leader of an epoch began (`leader_change`), or that of a change
of voters (`set_change`).  Until an entry of its own epoch is on a majority a leader commits nothing, so KafkaRaftClient appends
one at once (LeaderChangeMessage).
"""

from __future__ import annotations

from neverlost.model.kernel import Primitives, Value, smaller
from neverlost.model.kraft.broker.high_watermark import acknowledge
from neverlost.model.kraft.broker.log import EMPTY, append, common_end, has_beyond, holds_record, log_end, offsets, truncate_to
from neverlost.model.quorum.membership import first_change, is_enough
from neverlost.model.quorum.roles import is_leader
from neverlost.model.system import View


def leader_change(s: View, epoch: Value) -> Value:
    """Return the number that stands in a log for the entry with which the leader of an epoch begins."""
    return epoch + s.sizes.record


def epoch_of(k: Primitives, s: View, content: Value) -> Value:
    """Return the epoch in which a slot's entry was appended; 0 for an empty slot."""
    found: Value = k.ite(content > s.sizes.record, content - s.sizes.record, 0)
    for change in range(s.sizes.change):
        found = k.ite(content == set_change(s, change), s.change_epoch[change], found)
    for record in range(s.sizes.record):
        found = k.ite(content == record + 1, s.record_epoch[record], found)
    return found


def last_epoch(k: Primitives, s: View, voter: int) -> Value:
    """Return the epoch of a log's last entry; 0 for an empty log."""
    found: Value = 0
    for offset in offsets(s):
        here = s.log_record[voter][offset]
        found = k.ite(here != EMPTY, epoch_of(k, s, here), found)
    return found


def is_longer_log(k: Primitives, s: View, one: int, other: int) -> Value:
    """Return True if a log is ahead of another: by the epoch of its last entry, then by its length."""
    first, second = last_epoch(k, s, one), last_epoch(k, s, other)
    return k.any_of(first > second, k.all_of(first == second, has_beyond(k, s, one, other)))


def append_as_leader(k: Primitives, s: View, leader: int, content: Value) -> None:
    """Effect: put an entry, if any, at the log's end; it is on disk if leaders flush before they count themselves."""
    append(k, s, leader, content)
    if s.sizes.flushed_end and s.sizes.leader_flushes:
        s.flushed_end[leader] = k.ite(content != EMPTY, log_end(k, s, leader), s.flushed_end[leader])


def truncated(k: Primitives, s: View, voter: int, end: Value) -> None:
    """Effect: drop the entries at `end` and after; none of them is on disk any more."""
    truncate_to(k, s, voter, end)
    if s.sizes.flushed_end:
        s.flushed_end[voter] = smaller(k, s.flushed_end[voter], end)


def set_change(s: View, change: int) -> int:
    """Return the number that stands in a log for a change of voters; `change` counts from 0."""
    return first_change(s) + change


def holds_readable(k: Primitives, s: View, controller: int, record: int) -> Value:
    """Return True if a controller has a record (counted from 0) in its log, or in a snapshot where the log has dropped it."""
    if not s.sizes.snapshots:
        return holds_record(k, s, controller, record)
    start, snapshot = s.log_start[controller], s.snapshot_end[controller]
    return k.any_of(
        *[
            k.all_of(s.log_record[controller][offset] == record + 1, k.any_of(start <= offset, snapshot > offset))
            for offset in offsets(s)
        ]
    )


def has_start(k: Primitives, s: View, leader: int, follower: int) -> Value:
    """Return True if a leader's log still has what a follower needs next: what follows the last entry that both share."""
    if not s.sizes.snapshots:
        return True
    return s.log_start[leader] <= common_end(k, s, follower, leader)


def commit(k: Primitives, s: View, leader: int) -> None:
    """Effect: raise the high watermark past the last entry of the leader's own epoch that enough voters have, as it knows.

    Records below it are acknowledged.  Nothing happens for a broker that does not lead; one that is no voter does not count.

    Source: LeaderState.maybeUpdateHighWatermark.
    """
    old = s.high_watermark[leader]
    new = old
    for offset in offsets(s):
        here = s.log_record[leader][offset]
        held = [True if each == leader else s.fetch_offset[leader][each] > offset for each in range(s.sizes.replica)]
        own = k.any_of(k.not_(s.own_epoch_commit), epoch_of(k, s, here) == s.epoch[leader])
        passed = k.all_of(is_leader(s, leader), here != EMPTY, own, is_enough(k, s, leader, held), new <= offset)
        new = k.ite(passed, offset + 1, new)
    s.high_watermark[leader] = new
    for offset in offsets(s):
        acknowledge(k, s, s.log_record[leader][offset], new > offset)
