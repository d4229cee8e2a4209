"""Reads which applications write which topics: `--applications apps.toml`.

[[application]]
name = "shop"
producer-properties = "shop.properties"     # beside this file; or a list of files
topics = ["orders.*", "payments"]           # names, or patterns as a shell has them
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any

from neverlost.specs.configuration.input import parse_toml
from neverlost.specs.errors import InputError, quote, unknown
from neverlost.specs.inputs.clients.read import Client, read_clients
from neverlost.specs.inputs.syntax.text import Path, read_text, shown_name

FLAG = "--applications"
KEYS = ("name", "producer-properties", "topics")


@dataclass(frozen=True)
class Application:
    """An application: its producers, and the patterns of the topics that it writes."""

    name: str
    clients: tuple[Client, ...]
    topics: tuple[str, ...]
    where: str

    def writes(self, topic: str) -> bool:
        """Return True if the application writes a topic: one of its patterns, as a shell has them, matches the whole name."""
        return any(fnmatchcase(topic, each) for each in self.topics)


def read_applications(path: Path) -> list[Application]:
    """Return the applications of a TOML file, each with the clients of the producer files that it names, beside this file.

    Errors: `InputError` for a file without `[[application]]` or with something else at its top, for a key that is unknown,
    missing or empty (only `name` may be left out), and as `read_clients`.
    """
    name = shown_name(path)
    document = parse_toml(read_text(path, FLAG), name)
    listed = document.get("application")
    if set(document) != {"application"} or not isinstance(listed, list) or not all(isinstance(each, dict) for each in listed):
        raise InputError(f"{name} has no list of applications; write [[application]] with {', '.join(KEYS)}")
    return [_application(each, f"application {number} of {name}", path) for number, each in enumerate(listed, 1)]


def _application(given: dict[str, Any], where: str, path: Path) -> Application:
    for key in given:
        if key not in KEYS:
            raise unknown("key", key, KEYS, where)
    files, topics = (_texts(given.get(key), key, where) for key in KEYS[1:])
    folder = os.path.dirname(os.fspath(path))
    found = [each for file in files for each in read_clients(os.path.join(folder, file), "producer")]
    return Application(str(given.get("name") or where), tuple(found), topics, where)


def _texts(value: Any, key: str, where: str) -> tuple[str, ...]:
    """Return a text, or the texts of a list, as a tuple.  Errors: `InputError` for anything else, and for empty ones."""
    listed = [value] if isinstance(value, str) else value
    if not isinstance(listed, list) or not listed or not all(isinstance(each, str) and each for each in listed):
        raise InputError(f"bad value {value!r} for {key} in {where}: write a text, or a list of texts")
    return tuple(listed)


def require_topics(applications: Iterable[Application], topics: Sequence[str]) -> None:
    """Errors: `InputError` for an application's pattern that matches none of `topics`: its producer would count nowhere."""
    for each in applications:
        for pattern in each.topics:
            if not any(fnmatchcase(topic, pattern) for topic in topics):
                described = "no topic is described" if not topics else "no described topic is called so"
                raise InputError(
                    f"{quote(pattern)} in {each.where}: {described}; patterns are those of a shell, such as orders.*"
                )
