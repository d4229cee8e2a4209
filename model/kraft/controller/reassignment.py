"""Reassignment: the controller adds and removes replicas, finishes, or takes it back.

Source: ReplicationControlManager.alterPartitionReassignment, PartitionReassignmentReplicas.java,
PartitionReassignmentRevert.java.
"""

from __future__ import annotations

from neverlost.model.faults import REASSIGN
from neverlost.model.kernel import NO_REPLICA, Clauses, Primitives, action, members
from neverlost.model.kraft.broker.leader import forget_leadership, leads
from neverlost.model.kraft.broker.log import EMPTY, truncate_to
from neverlost.model.kraft.controller.leader_election import Flags, no_brokers
from neverlost.model.kraft.controller.partition_change import Assignment, Change, change_partition, choose, unfenced
from neverlost.model.kraft.state import POLICIES, everyone, is_isr_big_enough
from neverlost.model.limits import fault_enabled, record_fault
from neverlost.model.system import View


def asked_for(s: View, target: int) -> Flags:
    """Return for each broker whether it is in `target`, a set of brokers as bits."""
    return [each in members(target) for each in everyone(s)]


@action(
    target="target",
    outcome="outcome",
    where=lambda target, outcome: target > 0,
    says="an operator reassigns the partition to brokers {target}",
    fault="reassign",
)
def controller_reassign(k: Primitives, s: View, target: int, outcome: int) -> Clauses:
    """Replicas are the old and the new ones until the reassignment completes, which may be at once.

    One that is under way is replaced: what it added counts as there, and where the new one adds none, or removes none, the
    list of the old one stays.  Source: `changePartitionReassignment`, which sets `targetAdding` and `targetRemoving` only to
    what is not empty (3.5 to 4.3).
    """
    yield from fault_enabled(k, s, REASSIGN)
    wanted = asked_for(s, target)
    added = [k.all_of(k.not_(s.is_replica[each]), wanted[each]) for each in everyone(s)]
    left_out = [k.all_of(s.is_replica[each], not wanted[each]) for each in everyone(s)]
    replicas = [k.any_of(s.is_replica[each], wanted[each]) for each in everyone(s)]
    adding = choose(k, k.any_of(*added), added, list(s.is_adding))
    removing = choose(k, k.any_of(*left_out), left_out, list(s.is_removing))
    before, after = [*s.is_replica, *s.is_adding, *s.is_removing], [*replicas, *adding, *removing]
    yield "bound: changes something", k.any_of(*[was != now for was, now in zip(before, after, strict=True)])
    if s.sizes.elr:
        late = k.any_of(*[k.all_of(added[each], s.elr[each]) for each in everyone(s)])
        yield "an election asks only replicas that are assigned", k.any_of(s.leader != NO_REPLICA, k.not_(late))
    change = Change(list(s.isr), unfenced(k, s), Assignment(replicas, adding, removing), allows_unclean=False)
    yield from change_partition(k, s, change, outcome)
    record_fault(s, REASSIGN)


@action(outcome="reassignment_outcome", says="an operator cancels the reassignment")
def controller_cancel_reassignment(k: Primitives, s: View, outcome: int) -> Clauses:
    """The added replicas go at once, the others stay; Kafka does not look at min.insync.replicas (PartitionReassignmentRevert).

    The copies that an acknowledgement counted on go with them: the known defect `reassignment-below-minimum` (KIP-455).
    """
    yield "in progress", k.any_of(*s.is_adding, *s.is_removing)
    isr = [k.all_of(s.isr[each], k.not_(s.is_adding[each])) for each in everyone(s)]
    yield "an ISR member remains", k.any_of(*isr)
    safe = k.any_of(k.not_(s.reassignment_keeps_min_isr), is_isr_big_enough(k, s, isr))
    yield "enough in-sync replicas remain", safe
    change = Change(isr, unfenced(k, s), Assignment(remaining(k, s), no_brokers(s), no_brokers(s)))
    yield from change_partition(k, s, change, outcome)


@action(
    first="reassigned",
    outcome="reassignment_outcome",
    says="an operator cancels the reassignment, which leaves broker {first} alone in the ISR",
)
def controller_cancel_reassignment_uncleanly(k: Primitives, s: View, first: int, outcome: int) -> Clauses:
    """Where only added replicas are in sync, `first`, one that remains, is made the ISR, if the topic allows unclean elections:
    with the policy `preferred` the first of them in assignment order, else any."""
    yield "in progress", k.any_of(*s.is_adding, *s.is_removing)
    yield "no ISR member remains", k.not_(k.any_of(*[k.all_of(s.isr[each], k.not_(s.is_adding[each])) for each in everyone(s)]))
    yield "unclean elections are allowed", s.unclean_election
    replicas = remaining(k, s)
    yield "remains", replicas[first]
    ordered = s.election_policy == POLICIES["preferred"]
    yield "election policy", k.any_of(k.not_(ordered), k.not_(k.any_of(False, *replicas[:first])))
    isr = [each == first for each in everyone(s)]
    safe = k.any_of(k.not_(s.reassignment_keeps_min_isr), is_isr_big_enough(k, s, isr))
    yield "enough in-sync replicas remain", safe
    change = Change(isr, unfenced(k, s), Assignment(replicas, no_brokers(s), no_brokers(s)))
    yield from change_partition(k, s, change, outcome)


def remaining(k: Primitives, s: View) -> Flags:
    """Return the replicas without those that the reassignment adds, as flags: those to be removed are among them."""
    return [k.all_of(s.is_replica[each], k.not_(s.is_adding[each])) for each in everyone(s)]


@action(broker="reassigned", says="broker {broker} learns that it has no replica any more and deletes its log")
def broker_delete_replica(k: Primitives, s: View, broker: int) -> Clauses:
    """A broker that has no replica any more deletes its log, and leads and follows no more (StopReplica or topic delta)."""
    yield "broker is running", s.is_running[broker]
    yield "not a replica", k.not_(s.is_replica[broker])
    yield "has a replica", k.any_of(s.log_record[broker][0] != EMPTY, s.follows[broker] != NO_REPLICA)
    truncate_to(k, s, broker, 0)
    forget_leadership(k, s, broker, leads(s, broker))
    s.follows[broker] = NO_REPLICA
    s.high_watermark[broker] = 0


REASSIGNMENT_ACTIONS = (
    controller_reassign,
    controller_cancel_reassignment,
    controller_cancel_reassignment_uncleanly,
    broker_delete_replica,
)
