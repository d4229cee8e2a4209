"""How a controller stops and starts again: what is on disk, and what a lost directory takes with it.

Source: KafkaRaftClient.initialize, QuorumState.initialize, FileQuorumStateStore, KafkaMetadataLog.
"""

from __future__ import annotations

from neverlost.model.faults import DISK_LOSS, KILL, LOSSY_CRASH
from neverlost.model.kernel import NO_REPLICA, Clauses, Primitives, Value, action
from neverlost.model.kraft.broker.log import EMPTY
from neverlost.model.limits import fault_enabled, harmless_loss_enabled, record_fault
from neverlost.model.limits import settle as settle_limits
from neverlost.model.quorum.log import holds_readable, truncated
from neverlost.model.quorum.membership import NEXT_DIRECTORY
from neverlost.model.quorum.roles import CANDIDATE, FOLLOWER
from neverlost.model.quorum.voters import count_votes, everyone, forget_role
from neverlost.model.system import View


def is_impaired(k: Primitives, s: View, voter: int) -> Value:
    """Return True if a controller is down, or has lost data and has not caught up with what was acknowledged."""
    return k.any_of(k.not_(s.is_running[voter]), s.ghost_lost_data[voter])


def settle(k: Primitives, s: View) -> None:
    """Effect, after every step: a controller that has every acknowledged record again is no longer marked as one that lost
    data, an unimpaired one no longer as struck by a fault."""
    if s.sizes.has_impaired:
        for voter in everyone(s):
            lacking = [
                k.all_of(s.ghost_acked[record], k.not_(holds_readable(k, s, voter, record))) for record in range(s.sizes.record)
            ]
            s.ghost_lost_data[voter] = k.all_of(s.ghost_lost_data[voter], k.any_of(*lacking))
    settle_limits(k, s)


def stop(k: Primitives, s: View, voter: int) -> None:
    """Effect: the process ends; log and epoch stay, and, if votes are durable, the vote and the leader that is known."""
    s.is_running[voter] = False
    forget_role(s, voter)
    s.high_watermark[voter] = 0
    s.voted_for[voter] = k.ite(s.durable_votes, s.voted_for[voter], NO_REPLICA)
    s.leader[voter] = k.ite(s.durable_votes, s.leader[voter], NO_REPLICA)


def note_loss(s: View, voter: int) -> None:
    """Effect: remember that a controller has lost data, if a limit asks for that."""
    if s.sizes.has_impaired:
        s.ghost_lost_data[voter] = True


@action(broker="replica", says="unclean shutdown of controller {broker}, log intact", fault="kill")
def controller_crash(k: Primitives, s: View, broker: int) -> Clauses:
    """A controller's process dies and the page cache survives it, so nothing is lost of its log."""
    yield from fault_enabled(k, s, KILL, broker)
    yield "is running", s.is_running[broker]
    record_fault(s, KILL, broker)
    stop(k, s, broker)


@action(broker="replica", kept="kept", says="controller {broker} loses power{kept}", fault="lossy_crash")
def controller_crash_lossy(k: Primitives, s: View, broker: int, kept: int) -> Clauses:
    """The machine dies, and what was not flushed is gone from offset `kept` on; quorum-state is synced when it is written.

    A controller flushes all that it appends before it is counted, so where both rules are on nothing is lost.
    """
    yield from fault_enabled(k, s, LOSSY_CRASH, broker)
    yield "is running", s.is_running[broker]
    if kept < s.sizes.offset:
        yield "bound: something is lost", s.log_record[broker][kept] != EMPTY
        yield "was not flushed", s.flushed_end[broker] <= kept if s.sizes.flushed_end else False
        yield "is in no snapshot", s.snapshot_end[broker] <= kept if s.sizes.snapshots else True
        truncated(k, s, broker, kept)
        note_loss(s, broker)
    else:
        yield from harmless_loss_enabled(s)
    record_fault(s, LOSSY_CRASH, broker)
    stop(k, s, broker)


def never_added(k: Primitives, s: View, controller: int) -> Value:
    """Return True if no voter set has a controller's second directory, so that a third may have its number."""
    if not s.sizes.directory:
        return True
    return k.not_(k.any_of(*[s.voter_set[each][controller] == NEXT_DIRECTORY for each in range(s.sizes.change + 1)]))


@action(broker="replica", says="controller {broker} stops and its directory is replaced by an empty one", fault="disk_loss")
def controller_lose_disk(k: Primitives, s: View, broker: int) -> Clauses:
    """A controller stops and loses its directory: it comes back under its old id, without log, epoch and vote.

    Without directory ids nothing bars it: it votes, and for an empty log if it is asked.
    """
    yield from fault_enabled(k, s, DISK_LOSS, broker)
    yield "is running", s.is_running[broker]
    yield "bound: a directory is left", never_added(k, s, broker)
    record_fault(s, DISK_LOSS, broker)
    truncated(k, s, broker, 0)
    note_loss(s, broker)
    stop(k, s, broker)
    s.epoch[broker] = 0
    s.voted_for[broker] = NO_REPLICA
    s.leader[broker] = NO_REPLICA
    if s.sizes.directory:
        s.directory[broker] = NEXT_DIRECTORY
    elif s.sizes.directory_ids:
        s.is_voter[broker] = False
    if s.sizes.snapshots:
        s.snapshot_end[broker] = 0
        s.log_start[broker] = 0


@action(broker="replica", says="controller {broker} starts again")
def controller_restart(k: Primitives, s: View, broker: int) -> Clauses:
    """A controller starts as its quorum-state says: a follower of the leader that it knew, resigned if that was itself, a
    candidate again if it had voted for itself, else without a leader.

    Source: QuorumState.initialize.
    """
    yield "is down", k.not_(s.is_running[broker])
    s.is_running[broker] = True
    asks = k.all_of(s.voted_for[broker] == broker, s.leader[broker] == NO_REPLICA)
    s.role[broker] = k.ite(asks, CANDIDATE, FOLLOWER)
    s.has_vote[broker][broker] = asks
    count_votes(k, s, broker)
