"""What the controller does by itself: fence, unfence, move leadership.

Every change of the partition moves the partition epoch, which makes the leader's knowledge of it old; an election moves
the leader epoch too.

Source: ReplicationControlManager.java, ClusterControlManager.java.
"""

from __future__ import annotations

from typing import Any

from neverlost.model.kernel import NOBODY, Clauses, Value, action
from neverlost.model.kraft.partition_change import change_partition, move_leader_epoch
from neverlost.model.kraft.state import BEHIND, POLICIES, UP_TO_DATE, everyone


def fence(k: Any, s: Any, broker: int, elected: int) -> Clauses:
    """Fence a broker: it leaves the ISR (without ELR the last member stays) and leadership moves on if it led."""
    active = [k.all_of(k.not_(s.is_fenced[each]), each != broker) for each in everyone(s)]
    stays: Value = False
    if not s.sizes["elr"]:
        stays = k.not_(k.any_of(False, *[s.isr[each] for each in everyone(s) if each != broker]))
    isr = [k.all_of(s.isr[each], k.any_of(each != broker, stays)) for each in everyone(s)]
    yield from change_partition(k, s, isr, active, elected, nobody=broker, touched=s.isr[broker])
    s.is_fenced[broker] = True


def unfence(k: Any, s: Any, broker: int, elected: int, unclean_restart: int | None = None) -> Clauses:
    """Unfence a broker; a partition without a leader gets one if the broker may lead."""
    active = [k.any_of(k.not_(s.is_fenced[each]), each == broker) for each in everyone(s)]
    touched = s.leader == NOBODY
    if s.sizes["elr"] and unclean_restart is not None:
        touched = k.any_of(touched, s.isr[broker], s.elr[broker])
    isr = list(s.isr)
    yield from change_partition(k, s, isr, active, elected, nobody=broker, unclean_restart=unclean_restart, touched=touched)
    s.is_fenced[broker] = False


@action(broker="replica", elected="replica", says="controller fences broker {broker}")
def controller_fence_dead(k: Any, s: Any, broker: int, elected: int) -> Clauses:
    yield "broker is down", k.not_(s.is_running[broker])
    yield "not yet fenced", k.not_(s.is_fenced[broker])
    yield from fence(k, s, broker, elected)


@action(
    broker="replica",
    elected="replica",
    says="controller loses contact with running broker {broker} and fences it",
    fault="fence",
)
def controller_fence_live(k: Any, s: Any, broker: int, elected: int) -> Clauses:
    yield "bound: a fence is left", s.fence_left > 0
    yield "broker is running", s.is_running[broker]
    yield "not yet fenced", k.not_(s.is_fenced[broker])
    yield from fence(k, s, broker, elected)
    s.fence_left = s.fence_left - 1


@action(broker="replica", elected="replica", says="controller unfences broker {broker}")
def controller_unfence(k: Any, s: Any, broker: int, elected: int) -> Clauses:
    yield "broker is running", s.is_running[broker]
    yield "fenced", s.is_fenced[broker]
    yield from unfence(k, s, broker, elected)


@action(elected="replica", says="leader election without a failure", fault="leader_move")
def controller_move_leader(k: Any, s: Any, elected: int) -> Clauses:
    yield "bound: a move is left", s.leader_move_left > 0
    yield "partition has a leader", s.leader != NOBODY
    yield "another broker", s.leader != elected
    yield "in the ISR", s.isr[elected]
    yield "not fenced", k.not_(s.is_fenced[elected])
    earlier = [k.all_of(s.isr[each], k.not_(s.is_fenced[each]), s.leader != each) for each in range(elected)]
    yield "election policy", k.any_of(s.election_policy != POLICIES["preferred"], k.not_(k.any_of(False, *earlier)))
    s.leader_move_left = s.leader_move_left - 1
    s.leader = elected
    move_leader_epoch(k, s, True)


@action(change="config_change", says="an operator raises min.insync.replicas", fault="min_isr_change")
def controller_raise_min_isr(k: Any, s: Any, change: int) -> Clauses:
    """With ELR the change also clears the ELR and the last known leader (ClearElrRecord), whatever the value.

    Source: ReplicationControlManager / ConfigurationControlManager.maybeGenerateElrSafetyRecords, 4.x.
    """
    yield "bound: a change is left", s.min_isr_change_left > 0
    s.min_isr_change_left = s.min_isr_change_left - 1
    s.min_isr_raised = s.min_isr_raised + 1
    if s.sizes["elr"]:
        had = k.any_of(*s.elr)
        s.leader_knows = k.ite(k.all_of(had, s.leader_knows == UP_TO_DATE), BEHIND, s.leader_knows)
        s.last_known_leader = NOBODY
        for each in everyone(s):
            s.elr[each] = False
