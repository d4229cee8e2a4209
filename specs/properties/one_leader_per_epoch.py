"""No two voters lead in one epoch."""

from __future__ import annotations

from typing import Any

from neverlost.model.kernel import Value
from neverlost.model.quorum.roles import is_leader
from neverlost.specs.property import Property


def one_leader_per_epoch(k: Any, s: Any) -> Value:
    """Source: NeverTwoLeadersInSameEpoch of KRaft.tla."""
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


PROPERTY = Property(
    name="one-leader-per-epoch",
    says="no two voters of a quorum lead in one epoch",
    failure="has two leaders in one epoch",
    condition=one_leader_per_epoch,
    needs=("epoch", "role"),
    violated_by="kraft-quorum",
    source="NeverTwoLeadersInSameEpoch of KRaft.tla; Raft 5.2, election safety",
)
