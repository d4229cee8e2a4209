"""The configurations that Kafka's own files describe, one per distinct combination, with the topics each speaks for.

Precedence as in Kafka: what the topic sets, a broker's dynamic value, the cluster's dynamic value, the broker's
`server.properties`, the default of the version.

Source: `ConfigHelper.createTopicConfigEntry`, `ServerTopicConfigSynonyms`, `DynamicConfig`.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace

from neverlost.specs.errors import InputError
from neverlost.specs.kafka_files.describe import Entities, Partition, Topic, ranges, read_configs, read_describe
from neverlost.specs.kafka_files.properties import Setting, Settings, quoted, read_properties
from neverlost.specs.kafka_files.version_defaults import (
    Producer,
    Version,
    canonical,
    consumer_warnings,
    defaults,
    parse_version,
    producer,
)

Path = str | os.PathLike[str]

TOPIC_KEYS = {
    "min.insync.replicas": "min.insync.replicas",
    "unclean.leader.election.enable": "unclean.leader.election.enable",
    "flush.messages": "log.flush.interval.messages",
}
"""A topic's key and the broker's name for its default."""

SAFER: dict[str, Callable[[str], int]] = {
    "min.insync.replicas": int,
    "unclean.leader.election.enable": lambda value: value == "false",
    "flush.messages": lambda value: value == "1",
}
"""Greater is safer: where brokers differ, the least safe value decides."""


@dataclass(frozen=True)
class ClusterConfiguration:
    """One configuration: contract keys with raw values and where each comes from.

    `topics` are those it speaks for, with partitions where they differ within a topic; empty if no file names a
    topic.  `defaulted` are the keys that no file sets.  `warnings` are sentences for stderr.
    """

    keys: Mapping[str, tuple[str, str]]
    topics: tuple[str, ...] = ()
    defaulted: frozenset[str] = frozenset()
    warnings: tuple[str, ...] = ()


@dataclass
class _Found:
    """Settings gathered for one partition; the first source that has a key wins."""

    settings: Settings = field(default_factory=dict)
    defaulted: set[str] = field(default_factory=set)
    warnings: list[str] = field(default_factory=list)

    def offer(self, key: str, setting: Setting | None) -> None:
        """Take a setting unless a stronger source has set the key."""
        if setting is not None:
            self.settings.setdefault(key, setting)

    def default(self, key: str, setting: Setting) -> None:
        """Take a default where nothing else set the key."""
        if key not in self.settings:
            self.settings[key] = setting
            self.defaulted.add(key)


@dataclass(frozen=True)
class _Brokers:
    """What the brokers set for a key, and a warning if they differ."""

    setting: Setting | None
    warning: str


@dataclass(frozen=True)
class _Files:
    """Everything that was read."""

    entities: Entities
    server: Settings
    producer: Producer
    version: Version | None
    default: Settings
    warnings: tuple[str, ...]
    knows_cluster: bool
    brokers: Mapping[str, _Brokers]
    elr: Setting | None


def _entity_value(settings: Settings, key: str, contract_key: str) -> Setting | None:
    """The value of an entity's key; `null` is how Kafka prints a key that is not set."""
    if key not in settings or settings[key].value == "null":
        return None
    return canonical(contract_key, settings[key], key)


def _topic_value(topic: Topic, entities: Entities, key: str) -> Setting | None:
    """What the describe output or the configs output shows for a topic.

    Errors: `InputError` where they contradict each other.
    """
    shown = _entity_value(topic.configs, key, key)
    listed = _entity_value(entities.topics.get(topic.name, {}), key, key)
    if shown and listed and shown.value != listed.value:
        raise InputError(
            f"{key} of topic {quoted(topic.name)} is {shown.value!r} in {shown.where} "
            f"and {listed.value!r} in {listed.where}; describe both again at the same time"
        )
    return shown or listed


def _brokers(entities: Entities, key: str, contract_key: str) -> _Brokers:
    """The brokers' dynamic value; the least safe one where they differ."""
    values = [each for each in (_entity_value(broker, key, contract_key) for broker in entities.brokers.values()) if each]
    if not values:
        return _Brokers(None, "")
    weakest = min(values, key=lambda each: SAFER[contract_key](each.value))
    if len({each.value for each in values}) == 1:
        return _Brokers(weakest, "")
    return _Brokers(weakest, f"brokers differ in {key}: taken as {weakest.value} ({weakest.where}), the least safe of them")


def _racks(partition: Partition, entities: Entities) -> Setting | None:
    """One rack per replica, if every replica's broker is described with one."""
    brokers = [entities.brokers.get(str(each), {}).get("broker.rack") for each in partition.settled]
    racks = [each for each in brokers if each and each.value not in ("", "null")]
    if len(racks) < len(brokers) or any("," in each.value for each in racks):
        return None
    return Setting(",".join(sorted(each.value for each in racks)), racks[0].where)


def _offer_topic_keys(found: _Found, files: _Files, topic: Topic | None) -> None:
    """Topic keys from all sources, strongest first."""
    for key, broker_key in TOPIC_KEYS.items():
        if topic:
            found.offer(key, _topic_value(topic, files.entities, key))
        was_set = key in found.settings
        if not was_set and files.brokers[key].warning:
            found.warnings.append(files.brokers[key].warning)
        found.offer(key, files.brokers[key].setting)
        found.offer(key, _entity_value(files.entities.cluster, broker_key, key))
        static = canonical(key, files.server[broker_key], broker_key) if broker_key in files.server else None
        hides = topic and topic.shows_broker_values and not was_set and static and static.value != files.default[key].value
        if topic and static and hides and key not in found.settings:
            found.warnings.append(
                f"{static.where} sets {broker_key} to {static.value}, but the description of topic {quoted(topic.name)} does "
                "not show it: the cluster that printed it may not use this file"
            )
        found.offer(key, static)
        found.default(key, files.default[key])


def _offer_factor(found: _Found, files: _Files, topic: Topic | None, partition: Partition | None) -> None:
    """The replication factor; unknown where neither a topic line nor a broker's file tells."""
    key = "replication.factor"
    if partition:
        found.offer(key, canonical(key, Setting(str(len(partition.settled)), partition.where), "Replicas"))
    elif topic and topic.replication_factor.value:
        found.offer(key, canonical(key, topic.replication_factor, "ReplicationFactor"))
    name = "default.replication.factor"
    if name in files.server:
        found.offer(key, canonical(key, files.server[name], name))
    elif files.knows_cluster:
        found.default(key, files.default[key])


def _elr(topics: Iterable[Topic]) -> Setting | None:
    """Eligible leader replicas: a partition that lists some is proof that they are on."""
    listed = (each.where for topic in topics for each in topic.partitions.values() if each.elr)
    where = next(listed, None)
    return Setting("true", where) if where else None


def _warn_beyond(found: _Found, version: Version | None) -> None:
    """Kafka accepts a min.insync.replicas above the replication factor."""
    factor, least = found.settings.get("replication.factor"), found.settings["min.insync.replicas"]
    if factor and int(least.value) > int(factor.value):
        effect = "no acks=all write succeeds" if version and version < (3, 7) else "Kafka 3.7 and later lower it to that"
        found.warnings.append(
            f"min.insync.replicas {least.value} ({least.where}) is above the replication factor {factor.value}: {effect}"
        )


def _outside(partition: Partition) -> int:
    """How many replicas are outside the ISR when the search begins; an offline partition is no beginning."""
    return 0 if partition.is_offline else partition.outside


def _numbered(partitions: list[Partition]) -> str:
    """Partitions by number."""
    return f"partition{'s' * (len(partitions) > 1)} {ranges(each.number for each in partitions)}"


def _warn_offline(topic: Topic) -> tuple[str, ...]:
    """A sentence where the cluster is worse off than anything that a search begins with."""
    offline = [each for each in topic.partitions.values() if each.is_offline]
    if not offline:
        return ()
    return (
        f"topic {quoted(topic.name)} is offline now ({_numbered(offline)}, {offline[0].where}): "
        "the verdict is about a partition that starts with all replicas in the ISR",
    )


def _configuration(files: _Files, topic: Topic | None, partition: Partition | None) -> ClusterConfiguration:
    """The configuration of one partition, of a topic without partition lines, or of a cluster."""
    found = _Found()
    _offer_factor(found, files, topic, partition)
    _offer_topic_keys(found, files, topic)
    found.offer("eligible.leader.replicas", files.elr)
    found.default("eligible.leader.replicas", files.default["eligible.leader.replicas"])
    if partition:
        found.offer("broker.rack", _racks(partition, files.entities))
        outside = _outside(partition)
        found.offer("start.outside_isr", Setting(str(outside), partition.where) if outside else None)
    for key, setting in (("acks", files.producer.acks), ("enable.idempotence", files.producer.idempotence)):
        found.settings[key] = setting
        if key not in files.producer.given:
            found.defaulted.add(key)
    _warn_beyond(found, files.version)
    keys = {key: (each.value, each.where) for key, each in found.settings.items()}
    now = _warn_offline(topic) if topic else ()
    return ClusterConfiguration(keys, (), frozenset(found.defaulted), (*files.warnings, *found.warnings, *now))


def _values(configuration: ClusterConfiguration) -> tuple[tuple[str, str], ...]:
    """What makes a configuration distinct: its values, wherever they come from."""
    return tuple((key, raw) for key, (raw, _) in sorted(configuration.keys.items()))


def _of_topic(files: _Files, topic: Topic) -> list[ClusterConfiguration]:
    """The distinct configurations of one topic, named with partitions if there are several."""
    # Partitions of a topic differ in their replicas alone, so one partition of each kind stands for the others.
    alike: dict[tuple[int, int, str], list[Partition]] = {}
    for each in topic.partitions.values():
        rack = _racks(each, files.entities)
        alike.setdefault((len(each.settled), _outside(each), rack.value if rack else ""), []).append(each)
    if len(alike) < 2:
        first = next(iter(topic.partitions.values()), None)
        return [replace(_configuration(files, topic, first), topics=(topic.name,))]
    return [
        replace(
            _configuration(files, topic, group[0]),
            topics=(f"{topic.name} ({_numbered(group)})",),
        )
        for group in alike.values()
    ]


def _distinct(configurations: Iterable[ClusterConfiguration]) -> list[ClusterConfiguration]:
    """Configurations with equal values joined, in the order of their first topic; a key that one of them sets is set."""
    found: dict[tuple[tuple[str, str], ...], list[ClusterConfiguration]] = {}
    for each in configurations:
        found.setdefault(_values(each), []).append(each)
    return [
        replace(
            same[0],
            topics=tuple(topic for each in same for topic in each.topics),
            defaulted=frozenset.intersection(*(each.defaulted for each in same)),
            warnings=tuple(dict.fromkeys(warning for each in same for warning in each.warnings)),
        )
        for same in found.values()
    ]


def _topics(described: list[Topic], entities: Entities) -> list[Topic]:
    """The described topics or, without a describe output, those that the configs output names."""
    return described or [Topic(name, Setting("", ""), {}, False) for name in entities.topics]


def read_cluster(
    describe: Path | None = None,
    configs: Path | None = None,
    server_properties: Path | None = None,
    producer_properties: Path | None = None,
    consumer_properties: Path | None = None,
    kafka_version: str | None = None,
) -> list[ClusterConfiguration]:
    """Every distinct configuration of the files that are given, in the order of their first topics.

    Errors: `InputError` for a file that cannot be read, or a relevant setting that Kafka refuses or the model cannot hold.
    """
    version = parse_version(str(kafka_version)) if kafka_version is not None else None
    default = defaults(version)
    described = read_describe(describe) if describe is not None else []
    entities = read_configs(configs) if configs is not None else Entities()
    server = read_properties(server_properties, "--server-properties") if server_properties is not None else {}
    given = read_properties(producer_properties, "--producer-properties") if producer_properties is not None else {}
    warnings = []
    if consumer_properties is not None:
        warnings = consumer_warnings(read_properties(consumer_properties, "--consumer-properties"))
    decided = producer(given, version, default)
    topics = _topics(described, entities)
    if topics and not described:
        warnings.append("these files do not show the replication factor of the topics; give --describe as well")
    files = _Files(
        entities=entities,
        server=server,
        producer=decided,
        version=version,
        default=default,
        warnings=(*decided.warnings, *warnings),
        knows_cluster=server_properties is not None,
        brokers={key: _brokers(entities, broker_key, key) for key, broker_key in TOPIC_KEYS.items()},
        elr=_elr(topics),
    )
    if not topics:
        return [_configuration(files, None, None)]
    return _distinct(each for topic in topics for each in _of_topic(files, topic))
