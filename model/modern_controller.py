"""What the controller does: elections, fencing, and answers to AlterPartition.

Every change of the partition moves the partition epoch, which makes the leader's knowledge of it old; an election moves
the leader epoch too.

Source: ReplicationControlManager.java, PartitionChangeBuilder.java.
"""

from __future__ import annotations

from typing import Any

from model.kernel import NOBODY, Clauses, Value, action, different
from model.modern_leader import raise_high_watermark
from model.modern_state import BEHIND, ELECTED, POLICIES, UP_TO_DATE, everyone


def electable(k: Any, s: Any, isr: list[Value], active: list[Value]) -> tuple[list[Value], Value]:
    """Which replicas an election may choose, and whether the choice is clean."""
    clean = [k.all_of(isr[each], active[each]) for each in everyone(s)]
    is_clean = k.any_of(*clean)
    unclean = k.all_of(s.unclean_election, k.not_(is_clean))
    return [k.any_of(clean[each], k.all_of(unclean, active[each])) for each in everyone(s)], is_clean


def is_choice(k: Any, s: Any, elected: int, allowed: list[Value], nobody: int) -> Value:
    """Whether the election policy picks `elected`; `nobody` stands for the outcome that no replica is allowed."""
    earlier = k.any_of(False, *allowed[:elected])
    is_first = k.any_of(s.election_policy != POLICIES["preferred"], k.not_(earlier))
    return k.any_of(k.all_of(allowed[elected], is_first), k.all_of(elected == nobody, k.not_(k.any_of(*allowed))))


def install(k: Any, s: Any, elected: int, allowed: list[Value], is_clean: Value, isr: list[Value]) -> None:
    """Effect: the election's result; an unclean one makes the new leader the whole ISR, a failed one leaves no leader."""
    found = allowed[elected]
    s.leader = k.ite(found, elected, NOBODY)
    s.leader_knows = ELECTED
    s.leader_epoch_start = 0
    s.request_outdated = False
    for each in everyone(s):
        s.isr[each] = k.ite(k.any_of(is_clean, k.not_(found)), isr[each], each == elected)


def outdate_leader(k: Any, s: Any, when: Value) -> None:
    """Effect: the partition epoch moves, so that an up-to-date leader no longer is."""
    s.leader_knows = k.ite(k.all_of(when, s.leader_knows == UP_TO_DATE), BEHIND, s.leader_knows)


def fence(k: Any, s: Any, broker: int, elected: int) -> Clauses:
    """Fence a broker: it leaves the ISR (the last member stays) and leadership moves on if it led."""
    active = [k.all_of(k.not_(s.is_fenced[each]), each != broker) for each in everyone(s)]
    is_last = k.not_(k.any_of(*[s.isr[each] for each in everyone(s) if each != broker]))
    isr = [k.all_of(s.isr[each], k.any_of(each != broker, is_last)) for each in everyone(s)]
    allowed, is_clean = electable(k, s, isr, active)
    led = s.leader == broker
    kept = k.all_of(k.not_(led), elected == broker)
    yield "election policy", k.any_of(kept, k.all_of(led, is_choice(k, s, elected, allowed, broker)))
    s.is_fenced[broker] = True
    changed = k.any_of(*[isr[each] != s.isr[each] for each in everyone(s)])
    outdate_leader(k, s, changed)
    found = k.all_of(led, allowed[elected])
    s.leader = k.ite(led, k.ite(found, elected, NOBODY), s.leader)
    s.leader_knows = k.ite(led, ELECTED, s.leader_knows)
    s.leader_epoch_start = k.ite(led, 0, s.leader_epoch_start)
    s.request_outdated = k.all_of(k.not_(led), s.request_outdated)
    for each in everyone(s):
        s.isr[each] = k.ite(k.all_of(found, k.not_(is_clean)), each == elected, isr[each])


@action(broker="replica", elected="replica", says="the controller fences dead broker {broker}; leader {elected} if it led")
def controller_fence_dead(k: Any, s: Any, broker: int, elected: int) -> Clauses:
    yield "broker is down", k.not_(s.is_running[broker])
    yield "not yet fenced", k.not_(s.is_fenced[broker])
    yield from fence(k, s, broker, elected)


@action(
    broker="replica",
    elected="replica",
    says="the controller loses sight of live broker {broker} and fences it; leader {elected} if it led",
    fault="fence",
)
def controller_fence_live(k: Any, s: Any, broker: int, elected: int) -> Clauses:
    yield "bound: a fence is left", s.fence_left > 0
    yield "broker is running", s.is_running[broker]
    yield "not yet fenced", k.not_(s.is_fenced[broker])
    s_left = s.fence_left - 1
    yield from fence(k, s, broker, elected)
    s.fence_left = s_left


def unfence(k: Any, s: Any, broker: int, elected: int) -> Clauses:
    """Unfence a broker; a partition without a leader gets one if the broker may lead."""
    active = [k.any_of(k.not_(s.is_fenced[each]), each == broker) for each in everyone(s)]
    isr = list(s.isr)
    allowed, is_clean = electable(k, s, isr, active)
    vacant = s.leader == NOBODY
    kept = k.all_of(k.not_(vacant), elected == broker)
    yield "election policy", k.any_of(kept, k.all_of(vacant, is_choice(k, s, elected, allowed, broker)))
    s.is_fenced[broker] = False
    found = k.all_of(vacant, allowed[elected])
    s.leader = k.ite(found, elected, s.leader)
    for each in everyone(s):
        s.isr[each] = k.ite(k.all_of(found, k.not_(is_clean)), each == elected, isr[each])


@action(broker="replica", elected="replica", says="the controller unfences broker {broker}; leader {elected} if none led")
def controller_unfence(k: Any, s: Any, broker: int, elected: int) -> Clauses:
    yield "broker is running", s.is_running[broker]
    yield "fenced", s.is_fenced[broker]
    yield from unfence(k, s, broker, elected)


@action(broker="replica", elected="replica", says="broker {broker} starts and registers; leader {elected} if none led")
def broker_restart(k: Any, s: Any, broker: int, elected: int) -> Clauses:
    """A new incarnation: the old one's session must have expired, and a request that names it is outdated."""
    yield "broker is down", k.not_(s.is_running[broker])
    yield "old session has expired", s.is_fenced[broker]
    yield from unfence(k, s, broker, elected)
    s.is_running[broker] = True
    asked = [k.all_of(s.leader == each, s.leader_knows == UP_TO_DATE, s.pending[each] == broker) for each in everyone(s)]
    s.request_outdated = k.any_of(s.request_outdated, *asked)


@action(elected="replica", says="the controller moves leadership to broker {elected}", fault="leader_move")
def controller_move_leader(k: Any, s: Any, elected: int) -> Clauses:
    yield "bound: a move is left", s.leader_move_left > 0
    yield "partition has a leader", s.leader != NOBODY
    yield "another broker", s.leader != elected
    yield "in the ISR", s.isr[elected]
    yield "not fenced", k.not_(s.is_fenced[elected])
    earlier = [k.all_of(s.isr[each], k.not_(s.is_fenced[each]), s.leader != each) for each in everyone(s) if each < elected]
    yield "election policy", k.any_of(s.election_policy != POLICIES["preferred"], k.not_(k.any_of(False, *earlier)))
    s.leader_move_left = s.leader_move_left - 1
    s.leader = elected
    s.leader_knows = ELECTED
    s.leader_epoch_start = 0
    s.request_outdated = False


@action(
    leader="replica",
    replica="replica",
    where=different,
    says="the controller commits the ISR change of broker {replica} that leader {leader} asked for",
)
def controller_alter_isr(k: Any, s: Any, leader: int, replica: int) -> Clauses:
    yield "asked for", s.pending[leader] == replica
    yield "current leader epoch", s.leader == leader
    yield "current partition epoch", s.leader_knows == UP_TO_DATE
    leaves = s.isr[replica]
    yield "replica is not fenced", k.any_of(leaves, k.not_(s.is_fenced[replica]))
    yield "replica's broker epoch is current", k.any_of(leaves, k.not_(s.request_outdated))
    s.isr[replica] = k.not_(leaves)
    s.leader_knows = BEHIND
    s.request_outdated = False


@action(
    leader="replica",
    replica="replica",
    where=different,
    says="the controller refuses to add broker {replica} for leader {leader}: not eligible",
)
def controller_refuse_isr(k: Any, s: Any, leader: int, replica: int) -> Clauses:
    """INELIGIBLE_REPLICA is the one refusal after which the leader goes back to the ISR that it knows."""
    yield "asked for", s.pending[leader] == replica
    yield "current leader epoch", s.leader == leader
    yield "current partition epoch", s.leader_knows == UP_TO_DATE
    yield "an expansion", k.not_(s.isr[replica])
    yield "not eligible", k.any_of(s.is_fenced[replica], s.request_outdated)
    s.pending[leader] = NOBODY
    s.fetch_offset[leader][replica] = 0
    s.request_outdated = False
    raise_high_watermark(k, s, leader)
