"""Reads what `kafka-topics.sh --describe` and `kafka-configs.sh --describe` print, from 0.8.2 to 4.x.

The formats that differ between versions: a blank after the colon (none before 2.2), `TopicId` (2.8), `Adding
Replicas` during a reassignment, `Elr` and `LastKnownElr` (3.8), and configurations on one line (ZooKeeper) or
one a line with synonyms (brokers, 1.1).  Tabs that became blanks on the way through a terminal are accepted.

Source: `TopicCommand.printDescription` and `ConfigCommand.describeResourceConfig` of these versions.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from neverlost.specs.errors import InputError
from neverlost.specs.kafka_files.properties import Setting, Settings, lines_of, quoted, read_text

_LABEL = re.compile(r"(?:^|(?<=\s))([A-Z][A-Za-z]*(?: Replicas)?):")
_PAIR = re.compile(r"(?:^|,)\s*([A-Za-z][\w.\-]*)=")
_NOISE = re.compile(
    r"\[|\$|>|#|OpenJDK|Java HotSpot|Picked up|SLF4J|log4j|(WARN|WARNING|Warning|INFO|DEBUG|Note)\b"
    r"|.*kafka-(topics|configs)(\.sh|\.bat)?\s+--"
)
_NOBODY = ("", "N/A")
_HEADERS = (
    re.compile(r"(?:Dynamic |All )?[Cc]onfigs? for (?P<kind>topic|broker)s? (?P<name>.+?) are:?(?P<rest>\s.*)?$"),
    re.compile(r"Default configs? for (?P<kind>broker)s in the cluster are:(?P<rest>\s.*)?$"),
    re.compile(r"Configs for default (?P<kind>topic|broker)s? are(?P<rest>\s.*)?$"),
)
_OTHER_HEADER = re.compile(r"[A-Z][A-Za-z ]{0,60}? for ")
"""Of a user, a client, a group: an unindented sentence.  No pattern here backtracks over a whole line."""

NOBODY = ("none", "-1")
"""How a partition without a leader is shown."""


@dataclass(frozen=True)
class Partition:
    """One partition line."""

    number: int
    replicas: tuple[int, ...]
    adding: tuple[int, ...]
    isr: tuple[int, ...]
    elr: tuple[int, ...]
    has_leader: bool
    where: str

    @property
    def outside(self) -> int:
        """How many settled replicas are not in the ISR."""
        return len(set(self.settled) - set(self.isr))

    @property
    def is_offline(self) -> bool:
        """Whether nobody leads, or nobody that would still be a replica."""
        return not self.has_leader or self.outside == len(self.settled)

    @property
    def settled(self) -> tuple[int, ...]:
        """Replicas without those that a reassignment in progress is adding; `TopicCommand` counts these."""
        return tuple(each for each in self.replicas if each not in self.adding)


@dataclass
class Topic:
    """One described topic.  With `shows_broker_values` a broker printed it, so a value that is not Kafka's default
    shows even where the topic does not set it; ZooKeeper knows no topic ids and shows what the topic sets."""

    name: str
    replication_factor: Setting
    configs: Settings
    shows_broker_values: bool
    partitions: dict[int, Partition] = field(default_factory=dict)


def ranges(numbers: Iterable[int]) -> str:
    """`0-3,7` of partition numbers."""
    found: list[list[int]] = []
    for number in sorted(numbers):
        if found and number == found[-1][1] + 1:
            found[-1][1] = number
        else:
            found.append([number, number])
    return ",".join(str(low) if low == high else f"{low}-{high}" for low, high in found)


def _with_ends(found: list[re.Match[str]], text: str) -> Iterator[tuple[re.Match[str], int]]:
    """Matches with where the value after each ends: at the next match, or with the text."""
    return zip(found, [*[each.start() for each in found[1:]], len(text)], strict=False)


def _labelled(line: str) -> dict[str, str]:
    """`{"Topic": "orders", "Partition": "0", ...}` of a line; `Configs` keeps its blanks."""
    if "\t" in line.strip():
        parts = [part.partition(":") for part in line.split("\t") if ":" in part]
        return {label.strip(): value.strip() for label, _, value in parts}
    return {each.group(1): line[each.end() : end].strip() for each, end in _with_ends(list(_LABEL.finditer(line)), line)}


def _brokers(label: str, text: str, where: str) -> tuple[int, ...]:
    """A list of broker ids."""
    if text in _NOBODY:
        return ()
    ids = text.replace(" ", "").split(",")
    if not all(len(each) < 11 and each.isascii() and each.isdigit() for each in ids):
        raise InputError(f"bad value {quoted(text)} for {label} in {where}: use broker ids such as 1,2,3")
    if len(set(ids)) != len(ids):
        raise InputError(f"bad value {quoted(text)} for {label} in {where}: a broker is named twice")
    return tuple(map(int, ids))


def split_configs(text: str, where: str) -> Settings:
    """`a=1,b=x,y` as settings; a comma belongs to the value unless a `key=` follows it.

    Errors: `InputError` where a piece has no key.
    """
    found = list(_PAIR.finditer(text))
    if text.strip() and (not found or text[: found[0].start()].strip()):
        raise InputError(f"bad value {quoted(text)} for Configs in {where}: use key=value,key=value")
    return {each.group(1): Setting(text[each.end() : end].strip(), where) for each, end in _with_ends(found, text)}


def _topic(labels: dict[str, str], where: str) -> Topic:
    """A topic line."""
    name, factor = labels["Topic"], labels.get("ReplicationFactor")
    if factor is None:
        raise InputError(f"topic {quoted(name)} in {where} has no ReplicationFactor; give the whole output of --describe")
    configs = split_configs(labels.get("Configs", ""), where)
    return Topic(name, Setting(factor, where), configs, "TopicId" in labels)


def _partition(labels: dict[str, str], where: str) -> Partition:
    """A partition line."""
    number = labels["Partition"]
    if not (len(number) < 11 and number.isascii() and number.isdigit()):
        raise InputError(f"bad value {quoted(number)} for Partition in {where}: use a partition number")
    replicas = _brokers("Replicas", labels.get("Replicas", ""), where)
    if not replicas:
        raise InputError(
            f"bad value {quoted(labels.get('Replicas', ''))} for Replicas in {where}: use broker ids such as 1,2,3"
        )
    isr = _brokers("Isr", labels["Isr"], where) if "Isr" in labels else replicas
    adding = _brokers("Adding Replicas", labels.get("Adding Replicas", ""), where)
    elr = _brokers("Elr", labels.get("Elr", labels.get("ELR", "")), where)
    found = Partition(int(number), replicas, adding, isr, elr, labels.get("Leader") not in NOBODY, where)
    if not found.settled:
        named = quoted(labels["Adding Replicas"])
        raise InputError(f"bad value {named} for Adding Replicas in {where}: it names every replica; describe again")
    return found


def _content(text: str, name: str) -> Iterator[tuple[str, str]]:
    """Lines that are neither blank nor a tool's warning or a shell prompt, with their places."""
    for number, line in enumerate(lines_of(text), 1):
        if line.strip() and not _NOISE.match(line.lstrip()):
            yield f"{name} line {number}", line


def parse_describe(text: str, name: str) -> list[Topic]:
    """The topics of a describe output, in its order.

    Errors: `InputError` for a line of another kind, a partition without its topic, a topic named twice, nothing at all.
    """
    topics: dict[str, Topic] = {}
    for where, line in _content(text, name):
        labels = _labelled(line)
        topic = labels.get("Topic", "")
        if not topic or not line.lstrip().startswith("Topic:"):
            raise InputError(f"{where} is not what kafka-topics.sh --describe prints: {quoted(line.strip())}; remove the line")
        if "Partition" not in labels:
            if topic in topics:
                raise InputError(f"topic {quoted(topic)} in {where} is described twice; remove one of them")
            topics[topic] = _topic(labels, where)
            continue
        if topic not in topics:
            raise InputError(
                f"partition of topic {quoted(topic)} in {where} comes before its topic line; "
                "use kafka-topics.sh --describe without options that leave lines out"
            )
        partition = _partition(labels, where)
        if partition.number in topics[topic].partitions:
            raise InputError(f"partition {partition.number} of topic {quoted(topic)} in {where} is described twice; remove one")
        topics[topic].partitions[partition.number] = partition
    if not topics:
        raise InputError(f"{name} describes no topic; give what kafka-topics.sh --describe prints")
    return list(topics.values())


def read_describe(path: str | os.PathLike[str]) -> list[Topic]:
    """The topics of a file.

    Errors: as `read_text` and `parse_describe`.
    """
    return parse_describe(read_text(path, "--describe"), os.fspath(path))


@dataclass
class Entities:
    """Described configurations: by topic, by broker, and the cluster's dynamic defaults for brokers."""

    topics: dict[str, Settings] = field(default_factory=dict)
    brokers: dict[str, Settings] = field(default_factory=dict)
    cluster: Settings = field(default_factory=dict)

    def section(self, kind: str, name: str | None) -> Settings:
        """Where the settings of an entity go."""
        if name is None:
            return self.cluster if kind == "broker" else {}
        named = self.topics if kind == "topic" else self.brokers
        return named.setdefault(name, {})


def parse_configs(text: str, name: str) -> Entities:
    """The entities of a configs output; entities of other kinds (users, clients) are passed over.

    Errors: `InputError` for an output that names no entity.
    """
    entities = Entities()
    section: Settings | None = None
    for where, line in _content(text, name):
        header = next(filter(None, (each.match(line.strip()) for each in _HEADERS)), None)
        if header:
            entity = header.groupdict().get("name")
            section = entities.section(header["kind"], entity.strip("'") if entity else None)
            section.update(split_configs((header["rest"] or "").strip(), where))
        elif _OTHER_HEADER.match(line):
            section = {}
        elif section is None:
            raise InputError(f"{where} is not what kafka-configs.sh --describe prints: {quoted(line.strip())}; remove the line")
        else:
            key, equals, value = line.strip().partition("=")
            if equals:
                section[key] = Setting(value.partition(" sensitive=")[0].strip(), where)
    if section is None:
        raise InputError(f"{name} describes no configuration; give what kafka-configs.sh --describe prints")
    return entities


def read_configs(path: str | os.PathLike[str]) -> Entities:
    """The entities of a file.

    Errors: as `read_text` and `parse_configs`.
    """
    return parse_configs(read_text(path, "--configs"), os.fspath(path))
