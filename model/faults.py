"""What may go wrong: one declaration for each kind of fault.

The configuration key `faults.NAME`, its help, its limit (`limits.py`) and the words of the reports are made from it, and so is
what it is on a real cluster: how it is brought about, and how a history shows it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from neverlost.model.toml_beside import read_toml_beside

BROKER, RACK, NOTHING = "broker", "rack", "nothing"
"""What a fault impairs: one broker, every broker of a rack, or no replica at all."""

STOPPED, KILLED, LOST = "stopped", "killed", "lost"
"""How a process ends: in a controlled shutdown, with its log intact, or without unflushed data or its disk."""


@dataclass(frozen=True)
class Fault:
    """One kind of fault.

    `one` and `many` are its nouns, `says` completes "how many times ...".  `impairs` is what it strikes, `in_majority`
    whether the model of a majority quorum has it too, and `is_structural` whether a model has some of its fields or axes only
    where it can happen.  A fault `of` others stands for all of them, which share one limit; if it impairs a rack, it strikes
    the brokers of one rack, one by one.

    On a cluster: `done` is the operation that brings it about, `ends` how the process ends (`STOPPED`, `KILLED` or `LOST`), and
    `seen` how a report names it, arguments in braces, as one more fault that would lose a record; each may be empty: none.
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
        """True if a fault of this kind ends the process of a broker, in a controlled shutdown or not."""
        return bool(self.ends)

    @property
    def loses_data(self) -> bool:
        """True if a fault of this kind may take what a broker has not flushed, or its disk."""
        return self.ends == LOST

    @property
    def key(self) -> str:
        """The configuration key that limits faults of this kind: `faults.NAME`."""
        return f"faults.{self.name}"

    @property
    def is_of_one_rack(self) -> bool:
        """True if this kind of fault strikes brokers one by one, at any time only those of one rack."""
        return self.impairs == RACK and bool(self.of)

    @property
    def left(self) -> str:
        """The name of the field that counts how many faults of this kind may still strike."""
        return f"{self.name}_left"

    @property
    def limit(self) -> str:
        """The name of the frozen field that holds the limit of this kind of fault, as `limits.encoded` writes it."""
        return f"{self.name}_limit"

    @property
    def struck(self) -> str:
        """The name of the field that marks the brokers that this kind of fault has struck and that are impaired since."""
        return f"ghost_struck_by_{self.name}"


def _read(name: str, table: dict[str, Any]) -> Fault:
    values: dict[str, Any] = {key: tuple(value) if isinstance(value, list) else value for key, value in table.items()}
    return Fault(name, **values)


BY_NAME = {name: _read(name, table) for name, table in read_toml_beside(__name__).items()}
"""Every kind of fault that is bounded, by the name that an action's `fault` gives: `faults.toml`."""

FAULTS = tuple(BY_NAME.values())
"""The same, in the order of the keys."""

CRASH = BY_NAME["crash"]
CLEAN_STOP = BY_NAME["clean_stop"]
KILL = BY_NAME["kill"]
DATA_LOSS = BY_NAME["data_loss"]
LOSSY_CRASH = BY_NAME["lossy_crash"]
DISK_LOSS = BY_NAME["disk_loss"]
OUT = BY_NAME["out"]
ISR_SHRINK = BY_NAME["isr_shrink"]
FENCE = BY_NAME["fence"]
LEADER_MOVE = BY_NAME["leader_move"]
UNCLEAN_ELECTION = BY_NAME["unclean_election"]
REASSIGN = BY_NAME["reassign"]
PRODUCER_RETRY = BY_NAME["producer_retry"]
CONSUMER_CRASH = BY_NAME["consumer_crash"]
RACK_LOSS = BY_NAME["rack_loss"]
RACK_DOWN = BY_NAME["rack_down"]
RACK_CUT = BY_NAME["rack_cut"]
MIN_ISR_CHANGE = BY_NAME["min_isr_change"]
REQUEST_COPY = BY_NAME["request_copy"]

OF_RACKS = (RACK_LOSS, RACK_DOWN, RACK_CUT)
"""Those for which it matters which replicas share a rack."""

MAJORITY_FAULTS = tuple(each for each in FAULTS if each.in_majority)
"""Those that a majority quorum knows."""

HARMLESS = frozenset({("leader_append_retry", "not recognised as a duplicate")})
"""Guard clauses, by action, with which a protocol lets a fault pass without effect: it strikes all the same."""
