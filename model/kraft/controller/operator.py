"""What else changes a partition: another leader, another min.insync.replicas, a replica's log directory.

Source: ReplicationControlManager.java (electLeaders, maybeBalancePartitionLeaders, handleAssignReplicasToDirs),
ConfigurationControlManager.java.
"""

from __future__ import annotations

from neverlost.model.faults import LEADER_MOVE, MIN_ISR_CHANGE, UNCLEAN_ELECTION
from neverlost.model.kernel import NO_REPLICA, Clauses, Primitives, Value, action
from neverlost.model.kraft.controller.leader_election import (
    Electorate,
    answers,
    has_longest_log,
    no_brokers,
    refuse_older_epochs,
)
from neverlost.model.kraft.controller.partition_change import (
    Change,
    assignment_of,
    change_partition,
    complete_reassignment_if_needed,
    move_leader_epoch,
    next_elr,
    outdate_leader,
    unfenced,
)
from neverlost.model.kraft.state import POLICIES, UNCHANGED, everyone
from neverlost.model.limits import fault_enabled, record_fault
from neverlost.model.system import View


@action(elected="elected", says="leader election without a failure", fault="leader_move")
def controller_move_leader(k: Primitives, s: View, elected: int) -> Clauses:
    """A preferred election, by kafka-leader-election.sh or auto.leader.rebalance.enable: nothing fails, and yet a new epoch.

    The old leader goes on until it learns of it, and what it has appended beyond the high watermark is truncated: records
    with acks=1 are lost by a planned move, so it is counted as a fault.  With the policy `preferred` only the first replica in
    assignment order is elected, with others any in the ISR; it must be unfenced and not lead (ELECTION_NOT_NEEDED).
    """
    yield from fault_enabled(k, s, LEADER_MOVE)
    yield "partition has a leader", s.leader != NO_REPLICA
    leader, answered = answers(s, elected)
    yield "another broker", s.leader != leader
    yield "in the ISR", s.isr[leader]
    yield "not fenced", k.not_(s.is_fenced[leader])
    replicas = assignment_of(s).replicas
    earlier = replicas[:leader]
    yield "election policy", k.any_of(s.election_policy != POLICIES["preferred"], k.not_(k.any_of(False, *earlier)))
    if answered:
        yield from has_longest_log(
            k, s, Electorate(list(s.isr), no_brokers(s), unfenced(k, s), replicas, False, False), answered
        )
    record_fault(s, LEADER_MOVE)
    s.leader = leader
    move_leader_epoch(k, s, True)
    for each in answered:
        refuse_older_epochs(k, s, each)


@action(elected="elected", says="an operator has a leader elected uncleanly", fault="unclean_election")
def controller_elect_uncleanly(k: Primitives, s: View, elected: int) -> Clauses:
    """kafka-leader-election.sh with UNCLEAN, whatever the topic's configuration: only where there is no leader.

    Alive members of ISR or ELR still come first, and nothing changes where no replica is alive.  It is counted as a fault.
    """
    yield from fault_enabled(k, s, UNCLEAN_ELECTION)
    yield "partition has no leader", s.leader == NO_REPLICA
    change = Change(list(s.isr), unfenced(k, s), assignment_of(s), allows_unclean=True)
    yield from change_partition(k, s, change, elected)
    record_fault(s, UNCLEAN_ELECTION)


@action(
    least="minimum",
    where=lambda least: least > UNCHANGED,
    says="an operator sets min.insync.replicas to {least}",
    fault="min_isr_change",
)
def controller_set_min_isr(k: Primitives, s: View, least: int) -> Clauses:
    """An operator sets min.insync.replicas: since 4.0 that also clears the ELR and the last known leader (ClearElrRecord).

    So does setting the value that it has.  A broker amid a publication of the value before is taken to have finished it.
    The ELR's promise, that no record was committed without its members, is made with one minimum; the members would not
    have it with another.

    Source: ReplicationControlManager / ConfigurationControlManager.maybeGenerateElrSafetyRecords, 4.x.
    """
    yield from fault_enabled(k, s, MIN_ISR_CHANGE)
    value = k.ite(s.min_isr == least, UNCHANGED, least)
    cleared = k.any_of(*s.elr, s.last_known_leader != NO_REPLICA) if s.sizes.elr else False
    yield "bound: changes something", k.any_of(s.min_isr_changed != value, k.all_of(s.min_isr_change_clears_elr, cleared))
    record_fault(s, MIN_ISR_CHANGE)
    s.min_isr_changed = value
    for each in everyone(s):
        s.configuration_to_come[each] = False
    if s.sizes.elr:
        clear_elr(k, s, s.min_isr_change_clears_elr)


def clear_elr(k: Primitives, s: View, when: Value) -> None:
    """Effect, if `when` is true: forget the last known leader; empty the ELR and, if it was not, move the partition epoch."""
    s.last_known_leader = k.ite(when, NO_REPLICA, s.last_known_leader)
    outdate_leader(k, s, k.all_of(when, k.any_of(*s.elr)))
    for each in everyone(s):
        s.elr[each] = k.all_of(k.not_(when), s.elr[each])


@action(outcome="directory_outcome", says="controller assigns a replica to a log directory")
def controller_assign_directory(k: Primitives, s: View, outcome: int) -> Clauses:
    """A broker reports the directory of a replica: one more record, which may complete a reassignment and changes the ELR.

    Until 4.3 it was built as if there were no ELR, and so cleared it.  A record that moves the partition epoch and nothing
    else is left out: it can only have a request refused that the leader might as well not have sent.

    Source: `handleAssignReplicasToDirs`.
    """
    yield "a broker reports", k.any_of(*s.is_running)
    change = Change(
        list(s.isr), unfenced(k, s), assignment_of(s), allows_unclean=False, has_elr=s.directory_assignment_keeps_elr
    )
    after = complete_reassignment_if_needed(k, s, change)
    pairs = [*zip(change.assignment.flags, after.assignment.flags, strict=True)]
    if s.sizes.elr:
        pairs += zip(s.elr, next_elr(k, s, after), strict=True)
    yield "bound: moves more than the partition epoch", k.any_of(*[was != now for was, now in pairs])
    yield from change_partition(k, s, change, outcome)


OPERATOR_ACTIONS = (controller_move_leader, controller_elect_uncleanly, controller_set_min_isr, controller_assign_directory)
