"""One try of a plan on a cluster, on a topic of its own: the state that its stages share, and the outcome."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial

from neverlost.checker.kafka.cluster.batches import Record
from neverlost.checker.kafka.cluster.clients import Sending
from neverlost.checker.kafka.cluster.cluster import Cluster
from neverlost.checker.kafka.cluster.metadata import PartitionRecord
from neverlost.checker.kafka.cluster.network import ANSWERS, BOTH, FETCH, TrafficRule
from neverlost.checker.kafka.reproduce.reproduction_plan import ReproductionPlan
from neverlost.checker.kafka.reproduce.traffic_blocks import TrafficBlocks, make_network_rules
from neverlost.model.snapshot import ClusterSnapshot

Notify = Callable[[str], None]


@dataclass(frozen=True)
class Moment:
    """A snapshot of the cluster at the beginning of a try, after each stage, finished or not, and at the end."""

    says: str
    seconds: float
    scene: ClusterSnapshot


@dataclass(frozen=True)
class Divergence:
    """Where the cluster and the model diverged: the steps of the stage, what the model says of them, what was seen."""

    first: int
    last: int
    says: str
    seen: tuple[str, ...]


@dataclass
class AttemptOutcome:
    """The outcome of a try.  `acknowledged`: (time, offset) by record; `read_before`: offset by record, read before the end."""

    divergence: Divergence | None = None
    moments: list[Moment] = field(default_factory=list)
    acknowledged: dict[int, tuple[str, int | None]] = field(default_factory=dict)
    refused: dict[int, str] = field(default_factory=dict)
    read_before: dict[int, int] = field(default_factory=dict)
    read: list[Record] | None = None
    logs: dict[int, list[Record]] = field(default_factory=dict)
    leader: int = -1
    done: list[str] = field(default_factory=list)
    seconds: float = 0

    @property
    def lost(self) -> tuple[int, ...]:
        """The records that were acknowledged or read, and that at the end a consumer cannot read and the leader lacks on disk:
        a leader without followers may have a record above its high watermark.  Empty if nobody leads at the end."""
        there = {parse_number(each) for each in [*(self.read or []), *self.logs.get(self.leader, [])]}
        return tuple(sorted((self.acknowledged.keys() | self.read_before.keys()) - there)) if self.read is not None else ()

    def is_reproduced(self, expected: frozenset[int]) -> bool:
        """Return True if every step was seen and all `expected` records are lost, others perhaps too."""
        return self.divergence is None and expected <= set(self.lost)


def parse_number(record: Record) -> int | None:
    """Return the model's number of a record that we wrote; 0 for a filler, None for one that is not ours."""
    match = re.fullmatch(rb"m(\d+)", record.value or b"")
    return int(match[1]) if match else None


@dataclass
class Attempt:
    """A try under way: what was sent so far, which traffic is blocked, and its times.  Units: seconds; `patience` is how long
    a stage may take."""

    cluster: Cluster
    plan: ReproductionPlan
    topic: str
    notify: Notify
    patience: float = 60
    outcome: AttemptOutcome = field(default_factory=AttemptOutcome)
    sendings: dict[int, Sending] = field(default_factory=dict)
    rules: set[TrafficRule] = field(default_factory=set)
    started: float = field(default_factory=time.monotonic)

    @property
    def seconds(self) -> float:
        """The seconds since the try began."""
        return time.monotonic() - self.started

    @property
    def partition(self) -> PartitionRecord:
        return self.cluster.partition(self.topic)

    @property
    def leader(self) -> int | None:
        """Return the number of the broker that leads; None without a leader."""
        return None if self.partition.leader < 0 else self.partition.leader

    def records(self, broker: int) -> list[Record]:
        """Return the records in a broker's log that the model knows: ours, without fillers."""
        return [each for each in self.cluster.log(broker, self.topic) if parse_number(each)]

    def note(self, what: str) -> None:
        """Report what is done, after the seconds since the try began, and keep that line in the outcome."""
        self.outcome.done.append(f"{self.seconds:6.1f} s  {what}")
        self.notify(self.outcome.done[-1])

    def hold(self, holds: TrafficBlocks) -> None:
        """Block this traffic, let all other flow, and wait for the answers of the metadata log that are to be held."""
        wanted, network = make_network_rules(self.cluster, holds), self.cluster.network
        for rule in wanted - self.rules:
            if rule.part == BOTH:
                network.cut(rule.source, rule.target, rule.api)
            else:
                network.hold(rule.source, rule.target, rule.api, rule.part)
        if self.rules - wanted:
            network.lift(*(self.rules - wanted))
        for rule in wanted - self.rules:
            if rule.api == FETCH and rule.part == ANSWERS:
                said = f"broker {rule.source} to ask for what the metadata log has now"
                self.cluster.wait(partial(network.is_holding, rule), said, self.patience)
        self.rules = wanted


def describe_leader(leader: int | None) -> str:
    """Return who leads, in words."""
    return "no broker leads" if leader is None else f"broker {leader} leads"


def list_brokers(brokers: tuple[int, ...]) -> str:
    return ",".join(map(str, sorted(brokers))) or "none"
