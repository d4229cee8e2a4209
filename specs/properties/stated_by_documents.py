"""What documents about Kafka say of ISR, election and acknowledgement, as the sentences have it; some of it no Kafka keeps."""

from __future__ import annotations

from typing import Any

from neverlost.model.kernel import NO_REPLICA, Value, implies
from neverlost.model.kraft.broker.availability import is_settled
from neverlost.model.kraft.broker.leader import accepts_writes, leads
from neverlost.model.kraft.broker.log import has_beyond, holds_record
from neverlost.model.kraft.controller.leader_election import Electorate, electable
from neverlost.model.kraft.controller.partition_change import assignment_of, unfenced
from neverlost.model.kraft.state import ELECTED, everyone, is_isr_big_enough, others
from neverlost.model.quorum.roles import is_leader
from neverlost.specs.property import AVAILABILITY, as_property


@as_property(
    says="the leader that the controller names is in the ISR",
    needs=("is_fenced", "isr", "leader"),
    violated_by="kraft-controller_fence_dead-the leader stays",
    source="a common claim; an unclean leader is made the whole ISR; broken by a model that lacks a clause",
)
def leader_in_isr(k: Any, s: Any) -> Value:
    """The controller's leader is in the ISR, also while it is down and nobody has noticed."""
    return k.all_of(*[implies(k, s.leader == each, s.isr[each]) for each in everyone(s)])


def who_is_electable(k: Any, s: Any) -> list[Value]:
    """Return for each broker whether an election could elect it now, by the controller's rules, as if it knew who is down."""
    elr = list(s.elr) if s.sizes.elr else [False for _ in everyone(s)]
    active = [k.all_of(s.is_running[each], alive) for each, alive in enumerate(unfenced(k, s))]
    return electable(k, s, Electorate(list(s.isr), elr, active, assignment_of(s).replicas, True, s.unclean_election))


@as_property(
    says="whoever runs and could be elected now is in the ISR",
    needs=("is_fenced", "is_running", "isr", "leader_knows", "unclean_election"),
    violated_by="kraft-elr",
    source="a common claim; not with unclean election, nor with the ELR and the last known leader (KIP-966)",
)
def only_isr_electable(k: Any, s: Any) -> Value:
    """Whoever an election could elect now is in the ISR: nothing about logs, or about who should be elected."""
    return k.all_of(*[implies(k, may, s.isr[each]) for each, may in enumerate(who_is_electable(k, s))])


@as_property(
    says="every member of the ISR that runs and is not fenced could be elected now",
    needs=("is_fenced", "is_running", "isr", "leader_knows", "unclean_election"),
    violated_by="kraft-complete_reassignment",
    source="a common claim; Kafka asks for membership only; broken with election.policy=fenced-longest-log",
)
def isr_electable(k: Any, s: Any) -> Value:
    """Every member of the ISR that runs and is not fenced could be elected now."""
    return k.all_of(
        *[
            implies(k, k.all_of(s.isr[each], s.is_running[each], k.not_(s.is_fenced[each])), may)
            for each, may in enumerate(who_is_electable(k, s))
        ]
    )


@as_property(
    says="a leader just elected, if it runs, has a log at least as long as that of each running member of the ISR",
    needs=("isr", "is_running", "leader", "leader_knows", "log_record"),
    violated_by="kraft",
    source="a common claim; Kafka elects the first in assignment order, whatever the logs have",
    compares=("replica",),
)
def elected_has_longest_log(k: Any, s: Any) -> Value:
    """No running ISR member has a longer log than an elected leader that runs and has not applied its leadership yet."""
    return k.all_of(
        *[
            implies(
                k,
                k.all_of(
                    s.leader == leader, s.leader_knows == ELECTED, s.is_running[leader], s.isr[other], s.is_running[other]
                ),
                k.not_(has_beyond(k, s, other, leader)),
            )
            for leader in everyone(s)
            for other in others(s, leader)
        ]
    )


@as_property(
    says="a leader that accepts writes knows of min.insync.replicas or more in sync",
    needs=("follows", "leader_isr"),
    violated_by="kraft",
    source="a common claim; holds with acks=all; broken with acks=0 and 1, whose writes are never refused",
)
def accepts_at_minimum_isr(k: Any, s: Any) -> Value:
    """A leader that accepts writes has at least min.insync.replicas members in the ISR that it knows itself."""
    return k.all_of(
        *[
            implies(
                k,
                k.all_of(leads(s, leader), accepts_writes(k, s, leader)),
                is_isr_big_enough(k, s, list(s.leader_isr[leader]), leader),
            )
            for leader in everyone(s)
        ]
    )


@as_property(
    says="while there is a leader, every member of the controller's ISR has every acknowledged record",
    failure="has acknowledged records that a member of the ISR lacks",
    needs=("ghost_acked", "is_fenced", "isr", "leader", "log_record"),
    violated_by="kraft",
    source="a common claim; with acks=all broken by lost data, an unclean election or a known defect",
)
def acked_on_whole_isr(k: Any, s: Any) -> Value:
    """While there is a leader every ISR member has every acknowledged record; faults that lose data break it by definition."""
    return k.all_of(
        *[
            implies(
                k, k.all_of(s.leader != NO_REPLICA, s.ghost_acked[record], s.isr[member]), holds_record(k, s, member, record)
            )
            for member in everyone(s)
            for record in range(s.sizes.record)
        ]
    )


@as_property(
    says="where just the brokers that are down are fenced and a leader, if any, has the newest metadata, a leader serves reads",
    failure="stops serving consumers",
    needs=("is_fenced", "leader_knows"),
    violated_by="kraft",
    source="a common claim; consumers fetch from leaders in the models",
    kind=AVAILABILITY,
)
def stays_readable(k: Any, s: Any) -> Value:
    """A leader answers reads whenever just the brokers that are down are fenced and the leader, if any, is up to date."""
    serves = [k.all_of(s.leader == each, s.leader_knows != ELECTED, s.is_running[each]) for each in everyone(s)]
    return implies(k, is_settled(k, s), k.any_of(*serves))


@as_property(
    says="no two voters of a quorum lead at once, not even in different epochs",
    needs=("epoch", "role", "voted_for"),
    violated_by="kraft-quorum",
    source="a common claim; a controller that is cut off leads on until it hears of its successor",
    compares=("replica",),
)
def one_controller_at_a_time(k: Any, s: Any) -> Value:
    """No two voters lead at once.  This does not hold: two may, in two epochs, and the older one commits nothing more."""
    voters = range(s.sizes.replica)
    both = [k.all_of(is_leader(s, one), is_leader(s, other)) for one in voters for other in voters if one < other]
    return k.not_(k.any_of(False, *both))


@as_property(
    says="no voter leads in a later epoch while one is down that led in the last epoch it knew",
    needs=("epoch", "is_running", "leader", "role", "voted_for"),
    violated_by="kraft-quorum",
    source="the opposite of a common claim: another controller takes over",
    compares=("replica",),
)
def controller_not_replaced(k: Any, s: Any) -> Value:
    """No voter leads in a later epoch than a voter that is down and led in the last epoch it knew.  A fail-over breaks this:
    it is the witness that another controller takes over."""
    voters = range(s.sizes.replica)
    taken = [
        k.all_of(is_leader(s, one), k.not_(s.is_running[other]), s.leader[other] == other, s.epoch[other] < s.epoch[one])
        for one in voters
        for other in voters
        if one != other
    ]
    return k.not_(k.any_of(False, *taken))
