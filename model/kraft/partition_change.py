"""How the controller changes a partition: finish a reassignment, keep the ELR, elect a leader, move the epochs.

`change_partition` does what one PartitionChangeRecord does, in the order of PartitionChangeBuilder.build().

Source: PartitionChangeBuilder.java, PartitionReassignmentReplicas.java.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from neverlost.model.kernel import NOBODY, Clauses, Value, count
from neverlost.model.kraft.log import is_longer_log
from neverlost.model.kraft.state import BEHIND, ELECTED, POLICIES, UP_TO_DATE, everyone, is_isr_big_enough

Flags = list[Value]


def choose(k: Any, condition: Value, then: Flags, otherwise: Flags) -> Flags:
    """One of two vectors."""
    return [k.ite(condition, one, other) for one, other in zip(then, otherwise, strict=True)]


def next_elr(k: Any, s: Any, isr: Flags, unclean_restart: int | None, replicas: Flags) -> Flags:
    """The ELR that goes with a target ISR: who left the ISR while it is below the minimum."""
    if not s.sizes["elr"]:
        return [False for _ in everyone(s)]
    full = is_isr_big_enough(k, s, isr)
    found = []
    for each in everyone(s):
        was = k.any_of(s.elr[each], s.isr[each])
        lost = k.all_of(each == unclean_restart, s.unclean_restart_leaves_elr)
        outside = k.all_of(s.elr_within_replicas, k.not_(replicas[each]))
        found.append(k.all_of(k.not_(full), was, k.not_(isr[each]), k.not_(lost), k.not_(outside)))
    return found


def electable(k: Any, s: Any, isr: Flags, elr: Flags, active: Flags, replicas: Flags) -> tuple[Flags, Value]:
    """Which replicas an election may choose, and whether the choice is clean."""
    isr_empty = k.not_(k.any_of(*isr))
    clean = [
        k.all_of(active[each], replicas[each], k.any_of(isr[each], k.all_of(isr_empty, elr[each]))) for each in everyone(s)
    ]
    is_clean = k.any_of(*clean)
    last: Flags = [False for _ in everyone(s)]
    if s.sizes["elr"]:
        none_left = k.all_of(isr_empty, k.not_(k.any_of(*elr)), s.last_known_leader_rule)
        last = [k.all_of(none_left, s.last_known_leader == each, active[each]) for each in everyone(s)]
    unclean = k.all_of(s.unclean_election, k.not_(is_clean), k.not_(k.any_of(*last)))
    return [
        k.any_of(clean[each], last[each], k.all_of(unclean, active[each], replicas[each])) for each in everyone(s)
    ], is_clean


def fits_policy(k: Any, s: Any, elected: int, allowed: Flags) -> Value:
    """Whether the election policy prefers no other allowed replica."""
    fits = k.any_of(s.election_policy != POLICIES["preferred"], k.not_(k.any_of(False, *allowed[:elected])))
    if s.sizes["epochs"]:
        better = [k.all_of(allowed[each], is_longer_log(k, s, each, elected)) for each in everyone(s) if each != elected]
        fits = k.all_of(fits, k.any_of(s.election_policy != POLICIES["longest-log"], k.not_(k.any_of(*better))))
    return fits


def heard_from(k: Any, s: Any, allowed: Flags) -> Flags:
    """Comparing logs takes replicas that answer; other policies do not notice that a replica is down."""
    if not s.sizes["epochs"]:
        return allowed
    asks = s.election_policy == POLICIES["longest-log"]
    return [k.all_of(allowed[each], k.any_of(k.not_(asks), s.is_running[each])) for each in everyone(s)]


def move_leader_epoch(k: Any, s: Any, when: Value) -> None:
    """Effect: a new leader epoch, in which nobody has taken over yet."""
    s.leader_knows = k.ite(when, ELECTED, s.leader_knows)
    s.leader_epoch_start = k.ite(when, 0, s.leader_epoch_start)
    s.request_outdated = k.all_of(k.not_(when), s.request_outdated)
    if not s.sizes["fenced_fetch"]:
        for each in everyone(s):
            s.is_stale[each] = k.any_of(when, s.is_stale[each])
    if s.sizes["epochs"]:
        s.leader_epoch = k.ite(when, s.leader_epoch + 1, s.leader_epoch)


@dataclass(frozen=True)
class Assignment:
    """A partition's replicas, those of them that a reassignment adds, and those that it will remove."""

    replicas: Flags
    adding: Flags
    removing: Flags


def assignment_of(s: Any) -> Assignment:
    """What the controller holds; without reassignments every broker has a replica."""
    if s.sizes["reassignment"]:
        return Assignment(list(s.is_replica), list(s.is_adding), list(s.is_removing))
    nothing: Flags = [False for _ in everyone(s)]
    return Assignment([True for _ in everyone(s)], nothing, nothing)


def change_partition(
    k: Any,
    s: Any,
    isr: Flags,
    active: Flags,
    elected: int,
    nobody: int,
    unclean_restart: int | None = None,
    assignment: Assignment | None = None,
    touched: Value = True,
    by_leader: bool = False,
) -> Clauses:
    """One change of the partition to a target ISR; `elected` is the new leader where one is needed, else `nobody`.

    `by_leader` is a change that the leader writes itself, which leaves the leader epoch alone.

    Where the event does not touch the partition the controller writes no record for it: nothing changes.
    """
    target = assignment or assignment_of(s)
    if s.sizes["reassignment"]:
        isr, target = completed(k, s, isr, target, touched)
    elr = next_elr(k, s, isr, unclean_restart, target.replicas)
    if s.sizes["elr"]:
        elr = choose(k, touched, elr, list(s.elr))
    stays = [k.all_of(s.leader == each, isr[each], active[each], target.replicas[each]) for each in everyone(s)]
    kept = k.any_of(k.not_(touched), *stays)
    allowed, is_clean = electable(k, s, isr, elr, active, target.replicas)
    allowed = heard_from(k, s, allowed)
    vacant = k.all_of(elected == nobody, k.not_(k.any_of(*allowed)))
    fit = k.any_of(vacant, allowed[elected])
    yield "electable", k.any_of(k.all_of(kept, elected == nobody), k.all_of(k.not_(kept), fit))
    yield "election policy", k.any_of(kept, vacant, fits_policy(k, s, elected, allowed))
    found = k.all_of(k.not_(kept), k.not_(vacant))
    alone = [each == elected for each in everyone(s)]
    elr = [k.all_of(elr[each], k.not_(k.all_of(found, k.any_of(k.not_(is_clean), alone[each])))) for each in everyone(s)]
    isr = choose(k, k.all_of(found, k.not_(isr[elected])), alone, isr)
    apply_change(k, s, isr, elr, k.ite(kept, s.leader, k.ite(found, elected, NOBODY)), by_leader)
    if s.sizes["reassignment"]:
        adopt_assignment(k, s, target)


def apply_change(k: Any, s: Any, isr: Flags, elr: Flags, leader: Value, by_leader: bool) -> None:
    """Effect: write the ISR, the ELR, the last known leader and the leader, and move the epochs that go with them."""
    changed = [isr[each] != s.isr[each] for each in everyone(s)]
    shrunk = k.any_of(*[k.all_of(s.isr[each], k.not_(isr[each])) for each in everyone(s)])
    moves_epoch = k.all_of(shrunk, leader != NOBODY, k.not_(s.shrink_keeps_leader_epoch), not by_leader)
    new_leader = k.any_of(leader != s.leader, moves_epoch)
    if s.sizes["elr"]:
        changed += [elr[each] != s.elr[each] for each in everyone(s)]
        emptied = k.all_of(k.any_of(*s.isr), k.not_(k.any_of(*isr)))
        cleared = k.ite(leader == NOBODY, s.last_known_leader, NOBODY)
        s.last_known_leader = k.ite(emptied, s.leader, cleared)
        for each in everyone(s):
            s.elr[each] = elr[each]
    for each in everyone(s):
        s.isr[each] = isr[each]
    behind = k.all_of(k.any_of(*changed), s.leader_knows == UP_TO_DATE)
    s.leader_knows = k.ite(behind, BEHIND, s.leader_knows)
    s.leader = leader
    move_leader_epoch(k, s, new_leader)


def completed(k: Any, s: Any, isr: Flags, before: Assignment, touched: Value) -> tuple[Flags, Assignment]:
    """ISR and assignment after the reassignment that this ISR completes, if it does."""
    targets = [k.all_of(before.replicas[each], k.not_(before.removing[each])) for each in everyone(s)]
    new_isr = [k.all_of(isr[each], targets[each]) for each in everyone(s)]
    grows = count(k, before.adding) >= count(k, before.removing)
    waits = k.all_of(s.reassignment_waits, k.not_(k.all_of(s.reassignment_needs_added, grows)))
    asks = k.any_of(k.not_(s.reassignment_waits), s.reassignment_needs_added)
    must = [k.any_of(k.all_of(waits, targets[each]), k.all_of(asks, before.adding[each])) for each in everyone(s)]
    covered = k.all_of(*[k.any_of(k.not_(must[each]), new_isr[each]) for each in everyone(s)])
    safe = k.any_of(k.not_(s.reassignment_keeps_min_isr), is_isr_big_enough(k, s, new_isr))
    done = k.all_of(touched, k.any_of(*before.adding, *before.removing), covered, k.any_of(*new_isr), safe)
    going = [k.all_of(k.not_(done), each) for each in before.adding], [k.all_of(k.not_(done), each) for each in before.removing]
    return choose(k, done, new_isr, isr), Assignment(choose(k, done, targets, before.replicas), *going)


def adopt_assignment(k: Any, s: Any, target: Assignment) -> None:
    """Effect: the new replica set; a replica that goes moves the leader epoch, any change the partition epoch."""
    old = assignment_of(s)
    removed = k.any_of(*[k.all_of(old.replicas[each], k.not_(target.replicas[each])) for each in everyone(s)])
    was = [*old.replicas, *old.adding, *old.removing]
    now = [*target.replicas, *target.adding, *target.removing]
    changed = k.any_of(*[one != other for one, other in zip(was, now, strict=True)])
    s.leader_knows = k.ite(k.all_of(changed, s.leader_knows == UP_TO_DATE), BEHIND, s.leader_knows)
    move_leader_epoch(k, s, k.all_of(removed, s.leader_knows != ELECTED))
    for each in everyone(s):
        s.is_replica[each] = target.replicas[each]
        s.is_adding[each] = target.adding[each]
        s.is_removing[each] = target.removing[each]
