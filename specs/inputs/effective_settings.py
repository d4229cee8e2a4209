"""The configurations that Kafka's own files describe, one per distinct combination, with the topics each speaks for.

Precedence as in Kafka: what the topic sets, a broker's dynamic value, the cluster's dynamic value, the static files of
brokers and controllers, the default of the version.  What no file can show is assumed, and a notice says so; the version,
the metadata version and eligible leader replicas are answered both ways where they are unknown.

Source: `ConfigHelper.createTopicConfigEntry`, `ServerTopicConfigSynonyms`, `DynamicConfig`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any

from neverlost.specs.configuration.version_defaults import Version, canonical
from neverlost.specs.errors import InputError, quote
from neverlost.specs.inputs.internal_topics import internal_topic
from neverlost.specs.inputs.remedies import topic_of
from neverlost.specs.inputs.sources import LEAST_SAFE, TOPIC_KEYS, Paths, Sources, entity_value, not_modelled, read_sources
from neverlost.specs.inputs.syntax.topics_and_settings import Described, DescribedPartition, Topic, ranges
from neverlost.specs.setting import Notice, NoticeKind, Origin, Setting, Settings, SourcePlace


@dataclass(frozen=True)
class ClusterConfiguration:
    """One configuration: configuration keys with raw values, each with its place and how it came to be.

    `topics` are those it speaks for, as `orders` or `orders (partitions 0-3)`; empty if no file names a topic.  `partitions`
    are by name (`orders-0`), each with its replicas without those being added: as assigned, or by rack if the racks are known.
    `places` are where the files speak of each topic.  `notices` are warnings, assumptions, and what is read but not modelled.
    """

    settings: Mapping[str, Setting]
    topics: tuple[str, ...] = ()
    notices: tuple[Notice, ...] = ()
    partitions: Mapping[str, tuple[DescribedPartition, tuple[int, ...]]] = field(default_factory=dict)
    places: Mapping[str, SourcePlace] = field(default_factory=dict)

    def brokers(self, are_alike: bool) -> dict[str, tuple[str, ...]]:
        """Return per partition the brokers that the model's replicas stand for, in the order of the replicas.

        If the model's replicas `are_alike`, they are numbered from the leader on (`by_role`); else as `partitions` has them.
        """
        orders = {name: each.by_role if are_alike else assigned for name, (each, assigned) in self.partitions.items()}
        return {name: _as_text(order) for name, order in orders.items()}

    @property
    def out(self) -> dict[str, tuple[str, ...]]:
        """Per partition the brokers that are outside the ISR: none if it is in sync, all of them if it is offline."""
        return {
            name: ()
            if each.is_in_sync
            else _as_text(tuple(one for one in (*assigned, *each.adding) if each.is_offline or one not in each.isr))
            for name, (each, assigned) in self.partitions.items()
        }

    @property
    def is_internal(self) -> bool:
        """True if it speaks for a topic that a program of Kafka writes."""
        return any(internal_topic(topic_of(each)) for each in self.topics)


@lru_cache(maxsize=10_000)
def _as_text(brokers: tuple[int, ...]) -> tuple[str, ...]:
    """Return broker ids as texts; cached, since a cluster has the same few lists of them again and again."""
    return tuple(map(str, brokers))


@dataclass
class _Found:
    """Settings gathered for one partition; the first source that has a key wins."""

    settings: Settings = field(default_factory=dict)
    notices: list[Notice] = field(default_factory=list)

    def offer(self, key: str, setting: Setting | None) -> None:
        """Effect: keep the setting for the key, unless it is None or a setting was kept for the key before."""
        if setting is not None:
            self.settings.setdefault(key, setting)


def _topic_value(topic: Topic, described: Described, key: str) -> Setting | None:
    """Return what the describe output, or else the configs output, shows for a topic's key; None if none shows it, or `null`.

    Errors: `InputError` where they contradict each other.
    """
    shown = entity_value(topic.configs, key, key)
    listed = entity_value(described.configs.get(topic.name, {}), key, key)
    if shown and listed and shown.value != listed.value:
        raise InputError(
            f"{key} of topic {quote(topic.name)} is {shown.value!r} in {shown.where} "
            f"and {listed.value!r} in {listed.where}; describe both again at the same time"
        )
    return shown or listed


def _racks(partition: DescribedPartition, described: Described) -> Setting | None:
    """Return the racks of the settled replicas, sorted and joined by commas; None if a replica's rack is not known, or a rack's
    name has a comma."""
    if not described.brokers:
        return None
    brokers = [described.brokers.get(str(each), {}).get("broker.rack") for each in partition.settled]
    racks = [each for each in brokers if each and each.value not in ("", "null")]
    if len(racks) < len(brokers) or any("," in each.value for each in racks):
        return None
    return Setting(",".join(sorted(each.value for each in racks)), racks[0].where)


def _offer_topic_keys(found: _Found, sources: Sources, topic: Topic | None) -> None:
    """Effect: offer `found` each topic key from all sources, strongest first, and add what is to be noticed about the value of
    the source that won."""
    for key, broker_key in TOPIC_KEYS.items():
        if topic:
            found.offer(key, _topic_value(topic, sources.described, key))
        was_set = key in found.settings
        brokers, static = sources.brokers[key], sources.static[key]
        found.offer(key, brokers.setting)
        found.offer(key, entity_value(sources.described.cluster, broker_key, key))
        decides = key not in found.settings
        found.offer(key, static.setting)
        found.offer(key, _default(sources, topic, key))
        if brokers.notice and not was_set:
            found.notices.append(brokers.notice)
        if static.notice and decides:
            found.notices.append(static.notice)
        if topic and decides and static.setting and topic.shows_broker_values:
            found.notices += _unseen(sources, topic, broker_key, static.setting, sources.default[key])


def _default(sources: Sources, topic: Topic | None, key: str) -> Setting:
    """Return the version's default for a key; but the least safe value, as assumed, for a topic of which no file shows what its
    brokers set."""
    default = sources.default[key]
    if topic is None or topic.shows_broker_values or sources.knows_cluster:
        return default
    return Setting(LEAST_SAFE[key], "the least safe, for what brokers set is not shown", Origin.ASSUMED)


def _unseen(sources: Sources, topic: Topic, name: str, static: Setting, default: Setting) -> list[Notice]:
    """Return a warning that a static file's value is not what a topic's description shows, so that the file may be another
    cluster's; [] if the value is the default."""
    if static.value == default.value:
        return []
    says = f"{name}={static.value} is not what the description of topic {quote(topic.name)} shows"
    remedy = "the cluster that printed it may not use this file; describe the cluster that does"
    return [Notice(NoticeKind.WARNING, says, static.where, remedy, (topic.name,))]


def _offer_factor(found: _Found, sources: Sources, topic: Topic | None, partition: DescribedPartition | None) -> None:
    """Effect: offer `found` the replication factor: the partition's or topic's, else default.replication.factor of the brokers'
    files, else (where these are read) its default; else three, with a notice unless the key is given."""
    key = "replication.factor"
    if partition:
        found.offer(key, canonical(key, Setting(str(len(partition.settled)), partition.where), "Replicas"))
    elif topic and topic.replication_factor.value:
        found.offer(key, canonical(key, topic.replication_factor, "ReplicationFactor"))
    name = "default.replication.factor"
    if name in sources.server:
        found.offer(key, canonical(key, sources.server[name], name))
    elif sources.knows_cluster:
        found.offer(key, sources.default[key])
    if key not in found.settings:
        found.offer(key, Setting("3", "no file shows it", Origin.ASSUMED))
        if key not in sources.given:
            says = "the replication factor is assumed to be 3, for no file shows it"
            found.notices.append(Notice(NoticeKind.ASSUMED, says, "", "give --describe FILE, or --set replication.factor=..."))


def _warn_beyond(found: _Found, version: Version | None) -> None:
    """Effect: warn of a min.insync.replicas above a known replication factor: Kafka accepts it and, from 3.7 on, lowers it."""
    factor, least = found.settings["replication.factor"], found.settings["min.insync.replicas"]
    if int(least.value) > int(factor.value) and factor.how != Origin.ASSUMED:
        effect = "no acks=all write succeeds" if version and version < (3, 7) else "Kafka 3.7 and later lower it to that"
        says = f"min.insync.replicas {least.value} is above the replication factor {factor.value}: {effect}"
        found.notices.append(Notice(NoticeKind.WARNING, says, least.where, "lower it, or add replicas"))


def _outside(partition: DescribedPartition) -> int:
    """Return how many replicas are outside the ISR when the search begins: 0 for an offline partition, as none begins so."""
    return 0 if partition.is_offline else partition.outside


def _numbered(partitions: Iterable[DescribedPartition]) -> str:
    numbers = [each.number for each in partitions]
    return f"partition{'s' * (len(numbers) > 1)} {ranges(numbers)}"


def _about(topic: Topic, sources: Sources) -> list[Notice]:
    """Return the notices of one topic: of its description, that it is offline, and of settings that are not modelled."""
    found = [each for each in sources.described.notices if topic.name in each.topics]
    offline = [each for each in topic.partitions.values() if each.is_offline]
    if offline:
        says = f"topic {quote(topic.name)} is offline now ({_numbered(offline)})"
        found.append(Notice(NoticeKind.WARNING, says, offline[0].where, "", (topic.name,)))
    return found + not_modelled(topic.configs | sources.described.configs.get(topic.name, {}), (topic.name,))


def _configurations(sources: Sources, topic: Topic | None, partition: DescribedPartition | None) -> list[ClusterConfiguration]:
    """Return how one partition (or a topic without partition lines, or with no topic the cluster) may be configured: one
    configuration for each combination of the values in `sources.unknown`, such as ELR on or off."""
    found = _Found()
    _offer_factor(found, sources, topic, partition)
    _offer_topic_keys(found, sources, topic)
    if partition:
        found.offer("broker.rack", _racks(partition, sources.described))
        outside = _outside(partition)
        found.offer("start.outside_isr", Setting(str(outside), partition.where) if outside else None)
    producer, said = sources.producer_of(topic.name if topic else None)
    found.offer("acks", producer.acks)
    found.offer("enable.idempotence", producer.idempotence)
    _warn_beyond(found, sources.version)
    about = _about(topic, sources) if topic else []
    notices = tuple(dict.fromkeys((*said, *sources.notices, *found.notices, *about)))
    named = (topic.name,) if topic else ()
    stated = {} if sources.stated is None else {"kafka.version": sources.stated}
    return [ClusterConfiguration(stated | found.settings | each, named, notices) for each in sources.unknown]


def _standing(partition: DescribedPartition) -> tuple[bool, str]:
    """Return how a partition stands: whether it is offline, and the roles of its replicas, "" if it is in sync."""
    return partition.is_offline, "" if partition.is_in_sync else partition.roles


def _values(configuration: ClusterConfiguration) -> tuple[Any, ...]:
    """Return what makes a configuration distinct: its values but not their places, `is_internal`, how its partitions stand."""
    values = tuple((key, each.value) for key, each in sorted(configuration.settings.items()))
    return values, configuration.is_internal, *{_standing(each) for each, _ in configuration.partitions.values()}


def _of_topic(every: list[Sources], topic: Topic) -> list[ClusterConfiguration]:
    """Return the configurations of one topic, by each of the sources of one description: those of each kind of partition.  If
    there are several kinds, the configuration's `topics` names the partitions."""
    # Partitions of a topic differ in their replicas alone, so one partition of each kind stands for the others.
    described = every[0].described
    alike: dict[tuple[Any, ...], list[DescribedPartition]] = {}
    for each in topic.partitions.values():
        rack = _racks(each, described)
        alike.setdefault((len(each.settled), _outside(each), rack.value if rack else "", _standing(each)), []).append(each)
    groups = []
    for group in list(alike.values()) or [[]]:
        names = _subjects(topic, group, len(alike))
        places = dict.fromkeys(names, _place(topic, group, described))
        groups.append((next(iter(group), None), names, _placed(topic, group, described), places))
    return [
        replace(found, topics=names, partitions=placed, places=places)
        for sources in every
        for first, names, placed, places in groups
        for found in _configurations(sources, topic, first)
    ]


def _place(topic: Topic, group: list[DescribedPartition], described: Described) -> SourcePlace:
    """Return where the files speak of a topic; for a group of only some of its partitions, of the group's first one."""
    listed = (each.where for each in described.configs.get(topic.name, {}).values())
    is_part = group and len(group) < len(topic.partitions)
    where = group[0].where if is_part else topic.place or next(listed, "")
    return SourcePlace(where, topic.is_declared)


def _subjects(topic: Topic, group: list[DescribedPartition], groups: int) -> tuple[str, ...]:
    """Return the topic's name, with the group's partitions if there are several groups: `("orders (partitions 0-3)",)`."""
    return (topic.name if groups < 2 else f"{topic.name} ({_numbered(group)})",)


def _placed(
    topic: Topic, group: list[DescribedPartition], described: Described
) -> dict[str, tuple[DescribedPartition, tuple[int, ...]]]:
    """Return a group's partitions by name (`orders-0`), each with its replicas, without those that are being added, as
    assigned or, if the racks are known, sorted by rack."""
    found = {}
    for each in group:
        order = each.settled
        if _racks(each, described):
            racks = {broker: described.brokers[str(broker)]["broker.rack"].value for broker in order}
            order = tuple(sorted(order, key=racks.__getitem__))
        found[f"{topic.name}-{each.number}"] = (each, order)
    return found


def _distinct(configurations: Iterable[ClusterConfiguration]) -> list[ClusterConfiguration]:
    """Return the configurations in the order of their first topic, those with equal values as one."""
    found: dict[tuple[Any, ...], list[ClusterConfiguration]] = {}
    for each in configurations:
        found.setdefault(_values(each), []).append(each)
    return [
        ClusterConfiguration(
            settings=_least_known(same),
            topics=tuple(topic for each in same for topic in each.topics),
            notices=_joined(notice for each in same for notice in each.notices),
            partitions={name: placed for each in same for name, placed in each.partitions.items()},
            places={name: place for each in same for name, place in each.places.items()},
        )
        for same in found.values()
    ]


def _joined(notices: Iterable[Notice]) -> tuple[Notice, ...]:
    """Return the notices, those that say the same of several places as one, which names the first place and how many more."""
    found: dict[tuple[NoticeKind, str, str, bool], list[Notice]] = {}
    for each in dict.fromkeys(notices):
        found.setdefault((each.kind, each.says, each.remedy, bool(each.topics)), []).append(each)
    return tuple(_several(same) if len(same) > 1 else same[0] for same in found.values())


def _several(same: list[Notice]) -> Notice:
    topics = dict.fromkeys(topic for each in same for topic in each.topics)
    where = f"{same[0].where} and {len(same) - 1} more" if same[0].where else ""
    return replace(same[0], where=where, topics=tuple(topics))


def _least_known(same: list[ClusterConfiguration]) -> dict[str, Setting]:
    """Return the settings of configurations with equal values; one that is only assumed for any of them stays assumed."""
    order, every = list(Origin), {key: [(each.topics, each.settings[key]) for each in same] for key in same[0].settings}
    return {key: max(found, key=lambda each: order.index(each[1].how))[1].cited_for(found) for key, found in every.items()}


def _topics(described: Described) -> list[Topic]:
    """Return the described topics or, if none is described, those that the configs outputs name, without partitions."""
    if described.topics:
        return list(described.topics.values())
    return [Topic(name, Setting("", ""), {}, False) for name in described.configs]


def read_cluster(kafka_version: str | None = None, given: Collection[str] = (), **files: Paths) -> list[ClusterConfiguration]:
    """Return every distinct configuration of the `files`, by the names in `OPTIONS`, in the order of their first topics.
    `describe` and `configs` take any format that describes a cluster; of keys that are `given` elsewhere nothing is assumed.
    Errors: `InputError` for a file that cannot be read, or a setting that Kafka refuses or the model cannot hold."""
    every = read_sources(files, kafka_version, given)
    topics = _topics(every[0].described)
    if not topics:
        return [each for sources in every for each in _configurations(sources, None, None)]
    return _distinct(each for topic in topics for each in _of_topic(every, topic))
