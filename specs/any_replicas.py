"""Any number of replicas in the modern models: what a proof for every size reads in place of what goes over all of them.

Logs are read for any length together with that (`any_modern_log`); with eligible leader replicas within the bounds.

The actions, the lemmas and the properties are those that exploration runs.  A function of the model that goes over all
replicas by itself is said here without that, and a test compares each step with the one that it stands for.

Two things are said more loosely, so that there are more behaviours than Kafka's.  A fault strikes while *some* replica is
unimpaired afterwards: that is `faults.at_once` = RF-1.  And whether an ISR has min.insync.replicas members is not known: no
count of them is needed for what is proved.  With eligible leader replicas it is needed, and asked of sets by name (`SETS`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from neverlost.model import kernel
from neverlost.model.any_number import AnyNumber
from neverlost.model.faults import BY_NAME, DATA_LOSS, LEADER_MOVE, Fault
from neverlost.model.interpreters.otherwise import call_otherwise
from neverlost.model.interpreters.quantified_terms import copy_unless_list
from neverlost.model.kernel import (
    NO_REPLICA,
    Action,
    Clauses,
    Configuration,
    Field,
    ModelError,
    Primitives,
    Sizes,
    Value,
    count,
    for_every,
    for_some,
)
from neverlost.model.kraft.broker import high_watermark, leader, metadata
from neverlost.model.kraft.broker.high_watermark import (
    answer_producers,
    is_waited_for,
    note_committed,
    raise_high_watermark,
    settle_epoch_start,
)
from neverlost.model.kraft.broker.leader import adopt_isr, forget_leadership, leads
from neverlost.model.kraft.broker.log import log_end, offsets
from neverlost.model.kraft.controller import fencing, leader_election, operator, partition_change
from neverlost.model.kraft.controller.fencing import admit
from neverlost.model.kraft.controller.leader_election import Electorate, cleanly_electable, electable, last_known_leader
from neverlost.model.kraft.controller.partition_change import (
    Assignment,
    Change,
    change_partition,
    move_leader_epoch,
    outdate_leader,
)
from neverlost.model.kraft.lifecycle import stops
from neverlost.model.kraft.requests import isr_change
from neverlost.model.kraft.sizes import KEPT, KraftSizes
from neverlost.model.kraft.state import ELECTED, POLICIES, UP_TO_DATE, is_isr_big_enough
from neverlost.model.limits import AT_ONCE, NO_LIMIT, fault_enabled, record_fault, victims
from neverlost.model.system import System, View
from neverlost.specs import any_modern_log
from neverlost.specs.any_modern_log import OFFSET, UNBOUNDED, make_log_end
from neverlost.specs.counts import are_few, is_enough_alone

REPLICA = "replica"
DIFFERS = "leader"
"""The field that says at first which replica is not as the others."""

NOT_COVERED = (
    *("reassignment", "config_change", "racks", "epochs", "has_ranks", "asks_for_logs"),
    *("late_bytes", "late_responses", "fetches_unregistered", "copies_requests"),
)
"""Parts of the modern models (`sizes`) of which the functions here say nothing."""

Row = Any
"""A value for each replica."""

Instead = Mapping[Callable[..., Any], Callable[..., Any]]
"""Functions of the model, each with the one that is read in its place."""


class Everywhere(tuple[Value]):
    """One value for all replicas, of which there are one or more: every index gives it."""

    def __getitem__(self, replica: Any) -> Any:
        return next(iter(self))


def row(k: Primitives, s: View, body: Callable[[Any], Value]) -> Row:
    """Return a value for each replica, what `body` gives for it."""
    return kernel.row(k, s, REPLICA, body)


def some(k: Primitives, s: View, body: Callable[[Any], Value]) -> Value:
    """Return True if a condition holds for some replica."""
    return for_some(k, s, REPLICA, body)


def write(k: Primitives, s: View, array: Any, body: Callable[[Any], Value]) -> None:
    """Effect: each element of `array` becomes what `body` gives for its replica."""
    kernel.fill(array, row(k, s, body))


# --- limits of faults ---


def is_impaired(k: Primitives, s: View, broker: int) -> Value:
    """Return True if a broker is down, fenced, out of the controller's ISR, or one that the current leader asks to remove."""
    removed = some(k, s, lambda each: k.all_of(s.leader == each, s.pending[each] == broker, s.leader_isr[each][broker]))
    return k.any_of(k.not_(s.is_running[broker]), s.is_fenced[broker], k.not_(s.isr[broker]), removed)


def one_stays_unimpaired(k: Primitives, s: View, fault: Fault, *brokers: int) -> Clauses:
    """Clauses: of a counted kind one is left; if `brokers` are given, another is unimpaired; stands for `fault_enabled`."""
    paid = BY_NAME[s.sizes.paid_by(fault.name)]
    if paid.name in s.sizes.limits.counted:
        yield f"bound: one more {paid.one}", getattr(s, paid.left) > 0
    if brokers:
        stays = some(k, s, lambda each: k.all_of(*[each != broker for broker in brokers], k.not_(is_impaired(k, s, each))))
        yield "bound: so many brokers impaired at once", stays


# --- the high watermark, and what a leader knows ---


def raise_to_what_all_have(k: Primitives, s: View, leader: int) -> None:
    """Effect: the high watermark rises to what every follower has that it waits for; stands for `raise_high_watermark`."""
    end = log_end(k, s, leader)

    def has_all(offset: int) -> Value:
        return k.not_(some(k, s, lambda each: lacks(k, s, leader, each, offset)))

    raise_to(k, s, leader, count(k, [k.all_of(end > offset, has_all(offset)) for offset in offsets(s)]))


def raise_to(k: Primitives, s: View, leader: int, new: Value) -> None:
    """Effect: the high watermark rises to `new`, never falls (if strict: with a big ISR only); commit and answer up to it."""
    old, known, isr = s.high_watermark[leader], s.fetch_offset[leader], row(k, s, lambda each: s.leader_isr[leader][each])
    enough = k.any_of(k.not_(s.strict_high_watermark), is_isr_big_enough(k, s, isr, leader))
    new = k.ite(k.all_of(enough, new > old), new, old)
    maximal = row(k, s, lambda each: k.any_of(each == leader, waits(k, s, leader, each)))
    s.high_watermark[leader] = new
    write(k, s, known, lambda each: k.ite(k.all_of(waits(k, s, leader, each), known[each] < new), new, known[each]))
    note_committed(k, s, leader)
    answer_producers(k, s, leader, is_isr_big_enough(k, s, maximal, leader))


def waits(k: Primitives, s: View, leader: int, follower: int) -> Value:
    """Return True if the high watermark of a leader waits for a follower; False for the leader itself."""
    return k.all_of(follower != leader, is_waited_for(k, s, leader, follower))


def lacks(k: Primitives, s: View, leader: int, follower: int, offset: int) -> Value:
    """Return True if the leader waits for a follower that, for all it knows, does not have the record at an offset."""
    return k.all_of(waits(k, s, leader, follower), s.fetch_offset[leader][follower] <= offset)


def is_perhaps_big_enough(k: Any, s: View, isr: Row, broker: int | None = None) -> Value:
    """Return a truth value of which nothing is known: an ISR may be big enough or not; stands for `is_isr_big_enough`."""
    return k.any_truth()


def one_copy(k: Primitives, s: View, leader: int, offset: int) -> Value:
    """Return 1: copies count only with acks=min.insync.replicas, which is not covered; stands for `_copies`."""
    return 1


def forget_all_leadership(k: Primitives, s: View, broker: int, when: Value = True) -> None:
    """Effect, if `when`: drop what a leader has in memory; its followers follow nobody; stands for `forget_leadership`."""
    isr, known, follows = s.leader_isr[broker], s.fetch_offset[broker], s.follows
    s.pending[broker] = k.ite(when, NO_REPLICA, s.pending[broker])
    write(k, s, isr, lambda each: k.all_of(k.not_(when), isr[each]))
    write(k, s, known, lambda each: k.ite(when, 0, known[each]))
    write(k, s, follows, lambda r: k.ite(k.all_of(r != broker, when, follows[r] == broker), NO_REPLICA, follows[r]))


def drop_what_is_pending(k: Primitives, s: View, leader: int) -> None:
    """Effect: the leader gives up the ISR change that it asked for, and waits for that replica no more; for `drop_pending`."""
    known, isr, pending = s.fetch_offset[leader], s.leader_isr[leader], s.pending[leader]
    write(k, s, known, lambda each: k.ite(k.all_of(pending == each, k.not_(isr[each])), 0, known[each]))
    s.pending[leader] = NO_REPLICA
    raise_high_watermark(k, s, leader)
    settle_epoch_start(k, s, leader)


def adopt_whole_isr(k: Primitives, s: View, leader: int) -> None:
    """Effect: the leader takes the controller's ISR, which settles a change that it asked for; stands for `adopt_isr`."""
    known = s.fetch_offset[leader]
    s.pending[leader] = NO_REPLICA
    s.request_outdated = False
    write(k, s, s.leader_isr[leader], lambda each: s.isr[each])
    write(k, s, known, lambda each: k.ite(k.any_of(each == leader, s.isr[each]), known[each], 0))
    s.leader_knows = UP_TO_DATE
    raise_high_watermark(k, s, leader)
    settle_epoch_start(k, s, leader)


def apply_leadership(k: Primitives, s: View, broker: int) -> Clauses:
    """The elected broker, which runs, begins to lead with the controller's ISR; stands for `broker_apply_leadership`."""
    yield "elected", s.leader == broker
    yield "leadership not applied yet", s.leader_knows == ELECTED
    yield "broker is running", s.is_running[broker]
    again = k.all_of(leads(s, broker), k.not_(s.reelection_forgets_offsets))
    known = row(k, s, lambda each: k.ite(again, s.fetch_offset[broker][each], 0))
    forget_leadership(k, s, broker)
    kernel.fill(s.fetch_offset[broker], known)
    s.follows[broker] = broker
    s.leader_epoch_start_offset = k.ite(s.leader_epoch_start, log_end(k, s, broker), 0)
    adopt_isr(k, s, broker)


def is_whole_answer(k: Primitives, s: View, leader: int) -> Value:
    """Return True if the leader has asked for an ISR change and the controller's ISR has just that; stands for `is_answer`."""
    isr, asked = s.leader_isr[leader], s.pending[leader]
    changed = for_every(k, s, REPLICA, lambda each: (isr[each] != s.isr[each]) == (asked == each))
    return k.all_of(asked != NO_REPLICA, changed)


# --- requests ---


def isr_with_one_changed(k: Primitives, s: View, leader: int, replica: int) -> Row:
    """Return the leader's ISR with one replica added, or removed if it is a member; stands for `proposed_isr`."""
    isr = s.leader_isr[leader]
    return row(k, s, lambda each: k.ite(each == replica, k.not_(isr[each]), isr[each]))


def alter_isr(k: Primitives, s: View, leader: int, replica: int, outcome: int) -> Clauses:
    """The controller adds `replica` to the ISR, or removes it, as the leader has asked; stands for `controller_alter_isr`."""
    yield "requested", s.pending[leader] == replica
    yield "current leader", k.all_of(s.leader == leader, s.leader_knows != ELECTED)
    yield "current partition epoch", k.any_of(s.leader_knows == UP_TO_DATE, k.not_(s.partition_epoch_check))
    leaves = s.leader_isr[leader][replica]
    yield "replica is not fenced", k.any_of(leaves, k.not_(isr_change.is_kept_out(k, s, replica)))
    yield "replica's broker epoch is current", k.any_of(leaves, k.not_(s.request_outdated))
    active = row(k, s, lambda each: each == leader)
    change = Change(isr_with_one_changed(k, s, leader, replica), active, every_broker(s))
    yield from change_partition(k, s, change, outcome)
    outdate_leader(k, s, True)
    s.request_outdated = False


def start_anew(k: Primitives, s: View, broker: int) -> None:
    """Effect: the broker runs; since KIP-903 a request about it that is in flight is outdated; stands for `start`."""
    stops.open_logs(s, broker)
    asked = some(k, s, lambda each: k.all_of(s.leader == each, s.leader_knows == UP_TO_DATE, s.pending[each] == broker))
    s.request_outdated = k.all_of(s.broker_epoch_in_isr, k.any_of(s.request_outdated, asked))


# --- the controller ---


def isr_without_one(k: Primitives, s: View, broker: int) -> Row:
    """Return the ISR without a broker, which stays only if it is the last member; stands for `isr_without`."""
    stays = k.not_(some(k, s, lambda each: k.all_of(each != broker, s.isr[each])))
    return row(k, s, lambda each: k.all_of(s.isr[each], k.any_of(each != broker, stays)))


def fence_one(k: Primitives, s: View, broker: int, outcome: int) -> Clauses:
    """The controller fences a broker: the ISR is as `isr_without_one` says, and it leads no more; stands for `fence`."""
    active = row(k, s, lambda each: k.all_of(k.not_(s.is_fenced[each]), each != broker))
    change = Change(isr_without_one(k, s, broker), active, every_broker(s), has_record=s.isr[broker])
    yield from change_partition(k, s, change, outcome)
    s.is_fenced[broker] = True


def admit_one(k: Primitives, s: View, broker: int, outcome: int, change: Change) -> Clauses:
    """A broker is unfenced, and may be elected if the partition has no leader; stands for `admit`."""
    active = row(k, s, lambda each: k.any_of(k.not_(s.is_fenced[each]), each == broker))
    yield from change_partition(k, s, replace(change, active=active, has_record=s.leader == NO_REPLICA), outcome)
    s.is_fenced[broker] = False


def no_broker(s: View) -> Row:
    """Return False for every broker: a set without members; stands for `no_brokers`."""
    return Everywhere((False,))


def every_broker(s: View) -> Assignment:
    """Return that every broker has a replica, none of which is being added or removed; stands for `assignment_of`."""
    everyone: Row = Everywhere((True,))
    return Assignment(everyone, no_broker(s), no_broker(s))


def all_unfenced(k: Primitives, s: View) -> Row:
    """Return for each broker whether it is not fenced; stands for `unfenced`."""
    return row(k, s, lambda each: k.not_(s.is_fenced[each]))


def one_keeps_leading(k: Primitives, s: View, of: Electorate) -> Value:
    """Return True if the leader stays: it is in the ISR, alive and still a replica; stands for `keeps_leader`."""
    return some(k, s, lambda each: k.all_of(s.leader == each, of.isr[each], of.active[each], of.replicas[each]))


def all_cleanly_electable(k: Primitives, s: View, of: Electorate) -> Row:
    """Return who is alive and in the ISR or, while that is empty, in the ELR; stands for `cleanly_electable`."""
    rest = row(k, s, lambda each: k.all_of(k.not_(k.any_of(*of.isr)), of.elr[each]))
    return row(k, s, lambda each: k.all_of(of.active[each], of.replicas[each], k.any_of(of.isr[each], rest[each])))


def all_electable(k: Primitives, s: View, of: Electorate) -> Row:
    """Return who may be elected; uncleanly, if allowed, only where no other election is possible; stands for `electable`."""
    clean, last = cleanly_electable(k, s, of), last_known_leader(k, s, of)
    unclean = k.all_of(of.allows_unclean, k.not_(k.any_of(*clean, *last)))
    rest = row(k, s, lambda each: k.all_of(unclean, of.active[each], of.replicas[each]))
    return row(k, s, lambda each: k.any_of(clean[each], last[each], rest[each]))


def elected_alone(s: View, outcome: int) -> tuple[int, list[int]]:
    """Return the outcome, which is the elected replica, and no replica that was asked for its log; stands for `answers`."""
    return outcome, []


def none_is_preferred(k: Primitives, s: View, elected: int, candidates: Row) -> Value:
    """Return True unless the policy is `preferred` and a candidate comes before the elected one; stands for `fits_policy`."""
    earlier = some(k, s, lambda each: k.all_of(each < elected, candidates[each]))
    return k.any_of(s.election_policy != POLICIES["preferred"], k.not_(earlier))


def electorate_without(k: Primitives, s: View, of: Electorate, change: Change) -> Electorate:
    """Return the electorate, without a registering ISR member if another can lead; stands for `electorate_at_registration`."""
    without = row(k, s, lambda each: k.all_of(of.active[each], each != change.registers))
    settled = k.all_of(s.isr[change.registers], k.any_of(*electable(k, s, replace(of, active=without))))
    return replace(of, active=row(k, s, lambda each: k.ite(settled, without[each], of.active[each])))


def sets_after_election(k: Primitives, s: View, of: Electorate, elected: int) -> tuple[Row, Row]:
    """Return the ISR, where a leader from outside it is alone, and the ELR, which is empty; stands for `elected_sets`."""
    return row(k, s, lambda each: k.ite(of.isr[elected], of.isr[each], each == elected)), of.elr


def bumps_for_isr_shrink(k: Primitives, s: View, change: Change, leader: Value) -> Value:
    """Return True if a removal by the controller moves the leader epoch (until 3.6); for `needs_bump_for_isr_shrink`."""
    shrunk = some(k, s, lambda each: k.all_of(s.isr[each], k.not_(change.isr[each])))
    return k.all_of(shrunk, leader != NO_REPLICA, k.not_(s.shrink_keeps_leader_epoch), not change.by_leader)


def write_isr(k: Primitives, s: View, isr: Row, elr: Row) -> None:
    """Effect: write the ISR; if it changes, a leader that was up to date is behind; stands for `move_partition_epoch`."""
    changed = some(k, s, lambda each: isr[each] != s.isr[each])
    write(k, s, s.isr, lambda each: isr[each])
    outdate_leader(k, s, changed)


def move_leader(k: Primitives, s: View, elected: int) -> Clauses:
    """The controller makes another unfenced ISR member leader, in a new leader epoch; stands for `controller_move_leader`."""
    yield from fault_enabled(k, s, LEADER_MOVE)
    yield "partition has a leader", s.leader != NO_REPLICA
    yield "another broker", s.leader != elected
    yield "in the ISR", s.isr[elected]
    yield "not fenced", k.not_(s.is_fenced[elected])
    yield "election policy", none_is_preferred(k, s, elected, every_broker(s).replicas)
    record_fault(s, LEADER_MOVE)
    s.leader = elected
    move_leader_epoch(k, s, True)


EXACT: dict[Callable[..., Any], Callable[..., Any]] = {
    fault_enabled: one_stays_unimpaired,
    raise_high_watermark: raise_to_what_all_have,
    high_watermark._copies: one_copy,
    forget_leadership: forget_all_leadership,
    leader.drop_pending: drop_what_is_pending,
    adopt_isr: adopt_whole_isr,
    metadata.broker_apply_leadership.body: apply_leadership,
    metadata.is_answer: is_whole_answer,
    isr_change.proposed_isr: isr_with_one_changed,
    isr_change.controller_alter_isr.body: alter_isr,
    stops.start: start_anew,
    fencing.isr_without: isr_without_one,
    fencing.fence: fence_one,
    admit: admit_one,
    leader_election.no_brokers: no_broker,
    partition_change.assignment_of: every_broker,
    partition_change.unfenced: all_unfenced,
    leader_election.keeps_leader: one_keeps_leading,
    cleanly_electable: all_cleanly_electable,
    electable: all_electable,
    leader_election.answers: elected_alone,
    leader_election.fits_policy: none_is_preferred,
    partition_change.electorate_at_registration: electorate_without,
    partition_change.elected_sets: sets_after_election,
    partition_change.needs_bump_for_isr_shrink: bumps_for_isr_shrink,
    partition_change.move_partition_epoch: write_isr,
    operator.controller_move_leader.body: move_leader,
}
"""What stands for each function that goes over all replicas by itself, and does the same."""

# --- logs of any length ---


def raise_to_what_none_lacks(k: Any, s: View, leader: int) -> None:
    """Effect: as `raise_to_what_all_have`, in logs of any length: up to the first offset that such a follower lacks."""

    def some_lacks(offset: int) -> Value:
        return some(k, s, lambda each: lacks(k, s, leader, each, offset))

    raise_to(k, s, leader, k.first_of(OFFSET, log_end(k, s, leader), some_lacks))


EXACT_IN_ANY_LOG: Instead = {**EXACT, **any_modern_log.INSTEAD, raise_high_watermark: raise_to_what_none_lacks}
"""The same, and for each function that goes over all offsets or records by itself."""


# --- eligible leader replicas ---


def struck_and(k: Primitives, s: View, fault: Fault, paid: Fault | None, brokers: Sequence[int]) -> Row:
    """Return who counts for a kind's limit: whom it has struck, and `brokers`, whatever `paid` is; stands for `victims`."""
    struck = getattr(s, fault.struck)
    return row(k, s, lambda each: k.any_of(struck[each], *[each == broker for broker in brokers]))


def few_lose_data(k: Primitives, s: View, fault: Fault, *brokers: int) -> Clauses:
    """Clauses: of a counted kind one is left, and few enough lose data at once, with `brokers`; stands for `fault_enabled`."""
    paid = BY_NAME[s.sizes.paid_by(fault.name)]
    if paid.name in s.sizes.limits.counted:
        yield f"bound: one more {paid.one}", getattr(s, paid.left) > 0
    if paid.name in s.sizes.limits.marked:
        yield f"bound: so many {paid.many} at once", are_few(k, s, victims(k, s, paid, paid, brokers), paid)


def then_settled(body: Callable[..., Clauses]) -> Callable[..., Clauses]:
    """Return an action's body that ends with one more effect: a broker that is unimpaired no longer counts as struck."""

    def settled(k: Primitives, s: View, **arguments: int) -> Clauses:
        yield from body(k, s, **arguments)
        struck = getattr(s, DATA_LOSS.struck)
        write(k, s, struck, lambda each: k.all_of(struck[each], is_impaired(k, s, each)))

    return settled


def isr_without_any(k: Primitives, s: View, broker: int) -> Row:
    """Return the ISR without a broker, empty if it was the last member; stands for `isr_without`."""
    return row(k, s, lambda each: k.all_of(s.isr[each], each != broker))


def register_one(k: Primitives, s: View, broker: int, outcome: int, is_unclean: bool) -> Clauses:
    """A broker registers and is unfenced; after an unclean shutdown it leaves ISR and ELR first; stands for `register`."""
    leaves = k.all_of(is_unclean, s.unclean_shutdown_leaves_elr)
    isr = row(k, s, lambda each: k.all_of(s.isr[each], k.any_of(each != broker, k.not_(leaves))))
    change = Change(isr, no_broker(s), every_broker(s), broker, broker if is_unclean else None)
    yield from admit(k, s, broker, outcome, change)


def is_remembered(k: Primitives, s: View, change: Change) -> Value:
    """Return True if the broker that registers is in the ISR, or is in the ELR and was shut down uncleanly."""
    is_eligible = False if change.unclean_shutdown is None else s.elr[change.registers]
    return k.any_of(s.isr[change.registers], is_eligible)


def admit_eligible(k: Primitives, s: View, broker: int, outcome: int, change: Change) -> Clauses:
    """A broker is unfenced; without a leader, or as it leaves ISR or ELR, there may be an election; stands for `admit`."""
    active = row(k, s, lambda each: k.any_of(k.not_(s.is_fenced[each]), each == broker))
    leaves = False if change.unclean_shutdown is None else is_remembered(k, s, change)
    has_record = k.any_of(s.leader == NO_REPLICA, leaves)
    yield from change_partition(k, s, replace(change, active=active, has_record=has_record), outcome)
    s.is_fenced[broker] = False


def last_leader_alone(k: Primitives, s: View, of: Electorate) -> Row:
    """Return the last known leader alone, where ISR and ELR are empty and it is alive; stands for `last_known_leader`."""
    none_left = k.all_of(k.not_(k.any_of(*of.isr, *of.elr)), s.last_known_leader_election, of.has_elr)
    return row(k, s, lambda each: k.all_of(none_left, s.last_known_leader == each, of.active[each]))


def electorate_without_eligible(k: Primitives, s: View, of: Electorate, change: Change) -> Electorate:
    """Return the electorate, without the broker that registers if that `is_remembered` and another can lead; stands for
    `electorate_at_registration`."""
    without = row(k, s, lambda each: k.all_of(of.active[each], each != change.registers))
    settled = k.all_of(is_remembered(k, s, change), k.any_of(*electable(k, s, replace(of, active=without))))
    return replace(of, active=row(k, s, lambda each: k.ite(settled, without[each], of.active[each])))


def elr_after(k: Primitives, s: View, change: Change) -> Row:
    """Return the ELR after a change: while the ISR is below the minimum, who was in it or in the ELR and is not in the new ISR.

    Else it is empty.  Who registers after an unclean shutdown leaves; a change without a partition record leaves the ELR as it
    is.  Stands for `next_elr`.
    """
    below = k.all_of(change.has_elr, k.not_(is_isr_big_enough(k, s, change.isr)))

    def is_eligible(each: int) -> Value:
        is_lost = False if change.unclean_shutdown is None else each == change.unclean_shutdown
        lost = k.all_of(is_lost, s.unclean_shutdown_leaves_elr)
        left = k.all_of(below, k.any_of(s.elr[each], s.isr[each]), k.not_(change.isr[each]), k.not_(lost))
        return k.ite(change.has_record, left, s.elr[each])

    return row(k, s, is_eligible)


def sets_after_clean_election(k: Primitives, s: View, of: Electorate, elected: int) -> tuple[Row, Row]:
    """Return ISR and ELR: who is elected from outside is alone in the ISR and leaves the ELR, which an unclean election
    empties; stands for `elected_sets`."""
    is_clean = k.any_of(*cleanly_electable(k, s, of))
    elr = row(k, s, lambda each: k.all_of(of.elr[each], is_clean, each != elected))
    return row(k, s, lambda each: k.ite(of.isr[elected], of.isr[each], each == elected)), elr


def remember_last_leader(k: Primitives, s: View, isr: Row, leader: Value) -> None:
    """Effect: note the leader when the ISR empties, since 4.2 when the leader is lost; forget it at the next leader; stands
    for `update_last_known_leader`."""
    emptied = k.all_of(some(k, s, lambda each: s.isr[each]), k.not_(k.any_of(*isr)))
    lost_leader = k.all_of(s.leader != NO_REPLICA, leader == NO_REPLICA)
    remembers = k.ite(s.last_known_leader_when_leaderless, lost_leader, emptied)
    s.last_known_leader = k.ite(remembers, s.leader, k.ite(leader == NO_REPLICA, s.last_known_leader, NO_REPLICA))


def write_isr_and_elr(k: Primitives, s: View, isr: Row, elr: Row) -> None:
    """Effect: write ISR and ELR; if they change, a leader that was up to date is behind; stands for `move_partition_epoch`."""
    changed = some(k, s, lambda each: k.any_of(isr[each] != s.isr[each], elr[each] != s.elr[each]))
    write(k, s, s.isr, lambda each: isr[each])
    write(k, s, s.elr, lambda each: elr[each])
    outdate_leader(k, s, changed)


def assign_directory(k: Primitives, s: View, outcome: int) -> Clauses:
    """A broker reports a replica's log directory: a step only if the ELR changes; stands for `controller_assign_directory`."""
    yield "a broker reports", some(k, s, lambda each: s.is_running[each])
    isr, keeps = row(k, s, lambda each: s.isr[each]), s.directory_assignment_keeps_elr
    change = Change(isr, all_unfenced(k, s), every_broker(s), allows_unclean=False, has_elr=keeps)
    after = elr_after(k, s, change)
    yield "bound: moves more than the partition epoch", some(k, s, lambda each: s.elr[each] != after[each])
    yield from change_partition(k, s, change, outcome)


EXACT_WITH_ELR: Instead = EXACT | {
    fault_enabled: few_lose_data,
    victims: struck_and,
    isr_without_one: isr_without_any,
    fencing.register: register_one,
    admit: admit_eligible,
    last_known_leader: last_leader_alone,
    partition_change.electorate_at_registration: electorate_without_eligible,
    partition_change.next_elr: elr_after,
    partition_change.elected_sets: sets_after_clean_election,
    partition_change.update_last_known_leader: remember_last_leader,
    partition_change.move_partition_epoch: write_isr_and_elr,
    operator.controller_assign_directory.body: assign_directory,
}
"""The same with eligible leader replicas, where nothing limits faults but how many lose data at once."""


def is_big_set(k: Any, s: View, isr: Row, broker: int | None = None) -> Value:
    """Return True if an ISR has more members than may lose data at once; stands for `is_isr_big_enough`."""
    return k.is_big(isr)


def is_small_set(k: Any, s: View, struck: Row, kind: Fault) -> Value:
    """Return True if no more brokers are struck than may lose data at once; stands for `are_few`."""
    return k.is_small(struck)


def never_alone(k: Any, s: View) -> Value:
    """Return False: a broker may lose data, so min.insync.replicas is more than one; stands for `is_enough_alone`."""
    return False


SETS: Instead = {is_isr_big_enough: is_big_set, is_enough_alone: never_alone, are_few: is_small_set, victims: struck_and}
"""What is read in place of functions that count brokers, in lemmas too."""

INSTEAD: Instead = {**EXACT_IN_ANY_LOG, is_isr_big_enough: is_perhaps_big_enough}
"""What is read without ELR: the same in logs of any length, and what is said more loosely."""

INSTEAD_WITH_ELR: Instead = {**EXACT_WITH_ELR, **SETS}
"""What is read with it, in logs within the bounds."""


COMPARED = range(1, 9)
"""The numbers of replicas, and of records, at which it is seen whether an axis grows with them."""


def open_replicas(system: System, instead: Instead | None = None) -> System:
    """Return a system of a modern model that is read for any number of replicas and, without ELR, logs of any length.

    Errors: `ModelError` for settings that the functions here do not cover: `NOT_COVERED`, some limits of faults and acks.
    """
    own, model = _require_covered(system), system.model
    chosen = instead or (INSTEAD_WITH_ELR if own.elr else INSTEAD)

    def fields(configuration: Configuration) -> Iterable[Field]:
        return *model.fields(configuration), make_log_end(model.sizes(configuration)[OFFSET])

    actions = tuple(opened for each in model.actions for opened in _open_action(each, system, chosen))
    if own.elr:
        settled = tuple(replace(each, body=then_settled(each.body)) for each in actions)
        return replace(system, model=replace(model, actions=settled, normalise=None))
    return replace(system, model=replace(model, fields=fields, actions=actions, unbounded=UNBOUNDED, normalise=None))


def _require_covered(system: System) -> KraftSizes:
    """Return a system's sizes.  Errors: `ModelError` for settings that the functions here do not cover."""
    sizes = system.sizes
    assert isinstance(sizes, KraftSizes)
    refused = [] if system.model.name in ("kraft", "kraft-elr") else [system.model.name]
    refused += [each for each in NOT_COVERED if getattr(sizes, each)] + ["fenced_fetch"] * (not sizes.fenced_fetch)
    refused += [each for each in sizes.limits.marked if not (sizes.elr and each == DATA_LOSS.name)]
    refused += ["acks"] * any(each["acks"] == "min.insync.replicas" for each in system.configurations)
    if refused:
        raise ModelError(f"{', '.join(refused)}: it is not said for every number of replicas")
    for each in system.configurations:
        (_require_few_lose if sizes.elr else _require_one_unimpaired)(each)
    return sizes


def _require_one_unimpaired(configuration: Configuration) -> None:
    most = configuration[AT_ONCE] + configuration["start.outside_isr"]
    if configuration[AT_ONCE] == NO_LIMIT or most >= configuration["replication.factor"]:
        raise ModelError(f"faults need not leave one replica unimpaired: set {AT_ONCE} below replication.factor")


def _require_few_lose(configuration: Configuration) -> None:
    limit, fewest = configuration[DATA_LOSS.key], min(configuration["min.insync.replicas"], configuration["replication.factor"])
    if not isinstance(limit, AnyNumber) or limit.at_once is None or limit.at_once >= fewest:
        raise ModelError(f"enough need not keep their data: set {DATA_LOSS.key}=any:N with N below min.insync.replicas")
    if configuration[AT_ONCE] != NO_LIMIT or configuration["start.outside_isr"]:
        raise ModelError(f"{AT_ONCE} and start.outside_isr: with eligible leader replicas neither is said for every number")


def _open_action(given: Action, system: System, instead: Instead) -> Iterator[Action]:
    """Yield an action for any replica (or offset, unless ELR), then one for each other value of such a parameter: `KEPT` and
    `NO_REPLICA`, or None for no offset.  Errors: `ModelError` for an axis that grows in another way."""
    body = call_otherwise(given.body, instead, {"list": copy_unless_list}, is_deep=True)
    opened, rest = dict(given.parameters), dict[str, tuple[int | None, ...]]()
    for name, axis in given.parameters.items():
        found, of_logs = ([each.along(axis) for each in _resize(system, key)] for key in (REPLICAS, RECORDS))
        if found == [range(KEPT, each) for each in COMPARED]:
            opened[name], rest[name] = REPLICA, (KEPT, NO_REPLICA)
        elif found == [range(each) for each in COMPARED]:
            opened[name] = REPLICA
        elif any(each != found[0] for each in found):
            raise ModelError(f"{axis} depends on the number of replicas")
        if system.sizes["elr"]:
            continue
        if of_logs == [range(each[OFFSET]) for each in _resize(system, RECORDS)]:
            opened[name] = OFFSET
        elif of_logs == [range(each[OFFSET] + 1) for each in _resize(system, RECORDS)]:
            opened[name], rest[name] = OFFSET, (None,)
        elif any(each != of_logs[0] for each in of_logs):
            raise ModelError(f"{axis} depends on the number of records")
    yield replace(given, body=body, parameters=opened)
    for name, values in rest.items():
        for value in values:
            kept = {each: axis for each, axis in opened.items() if each != name}
            yield replace(given, body=partial(body, **{name: value}), parameters=kept, where=None)


REPLICAS, RECORDS = "replication.factor", "bounds.records"


def _resize(system: System, key: str) -> list[Sizes]:
    return [system.model.sizes({**system.configurations[0], key: each}) for each in COMPARED]
