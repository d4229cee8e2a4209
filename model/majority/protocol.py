"""A majority-quorum log in Kafka's manner: what a partition would be if it were replicated as Raft, or KRaft's own log, is.

Followers pull, as in KRaft (KIP-595).  A leader of a term commits what a majority of all replicas has, the term's own
records first.  Terms and votes are on disk before they count; the log is flushed as Kafka's topics are, unless
`flush.messages` says otherwise, which is what makes it comparable.

Source: Raft (Ongaro and Ousterhout 2014), KIP-595.
"""

from __future__ import annotations

from neverlost.model import limits
from neverlost.model.faults import LEADER_MOVE
from neverlost.model.kernel import NO_REPLICA, Clauses, Primitives, Value, action, at, count, different, members, smaller
from neverlost.model.kraft.broker.high_watermark import acknowledge, note_committed
from neverlost.model.kraft.broker.leader import leads
from neverlost.model.kraft.broker.log import (
    EMPTY,
    append,
    epoch_of,
    has_room,
    is_longer_log,
    is_prefix,
    log_end,
    offsets,
    truncate_to_common,
)
from neverlost.model.kraft.lifecycle.stops import crash, crash_unflushed, lose_disk
from neverlost.model.kraft.state import ACKS, ELECTED, UP_TO_DATE, everyone, others
from neverlost.model.limits import fault_enabled, record_fault
from neverlost.model.quorum.fetching import append_fetched, brings_something
from neverlost.model.ranks import ranks
from neverlost.model.system import View


def majority(s: View) -> int:
    """Return how many of all replicas, running or not, are needed for a majority."""
    return int(s.sizes.replica) // 2 + 1


def raise_high_watermark(k: Primitives, s: View, leader: int) -> None:
    """Effect: the high watermark rises past the last record of the leader's term that it knows a majority to have, if any; what
    is below it is committed and, with acks=all, acknowledged."""
    old = s.high_watermark[leader]
    new = old
    for offset in offsets(s):
        here = s.log_record[leader][offset]
        held = [s.fetch_offset[leader][each] > offset for each in others(s, leader)]
        own = k.all_of(here != EMPTY, epoch_of(k, s, here) == s.term[leader])
        new = k.ite(k.all_of(own, count(k, [True, *held]) >= majority(s), new <= offset), offset + 1, new)
    s.high_watermark[leader] = new
    note_committed(k, s, leader)
    for offset in offsets(s):
        acknowledge(k, s, s.log_record[leader][offset], k.all_of(s.acks == ACKS["all"], new > offset))


def forget_leadership(k: Primitives, s: View, broker: int, when: Value = True) -> None:
    """Effect, if `when` is true: a leader forgets its followers' fetch offsets, and those that follow it follow nobody."""
    for each in others(s, broker):
        s.fetch_offset[broker][each] = k.ite(when, 0, s.fetch_offset[broker][each])
        s.follows[each] = k.ite(k.all_of(when, s.follows[each] == broker), NO_REPLICA, s.follows[each])


@action(leader="replica", says="{leader} receives the producer's next record")
def leader_append(k: Primitives, s: View, leader: int) -> Clauses:
    """Any broker that believes it is leader appends, in its term; one of an older term never finds a majority to commit it.

    No min.insync.replicas refuses the write: with acks=all it waits for a majority, else it is acknowledged at once.

    Source: Raft 5.3; KIP-595.
    """
    yield "believes it is leader", leads(s, leader)
    yield "bound: a record is left", s.next_record < s.sizes.record
    yield "bound: a slot is left", has_room(k, s, leader)
    record = s.next_record + 1
    s.next_record = record
    append(k, s, leader, record)
    for each in range(s.sizes.record):
        s.record_epoch[each] = k.ite(record == each + 1, s.term[leader], s.record_epoch[each])
    acknowledge(k, s, record, s.acks <= ACKS["1"])
    raise_high_watermark(k, s, leader)


@action(leader="replica", follower="replica", where=different, says="{leader} handles the fetch of {follower}")
def leader_note_fetch(k: Primitives, s: View, leader: int, follower: int) -> Clauses:
    """The leader notes from a fetch how far the follower's log reaches, and raises its high watermark if it can.

    It stands for Raft's AppendEntries answer.  Only a log that is a prefix of the leader's counts: a diverging one will soon be
    truncated.  To be committed a record needs a majority and a record of the leader's own term at or after it: an older term's
    record that a majority has can still be overwritten (Raft 5.4.2, figure 8).

    Source: KIP-595, Fetch.
    """
    yield "follower is in the leader's term", s.follows[follower] == leader
    known = log_end(k, s, follower)
    yield "bound: a new fetch offset", known != s.fetch_offset[leader][follower]
    yield "logs agree", is_prefix(k, s, follower, leader)
    s.fetch_offset[leader][follower] = known
    raise_high_watermark(k, s, leader)


@action(follower="replica", leader="replica", where=different, says="broker {follower} receives a fetch response of {leader}")
def follower_take_response(k: Primitives, s: View, follower: int, leader: int) -> Clauses:
    """The follower appends the leader's next record, if any; its high watermark rises to the leader's, within its own log.

    Source: KIP-595, Fetch; Raft 5.3.
    """
    yield "in the leader's term", s.follows[follower] == leader
    yield "bound: the request was handled", s.fetch_offset[leader][follower] == log_end(k, s, follower)
    yield "bound: brings something", brings_something(k, s, follower, leader)
    yield "logs agree", is_prefix(k, s, follower, leader)
    append_fetched(k, s, follower, leader)


@action(
    follower="replica", leader="replica", where=different, says="broker {follower} learns from {leader} that their logs diverge"
)
def follower_truncate(k: Primitives, s: View, follower: int, leader: int) -> Clauses:
    """The leader answers with a diverging epoch, and the follower drops what follows the last entry that both share.

    What it drops was never committed, if no voter has lost data: the leader was elected with all that was.

    Source: KIP-595, Fetch (DivergingEpoch); Raft 5.3.
    """
    yield "in the leader's term", s.follows[follower] == leader
    yield "bound: logs diverge", k.not_(is_prefix(k, s, follower, leader))
    truncate_to_common(k, s, follower, leader)
    s.high_watermark[follower] = smaller(k, s.high_watermark[follower], log_end(k, s, follower))


def elect(k: Primitives, s: View, candidate: int, ballot: int) -> Clauses:
    """Clauses: a ballot's brokers run, none with a better log than the candidate.  Effect: it leads them in a new term."""
    chosen = members(ballot)
    yield "a majority runs", k.all_of(*[s.is_running[each] for each in chosen])
    better = [is_longer_log(k, s, each, candidate) for each in chosen if each != candidate]
    yield "no voter has a better log", k.not_(k.any_of(False, *better))
    s.newest_term = s.newest_term + 1
    s.leader, s.leader_knows = candidate, UP_TO_DATE
    for each in chosen:
        forget_leadership(k, s, each, leads(s, each))
        s.term[each] = s.newest_term
    for each in chosen:
        s.follows[each] = candidate


def is_ballot(candidate: int, ballot: int) -> bool:
    """Return True if the candidate votes for itself; that a ballot is a majority and no more is a guard clause elsewhere."""
    return candidate in members(ballot)


@action(
    candidate="replica",
    ballot="ballot",
    where=is_ballot,
    says="broker {candidate} wins an election with the votes of {ballot}, since the leader has stopped",
)
def voters_replace_dead_leader(k: Primitives, s: View, candidate: int, ballot: int) -> Clauses:
    """The leader's process has stopped: a majority elects one of its own, whose log is no older than any voter's.

    Any two majorities share a member, so the winner has every committed record: this takes the place of the ISR.  It rests on
    voters that keep their logs: a voter that has lost data can vote for a candidate without a committed record.

    Source: Raft 5.2, 5.4.1; KIP-595, Vote.
    """
    yield "a majority votes", ballot.bit_count() == majority(s)
    yield "the leader has stopped", s.leader_knows == ELECTED
    yield "bound: a term is left", s.newest_term < s.sizes.term - 1
    yield from elect(k, s, candidate, ballot)


@action(
    candidate="replica",
    ballot="ballot",
    where=is_ballot,
    says="broker {candidate} loses contact with the leader and wins an election with the votes of {ballot}",
    fault="leader_move",
)
def voters_replace_live_leader(k: Primitives, s: View, candidate: int, ballot: int) -> Clauses:
    """A candidate that does not reach the leader wins an election although the leader runs: a network cut, or a pause.

    The old leader goes on as a stale one in its older term, until it learns of the newer; it can commit nothing, since a
    majority has promised the newer term.

    Source: Raft 5.2; KIP-595, Vote.
    """
    yield "a majority votes", ballot.bit_count() == majority(s)
    yield from fault_enabled(k, s, LEADER_MOVE)
    yield "the leader is running", s.leader_knows == UP_TO_DATE
    yield "another broker", s.leader != candidate
    yield "bound: a term is left", s.newest_term < s.sizes.term - 1
    yield from elect(k, s, candidate, ballot)
    record_fault(s, LEADER_MOVE)


@action(broker="replica", leader="replica", where=different, says="broker {broker} learns of {leader} and follows it")
def broker_follow(k: Primitives, s: View, broker: int, leader: int) -> Clauses:
    """A broker learns of a newer term's leader (BeginQuorumEpoch, or an answer to a fetch), follows it, and leads no more.

    Source: KIP-595, BeginQuorumEpoch; Raft 5.1.
    """
    yield "current leader", s.leader == leader
    yield "leads", leads(s, leader)
    yield "broker is running", s.is_running[broker]
    yield "bound: not yet following", s.follows[broker] != leader
    forget_leadership(k, s, broker, leads(s, broker))
    s.follows[broker] = leader
    s.term[broker] = at(k, list(s.term), leader)


def is_impaired(k: Primitives, s: View, broker: int) -> Value:
    """Return True if a broker is down, or has lost data and does not have the committed log again."""
    return k.any_of(k.not_(s.is_running[broker]), s.ghost_lost_data[broker])


def note_loss(s: View, broker: int) -> None:
    """Effect: remember that the broker has lost data, if a limit asks for that."""
    if s.sizes.has_impaired:
        s.ghost_lost_data[broker] = True


def rank_terms(k: Primitives, s: View) -> None:
    """Effect: each term becomes its rank among 0 and the terms that the state still has; only their order is ever asked for."""
    brokers, records = len(s.term), len(s.record_epoch)
    found = ranks(k, [s.newest_term, *s.term, *s.record_epoch], s.sizes.term - 1)
    s.newest_term = found[0]
    for broker in range(brokers):
        s.term[broker] = found[1 + broker]
    for record in range(records):
        s.record_epoch[record] = found[1 + brokers + record]


def settle(k: Primitives, s: View) -> None:
    """Effect, after every step: a broker that has the committed log again is no longer marked as one that lost data, an
    unimpaired one no longer as struck by a fault; where faults have no totals, terms are ranked."""
    if s.sizes.has_impaired:
        for broker in everyone(s):
            committed = [
                k.any_of(s.ghost_committed[each] == EMPTY, s.log_record[broker][each] == s.ghost_committed[each])
                for each in offsets(s)
            ]
            s.ghost_lost_data[broker] = k.all_of(s.ghost_lost_data[broker], k.not_(k.all_of(*committed)))
    limits.settle(k, s)
    if s.sizes.has_ranks:
        rank_terms(k, s)


def stop(k: Primitives, s: View, broker: int) -> None:
    """Effect: the broker's process ends, with what it had in memory; its log and term stay, its followers have no leader."""
    s.is_running[broker] = False
    forget_leadership(k, s, broker)
    s.follows[broker] = NO_REPLICA
    s.high_watermark[broker] = 0
    s.leader_knows = k.ite(s.leader == broker, ELECTED, s.leader_knows)


@action(broker="replica", says="unclean shutdown of broker {broker}, log intact", fault="kill")
def broker_crash(k: Primitives, s: View, broker: int) -> Clauses:
    """The process dies and the page cache survives it: log, term and vote are as they were."""
    yield from crash(k, s, broker)
    stop(k, s, broker)


@action(broker="replica", kept="kept", says="broker {broker} loses power{kept}", fault="lossy_crash")
def broker_crash_lossy(k: Primitives, s: View, broker: int, kept: int) -> Clauses:
    """The machine dies: the unflushed log from offset `kept` on is lost, though it may have been counted for a majority.

    Raft asks for the log to be on disk before an answer; Kafka's topics are not flushed so, unless `flush.messages` is 1.  Term
    and vote are on disk in any case: to vote twice in a term would elect two leaders.  With the last `kept` nothing is lost.

    Source: Raft 5.1, figure 2 (persistent state); KIP-595, quorum-state.
    """
    yield from crash_unflushed(k, s, broker, kept)
    if kept < s.sizes.offset:
        note_loss(s, broker)
    stop(k, s, broker)


@action(broker="replica", says="broker {broker} stops and its log directory is replaced by an empty one", fault="disk_loss")
def broker_lose_disk(k: Primitives, s: View, broker: int) -> Clauses:
    """A broker stops and loses its log, not its term; it may come back under its old id and vote: nothing bars it."""
    yield from lose_disk(k, s, broker)
    note_loss(s, broker)
    stop(k, s, broker)


@action(broker="replica", says="broker {broker} starts again")
def broker_restart(k: Primitives, s: View, broker: int) -> Clauses:
    """A broker starts as a follower that knows no leader; there is no controller to register with.  Source: Raft 5.2."""
    yield "broker is down", k.not_(s.is_running[broker])
    s.is_running[broker] = True
