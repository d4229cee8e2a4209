"""The configurations whose reachable states supply the cases; each makes some of the controller's or the
leader's rules fire."""

from __future__ import annotations

from dataclasses import dataclass

from neverlost.checker.kafka.conform.java.kafka import Kafka
from neverlost.model.kernel import Configuration
from neverlost.model.system import System, bind
from neverlost.specs.configuration.choose import choose, read_settings
from neverlost.specs.errors import InputError

MODELS = ("kraft", "kraft-elr")
FENCED = "faults.crash=1 faults.fence=1"
CONTROLLER = (
    f"replication.factor=3 min.insync.replicas=2 {FENCED} faults.isr_shrink=1 faults.unclean_election=any",
    "replication.factor=3 min.insync.replicas=3 faults.fence=2 faults.disk_loss=1",
    "replication.factor=3 min.insync.replicas=1 faults.fence=1 faults.min_isr_change=1 faults.leader_move=any",
    f"replication.factor=3 min.insync.replicas=2 {FENCED} faults.leader_move=any unclean.leader.election.enable=true",
    f"replication.factor=2 min.insync.replicas=2 {FENCED} faults.isr_shrink=1 faults.lossy_crash=1",
    "replication.factor=2 min.insync.replicas=2 faults.crash=1 faults.isr_shrink=1 faults.reassign=1",
    "replication.factor=2 min.insync.replicas=1 faults.crash=2 faults.reassign=1 unclean.leader.election.enable=true",
    "replication.factor=2 min.insync.replicas=1 faults.crash=1 faults.reassign=2",
    "replication.factor=3 min.insync.replicas=2 faults.fence=1 faults.leader_move=any election.policy=preferred",
)
"""Settings all of whose reachable states are taken, with one record: the controller does not look at records."""

REQUESTS = tuple(CONTROLLER[each] for each in (0, 2, 3, 5, 6, 8))
"""Those whose cases are also put to the whole controller, which takes longer."""

SHORT = (CONTROLLER[4], "replication.factor=2 min.insync.replicas=2 faults.crash=1 faults.reassign=1")
"""The settings of the short form; only the first is put to the whole controller."""


@dataclass(frozen=True)
class ConformSetting:
    """One configuration, with the model under it (`system`), and the text that names it."""

    text: str
    system: System

    @property
    def configuration(self) -> Configuration:
        """Every key of the configuration with its value."""
        return self.system.configurations[0]


def parse_setting(kafka: Kafka, text: str) -> ConformSetting:
    """Parse `KEY=VALUE KEY=VALUE` as a setting for a version.  Errors: `InputError` for invalid keys and values, and for a
    model other than kraft and kraft-elr."""
    given = read_settings(text.split())
    if "model" not in given:
        given.setdefault("kafka.version", (kafka.minor, "--kafka-version"))
    given.setdefault("bounds.records", ("1", "the default"))
    chosen = choose(given)
    if chosen.model.name not in MODELS:
        raise InputError(
            f"model {chosen.model.name!r} is no model of the classes of Kafka {kafka.version}; use {' or '.join(MODELS)}"
        )
    return ConformSetting(text, bind(chosen.model, chosen.configuration))


LEADER = (
    "replication.factor=2 bounds.records=3 faults.isr_shrink=2 faults.fence=1",
    "replication.factor=3 bounds.records=2 faults.isr_shrink=1 faults.fence=1 faults.leader_move=1",
    "replication.factor=3 bounds.records=4 faults.isr_shrink=2 start.outside_isr=2",
)
"""Settings whose reachable leaders are taken, each with every min.insync.replicas; the leader does not know of the ELR."""

SHORT_LEADER = LEADER[:1]
RANDOM_STATES, SHORT_RANDOM_STATES, SEED = 10_000, 500, 14
"""How many random legal states of a leader are compared for a version, how many in the short form, and their seed."""


def leader_settings(kafka: Kafka, short: bool) -> list[ConformSetting]:
    return [
        parse_setting(kafka, f"{text} min.insync.replicas={least} eligible.leader.replicas=false")
        for text in (SHORT_LEADER if short else LEADER)
        for least in range(1, 2 + int(text[len("replication.factor=")]))
    ]


def random_settings(kafka: Kafka, short: bool) -> list[tuple[ConformSetting, int]]:
    """Return the settings for random leader states, each with how many states to draw: fewer if `short`."""
    count = SHORT_RANDOM_STATES if short else RANDOM_STATES
    text = "replication.factor=3 bounds.records=4 faults.isr_shrink=1 faults.fence=1 eligible.leader.replicas=false"
    return [(parse_setting(kafka, f"{text} min.insync.replicas={least}"), -(-count // 3)) for least in (1, 2, 3)]


def controller_settings(kafka: Kafka, short: bool, requests: bool = False) -> list[ConformSetting]:
    """Return the settings whose controller cases are compared, each without ELR, and with it if the version has released it.
    `requests`: those for the whole controller, not only for the builder."""
    texts = SHORT[:1] if short and requests else SHORT if short else REQUESTS if requests else CONTROLLER
    return [
        parse_setting(kafka, f"{text} eligible.leader.replicas={elr}")
        for text in texts
        for elr in (["false", "true"] if kafka.has_released_elr else ["false"])
    ]
