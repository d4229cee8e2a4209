"""Strimzi's custom resources, as YAML or as `kubectl get -o json`: `KafkaTopic`, and the `config` of `Kafka`.

Source: the custom resource definitions of strimzi-kafka-operator (`kafka.strimzi.io`).
"""

from __future__ import annotations

from neverlost.specs.inputs.syntax.declared import asked_topic
from neverlost.specs.inputs.syntax.documents import DocumentNode
from neverlost.specs.inputs.syntax.known_keys import unknown_keys
from neverlost.specs.inputs.syntax.topics_and_settings import Described, Document
from neverlost.specs.setting import Notice, NoticeKind

NAME = "Strimzi's Kafka and KafkaTopic"


def is_tree(tree: DocumentNode) -> bool:
    """Return True if a document is a resource of Strimzi, or a Kubernetes `List` of any resources."""
    group, kind = tree.get("apiVersion").content, tree.get("kind").content
    is_list = group == "v1" and kind == "List" and tree.has("items")
    return is_list or (isinstance(group, str) and group.startswith(("kafka.strimzi.io/", "core.strimzi.io/")))


def read(document: Document) -> Described:
    """Return the topics, the brokers' settings with the version, and a warning of what has a producer (Connect, MirrorMaker).
    Other resources are passed over.  Errors: `InputError` for a topic without a name, and for mistyped settings."""
    found = Described()
    for tree in document.trees:
        for resource in tree.get("items").list() if tree.get("kind").content == "List" else [tree]:
            found.add(_resource(resource))
    return found


def _resource(tree: DocumentNode) -> Described:
    kind, spec = tree.get("kind").content, tree.get("spec")
    if kind == "KafkaTopic":
        name = spec.get("topicName") if spec.has("topicName") else tree.get("metadata", "name")
        return asked_topic(name.text("topic name"), tree.where, spec.get("replicas").setting(), spec.get("config").settings())
    found = Described()
    if kind == "Kafka":
        kafka = spec.get("kafka")
        found.server = kafka.get("config").settings()
        unknown_keys(found.server, "broker")
        version, metadata = kafka.get("version").setting(), kafka.get("metadataVersion").setting()
        found.versions = [version] if version else []
        found.metadata = metadata
    elif kind in ("KafkaConnect", "KafkaConnector", "KafkaMirrorMaker2"):
        says = f"{kind}: its producer's settings are not read here"
        found.notices.append(Notice(NoticeKind.WARNING, says, tree.where, "give the file with --producer-properties"))
    return found
