"""What may go wrong: one declaration for each kind of fault.

The configuration key `faults.NAME`, its help, its limit (`limits.py`) and the words of the reports are made from it, and so is
what it is on a real cluster: how it is brought about, and how a history shows it.
"""

from __future__ import annotations

from dataclasses import dataclass

BROKER, RACK, NOTHING = "broker", "rack", "nothing"
"""What a fault impairs: one broker, every broker of a rack, or no replica at all."""

STOPPED, KILLED, LOST = "stopped", "killed", "lost"
"""How a process ends: in a controlled shutdown, with its log intact, or without unflushed data or its disk."""


@dataclass(frozen=True)
class Fault:
    """One kind of fault.

    `one` and `many` are its nouns, `says` completes "how many times ...".  `impairs` is what it strikes, `in_majority`
    whether the majority quorum knows it too, and `is_structural` whether the model has fields or axes only where it can
    happen.  A fault `of` others stands for all of them: they share one limit.  One that impairs
    a rack and is `of` others strikes its brokers one by one.

    On a cluster: `done` is the operation that brings it about (none: it cannot be, yet), `ends` how a history shows the end of
    the process, and `seen` names it, with its action's arguments, as what an observed partition would not survive.
    """

    name: str
    one: str
    many: str
    says: str
    impairs: str = BROKER
    in_majority: bool = False
    is_structural: bool = False
    of: tuple[str, ...] = ()
    done: str = ""
    ends: str = ""
    seen: str = ""

    @property
    def stops(self) -> bool:
        """True if a process ends."""
        return bool(self.ends)

    @property
    def loses_data(self) -> bool:
        """True if the log may be shorter afterwards."""
        return self.ends == LOST

    @property
    def key(self) -> str:
        """Its configuration key."""
        return f"faults.{self.name}"

    @property
    def is_of_one_rack(self) -> bool:
        """True if it strikes brokers one by one, those of one rack at a time."""
        return self.impairs == RACK and bool(self.of)

    @property
    def left(self) -> str:
        """The field that counts how many are left."""
        return f"{self.name}_left"

    @property
    def limit(self) -> str:
        """The frozen field that holds the limit, as `limits.encoded` writes it."""
        return f"{self.name}_limit"

    @property
    def struck(self) -> str:
        """The field that marks the brokers that it has struck and that are impaired since."""
        return f"ghost_struck_by_{self.name}"


CLEAN_STOP = Fault(
    "clean_stop", "clean stop", "clean stops", "a broker may shut down in a controlled way", done="stop", ends=STOPPED
)
KILL = Fault(
    "kill",
    "killed broker",
    "killed brokers",
    "a broker's process may die, and with it nothing that is in the page cache",
    in_majority=True,
    done="crash",
    ends=KILLED,
    seen="crash of {broker}",
)
CRASH = Fault(
    "crash",
    "broker down",
    "brokers down",
    "a broker may stop and come back with its log intact",
    in_majority=True,
    of=("clean_stop", "kill"),
    done="crash",
    ends=KILLED,
)
LOSSY_CRASH = Fault(
    "lossy_crash",
    "lossy crash",
    "lossy crashes",
    "a broker may lose power: it stops, and may lose an unflushed suffix of its log",
    in_majority=True,
    done="crash-lossy",
    ends=LOST,
    seen="lossy crash of {broker}",
)
DISK_LOSS = Fault(
    "disk_loss",
    "lost disk",
    "lost disks",
    "a broker may come back with an empty log directory",
    in_majority=True,
    done="lose-disk",
    ends=LOST,
    seen="disk loss of {broker}",
)
DATA_LOSS = Fault(
    "data_loss",
    "data loss",
    "data losses",
    "a broker may lose power or its disk, and records that it had with it",
    in_majority=True,
    of=("lossy_crash", "disk_loss"),
    ends=LOST,
)
ISR_SHRINK = Fault("isr_shrink", "slow follower", "slow followers", "a leader may drop a slow, live follower", done="lag")
FENCE = Fault(
    "fence",
    "fenced broker",
    "fenced brokers",
    "the controller may fence a live broker",
    done="silence",
    seen="fencing of {broker}",
)
OUT = Fault(
    "out",
    "broker out",
    "brokers out",
    "a broker may be slow, be fenced or be shut down in a controlled way",
    of=("isr_shrink", "fence", "clean_stop"),
)
LEADER_MOVE = Fault(
    "leader_move",
    "leader move",
    "leader moves",
    "the controller may move leadership without a failure",
    impairs=NOTHING,
    in_majority=True,
    done="move",
    seen="leader move to {elected}",
)
UNCLEAN_ELECTION = Fault(
    "unclean_election",
    "unclean election",
    "unclean elections",
    "an operator may ask for an unclean election of a partition without a leader",
    impairs=NOTHING,
)
REASSIGN = Fault(
    "reassign",
    "reassignment",
    "reassignments",
    "the partition may be reassigned",
    impairs=NOTHING,
    is_structural=True,
    done="reassign",
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
    "one rack loses power: its brokers stop, and each may lose an unflushed suffix of its log",
    impairs=RACK,
    is_structural=True,
    ends=LOST,
)
RACK_DOWN = Fault(
    "rack_down",
    "rack down",
    "racks down",
    "the brokers of one rack may be shut down in a controlled way",
    impairs=RACK,
    is_structural=True,
    of=("clean_stop",),
    ends=STOPPED,
)
RACK_CUT = Fault(
    "rack_cut",
    "rack cut off",
    "racks cut off",
    "the controller may fence live brokers of one rack",
    impairs=RACK,
    is_structural=True,
    of=("fence",),
)
MIN_ISR_CHANGE = Fault(
    "min_isr_change",
    "changed min.insync.replicas",
    "changes of min.insync.replicas",
    "an operator may set min.insync.replicas, to any value that the replicas allow, while the cluster runs",
    impairs=NOTHING,
    is_structural=True,
    done="set-min-isr",
)
REQUEST_COPY = Fault(
    "request_copy",
    "late copy of a request",
    "late copies of requests",
    "the controller may handle a copy of a refused AlterPartition, which the leader sent twice, after the answer",
    impairs=NOTHING,
    is_structural=True,
)

FAULTS = (
    CRASH,
    CLEAN_STOP,
    KILL,
    DATA_LOSS,
    LOSSY_CRASH,
    DISK_LOSS,
    OUT,
    ISR_SHRINK,
    FENCE,
    LEADER_MOVE,
    UNCLEAN_ELECTION,
    REASSIGN,
    PRODUCER_RETRY,
    CONSUMER_CRASH,
    RACK_LOSS,
    RACK_DOWN,
    RACK_CUT,
    MIN_ISR_CHANGE,
    REQUEST_COPY,
)
"""Every kind of fault that is bounded, in the order of the keys."""

OF_RACKS = (RACK_LOSS, RACK_DOWN, RACK_CUT)
"""Those for which it matters which replicas share a rack."""

BY_NAME = {each.name: each for each in FAULTS}
"""The same, by the name that an action's `fault` gives."""

MAJORITY_FAULTS = tuple(each for each in FAULTS if each.in_majority)
"""Those that a majority quorum knows."""

HARMLESS = frozenset({("leader_append_retry", "not recognised as a duplicate")})
"""Guard clauses, by action, with which a protocol lets a fault pass without effect: it strikes all the same."""
