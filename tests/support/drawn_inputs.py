"""Inputs drawn by a seed, each with the place of every setting as it was written down while the files were written.

Nothing here reads a file: what a setting is and where it stands is known from writing it, the weakest place first.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

from neverlost.model.kraft.mechanisms import MECHANISMS, parsed

Place = tuple[str, str]
"""A value, and where it stands."""

OURS = "the default of neverlost"
VERSIONS = ("2.8", "3.3", "3.6", "3.9", "4.0", "4.2")
ASKED_BY_LEVEL = {"mechanism.broker-epoch-in-isr": (3, 5), "mechanism.shrink-keeps-leader-epoch": (3, 6)}
NEWEST_LEVEL = {"3.3": "3.3-IV3", "3.6": "3.6-IV2", "3.9": "3.9-IV0", "4.0": "4.0-IV3", "4.2": "4.2-IV1"}


@dataclass
class DrawnInput:
    """What a command is asked, and for each topic (or "") the places that a key may truly have."""

    command: str
    version: str
    arguments: dict[str, Any] = field(default_factory=dict)
    truth: dict[str, dict[str, set[Place]]] = field(default_factory=dict)

    def write(self, key: str, value: str, where: str, *topics: str) -> None:
        """Note a place that is stronger than all before."""
        for each in topics or self.truth:
            self.truth[each][key] = {(value, where)}

    def places(self, topics: Sequence[str], key: str, stated: Mapping[str, str]) -> set[Place]:
        """Where a key of an answer about some topics may stand; `stated` are the values that the answer itself names."""
        found = {one for each in topics or [""] for one in self.truth[each].get(key, {(stated[key], OURS)})}
        is_designed = self.command in ("tolerance", "nines")
        if key == "defects":
            return {("fixed", "a change")} if is_designed else {("shipped", OURS)}
        if not key.startswith("mechanism."):
            return found
        version = stated["kafka.version"]
        rule = next(each for each in MECHANISMS if each.key == key)
        level = stated.get("metadata.version", "")
        first = ASKED_BY_LEVEL.get(key)
        if rule.is_in(parsed(version) or (0, 0)):
            lacks = bool(level and first and tuple(map(int, level.partition("-")[0].split("."))) < first)
            by_level = (
                ("true", "defects=fixed") if is_designed and stated[key] == "true" else ("false", f"metadata.version={level}")
            )
            return {by_level} if lacks else {("true", f"Kafka {version}")}
        of_defects = is_designed and stated[key] == "true"
        return {("true", "defects=fixed")} if of_defects else {("false", f"Kafka {version}")}


class Lines:
    """A file that is written line by line."""

    def __init__(self, random: Random, name: str, comment: str = "# drawn") -> None:
        self.name, self._random, self._comment, self._lines = name, random, comment, list[str]()

    def add(self, line: str) -> str:
        """Write a line, perhaps after a comment, and return its place."""
        if self._comment and self._random.random() < 0.4:
            self._lines.append(self._comment)
        self._lines.append(line)
        return f"{self.name} line {len(self._lines)}"

    def save(self, folder: Path) -> str:
        """Write the file and return its name."""
        (folder / self.name).write_text("\n".join(self._lines) + "\n")
        return self.name


def drawn(seed: int, folder: Path) -> DrawnInput:
    """The input of a seed, whose files are written into a folder."""
    random = Random(seed)
    version = random.choice(VERSIONS)
    if seed % 4 == 3:
        return _dropped(_matrix(random, DrawnInput(random.choice(("sweep", "nines")), version), folder))
    if seed % 4 == 2:
        return _dropped(_toml(random, DrawnInput(random.choice(("check", "tolerance", "nines")), version), folder))
    return _dropped(_cluster(random, DrawnInput(random.choice(("check", "tolerance", "roll", "nines")), version), folder))


def _dropped(found: DrawnInput) -> DrawnInput:
    """A producer drops the idempotence that it has by default where its acks do not allow it."""
    for truth in found.truth.values():
        usual = {each for each in truth["enable.idempotence"] if each[0] == "true" and "default" in each[1]}
        low = [value for value, _ in truth["acks"] if value != "all"]
        if usual and low:
            truth["enable.idempotence"] |= {
                ("false", f"acks={one}, with which Kafka's producer drops idempotence") for one in low
            }
            if len(low) == len(truth["acks"]):
                truth["enable.idempotence"] -= usual
    return found


def _defaults(found: DrawnInput, version: str, whose: str = "'s default") -> None:
    """What Kafka does where no file says otherwise."""
    number = parsed(version) or (0, 0)
    of_kafka = f"Kafka {version}{whose}"
    for key, value in (
        ("min.insync.replicas", "1"),
        ("unclean.leader.election.enable", "false"),
        ("flush.messages", "default"),
    ):
        found.write(key, value, of_kafka)
    found.write("acks", "all" if number >= (3, 0) else "1", of_kafka)
    found.write("enable.idempotence", str(number >= (3, 2)).lower(), of_kafka)


def _flags(random: Random, found: DrawnInput, **values: Sequence[str]) -> None:
    """Options that win over every file."""
    chosen = {key.replace("_", "."): random.choice(each) for key, each in values.items() if random.random() < 0.4}
    for key, value in chosen.items():
        found.write(key, value, "--set")
    found.arguments["settings"] = [f"{key}={value}" for key, value in chosen.items()]


FLAGS = {
    "min_insync_replicas": ("1", "2"),
    "acks": ("1", "all"),
    "consumer_commit": ("before-processing",),
    "bounds_records": ("1",),
}


def _cluster(random: Random, found: DrawnInput, folder: Path) -> DrawnInput:
    """Descriptions, static files, clients and features of a cluster, with options beside them."""
    version = found.version
    topics = [f"t{number}" for number in range(random.randint(1, 3))]
    found.truth = {each: {} for each in topics}
    found.arguments = {"kafka_version": version}
    files: dict[str, Any] = {}
    found.write("kafka.version", version, "--kafka-version")
    _defaults(found, version)
    if random.random() < 0.5:
        files["server_properties"] = _server(random, found, folder)
    described = [_topics(random, found, topics, folder), *_features(random, found, folder)]
    files["describe"] = described
    files |= _clients(random, found, folder)
    if random.random() < 0.3:
        consumer = Lines(random, "consumer.properties")
        consumer.add("group.id=g")
        consumer.add("enable.auto.commit=false")
        files["consumer_properties"] = consumer.save(folder)
    _flags(random, found, **FLAGS)
    if found.command == "check":
        found.arguments |= files
    else:
        found.arguments["files"] = files
    return found


def _server(random: Random, found: DrawnInput, folder: Path) -> str:
    server = Lines(random, "server.properties")
    server.add("broker.id=1")
    for name, key, value in (
        ("min.insync.replicas", "min.insync.replicas", "2"),
        ("unclean.leader.election.enable", "unclean.leader.election.enable", "true"),
        ("log.flush.interval.messages", "flush.messages", "1"),
    ):
        if random.random() < 0.4:
            found.write(key, value, server.add(f"{name}={value}"))
    server.add("default.replication.factor=2")
    return server.save(folder)


def _topics(random: Random, found: DrawnInput, topics: Sequence[str], folder: Path) -> str:
    described = Lines(random, "topics.txt", "")
    for name in topics:
        least = random.choice((None, "1", "2"))
        brokers = "1,2,3"[: random.choice((3, 5))]
        configs = f"min.insync.replicas={least}" if least else "cleanup.policy=delete"
        about = f"PartitionCount: 2\tReplicationFactor: {(len(brokers) + 1) // 2}\tConfigs: {configs}"
        where = described.add(f"Topic: {name}\tTopicId: AAAAAAAAAAAAAAAAAAAA{name}\t{about}")
        if least:
            found.write("min.insync.replicas", least, where, name)
        isr = brokers[: random.choice((3, 5))]
        for number in range(2):
            standing = f"Leader: 1\tReplicas: {brokers}\tIsr: {isr}"
            where = described.add(f"\tTopic: {name}\tPartition: {number}\t{standing}")
            if number == 0:
                found.write("replication.factor", str((len(brokers) + 1) // 2), where, name)
                if isr != brokers:
                    found.write("start.outside_isr", "1", where, name)
                    if found.command == "nines":
                        found.write("start.outside_isr", "0", "a change", name)
    return described.save(folder)


def _features(random: Random, found: DrawnInput, folder: Path) -> list[str]:
    """The finalized features of some clusters; without them, what they may be."""
    version = found.version
    number = parsed(version) or (0, 0)
    elr = "eligible.leader.replicas"
    if number >= (3, 6) and random.random() < 0.5:
        features, level = Lines(random, "features.txt", ""), NEWEST_LEVEL[version]
        entries = [("kraft.version", "1"), ("metadata.version", level)]
        entries += [(f"{elr}.version", "0")] if random.random() < 0.5 else []
        random.shuffle(entries)
        found.write(elr, "false", f"features.txt, which does not list {elr}.version")
        for name, value in entries:
            where = features.add(
                f"Feature: {name}\tSupportedMinVersion: 0\tSupportedMaxVersion: 9\tFinalizedVersionLevel: {value}\tEpoch: 7"
            )
            if name == "metadata.version":
                found.write(name, value, where)
            if name == f"{elr}.version":
                found.write(elr, "false", where)
        return [features.save(folder)]
    places = {("false", f"Kafka {version}'s default")}
    if number >= (4, 1):
        places = {
            ("true", f"assumed on, as in clusters formatted at {version}"),
            ("false", "assumed off, as in clusters upgraded to it"),
        }
    levels = {(NEWEST_LEVEL.get(version, ""), f"Kafka {version}'s default")}
    if number >= (3, 5):
        levels |= {
            (NEWEST_LEVEL[version], f"assumed as in clusters formatted at {version}"),
            ("3.4-IV0", "assumed as in clusters that were upgraded and never raised it"),
        }
    for truth in found.truth.values():
        truth |= {elr: places, "metadata.version": levels}
    return []


def _clients(random: Random, found: DrawnInput, folder: Path) -> dict[str, str]:
    """A producer's file in one of two dialects, or none."""
    kind = random.choice(("none", "java", "librdkafka"))
    if kind == "none":
        for truth in found.truth.values():
            for key in ("acks", "enable.idempotence"):
                truth[key] = {(value, f"{where}; no producer is shown") for value, where in truth[key]}
        return {}
    is_java = kind == "java"
    file = Lines(random, "producer.properties" if is_java else "librdkafka.conf")
    file.add("bootstrap.servers=b:9092" if is_java else "metadata.broker.list=b:9092")
    number = parsed(found.version) or (0, 0)
    acks = random.choice(("1", "all"))
    where = file.add(f"{'acks' if is_java else 'request.required.acks'}={acks}")
    found.write("acks", acks, where)
    if random.random() < 0.5:
        found.write("enable.idempotence", "false", file.add("enable.idempotence=false"))
    elif not is_java:
        found.write("enable.idempotence", "false", "librdkafka's default")
    elif acks == "1" and number >= (3, 2):
        found.write("enable.idempotence", "false", where)
    return {"producer_properties": file.save(folder)}


def _toml(random: Random, found: DrawnInput, folder: Path) -> DrawnInput:
    """A configuration of our own format, with options beside it."""
    found.truth = {"": {}}
    file = Lines(random, "c.toml")
    found.write("kafka.version", found.version, file.add(f'kafka.version = "{found.version}"'))
    _defaults(found, found.version)
    _of_version(found, found.version)
    tables = [
        ("topic", (("replication.factor", "3"), ("min.insync.replicas", "2"))),
        ("producer", (("acks", '"1"'),)),
        ("bounds", (("records", "1"),)),
    ]
    random.shuffle(tables)
    for table, entries in tables:
        file.add(f"[{table}]")
        for key, value in entries:
            if random.random() < 0.7:
                name = f"bounds.{key}" if table == "bounds" else key
                found.write(name, value.strip('"'), f"[{table}] of {file.add(f'{key} = {value}')}")
    _flags(random, found, **FLAGS)
    found.arguments["config"] = file.save(folder)
    return found


def _of_version(found: DrawnInput, version: str) -> None:
    """What a version implies where no cluster is described."""
    number = parsed(version) or (0, 0)
    if number >= (3, 3):
        found.write("metadata.version", NEWEST_LEVEL[version], f"Kafka {version}'s default")
    if number >= (4, 1):
        found.truth[""]["eligible.leader.replicas"] = {
            ("true", f"assumed on, as in clusters formatted at {version}"),
            ("false", "assumed off, as in clusters upgraded to it"),
        }


def _matrix(random: Random, found: DrawnInput, folder: Path) -> DrawnInput:
    """A matrix with alternatives that go together, its tables in any order."""
    found.truth = {"": {}}
    file = Lines(random, "m.toml")
    found.write("kafka.version", found.version, file.add(f'kafka.version = "{found.version}"'))
    _defaults(found, found.version)
    _of_version(found, found.version)
    acks, idempotence = ({}, {})
    if found.command == "sweep":
        file.add('properties = ["acked-never-lost"]')
    parts = ["pairs", "exclude", "bounds", "topic"]
    random.shuffle(parts)
    for part in parts:
        if part == "pairs":
            for pair in (("1", "false"), ("all", "true")):
                file.add("[[pair]]")
                acks[pair[0]] = file.add(f'acks = "{pair[0]}"')
                idempotence[pair[1]] = file.add(f"enable.idempotence = {pair[1]}")
        elif part == "exclude":
            file.add("[[exclude]]")
            file.add("min.insync.replicas = 2")
            file.add('acks = "1"')
        elif part == "bounds":
            file.add("[bounds]")
            where = file.add("records = 1")
            found.write("bounds.records", "1", "a change" if found.command == "nines" else where)
        else:
            file.add("[topic]")
            found.write("replication.factor", "2", file.add("replication.factor = 2"))
            where = file.add("min.insync.replicas = [1, 2]")
            found.truth[""]["min.insync.replicas"] = {("1", where), ("2", where)}
    found.truth[""] |= {"acks": set(acks.items()), "enable.idempotence": set(idempotence.items())}
    _flags(random, found, replication_factor=("2", "3"), consumer_commit=("before-processing",))
    found.arguments["matrix"] = file.save(folder)
    return found
