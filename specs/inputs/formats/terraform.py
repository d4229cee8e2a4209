"""Terraform's `kafka_topic` and `confluent_kafka_topic`, from what `terraform show -json` prints.

Source: the providers Mongey/kafka and confluentinc/confluent; Confluent Cloud's topics have three replicas and
min.insync.replicas=2 unless set; the JSON output format of Terraform (`values`, `planned_values`).
"""

from __future__ import annotations

from collections.abc import Iterator

from neverlost.specs.errors import InputError
from neverlost.specs.inputs.syntax.declared import asked_topic
from neverlost.specs.inputs.syntax.documents import DocumentNode
from neverlost.specs.inputs.syntax.topics_and_settings import Described, Document
from neverlost.specs.setting import Origin, Setting

NAME = "Terraform's kafka_topic and confluent_kafka_topic"
_CONFLUENT = {"min.insync.replicas": "2"}


def is_tree(tree: DocumentNode) -> bool:
    """Return True if a document is what `terraform show -json` prints, of a state or of a plan."""
    return tree.has("format_version", "terraform_version") and (tree.has("values") or tree.has("planned_values"))


def read(document: Document) -> Described:
    """Return the topics.  Errors: `InputError` for a document without topics, and for mistyped settings."""
    found = Described()
    count = 0
    for kind, label, body in _resources(document.trees[0]):
        if kind in ("kafka_topic", "confluent_kafka_topic"):
            found.add(_topic(kind, label, body))
            count += 1
    if not count:
        raise InputError(f"{document.name} has no kafka_topic or confluent_kafka_topic; give the file that has the topics")
    return found


def _topic(kind: str, label: str, body: DocumentNode) -> Described:
    is_confluent = kind == "confluent_kafka_topic"
    name = body.get("topic_name" if is_confluent else "name").content
    configs = body.get("config").settings()
    factor = body.get("replication_factor").setting()
    if is_confluent:
        own = {key: Setting(value, "Confluent Cloud's default", Origin.DEFAULT) for key, value in _CONFLUENT.items()}
        configs, factor = own | configs, Setting("3", "Confluent Cloud", Origin.DEFAULT)
    return asked_topic(name if isinstance(name, str) else label, body.where, factor, configs)


def _resources(tree: DocumentNode) -> Iterator[tuple[str, str, DocumentNode]]:
    """Yield type, address and values of each resource, those of modules too; of a plan, as they are planned."""
    values = tree.get("planned_values") if tree.has("planned_values") else tree.get("values")
    modules = [values.get("root_module")]
    while modules:
        module = modules.pop()
        modules += module.get("child_modules").list()
        for each in module.get("resources").list():
            yield each.get("type").text("type"), each.get("address").text("address"), each.get("values")
