"""Raft whose followers pull, with every message that was ever sent as a part of the state.

Action for action the abstraction of the public TLA+ module `PullRaft`, so that counts of distinct states equal TLC's.  The
module keeps its messages as a bag in which a message that was consumed stays with the count zero, and sends no message twice;
so a message is one of `NEVER`, `SENT` and `CONSUMED`, and there is an array for each type over all messages that there can be.
A vote request's log end is fixed by candidate and term, since a term is entered by one request only.

A term is called an epoch, as in Kafka, and counts from 0 instead of 1.  An entry, or the end of a log, is named by one number
for its pair of values.

Source: Vanlightly/raft-tlaplus, specifications/pull-raft/PullRaft.tla.
"""

from __future__ import annotations

from collections.abc import Iterator

from neverlost.model.classic.log import append, latest_epoch, truncate
from neverlost.model.faults import KILL, LEADER_MOVE
from neverlost.model.kernel import Clauses, Primitives, Value, action, count, different, smaller
from neverlost.model.limits import fault_enabled, record_fault
from neverlost.model.quorum.roles import CANDIDATE, FOLLOWER, LEADER, is_candidate, is_leader
from neverlost.model.system import View

NEVER, SENT, CONSUMED = 0, 1, 2
"""What has become of a message."""


def servers(s: View) -> range:
    """Return all servers."""
    return range(s.sizes.replica)


def peers(s: View, server: int) -> list[int]:
    """Return all but one server."""
    return [each for each in servers(s) if each != server]


def terms(s: View) -> range:
    """Return the terms that messages can have: all but the first, in which there is no election."""
    return range(1, s.sizes.term)


def last_term(k: Primitives, s: View, server: int) -> Value:
    """Return the term of a log's last entry, 0 for an empty log."""
    return k.ite(s.log_end_offset[server] == 0, 0, latest_epoch(k, s, server))


def is_majority(k: Primitives, s: View, members: list[Value]) -> Value:
    """Return True if the servers whose flag is set are more than half of all."""
    return count(k, members) >= s.sizes.replica // 2 + 1


def positions(s: View) -> Iterator[tuple[int, int, int]]:
    """Yield every end of a log as its number, its length and its last term; an empty log has the number 0."""
    yield 0, 0, 0
    for end in range(1, s.sizes.offset + 1):
        for term in terms(s):
            yield (end - 1) * (s.sizes.term - 1) + term, end, term


def entries(s: View) -> Iterator[tuple[int, int, int]]:
    """Yield every entry as its number, from 0, its value, from 1, and its term."""
    for record in range(s.sizes.record):
        for term in terms(s):
            yield record * (s.sizes.term - 1) + term - 1, record + 1, term


def end_of(s: View, position: int) -> tuple[int, int]:
    """Return a log's length and last term, of the number of its end."""
    return next((end, term) for number, end, term in positions(s) if number == position)


def was_sent(k: Primitives, status: Value, when: Value) -> Value:
    """Return True if `when` holds (this is the message that is meant) and the message was sent before, consumed or not."""
    return k.all_of(when, status != NEVER)


@action(broker="replica", says="server {broker} restarts", fault="kill")
def restart(k: Primitives, s: View, broker: int) -> Clauses:
    """The server is a follower again, and keeps term, log and the leader that it voted for."""
    yield from fault_enabled(k, s, KILL)
    record_fault(s, KILL)
    s.role[broker] = FOLLOWER
    s.high_watermark[broker] = 0
    for each in servers(s):
        s.has_vote[broker][each] = False
        s.match_index[broker][each] = 0


@action(broker="replica", term="sent_term", says="server {broker} learns of term {term}")
def update_term(k: Primitives, s: View, broker: int, term: int) -> Clauses:
    """A message of a newer term, which stays to be handled, makes its receiver a follower without a leader."""
    number = term + 1
    from_all = [
        [
            s.vote_request[other][broker][term],
            *s.vote_response[other][broker][term],
            s.notification[other][broker][term],
            *s.pull_request[other][broker][term],
            *[each for entry in s.pull_success[other][broker][term] for each in entry],
            *s.pull_failure[other][broker][term],
        ]
        for other in peers(s, broker)
    ]
    yield "a message of the term was sent", k.any_of(False, *[each != NEVER for found in from_all for each in found])
    yield "term is newer", s.epoch[broker] < number
    s.epoch[broker] = number
    s.role[broker] = FOLLOWER
    s.leader[broker] = -1


@action(candidate="replica", says="server {candidate} starts an election", fault="leader_move")
def request_vote(k: Primitives, s: View, candidate: int) -> Clauses:
    """A server that does not lead times out: it is a candidate in the next term, and asks all peers for their votes."""
    yield from fault_enabled(k, s, LEADER_MOVE)
    yield "is no leader", k.not_(is_leader(s, candidate))
    record_fault(s, LEADER_MOVE)
    s.role[candidate] = CANDIDATE
    s.epoch[candidate] = s.epoch[candidate] + 1
    s.leader[candidate] = candidate
    for each in servers(s):
        s.has_vote[candidate][each] = each == candidate
    for term in terms(s):
        here = s.epoch[candidate] == term
        s.candidate_end[candidate][term - 1] = k.ite(here, s.log_end_offset[candidate], s.candidate_end[candidate][term - 1])
        s.candidate_last_term[candidate][term - 1] = k.ite(
            here, last_term(k, s, candidate), s.candidate_last_term[candidate][term - 1]
        )
        for peer in peers(s, candidate):
            s.vote_request[candidate][peer][term - 1] = k.ite(here, SENT, s.vote_request[candidate][peer][term - 1])


@action(
    broker="replica",
    candidate="replica",
    term="sent_term",
    where=lambda broker, candidate, term: broker != candidate,
    says="server {broker} handles the vote request of {candidate} for term {term}",
)
def handle_vote_request(k: Primitives, s: View, broker: int, candidate: int, term: int) -> Clauses:
    """A vote is granted in the receiver's own term, to one candidate, for a log that is no older than the receiver's; every
    other request of that or an older term is refused."""
    number = term + 1
    yield "request is under way", s.vote_request[candidate][broker][term] == SENT
    yield "term is known", s.epoch[broker] >= number
    end, last = s.candidate_end[candidate][term], s.candidate_last_term[candidate][term]
    mine = last_term(k, s, broker)
    log_ok = k.any_of(last > mine, k.all_of(last == mine, end >= s.log_end_offset[broker]))
    is_free = k.any_of(s.leader[broker] == -1, s.leader[broker] == candidate)
    grant = k.all_of(s.epoch[broker] == number, log_ok, is_free)
    answers = [
        (k.all_of(s.epoch[broker] == each, grant if granted else k.not_(grant)), each - 1, granted)
        for each in terms(s)
        for granted in (0, 1)
    ]
    sent = s.vote_response[broker][candidate]
    yield "bound: answer was not sent", k.not_(k.any_of(*[was_sent(k, sent[each][yes], when) for when, each, yes in answers]))
    s.leader[broker] = k.ite(grant, candidate, s.leader[broker])
    s.vote_request[candidate][broker][term] = CONSUMED
    for when, each, yes in answers:
        sent[each][yes] = k.ite(when, SENT, sent[each][yes])


@action(
    candidate="replica",
    broker="replica",
    term="sent_term",
    granted="answer",
    where=lambda candidate, broker, term, granted: broker != candidate,
    says="server {candidate} handles the answer of {broker} in term {term}",
)
def handle_vote_response(k: Primitives, s: View, candidate: int, broker: int, term: int, granted: int) -> Clauses:
    """The candidate notes a vote granted in its term, whatever its role is by then; a refusal is only consumed."""
    yield "answer is under way", s.vote_response[broker][candidate][term][granted] == SENT
    yield "is of the term", s.epoch[candidate] == term + 1
    s.vote_response[broker][candidate][term][granted] = CONSUMED
    if granted:
        s.has_vote[candidate][broker] = True


@action(candidate="replica", says="server {candidate} becomes leader")
def become_leader(k: Primitives, s: View, candidate: int) -> Clauses:
    """A candidate with the votes of a majority leads, and notifies those that did not vote for it."""
    yield "is candidate", is_candidate(s, candidate)
    yield "has a majority", is_majority(k, s, list(s.has_vote[candidate]))
    s.role[candidate] = LEADER
    for each in servers(s):
        s.match_index[candidate][each] = 0
    for term in terms(s):
        for peer in peers(s, candidate):
            notified = k.all_of(s.epoch[candidate] == term, k.not_(s.has_vote[candidate][peer]))
            s.notification[candidate][peer][term - 1] = k.ite(notified, SENT, s.notification[candidate][peer][term - 1])


@action(leader="replica", record="record", says="leader {leader} receives {record}")
def client_request(k: Primitives, s: View, leader: int, record: int) -> Clauses:
    """The leader appends a client's value; each value is sent once."""
    yield "is leader", is_leader(s, leader)
    yield "bound: value is new", k.not_(s.is_received[record])
    append(k, s, leader, record + 1, s.epoch[leader])
    s.is_received[record] = True


@action(
    broker="replica",
    leader="replica",
    term="sent_term",
    where=lambda broker, leader, term: broker != leader,
    says="server {broker} learns that {leader} leads in term {term}",
)
def learn_of_leader(k: Primitives, s: View, broker: int, leader: int, term: int) -> Clauses:
    """A follower that did not vote for the leader gets to know it."""
    yield "notification is under way", s.notification[leader][broker][term] == SENT
    yield "is of the term", s.epoch[broker] == term + 1
    s.notification[leader][broker][term] = CONSUMED
    s.leader[broker] = leader


@action(follower="replica", leader="replica", where=different, says="follower {follower} asks {leader} for entries")
def send_pull_request(k: Primitives, s: View, follower: int, leader: int) -> Clauses:
    """A follower asks the leader that it knows, or at once the candidate that it voted for, which answers when it leads."""
    yield "is follower", s.role[follower] == FOLLOWER
    yield "follows", s.leader[follower] == leader
    mine = last_term(k, s, follower)
    requests = [
        (k.all_of(s.epoch[follower] == term, s.log_end_offset[follower] == end, mine == last), term - 1, position)
        for term in terms(s)
        for position, end, last in positions(s)
    ]
    sent = s.pull_request[follower][leader]
    yield "bound: request was not sent", k.not_(k.any_of(*[was_sent(k, sent[t][p], when) for when, t, p in requests]))
    for when, term, position in requests:
        sent[term][position] = k.ite(when, SENT, sent[term][position])


def is_valid(k: Primitives, s: View, leader: int, position: int) -> Value:
    """Return True if the leader has an entry of the same term where a follower's log ends, or that log is empty."""
    end, last = end_of(s, position)
    return k.all_of(s.log_end_offset[leader] >= end, s.log_epoch[leader][end - 1] == last) if end else True


def last_common_entry(k: Primitives, s: View, leader: int, position: int) -> tuple[Value, Value]:
    """Return index (from 1) and term of the leader's last entry that is, by term, then index, no later than a follower's end;
    zeros for none."""
    end, last = end_of(s, position)
    found: tuple[Value, Value] = (0, 0)
    for offset in range(s.sizes.offset):
        term = s.log_epoch[leader][offset]
        no_later = k.any_of(term < last, term == last) if offset < end else term < last
        here = k.all_of(s.log_end_offset[leader] > offset, no_later)
        found = k.ite(here, offset + 1, found[0]), k.ite(here, term, found[1])
    return found


def request_clauses(k: Primitives, s: View, leader: int, follower: int, term: int, position: int) -> Clauses:
    """Clauses: the leader can answer the request in its term."""
    yield "request is under way", s.pull_request[follower][leader][term][position] == SENT
    yield "is of the term", s.epoch[leader] == term + 1
    yield "is leader", is_leader(s, leader)


def pulls(leader: int, follower: int, term: int, position: int) -> bool:
    """Return True if leader and follower are two servers: none asks itself."""
    return leader != follower


@action(
    leader="replica",
    follower="replica",
    term="sent_term",
    position="position",
    where=pulls,
    says="leader {leader} answers {follower} that their logs diverge",
)
def reject_pull_request(k: Primitives, s: View, leader: int, follower: int, term: int, position: int) -> Clauses:
    """The leader answers that the logs diverge, and names the last entry that both may share."""
    yield from request_clauses(k, s, leader, follower, term, position)
    yield "logs diverge", k.not_(is_valid(k, s, leader, position))
    index, of_term = last_common_entry(k, s, leader, position)
    sent = s.pull_failure[leader][follower][term]
    answers = [(k.all_of(index == end, of_term == last), number) for number, end, last in positions(s)]
    yield "bound: answer was not sent", k.not_(k.any_of(*[was_sent(k, sent[each], when) for when, each in answers]))
    s.pull_request[follower][leader][term][position] = CONSUMED
    for when, each in answers:
        sent[each] = k.ite(when, SENT, sent[each])


def new_high_watermark(k: Primitives, s: View, leader: int) -> Value:
    """Return the last index that a majority has, if its entry is of the leader's term; else the leader's high watermark."""
    found: Value = s.high_watermark[leader]
    for offset in range(s.sizes.offset):
        held = [True if each == leader else s.match_index[leader][each] > offset for each in servers(s)]
        agreed = k.all_of(s.log_end_offset[leader] > offset, is_majority(k, s, held))
        own = s.log_epoch[leader][offset] == s.epoch[leader]
        found = k.ite(agreed, k.ite(own, offset + 1, s.high_watermark[leader]), found)
    return found


@action(
    leader="replica",
    follower="replica",
    term="sent_term",
    position="position",
    where=pulls,
    says="leader {leader} answers {follower} with an entry",
)
def accept_pull_request(k: Primitives, s: View, leader: int, follower: int, term: int, position: int) -> Clauses:
    """The leader notes how far the follower's log reaches and answers with the next entry, once it has one; it may commit."""
    yield from request_clauses(k, s, leader, follower, term, position)
    yield "logs agree", is_valid(k, s, leader, position)
    end, _ = end_of(s, position)
    yield "has an entry", s.log_end_offset[leader] > end
    if end == s.sizes.offset:
        return
    old = s.high_watermark[leader]
    s.match_index[leader][follower] = end
    new = new_high_watermark(k, s, leader)
    record, of_term = s.log_record[leader][end], s.log_epoch[leader][end]
    sent = s.pull_success[leader][follower][term]
    answers = [
        (k.all_of(record == value, of_term == last, smaller(k, new, end + 1) == commit), number, commit)
        for number, value, last in entries(s)
        for commit in range(s.sizes.offset + 1)
    ]
    yield "bound: answer was not sent", k.not_(k.any_of(*[was_sent(k, sent[e][c], when) for when, e, c in answers]))
    s.pull_request[follower][leader][term][position] = CONSUMED
    for when, each, commit in answers:
        sent[each][commit] = k.ite(when, SENT, sent[each][commit])
    s.high_watermark[leader] = new
    for offset in range(s.sizes.offset):
        newly = k.all_of(old <= offset, new > offset)
        for each in range(s.sizes.record):
            committed = k.all_of(
                newly,
                s.log_record[leader][offset] == each + 1,
            )
            s.ghost_acked[each] = k.any_of(s.ghost_acked[each], committed)


@action(
    follower="replica",
    leader="replica",
    term="sent_term",
    entry="entry",
    commit="commit",
    where=lambda follower, leader, term, entry, commit: follower != leader,
    says="follower {follower} appends the entry that {leader} has sent",
)
def handle_success(k: Primitives, s: View, follower: int, leader: int, term: int, entry: int, commit: int) -> Clauses:
    """The follower appends the entry, and takes the commit index of the answer, which is no further than that entry."""
    yield "answer is under way", s.pull_success[leader][follower][term][entry][commit] == SENT
    yield "is of the term", s.epoch[follower] == term + 1
    s.pull_success[leader][follower][term][entry][commit] = CONSUMED
    record, of_term = next((value, last) for number, value, last in entries(s) if number == entry)
    s.high_watermark[follower] = commit
    append(k, s, follower, record, of_term)


@action(
    follower="replica",
    leader="replica",
    term="sent_term",
    position="position",
    where=lambda follower, leader, term, position: follower != leader,
    says="follower {follower} truncates to the entry that {leader} names",
)
def handle_failure(k: Primitives, s: View, follower: int, leader: int, term: int, position: int) -> Clauses:
    """The follower drops what follows the last entry that both may share."""
    yield "answer is under way", s.pull_failure[leader][follower][term][position] == SENT
    yield "is of the term", s.epoch[follower] == term + 1
    s.pull_failure[leader][follower][term][position] = CONSUMED
    end, _ = end_of(s, position)
    truncate(k, s, follower, smaller(k, end, s.log_end_offset[follower]))
