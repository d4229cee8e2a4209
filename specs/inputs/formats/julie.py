"""A topology of JulieOps (Kafka Topology Builder): a context with projects, and their topics.

A topic's full name is made of the context, the other top-level names in their order, the project and the topic.

Source: the topology descriptor of kafka-ops/julie.
"""

from __future__ import annotations

from neverlost.specs.inputs.syntax.declared import asked_topic
from neverlost.specs.inputs.syntax.documents import DocumentNode
from neverlost.specs.inputs.syntax.topics_and_settings import Described, Document
from neverlost.specs.setting import Notice, NoticeKind

NAME = "a JulieOps topology"
_PLACES = ("replication.factor", "num.partitions")


def is_tree(tree: DocumentNode) -> bool:
    """Return True if a document has a context with projects."""
    return tree.has("context", "projects")


def read(document: Document) -> Described:
    """Return the topics of every project.

    Errors: `InputError` for a topic without a name, and for mistyped settings.
    """
    tree = document.trees[0]
    found = Described()
    start = [tree.get("context").text("context")]
    start += [str(each.content) for key, each in tree.items() if key != "context" and isinstance(each.content, str)]
    for project in tree.get("projects").list():
        within = [*start, project.get("name").text("name")]
        for topic in project.get("topics").list():
            kind = topic.get("dataType").content
            words = [*within, topic.get("name").text("name"), *([kind] if isinstance(kind, str) else [])]
            found.add(_topic(".".join(words), topic))
    return found


def _topic(name: str, topic: DocumentNode) -> Described:
    config = topic.get("config").settings()
    factor = config.get("replication.factor")
    found = asked_topic(name, topic.where, factor, {key: each for key, each in config.items() if key not in _PLACES})
    if topic.has("plan"):
        says = "the settings of its plan stand in another file, which is not read"
        found.notices.append(
            Notice(NoticeKind.WARNING, says, topic.get("plan").where, "write them in the topic's config", (name,))
        )
    return found
