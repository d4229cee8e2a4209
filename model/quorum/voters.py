"""How the controllers elect one of them, who copies its log.

A request and its answer are one step.  A vote request that is handled after its candidate has left the epoch elects no one;
an answer that comes late finds the candidate as it was, or in another epoch.  Any message may be late for ever, so voters that
cannot reach each other need no fault: they do not take the steps that they would take together.

Source: KIP-595; KafkaRaftClient, QuorumState.
"""

from __future__ import annotations

from neverlost.model.kernel import NO_REPLICA, Clauses, Primitives, Value, action, different, smaller
from neverlost.model.kraft.broker.log import common_end, has_room, is_prefix, log_end
from neverlost.model.quorum.fetching import append_fetched, brings_something
from neverlost.model.quorum.log import append_as_leader, commit, has_start, is_longer_log, leader_change, truncated
from neverlost.model.quorum.membership import is_enough, is_voter
from neverlost.model.quorum.roles import CANDIDATE, FOLLOWER, LEADER, is_candidate, is_leader
from neverlost.model.system import View


def everyone(s: View) -> range:
    """Return all controllers."""
    return range(s.sizes.replica)


def forget_role(s: View, voter: int) -> None:
    """Effect: a voter that leads or asks for votes does so no more, and forgets its votes and its followers' fetch offsets."""
    s.role[voter] = FOLLOWER
    for each in everyone(s):
        s.has_vote[voter][each] = False
        s.fetch_offset[voter][each] = 0


def enter_epoch(k: Primitives, s: View, voter: int, epoch: Value, when: Value) -> None:
    """Effect, if `when` is true: a voter enters an epoch as a follower that has neither a leader nor a vote in it."""
    s.epoch[voter] = k.ite(when, epoch, s.epoch[voter])
    s.voted_for[voter] = k.ite(when, NO_REPLICA, s.voted_for[voter])
    s.leader[voter] = k.ite(when, NO_REPLICA, s.leader[voter])
    s.role[voter] = k.ite(when, FOLLOWER, s.role[voter])
    for each in everyone(s):
        s.has_vote[voter][each] = k.all_of(k.not_(when), s.has_vote[voter][each])
        s.fetch_offset[voter][each] = k.ite(when, 0, s.fetch_offset[voter][each])


def count_votes(k: Primitives, s: View, candidate: int) -> None:
    """Effect: a candidate with a majority leads, and begins its epoch with an entry of its own.

    Source: KafkaRaftClient.maybeTransitionToLeader, onBecomeLeader.
    """
    wins = k.all_of(is_candidate(s, candidate), is_enough(k, s, candidate, list(s.has_vote[candidate])))
    s.role[candidate] = k.ite(wins, LEADER, s.role[candidate])
    s.leader[candidate] = k.ite(wins, candidate, s.leader[candidate])
    append_as_leader(k, s, candidate, k.ite(wins, leader_change(s, s.epoch[candidate]), 0))
    commit_alone(k, s, candidate)


def commit_alone(k: Primitives, s: View, leader: int) -> None:
    """Effect: a leader that is a majority alone commits at once what it appends."""
    if s.sizes.one_is_enough:
        commit(k, s, leader)


@action(candidate="replica", says="controller {candidate} misses its leader and asks for votes in a new epoch")
def candidate_begin_epoch(k: Primitives, s: View, candidate: int) -> Clauses:
    """A voter asks for votes in the next epoch: after a follower's fetch time-out, or the election time-out, at any time.

    With pre-vote it asks first whether it would win: a majority that runs, knows of no newer epoch and has no better log.

    Source: KafkaRaftClient.pollFollowerAsVoter, transitionToCandidate; KIP-996.
    """
    yield "is running", s.is_running[candidate]
    yield "is a voter", is_voter(k, s, candidate, candidate)
    yield "does not lead", k.not_(is_leader(s, candidate))
    yield "bound: an epoch is left", s.epoch[candidate] < s.sizes.epoch - 1
    yield "bound: a slot is left", has_room(k, s, candidate)
    willing = [
        k.all_of(
            s.is_running[each],
            s.epoch[each] <= s.epoch[candidate],
            k.not_(is_leader(s, each)),
            True if each == candidate else k.not_(is_longer_log(k, s, each, candidate)),
        )
        for each in everyone(s)
    ]
    yield "a majority would vote for it", k.any_of(k.not_(s.pre_vote), is_enough(k, s, candidate, willing))
    forget_role(s, candidate)
    s.epoch[candidate] = s.epoch[candidate] + 1
    s.leader[candidate] = NO_REPLICA
    s.voted_for[candidate] = candidate
    s.role[candidate] = CANDIDATE
    s.has_vote[candidate][candidate] = True
    count_votes(k, s, candidate)


@action(broker="replica", candidate="replica", where=different, says="controller {broker} votes for {candidate}")
def voter_grant_vote(k: Primitives, s: View, broker: int, candidate: int) -> Clauses:
    """A voter gives its one vote in the candidate's epoch, its own or a newer one, if its log is no newer than the candidate's.

    Together with majorities that meet in a voter, the log check is what keeps a committed entry: who wins has it.  A vote that
    a restart forgets can be given twice.

    Source: KafkaRaftClient.handleVoteRequest, UnattachedState.canGrantVote; Raft 5.2, 5.4.1.
    """
    yield "is candidate", k.all_of(s.is_running[candidate], is_candidate(s, candidate))
    yield "is running", s.is_running[broker]
    yield "is a voter of the candidate's", is_voter(k, s, broker, candidate)
    newer = s.epoch[broker] < s.epoch[candidate]
    has_no_leader = k.all_of(s.epoch[broker] == s.epoch[candidate], s.leader[broker] == NO_REPLICA)
    is_free = k.any_of(s.voted_for[broker] == NO_REPLICA, s.voted_for[broker] == candidate)
    yield "has not voted for another", k.any_of(newer, k.all_of(has_no_leader, is_free))
    yield "has no better log", k.any_of(k.not_(s.vote_log_check), k.not_(is_longer_log(k, s, broker, candidate)))
    yield "bound: has not answered", k.not_(s.has_vote[candidate][broker])
    enter_epoch(k, s, broker, s.epoch[candidate], newer)
    s.voted_for[broker] = candidate
    s.has_vote[candidate][broker] = True
    count_votes(k, s, candidate)


@action(broker="replica", replica="replica", where=different, says="controller {broker} learns of {replica}'s newer epoch")
def voter_learn_epoch(k: Primitives, s: View, broker: int, replica: int) -> Clauses:
    """A request or an answer of a newer epoch ends what a voter was in its own, though it may refuse its vote.

    Source: KafkaRaftClient.maybeTransition; Raft 5.1.
    """
    yield "is running", k.all_of(s.is_running[broker], s.is_running[replica])
    yield "epoch is newer", s.epoch[replica] > s.epoch[broker]
    enter_epoch(k, s, broker, s.epoch[replica], True)


@action(
    broker="replica", leader="replica", where=different, says="controller {broker} learns that {leader} leads and follows it"
)
def voter_follow(k: Primitives, s: View, broker: int, leader: int) -> Clauses:
    """A voter is told who leads in its epoch or a newer one, and follows it.  A vote that it gave in that epoch stays on disk.

    Source: KafkaRaftClient.handleBeginQuorumEpochRequest, QuorumState.transitionToFollower.
    """
    yield "is running", k.all_of(s.is_running[broker], s.is_running[leader])
    yield "leads", is_leader(s, leader)
    newer = s.epoch[leader] > s.epoch[broker]
    unknown = k.all_of(s.epoch[leader] == s.epoch[broker], s.leader[broker] == NO_REPLICA)
    yield "is no older", k.any_of(newer, unknown)
    enter_epoch(k, s, broker, s.epoch[leader], newer)
    forget_role(s, broker)
    s.leader[broker] = leader


@action(leader="replica", says="{leader} appends the next record")
def controller_append(k: Primitives, s: View, leader: int) -> Clauses:
    """The active controller writes a record; so does any that believes it is leader, in its own epoch.

    Source: KafkaRaftClient.prepareAppend, schedulePreparedAppend.
    """
    yield "leads", k.all_of(s.is_running[leader], is_leader(s, leader))
    yield "bound: a record is left", s.next_record < s.sizes.record
    yield "bound: a slot is left", has_room(k, s, leader)
    record = s.next_record + 1
    s.next_record = record
    for each in range(s.sizes.record):
        s.record_epoch[each] = k.ite(record == each + 1, s.epoch[leader], s.record_epoch[each])
    append_as_leader(k, s, leader, record)
    commit_alone(k, s, leader)


def follows(k: Primitives, s: View, follower: int, leader: int) -> Clauses:
    """Clauses: a fetch of the follower reaches a leader of its epoch."""
    yield "is running", k.all_of(s.is_running[follower], s.is_running[leader])
    yield "leads", is_leader(s, leader)
    yield "in the leader's epoch", k.all_of(s.leader[follower] == leader, s.epoch[follower] == s.epoch[leader])


def counted_end(k: Primitives, s: View, follower: int, leader: int) -> Value:
    """Return how far a follower's log counts for a leader: to where it fetches; without that rule one more, if there is one."""
    end = log_end(k, s, follower)
    return k.ite(s.count_on_fetch, end, smaller(k, end + 1, log_end(k, s, leader)))


@action(leader="replica", follower="replica", where=different, says="{leader} handles the fetch of {follower}")
def leader_note_fetch(k: Primitives, s: View, leader: int, follower: int) -> Clauses:
    """The leader notes how far the follower's log reaches, on disk if followers flush before they fetch; it may commit.

    Source: KafkaRaftClient.handleFetchRequest, tryCompleteFetchRequest; LeaderState.updateReplicaState.
    """
    yield from follows(k, s, follower, leader)
    yield "logs agree", is_prefix(k, s, follower, leader)
    yield "the log begins before", has_start(k, s, leader, follower)
    counted = counted_end(k, s, follower, leader)
    yield "bound: says something new", s.fetch_offset[leader][follower] != counted
    s.fetch_offset[leader][follower] = counted
    commit(k, s, leader)


@action(follower="replica", leader="replica", where=different, says="{follower} appends from a fetch response of {leader}")
def follower_append(k: Primitives, s: View, follower: int, leader: int) -> Clauses:
    """The answer brings an entry, or a high watermark alone.  Source: KafkaRaftClient.handleFetchResponse, appendAsFollower."""
    yield from follows(k, s, follower, leader)
    yield "the log begins before", has_start(k, s, leader, follower)
    yield "bound: the request was handled", s.fetch_offset[leader][follower] == counted_end(k, s, follower, leader)
    yield "bound: brings something", brings_something(k, s, follower, leader)
    yield "logs agree", is_prefix(k, s, follower, leader)
    append_fetched(k, s, follower, leader)
    if s.sizes.flushed_end and s.sizes.follower_flushes:
        s.flushed_end[follower] = log_end(k, s, follower)


@action(follower="replica", leader="replica", where=different, says="{follower} learns from {leader} that their logs diverge")
def follower_truncate(k: Primitives, s: View, follower: int, leader: int) -> Clauses:
    """The follower drops what follows the last entry that both share; if no data was lost, it was never committed.

    Source: KafkaRaftClient.handleFetchResponse (divergingEpoch), ReplicatedLog.truncateToEndOffset.
    """
    yield from follows(k, s, follower, leader)
    yield "bound: logs diverge", k.not_(is_prefix(k, s, follower, leader))
    yield "the log begins before", has_start(k, s, leader, follower)
    truncated(k, s, follower, common_end(k, s, follower, leader))
    s.high_watermark[follower] = smaller(k, s.high_watermark[follower], log_end(k, s, follower))
