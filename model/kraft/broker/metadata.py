"""How brokers learn what the controller has decided: each replays the metadata log in its own time.

Source: BrokerMetadataPublisher, ReplicaManager.applyDelta, Partition.makeLeader, Partition.makeFollower.
"""

from __future__ import annotations

from neverlost.model.kernel import NO_REPLICA, Clauses, Primitives, Value, action, different
from neverlost.model.kraft.broker.follower import forget_response, truncate_before_fetching
from neverlost.model.kraft.broker.leader import (
    adopt_isr,
    drop_pending,
    forget_late_response,
    forget_leadership,
    leads,
    leave_request_behind,
)
from neverlost.model.kraft.broker.log import log_end
from neverlost.model.kraft.state import BEHIND, ELECTED, UP_TO_DATE, everyone
from neverlost.model.system import View


@action(broker="replica", says="broker {broker} applies its leadership")
def broker_apply_leadership(k: Primitives, s: View, broker: int) -> Clauses:
    """An elected broker leads, with the controller's ISR; one that still believes it leads keeps its followers' fetch offsets.

    They are from an epoch before: a follower may have truncated since, and is counted all the same
    (reelection-forgets-offsets, which no version has).

    Source: Partition.makeLeader (`isNewLeader`), Replica.resetReplicaState.
    """
    yield "elected", s.leader == broker
    yield "leadership not applied yet", s.leader_knows == ELECTED
    yield "broker is running", s.is_running[broker]
    yield from has_finished_publication(k, s, broker)
    again = k.all_of(leads(s, broker), k.not_(s.reelection_forgets_offsets))
    known = [k.ite(again, offset, 0) for offset in s.fetch_offset[broker]]
    forget_leadership(k, s, broker)
    forget_late_response(k, s, broker)
    for each in everyone(s):
        s.fetch_offset[broker][each] = known[each]
    s.follows[broker] = broker
    s.leader_epoch_start_offset = k.ite(s.leader_epoch_start, log_end(k, s, broker), 0)
    if not s.sizes.fenced_fetch:
        s.is_stale[broker] = False
    if s.sizes.epochs:
        s.led_epoch[broker] = s.leader_epoch
    begin_publication(k, s, broker)
    adopt_isr(k, s, broker)


@action(broker="replica", says="leader {broker} replays the newest partition record")
def leader_learn_isr(k: Primitives, s: View, broker: int) -> Clauses:
    """The leader adopts the ISR of the metadata log, which comes in order; but in a batch topics come before configuration.

    In between the new ISR is held against the old min.insync.replicas: the known defect `configuration-after-topics`.
    """
    yield "elected", s.leader == broker
    yield "leads with an old partition epoch", s.leader_knows == BEHIND
    yield from has_finished_publication(k, s, broker)
    begin_publication(k, s, broker)
    s.record_to_come = False
    adopt_isr(k, s, broker)


@action(broker="asking", says="leader {broker} receives the answer to its AlterPartition request")
def leader_apply_answer(k: Primitives, s: View, broker: int) -> Clauses:
    """The leader adopts the ISR of the answer to its own request, which may overtake the metadata log's record of it.

    An answer that it reads after the replicas have changed says nothing else than one that it reads before.

    Source: Partition.submitAlterPartition, handleAlterPartitionUpdate.
    """
    yield "elected", s.leader == broker
    yield "leads with an old partition epoch", s.leader_knows == BEHIND
    yield "the committed ISR is the one that it asked for", is_answer(k, s, broker)
    if s.sizes.reassignment:
        yield "no replica was added or removed since", k.not_(s.assignment_to_come)
    new_config: Value = False
    if s.sizes.config_change:
        is_new = s.min_isr_known[broker] != s.min_isr_changed
        yield "configuration is applied", k.not_(k.all_of(s.isr_answer_waits_for_config, is_new))
        new_config = k.all_of(s.configuration_before_isr, is_new)
    yield "bound: another knowledge than the record's", k.any_of(new_config, k.not_(s.equal_epoch_record_skipped))
    s.record_to_come = k.not_(s.equal_epoch_record_skipped)
    adopt_isr(k, s, broker)


@action(broker="asking", says="leader {broker} replays the record of an ISR change whose answer it has applied")
def leader_replay_own_change(k: Primitives, s: View, broker: int) -> Clauses:
    """The record has the partition epoch that the leader has already, and puts the ISR of that epoch in force again.

    So the change that the leader has asked for since is forgotten, and the high watermark no longer waits for it, although
    the controller may have committed it.  To skip a record with an equal epoch would prevent it.
    With that change a reassignment may have completed, and another broker may be elected: the leader reads that later.

    Source: Partition.makeLeader (only a smaller partition epoch is refused), updateAssignmentAndIsr.
    """
    is_late = s.late_record[broker] if s.sizes.reassignment else False
    yield "elected", k.any_of(is_late, s.leader == broker)
    yield "a record with an equal epoch is applied", k.not_(s.equal_epoch_record_skipped)
    yield "the record is still to come", k.any_of(is_late, s.record_to_come)
    yield "bound: a change is pending", s.pending[broker] != NO_REPLICA
    if s.sizes.reassignment:
        s.late_record[broker] = False
    s.record_to_come = k.all_of(is_late, s.record_to_come)
    leave_request_behind(k, s, s.pending[broker], k.not_(is_late))
    s.request_outdated = k.all_of(is_late, s.request_outdated)
    drop_pending(k, s, broker)


def is_answer(k: Primitives, s: View, leader: int) -> Value:
    """Return True if the leader has a change pending, and the controller's ISR is exactly what it has asked for."""
    changed = [k.any_of(s.leader_isr[leader][each] == s.isr[each], s.pending[leader] == each) for each in everyone(s)]
    moved = [k.any_of(s.leader_isr[leader][each] != s.isr[each], s.pending[leader] != each) for each in everyone(s)]
    return k.all_of(s.pending[leader] != NO_REPLICA, *changed, *moved)


def has_finished_publication(k: Primitives, s: View, broker: int) -> Clauses:
    """Clauses: a broker has applied all of the publication before, its configuration too, so that it may apply the next one."""
    if s.sizes.config_change:
        yield "the publication before is applied", k.not_(s.configuration_to_come[broker])


def begin_publication(k: Primitives, s: View, broker: int) -> None:
    """Effect: a broker that reads the newest partition learns min.insync.replicas too, or is marked as still to learn it."""
    if s.sizes.config_change:
        known = k.ite(s.configuration_before_isr, s.min_isr_changed, s.min_isr_known[broker])
        s.min_isr_known[broker] = known
        s.configuration_to_come[broker] = known != s.min_isr_changed


def has_replayed_partitions(k: Primitives, s: View, broker: int) -> Value:
    """Return True if the broker has done what the newest partition record says: if elected, lead up to date; else, not lead."""
    is_elected = s.leader == broker
    return k.ite(is_elected, s.leader_knows == UP_TO_DATE, k.not_(leads(s, broker)))


@action(broker="configured", says="broker {broker} learns the new min.insync.replicas")
def broker_learn_config(k: Primitives, s: View, broker: int) -> Clauses:
    """A broker learns the new min.insync.replicas; until then a leader commits and acknowledges by the old one.

    What was acknowledged by it need not be on the members of an ELR that the controller formed by the new one.  The metadata
    log is read in order: a leader learns of a change of its partition no later than of a configuration that was written after
    it, or one that was deposed could acknowledge by a minimum that was lowered since.  Before KRaft configuration came by
    another way than leadership.

    Source: BrokerMetadataPublisher.onMetadataUpdate; before 2.8 ZkConfigManager (DynamicConfigManager).
    """
    yield "broker is running", s.is_running[broker]
    yield "bound: something new", s.min_isr_known[broker] != s.min_isr_changed
    in_order = k.any_of(s.configuration_to_come[broker], has_replayed_partitions(k, s, broker))
    yield "what stands before it is replayed", k.any_of(k.not_(s.configuration_in_order), in_order)
    s.min_isr_known[broker] = s.min_isr_changed
    s.configuration_to_come[broker] = False


@action(
    broker="replica",
    leader="replica",
    where=different,
    says="broker {broker} learns of {leader} and follows it",
    can_be_left_out=True,
)
def broker_follow(k: Primitives, s: View, broker: int, leader: int) -> Clauses:
    """`makeFollower`: a broker follows the elected leader and leads no more; where fetches compare no logs, it truncates first.

    With fenced fetches (KIP-320) the leader answers only once it has applied the same leader epoch itself.
    """
    yield "elected", s.leader == leader
    yield "broker is running", s.is_running[broker]
    if s.sizes.reassignment:
        yield "a replica", s.is_replica[broker]
    if s.sizes.fenced_fetch:
        yield "leadership is applied", s.leader_knows != ELECTED
        yield "bound: not yet following", s.follows[broker] != leader
    else:
        yield "leader answers", leads(s, leader)
        yield "bound: not yet following", s.is_stale[broker]
    yield from has_finished_publication(k, s, broker)
    if not s.sizes.fenced_fetch:
        s.is_stale[broker] = False
    begin_publication(k, s, broker)
    forget_leadership(k, s, broker, leads(s, broker))
    forget_late_response(k, s, broker)
    s.follows[broker] = leader
    if s.sizes.late_responses:
        forget_response(k, s, broker, k.all_of(not s.sizes.truncates_in_later_epoch, s.diverging_sender[broker] == leader))
    truncate_before_fetching(k, s, broker, leader)


METADATA_ACTIONS = (leader_learn_isr, leader_apply_answer, leader_replay_own_change, broker_apply_leadership, broker_follow)
