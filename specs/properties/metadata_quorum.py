"""What the metadata quorum keeps: votes, leaders, committed and acknowledged metadata."""

from __future__ import annotations

from typing import Any

from neverlost.model.kernel import Value, implies
from neverlost.model.kraft.broker.log import EMPTY, offsets
from neverlost.model.quorum.log import holds_readable
from neverlost.model.quorum.membership import is_majority
from neverlost.model.quorum.partition import copies, leader_by
from neverlost.model.quorum.roles import is_leader
from neverlost.specs.property import as_property


@as_property(
    says="no voter's vote is counted by two candidates of one epoch at once",
    failure="counts a vote twice",
    needs=("epoch", "has_vote", "is_running"),
    violated_by="kraft-quorum",
    source="Raft 5.2; KIP-595, Vote",
    compares=("replica",),
)
def votes_once_per_epoch(k: Any, s: Any) -> Value:
    """No two candidates of one epoch have the vote of one voter; without directory ids a voter that lost its directory may vote
    twice, which breaks it."""
    voters = range(s.sizes.replica)
    return k.not_(
        k.any_of(
            False,
            *[
                k.all_of(s.has_vote[one][voter], s.has_vote[other][voter], s.epoch[one] == s.epoch[other])
                for one in voters
                for other in voters
                if one < other
                for voter in voters
            ],
        )
    )


@as_property(
    says="no two voters of a quorum lead at once in one epoch",
    failure="has two leaders in one epoch",
    needs=("epoch", "role"),
    violated_by="kraft-quorum",
    source="NeverTwoLeadersInSameEpoch of KRaft.tla; Raft 5.2, election safety",
    compares=("replica",),
)
def one_leader_per_epoch(k: Any, s: Any) -> Value:
    """No two voters lead at once in one epoch (NeverTwoLeadersInSameEpoch of KRaft.tla)."""
    voters = range(s.sizes.replica)
    return k.not_(
        k.any_of(
            False,
            *[
                k.all_of(is_leader(s, one), is_leader(s, other), s.epoch[one] == s.epoch[other])
                for one in voters
                for other in voters
                if one < other
            ],
        )
    )


@as_property(
    says="whatever a leader of the newest epoch has committed is on a majority of the voters that it knows",
    failure="commits what no majority has",
    needs=("epoch", "fetch_offset", "has_vote", "high_watermark", "log_record", "role"),
    violated_by="kraft-quorum",
    source="CommittedEntriesReachMajority of KRaft.tla; Raft 5.3",
    compares=("replica",),
)
def quorum_commits_on_majority(k: Any, s: Any) -> Value:
    """What a leader of the newest epoch committed is on a majority of its voters; those that are down count by their logs."""
    voters = range(s.sizes.replica)

    def is_held(leader: int, offset: int) -> Value:
        here = s.log_record[leader][offset]
        return k.all_of(here != EMPTY, is_majority(k, s, leader, [s.log_record[each][offset] == here for each in voters]))

    newest = [
        k.all_of(is_leader(s, leader), *[s.epoch[each] <= s.epoch[leader] for each in voters if each != leader])
        for leader in voters
    ]
    return k.all_of(
        *[
            implies(k, k.all_of(newest[leader], s.high_watermark[leader] > offset), is_held(leader, offset))
            for leader in voters
            for offset in offsets(s)
        ]
    )


@as_property(
    says="no leader of the newest epoch lacks an acknowledged record of the quorum's log",
    failure="loses acknowledged metadata",
    needs=("epoch", "ghost_acked", "log_record", "role"),
    violated_by="kraft-quorum",
    source="LeaderHasAllAckedValues of KRaft.tla and PullRaft.tla; Raft 5.4, leader completeness",
)
def quorum_keeps_acked(k: Any, s: Any) -> Value:
    """No leader of the newest epoch that any voter knows, running or not, lacks an acknowledged record."""
    voters = range(s.sizes.replica)
    newest = [
        k.all_of(is_leader(s, leader), *[s.epoch[each] <= s.epoch[leader] for each in voters if each != leader])
        for leader in voters
    ]
    return k.all_of(
        *[
            implies(k, k.all_of(newest[leader], s.ghost_acked[record]), holds_readable(k, s, leader, record))
            for leader in voters
            for record in range(s.sizes.record)
        ]
    )


@as_property(
    says="the partition leader that all brokers know has the acknowledged record, whatever became of the metadata",
    failure="loses acknowledged data by losing metadata",
    needs=("decided_isr", "has_data", "learned"),
    violated_by="kraft-composed",
    source="the one controller that the partition models rely on",
)
def data_outlives_metadata(k: Any, s: Any) -> Value:
    """The leader of which brokers have learned has the acknowledged record; else all copies would truncate to its log."""
    return k.all_of(
        *[implies(k, k.all_of(s.ghost_data_acked, leader_by(k, s, s.learned, copy)), s.has_data[copy]) for copy in copies(s)]
    )
