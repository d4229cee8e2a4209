"""Why no committed record is lost while at least one broker is unimpaired: for any number of faults.

A fault strikes only where `faults.at_once` leaves a broker that runs, is registered and is in the ISR for good
(`one-member-stays`).  So the ISR never empties, and every leader comes from it: the argument needs neither the ELR nor
min.insync.replicas nor clean shutdowns, and it allows unclean elections, because none is ever held.  An ISR member that runs is
*sound*: it has lost nothing since it joined, and has every committed record (`members-are-complete`).

What makes it inductive are stale leaders.  A leader that was deposed without noticing still commits what every replica that it
waits for has fetched.  `within_reach` says which offsets it may still commit: each of those replicas has fetched that far, or
follows it still.  What is within reach of a stale leader is in the log of every running ISR member that does not follow it
(`reach-of-stale-leaders`), as the values that a ballot of Paxos may still choose are known to every later ballot.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from neverlost.model.kernel import NO_REPLICA, Configuration, Value, implies
from neverlost.model.kraft.broker.high_watermark import is_waited_for
from neverlost.model.kraft.broker.leader import leads
from neverlost.model.kraft.broker.log import EMPTY, log_end, offsets
from neverlost.model.kraft.mechanisms import is_on
from neverlost.model.kraft.state import UP_TO_DATE, everyone, others
from neverlost.model.limits import AT_ONCE, NO_LIMIT
from neverlost.specs.lemma import Theory, as_lemma
from neverlost.specs.lemmas.kraft_elr import acknowledged_is_committed, is_active, is_committed, no_gaps, watermark_is_committed

NEEDED = (
    "partition-epoch-check",
    "equal-epoch-record-skipped",
    "offline-log-not-recreated",
    "epoch-truncation",
    "iterated-truncation",
    "fenced-fetch",
    "leader-epoch-start",
    "bounce-detection",
    "alter-partition",
    "maximal-isr",
    "pending-isr-kept",
    "removed-partition-not-truncated",
    "diverging-fetch-ignored",
    "fenced-replicas-kept-out",
    "failed-start-leaves-no-marker",
    "broker-epoch-in-isr",
    "truncation-before-high-watermark",
    "response-of-older-epoch-ignored",
    "reelection-forgets-offsets",
)
"""The mechanisms without which a step breaks a lemma.  None of them is about the ELR."""


Of = Callable[..., Value]


def covers(configuration: Configuration) -> bool:
    """Return True if at every moment some replica (not always the same) is unimpaired, nothing is reassigned, and the
    mechanisms are on."""
    most = configuration[AT_ONCE] + configuration["start.outside_isr"]
    is_limited = configuration[AT_ONCE] != NO_LIMIT and most < configuration["replication.factor"]
    has_all = all(is_on(configuration, each) for each in NEEDED)
    return bool(is_limited and has_all and not configuration["faults.reassign"])


def is_sound(k: Any, s: Any, replica: int) -> Value:
    """Return True if a replica is in the ISR and runs: it has lost nothing since it joined."""
    return k.all_of(s.isr[replica], s.is_running[replica])


def is_stale(k: Any, s: Any, broker: int) -> Value:
    """Return True if a broker believes that it leads, but in an older leader epoch than the newest."""
    return k.all_of(leads(s, broker), k.not_(is_active(k, s, broker)))


def knows_all(k: Any, s: Any, leader: int) -> Value:
    """Return True if a broker is the elected leader and knows the newest ISR."""
    return k.all_of(s.leader == leader, s.leader_knows == UP_TO_DATE)


def within_reach(k: Any, s: Any, leader: int, offset: int) -> Value:
    """Return True if a leader may yet commit an offset: each replica that it waits for has fetched it, or still follows it."""
    return k.all_of(
        *[
            implies(k, is_waited_for(k, s, leader, m), k.any_of(s.fetch_offset[leader][m] > offset, s.follows[m] == leader))
            for m in others(s, leader)
        ]
    )


def is_reached(k: Any, s: Any, leader: int, offset: int) -> Value:
    """Return True if a broker is a stale leader and may yet commit an offset."""
    return k.all_of(is_stale(k, s, leader), within_reach(k, s, leader, offset))


@as_lemma(
    "an ISR member is not fenced; who has a clean-shutdown file is down and fenced",
    "fencing removes a broker from the ISR, and a fenced one is not admitted; a controlled shutdown ends with both",
)
def registration(k: Any, s: Any) -> list[Value]:
    found: list[Value] = []
    for r in everyone(s):
        found.append(implies(k, s.isr[r], k.not_(s.is_fenced[r])))
        if s.sizes.elr:
            found.append(implies(k, s.stopped_cleanly[r], k.all_of(s.is_fenced[r], k.not_(s.is_running[r]))))
    return found


@as_lemma(
    "some broker runs, is in the ISR, and is not about to be removed by a request that the controller would commit",
    "a fault strikes only while at most RF-1 are impaired afterwards, and nothing else takes a broker out of the ISR",
)
def one_member_stays(k: Any, s: Any) -> list[Value]:
    """Return one conjunct: some ISR member runs, is not fenced, and no request that the controller would commit removes it."""
    found = []
    for r in everyone(s):
        removed = [k.all_of(knows_all(k, s, each), s.pending[each] == r, s.leader_isr[each][r]) for each in everyone(s)]
        found.append(k.all_of(is_sound(k, s, r), k.not_(s.is_fenced[r]), k.not_(k.any_of(*removed))))
    return [k.any_of(*found)]


@as_lemma(
    "there is an elected leader, in the ISR; once it applied its leadership it runs and leads; who is followed leads",
    "while an ISR member is left an election finds one; who stops leading leaves its followers without a leader",
)
def one_leader(k: Any, s: Any) -> list[Value]:
    found: list[Value] = [s.leader != NO_REPLICA]
    for r in everyone(s):
        found.append(implies(k, s.leader == r, s.isr[r]))
        found.append(implies(k, is_active(k, s, r), k.all_of(s.is_running[r], leads(s, r))))
        found.append(implies(k, s.follows[r] != NO_REPLICA, s.is_running[r]))
        for leader in others(s, r):
            found.append(implies(k, s.follows[r] == leader, leads(s, leader)))
    return found


@as_lemma(
    "who does not lead has no ISR, no request in flight and no fetch offsets",
    "they are in the leader's memory, which a stop and a new leader epoch clear",
)
def only_leaders_remember(k: Any, s: Any) -> list[Value]:
    found: list[Value] = []
    for r in everyone(s):
        nothing = [k.all_of(s.fetch_offset[r][m] == 0, k.not_(s.leader_isr[r][m])) for m in everyone(s)]
        found.append(implies(k, k.not_(leads(s, r)), k.all_of(s.pending[r] == NO_REPLICA, *nothing)))
    return found


@as_lemma(
    "the elected leader waits for every ISR member, and knows the ISR itself while it has the newest partition epoch",
    "the leader waits for the old and the new ISR while a change is in flight; other changes only remove members",
)
def leader_waits_for_isr(k: Any, s: Any) -> list[Value]:
    found: list[Value] = []
    for leader in everyone(s):
        for m in others(s, leader):
            found.append(implies(k, k.all_of(is_active(k, s, leader), s.isr[m]), is_waited_for(k, s, leader, m)))
            found.append(implies(k, knows_all(k, s, leader), s.leader_isr[leader][m] == s.isr[m]))
    return found


def is_joining(k: Any, s: Any, leader: int, member: int) -> Value:
    """Return True if the controller may still commit the leader's request to admit `member` to the ISR, and that one runs."""
    asked = k.all_of(knows_all(k, s, leader), s.pending[leader] == member, k.not_(s.leader_isr[leader][member]))
    return k.all_of(asked, s.is_running[member], k.not_(s.request_outdated))


@as_lemma(
    "as far as its fetches show, an ISR member, or one about to join, agrees with the elected leader; a follower of "
    "another leader has not been seen beyond the high watermark",
    "a replica follows only this leader and truncates to what both logs share",
)
def fetches_still_true(k: Any, s: Any, is_sound: Of = is_sound, is_joining: Of = is_joining) -> list[Value]:
    found: list[Value] = []
    for leader in everyone(s):
        active = is_active(k, s, leader)
        for m in others(s, leader):
            known = s.fetch_offset[leader][m]
            found.append(known <= log_end(k, s, leader))
            elsewhere = k.all_of(s.follows[m] != leader, s.follows[m] != NO_REPLICA)
            found.append(implies(k, k.all_of(active, elsewhere), known <= s.high_watermark[leader]))
            trusted = k.any_of(is_sound(k, s, m), is_joining(k, s, leader, m))
            for o in offsets(s):
                found.append(implies(k, k.all_of(active, trusted, known > o), s.log_record[m][o] == s.log_record[leader][o]))
    return found


@as_lemma(
    "a replica that the controller may still admit follows the leader, up to the high watermark and the epoch's start",
    "the leader asks for it only then, and waits for it from then on",
)
def joining_has_caught_up(k: Any, s: Any) -> list[Value]:
    found: list[Value] = []
    for leader in everyone(s):
        for m in others(s, leader):
            known = s.fetch_offset[leader][m]
            reached = k.all_of(known >= s.high_watermark[leader], known >= s.leader_epoch_start_offset)
            found.append(implies(k, is_joining(k, s, leader, m), k.all_of(s.follows[m] == leader, reached)))
    return found


@as_lemma(
    "every ISR member that runs has every committed record",
    "a commit waits for all of them, and each that joins has reached what is committed",
)
def members_are_complete(k: Any, s: Any, is_sound: Of = is_sound) -> list[Value]:
    return [
        implies(k, k.all_of(is_sound(k, s, r), is_committed(s, o)), s.log_record[r][o] == s.ghost_committed[o])
        for r in everyone(s)
        for o in offsets(s)
    ]


@as_lemma(
    "what a stale leader may still commit is in the log of each ISR member that runs, unless that one follows it still",
    "it waits for every ISR member of its time, and who becomes leader, or joins one, no longer follows it",
)
def reach_of_stale_leaders(k: Any, s: Any, is_sound: Of = is_sound, is_reached: Of = is_reached) -> list[Value]:
    found: list[Value] = []
    for leader in everyone(s):
        for o in offsets(s):
            reached = is_reached(k, s, leader, o)
            for m in others(s, leader):
                same = s.log_record[m][o] == s.log_record[leader][o]
                has_it = k.all_of(s.log_record[leader][o] != EMPTY, same)
                fetches = k.all_of(is_waited_for(k, s, leader, m), s.follows[m] == leader)
                fetched = implies(k, s.fetch_offset[leader][m] > o, same)
                found.append(implies(k, k.all_of(reached, is_sound(k, s, m)), k.any_of(has_it, k.all_of(fetches, fetched))))
    return found


@as_lemma(
    "what is committed, or may be by a stale leader, ends below the leader's high watermark or its epoch's start",
    "a new leader has all of that in its log, whose end is its epoch's start",
)
def leader_knows_how_far(k: Any, s: Any, is_reached: Of = is_reached) -> list[Value]:
    found: list[Value] = []
    for r in everyone(s):
        for o in offsets(s):
            known = k.any_of(s.high_watermark[r] > o, s.leader_epoch_start_offset > o)
            found.append(implies(k, k.all_of(is_active(k, s, r), is_committed(s, o)), known))
            for stale in others(s, r):
                found.append(implies(k, k.all_of(is_active(k, s, r), is_reached(k, s, stale, o)), known))
    return found


@as_lemma(
    "where an ISR member follows a stale leader, that one's log has what is committed and what others may commit",
    "the member has not followed a later leader, so no later one has committed without it",
)
def members_follow_complete_logs(k: Any, s: Any, is_sound: Of = is_sound, is_reached: Of = is_reached) -> list[Value]:
    found: list[Value] = []
    for leader in everyone(s):
        for m in others(s, leader):
            follows = k.all_of(is_sound(k, s, m), s.follows[m] == leader, is_stale(k, s, leader))
            for o in offsets(s):
                here = s.log_record[leader][o]
                found.append(implies(k, k.all_of(follows, is_committed(s, o)), here == s.ghost_committed[o]))
                for other in others(s, leader):
                    reached = k.all_of(follows, is_reached(k, s, other, o))
                    found.append(implies(k, reached, here == s.log_record[other][o]))
    return found


THEORY = Theory(
    models=("kraft", "kraft-elr"),
    covers=covers,
    lemmas=(
        no_gaps,
        registration,
        one_member_stays,
        one_leader,
        only_leaders_remember,
        leader_waits_for_isr,
        fetches_still_true,
        joining_has_caught_up,
        members_are_complete,
        watermark_is_committed,
        reach_of_stale_leaders,
        leader_knows_how_far,
        members_follow_complete_logs,
        acknowledged_is_committed,
    ),
)
