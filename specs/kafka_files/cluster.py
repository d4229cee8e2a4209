"""The configurations that Kafka's own files describe, one per distinct combination, with the topics each speaks for.

Precedence as in Kafka: what the topic sets, a broker's dynamic value, the cluster's dynamic value, the static files of
brokers and controllers, the default of the version.  What no file can show is assumed, and a notice says so; where
eligible leader replicas may be on or off, both are answered.

Source: `ConfigHelper.createTopicConfigEntry`, `ServerTopicConfigSynonyms`, `DynamicConfig`; for the controller
`ReplicationControlManager.getTopicEffectiveMinIsr` and `ConfigurationControlManager.getTopicConfig`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from neverlost.specs.errors import InputError
from neverlost.specs.kafka_files.clients import read_clients
from neverlost.specs.kafka_files.described import Described, Partition, Topic, ranges
from neverlost.specs.kafka_files.known_keys import known_to, unknown_keys
from neverlost.specs.kafka_files.producer import Producer, assumed_producer, consumer_notices, read_producer
from neverlost.specs.kafka_files.properties import read_properties
from neverlost.specs.kafka_files.recognise import read_described
from neverlost.specs.kafka_files.text import Path, quoted, require_one_standard_input, shown_name
from neverlost.specs.kafka_files.versions import Version, canonical, defaults, parse_version, shown
from neverlost.specs.setting import Kind, Notice, Origin, Setting, Settings, of_kind

Paths = Path | Sequence[Path] | None
"""One file or several; `-` is standard input."""

ELR = "eligible.leader.replicas"

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

NOT_MODELLED = {
    "flush.ms": "time is not modelled: what is flushed after a while counts as not flushed",
    "log.flush.interval.ms": "time is not modelled: what is flushed after a while counts as not flushed",
    "remote.storage.enable": "tiered storage is not modelled",
}


@dataclass(frozen=True)
class ClusterConfiguration:
    """One configuration: contract keys with raw values, each with its place and how it came to be.

    `topics` are those it speaks for, with partitions where they differ within a topic; empty if no file names a
    topic.  `notices` are what was noticed about them: warnings, assumptions, and what was read but is not modelled.
    """

    settings: Mapping[str, Setting]
    topics: tuple[str, ...] = ()
    notices: tuple[Notice, ...] = ()

    @property
    def keys(self) -> dict[str, tuple[str, str]]:
        """Raw values with their places, as a configuration is chosen from."""
        return {key: (each.value, each.where) for key, each in self.settings.items()}

    @property
    def defaulted(self) -> frozenset[str]:
        """The keys that no file sets."""
        return frozenset(key for key, each in self.settings.items() if each.how != Origin.FILE)

    @property
    def warnings(self) -> tuple[Notice, ...]:
        """What whoever reads the verdict has to know."""
        return of_kind(self.notices, Kind.WARNING, Kind.ASSUMED)


@dataclass
class _Found:
    """Settings gathered for one partition; the first source that has a key wins."""

    settings: Settings = field(default_factory=dict)
    notices: list[Notice] = field(default_factory=list)

    def offer(self, key: str, setting: Setting | None) -> None:
        """Take a setting unless a stronger source has set the key."""
        if setting is not None:
            self.settings.setdefault(key, setting)


@dataclass(frozen=True)
class _Shared:
    """A value that brokers or static files share, and what is to be said where they differ."""

    setting: Setting | None
    notice: Notice | None = None


@dataclass(frozen=True)
class _Files:
    """Everything that was read."""

    described: Described
    server: Settings
    producer: Producer
    version: Version | None
    default: Settings
    notices: tuple[Notice, ...]
    knows_cluster: bool
    brokers: Mapping[str, _Shared]
    static: Mapping[str, _Shared]
    elr: tuple[Setting, ...]
    given: Collection[str]


def _entity_value(settings: Settings, key: str, contract_key: str) -> Setting | None:
    """The value of an entity's key; `null` is how Kafka prints a key that is not set."""
    if key not in settings or settings[key].value == "null":
        return None
    return canonical(contract_key, settings[key], key)


def _topic_value(topic: Topic, described: Described, key: str) -> Setting | None:
    """What the describe output or the configs output shows for a topic.

    Errors: `InputError` where they contradict each other.
    """
    shown = _entity_value(topic.configs, key, key)
    listed = _entity_value(described.configs.get(topic.name, {}), key, key)
    if shown and listed and shown.value != listed.value:
        raise InputError(
            f"{key} of topic {quoted(topic.name)} is {shown.value!r} in {shown.where} "
            f"and {listed.value!r} in {listed.where}; describe both again at the same time"
        )
    return shown or listed


def _brokers(described: Described, key: str, contract_key: str) -> _Shared:
    """The brokers' dynamic value; the least safe one where they differ."""
    values = [each for each in (_entity_value(broker, key, contract_key) for broker in described.brokers.values()) if each]
    if not values:
        return _Shared(None)
    weakest = _weakest(contract_key, values)
    if len({each.value for each in values}) == 1:
        return _Shared(weakest)
    says = f"brokers differ in {key}: taken as {weakest.value}, the least safe of them"
    return _Shared(weakest, Notice(Kind.WARNING, says, weakest.where, "set it alike on every broker"))


def _weakest(key: str, values: Iterable[Setting]) -> Setting:
    return min(values, key=lambda each: SAFER[key](each.value))


def _static(server: Settings, controller: Settings | None, default: Settings, key: str, knows_server: bool) -> _Shared:
    """What the static files set; where brokers and controllers differ, the least safe value decides."""
    name = TOPIC_KEYS[key]
    mine = canonical(key, server[name], name) if name in server else None
    if controller is None or key not in CONTROLLER_KEYS:
        return _Shared(mine)
    theirs = canonical(key, controller[name], name) if name in controller else None
    if not knows_server:
        return _Shared(theirs)
    both = (mine or default[key], theirs or default[key])
    weakest = _weakest(key, both)
    if both[0].value == both[1].value:
        return _Shared(mine or theirs)
    says = (
        f"brokers and controllers differ in {name}: {both[0].value} ({both[0].where}) and {both[1].value} ({both[1].where}); "
        f"taken as {weakest.value}, the less safe"
    )
    remedy = f"set {name} alike in both files, or once for the cluster with kafka-configs.sh"
    return _Shared(weakest, Notice(Kind.WARNING, says, (theirs or mine or weakest).where, remedy))


def _racks(partition: Partition, described: Described) -> Setting | None:
    """One rack per replica, if every replica's broker is described with one."""
    brokers = [described.brokers.get(str(each), {}).get("broker.rack") for each in partition.settled]
    racks = [each for each in brokers if each and each.value not in ("", "null")]
    if len(racks) < len(brokers) or any("," in each.value for each in racks):
        return None
    return Setting(",".join(sorted(each.value for each in racks)), racks[0].where)


def _offer_topic_keys(found: _Found, files: _Files, topic: Topic | None) -> None:
    """Topic keys from all sources, strongest first."""
    for key, broker_key in TOPIC_KEYS.items():
        if topic:
            found.offer(key, _topic_value(topic, files.described, key))
        was_set = key in found.settings
        brokers, static = files.brokers[key], files.static[key]
        found.offer(key, brokers.setting)
        found.offer(key, _entity_value(files.described.cluster, broker_key, key))
        decides = key not in found.settings
        found.offer(key, static.setting)
        found.offer(key, _default(files, topic, key))
        if brokers.notice and not was_set:
            found.notices.append(brokers.notice)
        if static.notice and decides:
            found.notices.append(static.notice)
        if topic and decides and static.setting and topic.shows_broker_values:
            found.notices += _unseen(files, topic, broker_key, static.setting, files.default[key])


def _default(files: _Files, topic: Topic | None, key: str) -> Setting:
    """The version's default; it is assumed where the brokers may have set another that no file can show."""
    default = files.default[key]
    if topic is None or topic.shows_broker_values or files.knows_cluster:
        return default
    return Setting(default.value, f"{default.where}; what brokers set is not shown", Origin.ASSUMED)


def _unseen(files: _Files, topic: Topic, name: str, static: Setting, default: Setting) -> list[Notice]:
    """A static value that the brokers which printed a description would have shown."""
    if static.value == default.value:
        return []
    says = f"{name}={static.value} is not what the description of topic {quoted(topic.name)} shows"
    remedy = "the cluster that printed it may not use this file; describe the cluster that does"
    return [Notice(Kind.WARNING, says, static.where, remedy, (topic.name,))]


def _offer_factor(found: _Found, files: _Files, topic: Topic | None, partition: Partition | None) -> None:
    """The replication factor; three are assumed where neither a topic nor a broker's file says."""
    key = "replication.factor"
    if partition:
        found.offer(key, canonical(key, Setting(str(len(partition.settled)), partition.where), "Replicas"))
    elif topic and topic.replication_factor.value:
        found.offer(key, canonical(key, topic.replication_factor, "ReplicationFactor"))
    name = "default.replication.factor"
    if name in files.server:
        found.offer(key, canonical(key, files.server[name], name))
    elif files.knows_cluster:
        found.offer(key, files.default[key])
    if key not in found.settings:
        found.offer(key, Setting("3", "no file shows it", Origin.ASSUMED))
        if key not in files.given:
            says = "the replication factor is assumed to be 3, for no file shows it"
            found.notices.append(Notice(Kind.ASSUMED, says, "", "give --describe FILE, or --set replication.factor=..."))


def _known_elr(described: Described, version: Version | None, default: Settings, given: Collection[str]) -> tuple[Setting, ...]:
    """Whether eligible leader replicas are on: one value, or both where a version has them and no file shows which.

    A partition that lists some is proof that they are on.
    """
    listed = (each.where for topic in described.topics.values() for each in topic.partitions.values() if each.elr)
    where = next(listed, None)
    if where:
        return (Setting("true", where),)
    if described.elr:
        return (described.elr,)
    if version is None or version < (4, 1) or ELR in given:
        return (default[ELR],)
    on, off = f"assumed on, as in clusters formatted at {shown(version)}", "assumed off, as in clusters upgraded to it"
    return (Setting("true", on, Origin.ASSUMED), Setting("false", off, Origin.ASSUMED))


def _warn_beyond(found: _Found, version: Version | None) -> None:
    """Kafka accepts a min.insync.replicas above the replication factor."""
    factor, least = found.settings["replication.factor"], found.settings["min.insync.replicas"]
    if int(least.value) > int(factor.value) and factor.how != Origin.ASSUMED:
        effect = "no acks=all write succeeds" if version and version < (3, 7) else "Kafka 3.7 and later lower it to that"
        says = f"min.insync.replicas {least.value} is above the replication factor {factor.value}: {effect}"
        found.notices.append(Notice(Kind.WARNING, says, least.where, "lower it, or add replicas"))


def _outside(partition: Partition) -> int:
    """How many replicas are outside the ISR when the search begins; an offline partition is no beginning."""
    return 0 if partition.is_offline else partition.outside


def _numbered(partitions: Iterable[Partition]) -> str:
    """Partitions by number."""
    numbers = [each.number for each in partitions]
    return f"partition{'s' * (len(numbers) > 1)} {ranges(numbers)}"


def _about(topic: Topic, files: _Files) -> list[Notice]:
    """What is noticed about one topic: where it is worse off than anything that a search begins with, and what is planned."""
    found = [each for each in files.described.notices if topic.name in each.topics]
    offline = [each for each in topic.partitions.values() if each.is_offline]
    if offline:
        says = f"topic {quoted(topic.name)} is offline now ({_numbered(offline)})"
        remedy = "the verdict is about a partition that starts with all replicas in the ISR"
        found.append(Notice(Kind.WARNING, says, offline[0].where, remedy, (topic.name,)))
    plan = {number: each for (name, number), each in files.described.plan.items() if name == topic.name}
    planned = [(*each, topic.partitions.get(number)) for number, each in plan.items()]
    for replicas, where, partition in planned:
        if partition and partition.where != where and len(replicas) != len(partition.settled):
            says = f"the plan changes the replicas of topic {quoted(topic.name)}, partition {partition.number}, from "
            says += f"{len(partition.settled)} to {len(replicas)}: the verdict is about the present number"
            found.append(Notice(Kind.WARNING, says, where, "describe the topic again when it is done", (topic.name,)))
    if any(partition and partition.where != where for _, where, partition in planned):
        says = f"a reassignment of topic {quoted(topic.name)} is planned, and is not part of the answer"
        found.append(Notice(Kind.NOT_MODELLED, says, planned[0][1], "ask with --set faults.reassign=1", (topic.name,)))
    return found + _not_modelled(topic.configs | files.described.configs.get(topic.name, {}), (topic.name,))


def _not_modelled(settings: Settings, topics: tuple[str, ...] = ()) -> list[Notice]:
    """Settings that were read and that no answer depends on."""
    return [
        Notice(Kind.NOT_MODELLED, f"{key}={settings[key].value.strip()}: {says}", settings[key].where, "", topics)
        for key, says in NOT_MODELLED.items()
        if key in settings and settings[key].value.strip() not in ("false", "null", str(2**63 - 1))
    ]


def _configurations(files: _Files, topic: Topic | None, partition: Partition | None) -> list[ClusterConfiguration]:
    """What one partition, a topic without partition lines, or a cluster may be configured as: one, unless ELR is unknown."""
    found = _Found()
    _offer_factor(found, files, topic, partition)
    _offer_topic_keys(found, files, topic)
    if partition:
        found.offer("broker.rack", _racks(partition, files.described))
        outside = _outside(partition)
        found.offer("start.outside_isr", Setting(str(outside), partition.where) if outside else None)
    found.offer("acks", files.producer.acks)
    found.offer("enable.idempotence", files.producer.idempotence)
    _warn_beyond(found, files.version)
    about = _about(topic, files) if topic else []
    notices = tuple(dict.fromkeys((*files.notices, *found.notices, *about)))
    named = (topic.name,) if topic else ()
    return [ClusterConfiguration(found.settings | {ELR: elr}, named, notices) for elr in files.elr]


def _values(configuration: ClusterConfiguration) -> tuple[tuple[str, str], ...]:
    """What makes a configuration distinct: its values, wherever they come from."""
    return tuple((key, each.value) for key, each in sorted(configuration.settings.items()))


def _of_topic(files: _Files, topic: Topic) -> list[ClusterConfiguration]:
    """The distinct configurations of one topic, named with partitions if there are several."""
    # Partitions of a topic differ in their replicas alone, so one partition of each kind stands for the others.
    alike: dict[tuple[int, int, str], list[Partition]] = {}
    for each in topic.partitions.values():
        rack = _racks(each, files.described)
        alike.setdefault((len(each.settled), _outside(each), rack.value if rack else ""), []).append(each)
    if len(alike) < 2:
        return _configurations(files, topic, next(iter(topic.partitions.values()), None))
    return [
        replace(found, topics=(f"{topic.name} ({_numbered(group)})",))
        for group in alike.values()
        for found in _configurations(files, topic, group[0])
    ]


def _distinct(configurations: Iterable[ClusterConfiguration]) -> list[ClusterConfiguration]:
    """Configurations with equal values joined, in the order of their first topic."""
    found: dict[tuple[tuple[str, str], ...], list[ClusterConfiguration]] = {}
    for each in configurations:
        found.setdefault(_values(each), []).append(each)
    return [
        ClusterConfiguration(
            settings=_least_known(same),
            topics=tuple(topic for each in same for topic in each.topics),
            notices=tuple(dict.fromkeys(notice for each in same for notice in each.notices)),
        )
        for same in found.values()
    ]


def _least_known(same: list[ClusterConfiguration]) -> dict[str, Setting]:
    """The settings of configurations with equal values: what is assumed for one topic is not hidden by another's file."""
    order = list(Origin)
    return {key: max((each.settings[key] for each in same), key=lambda each: order.index(each.how)) for key in same[0].settings}


def _topics(described: Described) -> list[Topic]:
    """The described topics or, without a description, those of the configurations, or of a plan as it will be."""
    if described.topics:
        return list(described.topics.values())
    found = {name: Topic(name, Setting("", ""), {}, False) for name in described.configs}
    for (name, number), (replicas, where) in described.plan.items():
        topic = found.setdefault(name, Topic(name, Setting("", ""), {}, False))
        topic.partitions[number] = Partition(number, replicas, (), replicas, (), True, where)
    return list(found.values())


def _listed(paths: Paths) -> list[Path]:
    """The files of an option."""
    if paths is None:
        return []
    return [paths] if isinstance(paths, str) or not isinstance(paths, Sequence) else list(paths)


def _read_static(paths: list[Path], option: str) -> Settings:
    """The static settings of a broker or a controller.

    Errors: `InputError` for a mistyped key, and for a file without any key of a broker.
    """
    found: Settings = {}
    for path in paths:
        settings = read_properties(path, option)
        unknown_keys(settings, "broker")
        if not known_to("broker") & settings.keys():
            raise InputError(f"{shown_name(path)} has no setting that a Kafka broker knows; give its server.properties")
        found |= settings
    return found


def _version(stated: list[Setting], metadata: Setting | None) -> Version | None:
    """The version that the command line and the files agree on.

    Errors: `InputError` for one that does not exist, and for two that cannot both be.
    """
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


def read_cluster(
    describe: Paths = None,
    configs: Paths = None,
    server_properties: Paths = None,
    controller_properties: Paths = None,
    producer_properties: Path | None = None,
    consumer_properties: Path | None = None,
    kafka_version: str | None = None,
    given: Collection[str] = (),
) -> list[ClusterConfiguration]:
    """Every distinct configuration of the files that are given, in the order of their first topics.

    `describe` and `configs` take any format that describes a cluster.  `given` are keys that are set elsewhere, about
    which nothing needs to be assumed.

    Errors: `InputError` for a file that cannot be read, or a relevant setting that Kafka refuses or the model cannot hold.
    """
    options = {
        "--describe": _listed(describe),
        "--configs": _listed(configs),
        "--server-properties": _listed(server_properties),
        "--controller-properties": _listed(controller_properties),
        "--producer-properties": _listed(producer_properties),
        "--consumer-properties": _listed(consumer_properties),
    }
    require_one_standard_input(options)
    described = Described()
    for option in ("--describe", "--configs"):
        for path in options[option]:
            described.add(read_described(path, option))
    flag = [Setting(str(kafka_version), "--kafka-version", Origin.FLAG)] if kafka_version is not None else []
    version = _version([*flag, *described.versions], described.metadata)
    default = defaults(version)
    server = _read_static(options["--server-properties"], "--server-properties") | described.server
    controllers = options["--controller-properties"]
    controller = _read_static(controllers, "--controller-properties") if controllers else None
    files = _files(described, server, controller, version, default, options, given)
    topics = _topics(described)
    if not topics:
        return _configurations(files, None, None)
    return _distinct(each for topic in topics for each in _of_topic(files, topic))


def _files(
    described: Described,
    server: Settings,
    controller: Settings | None,
    version: Version | None,
    default: Settings,
    options: Mapping[str, list[Path]],
    given: Collection[str],
) -> _Files:
    """Everything that was read, with what it means for every topic."""
    producers, consumers = options["--producer-properties"], options["--consumer-properties"]
    decided = read_producer(producers[0], version, default) if producers else assumed_producer(version, default)
    elr = _known_elr(described, version, default, given)
    notices = [each for each in decided.notices if each.kind != Kind.ASSUMED or "acks" not in given]
    notices += [
        each for path in consumers for client in read_clients(path, "consumer") for each in consumer_notices(client.settings)
    ]
    notices += [each for each in described.notices if not each.topics] + _not_modelled(server)
    if len(elr) > 1:
        says = "whether eligible leader replicas are on is not known: both are answered"
        remedy = f"give what kafka-features.sh describe prints with --describe, or --set {ELR}=true or false"
        notices.append(Notice(Kind.ASSUMED, says, "", remedy))
    knows_server = bool(server)
    return _Files(
        described=described,
        server=server,
        producer=decided,
        version=version,
        default=default,
        notices=tuple(notices),
        knows_cluster=knows_server,
        brokers={key: _brokers(described, broker_key, key) for key, broker_key in TOPIC_KEYS.items()},
        static={key: _static(server, controller, default, key, knows_server) for key in TOPIC_KEYS},
        elr=elr,
        given=given,
    )
