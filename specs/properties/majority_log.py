"""What goes on, or can go on again, in a log of a majority: writes and reads."""

from __future__ import annotations

from typing import Any

from neverlost.model.kernel import Value, implies
from neverlost.model.majority.availability import is_led, is_settled, is_writable
from neverlost.specs.property import AVAILABILITY, RECOVERY, as_property


@as_property(
    says="whenever its brokers have reacted to what happened, a majority log accepts writes",
    failure="stops accepting writes",
    needs=("follows", "leader_knows", "newest_term"),
    violated_by="majority",
    source="Raft 5.4.3; P-WAV for an ISR",
    kind=AVAILABILITY,
)
def quorum_stays_writable(k: Any, s: Any) -> Value:
    """A log whose brokers are settled accepts writes; an election that is possible and has not happened yet is not counted."""
    return implies(k, is_settled(k, s), is_writable(k, s))


@as_property(
    says="whenever its brokers have reacted to what happened, a majority log has a leader that answers reads",
    failure="stops answering reads",
    needs=("follows", "leader_knows", "newest_term"),
    violated_by="majority",
    source="Raft 8; consumers read from the leader, which asks no other",
    kind=AVAILABILITY,
)
def quorum_stays_readable(k: Any, s: Any) -> Value:
    """A log whose brokers are settled has a leader that answers reads, even one that has no majority any more."""
    return implies(k, is_settled(k, s), is_led(k, s))


@as_property(
    says="from every reachable state, without a further fault, a majority log can come to accept writes again",
    failure="cannot accept writes again",
    needs=("follows", "leader_knows", "newest_term"),
    violated_by="majority-broker_restart",
    source="Raft 5.4.3; P-RAV for an ISR",
    kind=RECOVERY,
)
def quorum_recovers_writable(k: Any, s: Any) -> Value:
    """The log accepts writes, which must be possible again everywhere: dead brokers may start, and that takes no budget."""
    return is_writable(k, s)
