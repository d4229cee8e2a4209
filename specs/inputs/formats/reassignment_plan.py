"""A plan of `kafka-reassign-partitions.sh`: the JSON file, or what `--generate` prints (its last document is the plan).

Source: `ReassignPartitionsCommand.parsePartitionReassignmentData`.
"""

from __future__ import annotations

import re

from neverlost.specs.errors import InputError, quote
from neverlost.specs.inputs.syntax.documents import DocumentNode, parse_json
from neverlost.specs.inputs.syntax.text import lines_of
from neverlost.specs.inputs.syntax.topics_and_settings import Described, Document, broker_ids, whole_number

NAME = "a plan for kafka-reassign-partitions.sh"
LINE = re.compile(r"(Current partition replica assignment|Proposed partition reassignment configuration)\s*$")


def is_tree(tree: DocumentNode) -> bool:
    """Return True if a document lists partitions, each with its topic and replicas."""
    partitions = tree.get("partitions").content
    return tree.has("partitions") and isinstance(partitions, list) and all(each.has("topic", "replicas") for each in partitions)


def read(document: Document) -> Described:
    """Return the replicas that each partition shall have.

    Errors: `InputError` for a partition named twice, and for what is no list of brokers.
    """
    found = Described()
    for entry in _plan(document).get("partitions").list():
        topic = entry.get("topic").text("topic")
        number = whole_number(entry.get("partition").text("partition"), "partition", entry.where)
        ids = [each.text("broker id") for each in entry.get("replicas").list()]
        if not ids:
            raise InputError(f"{entry.where} has no replicas; name brokers such as [1,2,3]")
        replicas = broker_ids(ids, "replicas", entry.where, ",".join(ids))
        if (topic, number) in found.plan:
            raise InputError(f"partition {number} of topic {quote(topic)} in {entry.where} is planned twice; remove one")
        found.plan[topic, number] = (replicas, entry.where)
    return found


def _plan(document: Document) -> DocumentNode:
    if document.trees:
        return document.trees[0]
    numbered = [line for line in lines_of(document.text) if line.lstrip().startswith("{")]
    if not numbered:
        raise InputError(f"{document.name} has no plan; give the JSON that kafka-reassign-partitions.sh --generate proposes")
    tree = parse_json(numbered[-1], document.name)
    if not is_tree(tree):
        raise InputError(
            f"{document.name} ends with no plan; give the JSON that kafka-reassign-partitions.sh --generate proposes"
        )
    return tree
