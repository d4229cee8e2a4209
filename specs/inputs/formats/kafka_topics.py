"""What `kafka-topics.sh --describe` prints, from 0.8.2 to 4.x, with tabs or with the blanks that a terminal makes of them.

The formats that differ between versions: a blank after the colon (none before 2.2), `TopicId` (2.8), `Adding
Replicas` during a reassignment, `Elr` and `LastKnownElr` (3.8).  They bound the version of the tool that printed it.

Source: `TopicCommand.printDescription` of these versions.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from neverlost.specs.configuration.version_defaults import FIRST_WITH_ELR, NEWEST, OLDEST, Version, canonical
from neverlost.specs.errors import InputError, quote
from neverlost.specs.inputs.syntax.printed import content
from neverlost.specs.inputs.syntax.topics_and_settings import (
    Described,
    DescribedPartition,
    Document,
    Topic,
    broker_ids,
    split_configs,
    whole_number,
    with_ends,
)
from neverlost.specs.setting import Setting

NAME = "kafka-topics.sh --describe"
LINE = re.compile(r"\s*Topic:\s*\S")

_PARTITION = re.compile(r"\s*Topic:\s*(\S+)\s+Partition:\s*(\d+)\s+((?!.*(?:Topic|Partition):).+)")
"""A topic, the number of a partition, and how it stands: most partitions of a cluster stand as others do."""

_LABEL = re.compile(r"(?:^|(?<=\s))([A-Z][A-Za-z]*(?: Replicas)?):")
_WRAPPED = re.compile(
    r"\s*(?:TopicId|PartitionCount|ReplicationFactor|Configs|Partition|Leader|Replicas|Isr|Elr|LastKnownElr"
    r"|(?:Adding|Removing) Replicas):"
)
"""How a line goes on that a terminal, a mail or a book has broken between two labels."""

_OF_3_8 = re.compile(r"\b(?:Elr|ELR):")
_WITH_ELR = re.compile(r"\b(?:Elr|ELR): *\d")
_OF_2_2 = re.compile(r"\bPartitionCount: ")
_NONE = ("", "N/A")
_NO_LEADER = ("none", "-1")


def _labelled(line: str) -> dict[str, str]:
    """Return the values of a line by label, as in `{"Topic": "orders", "Partition": "0"}`; `Configs` keeps its blanks."""
    if "\t" in line.strip():
        parts = [part.partition(":") for part in line.split("\t") if ":" in part]
        return {label.strip(): value.strip() for label, _, value in parts}
    return {each.group(1): line[each.end() : end].strip() for each, end in with_ends(list(_LABEL.finditer(line)), line)}


def _brokers(label: str, text: str, where: str) -> tuple[int, ...]:
    return () if text in _NONE else broker_ids(text.replace(" ", "").split(","), label, where, text)


def _topic(labels: dict[str, str], where: str) -> Topic:
    name, factor = labels["Topic"], labels.get("ReplicationFactor")
    if factor is None:
        raise InputError(f"topic {quote(name)} in {where} has no ReplicationFactor; give the whole output of --describe")
    configs = split_configs(labels.get("Configs", ""), where)
    return Topic(
        name, canonical("replication.factor", Setting(factor, where), "ReplicationFactor"), configs, "TopicId" in labels
    )


def _partition(labels: dict[str, str], where: str) -> DescribedPartition:
    number = whole_number(labels["Partition"], "Partition", where)
    replicas = _brokers("Replicas", labels.get("Replicas", ""), where)
    if not replicas:
        raise InputError(f"bad value {quote(labels.get('Replicas', ''))} for Replicas in {where}: use broker ids such as 1,2,3")
    isr = _brokers("Isr", labels.get("Isr", ""), where)
    adding, removing = (_brokers(label, labels.get(label, ""), where) for label in ("Adding Replicas", "Removing Replicas"))
    elr = _brokers("Elr", labels.get("Elr", labels.get("ELR", "")), where)
    last_known = _brokers("LastKnownElr", labels.get("LastKnownElr", ""), where)
    leader = labels.get("Leader", "")
    known = int(leader) if leader.isascii() and leader.isdigit() and len(leader) < 11 else None
    if "Isr" not in labels or (known is not None and not isr):
        raise InputError(f"{where} is cut off in the middle: it has no brokers after Isr; describe again")
    if known is not None and known not in isr:
        raise InputError(
            f"broker {known} leads in {where} and is not in the ISR there ({quote(labels['Isr'])}), which Kafka never does; "
            "describe again"
        )
    found = DescribedPartition(
        number, replicas, adding, isr, elr, labels.get("Leader") not in _NO_LEADER, where, known, removing, last_known
    )
    if not found.settled:
        named = quote(labels["Adding Replicas"])
        raise InputError(f"bad value {named} for Adding Replicas in {where}: it names every replica; describe again")
    return found


def read(document: Document) -> Described:
    """Return the topics, in their order, and the oldest and the newest Kafka that print such a text.

    Errors: `InputError` for a line of another kind or cut off, a partition without its topic, a topic named twice, and
    partitions that are left out.
    """
    found, standing, many = Described(), dict[str, DescribedPartition](), dict[str, str]()
    for where, line in _unwrap(content(document)):
        parts = _PARTITION.match(line)
        if parts and parts[3] in standing and parts[1] in found.topics:
            found.topics[parts[1]].add(standing[parts[3]].alike(whole_number(parts[2], "Partition", where), where))
            continue
        labels = _labelled(line)
        name = labels.get("Topic", "")
        if not name or not line.lstrip().startswith("Topic:"):
            raise InputError(f"{where} is not what {NAME} prints: {quote(line.strip())}; remove the line")
        if "Partition" not in labels:
            found.add_topic(_topic(labels, where), where)
            many[name] = labels.get("PartitionCount", "")
            continue
        if name not in found.topics:
            raise InputError(
                f"partition of topic {quote(name)} in {where} comes before its topic line; "
                "use kafka-topics.sh --describe without options that leave lines out"
            )
        partition = _partition(labels, where)
        found.topics[name].add(partition)
        if parts:
            standing[parts[3]] = partition
    for topic in found.topics.values():
        _require_all(topic, many[topic.name])
    found.printed_by = _printed_by(document.text)
    return found


def _unwrap(lines: Iterable[tuple[str, str]]) -> Iterator[tuple[str, str]]:
    """Yield place and text of each line; one that was broken between two labels is whole, with the place of its beginning."""
    whole: tuple[str, str] | None = None
    for where, line in lines:
        if whole is not None and _WRAPPED.match(line):
            whole = (whole[0], f"{whole[1].rstrip()} {line.strip()}".replace("\t", " "))
            continue
        if whole is not None:
            yield whole
        whole = (where, line)
    if whole is not None:
        yield whole


def _printed_by(text: str) -> tuple[Version, Version]:
    """Return the oldest and the newest Kafka that prints these labels."""
    if _WITH_ELR.search(text):
        return FIRST_WITH_ELR, NEWEST
    if _OF_3_8.search(text):
        return (3, 8), NEWEST
    if "TopicId:" in text:
        return (2, 8), (3, 7)
    return ((2, 2), (2, 7)) if _OF_2_2.search(text) else (OLDEST, (2, 1))


def _require_all(topic: Topic, many: str) -> None:
    """Errors: `InputError` for a topic without partitions, or with another number of them than `many`, its PartitionCount if
    shown (the text was cut or filtered), and where none of them has as many replicas as the topic's line says."""
    factor = topic.replication_factor
    sizes = {len(each.replicas) - len(each.adding): each.where for each in topic.partitions.values()}
    if sizes and int(factor.value) not in sizes:
        size, where = next(iter(sizes.items()))
        raise InputError(
            f"topic {quote(topic.name)} has ReplicationFactor {factor.value} in {factor.where}, and {size} replicas in "
            f"{where}; describe again"
        )
    if not topic.partitions:
        raise InputError(
            f"topic {quote(topic.name)} in {factor.where} is described without its partitions; "
            "use kafka-topics.sh --describe without options that leave lines out"
        )
    if many.isdecimal() and int(many) != len(topic.partitions):
        raise InputError(
            f"topic {quote(topic.name)} in {topic.replication_factor.where} has PartitionCount {quote(many)}, and "
            f"{len(topic.partitions)} of them described; give the whole output of --describe"
        )
