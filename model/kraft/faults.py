"""What may go wrong: one declaration for each kind of fault, and how a step spends one.

The configuration key `faults.NAME`, its help, the field `NAME_left` and the words of the reports are made from it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from neverlost.model.kernel import Clauses, Field, Primitives, number
from neverlost.model.system import View

BROKER, RACK, NOTHING = "broker", "rack", "nothing"
"""What a fault impairs: one broker, every broker of a rack, or no replica at all."""


@dataclass(frozen=True)
class Fault:
    """One kind of fault.

    `one` and `many` are its nouns, `says` completes "how many times ...".  `impairs` is what it strikes, `stops` whether
    a process ends, `loses_data` whether the log may be shorter afterwards, `in_majority` whether the majority quorum
    knows it too, and `is_structural` whether the model has fields or axes only where it can happen.
    """

    name: str
    one: str
    many: str
    says: str
    impairs: str = BROKER
    stops: bool = False
    loses_data: bool = False
    in_majority: bool = False
    is_structural: bool = False

    @property
    def key(self) -> str:
        """Its configuration key."""
        return f"faults.{self.name}"

    @property
    def left(self) -> str:
        """The field that counts how many are left."""
        return f"{self.name}_left"

    @property
    def budget(self) -> str:
        """The frozen field that holds how many there were."""
        return f"{self.name}_budget"


CRASH = Fault(
    "crash",
    "broker down",
    "brokers down",
    "a broker may stop and come back with its log intact",
    stops=True,
    in_majority=True,
)
LOSSY_CRASH = Fault(
    "lossy_crash",
    "lossy restart",
    "lossy restarts",
    "a broker may come back having lost an unflushed suffix of its log",
    stops=True,
    loses_data=True,
    in_majority=True,
)
DISK_LOSS = Fault(
    "disk_loss",
    "lost disk",
    "lost disks",
    "a broker may come back with an empty log directory",
    stops=True,
    loses_data=True,
    in_majority=True,
)
ISR_SHRINK = Fault("isr_shrink", "slow follower", "slow followers", "a leader may drop a slow, live follower")
FENCE = Fault("fence", "fenced broker", "fenced brokers", "the controller may fence a live broker")
LEADER_MOVE = Fault(
    "leader_move",
    "leader move",
    "leader moves",
    "the controller may move leadership without a failure",
    impairs=NOTHING,
    in_majority=True,
)
REASSIGN = Fault(
    "reassign",
    "reassignment",
    "reassignments",
    "the partition may be reassigned",
    impairs=NOTHING,
    is_structural=True,
)
PRODUCER_RETRY = Fault(
    "producer_retry",
    "producer retry",
    "producer retries",
    "the producer may retry a record",
    impairs=NOTHING,
    is_structural=True,
)
CONSUMER_CRASH = Fault(
    "consumer_crash",
    "consumer crash",
    "consumer crashes",
    "the consumer may crash",
    impairs=NOTHING,
    is_structural=True,
)
RACK_LOSS = Fault(
    "rack_loss",
    "lost rack",
    "lost racks",
    "every broker of one rack crashes at once, losing its unflushed suffix",
    impairs=RACK,
    stops=True,
    loses_data=True,
    is_structural=True,
)
MIN_ISR_CHANGE = Fault(
    "min_isr_change",
    "raised min.insync.replicas",
    "raises of min.insync.replicas",
    "an operator may raise min.insync.replicas by one while the cluster runs",
    impairs=NOTHING,
    is_structural=True,
)

FAULTS = (
    CRASH,
    LOSSY_CRASH,
    DISK_LOSS,
    ISR_SHRINK,
    FENCE,
    LEADER_MOVE,
    REASSIGN,
    PRODUCER_RETRY,
    CONSUMER_CRASH,
    RACK_LOSS,
    MIN_ISR_CHANGE,
)
"""Every kind of fault that is bounded, in the order of the keys."""

MAJORITY_FAULTS = tuple(each for each in FAULTS if each.in_majority)
"""Those that a majority quorum knows."""


def left(configuration: Mapping[str, Any], faults: tuple[Fault, ...]) -> dict[str, int]:
    """The fields that count down, as a search begins."""
    return {each.left: configuration[each.key] for each in faults}


def left_fields(configuration: Mapping[str, Any], faults: tuple[Fault, ...]) -> tuple[Field, ...]:
    """The fields that count down."""
    return tuple(number(each.left, 0, configuration[each.key]) for each in faults)


def may_strike(k: Primitives, s: View, fault: Fault) -> Clauses:
    """Clause: the search allows one more."""
    yield f"bound: one more {fault.one}", getattr(s, fault.left) > 0


def strike(s: View, fault: Fault) -> None:
    """Effect: one has happened."""
    setattr(s, fault.left, getattr(s, fault.left) - 1)
