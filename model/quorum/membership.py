"""Who votes: a set of controllers that is fixed, or the last one that a controller's log has (KIP-853).

A set in the log counts as soon as it is appended, committed or not, and the one before it counts again if it is truncated.  It
names every member with its directory: who comes back with another one is not the member.  `voter_set` has the set at the
beginning and one for each change; its numbers are directories, 0 for a controller that is no voter.

Source: KIP-853; VoterSet, KRaftControlRecordStateMachine.
"""

from __future__ import annotations

from neverlost.model.kernel import Primitives, Value, count
from neverlost.model.kraft.broker.log import offsets
from neverlost.model.quorum.roles import is_leader
from neverlost.model.system import View

FIRST_DIRECTORY, NEXT_DIRECTORY = 1, 2
"""The directory that a controller begins with, and the one that it has once that was lost."""


def first_change(s: View) -> int:
    """Return the number that stands in a log for the first change of voters; records and leaders' entries have smaller ones."""
    return int(s.sizes.record + s.sizes.epoch)


def set_offset(k: Primitives, s: View, controller: int) -> Value:
    """Return one more than the offset of a log's last set of voters; 0 if it has none: the first set counts."""
    found: Value = 0
    for offset in offsets(s):
        found = k.ite(s.log_record[controller][offset] >= first_change(s), offset + 1, found)
    return found


def last_set(k: Primitives, s: View, controller: int) -> list[Value]:
    """Return the last set of voters of a controller's log, else the first set: a directory or 0 for each controller."""
    number: Value = 0
    for offset in offsets(s):
        here = s.log_record[controller][offset]
        number = k.ite(here >= first_change(s), here - first_change(s) + 1, number)
    found = list(s.voter_set[0])
    for change in range(s.sizes.change):
        found = [k.ite(number == change + 1, s.voter_set[change + 1][each], found[each]) for each in range(s.sizes.replica)]
    return found


def directory(s: View, controller: int) -> Value:
    """Return the directory that a controller has."""
    return s.directory[controller] if s.sizes.directory else FIRST_DIRECTORY


def is_voter(k: Primitives, s: View, controller: int, seen_by: int) -> Value:
    """Return True if a controller is a voter: the last set in `seen_by`'s log names the directory that it has; if sets never
    change, all are, but with directory ids not one that has lost its directory."""
    if s.sizes.change:
        return last_set(k, s, seen_by)[controller] == directory(s, controller)
    return s.is_voter[controller] if s.sizes.directory_ids else True


def counted(k: Primitives, s: View, leader: int, agreeing: list[Value]) -> tuple[Value, Value]:
    """Return how many of the voters agree, and how many voters there are, by the log of the controller that asks.

    A leader that its own set leaves out does not count itself, unless that rule is switched off (KAFKA-16530).
    """
    if not s.sizes.change:
        return count(k, [k.all_of(is_voter(k, s, each, leader), one) for each, one in enumerate(agreeing)]), s.sizes.replica
    members = last_set(k, s, leader)
    voting = [members[each] == directory(s, each) for each in range(s.sizes.replica)]
    voting[leader] = k.any_of(voting[leader], k.all_of(is_leader(s, leader), k.not_(s.removed_leader_not_counted)))
    return count(k, [k.all_of(voting[each], one) for each, one in enumerate(agreeing)]), count(
        k, [each != 0 for each in members]
    )


def is_majority(k: Primitives, s: View, leader: int, agreeing: list[Value]) -> Value:
    """Return True if those that agree are more than half of the voters."""
    agreed, voters = counted(k, s, leader, agreeing)
    return agreed + agreed > voters


def is_enough(k: Primitives, s: View, leader: int, agreeing: list[Value]) -> Value:
    """Return True if those that agree elect or commit: a majority or, where that rule is switched off, at least half.

    Source: LeaderState.maybeUpdateHighWatermark; EpochElection.
    """
    if s.sizes.more_than_half:
        return is_majority(k, s, leader, agreeing)
    agreed, voters = counted(k, s, leader, agreeing)
    return k.all_of(agreed > 0, agreed + agreed >= voters)
