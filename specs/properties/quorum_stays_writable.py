"""A majority log accepts writes whenever its brokers have finished reacting."""

from __future__ import annotations

from typing import Any

from neverlost.model.kernel import Value, implies
from neverlost.model.majority.availability import is_settled, is_writable
from neverlost.specs.property import AVAILABILITY, Property


def quorum_stays_writable(k: Any, s: Any) -> Value:
    """An election that is possible and has not happened yet is not counted."""
    return implies(k, is_settled(k, s), is_writable(k, s))


PROPERTY = Property(
    name="quorum-stays-writable",
    says="whenever its brokers have reacted to what happened, a majority log accepts writes",
    failure="stops accepting writes",
    condition=quorum_stays_writable,
    needs=("follows", "leader_knows", "newest_term"),
    violated_by="majority",
    source="Raft 5.4.3; P-WAV for an ISR",
    kind=AVAILABILITY,
)
