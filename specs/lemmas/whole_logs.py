"""Why no committed record is lost while enough logs are whole, however many brokers are out: for any number of faults.

With eligible leader replicas, ISR and ELR together are the *quorum* that the controller remembers.  A member is *sound* where
its log is whole: it runs, or it stopped cleanly.  Who is not whole has lost data, and is marked until it is in the ISR again;
so while fewer brokers lose data at once than min.insync.replicas, a sound member is left (`quorum-survives`), and leaders come
from the quorum alone.  Without eligible leader replicas the last ISR member stays in the ISR, and the argument is about the ISR
and about faults that leave every log whole.

Stale leaders are treated as in `unimpaired`; they wait for the ELR too, because they commit nothing below min.insync.replicas
(`may_commit`).
"""

from __future__ import annotations

from typing import Any

from neverlost.model.faults import BY_NAME, FAULTS, KILLED, LOST
from neverlost.model.kernel import NO_REPLICA, Configuration, Value, implies
from neverlost.model.kraft.mechanisms import is_on
from neverlost.model.kraft.state import everyone, is_isr_big_enough, others
from neverlost.model.limits import can_happen, is_counted, payer
from neverlost.specs.counts import is_enough_alone
from neverlost.specs.lemma import Theory, as_lemma
from neverlost.specs.lemmas import kraft_elr, unimpaired
from neverlost.specs.lemmas.by_kind import at_once, few_were_struck
from neverlost.specs.lemmas.kraft_elr import acknowledged_is_committed, no_gaps, watermark_is_committed
from neverlost.specs.lemmas.unimpaired import is_stale, knows_all, within_reach

elr_empty_while_full = kraft_elr.elr_below_minimum.conjuncts
waits_for_quorum, waits_for_isr = kraft_elr.leader_waits_for_quorum.conjuncts, unimpaired.leader_waits_for_isr.conjuncts
leads_once_elected, agree_as_fetched = unimpaired.one_leader.conjuncts, unimpaired.fetches_still_true.conjuncts
are_complete, have_what_is_reached = unimpaired.members_are_complete.conjuncts, unimpaired.reach_of_stale_leaders.conjuncts
knows_how_far, follow_complete_logs = (
    unimpaired.leader_knows_how_far.conjuncts,
    unimpaired.members_follow_complete_logs.conjuncts,
)
"""What other arguments say of their own members, and is said here of sound ones."""


def covers(configuration: Configuration) -> bool:
    """Return True if fewer brokers may lose data at once than the controller remembers as members (`losing` gives both)."""
    kinds, remembered = losing(configuration)
    most = at_once(configuration, kinds)
    return most is not None and most < remembered


def losing(configuration: Configuration) -> tuple[set[str], int]:
    """Return the keys of the limits of what may lose data, and how many members the controller remembers: 0 where the argument
    fails (unclean elections, reassignments, changes of the minimum ISR, totals for all faults, or a mechanism that is off).

    A kill counts as a loss of data where there are eligible leader replicas: the broker that returns leaves the ELR.
    """
    elr = configuration["eligible.leader.replicas"]
    harmful = [each for each in FAULTS if each.ends == LOST or (elr and each.ends == KILLED)]
    kinds = {payer(configuration, each).key for each in harmful if can_happen(configuration, each)}
    needed = (*unimpaired.NEEDED, *(kraft_elr.NEEDED if elr else ()))
    if not all(is_on(configuration, each) for each in needed) or all(is_counted(configuration, each) for each in FAULTS):
        return kinds, 0
    unclean = configuration["unclean.leader.election.enable"] or configuration["faults.unclean_election"]
    if unclean or configuration["faults.reassign"] or configuration["faults.min_isr_change"]:
        return kinds, 0
    return kinds, min(configuration["min.insync.replicas"], configuration["replication.factor"]) if elr else 1


def in_quorum(k: Any, s: Any, replica: int) -> Value:
    """Return True if a replica is in the ISR or, where there is one, in the ELR."""
    return kraft_elr.in_quorum(k, s, replica) if s.sizes.elr else s.isr[replica]


def is_whole(k: Any, s: Any, replica: int) -> Value:
    """Return True if a log counts as whole: its replica runs or, with ELR, stopped cleanly or, without ELR, lost no data."""
    if s.sizes.elr:
        return kraft_elr.has_its_log(k, s, replica)
    return k.any_of(s.is_running[replica], k.not_(has_lost_data(k, s, replica)))


def is_sound(k: Any, s: Any, replica: int) -> Value:
    """Return True if a replica is in the ISR or ELR and its log is whole."""
    return k.all_of(in_quorum(k, s, replica), is_whole(k, s, replica))


def has_lost_data(k: Any, s: Any, replica: int) -> Value:
    """Return True if a kind of fault that may leave a log that is not whole has struck a replica, which is still impaired."""
    paid, ends = dict(s.sizes.limits.payers), (KILLED, LOST) if s.sizes.elr else (LOST,)
    kinds = {paid.get(each.name, each.name) for each in FAULTS if each.ends in ends} & {*s.sizes.limits.marked}
    return k.any_of(False, *[getattr(s, BY_NAME[each].struck)[replica] for each in sorted(kinds)])


def may_commit(k: Any, s: Any, leader: int) -> Value:
    """Return True if the ISR that a leader knows has min.insync.replicas members; without ELR in any case."""
    return is_isr_big_enough(k, s, list(s.leader_isr[leader]), leader) if s.sizes.elr else True


def is_reached(k: Any, s: Any, leader: int, offset: int) -> Value:
    """Return True if a broker is a stale leader and may yet commit an offset, by `may_commit` and `within_reach`."""
    return k.all_of(is_stale(k, s, leader), may_commit(k, s, leader), within_reach(k, s, leader, offset))


def is_joining(k: Any, s: Any, leader: int, member: int) -> Value:
    """Return True if the controller may still commit the leader's request to admit `member`, and that one's log is whole."""
    asked = k.all_of(knows_all(k, s, leader), s.pending[leader] == member, k.not_(s.leader_isr[leader][member]))
    return k.all_of(asked, is_whole(k, s, member), k.not_(s.request_outdated))


@as_lemma(
    "a fenced ISR member is the only one, and there is no leader; with ELR none is fenced, or in the ELR too, and who "
    "has a clean-shutdown file is down and fenced",
    "fencing removes a broker from the ISR, without ELR unless it is the last; a controlled shutdown ends with both",
)
def registration(k: Any, s: Any) -> list[Value]:
    found: list[Value] = []
    for r in everyone(s):
        if s.sizes.elr:
            found.append(implies(k, s.isr[r], k.not_(k.any_of(s.is_fenced[r], s.elr[r]))))
            found.append(implies(k, s.stopped_cleanly[r], k.all_of(s.is_fenced[r], k.not_(s.is_running[r]))))
        else:
            alone = k.not_(k.any_of(False, *[s.isr[each] for each in others(s, r)]))
            found.append(implies(k, k.all_of(s.isr[r], s.is_fenced[r]), k.all_of(alone, s.leader == NO_REPLICA)))
    return found


@as_lemma(
    "with ELR, who is down without a clean-shutdown file has lost data, and those that have, with the sound members, "
    "are min.insync.replicas at least; without ELR the ISR is not empty",
    "who leaves the ISR below the minimum enters the ELR, which only who has lost data leaves while it is needed",
)
def quorum_survives(k: Any, s: Any) -> list[Value]:
    if not s.sizes.elr:
        return [k.any_of(*s.isr)]
    marked = [implies(k, k.not_(is_whole(k, s, r)), has_lost_data(k, s, r)) for r in everyone(s)]
    return [*marked, is_isr_big_enough(k, s, [k.any_of(is_sound(k, s, r), has_lost_data(k, s, r)) for r in everyone(s)])]


@as_lemma(
    "the ELR is empty while the ISR has min.insync.replicas members; where that is one it has one member at most",
    "the controller clears it whenever the ISR is full, and an election from it makes an ISR of one",
)
def elr_below_minimum(k: Any, s: Any) -> list[Value]:
    if not s.sizes.elr:
        return []
    found = elr_empty_while_full(k, s)
    for r in everyone(s):
        alone = k.all_of(s.elr[r], is_enough_alone(k, s))
        found += [implies(k, alone, k.not_(s.elr[each])) for each in others(s, r)]
    return found


@as_lemma(
    "the elected leader is in the ISR; once it applied its leadership it runs and leads; who is followed leads",
    "an election takes members of the quorum only; who stops leading leaves its followers without a leader",
)
def one_leader(k: Any, s: Any) -> list[Value]:
    _there_is_one, *found = leads_once_elected(k, s)
    return found


@as_lemma(
    "the elected leader waits for every ISR member, and for the ELR too while it may commit",
    "the ELR holds only what has left the ISR since that was full",
)
def leader_waits_for_quorum(k: Any, s: Any) -> list[Value]:
    if not s.sizes.elr:
        return waits_for_isr(k, s)
    return waits_for_quorum(k, s)


@as_lemma(
    "as far as its fetches show, a sound member, or one about to join, agrees with the elected leader; a follower of "
    "another leader has not been seen beyond the high watermark",
    "a replica follows only this leader and truncates to what both logs share",
)
def fetches_still_true(k: Any, s: Any) -> list[Value]:
    return agree_as_fetched(k, s, is_sound, is_joining)


@as_lemma(
    "a replica that the controller may still admit has reached the high watermark and the epoch's start, and follows "
    "the leader while it runs",
    "the leader asks for it only then, and waits for it from then on",
)
def joining_has_caught_up(k: Any, s: Any) -> list[Value]:
    found: list[Value] = []
    for leader in everyone(s):
        for m in others(s, leader):
            known = s.fetch_offset[leader][m]
            reached = k.all_of(known >= s.high_watermark[leader], known >= s.leader_epoch_start_offset)
            follows = implies(k, s.is_running[m], s.follows[m] == leader)
            found.append(implies(k, is_joining(k, s, leader, m), k.all_of(follows, reached)))
    return found


@as_lemma(
    "every sound member has every committed record",
    "a commit waits for all of them, and each that joins has reached what is committed",
)
def quorum_is_complete(k: Any, s: Any) -> list[Value]:
    return are_complete(k, s, is_sound)


@as_lemma(
    "what a stale leader may still commit is in the log of each sound member, unless that one follows it still",
    "it waits for every member of its time, and who becomes leader, or joins one, no longer follows it",
)
def reach_of_stale_leaders(k: Any, s: Any) -> list[Value]:
    return have_what_is_reached(k, s, is_sound, is_reached)


@as_lemma(
    "what is committed, or may be by a stale leader, ends below the leader's high watermark or its epoch's start",
    "a new leader has all of that in its log, whose end is its epoch's start",
)
def leader_knows_how_far(k: Any, s: Any) -> list[Value]:
    return knows_how_far(k, s, is_reached)


@as_lemma(
    "where a sound member follows a stale leader, that one's log has what is committed and what others may commit",
    "the member has not followed a later leader, so no later one has committed without it",
)
def members_follow_complete_logs(k: Any, s: Any) -> list[Value]:
    return follow_complete_logs(k, s, is_sound, is_reached)


THEORY = Theory(
    models=("kraft", "kraft-elr"),
    covers=covers,
    lemmas=(
        no_gaps,
        registration,
        few_were_struck,
        quorum_survives,
        elr_below_minimum,
        one_leader,
        unimpaired.only_leaders_remember,
        leader_waits_for_quorum,
        fetches_still_true,
        joining_has_caught_up,
        quorum_is_complete,
        watermark_is_committed,
        reach_of_stale_leaders,
        leader_knows_how_far,
        members_follow_complete_logs,
        acknowledged_is_committed,
    ),
)
