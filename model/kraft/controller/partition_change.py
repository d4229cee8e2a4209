"""How the controller changes a partition: one PartitionChangeRecord, in the order of PartitionChangeBuilder.build().

An event asks for a `Change`.  The builder completes a reassignment that the target ISR allows, finds the ELR that goes with
that ISR, elects a leader if the old one cannot stay, and moves the epochs.  The *outcome* of the election is a parameter of
every step that may hold one: `KEPT` (the leader stays), `NO_REPLICA` (no replica can be elected) or the elected replica.

Every record moves the partition epoch, so that the leader's next request with the old one is refused; a new leader moves
the leader epoch too, which fences the old leader's fetches and requests.

Source: PartitionChangeBuilder.java, PartitionReassignmentReplicas.java.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from neverlost.model.kernel import NO_REPLICA, Clauses, Primitives, Value, count
from neverlost.model.kraft.controller.leader_election import (
    Electorate,
    Flags,
    answers,
    cleanly_electable,
    electable,
    fits_policy,
    has_longest_log,
    keeps_leader,
    last_known_leader_unassigned,
    no_brokers,
    refuse_older_epochs,
)
from neverlost.model.kraft.sizes import KEPT
from neverlost.model.kraft.state import BEHIND, ELECTED, UP_TO_DATE, everyone, is_isr_big_enough
from neverlost.model.system import View


@dataclass(frozen=True)
class Assignment:
    """A partition's replicas, those of them that a reassignment adds, and those of them that it will remove, as flags."""

    replicas: Flags
    adding: Flags
    removing: Flags

    @property
    def flags(self) -> Flags:
        """The flags of the replicas, of those being added and of those to be removed, one list after the other."""
        return [*self.replicas, *self.adding, *self.removing]


@dataclass(frozen=True)
class Change:
    """What an event asks the builder for.

    `isr` is the target ISR, `active` the brokers that may lead (`isAcceptableLeader`), `registers` the broker that registers
    (a record may come before the one that lets it lead), and `unclean_shutdown` the same one after an unclean shutdown
    (`setUncleanShutdownReplicas`).  Where the event does not concern the partition (`has_record` is false) no record is
    written and nothing changes.  A change `by_leader` is one that the leader writes itself, as before KIP-497, which leaves
    the leader epoch alone.  An unclean election is held where the topic allows it, or by what `allows_unclean` says.
    `has_elr` is false for a record that is built as if there were no ELR.
    """

    isr: Flags
    active: Flags
    assignment: Assignment
    registers: int | None = None
    unclean_shutdown: int | None = None
    has_record: Value = True
    by_leader: bool = False
    allows_unclean: bool | None = None
    has_elr: Value = True


def assignment_of(s: View) -> Assignment:
    """Return the assignment as the controller has it; without reassignments every broker has a replica."""
    if s.sizes.reassignment:
        return Assignment(list(s.is_replica), list(s.is_adding), list(s.is_removing))
    return Assignment([True for _ in everyone(s)], no_brokers(s), no_brokers(s))


def unfenced(k: Primitives, s: View) -> Flags:
    """Return who may lead: every broker that is not fenced."""
    return [k.not_(s.is_fenced[each]) for each in everyone(s)]


def choose(k: Primitives, condition: Value, then: Flags, otherwise: Flags) -> Flags:
    """Return `then` if the condition holds, else `otherwise`, chosen flag by flag."""
    return [k.ite(condition, one, other) for one, other in zip(then, otherwise, strict=True)]


def change_partition(k: Primitives, s: View, change: Change, outcome: int | None) -> Clauses:
    """Clauses and effect: one partition record with its election, or none where the event does not concern the partition.

    `outcome` None: no election is held, so the leader goes if it cannot stay.
    """
    change = complete_reassignment_if_needed(k, s, change)
    elr = next_elr(k, s, change)
    unclean = s.unclean_election if change.allows_unclean is None else change.allows_unclean
    of = Electorate(change.isr, elr, change.active, change.assignment.replicas, change.has_elr, unclean)
    kept = k.any_of(k.not_(change.has_record), keeps_leader(k, s, of))
    if outcome is None:
        apply(k, s, change, elr, k.ite(kept, s.leader, NO_REPLICA))
        return
    if outcome == KEPT:
        yield "the leader stays", kept
        apply(k, s, change, elr, s.leader)
        return
    yield "the leader does not stay", k.not_(kept)
    yield "an election asks only replicas that are assigned", k.not_(last_known_leader_unassigned(k, s, of))
    if change.registers is not None:
        of = electorate_at_registration(k, s, of, change)
    candidates = electable(k, s, of)
    if outcome == NO_REPLICA:
        yield "no eligible leader", k.not_(k.any_of(*candidates))
        apply(k, s, change, elr, NO_REPLICA)
        return
    elected, answered = answers(s, outcome)
    yield "electable", candidates[elected]
    yield "election policy", fits_policy(k, s, elected, candidates)
    if answered:
        yield from has_longest_log(k, s, of, answered)
    isr, elr = elected_sets(k, s, of, elected)
    apply(k, s, replace(change, isr=isr), elr, elected)
    for each in answered:
        refuse_older_epochs(k, s, each)


def electorate_at_registration(k: Primitives, s: View, of: Electorate, change: Change) -> Electorate:
    """Return the electorate; a registering broker in the ISR (or ELR, if unclean) is no candidate if another can be elected."""
    broker = change.registers
    without = replace(of, active=[k.all_of(alive, each != broker) for each, alive in enumerate(of.active)])
    leaves = s.isr[broker] if change.unclean_shutdown is None else k.any_of(s.isr[broker], s.elr[broker])
    settled = k.all_of(leaves, k.any_of(*electable(k, s, without)))
    return replace(of, active=choose(k, settled, without.active, of.active))


def complete_reassignment_if_needed(k: Primitives, s: View, change: Change) -> Change:
    """`completeReassignmentIfNeeded`: return the change, without the removed replicas if its ISR ends a reassignment.

    Until 3.7 the added replicas had to be in the ISR, so a reassignment could complete with fewer than min.insync.replicas
    in sync; since 3.8 all target replicas have to (KAFKA-15665); since 4.3 the added ones again, if at least as many are added
    as removed (KAFKA-19975), because a dead broker among the replicas that stay held it up.
    """
    if not s.sizes.reassignment:
        return change
    before, isr = change.assignment, change.isr
    targets = [k.all_of(before.replicas[each], k.not_(before.removing[each])) for each in everyone(s)]
    new_isr = [k.all_of(isr[each], targets[each]) for each in everyone(s)]
    grows = count(k, before.adding) >= count(k, before.removing)
    waits = k.all_of(s.reassignment_waits_for_targets, k.not_(k.all_of(s.reassignment_completes_when_added, grows)))
    asks = k.any_of(k.not_(s.reassignment_waits_for_targets), s.reassignment_completes_when_added)
    must = [k.any_of(k.all_of(waits, targets[each]), k.all_of(asks, before.adding[each])) for each in everyone(s)]
    covered = k.all_of(*[k.any_of(k.not_(must[each]), new_isr[each]) for each in everyone(s)])
    safe = k.any_of(k.not_(s.reassignment_keeps_min_isr), is_isr_big_enough(k, s, new_isr))
    done = k.all_of(change.has_record, k.any_of(*before.adding, *before.removing), covered, k.any_of(*new_isr), safe)
    after = Assignment(
        choose(k, done, targets, before.replicas),
        [k.all_of(k.not_(done), each) for each in before.adding],
        [k.all_of(k.not_(done), each) for each in before.removing],
    )
    return replace(change, isr=choose(k, done, new_isr, isr), assignment=after)


def next_elr(k: Primitives, s: View, change: Change) -> Flags:
    """`maybePopulateTargetElr`: return the next ELR: its members, and who leaves an ISR that is below min.insync.replicas.

    The ELR holds the replicas that have every committed record although they are out: no record is committed below
    min.insync.replicas (strict-high-watermark).  It is cleared once the ISR is not below it.  A broker that comes back from
    an unclean shutdown may have lost records, so it leaves (KIP-966).  Without a record the ELR stays as it is.
    """
    if not s.sizes.elr:
        return no_brokers(s)
    full = is_isr_big_enough(k, s, change.isr)
    found = []
    for each in everyone(s):
        was = k.any_of(s.elr[each], s.isr[each])
        lost = k.all_of(each == change.unclean_shutdown, s.unclean_shutdown_leaves_elr)
        outside = k.all_of(s.elr_within_replicas, k.not_(change.assignment.replicas[each]))
        found.append(k.all_of(change.has_elr, k.not_(full), was, k.not_(change.isr[each]), k.not_(lost), k.not_(outside)))
    return choose(k, change.has_record, found, list(s.elr))


def elected_sets(k: Primitives, s: View, of: Electorate, elected: int) -> tuple[Flags, Flags]:
    """Return ISR and ELR after an election: a leader from outside the ISR is alone in it; an unclean one empties the ELR."""
    is_clean = k.any_of(*cleanly_electable(k, s, of))
    alone = [each == elected for each in everyone(s)]
    elr = [k.all_of(of.elr[each], is_clean, not alone[each]) for each in everyone(s)]
    return choose(k, of.isr[elected], of.isr, alone), elr


def apply(k: Primitives, s: View, change: Change, elr: Flags, leader: Value) -> None:
    """Effect: write the record into the state: ISR, ELR, leader (and last known one), assignment, and the epochs they move."""
    bumps = needs_bump_for_isr_shrink(k, s, change, leader)
    if s.sizes.elr:
        update_last_known_leader(k, s, change.isr, leader)
    move_partition_epoch(k, s, change.isr, elr)
    is_new_epoch = k.any_of(leader != s.leader, bumps)
    s.leader = leader
    move_leader_epoch(k, s, is_new_epoch)
    if s.sizes.reassignment:
        set_assignment(k, s, change.assignment)


def needs_bump_for_isr_shrink(k: Primitives, s: View, change: Change, leader: Value) -> Value:
    """`triggerLeaderEpochBumpForIsrShrinkIfNeeded`: True if a removal from the ISR by the controller moves the leader epoch.

    So it was until 3.6 (KAFKA-15021), to take a replica out of a leader's maximal ISR whose request was in flight; since
    then the leader's request with the old partition epoch is refused.
    """
    shrunk = k.any_of(*[k.all_of(s.isr[each], k.not_(change.isr[each])) for each in everyone(s)])
    return k.all_of(shrunk, leader != NO_REPLICA, k.not_(s.shrink_keeps_leader_epoch), not change.by_leader)


def update_last_known_leader(k: Primitives, s: View, isr: Flags, leader: Value) -> None:
    """Effect (`maybeUpdateLastKnownLeader`): remember the leader when the ISR empties, forget it by a record with a leader.

    Since 4.2 remember it when the partition loses its leader, which may be before the ISR is empty (PR 20629).
    """
    emptied = k.all_of(k.any_of(*s.isr), k.not_(k.any_of(*isr)))
    lost_leader = k.all_of(s.leader != NO_REPLICA, leader == NO_REPLICA)
    remembers = k.ite(s.last_known_leader_when_leaderless, lost_leader, emptied)
    s.last_known_leader = k.ite(remembers, s.leader, k.ite(leader == NO_REPLICA, s.last_known_leader, NO_REPLICA))


def move_partition_epoch(k: Primitives, s: View, isr: Flags, elr: Flags) -> None:
    """Effect: write ISR and ELR; if they change, a leader that was up to date is behind."""
    changed = [isr[each] != s.isr[each] for each in everyone(s)]
    if s.sizes.elr:
        changed += [elr[each] != s.elr[each] for each in everyone(s)]
    for each in everyone(s):
        s.isr[each] = isr[each]
        if s.sizes.elr:
            s.elr[each] = elr[each]
    outdate_leader(k, s, k.any_of(*changed))


def outdate_leader(k: Primitives, s: View, when: Value) -> None:
    """Effect, if `when` is true: the partition epoch moves, so a leader that was up to date is behind."""
    s.leader_knows = k.ite(k.all_of(when, s.leader_knows == UP_TO_DATE), BEHIND, s.leader_knows)


def move_leader_epoch(k: Primitives, s: View, when: Value) -> None:
    """Effect, if `when` is true: a new leader epoch, in which no broker has applied its leadership yet."""
    s.leader_knows = k.ite(when, ELECTED, s.leader_knows)
    s.leader_epoch_start_offset = k.ite(when, 0, s.leader_epoch_start_offset)
    s.request_outdated = k.all_of(k.not_(when), s.request_outdated)
    s.record_to_come = k.all_of(k.not_(when), s.record_to_come)
    if s.sizes.reassignment:
        s.assignment_to_come = k.all_of(k.not_(when), s.assignment_to_come)
    if not s.sizes.fenced_fetch:
        for each in everyone(s):
            s.is_stale[each] = k.any_of(when, s.is_stale[each])
    if s.sizes.epochs:
        s.leader_epoch = k.ite(when, s.leader_epoch + 1, s.leader_epoch)


def set_assignment(k: Primitives, s: View, after: Assignment) -> None:
    """Effect: write who is a replica, added, to be removed (`setAssignmentChanges`); a change moves the partition epoch.

    A replica that goes moves the leader epoch (`triggerLeaderEpochBumpForReplicaReassignmentIfNeeded`), so that no
    leader counts what it fetches any more.
    """
    before = assignment_of(s)
    removed = [k.all_of(before.replicas[each], k.not_(after.replicas[each])) for each in everyone(s)]
    changed = k.any_of(*[was != now for was, now in zip(before.flags, after.flags, strict=True)])
    outdate_leader(k, s, changed)
    s.assignment_to_come = k.all_of(k.any_of(s.assignment_to_come, changed), s.leader_knows == BEHIND)
    move_leader_epoch(k, s, k.all_of(k.any_of(*removed), s.leader_knows != ELECTED))
    for each in everyone(s):
        s.is_replica[each] = after.replicas[each]
        s.is_adding[each] = after.adding[each]
        s.is_removing[each] = after.removing[each]
