"""The modern models' logs: which record each replica holds at each offset, and what a crash does to them.

A slot holds a record's number, 1 or more, or `EMPTY`; records are numbered in the order of their append.  The log end
offset is not stored: it is the number of slots that are not empty.  A leader epoch has one leader and an offset of its
log is written once, so the number of a record stands for its pair of offset and leader epoch.
"""

from __future__ import annotations

from neverlost.model.kernel import Primitives, Value, count
from neverlost.model.system import View

EMPTY = 0
"""The content of a slot beyond the log end offset."""


def offsets(s: View) -> range:
    """Return all offsets that a log may have, from 0."""
    return range(s.sizes.offset)


def log_end(k: Primitives, s: View, replica: int) -> Value:
    """Return the log end offset: one beyond the last record; 0 for an empty log."""
    return count(k, [s.log_record[replica][offset] != EMPTY for offset in offsets(s)])


def is_prefix(k: Primitives, s: View, replica: int, other: int) -> Value:
    """Return True if the whole log of `replica` is the beginning of that of `other`, or equal to it."""
    return k.all_of(
        *[
            k.any_of(s.log_record[replica][offset] == EMPTY, s.log_record[replica][offset] == s.log_record[other][offset])
            for offset in offsets(s)
        ]
    )


def has_beyond(k: Primitives, s: View, replica: int, other: int) -> Value:
    """Return True if the log of `replica` is longer than that of `other`."""
    return k.any_of(
        *[k.all_of(s.log_record[replica][offset] != EMPTY, s.log_record[other][offset] == EMPTY) for offset in offsets(s)]
    )


def holds_record(k: Primitives, s: View, replica: int, record: int) -> Value:
    """Return True if a replica's log has a record; `record` counts from 0, as the ghost fields do."""
    return k.any_of(*[s.log_record[replica][offset] == record + 1 for offset in offsets(s)])


def _put_at_end(k: Primitives, s: View, replica: int, contents: list[Value]) -> None:
    """Effect: the first empty slot takes the one of `contents` at its offset; a full log stays as it is."""
    for offset in reversed(offsets(s)):
        here = s.log_record[replica][offset]
        is_end = here == EMPTY if offset == 0 else k.all_of(here == EMPTY, s.log_record[replica][offset - 1] != EMPTY)
        s.log_record[replica][offset] = k.ite(is_end, contents[offset], here)


def append(k: Primitives, s: View, replica: int, content: Value) -> None:
    """Effect: put a record's number at the log end offset; a full log stays as it is."""
    _put_at_end(k, s, replica, [content for _ in offsets(s)])


def copy_next(k: Primitives, s: View, source: int, target: int) -> None:
    """Effect: append what `source` has at the target's log end offset, if it has anything there."""
    _put_at_end(k, s, target, list(s.log_record[source]))


def agreed_end(k: Primitives, s: View, follower: int, leader: int) -> Value:
    """Return the length of the longest beginning of a follower's log that a leader accepts; 0 if it accepts none.

    The leader looks only at the epoch of the beginning's last record: it has a record of that epoch, or leads in it, and its
    own last record of no newer epoch is at that offset or after it.  Late bytes may have put records of an older epoch
    after those of a newer one (FetchResponse.divergingEpoch, LeaderEpochFileCache.assign, endOffsetFor).
    """
    found: Value = 0
    for offset in offsets(s):
        here = s.log_record[follower][offset]
        epoch = epoch_of(k, s, here)
        contents = [s.log_record[leader][each] for each in offsets(s)]
        is_known = k.any_of(epoch == s.led_epoch[leader], *[epoch_of(k, s, each) == epoch for each in contents])
        end: Value = 0
        for at, each in enumerate(contents):
            end = k.ite(k.all_of(each != EMPTY, epoch_of(k, s, each) <= epoch), at + 1, end)
        found = k.ite(k.all_of(here != EMPTY, is_known, end > offset), offset + 1, found)
    return found


def truncate_to_common(k: Primitives, s: View, replica: int, other: int) -> None:
    """Effect: drop from the log of `replica` everything from the first offset on at which it differs from that of `other`."""
    shared: Value = True
    for offset in offsets(s):
        here = s.log_record[replica][offset]
        shared = k.all_of(shared, here == s.log_record[other][offset])
        s.log_record[replica][offset] = k.ite(shared, here, EMPTY)


def common_end(k: Primitives, s: View, replica: int, other: int) -> Value:
    """Return how many entries both logs have in common from offset 0 on, before the first that differs or is missing."""
    shared: Value = True
    found: list[Value] = []
    for offset in offsets(s):
        here = s.log_record[replica][offset]
        shared = k.all_of(shared, here == s.log_record[other][offset], here != EMPTY)
        found.append(shared)
    return count(k, found)


def truncate_to(k: Primitives, s: View, replica: int, end: Value) -> None:
    """Effect: drop the records at `end` and after."""
    for offset in offsets(s):
        s.log_record[replica][offset] = k.ite(end > offset, s.log_record[replica][offset], EMPTY)


def has_room(k: Primitives, s: View, replica: int) -> Value:
    """Return True if a log has a free slot."""
    return s.log_record[replica][s.sizes.offset - 1] == EMPTY


def epoch_of(k: Primitives, s: View, content: Value) -> Value:
    """Return the leader epoch in which a slot's record was appended; -1 for an empty slot."""
    found: Value = -1
    for record in range(s.sizes.record):
        found = k.ite(content == record + 1, s.record_epoch[record], found)
    return found


def last_epoch(k: Primitives, s: View, replica: int) -> Value:
    """Return the epoch of a log's last record; -1 for an empty log."""
    found: Value = -1
    for offset in offsets(s):
        here = s.log_record[replica][offset]
        found = k.ite(here != EMPTY, epoch_of(k, s, here), found)
    return found


def is_longer_log(k: Primitives, s: View, one: int, other: int) -> Value:
    """Return True if log `one` is ahead of log `other`: its last record's epoch is newer, or the same and the log is longer."""
    first, second = last_epoch(k, s, one), last_epoch(k, s, other)
    return k.any_of(first > second, k.all_of(first == second, has_beyond(k, s, one, other)))


def end_for_last_epoch(k: Primitives, s: View, follower: int, leader: int) -> Value:
    """Return where a follower's last epoch ends on a leader: its log end if it leads in that epoch, else before newer ones."""
    epoch = last_epoch(k, s, follower)
    older = [
        k.all_of(s.log_record[leader][offset] != EMPTY, epoch_of(k, s, s.log_record[leader][offset]) <= epoch)
        for offset in offsets(s)
    ]
    return k.ite(epoch == s.led_epoch[leader], log_end(k, s, leader), count(k, older))


def has_unknown_epoch(k: Primitives, s: View, follower: int, leader: int) -> Value:
    """Return True if the epoch of the follower's last record is newer than the one that the leader leads in."""
    return last_epoch(k, s, follower) > s.led_epoch[leader]
