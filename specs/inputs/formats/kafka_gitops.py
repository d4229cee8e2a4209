"""A desired state of kafka-gitops: a table of topics, each with partitions, replication and configs.

Source: the desired state specification of devshawn/kafka-gitops.
"""

from __future__ import annotations

from neverlost.specs.inputs.syntax.declared import asked_topic
from neverlost.specs.inputs.syntax.documents import DocumentNode
from neverlost.specs.inputs.syntax.topics_and_settings import Described, Document

NAME = "a kafka-gitops state"
_KEYS = {"partitions", "replication", "configs"}


def is_tree(tree: DocumentNode) -> bool:
    """Return True if a document has topics as a table of tables with the format's keys."""
    topics = tree.get("topics")
    return topics.is_table and any(each.is_table and _KEYS & {key for key, _ in each.items()} for _, each in topics.items())


def read(document: Document) -> Described:
    """Return the topics; `settings.topics.defaults.replication` stands for those that name no replication.

    Errors: `InputError` for mistyped settings.
    """
    tree = document.trees[0]
    usual = tree.get("settings", "topics", "defaults", "replication").setting()
    found = Described()
    for name, topic in tree.get("topics").items():
        factor = topic.get("replication").setting() or usual
        found.add(asked_topic(name, topic.where, factor, topic.get("configs").settings()))
    return found
