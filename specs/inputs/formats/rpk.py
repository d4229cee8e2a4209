"""What Redpanda's `rpk topic describe` prints, as text or with `--format json`.

Redpanda replicates each partition with Raft and not with Kafka's protocol; rpk also describes Kafka clusters.

Source: the reference of `rpk topic describe`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from neverlost.specs.errors import InputError, quote
from neverlost.specs.inputs.syntax.documents import DocumentNode
from neverlost.specs.inputs.syntax.printed import content
from neverlost.specs.inputs.syntax.topics_and_settings import (
    Described,
    DescribedPartition,
    Document,
    Topic,
    broker_ids,
    whole_number,
)
from neverlost.specs.setting import Notice, NoticeKind, Setting, Settings

NAME = "rpk topic describe"
LINE = re.compile(r"SUMMARY\s*$")

_SECTION = re.compile(r"(SUMMARY|CONFIGS|PARTITIONS)$")


def is_tree(tree: DocumentNode) -> bool:
    """Return True if a document is one topic, or a list of topics, each with a summary."""
    return bool(_topics(tree)) and all(each.has("summary") for each in _topics(tree))


def _topics(tree: DocumentNode) -> list[DocumentNode]:
    return tree.content if isinstance(tree.content, list) else [tree]


def read(document: Document) -> Described:
    """Return the topics.

    Errors: `InputError` for a topic twice, and for lines of another kind.
    """
    topics = [_of_json(each) for each in _topics(document.trees[0])] if document.trees else list(_of_text(document))
    found = Described()
    for each in topics:
        found.add_topic(each, each.replication_factor.where)
    says = "rpk describes Kafka and Redpanda alike, and Redpanda replicates with Raft: these answers are about Kafka"
    found.notices.append(Notice(NoticeKind.WARNING, says, document.name, "for Redpanda use --set model=majority"))
    return found


def _of_json(node: DocumentNode) -> Topic:
    summary = node.get("summary")
    configs = {each.get("key").text("key"): each.get("value").setting() for each in node.get("configs").list()}
    known = {key: each for key, each in configs.items() if each is not None}
    factor = summary.get("replicas").setting() or Setting("", summary.where)
    found = Topic(summary.get("name").text("name"), factor, known, False)
    for each in node.get("partitions").list():
        ids = [replica.text("replica") for replica in each.get("replicas").list()]
        _add(found, each.get("partition").text("partition"), each.get("leader").content, ids, each.where)
    return found


def _add(topic: Topic, number: str, leader: object, ids: list[str], where: str) -> None:
    """A partition; rpk does not show which replicas are in sync."""
    replicas = broker_ids(ids, "REPLICAS", where, " ".join(ids))
    if not replicas:
        raise InputError(f"{where} has no replicas; give what rpk topic describe -a prints")
    known = int(leader) if isinstance(leader, str) and leader.isascii() and leader.isdigit() and len(leader) < 11 else None
    topic.add(
        DescribedPartition(whole_number(number, "PARTITION", where), replicas, (), replicas, (), leader != "-1", where, known)
    )


def _of_text(document: Document) -> Iterator[Topic]:
    """Sections of a table each; a summary begins a topic."""
    section, topic = "", None
    for where, line in content(document):
        words = line.split()
        if _SECTION.match(line.strip()):
            section = line.strip()
            if section == "SUMMARY":
                if topic:
                    yield topic
                topic = Topic("", Setting("", where), {}, False)
        elif topic is None:
            raise InputError(f"{where} is not what {NAME} prints: {quote(line.strip())}; remove the line")
        elif not set(line.strip()) <= {"="} and words[0] not in ("KEY", "PARTITION"):
            _take(topic, section, words, line, where)
    if topic:
        yield topic


def _take(topic: Topic, section: str, words: list[str], line: str, where: str) -> None:
    """One line of a section."""
    if section == "SUMMARY" and words[0] == "NAME":
        topic.name = " ".join(words[1:])
    elif section == "SUMMARY" and words[0] == "REPLICAS":
        topic.replication_factor = Setting(" ".join(words[1:]), where)
    elif section == "CONFIGS" and len(words) >= 3:
        settings: Settings = topic.configs
        settings[words[0]] = Setting(" ".join(words[1:-1]), where)
    elif section == "PARTITIONS":
        replicas = re.search(r"\[([\d ]*)\]", line)
        if replicas is None or len(words) < 2:
            raise InputError(f"{where} is not what {NAME} prints: {quote(line.strip())}; remove the line")
        _add(topic, words[0], words[1], replicas[1].split(), where)
