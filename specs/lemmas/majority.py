"""Why a majority-quorum log keeps a committed record, however often brokers stop and leaders are replaced: Raft's argument.

A majority has every committed record (`majority-is-complete`), so every majority of voters has a member that does; and a log
that no voter's exceeds has them too, because who has a newer entry has all of them (`newer-logs-are-complete`).

What makes it inductive are stale leaders, as in `unimpaired.py`: `within_reach` says which offsets a leader may still commit,
and those are in the log of every later leader (`reach-of-leaders`).

Source: Raft (Ongaro and Ousterhout 2014), section 5.4.3, whose election restriction and commitment rule the lemmas rest on.
"""

from __future__ import annotations

from typing import Any

from neverlost.model.kernel import NO_REPLICA, Configuration, Value, count, implies
from neverlost.model.kraft.broker.leader import leads
from neverlost.model.kraft.broker.log import EMPTY, epoch_of, log_end, offsets
from neverlost.model.kraft.state import BEHIND, UP_TO_DATE, everyone, others
from neverlost.model.majority.protocol import majority
from neverlost.specs.lemma import Theory, as_lemma
from neverlost.specs.lemmas.kraft_elr import acknowledged_is_committed, is_committed, no_gaps, watermark_is_committed

LOSES = ("disk_loss", "data_loss")
"""The faults after which a voter forgets what it was counted for."""


def covers(configuration: Configuration) -> bool:
    """Return True if a voter forgets nothing that it was counted for: it loses no disk, and flushes what a crash could take."""
    is_flushed = configuration["flush.messages"] == "1" or not configuration["faults.lossy_crash"]
    return bool(is_flushed and not any(configuration[f"faults.{each}"] for each in LOSES))


def term_at(k: Any, s: Any, replica: int, offset: int) -> Value:
    """Return the term of the entry at an offset of a replica's log; -1 where there is no entry."""
    return epoch_of(k, s, s.log_record[replica][offset])


def is_complete(k: Any, s: Any, replica: int) -> Value:
    """Return True if a replica's log has every committed record."""
    return k.all_of(*[implies(k, is_committed(s, o), s.log_record[replica][o] == s.ghost_committed[o]) for o in offsets(s)])


def is_last_committed(k: Any, s: Any, offset: int) -> Value:
    """Return True if the committed log ends with this offset."""
    is_last = True if offset + 1 == s.sizes.offset else k.not_(is_committed(s, offset + 1))
    return k.all_of(is_committed(s, offset), is_last)


def within_reach(k: Any, s: Any, leader: int, offset: int) -> Value:
    """Return True if a leader may yet commit an offset in its term: the entry is its own, or none yet, and a majority, itself
    included, has fetched it or follows the leader."""
    with_it = [k.any_of(s.fetch_offset[leader][m] > offset, s.follows[m] == leader) for m in others(s, leader)]
    own = k.any_of(s.log_record[leader][offset] == EMPTY, term_at(k, s, leader, offset) == s.term[leader])
    return k.all_of(leads(s, leader), own, count(k, [True, *with_it]) >= majority(s))


@as_lemma(
    "a term has one leader, and who follows is in its leader's term; the current leader leads in the newest term",
    "a majority votes for one candidate in a new term, and a leader that stops or follows takes its followers with it",
)
def leaders(k: Any, s: Any) -> list[Value]:
    found: list[Value] = [s.leader != NO_REPLICA, s.leader_knows != BEHIND]
    for r in everyone(s):
        found.append(s.term[r] <= s.newest_term)
        found.append(implies(k, s.leader == r, leads(s, r) == (s.leader_knows == UP_TO_DATE)))
        found.append(implies(k, k.all_of(s.leader == r, leads(s, r)), s.term[r] == s.newest_term))
        found.append(implies(k, s.follows[r] != NO_REPLICA, s.is_running[r]))
        for other in others(s, r):
            found.append(implies(k, k.all_of(leads(s, r), leads(s, other)), s.term[r] != s.term[other]))
            found.append(implies(k, s.follows[other] == r, k.all_of(leads(s, r), s.term[other] == s.term[r])))
    return found


@as_lemma(
    "terms along a log do not fall, and none is beyond the broker's own",
    "a leader appends with its own term, and a follower copies from a leader of its term",
)
def log_shape(k: Any, s: Any) -> list[Value]:
    found: list[Value] = []
    for r in everyone(s):
        for o in offsets(s):
            here = s.log_record[r][o]
            found.append(here <= s.next_record)
            found.append(term_at(k, s, r, o) <= s.term[r])
            if o:
                found.append(implies(k, here != EMPTY, term_at(k, s, r, o - 1) <= term_at(k, s, r, o)))
    return found


@as_lemma(
    "two logs that share an entry share all before it, and entries of one term are the same in all logs",
    "a fetch counts only where the logs agree, and one leader writes the entries of a term",
)
def logs_match(k: Any, s: Any) -> list[Value]:
    found: list[Value] = []
    for one in everyone(s):
        for other in others(s, one):
            for o in offsets(s):
                here, there = s.log_record[one][o], s.log_record[other][o]
                if o:
                    before = s.log_record[one][o - 1] == s.log_record[other][o - 1]
                    found.append(implies(k, k.all_of(here == there, here != EMPTY), before))
                for later in range(o, s.sizes.offset):
                    same = k.all_of(here != EMPTY, term_at(k, s, one, o) == term_at(k, s, other, later))
                    found.append(implies(k, same, here == there))
    return found


@as_lemma(
    "an entry of a leader's own term is in the leader's log",
    "no other broker appends with that term, and a leader truncates nothing",
)
def one_leader_writes_a_term(k: Any, s: Any) -> list[Value]:
    found: list[Value] = []
    for leader in everyone(s):
        for r in others(s, leader):
            for o in offsets(s):
                its = k.all_of(leads(s, leader), s.log_record[r][o] != EMPTY, term_at(k, s, r, o) == s.term[leader])
                found.append(implies(k, its, s.log_record[leader][o] == s.log_record[r][o]))
    return found


@as_lemma(
    "as far as its fetches show, a follower agrees with the leader until it is in a later term, and has even then what "
    "the leader may still commit",
    "a follower truncates to what it shares with its leader, and a later leader has what may still be committed",
)
def fetches_still_true(k: Any, s: Any) -> list[Value]:
    found: list[Value] = []
    for leader in everyone(s):
        for m in others(s, leader):
            known = s.fetch_offset[leader][m]
            found.append(implies(k, k.not_(leads(s, leader)), known == 0))
            found.append(known <= log_end(k, s, leader))
            found.append(implies(k, known > 0, s.term[m] >= s.term[leader]))
            for o in offsets(s):
                trusted = k.any_of(s.term[m] == s.term[leader], within_reach(k, s, leader, o))
                found.append(implies(k, k.all_of(known > o, trusted), s.log_record[m][o] == s.log_record[leader][o]))
    return found


@as_lemma(
    "what a leader may still commit is in the log of each later leader, and in each log with an entry of a later term",
    "every majority of voters has one on whose log the leader counts, and no voter's log is better than the winner's",
)
def reach_of_leaders(k: Any, s: Any) -> list[Value]:
    found: list[Value] = []
    for leader in everyone(s):
        for r in others(s, leader):
            newer = [term_at(k, s, r, o) > s.term[leader] for o in offsets(s)]
            is_later = k.any_of(k.all_of(leads(s, r), s.term[r] > s.term[leader]), *newer)
            for o in offsets(s):
                here = s.log_record[leader][o]
                has_it = k.all_of(here != EMPTY, s.log_record[r][o] == here)
                found.append(implies(k, k.all_of(within_reach(k, s, leader, o), is_later), has_it))
    return found


@as_lemma(
    "a majority has every committed record",
    "a commit waits for a majority, and none of them follows a leader that lacks a record",
)
def majority_is_complete(k: Any, s: Any) -> list[Value]:
    return [count(k, [is_complete(k, s, r) for r in everyone(s)]) >= majority(s)]


@as_lemma(
    "who leads since the last commit, or has an entry of a later term, has every committed record",
    "a leader of a later term was elected with a vote of the majority that has them",
)
def newer_logs_are_complete(k: Any, s: Any) -> list[Value]:
    found: list[Value] = []
    for last in offsets(s):
        term = epoch_of(k, s, s.ghost_committed[last])
        for r in everyone(s):
            newer = [term_at(k, s, r, o) > term for o in offsets(s)]
            is_later = k.any_of(k.all_of(leads(s, r), s.term[r] >= term), *newer)
            found.append(implies(k, k.all_of(is_last_committed(k, s, last), is_later), is_complete(k, s, r)))
    return found


THEORY = Theory(
    models=("majority",),
    covers=covers,
    lemmas=(
        no_gaps,
        leaders,
        log_shape,
        logs_match,
        one_leader_writes_a_term,
        fetches_still_true,
        reach_of_leaders,
        majority_is_complete,
        newer_logs_are_complete,
        watermark_is_committed,
        acknowledged_is_committed,
    ),
)
