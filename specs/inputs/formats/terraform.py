"""Terraform's `kafka_topic` and `confluent_kafka_topic`: from `terraform show -json`, or from `.tf` files with literal values.

Source: the providers Mongey/kafka and confluentinc/confluent; Confluent Cloud's topics have three replicas and
min.insync.replicas=2 unless set; the JSON output format of Terraform (`values`, `planned_values`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from neverlost.specs.errors import InputError, quote
from neverlost.specs.inputs.syntax.declared import asked_topic
from neverlost.specs.inputs.syntax.documents import DocumentNode
from neverlost.specs.inputs.syntax.known_keys import DECISIVE
from neverlost.specs.inputs.syntax.topics_and_settings import Described, Document
from neverlost.specs.setting import Origin, Setting

NAME = "Terraform's kafka_topic and confluent_kafka_topic"
LINE = re.compile(r'\s*resource\s+"\w+"\s+"[\w-]+"')

LARGEST = 2 * 1024 * 1024
"""Units: characters.  The parser reads about 250 topics a second."""
_EXPRESSION = "${...}"
_CONFLUENT = {"min.insync.replicas": "2"}


def is_tree(tree: DocumentNode) -> bool:
    """Return True if a document is what `terraform show -json` prints, of a state or of a plan."""
    return tree.has("format_version", "terraform_version") and (tree.has("values") or tree.has("planned_values"))


def read(document: Document) -> Described:
    """Return the topics.

    Errors: `InputError` for malformed text, and for a decisive value that is an expression.
    """
    resources = _of_json(document.trees[0]) if document.trees else _of_hcl(document)
    found = Described()
    count = 0
    for kind, label, body in resources:
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
    elif body.get("config").content == _EXPRESSION:
        raise _expression("config", body.get("config").where)
    for key, each in [("replication_factor", factor), *((key, configs.get(key)) for key in DECISIVE["topic"])]:
        if each is not None and "${" in each.value:
            raise _expression(key, each.where)
    named = name if isinstance(name, str) and "${" not in name else label
    return asked_topic(named, body.where, factor, configs)


def _expression(key: str, where: str) -> InputError:
    return InputError(f"{key} in {where} is an expression, whose value Terraform knows; give what terraform show -json prints")


def _of_json(tree: DocumentNode) -> Iterator[tuple[str, str, DocumentNode]]:
    """Resources by type and address, those of modules too."""
    values = tree.get("planned_values") if tree.has("planned_values") else tree.get("values")
    modules = [values.get("root_module")]
    while modules:
        module = modules.pop()
        modules += module.get("child_modules").list()
        for each in module.get("resources").list():
            yield each.get("type").text("type"), each.get("address").text("address"), each.get("values")


def _of_hcl(document: Document) -> Iterator[tuple[str, str, DocumentNode]]:
    """Yield the `resource` blocks of a file.

    Errors: `InputError` for what is not HCL, or beyond bounds.
    """
    import hcl2
    from lark.exceptions import LarkError

    if len(document.text) > LARGEST:
        raise InputError(f"{document.name} is larger than {LARGEST >> 20} MiB; give what terraform show -json prints")
    try:
        body = hcl2.parses_to_tree(document.text.rstrip() + "\n").children[0]
        blocks = [_block(each, document.name) for each in body.children if getattr(each, "data", "") == "block"]
    except LarkError as problem:
        line = getattr(problem, "line", 0)
        place = f"{document.name} line {line}" if isinstance(line, int) and line > 0 else document.name
        raise InputError(f"{place} is not HCL; try terraform validate, or give what terraform show -json prints") from None
    except RecursionError:
        raise InputError(f"{document.name} is nested too deeply; give what terraform show -json prints") from None
    for words, node in blocks:
        if words[0] == "resource" and len(words) == 3:
            yield words[1], f"{words[1]}.{words[2]}", node


def _block(block: Any, name: str) -> tuple[list[str], DocumentNode]:
    """Return the words before a block's brace, and its attributes."""
    words = [_words(each) for each in block.children if getattr(each, "data", "") in ("identifier", "string")]
    body = next(each for each in block.children if getattr(each, "data", "") == "body")
    attributes = [each.children for each in body.children if getattr(each, "data", "") == "attribute"]
    return words, _table([(each[0], each[-1]) for each in attributes], f"{name} line {_line(block)}", name)


def _table(pairs: list[tuple[Any, Any]], where: str, name: str) -> DocumentNode:
    found: dict[str, DocumentNode] = {}
    for key, value in pairs:
        text = _words(key)
        if text in found:
            raise InputError(f"{quote(text)} stands twice, in {found[text].where} and {name} line {_line(key)}; keep one")
        found[text] = _value(value, f"{name} line {_line(key)}", name)
    return DocumentNode(found, where)


def _value(term: Any, where: str, name: str) -> DocumentNode:
    """Return a literal as text, an object as a table, and any other expression as a mark that it is one."""
    inner = [each for each in term.children if hasattr(each, "data")]
    kind = inner[0].data if len(inner) == 1 and term.data == "expr_term" else ""
    if kind == "object":
        elements = [each.children for each in inner[0].children if getattr(each, "data", "") == "object_elem"]
        return _table([(each[0], each[-1]) for each in elements], where, name)
    if kind in ("int_lit", "float_lit", "literal_value", "string") and not list(term.find_data("interpolation")):
        return DocumentNode(_words(inner[0]), where)
    return DocumentNode(_EXPRESSION, where)


def _words(node: Any) -> str:
    """Return the text of an identifier, a literal or a string."""
    return "".join(str(each) for each in node.scan_values(lambda each: str(each) != '"'))


def _line(node: Any) -> int:
    return int(next(node.scan_values(lambda each: True)).line)
