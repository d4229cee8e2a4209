"""Voters that are added and removed, one at a time, by records of the quorum's own log (KIP-853).

Two sets that differ in one voter have majorities that meet.  So a leader changes its set only if the one before is committed,
and only after it has committed an entry of its own epoch: else a change of an earlier leader might still be under way.

Source: AddVoterHandler, RemoveVoterHandler, KafkaRaftClient.
"""

from __future__ import annotations

from neverlost.model.kernel import Clauses, Primitives, Value, action, count
from neverlost.model.kraft.broker.log import has_room, log_end, offsets
from neverlost.model.quorum.log import append_as_leader, epoch_of, set_change
from neverlost.model.quorum.membership import directory, is_voter, last_set, set_offset
from neverlost.model.quorum.roles import is_leader
from neverlost.model.quorum.voters import commit_alone, forget_role
from neverlost.model.system import View


def has_committed(k: Primitives, s: View, leader: int) -> Value:
    """Return True if a leader has committed an entry of its own epoch."""
    return k.any_of(
        *[
            k.all_of(s.high_watermark[leader] > offset, epoch_of(k, s, s.log_record[leader][offset]) == s.epoch[leader])
            for offset in offsets(s)
        ]
    )


def may_change(k: Primitives, s: View, leader: int, change: int) -> Clauses:
    """Clauses: a leader may append the set of voters of `change`, the next one: it has committed in its epoch, and the set
    before, unless those rules are switched off."""
    yield "leads", k.all_of(s.is_running[leader], is_leader(s, leader))
    yield "bound: the next change", s.next_change == change
    yield "bound: a slot is left", has_room(k, s, leader)
    yield "has committed in its epoch", k.any_of(k.not_(s.change_after_own_commit), has_committed(k, s, leader))
    settled = set_offset(k, s, leader) <= s.high_watermark[leader]
    yield "the set before is committed", k.any_of(k.not_(s.one_change_at_a_time), settled)


def append_set(k: Primitives, s: View, leader: int, change: int, members: list[Value]) -> None:
    """Effect: the leader appends a set of voters for a change; `members` is as `last_set` gives it; it counts from here on."""
    s.next_change = change + 1
    s.change_epoch[change] = s.epoch[leader]
    for each in range(s.sizes.replica):
        s.voter_set[change + 1][each] = members[each]
    append_as_leader(k, s, leader, set_change(s, change))
    commit_alone(k, s, leader)


@action(
    leader="replica",
    candidate="replica",
    change="change",
    where=lambda leader, candidate, change: leader != candidate,
    says="{leader} adds {candidate} to the voters",
)
def leader_add_voter(k: Primitives, s: View, leader: int, candidate: int, change: int) -> Clauses:
    """An observer that has fetched up to the log's end becomes a voter; its id must be in no entry of the set.

    Source: AddVoterHandler (DUPLICATE_VOTER), LeaderState.isReplicaCaughtUp.
    """
    yield from may_change(k, s, leader, change)
    members = last_set(k, s, leader)
    yield "is in no entry", members[candidate] == 0
    yield "has caught up", s.fetch_offset[leader][candidate] == log_end(k, s, leader)
    members[candidate] = directory(s, candidate)
    append_set(k, s, leader, change, members)


@action(leader="replica", candidate="replica", change="change", says="{leader} removes {candidate} from the voters")
def leader_remove_voter(k: Primitives, s: View, leader: int, candidate: int, change: int) -> Clauses:
    """Any voter may be removed, one whose directory is lost too, and the leader itself; the last one stays.

    Source: RemoveVoterHandler.
    """
    yield from may_change(k, s, leader, change)
    members = last_set(k, s, leader)
    yield "is in an entry", members[candidate] != 0
    yield "another stays", count(k, [each != 0 for each in members]) > 1
    members[candidate] = 0
    append_set(k, s, leader, change, members)


@action(leader="replica", says="{leader} resigns, since the set without it is committed")
def leader_resign(k: Primitives, s: View, leader: int) -> Clauses:
    """A leader that was removed gives up its role once the set without it is committed; until then it leads without a vote.

    Source: RemoveVoterHandler.highWatermarkUpdated, LeaderState.requestResign.
    """
    yield "leads", k.all_of(s.is_running[leader], is_leader(s, leader))
    yield "is no voter", k.not_(is_voter(k, s, leader, leader))
    yield "the set is committed", set_offset(k, s, leader) <= s.high_watermark[leader] if s.sizes.change else False
    forget_role(s, leader)
