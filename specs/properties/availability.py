"""What goes on, or can go on again: a partition's leader, and writes to it."""

from __future__ import annotations

from typing import Any

from neverlost.model.kernel import NO_REPLICA, Value, implies
from neverlost.model.kraft.broker.availability import is_settled, is_writable
from neverlost.model.kraft.state import everyone
from neverlost.specs.property import AVAILABILITY, RECOVERY, as_property


@as_property(
    says="writes are accepted once the controller fences just those that are down and any leader has the newest metadata",
    failure="stops accepting writes",
    needs=("is_fenced", "leader_isr", "leader_knows"),
    violated_by="kraft",
    source="P-WAV",
    kind=AVAILABILITY,
)
def stays_writable(k: Any, s: Any) -> Value:
    """The partition accepts writes whenever just the brokers that are down are fenced and the leader, if any, is up to date."""
    return implies(k, is_settled(k, s), is_writable(k, s))


@as_property(
    says="from every reachable state, without a further fault, the leader can come to accept the producer's writes again",
    failure="cannot accept writes again",
    needs=("is_fenced", "leader_isr", "leader_knows"),
    violated_by="kraft-elr",
    source="P-RAV; broken where only an operator can give the partition a leader again, by an unclean election",
    kind=RECOVERY,
)
def recovers_writable(k: Any, s: Any) -> Value:
    """The leader accepts writes, which must be possible again everywhere: dead brokers may start, fenced ones be unfenced.

    Whether the producer has a record left to send does not matter, so that a spent bound is no loss of availability.
    """
    return is_writable(k, s)


@as_property(
    says="when every broker runs and is unfenced, the partition has a leader",
    failure="stays without a leader",
    needs=("is_fenced", "is_running", "leader"),
    violated_by="kraft-elr",
    source="P-RAV for brokers that are back; ClearElrRecord empties what could be elected",
    kind=AVAILABILITY,
)
def led_when_all_run(k: Any, s: Any) -> Value:
    """If every broker runs and is unfenced there is a leader: the step that unfences the last broker elects it too."""
    back = k.all_of(*[k.all_of(s.is_running[each], k.not_(s.is_fenced[each])) for each in everyone(s)])
    return implies(k, back, s.leader != NO_REPLICA)
