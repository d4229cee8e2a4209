"""Everything that is read about a cluster, and what it says of every topic alike.

The controller decides min ISR and unclean elections with its own static values: where its file and the brokers' differ, the
less safe value decides and a notice says so.  The version, the metadata version and whether eligible leader replicas are on
may be unknown: then each end of what is possible is answered.

Source: `ServerTopicConfigSynonyms`, `DynamicConfig`; for the controller `ReplicationControlManager.getTopicEffectiveMinIsr` and
`ConfigurationControlManager.getTopicConfig`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from neverlost.model.kraft.mechanisms import NEWEST
from neverlost.specs.configuration.metadata_version import FIRST_OF_CLUSTERS, LOWEST_KNOWN, METADATA, find_newest
from neverlost.specs.configuration.version_defaults import (
    ELR,
    ELR_BY_DEFAULT,
    ELR_IS_OPEN,
    FIRST_WITH_ELR,
    LAST_WITH_ZOOKEEPER,
    Version,
    canonical,
    list_defaults,
    open_elr,
    parse_version,
    shown,
)
from neverlost.specs.errors import InputError, quote, unknown
from neverlost.specs.inputs.clients.applications import Application, read_applications, require_topics
from neverlost.specs.inputs.clients.producer import Producer, assumed_producer, consumer_notices, decide
from neverlost.specs.inputs.clients.read import read_clients
from neverlost.specs.inputs.internal_topics import acks_of_writer
from neverlost.specs.inputs.recognise import read_described
from neverlost.specs.inputs.syntax.known_keys import DECISIVE, known_to, unknown_keys
from neverlost.specs.inputs.syntax.properties import read_properties
from neverlost.specs.inputs.syntax.text import Path, require_one_standard_input, shown_name
from neverlost.specs.inputs.syntax.topics_and_settings import Described
from neverlost.specs.setting import Notice, NoticeKind, Origin, Setting, Settings

Paths = Path | Sequence[Path] | None
"""One file or several; `-` is standard input."""

ZOOKEEPER, ROLES = "zookeeper.connect", "process.roles"
FIRST_WITH_BROKER_EPOCHS: Version = (3, 5)

TOPIC_KEYS = {
    "min.insync.replicas": "min.insync.replicas",
    "unclean.leader.election.enable": "unclean.leader.election.enable",
    "flush.messages": "log.flush.interval.messages",
}
"""A topic's key and the broker's name for its default."""

CONTROLLER_KEYS = ("min.insync.replicas", "unclean.leader.election.enable")
"""What the controller decides with its own static values, whatever the brokers' files say."""

SAFER: dict[str, Callable[[str], int]] = {
    "min.insync.replicas": int,
    "unclean.leader.election.enable": lambda value: value == "false",
    "flush.messages": lambda value: value == "1",
}
"""Greater is safer: where brokers differ, the least safe value decides."""

OPEN = {
    ELR: ELR_IS_OPEN,
    METADATA: Notice(
        NoticeKind.ASSUMED,
        "which metadata.version is finalized is not known: the newest and one below 3.5-IV1 are answered",
        remedy="give what kafka-features.sh describe prints with --describe, or --set metadata.version=...",
    ),
}
"""What is said of a setting that no file shows."""

LEAST_SAFE = {"min.insync.replicas": "1", "unclean.leader.election.enable": "true", "flush.messages": "default"}
"""What brokers may have set for topics that no file shows it of."""

NOT_MODELLED = {
    "flush.ms": "time is not modelled: what is flushed after a while counts as not flushed",
    "log.flush.interval.ms": "time is not modelled: what is flushed after a while counts as not flushed",
    "remote.storage.enable": "tiered storage is not modelled: answers are about the brokers' own logs",
    "replica.lag.time.max.ms": "time is not modelled: a follower may fall behind at any moment (faults.isr_shrink, faults.out)",
    "auto.leader.rebalance.enable": "leaders move without a failure at most faults.leader_move times: 0 (roll: 1, nines: any)",
    "controlled.shutdown.enable": "false makes each stop a kill: ask with faults.kill, not with faults.clean_stop",
}
SILENT = {"controlled.shutdown.enable": ("true",), "auto.leader.rebalance.enable": ()}
"""Values of which nothing is said; of a key that is not here, those that switch it off."""


@dataclass(frozen=True)
class SharedValue:
    """A value that brokers or static files share, and what is to be said where they differ."""

    setting: Setting | None
    notice: Notice | None = None


@dataclass(frozen=True)
class Sources:
    """Everything that was read.  `stated` is the version as a file states it, or as it is assumed.  `unknown` are ELR and the
    metadata version, in every combination that is possible.  `brokers` and `static` are the values that brokers' dynamic
    settings and static files share, by topic key.  `given` are keys that are set elsewhere, about which nothing needs to be
    assumed.  `applications` say who writes which topic, and `producer` who writes any other."""

    described: Described
    server: Settings
    producer: Producer
    version: Version | None
    stated: Setting | None
    default: Settings
    notices: tuple[Notice, ...]
    knows_cluster: bool
    brokers: Mapping[str, SharedValue]
    static: Mapping[str, SharedValue]
    unknown: tuple[Settings, ...]
    given: Collection[str]
    applications: tuple[Application, ...]

    def producer_of(self, topic: str | None) -> tuple[Producer, tuple[Notice, ...]]:
        """Return who writes a topic, and its notices: the least safe producer of the applications that name the topic, else the
        program of Kafka whose own topic it is, else the producer that is given or assumed.  If acks is given, the notices leave
        out what is assumed of a producer, but not what is assumed of a program of Kafka."""
        clients = [client for each in self.applications if topic and each.writes(topic) for client in each.clients]
        own = None if clients or topic is None else acks_of_writer(topic, self.server)
        if own is not None:
            return Producer(own[0], self.default["enable.idempotence"], own[1]), own[1]
        found = decide(clients, self.version, self.default) if clients else self.producer
        return found, tuple(each for each in found.notices if each.kind != NoticeKind.ASSUMED or "acks" not in self.given)


OPTIONS = (
    *("describe", "configs", "server_properties", "controller_properties"),
    *("producer_properties", "consumer_properties", "applications"),
)
"""What files are given by, as parameters; on the command line with dashes."""


def read_sources(paths: Mapping[str, Paths], kafka_version: str | None, given: Collection[str]) -> list[Sources]:
    """Return what all files say, which are given by the name of their option: once, for the version that is stated or that the
    metadata version tells.  Else twice, for the oldest and the newest that can have printed them (once if they are the same);
    but once with no version if none is a file of a cluster, or a model is given.
    Errors: `InputError` for a file that cannot be read or makes no sense, and for files that contradict each other."""
    for name in paths.keys() - set(OPTIONS):
        raise unknown("kind of file", name, OPTIONS)
    listed = {name: _listed(paths.get(name)) for name in OPTIONS}
    require_one_standard_input({_flag(name): files for name, files in listed.items()})
    described = Described()
    for name in ("describe", "configs"):
        for path in listed[name]:
            described.add(read_described(path, _flag(name)))
    flag = [Setting(str(kafka_version), "--kafka-version", Origin.FLAG)] if kafka_version is not None else []
    server = _read_static(listed["server_properties"], "--server-properties") | described.server
    controllers = listed["controller_properties"]
    controller = _read_static(controllers, "--controller-properties") if controllers else None
    producers = [each for path in listed["producer_properties"] for each in read_clients(path, "producer")]
    consumers = [each for path in listed["consumer_properties"] for each in read_clients(path, "consumer")]
    applications = [each for path in listed["applications"] for each in read_applications(path)]
    require_topics(applications, [*described.topics, *described.configs])
    is_cluster = bool(server or controller or listed["describe"] or listed["configs"])
    is_asked = is_cluster and "model" not in given

    def under(stated: Setting | None, version: Version | None) -> Sources:
        default = list_defaults(version)
        producer = decide(producers, version, default) if producers else assumed_producer(version, default)
        notices = [notice for each in consumers for notice in consumer_notices(each.settings)]
        notices += [each for each in described.notices if not each.topics] + not_modelled(server)
        if version is not None:
            _require_kraft(server, version)
        unknown = _unknown(described, version, default, given, is_asked)
        return Sources(
            described=described,
            server=server,
            producer=producer,
            version=version,
            stated=stated,
            default=default,
            notices=(*notices, *(notice for key, notice in OPEN.items() if _is_open(key, unknown))),
            knows_cluster=bool(server),
            brokers={key: _brokers(described, broker_key, key) for key, broker_key in TOPIC_KEYS.items()},
            static={key: _static(server, controller, default, key, bool(server)) for key in TOPIC_KEYS},
            unknown=unknown,
            given=given,
            applications=tuple(applications),
        )

    version = _version([*flag, *described.versions], described.metadata)
    if version is not None or not is_asked:
        return [under(_stated(version, described, bool(flag)), version)]
    return [under(stated, parse_version(stated.value)) for stated in _possible(described, server)]


def _flag(name: str) -> str:
    return f"--{name.replace('_', '-')}"


def _listed(paths: Paths) -> list[Path]:
    if paths is None:
        return []
    return [paths] if isinstance(paths, str) or not isinstance(paths, Sequence) else list(paths)


def _read_static(paths: list[Path], option: str) -> Settings:
    """Return the static settings of all these files, of brokers or of controllers, together.

    Errors: `InputError` for a mistyped key, for a file without any key of a broker, and for files that differ in what an
    answer depends on.
    """
    found: Settings = {}
    for path in paths:
        settings = read_properties(path, option)
        unknown_keys(settings, "broker")
        if not known_to("broker") & settings.keys():
            raise InputError(f"{shown_name(path)} has no setting that a Kafka broker knows; give its server.properties")
        for key in DECISIVE["broker"] if path is not paths[0] else ():
            mine, theirs = (each[key].value if key in each else None for each in (found, settings))
            if mine != theirs:
                says = [f"not set in {shown_name(paths[0])}" if mine is None else f"{quote(mine)} in {found[key].where}"]
                says += [f"not set in {shown_name(path)}" if theirs is None else f"{quote(theirs)} in {settings[key].where}"]
                raise InputError(f"{key} is {' and '.join(says)}; give the file that is less safe, or ask about each alone")
        found |= settings
    return found


def _version(stated: list[Setting], metadata: Setting | None) -> Version | None:
    """Return the version that command line and files agree on, else the oldest that has the metadata version, else None.
    Errors: `InputError` for one that does not exist, and for two that cannot both be."""
    versions = [(parse_version(each.value, each.where), each) for each in stated]
    for version, each in versions[1:]:
        first, place = versions[0]
        length = min(len(first), len(version))
        if first[:length] != version[:length]:
            raise InputError(
                f"Kafka is {place.value} in {place.where} and {each.value} in {each.where}; give the version that runs"
            )
    found = max((version for version, _ in versions), key=len, default=None)
    if metadata is None:
        return found
    line = parse_version(metadata.value.partition("-")[0], metadata.where)
    if found is not None and found[:2] < line[:2]:
        raise InputError(
            f"Kafka {shown(found)} ({versions[0][1].where}) has no metadata.version {metadata.value} ({metadata.where}); "
            "give the version that runs"
        )
    return found or line[:2]


def entity_value(settings: Settings, key: str, contract_key: str) -> Setting | None:
    """Return an entity's value of `key` as the configuration key `contract_key` has it; None if it is not set, or is `null`."""
    if key not in settings or settings[key].value == "null":
        return None
    return canonical(contract_key, settings[key], key)


def _brokers(described: Described, key: str, contract_key: str) -> SharedValue:
    """Return the brokers' dynamic value, where they differ the least safe one, with a warning; no setting if none has one."""
    values = [each for each in (entity_value(broker, key, contract_key) for broker in described.brokers.values()) if each]
    if not values:
        return SharedValue(None)
    weakest = _weakest(contract_key, values)
    if len({each.value for each in values}) == 1:
        return SharedValue(weakest)
    says = f"brokers differ in {key}: taken as {weakest.value}, the least safe of them"
    return SharedValue(weakest, Notice(NoticeKind.WARNING, says, weakest.where, "set it alike on every broker"))


def _weakest(key: str, values: Iterable[Setting]) -> Setting:
    return min(values, key=lambda each: SAFER[key](each.value))


def _static(server: Settings, controller: Settings | None, default: Settings, key: str, knows_server: bool) -> SharedValue:
    """Return what static files set, if they do; where brokers and controllers differ, the less safe value, with a warning.
    If no broker's file was read (`knows_server`), a controller's file counts alone for a key that the controller decides."""
    name = TOPIC_KEYS[key]
    mine = canonical(key, server[name], name) if name in server else None
    if controller is None or key not in CONTROLLER_KEYS:
        return SharedValue(mine)
    theirs = canonical(key, controller[name], name) if name in controller else None
    if not knows_server:
        return SharedValue(theirs)
    both = (mine or default[key], theirs or default[key])
    weakest = _weakest(key, both)
    if both[0].value == both[1].value:
        return SharedValue(mine or theirs)
    says = (
        f"brokers and controllers differ in {name}: {both[0].value} ({both[0].where}) and {both[1].value} ({both[1].where}); "
        f"taken as {weakest.value}, the less safe"
    )
    remedy = f"set {name} alike in both files, or once for the cluster with kafka-configs.sh"
    return SharedValue(weakest, Notice(NoticeKind.WARNING, says, (theirs or mine or weakest).where, remedy))


def _stated(version: Version | None, described: Described, is_given: bool) -> Setting | None:
    """Return the Kafka version as a file states it; else, if it follows from the metadata version and is not also given
    (`is_given`), as assumed; else None."""
    if version is not None and described.versions:
        return Setting(shown(version), described.versions[0].where)
    if version is not None and described.metadata and not is_given:
        says = f"the oldest that has metadata.version {described.metadata.value} ({described.metadata.where})"
        return Setting(shown(version), says, Origin.ASSUMED)
    return None


def _possible(described: Described, server: Settings) -> list[Setting]:
    """Return the oldest and the newest version that can have printed the files, or read them; one if they are the same."""
    oldest, newest = described.printed_by
    if ROLES in server:
        oldest = max(oldest, FIRST_OF_CLUSTERS)
        newest = newest if newest >= oldest else NEWEST  # printed by a tool that is older than the cluster
    elif ZOOKEEPER in server:
        newest = min(newest, LAST_WITH_ZOOKEEPER)
    ends = ((oldest, "oldest"), (newest, "newest"))
    what = "Kafka that can have printed these files; no version is given"
    return [
        Setting(shown(each), f"the {end} {what}", Origin.ASSUMED) for each, end in ends if oldest < newest or end == "newest"
    ]


def _require_kraft(server: Settings, version: Version) -> None:
    """Errors: `InputError` for a cluster with ZooKeeper of Kafka 3.5 or later.  The models have KRaft's rules for it, and with
    ZooKeeper leaders name no broker epochs and the controller compares none (`addBrokerEpochToIsr` of 3.9)."""
    if version >= FIRST_WITH_BROKER_EPOCHS and ZOOKEEPER in server and ROLES not in server:
        raise InputError(
            f"{ZOOKEEPER} without {ROLES} in {server[ZOOKEEPER].where}: Kafka {shown(version)} with ZooKeeper is not modelled, "
            "for it admits replicas to the ISR without their broker epoch; ask about the cluster as it is after its migration"
        )


def _unknown(
    described: Described, version: Version | None, default: Settings, given: Collection[str], is_cluster: bool
) -> tuple[Settings, ...]:
    """Return the combinations of ELR and metadata version that are possible: one where both are known.  The metadata version is
    left out where nothing depends on it, where it is given, and, if no file shows it, where ELR is on but not given by a key:
    it is the newest then."""
    found: list[Settings] = []
    for elr in _known_elr(described, version, default, given):
        if not is_cluster or version is None or version < FIRST_WITH_BROKER_EPOCHS or METADATA in given:
            found.append({ELR: elr})
        elif described.metadata:
            found.append({ELR: elr, METADATA: described.metadata})
        elif elr.value == "true" and ELR not in given:
            found.append({ELR: elr})
        else:
            found += [{ELR: elr, METADATA: each} for each in _open_metadata(version)]
    return tuple(found)


def _is_open(key: str, unknown: Iterable[Settings]) -> bool:
    """Return True if a setting has several values in the combinations `unknown`."""
    return len({each[key].value for each in unknown if key in each}) > 1


def _open_metadata(version: Version) -> tuple[Setting, Setting]:
    """Return the metadata version of a cluster that was formatted at its version, and of one in which it was never raised."""
    formatted = Setting(find_newest(version), f"assumed as in clusters formatted at {shown(version)}", Origin.ASSUMED)
    return formatted, Setting(LOWEST_KNOWN, "assumed as in clusters that were upgraded and never raised it", Origin.ASSUMED)


def _known_elr(described: Described, version: Version | None, default: Settings, given: Collection[str]) -> tuple[Setting, ...]:
    """Return whether eligible leader replicas are on: one value, or both from 4.1 on if no file and no given key says which.

    A partition that lists some is proof that they are on.  Errors: `InputError` for such a partition where the version does not
    have them; also where a file says that they are off (it may be of another time), unless a given key says which is so.
    """
    listed = (each.where for topic in described.topics.values() for each in topic.partitions.values() if each.elr)
    where = next(listed, None)
    if where and version is not None and version < FIRST_WITH_ELR:
        raise InputError(
            f"{where} lists eligible leader replicas (Elr), which Kafka {shown(version)} does not have; "
            "give the version that runs"
        )
    if where and described.elr and described.elr.value == "false" and ELR not in given:
        raise InputError(
            f"{where} lists eligible leader replicas (Elr), and they are off in {described.elr.where}; "
            f"describe both again at the same time, or say which is so with --set {ELR}=true or false"
        )
    if described.elr and (described.elr.value == "true" or not where):
        return (described.elr,)
    if where:
        return (Setting("true", where),)
    return (default[ELR],) if version is None or version < ELR_BY_DEFAULT or ELR in given else open_elr(version)


def not_modelled(settings: Settings, topics: tuple[str, ...] = ()) -> list[Notice]:
    """Return a notice, about these topics, of each setting in `NOT_MODELLED`, unless its value changes nothing (`SILENT`)."""
    return [
        Notice(NoticeKind.NOT_MODELLED, f"{key}={settings[key].value.strip()}: {says}", settings[key].where, "", topics)
        for key, says in NOT_MODELLED.items()
        if key in settings and settings[key].value.strip() not in SILENT.get(key, ("false", "null", str(2**63 - 1)))
    ]
