"""Who may lead: the election of PartitionChangeBuilder, an election from the ELR included.

The controller looks in order at the ISR, at the ELR where the ISR is empty, at the last known leader where both are empty,
and, only where the operator allows it, at any replica that is alive (an unclean election, which may lose records).

Source: PartitionChangeBuilder.java (electLeader, electPreferredLeader, electAnyLeader, canElectLastKnownLeader,
isValidNewLeader); KIP-966.
"""

from __future__ import annotations

from dataclasses import dataclass

from neverlost.model.kernel import NO_REPLICA, Clauses, Primitives, Value, count
from neverlost.model.kraft.broker.follower import forget_response
from neverlost.model.kraft.broker.leader import forget_late_response, forget_leadership, leads
from neverlost.model.kraft.broker.log import is_longer_log
from neverlost.model.kraft.state import POLICIES, everyone, minimum_isr, others
from neverlost.model.system import View

Flags = list[Value]
"""One flag for each broker."""


def no_brokers(s: View) -> Flags:
    """Return False for every broker: a set without members."""
    return [False for _ in everyone(s)]


@dataclass(frozen=True)
class Electorate:
    """What an election looks at: the ISR and ELR that the change leads to, who is alive, and who has a replica.

    `has_elr` is false where the record is built as if there were no ELR, `allows_unclean` whether an unclean election may
    be held.
    """

    isr: Flags
    elr: Flags
    active: Flags
    replicas: Flags
    has_elr: Value
    allows_unclean: Value


def keeps_leader(k: Primitives, s: View, of: Electorate) -> Value:
    """Return True if the leader stays: it is in the ISR, alive and still a replica (`electLeader`: no election is needed)."""
    stays = [k.all_of(s.leader == each, of.isr[each], of.active[each], of.replicas[each]) for each in everyone(s)]
    return k.any_of(*stays)


def cleanly_electable(k: Primitives, s: View, of: Electorate) -> Flags:
    """Return the alive members of the ISR or, if it has no members, alive or not, of the ELR (`isValidNewLeader`)."""
    isr_empty = k.not_(k.any_of(*of.isr))
    return [
        k.all_of(of.active[each], of.replicas[each], k.any_of(of.isr[each], k.all_of(isr_empty, of.elr[each])))
        for each in everyone(s)
    ]


def last_known_leader(k: Primitives, s: View, of: Electorate) -> Flags:
    """Return the last known leader alone, if ISR and ELR are empty, it is alive and such an election is on; else nobody."""
    if not s.sizes.elr:
        return no_brokers(s)
    none_left = k.all_of(k.not_(k.any_of(*of.isr, *of.elr)), s.last_known_leader_election, of.has_elr)
    return [k.all_of(none_left, s.last_known_leader == each, of.active[each]) for each in everyone(s)]


def last_known_leader_unassigned(k: Primitives, s: View, of: Electorate) -> Value:
    """Return True if the last known leader would be elected and has no replica any more: Kafka's election ends in an error.

    Source: `LeaderAcceptor.test` asks `PartitionRegistration.directory`, which throws.
    """
    if not s.sizes.reassignment:
        return False
    return k.any_of(*[k.all_of(asked, k.not_(of.replicas[each])) for each, asked in enumerate(last_known_leader(k, s, of))])


def electable(k: Primitives, s: View, of: Electorate) -> Flags:
    """Return who may be elected: clean candidates and the last known leader or, if none and if allowed, any alive replica."""
    clean, last = cleanly_electable(k, s, of), last_known_leader(k, s, of)
    if s.sizes.asks_for_logs:
        clean, last = answering_in_time(k, s, of), no_brokers(s)
    unclean = k.all_of(of.allows_unclean, k.not_(k.any_of(*clean, *last)))
    found = [k.any_of(clean[each], last[each], k.all_of(unclean, of.active[each], of.replicas[each])) for each in everyone(s)]
    return answering(k, s, found)


def answering(k: Primitives, s: View, candidates: Flags) -> Flags:
    """Return the candidates that are running, if the policy compares logs; else all of them, running or not."""
    if not s.sizes.epochs:
        return candidates
    asks = k.any_of(s.sizes.asks_for_logs, s.election_policy == POLICIES["longest-log"])
    return [k.all_of(candidates[each], k.any_of(k.not_(asks), s.is_running[each])) for each in everyone(s)]


def fits_policy(k: Primitives, s: View, elected: int, candidates: Flags) -> Value:
    """Return True if the election policy prefers none of the other candidates to `elected`.

    Kafka's own rule is `preferred`, the first in assignment order; `any` covers every order, and `longest-log` is what
    some propose instead of fencing; `fenced-longest-log` has clauses of its own (`has_longest_log`).
    """
    fits = k.any_of(s.election_policy != POLICIES["preferred"], k.not_(k.any_of(False, *candidates[:elected])))
    if s.sizes.epochs:
        better = [k.all_of(candidates[each], is_longer_log(k, s, each, elected)) for each in everyone(s) if each != elected]
        fits = k.all_of(fits, k.any_of(s.election_policy != POLICIES["longest-log"], k.not_(k.any_of(*better))))
    return fits


def answers(s: View, outcome: int) -> tuple[int, list[int]]:
    """Return who an outcome elects, and all who answered, the elected first; [] unless the policy is `fenced-longest-log`."""
    elected, others_answer = outcome % s.sizes.replica, outcome // s.sizes.replica
    if not s.sizes.asks_for_logs:
        return elected, []
    return elected, [elected, *[each for place, each in enumerate(others(s, elected)) if others_answer >> place & 1]]


def needed_answers(k: Primitives, s: View, of: Electorate) -> Value:
    """Return how many must answer to include one of every set of min ISR replicas: replicas - min ISR + 1, whatever the ISR."""
    return count(k, of.replicas) - minimum_isr(k, s) + 1


def answering_in_time(k: Primitives, s: View, of: Electorate) -> Flags:
    """Return who may be elected cleanly by its log: the running `cleanly_electable`, if these are enough; else nobody."""
    found = answering(k, s, cleanly_electable(k, s, of))
    return [k.all_of(each, count(k, found) >= needed_answers(k, s, of)) for each in found]


def has_longest_log(k: Primitives, s: View, of: Electorate, answered: list[int]) -> Clauses:
    """Clauses: those who answered may be elected and, in a clean election, are enough; no log is longer than the first's."""
    candidates, clean = electable(k, s, of), answering_in_time(k, s, of)
    yield "those that are asked can answer", k.all_of(*[candidates[each] for each in answered])
    yield "enough answer", k.any_of(k.not_(k.any_of(*clean)), needed_answers(k, s, of) <= len(answered))
    longer = [is_longer_log(k, s, each, answered[0]) for each in answered[1:]]
    yield "longest log of those that answer", k.not_(k.any_of(False, *longer))


def refuse_older_epochs(k: Primitives, s: View, broker: int) -> None:
    """Effect: a broker that was asked for its log stops leading or following: it takes part in no older leader epoch any more.

    It refuses before it reads its log; both are one step, because nothing that the broker does itself comes between them.
    """
    forget_leadership(k, s, broker, leads(s, broker))
    forget_late_response(k, s, broker)
    forget_response(k, s, broker)
    s.follows[broker] = NO_REPLICA
