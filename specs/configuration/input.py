"""What a user wrote, read strictly: files of bounded size, JSON, TOML, and tables whose every key must be known."""

from __future__ import annotations

import json
import sys
import tomllib
from collections.abc import Iterator, Mapping
from functools import cache
from os import PathLike
from typing import Any

from neverlost.specs.errors import InputError, unknown

STANDARD_INPUT = "-"
LARGEST_FILE = 64 * 1024 * 1024
"""Units: bytes.  The description of a cluster of 100,000 partitions takes about 10 MiB."""


def read_bytes(path: PathLike[str] | str, option: str = "", largest: int = LARGEST_FILE) -> bytes:
    """A user's file of at most so many bytes, or standard input for `-`; `option` is what named it.

    Errors: `InputError` for a file that is missing, unreadable, a directory or too large.
    """
    named = "standard input" if str(path) == STANDARD_INPUT else f"{option} {str(path)!r}".lstrip()
    try:
        if str(path) == STANDARD_INPUT:
            content = _standard_input(largest)
        else:
            with open(path, "rb") as file:
                content = file.read(largest + 1)
    except IsADirectoryError:
        raise InputError(f"{named} is a directory; name a file") from None
    except (OSError, ValueError) as problem:
        reason = getattr(problem, "strerror", None) or problem
        raise InputError(f"cannot read {named}: {reason}") from None
    if len(content) > largest:
        raise InputError(f"{named} is larger than {largest >> 20} MiB, more than is read; give a part of it")
    return content


@cache
def _standard_input(largest: int) -> bytes:
    """What is piped in, at most so many bytes and one more; it can be read only once."""
    return sys.stdin.buffer.read(largest + 1)


def read_text(path: PathLike[str] | str) -> str:
    """A user's text file.

    Errors: `InputError` as for bytes, and for what is not UTF-8.
    """
    try:
        return read_bytes(path).decode("utf-8-sig")
    except UnicodeDecodeError as problem:
        raise InputError(f"{str(path)!r} is not UTF-8 text (byte {problem.start}); save it as UTF-8") from None


def read_json(path: PathLike[str] | str) -> dict[str, Any]:
    """A JSON document, ours or one that a user changed.

    Errors: `InputError` as for text, and for what is no JSON object.
    """
    try:
        found = json.loads(read_text(path))
    except (ValueError, RecursionError) as problem:
        raise InputError(f"{str(path)!r} is not JSON: {problem}") from None
    if not isinstance(found, dict):
        raise InputError(f"{str(path)!r} is not a document of ours: it is no JSON object")
    return found


def parsed_toml(text: str, where: str) -> dict[str, Any]:
    """A TOML document.

    Errors: `InputError` for what is none.
    """
    try:
        return tomllib.loads(text)
    except (ValueError, RecursionError) as problem:
        hint = "; what kafka-topics.sh prints goes with --describe" if text.startswith("Topic:") else ""
        raise InputError(f"malformed TOML in {where!r}: {problem}{hint}") from None


Table = Mapping[str, Any]


_KINDS = {str: "text", int: "whole number", bool: "true or false", list: "list", dict: "table"}


def flattened(table: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Dotted keys and values of nested tables: TOML reads a bare `min.insync.replicas` as three."""
    for name, value in table.items():
        if isinstance(value, dict):
            yield from ((f"{name}.{rest}", each) for rest, each in flattened(value))
        else:
            yield name, value


class Reader:
    """A TOML table that is read key by key; a key that is not read is an error."""

    def __init__(self, table: Any, where: str) -> None:
        if not isinstance(table, dict):
            raise InputError(f"bad value {table!r} in {where}: use a table")
        self._left, self.where = dict(table), where
        self._known: list[str] = []

    def text(self, key: str, default: str | None = None) -> str:
        """A text; required when it has no default, and never empty."""
        found = self._take(key, str, default)
        if not found.strip() and found != default:
            raise InputError(f"empty {key} in {self.where}: write a text")
        return " ".join(str(found).split())

    def number(self, key: str) -> int | None:
        """A whole number, or None where it is not given."""
        found = self._take(key, int, 0)
        if isinstance(found, bool) or not 0 <= found < 1000:
            raise InputError(f"bad value {found!r} for {key} in {self.where}: use a whole number below 1000")
        return int(found) or None

    def flag(self, key: str) -> bool:
        """True or false; false where it is not given."""
        return bool(self._take(key, bool, False))

    def choice(self, key: str, choices: tuple[str, ...], default: str | None = None) -> str:
        """One of some texts."""
        found = self.text(key, default)
        if found not in choices:
            raise unknown(key, found, choices, self.where)
        return found

    def texts(self, key: str) -> tuple[str, ...]:
        """A list of texts; empty where it is not given."""
        found = self._take(key, list, [])
        if not all(isinstance(each, str) and each.strip() for each in found):
            raise InputError(f"bad value {found!r} for {key} in {self.where}: use a list of texts")
        return tuple(found)

    def tables(self, key: str) -> list[Any]:
        """An array of tables; empty where it is not given."""
        return list(self._take(key, list, []))

    def flat(self, key: str) -> dict[str, Any]:
        """A table whose keys stand for themselves; TOML reads a bare `min.insync.replicas` as three tables."""
        return dict(flattened(self._take(key, dict, {})))

    def end(self) -> None:
        """Errors: `InputError` for a key that is not read."""
        for key in self._left:
            raise unknown("key", key, self._known, self.where)

    def _take(self, key: str, kind: type, default: Any) -> Any:
        self._known.append(key)
        if key not in self._left:
            if default is None:
                raise InputError(f"{key} is missing in {self.where}: add {key} = ...")
            return default
        found = self._left.pop(key)
        if not isinstance(found, kind):
            raise InputError(f"bad value {found!r} for {key} in {self.where}: use a {_KINDS[kind]}")
        return found
