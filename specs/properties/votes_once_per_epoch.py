"""No voter's vote is counted by two candidates of one epoch."""

from __future__ import annotations

from typing import Any

from neverlost.model.kernel import Value
from neverlost.specs.property import Property


def votes_once_per_epoch(k: Any, s: Any) -> Value:
    """A voter that has lost its directory does not know that it has voted: without directory ids it may vote again."""
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


PROPERTY = Property(
    name="votes-once-per-epoch",
    says="no voter's vote is counted by two candidates of one epoch",
    failure="counts a vote twice",
    condition=votes_once_per_epoch,
    needs=("epoch", "has_vote", "is_running"),
    violated_by="kraft-quorum",
    source="Raft 5.2; KIP-595, Vote",
)
