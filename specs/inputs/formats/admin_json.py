"""Topics with their partitions as JSON: `kcat -L -J`, KafkaJS, and AdminClient's `TopicDescription` written out.

The names of fields differ between clients; a topic's configuration is read where there is one, and is otherwise not known.

Source: kcat's `metadata_print_json`, KafkaJS `ITopicMetadata`, Kafka's `TopicDescription` and `TopicPartitionInfo`, and the
topic list of the REST Proxy's API v3.
"""

from __future__ import annotations

from neverlost.specs.errors import InputError, quote
from neverlost.specs.inputs.syntax.documents import DocumentNode
from neverlost.specs.inputs.syntax.topics_and_settings import (
    Described,
    DescribedPartition,
    Document,
    Topic,
    broker_ids,
    whole_number,
)
from neverlost.specs.setting import Notice, NoticeKind, Setting, Settings

NAME = "topics as JSON (kcat -L -J, KafkaJS, AdminClient)"
_NAMES = ("topic", "name", "topic_name", "topicName")
_NUMBERS = ("partition", "partitionId", "partition_id", "partitionIndex", "id")
_ISRS = ("isr", "isrs", "isrNodes", "inSyncReplicas")
_ELRS = ("elr", "eligibleLeaderReplicas")
_IDS = ("id", "nodeId", "brokerId", "broker_id")


def is_tree(tree: DocumentNode) -> bool:
    """Return True if a document is a list of topics, has one, or is one topic, and has no `schema` (what --bootstrap-server saw
    has one).  Each topic must have a name, and a list of partitions or a replication factor."""
    topics = [] if tree.has("schema") else _topics(tree)
    has_replicas = [isinstance(each.get("partitions").content, list) or each.has("replication_factor") for each in topics]
    return bool(topics) and all(has_replicas) and all(_first(each, _NAMES) is not None for each in topics)


def _topics(tree: DocumentNode) -> list[DocumentNode]:
    for each in (tree, tree.get("topics"), tree.get("data")):
        if isinstance(each.content, list):
            return each.content
    return [tree] if _first(tree, _NAMES) is not None and tree.has("partitions") else []


def _first(node: DocumentNode, keys: tuple[str, ...]) -> DocumentNode | None:
    return next((node.get(key) for key in keys if node.has(key) and node.get(key).content is not None), None)


def read(document: Document) -> Described:
    """Return the topics with their partitions, and a warning of each topic that shows no configuration.

    Errors: `InputError` for a topic or a partition twice, a partition without number or replicas, and what is no broker id.
    """
    found = Described()
    for each in _topics(document.trees[0]):
        topic = _topic(each)
        found.add_topic(topic, each.where)
        if not _configs(each):
            says = f"the description of topic {quote(topic.name)} has no configuration"
            found.notices.append(
                Notice(NoticeKind.WARNING, says, each.where, "give what kafka-configs.sh prints too", (topic.name,))
            )
    return found


def _topic(node: DocumentNode) -> Topic:
    name = _first(node, _NAMES)
    factor = node.get("replication_factor").setting() or Setting("", node.where)
    found = Topic(name.text("name") if name else "", factor, _configs(node), False)
    for each in node.get("partitions").list() if isinstance(node.get("partitions").content, list) else []:
        partition = _partition(each)
        if partition.number in found.partitions:
            raise InputError(f"partition {partition.number} in {each.where} is described twice; remove one")
        found.partitions[partition.number] = partition
    return found


def _configs(node: DocumentNode) -> Settings:
    """Return a topic's settings, from a table or from a list of entries with a name and a value; none if it has neither."""
    config = _first(node, ("configs", "config", "configEntries"))
    if config is None:
        return {}
    if config.is_table:
        return config.settings()
    entries = [(_first(each, ("name", "key", "configName")), _first(each, ("value", "configValue"))) for each in config.list()]
    return {key.text("name"): Setting(value.text("value"), value.where) for key, value in entries if key and value}


def _partition(node: DocumentNode) -> DescribedPartition:
    number = _first(node, _NUMBERS)
    where = node.where
    if number is None:
        raise InputError(f"{where} has no partition number; write partition: NUMBER")
    replicas = _brokers(node, ("replicas", "replicaNodes"))
    if not replicas:
        raise InputError(f"{where} has no replicas; give the description of every partition")
    isr = _brokers(node, _ISRS) if _first(node, _ISRS) is not None else replicas
    named = _first(node, ("leader", "leaderId"))
    return DescribedPartition(
        number=whole_number(number.text("number"), "partition", where),
        replicas=replicas,
        adding=_brokers(node, ("addingReplicas",)),
        isr=isr,
        elr=_brokers(node, _ELRS),
        has_leader=(leader := _id(named) if named else None) not in (None, "-1", "none"),
        where=where,
        leader=int(leader) if leader and leader.isascii() and leader.isdigit() and len(leader) < 11 else None,
        removing=_brokers(node, ("removingReplicas",)),
    )


def _brokers(node: DocumentNode, keys: tuple[str, ...]) -> tuple[int, ...]:
    listed = _first(node, keys)
    ids = [_id(each) for each in listed.list()] if listed else []
    return broker_ids(ids, keys[0], node.where, ",".join(ids))


def _id(node: DocumentNode) -> str:
    """Return a broker's id as text, which stands there by itself or in a table; "" where there is none."""
    found = _first(node, _IDS) if node.is_table else node
    return found.text("broker id") if found else ""
