"""The configurations whose reachable sets supply the cases; each makes some of the controller's or the leader's rules fire."""

from __future__ import annotations

from dataclasses import dataclass

from neverlost.checker.kafka.conform.kafka import Kafka
from neverlost.model.kernel import Configuration
from neverlost.model.system import System, bind
from neverlost.specs.configuration.choose import choose, read_settings
from neverlost.specs.errors import InputError

MODELS = ("kraft", "kraft-elr")
FENCED = "faults.crash=1 faults.fence=1"
CONTROLLER = (
    f"replication.factor=3 min.insync.replicas=2 {FENCED} faults.isr_shrink=1",
    "replication.factor=3 min.insync.replicas=3 faults.fence=2 faults.disk_loss=1",
    "replication.factor=3 min.insync.replicas=1 faults.fence=1 faults.min_isr_change=1 faults.leader_move=1",
    f"replication.factor=3 min.insync.replicas=2 {FENCED} faults.leader_move=1 unclean.leader.election.enable=true",
    f"replication.factor=2 min.insync.replicas=2 {FENCED} faults.isr_shrink=1 faults.lossy_crash=1",
    "replication.factor=2 min.insync.replicas=2 faults.crash=1 faults.isr_shrink=1 faults.reassign=1",
    "replication.factor=2 min.insync.replicas=2 faults.crash=1 faults.reassign=1 unclean.leader.election.enable=true",
    "replication.factor=2 min.insync.replicas=1 faults.crash=1 faults.reassign=2",
    "replication.factor=3 min.insync.replicas=2 faults.fence=1 faults.leader_move=1 election.policy=preferred",
)
"""Complete reachable sets with one record: the controller does not look at records."""

SHORT = (CONTROLLER[4], "replication.factor=2 min.insync.replicas=2 faults.crash=1 faults.reassign=1")
"""What the short form explores."""


@dataclass(frozen=True)
class Setting:
    """One configuration of a modern model, with the text that names it."""

    text: str
    system: System

    @property
    def configuration(self) -> Configuration:
        """Every key with its value."""
        return self.system.configurations[0]


def setting(kafka: Kafka, text: str) -> Setting:
    """The setting that `KEY=VALUE KEY=VALUE` means for a version.

    Errors: `InputError` for keys and values that make no sense, and for a model that is not Kafka's of today.
    """
    given = read_settings(text.split())
    if "model" not in given:
        given.setdefault("kafka.version", (kafka.minor, "--kafka-version"))
    given.setdefault("bounds.records", ("1", "the default"))
    chosen = choose(given)
    if chosen.model.name not in MODELS:
        raise InputError(
            f"model {chosen.model.name!r} is no model of the classes of Kafka {kafka.version}; use {' or '.join(MODELS)}"
        )
    return Setting(text, bind(chosen.model, chosen.configuration))


def controller_settings(kafka: Kafka, short: bool) -> list[Setting]:
    """The settings whose controller cases are compared: without ELR, and with it where the version has released it."""
    texts = SHORT if short else CONTROLLER
    return [
        setting(kafka, f"{text} eligible.leader.replicas={elr}")
        for text in texts
        for elr in (["false", "true"] if kafka.has_released_elr else ["false"])
    ]
