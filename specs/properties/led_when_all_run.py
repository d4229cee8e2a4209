"""When every broker is back, the partition has a leader: it does not wait for an operator."""

from __future__ import annotations

from typing import Any

from neverlost.model.kernel import NO_REPLICA, Value, implies
from neverlost.model.kraft.state import everyone
from neverlost.specs.property import AVAILABILITY, Property


def led_when_all_run(k: Any, s: Any) -> Value:
    """Electing is part of the step that unfences the last broker, so no state in between is counted."""
    back = k.all_of(*[k.all_of(s.is_running[each], k.not_(s.is_fenced[each])) for each in everyone(s)])
    return implies(k, back, s.leader != NO_REPLICA)


PROPERTY = Property(
    name="led-when-all-run",
    says="when every broker runs and is registered, the partition has a leader",
    failure="stays without a leader",
    condition=led_when_all_run,
    needs=("is_fenced", "is_running", "leader"),
    violated_by="kraft-elr",
    source="P-RAV for brokers that are back; ClearElrRecord empties what could be elected",
    kind=AVAILABILITY,
)
