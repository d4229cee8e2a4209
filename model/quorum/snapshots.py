"""Snapshots of the metadata: what replaces the beginning of a controller's log, and what a start needs both for.

A snapshot has what is committed up to its end; then the log may drop that much, and a follower that needs what was dropped is
sent the snapshot instead.  What is dropped and in no snapshot is lost, though slots here keep it so that logs can be compared.

Source: KIP-630; KafkaMetadataLog, KafkaRaftClient.handleFetchSnapshotResponse.
"""

from __future__ import annotations

from neverlost.model.faults import LOSSY_CRASH
from neverlost.model.kernel import Clauses, Primitives, action, different, larger
from neverlost.model.kraft.broker.log import offsets
from neverlost.model.limits import fault_enabled, record_fault
from neverlost.model.quorum.log import has_start
from neverlost.model.quorum.stops import note_loss, stop
from neverlost.model.quorum.voters import follows
from neverlost.model.system import View


@action(broker="replica", says="controller {broker} writes a snapshot of what is committed")
def controller_snapshot(k: Primitives, s: View, broker: int) -> Clauses:
    """A snapshot of what is committed is written: its end is the high watermark.

    Source: SnapshotGenerator, RaftClient.createSnapshot; Snapshots.moveRename.
    """
    yield "there are snapshots", bool(s.sizes.snapshots)
    if s.sizes.snapshots:
        yield "is running", s.is_running[broker]
        yield "something new is committed", s.snapshot_end[broker] < s.high_watermark[broker]
        s.snapshot_end[broker] = s.high_watermark[broker]


@action(broker="replica", says="controller {broker} deletes the beginning of its log")
def controller_delete_prefix(k: Primitives, s: View, broker: int) -> Clauses:
    """The log is deleted up to its snapshot's end; without that rule up to the high watermark, snapshot or not (KAFKA-14238).

    Source: KafkaMetadataLog.maybeClean, deleteBeforeSnapshot.
    """
    yield "there are snapshots", bool(s.sizes.snapshots)
    if s.sizes.snapshots:
        yield "is running", s.is_running[broker]
        end = k.ite(s.delete_to_snapshot, s.snapshot_end[broker], s.high_watermark[broker])
        yield "bound: there is something", s.log_start[broker] < end
        s.log_start[broker] = end


@action(
    follower="replica", leader="replica", where=different, says="{follower} is sent the snapshot of {leader} and begins with it"
)
def follower_load_snapshot(k: Primitives, s: View, follower: int, leader: int) -> Clauses:
    """What the follower needs next is not in the leader's log any more: it drops its own and begins at the snapshot's end.

    Source: KafkaRaftClient.handleFetchSnapshotResponse, ReplicatedLog.truncateToLatestSnapshot.
    """
    yield "there are snapshots", bool(s.sizes.snapshots)
    if s.sizes.snapshots:
        yield from follows(k, s, follower, leader)
        yield "needs what is deleted", k.not_(has_start(k, s, leader, follower))
        end = s.snapshot_end[leader]
        yield "the leader has a snapshot of it", end >= s.log_start[leader]
        for offset in offsets(s):
            s.log_record[follower][offset] = k.ite(end > offset, s.log_record[leader][offset], 0)
        s.snapshot_end[follower] = end
        s.log_start[follower] = end
        s.high_watermark[follower] = larger(k, end, s.high_watermark[follower])
        if s.sizes.flushed_end:
            s.flushed_end[follower] = end


@action(
    broker="replica",
    says="unclean shutdown of controller {broker} that loses its snapshot, which is not on disk",
    fault="lossy_crash",
)
def controller_crash_losing_snapshot(k: Primitives, s: View, broker: int) -> Clauses:
    """A power loss stops a controller and takes its snapshot, which was renamed before its content was on disk (KAFKA-15312).

    Source: FileRawSnapshotWriter.freeze.
    """
    yield from fault_enabled(k, s, LOSSY_CRASH, broker)
    yield "there are snapshots", bool(s.sizes.snapshots)
    if s.sizes.snapshots:
        yield "is running", s.is_running[broker]
        yield "bound: has one", s.snapshot_end[broker] > 0
        yield "was not forced", k.not_(s.snapshot_forced)
        record_fault(s, LOSSY_CRASH, broker)
        s.snapshot_end[broker] = 0
        note_loss(s, broker)
        stop(k, s, broker)
