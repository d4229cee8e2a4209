"""Why eligible leader replicas keep a committed record while fewer than min.insync.replicas brokers stop.

The argument counts brokers.  The ISR and the ELR together are the *quorum* that the controller remembers.  A broker that leaves
the ISR below the minimum goes to the ELR, and only an unclean shutdown takes a broker out of it; so of the quorum at least
min.insync.replicas less the stops so far are running (`quorum-survives`).  Every running member has every committed record
(`quorum-is-complete`): a leader commits only what its maximal ISR has, and that contains the quorum
(`leader-waits-for-quorum`).  So a clean election is always possible, and finds the record.
"""

from __future__ import annotations

from typing import Any

from neverlost.model.faults import BROKER, FAULTS
from neverlost.model.kernel import NO_REPLICA, Configuration, Value, count, implies
from neverlost.model.kraft.broker.high_watermark import is_waited_for
from neverlost.model.kraft.broker.leader import leads
from neverlost.model.kraft.broker.log import EMPTY, log_end, offsets
from neverlost.model.kraft.mechanisms import is_on
from neverlost.model.kraft.state import ACKS, ELECTED, UP_TO_DATE, everyone, is_isr_big_enough, minimum_isr, others
from neverlost.model.limits import is_counted
from neverlost.specs.lemma import Theory, as_lemma

STOPS = tuple(each for each in FAULTS if each.stops and each.impairs == BROKER)
"""The faults that stop one broker each."""

NOT_COVERED = ("fence", "out", "leader_move", "reassign", "rack_loss", "min_isr_change")
"""The faults that the argument does not cover."""


NEEDED = (
    "equal-epoch-record-skipped",
    "directory-assignment-keeps-elr",
    "missing-directory-is-unclean",
    "offline-log-not-recreated",
    "failed-start-leaves-no-marker",
    "removed-partition-not-truncated",
    "response-of-older-epoch-ignored",
)
"""The mechanisms without which the ISR and the ELR do not remember who has the committed records."""


def covers(configuration: Configuration) -> bool:
    """Return True if every fault has a total, the stops together are fewer than min.insync.replicas, no fault in `NOT_COVERED`
    may happen, and the mechanisms are on."""
    if not all(is_on(configuration, each) for each in NEEDED) or not all(is_counted(configuration, each) for each in FAULTS):
        return False
    minimum = min(configuration["min.insync.replicas"], configuration["replication.factor"])
    stops = sum(configuration[each.key] for each in STOPS)
    return bool(stops < minimum and not any(configuration[f"faults.{each}"] for each in NOT_COVERED))


def stops(s: Any) -> Value:
    """Return how many stops of brokers there have been so far, those of brokers that came back included."""
    return sum(getattr(s, each.limit) - getattr(s, each.left) for each in STOPS)


def is_active(k: Any, s: Any, replica: int) -> Value:
    """Return True if a replica is the elected leader and has applied its leadership."""
    return k.all_of(s.leader == replica, s.leader_knows != ELECTED)


def in_quorum(k: Any, s: Any, replica: int) -> Value:
    """Return True if a replica is in the ISR or in the ELR."""
    return k.any_of(s.isr[replica], s.elr[replica])


def has_its_log(k: Any, s: Any, replica: int) -> Value:
    """Return True if a replica runs, or stopped cleanly: its log is whole."""
    return k.any_of(s.is_running[replica], s.stopped_cleanly[replica])


def is_committed(s: Any, offset: int) -> Value:
    """Return True if a record was committed at an offset."""
    return s.ghost_committed[offset] != EMPTY


@as_lemma(
    "neither a log nor what is committed has a gap",
    "records are appended at the end and truncated from the end; a watermark passes every record on its way",
)
def no_gaps(k: Any, s: Any) -> list[Value]:
    later = [o for o in offsets(s) if o]
    return [implies(k, s.log_record[r][o] != EMPTY, s.log_record[r][o - 1] != EMPTY) for r in everyone(s) for o in later] + [
        implies(k, is_committed(s, o), is_committed(s, o - 1)) for o in later
    ]


@as_lemma(
    "who runs is registered and has no clean-shutdown file; an ISR member is registered and not in the ELR",
    "fencing removes a broker from the ISR; a broker that is down is fenced before it registers again",
)
def registration(k: Any, s: Any) -> list[Value]:
    found: list[Value] = []
    for r in everyone(s):
        found.append(implies(k, s.is_running[r], k.all_of(k.not_(s.is_fenced[r]), k.not_(s.stopped_cleanly[r]))))
        found.append(implies(k, s.isr[r], k.not_(k.any_of(s.is_fenced[r], s.elr[r]))))
        found.append(implies(k, s.stopped_cleanly[r], s.is_fenced[r]))
    return found


@as_lemma(
    "the elected leader is in the ISR; once it applied its leadership it runs and leads, and none follows another",
    "without a living leader that is fenced or moved away, leadership changes only while its holder is down",
)
def one_leader(k: Any, s: Any) -> list[Value]:
    found: list[Value] = []
    for r in everyone(s):
        found.append(implies(k, s.leader == r, s.isr[r]))
        found.append(implies(k, is_active(k, s, r), k.all_of(s.is_running[r], leads(s, r))))
        found.append(implies(k, s.follows[r] != NO_REPLICA, s.is_running[r]))
        for leader in everyone(s):
            found.append(implies(k, s.follows[r] == leader, is_active(k, s, leader)))
    return found


@as_lemma(
    "who does not lead has no request in flight and no fetch offsets",
    "they are in the leader's memory, which a stop and a new leader epoch clear",
)
def only_leaders_remember(k: Any, s: Any) -> list[Value]:
    return [
        implies(k, k.not_(leads(s, r)), k.all_of(s.pending[r] == NO_REPLICA, *[s.fetch_offset[r][m] == 0 for m in everyone(s)]))
        for r in everyone(s)
    ]


@as_lemma(
    "the leader's maximal ISR contains the ISR, and the ELR too while the leader may commit",
    "the leader waits for the old and the new ISR while a change is in flight, and while the ISR that it knows is full "
    "the ELR holds only what has left that ISR since",
)
def leader_waits_for_quorum(k: Any, s: Any) -> list[Value]:
    found: list[Value] = []
    for leader in everyone(s):
        active = is_active(k, s, leader)
        full = is_isr_big_enough(k, s, list(s.leader_isr[leader]), leader)
        found.append(implies(k, active, s.leader_isr[leader][leader]))
        for m in everyone(s):
            knows = k.all_of(s.leader == leader, s.leader_knows == UP_TO_DATE)
            found.append(implies(k, k.all_of(knows, s.isr[m]), s.leader_isr[leader][m]))
            found.append(implies(k, k.all_of(knows, s.leader_isr[leader][m]), s.isr[m]))
            waits = is_waited_for(k, s, leader, m)
            found.append(implies(k, k.all_of(active, s.isr[m]), waits))
            found.append(implies(k, k.all_of(active, full, s.elr[m]), waits))
    return found


@as_lemma("the ELR is empty while the ISR has min.insync.replicas members", "the controller clears it whenever the ISR is full")
def elr_below_minimum(k: Any, s: Any) -> list[Value]:
    return [implies(k, is_isr_big_enough(k, s, list(s.isr)), k.not_(s.elr[r])) for r in everyone(s)]


@as_lemma("no more brokers are down than have stopped so far", "each stop costs one of the fault budget")
def stops_are_counted(k: Any, s: Any) -> list[Value]:
    return [count(k, [k.not_(s.is_running[r]) for r in everyone(s)]) <= stops(s)]


@as_lemma(
    "of ISR and ELR, at least min.insync.replicas less the stops so far are running",
    "who leaves the ISR below the minimum enters the ELR; who restarts unclean and leaves the ELR has been counted",
)
def quorum_survives(k: Any, s: Any) -> list[Value]:
    alive = count(k, [k.all_of(in_quorum(k, s, r), s.is_running[r]) for r in everyone(s)])
    return [alive + stops(s) >= minimum_isr(k, s)]


@as_lemma(
    "every member of ISR and ELR that has its log has every committed record",
    "a commit waits for all of them, and each that joins has reached what is committed",
)
def quorum_is_complete(k: Any, s: Any) -> list[Value]:
    return [
        implies(
            k,
            k.all_of(in_quorum(k, s, r), has_its_log(k, s, r), is_committed(s, o)),
            s.log_record[r][o] == s.ghost_committed[o],
        )
        for r in everyone(s)
        for o in offsets(s)
    ]


@as_lemma(
    "what is below any broker's high watermark is committed and in that log",
    "a follower takes a watermark with the records below it, and loses it when it stops",
)
def watermark_is_committed(k: Any, s: Any) -> list[Value]:
    return [
        implies(k, s.high_watermark[r] > o, k.all_of(is_committed(s, o), s.log_record[r][o] == s.ghost_committed[o]))
        for r in everyone(s)
        for o in offsets(s)
    ]


@as_lemma(
    "what is committed ends below the leader's high watermark or its epoch's start offset",
    "a new leader has every committed record in its log, whose end is its epoch's start",
)
def leader_knows_how_far(k: Any, s: Any) -> list[Value]:
    return [
        implies(
            k,
            k.all_of(is_active(k, s, r), is_committed(s, o)),
            k.any_of(s.high_watermark[r] > o, s.leader_epoch_start_offset > o),
        )
        for r in everyone(s)
        for o in offsets(s)
    ]


def is_asked(k: Any, s: Any, leader: int, member: int) -> Value:
    """Return True if the controller may still commit the leader's request about a member."""
    return k.all_of(s.leader == leader, s.leader_knows == UP_TO_DATE, s.pending[leader] == member, k.not_(s.request_outdated))


def is_trusted(k: Any, s: Any, leader: int, member: int) -> Value:
    """Return True if what a leader knows of a member's log is still true: the member has not come back with less."""
    return k.all_of(has_its_log(k, s, member), k.any_of(in_quorum(k, s, member), is_asked(k, s, leader, member)))


@as_lemma(
    "as far as its fetches show, a member of the maximal ISR that has not lost any of its log agrees with the leader",
    "a member follows only this leader and truncates to what both logs share",
)
def fetches_still_true(k: Any, s: Any) -> list[Value]:
    found: list[Value] = []
    for leader in everyone(s):
        for m in others(s, leader):
            known = s.fetch_offset[leader][m]
            found.append(known <= log_end(k, s, leader))
            for o in offsets(s):
                fetched = k.all_of(
                    is_active(k, s, leader), is_waited_for(k, s, leader, m), is_trusted(k, s, leader, m), known > o
                )
                found.append(implies(k, fetched, s.log_record[m][o] == s.log_record[leader][o]))
    return found


@as_lemma(
    "a replica that the controller may still admit has reached the high watermark and the leader epoch's start",
    "the leader asks for it only then, and waits for it from then on",
)
def joining_has_caught_up(k: Any, s: Any) -> list[Value]:
    found: list[Value] = []
    for leader in everyone(s):
        for m in others(s, leader):
            joins = k.all_of(is_asked(k, s, leader, m), k.not_(s.leader_isr[leader][m]))
            known = s.fetch_offset[leader][m]
            found.append(implies(k, joins, k.all_of(known >= s.high_watermark[leader], known >= s.leader_epoch_start_offset)))
    return found


@as_lemma(
    "with acks=all, what is acknowledged to the producer is committed",
    "the leader answers when its high watermark passes the record",
    only_for="acked-never-lost",
)
def acknowledged_is_committed(k: Any, s: Any) -> list[Value]:
    return [
        implies(
            k, k.all_of(s.acks == ACKS["all"], s.ghost_acked[n]), k.any_of(*[s.ghost_committed[o] == n + 1 for o in offsets(s)])
        )
        for n in range(s.sizes.record)
    ]


THEORY = Theory(
    models=("kraft-elr",),
    covers=covers,
    lemmas=(
        no_gaps,
        registration,
        one_leader,
        only_leaders_remember,
        elr_below_minimum,
        stops_are_counted,
        leader_waits_for_quorum,
        quorum_survives,
        quorum_is_complete,
        watermark_is_committed,
        leader_knows_how_far,
        fetches_still_true,
        joining_has_caught_up,
        acknowledged_is_committed,
    ),
)
