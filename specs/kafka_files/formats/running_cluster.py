"""What --bootstrap-server saw: one look at a running cluster, kept as JSON so that an answer can be derived from it again.

Source: `checker/kafka/cluster/look.py` writes it; the levels of `metadata.version` are Kafka's `MetadataVersion`.
"""

from __future__ import annotations

from neverlost.specs.errors import InputError
from neverlost.specs.kafka_files.documents import Node
from neverlost.specs.kafka_files.topics_and_settings import Described, Document, Partition, Topic, broker_ids, whole_number
from neverlost.specs.setting import Kind, Notice, Setting

NAME = "what --bootstrap-server saw"
SCHEMA = "neverlost.cluster/1"
ELR, METADATA = "eligible.leader.replicas.version", "metadata.version"

LEVELS = {
    1: "3.0",
    2: "3.1",
    3: "3.2",
    4: "3.3",
    8: "3.4",
    9: "3.5",
    12: "3.6",
    15: "3.7",
    20: "3.8",
    21: "3.9",
    22: "4.0",
    26: "4.1",
    28: "4.2",
    30: "4.3",
}
"""The first level of each release; a broker supports up to the last one of its own."""


def is_tree(tree: Node) -> bool:
    """Whether a document is one."""
    return tree.get("schema").content == SCHEMA


def read(document: Document) -> Described:
    """The topics, the brokers' effective settings, the features and the version.

    Errors: `InputError` for a document that was changed into something else.
    """
    (tree,) = document.trees
    server = tree.get("server").text("server")
    found = Described()
    for each in tree.get("topics").list():
        found.add_topic(_topic(each, server), server)
    for each in tree.get("brokers").list():
        _add_broker(found, each, server)
    held = {str(broker) for topic in found.topics.values() for each in topic.partitions.values() for broker in each.replicas}
    for number in sorted(held - found.brokers.keys(), key=int):
        _add_unseen(found, number, server)
    _add_features(found, tree.get("features"), server)
    return found


def _topic(node: Node, server: str) -> Topic:
    name = node.get("name").text("name")
    where = f"{server}, topic {name}"
    configs = {key: Setting(each.text("value"), where) for key, each in node.get("configs").items()}
    found = Topic(name, Setting("", where), configs, shows_broker_values=False)
    for each in node.get("partitions").list():
        number = whole_number(each.get("partition").text("partition"), "partition", where)
        found.partitions[number] = _partition(each, number, f"{where}, partition {number}")
    if not found.partitions:
        raise InputError(f"{where} has no partitions")
    return found


def _partition(node: Node, number: int, where: str) -> Partition:
    ids = {key: _ids(node, key, where) for key in ("replicas", "adding", "isr", "elr", "removing") if node.has(key)}
    leader = node.get("leader").text("leader")
    has_leader = leader.isascii() and leader.isdigit()
    return Partition(number, **ids, has_leader=has_leader, where=where, leader=int(leader) if has_leader else None)


def _ids(node: Node, key: str, where: str) -> tuple[int, ...]:
    texts = [each.text("broker id") for each in node.get(key).list()]
    return broker_ids(texts, key, where, ",".join(texts))


def _add_broker(found: Described, node: Node, server: str) -> None:
    number = node.get("id").text("id")
    where = f"{server}, broker {number}"
    settings = {key: Setting(each.text("value"), where) for key, each in node.get("settings").items()}
    if not settings:
        _add_unseen(found, number, server)
    rack = node.get("rack").content
    if isinstance(rack, str):
        settings["broker.rack"] = Setting(rack, where)
    found.brokers[number] = settings


def _add_unseen(found: Described, number: str, server: str) -> None:
    """A broker that is down; before 4.0 a cluster does not even list it."""
    says = f"broker {number} shows no settings"
    found.notices.append(Notice(Kind.WARNING, says, server, "look again when it runs, or allow DESCRIBE_CONFIGS"))


def _add_features(found: Described, features: Node, server: str) -> None:
    """Whether eligible leader replicas are on, and the version: a broker supports the levels up to its own release's."""
    if not features.has(METADATA):
        return
    where = f"{server}, features"
    supported = whole_number(features.get(METADATA, "supported").text("level"), METADATA, where)
    release = [text for level, text in LEVELS.items() if level <= supported]
    if release:
        found.versions = [Setting(release[-1], where)]
    level = features.get(ELR, "finalized").content
    found.elr = Setting(str(level not in (None, "0")).lower(), where)
