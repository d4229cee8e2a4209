"""Whatever a leader of the newest epoch has committed is on a majority of its voters."""

from __future__ import annotations

from typing import Any

from neverlost.model.kernel import Value, implies
from neverlost.model.kraft.broker.log import EMPTY, offsets
from neverlost.model.quorum.membership import is_majority
from neverlost.model.quorum.roles import is_leader
from neverlost.specs.property import Property


def quorum_commits_on_majority(k: Any, s: Any) -> Value:
    """Voters that stand still count; what a lost directory took with it is missing here before any leader lacks it."""
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


PROPERTY = Property(
    name="quorum-commits-on-majority",
    says="whatever a leader of the newest epoch has committed is on a majority of its voters",
    failure="commits what no majority has",
    condition=quorum_commits_on_majority,
    needs=("epoch", "fetch_offset", "has_vote", "high_watermark", "log_record", "role"),
    violated_by="kraft-quorum",
    source="CommittedEntriesReachMajority of KRaft.tla; Raft 5.3",
)
