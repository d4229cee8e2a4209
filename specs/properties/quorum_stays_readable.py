"""A majority log has a leader to read from whenever its brokers have finished reacting."""

from __future__ import annotations

from typing import Any

from neverlost.model.kernel import Value, implies
from neverlost.model.majority.availability import is_led, is_settled
from neverlost.specs.property import AVAILABILITY, Property


def quorum_stays_readable(k: Any, s: Any) -> Value:
    """Return a leader without a majority goes on answering reads of what is committed; once it stops, none takes its place."""
    return implies(k, is_settled(k, s), is_led(k, s))


PROPERTY = Property(
    name="quorum-stays-readable",
    says="whenever its brokers have reacted to what happened, a majority log has a leader that answers reads",
    failure="stops answering reads",
    condition=quorum_stays_readable,
    needs=("follows", "leader_knows", "newest_term"),
    violated_by="majority",
    source="Raft 8; consumers read from the leader, which asks no other",
    kind=AVAILABILITY,
)
