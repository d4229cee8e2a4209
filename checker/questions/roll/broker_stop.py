"""Some brokers are stopped in a controlled way, and one at a time of them all suffers something further: what `roll` asks."""

from __future__ import annotations

from dataclasses import dataclass

from neverlost.model.any_number import AnyNumber
from neverlost.model.faults import CLEAN_STOP, DATA_LOSS, FENCE, KILL, LEADER_MOVE

FURTHER = (DATA_LOSS, KILL, FENCE)
"""What one broker at a time may suffer meanwhile."""


@dataclass(frozen=True)
class Stop:
    """How many replicas in the ISR are stopped, once each, and by name the further fault, if any.

    They may return; `is_rebalanced`: once a preferred leader election moves the leader, as Kafka does after a return.
    """

    stopped: int
    further: str = ""
    is_rebalanced: bool = False

    @property
    def limits(self) -> dict[str, int | AnyNumber]:
        """The fault limits that it stands for."""
        moves = {LEADER_MOVE.key: 1} if self.is_rebalanced else {}
        return {CLEAN_STOP.key: self.stopped, **moves} | {
            each.key: AnyNumber(1) for each in FURTHER if each.name == self.further
        }


def stops(most: int) -> list[Stop]:
    """Return every question about so many stopped replicas at most."""
    return [Stop(stopped, further) for stopped in range(most + 1) for further in ("", *(each.name for each in FURTHER))]


ROUND_TRIPS = (Stop(0, is_rebalanced=True), Stop(1, is_rebalanced=True))
"""One broker stops, returns and is elected as preferred leader: outside the ISR, or a member of it."""
