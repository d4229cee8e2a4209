"""What else changes a partition: another leader, another min.insync.replicas, a replica's log directory.

Source: ReplicationControlManager.java (electLeaders, maybeBalancePartitionLeaders, handleAssignReplicasToDirs),
ConfigurationControlManager.java.
"""

from __future__ import annotations

from neverlost.model.kernel import NO_REPLICA, Clauses, Primitives, action
from neverlost.model.kraft.controller.partition_change import move_leader_epoch, outdate_leader
from neverlost.model.kraft.faults import LEADER_MOVE, MIN_ISR_CHANGE
from neverlost.model.kraft.state import POLICIES, everyone
from neverlost.model.limits import may_strike, strike
from neverlost.model.system import View


@action(elected="replica", says="leader election without a failure", fault="leader_move")
def controller_move_leader(k: Primitives, s: View, elected: int) -> Clauses:
    """A preferred election, by kafka-leader-election.sh or auto.leader.rebalance.enable: no failure, and yet a new epoch.

    The old leader goes on until it learns of it, and what it has appended beyond the high watermark is truncated: records
    with acks=1 are lost by a planned move.
    """
    yield from may_strike(k, s, LEADER_MOVE)
    yield "partition has a leader", s.leader != NO_REPLICA
    yield "another broker", s.leader != elected
    yield "in the ISR", s.isr[elected]
    yield "not fenced", k.not_(s.is_fenced[elected])
    earlier = [k.all_of(s.isr[each], k.not_(s.is_fenced[each]), s.leader != each) for each in range(elected)]
    yield "election policy", k.any_of(s.election_policy != POLICIES["preferred"], k.not_(k.any_of(False, *earlier)))
    strike(s, LEADER_MOVE)
    s.leader = elected
    move_leader_epoch(k, s, True)


@action(change="config_change", says="an operator raises min.insync.replicas", fault="min_isr_change")
def controller_raise_min_isr(k: Primitives, s: View, change: int) -> Clauses:
    """With ELR the change also clears the ELR and the last known leader (ClearElrRecord), whatever the value.

    The ELR's promise, that no record was committed without its members, is made with one minimum; the members would not
    have it with another.

    Source: ReplicationControlManager / ConfigurationControlManager.maybeGenerateElrSafetyRecords, 4.x.
    """
    yield from may_strike(k, s, MIN_ISR_CHANGE)
    strike(s, MIN_ISR_CHANGE)
    s.min_isr_raised = s.min_isr_raised + 1
    if s.sizes.elr:
        s.last_known_leader = NO_REPLICA
        clear_elr(k, s)


def clear_elr(k: Primitives, s: View) -> None:
    """Effect: the ELR is empty."""
    outdate_leader(k, s, k.any_of(*s.elr))
    for each in everyone(s):
        s.elr[each] = False


@action(change="elr", says="controller assigns a replica to a log directory")
def controller_assign_directory(k: Primitives, s: View, change: int) -> Clauses:
    """A broker reports the directory of a replica; the record is built as if there were no ELR, and so clears it.

    Source: `handleAssignReplicasToDirs`, which until 4.3 did not pass on that the ELR is enabled.
    """
    yield "the record is built without ELR", k.not_(s.directory_assignment_keeps_elr)
    yield "a broker reports", k.any_of(*s.is_running)
    yield "bound: the ELR is not empty", k.any_of(*s.elr)
    clear_elr(k, s)
