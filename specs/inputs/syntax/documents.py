"""JSON and YAML as one kind of tree, whose every node knows where it stands; nothing in a document is ever constructed.

YAML is read as a stream of events (PyYAML's scanner and parser, no constructors): scalars stay text, tags of other types
and merge keys are refused, and the size that aliases unfold to is bounded.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from neverlost.specs.errors import InputError, quote
from neverlost.specs.setting import Setting, Settings

DEEPEST = 64
"""Levels of nesting."""
LARGEST = 2_000_000
"""Nodes of one document, aliases unfolded."""

_PLAIN_TAGS = ("!", *(f"tag:yaml.org,2002:{each}" for each in ("str", "int", "bool", "float", "null", "seq", "map")))
_NOTHING = ("", "~", "null", "Null", "NULL")


@dataclass(frozen=True, slots=True)
class DocumentNode:
    """A text, a list of nodes or a table of nodes; None for what is empty."""

    content: str | list[DocumentNode] | dict[str, DocumentNode] | None
    where: str

    @property
    def is_table(self) -> bool:
        """True if the node is a table of keys and nodes."""
        return isinstance(self.content, dict)

    def get(self, *keys: str) -> DocumentNode:
        """Return the node at a path of keys, each in the table of the one before; an empty node where there is none."""
        found = self
        for key in keys:
            table = found.content if isinstance(found.content, dict) else {}
            found = table.get(key, DocumentNode(None, found.where))
        return found

    def has(self, *keys: str) -> bool:
        """Return True if the node is a table that has all of these keys itself; they are no path."""
        return isinstance(self.content, dict) and all(key in self.content for key in keys)

    def items(self) -> list[tuple[str, DocumentNode]]:
        """Return the entries of a table; none of an empty node.  Errors: `InputError` for a text or a list."""
        if self.content is None:
            return []
        if not isinstance(self.content, dict):
            raise InputError(f"{self.where} should be a table of keys and values")
        return list(self.content.items())

    def list(self) -> list[DocumentNode]:
        """Return the entries of a list; none of an empty node.  Errors: `InputError` for a text or a table."""
        if self.content is None:
            return []
        if not isinstance(self.content, list):
            raise InputError(f"{self.where} should be a list")
        return self.content

    def text(self, what: str) -> str:
        """Return a text, a number or a truth as it was written.
        Errors: `InputError` for what is missing, a list or a table."""
        if not isinstance(self.content, str):
            raise InputError(f"{self.where} has no {what}: write a text or a number")
        return self.content

    def setting(self) -> Setting | None:
        """Return the text with its place; None where there is none."""
        return Setting(self.content, self.where) if isinstance(self.content, str) else None

    def settings(self) -> Settings:
        """Return the scalars below this node by dotted key; a key `[a.b]` is `a.b`, and a list's entries are `a[0]`, `a[1]`."""
        return dict(self._flat(""))

    def _flat(self, name: str) -> Iterator[tuple[str, Setting]]:
        if isinstance(self.content, str):
            yield name, Setting(self.content, self.where)
        elif isinstance(self.content, dict):
            for key, each in self.content.items():
                plain = key[1:-1] if key.startswith("[") and key.endswith("]") else key
                yield from each._flat(f"{name}.{plain}" if name else plain)
        elif isinstance(self.content, list):
            for number, each in enumerate(self.content):
                yield from each._flat(f"{name}[{number}]")


def looks_like_json(text: str) -> bool:
    """Return True if a text begins as a JSON object or list does."""
    return text.lstrip("\ufeff \t\r\n")[:1] in ("{", "[")


def parse_json(text: str, name: str) -> DocumentNode:
    """Return a JSON document as a tree; numbers and truths become text.  A node's place is its path.
    Errors: `InputError` for what is no JSON, a key twice in one object, or nesting that is too deep."""

    def table(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(pairs)
        if len(found) < len(pairs):
            keys = [key for key, _ in pairs]
            twice = next(key for key in keys if keys.count(key) > 1)
            raise InputError(f"{quote(twice)} stands twice in one object of {name}; keep one of them")
        return found

    try:
        found = json.loads(text, object_pairs_hook=table, parse_int=str, parse_float=str, parse_constant=str)
    except RecursionError:
        raise InputError(f"{name} is nested more than {DEEPEST} levels deep; give the document of one tool") from None
    except ValueError as problem:
        raise InputError(f"{name} is not JSON: {problem}") from None
    return _tree(found, name, "", 0)


def _tree(found: Any, name: str, path: str, depth: int) -> DocumentNode:
    if depth > DEEPEST:
        raise InputError(f"{name} is nested more than {DEEPEST} levels deep; give the document of one tool")
    where = f"{name} at {path}" if path else name
    if isinstance(found, dict):
        start = f"{path}." if path else ""
        return DocumentNode({key: _tree(each, name, start + _step(key), depth + 1) for key, each in found.items()}, where)
    if isinstance(found, list):
        return DocumentNode([_tree(each, name, f"{path}[{number}]", depth + 1) for number, each in enumerate(found)], where)
    if isinstance(found, bool):
        return DocumentNode(str(found).lower(), where)
    return DocumentNode(found, where)


def _step(key: str) -> str:
    """Return a key as a part of a path; one that is long or not printable as `quote` shows it."""
    return key if key.isprintable() and len(key) <= 60 else quote(key)


def parse_yaml(text: str, name: str) -> list[DocumentNode]:
    """Return the documents of a YAML stream as trees.  A node's place is its line.
    Errors: `InputError` for what is no YAML, a key twice in one table, tags, merge keys, too deep nesting, too many nodes."""
    import yaml

    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        return list(_Builder(name, yaml.parse(text, Loader=loader)).documents())
    except yaml.MarkedYAMLError as problem:
        mark = problem.problem_mark or problem.context_mark
        place = f"{name} line {mark.line + 1}" if mark else name
        raise InputError(f"{place} is not YAML: {problem.problem or problem.context or 'it cannot be read'}") from None
    except (yaml.YAMLError, UnicodeError) as problem:
        raise InputError(f"{name} is not YAML: {str(problem).splitlines()[0]}") from None


class _Builder:
    """Builds trees from the events of PyYAML's parser, of at most `LARGEST` nodes in all."""

    def __init__(self, name: str, events: Iterator[Any]) -> None:
        self.name, self.events = name, events
        self.anchors: dict[str, tuple[DocumentNode, int]] = {}
        self.count = 0

    def documents(self) -> Iterator[DocumentNode]:
        for event in self.events:
            if _kind(event) == "DocumentStart":
                self.anchors = {}
                yield self.node(next(self.events), 0)

    def node(self, event: Any, depth: int) -> DocumentNode:
        """Return the node that an event begins.  Errors: `InputError` for too deep nesting, an alias without an anchor."""
        where = f"{self.name} line {event.start_mark.line + 1}"
        before = self.count
        self.spend(1, where)
        if depth > DEEPEST:
            raise InputError(f"{where} is nested more than {DEEPEST} levels deep; give the document of one tool")
        if _kind(event) == "Alias":
            if event.anchor not in self.anchors:
                raise InputError(f"alias {quote(event.anchor)} in {where} has no anchor before it")
            found, size = self.anchors[event.anchor]
            self.spend(size, where)
            return found
        found = DocumentNode(self.content(event, where, depth), where)
        if event.anchor:
            self.anchors[event.anchor] = (found, self.count - before)
        return found

    def content(self, event: Any, where: str, depth: int) -> str | list[DocumentNode] | dict[str, DocumentNode] | None:
        """Return what a node that is no alias holds; None for an empty one.
        Errors: `InputError` for a tag that would construct something."""
        if event.tag is not None and event.tag not in _PLAIN_TAGS:
            raise InputError(f"tag {quote(event.tag)} in {where} is not read; write the value without it")
        if _kind(event) == "SequenceStart":
            return list(self.until("SequenceEnd", depth))
        if _kind(event) == "MappingStart":
            return self.table(depth)
        is_empty = event.style is None and event.value in _NOTHING
        return None if is_empty else str(event.value)

    def until(self, end: str, depth: int) -> Iterator[DocumentNode]:
        """Yield the nodes before the event that ends a list or a table."""
        for event in self.events:
            if _kind(event) == end:
                return
            yield self.node(event, depth + 1)

    def table(self, depth: int) -> dict[str, DocumentNode]:
        """Return the entries of a table.
        Errors: `InputError` for a key that is no text, stands twice, or merges another table."""
        found: dict[str, DocumentNode] = {}
        entries = self.until("MappingEnd", depth)
        for key in entries:
            value = next(entries)
            if isinstance(key.content, list | dict):
                raise InputError(f"{key.where} has a list or a table as a key; write a text")
            name = key.content or ""
            if name == "<<":
                raise InputError(f"{key.where} has a merge key (<<); write the keys out")
            if name in found:
                raise InputError(f"{quote(name)} stands twice in one table, in {found[name].where} and {key.where}; keep one")
            found[name] = DocumentNode(value.content, key.where) if isinstance(value.content, str | None) else value
        return found

    def spend(self, nodes: int, where: str) -> None:
        """Effect: count these nodes.  Errors: `InputError` when the document has grown beyond its bounds."""
        self.count += nodes
        if self.count > LARGEST:
            raise InputError(f"{where} unfolds to more than {LARGEST:,} values; give the document of one tool")


def _kind(event: Any) -> str:
    """Return the kind of an event: `Scalar`, `MappingStart` and so on."""
    return type(event).__name__.removesuffix("Event")
