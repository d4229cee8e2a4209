"""What --bootstrap-server saw: one look at a running cluster, kept as JSON so that an answer can be derived from it again.

Source: `checker/kafka/cluster/look.py` writes it; the levels of `metadata.version` are Kafka's `MetadataVersion`.
"""

from __future__ import annotations

from neverlost.specs.configuration.metadata_version import LEVELS, METADATA
from neverlost.specs.configuration.version_defaults import LAST_WITH_ZOOKEEPER, OLDEST
from neverlost.specs.errors import InputError
from neverlost.specs.inputs.syntax.documents import DocumentNode
from neverlost.specs.inputs.syntax.topics_and_settings import (
    Described,
    DescribedPartition,
    Document,
    Topic,
    broker_ids,
    whole_number,
)
from neverlost.specs.setting import Notice, NoticeKind, Setting

NAME = "what neverlost --bootstrap-server saw of a cluster and kept as JSON"
SCHEMA = "neverlost.cluster/1"
ELR = "eligible.leader.replicas.version"


def is_tree(tree: DocumentNode) -> bool:
    """Return True if a document is what a look at a running cluster saw."""
    return tree.get("schema").content == SCHEMA


def read(document: Document) -> Described:
    """Return the topics, the brokers' effective settings, the features, the version, and a warning of each broker without
    settings.  Errors: `InputError` for a document in which something is missing or malformed."""
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


def _topic(node: DocumentNode, server: str) -> Topic:
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


def _partition(node: DocumentNode, number: int, where: str) -> DescribedPartition:
    ids = {key: _ids(node, key, where) for key in ("replicas", "adding", "isr", "elr", "removing") if node.has(key)}
    for key in ("replicas", "adding", "isr", "elr"):
        if key not in ids:
            raise InputError(f"{where} has no {key}; describe again")
    leader = node.get("leader").text("leader")
    has_leader = leader.isascii() and leader.isdigit()
    return DescribedPartition(number, **ids, has_leader=has_leader, where=where, leader=int(leader) if has_leader else None)


def _ids(node: DocumentNode, key: str, where: str) -> tuple[int, ...]:
    texts = [each.text("broker id") for each in node.get(key).list()]
    return broker_ids(texts, key, where, ",".join(texts))


def _add_broker(found: Described, node: DocumentNode, server: str) -> None:
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
    """Effect: add a warning of a broker that shows no settings, as one does that is down."""
    says = f"broker {number} shows no settings"
    found.notices.append(Notice(NoticeKind.WARNING, says, server, "look again when it runs, or allow DESCRIBE_CONFIGS"))


def _add_features(found: Described, features: DocumentNode, server: str) -> None:
    """Effect: add to `found` whether ELR is on, the Kafka version (of the newest level that is supported), and the metadata
    version that was finalized; of a cluster with ZooKeeper, which shows none of it, only the bounds of the Kafka version."""
    if not features.has(METADATA):
        found.printed_by = OLDEST, LAST_WITH_ZOOKEEPER
        return
    where = f"{server}, features"
    supported, finalized = (
        whole_number(features.get(METADATA, each).text("level"), METADATA, where) for each in ("supported", "finalized")
    )
    if supported:
        found.versions = [Setting(_named(supported).partition("-")[0], where)]
    found.metadata = Setting(_named(finalized), where) if finalized else None
    level = features.get(ELR, "finalized").content
    found.elr = Setting(str(level not in (None, "0")).lower(), where)


def _named(level: int) -> str:
    """Return the name of a level of metadata.version, by its number from 1; beyond the last that is known, that one's name."""
    return LEVELS[min(level, len(LEVELS)) - 1]
