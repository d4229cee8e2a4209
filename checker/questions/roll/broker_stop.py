"""Some brokers are stopped in a controlled way, and one at a time of them all suffers something further: what `roll` asks."""

from __future__ import annotations

from dataclasses import dataclass

from neverlost.model.any_number import AnyNumber
from neverlost.model.faults import CLEAN_STOP, DATA_LOSS, FENCE, KILL, LEADER_MOVE


@dataclass(frozen=True)
class FirstAct:
    """What to do before a stop, in words; if it is to wait, `event` says for what, `brokers` for which, if any are named."""

    says: str
    event: str | None = None
    brokers: tuple[str, ...] = ()


FURTHER = (DATA_LOSS, KILL, FENCE)
"""What one broker at a time may suffer meanwhile."""


@dataclass(frozen=True)
class Stop:
    """How many replicas in the ISR are stopped, once each, and by name the further fault that may happen; empty for none.  The
    stopped ones may return; without a further fault, the leader may move once, as after a return."""

    stopped: int
    further: str = ""

    @property
    def limits(self) -> dict[str, int | AnyNumber]:
        """The limits of faults, by `faults.*` key, with which the stop is asked about."""
        further = {each.key: AnyNumber(1) for each in FURTHER if each.name == self.further}
        return {CLEAN_STOP.key: self.stopped, **(further or {LEADER_MOVE.key: 1})}


def stops(most: int) -> list[Stop]:
    """Return every `Stop` of 0 to `most` replicas, each without a further fault and with each of `FURTHER`."""
    return [Stop(stopped, further) for stopped in range(most + 1) for further in ("", *(each.name for each in FURTHER))]
