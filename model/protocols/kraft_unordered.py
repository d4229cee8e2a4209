"""kraft-unordered: kraft on file systems that may bring a truncation to disk later than what is forced after it.

A follower that truncates forces nothing; it then names the leader's epoch in its leader-epoch checkpoint, which it forces, and
appends.  A power loss may leave the new checkpoint beside the old end of the log: records that were truncated are back, and the
checkpoint says that they are of the newer epoch.  So a leader finds nothing wrong with them.  File systems with one ordered
journal (ext4, XFS) bring the truncation to disk first; ZFS and some network file systems need not.

Per slot, `disk_record` is the oldest record that was there since the broker started: what the disk may still have.
`named_record` is the record that the checkpoint makes of one that is back, 0 elsewhere.  What comes back is what the follower
has overwritten; an old end that is longer than the new log is left out, and so is a second truncation of a slot.

Source: LeaderEpochFileCache.assign, FileRecords.truncateTo, LogSegment.recover; finding J, seen on Kafka's classes with a disk
image made by hand (no disk was seen to leave it).
"""

from __future__ import annotations

from typing import Any

from neverlost.model.faults import LOSSY_CRASH, RACK_LOSS
from neverlost.model.interpreters.otherwise import call_otherwise
from neverlost.model.kernel import Action, Clauses, Configuration, Field, Primitives, Value, action, count, number
from neverlost.model.kraft import state
from neverlost.model.kraft.broker.log import EMPTY, common_end, is_prefix, offsets, truncate_to, truncate_to_common
from neverlost.model.kraft.lifecycle.stops import stop
from neverlost.model.kraft.sizes import ON_FETCH, ORDERED, RECORDS_OF_LATE_BYTES, RECORDS_OF_UNDOING, truncation
from neverlost.model.limits import fault_enabled, record_fault
from neverlost.model.protocols.kraft import MODEL as KRAFT
from neverlost.model.system import View


def _name(k: Primitives, s: View, replica: int, offset: int) -> Value:
    """Return the record for which a slot passes by its leader epoch: its own, unless a truncation was undone there."""
    named = s.named_record[replica][offset]
    return k.ite(named == EMPTY, s.log_record[replica][offset], named)


def is_prefix_by_name(k: Primitives, s: View, replica: int, other: int) -> Value:
    """Return True if a replica's log is the beginning of another's by `_name`; this stands in for `is_prefix`."""
    found = []
    for offset in offsets(s):
        here = _name(k, s, replica, offset)
        found.append(k.any_of(here == EMPTY, here == _name(k, s, other, offset)))
    return k.all_of(*found)


def common_end_by_name(k: Primitives, s: View, replica: int, other: int) -> Value:
    """Return the offset after what both logs share from the start by `_name`, 0 for nothing; it stands in for `common_end`."""
    shared: Value = True
    found: list[Value] = []
    for offset in offsets(s):
        here = _name(k, s, replica, offset)
        shared = k.all_of(shared, here == _name(k, s, other, offset), here != EMPTY)
        found.append(shared)
    return count(k, found)


def truncate_to_common_by_name(k: Primitives, s: View, replica: int, other: int) -> None:
    """Effect: drop from `replica`'s log what follows `common_end_by_name`; this stands in for `truncate_to_common`."""
    truncate_to(k, s, replica, common_end_by_name(k, s, replica, other))


@action(broker="replica", says="broker {broker} loses power, and what it had truncated is back", fault="lossy_crash")
def broker_lose_truncation(k: Primitives, s: View, broker: int) -> Clauses:
    """A power loss brings back the end of the log that was truncated; recovery adds no older epoch to the checkpoint."""
    yield from fault_enabled(k, s, LOSSY_CRASH, broker)
    yield "broker is running", s.is_running[broker]
    yield "records are not flushed one by one", k.not_(s.flushes_each_record)
    is_back = [_is_overwritten(k, s, broker, each) for each in offsets(s)]
    yield "bound: something is back", k.any_of(*is_back)
    record_fault(s, LOSSY_CRASH, broker)
    for offset in offsets(s):
        here = s.log_record[broker][offset]
        s.named_record[broker][offset] = k.ite(is_back[offset], _name(k, s, broker, offset), s.named_record[broker][offset])
        s.log_record[broker][offset] = k.ite(is_back[offset], s.disk_record[broker][offset], here)
    stop(k, s, broker)


def _is_overwritten(k: Primitives, s: View, broker: int, offset: int) -> Value:
    here, before = s.log_record[broker][offset], s.disk_record[broker][offset]
    return k.all_of(here != EMPTY, before != EMPTY, before != here)


def settle(k: Primitives, s: View) -> None:
    """Effect, after every step: as kraft; note each slot's first record since its broker started; an empty slot has no name."""
    state.settle(k, s)
    for replica in state.everyone(s):
        for offset in offsets(s):
            here, before = s.log_record[replica][offset], s.disk_record[replica][offset]
            is_new = k.any_of(before == EMPTY, k.not_(s.is_running[replica]))
            if s.sizes.reassignment:
                is_new = k.any_of(is_new, k.not_(s.is_replica[replica]))
            s.disk_record[replica][offset] = k.ite(is_new, here, before)
            s.named_record[replica][offset] = k.ite(here == EMPTY, EMPTY, s.named_record[replica][offset])


def fields(configuration: Configuration) -> tuple[Field, ...]:
    """Return the fields of kraft, and those of what a disk may have."""
    records = configuration["bounds.records"]
    both = (number(each, 0, records, "replica", "offset") for each in ("disk_record", "named_record"))
    return (*KRAFT.fields(configuration), *both)


def contradiction(configuration: Configuration) -> str | None:
    """Return why a configuration asks for what this model leaves out, or contradicts itself; None if it does neither."""
    if truncation(configuration) != ON_FETCH:
        return f"{ORDERED}=false is about followers that truncate while they fetch: kafka.version=2.7 or newer"
    if configuration[RACK_LOSS.key]:
        return f"{ORDERED}=false is not known together with {RACK_LOSS.key}: use {LOSSY_CRASH.key}"
    if configuration["election.policy"] in ("longest-log", "fenced-longest-log"):
        return f"{ORDERED}=false is not known together with election.policy={configuration['election.policy']}"
    if not RECORDS_OF_UNDOING <= configuration["bounds.records"] < RECORDS_OF_LATE_BYTES:
        return f"{ORDERED}=false takes {RECORDS_OF_UNDOING} to {RECORDS_OF_LATE_BYTES - 1} records: use bounds.records=2"
    return KRAFT.contradiction(configuration)


INSTEAD: dict[Any, Any] = {
    is_prefix: is_prefix_by_name,
    common_end: common_end_by_name,
    truncate_to_common: truncate_to_common_by_name,
}


def _by_name(each: Action) -> Action:
    """Return an action of kraft in which logs are compared as leader epochs name their records."""
    return Action(**{**vars(each), "body": call_otherwise(each.body, INSTEAD)})


MODEL = KRAFT.differing(
    "kraft-unordered",
    "kraft on a file system that may undo a truncation when power is lost",
    keys=(*KRAFT.keys, ORDERED),
    fields=fields,
    actions=(*map(_by_name, KRAFT.actions), broker_lose_truncation),
    normalise=settle,
    contradiction=contradiction,
)
