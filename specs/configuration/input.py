"""What a user wrote, read strictly: files of bounded size, JSON, TOML, and tables whose every key must be known."""

from __future__ import annotations

import re
import sys
import tomllib
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from os import PathLike
from pathlib import Path
from typing import Any

from neverlost.specs.errors import InputError, unknown
from neverlost.specs.strict_json import parse_json

STANDARD_INPUT = "-"
TABLE_LINE = re.compile(r"\s*\[{1,2}([^\[\]]+)\]")
KEY_LINE = re.compile(r"\s*([\w.\-\"' ]+?)\s*=")
LARGEST_FILE = 64 * 1024 * 1024
"""Units: bytes.  The description of a cluster of 100,000 partitions takes about 10 MiB."""


Contents = Mapping[str, bytes]
"""Files as they were read, by the names that they were asked for with."""

_kept: ContextVar[dict[str, bytes] | None] = ContextVar("kept", default=None)
_known: ContextVar[Contents | None] = ContextVar("known", default=None)


@contextmanager
def keeping() -> Iterator[dict[str, bytes]]:
    """Yield a dictionary that gets, by name, the content of every file that `read_bytes` reads in this block."""
    found: dict[str, bytes] = {}
    before = _kept.set(found)
    try:
        yield found
    finally:
        _kept.reset(before)


@contextmanager
def known(contents: Contents) -> Iterator[None]:
    """In this block, `is_there` looks in these contents alone, and so does a `keeping` block's read; others use the disk."""
    before = _known.set(contents)
    try:
        yield
    finally:
        _known.reset(before)


_provided: dict[str, bytes] = {}


def provide(name: str, content: bytes) -> None:
    """Make a file that is not on disk, such as a running cluster's answer, readable under this name from here on."""
    _provided[name] = content


def is_there(path: PathLike[str] | str) -> bool:
    """Return True if a file, or a folder, is there: in the `known` contents if there are any, else on disk."""
    contents = _known.get()
    return Path(path).exists() if contents is None else str(path) in contents


def read_bytes(path: PathLike[str] | str, option: str = "", largest: int = LARGEST_FILE) -> bytes:
    """Return all bytes of a user's file, or of standard input for `-`; `option` is what named it, for messages.

    Errors: `InputError` for a file that is missing, unreadable, a directory, of more than `largest` bytes, or, where a block
    of `known` contents decides, not one of these.
    """
    files, contents = _kept.get(), _known.get()
    if files is None:
        return _read(path, option, largest)
    name = str(path)
    if contents is not None and name not in contents:
        raise InputError(f"the question has no file {name!r}; ask it again")
    files[name] = _read(path, option, largest) if contents is None else contents[name]
    return files[name]


def _read(path: PathLike[str] | str, option: str, largest: int) -> bytes:
    if str(path) in _provided:
        return _provided[str(path)]
    named = "standard input" if str(path) == STANDARD_INPUT else f"{option} {str(path)!r}".lstrip()
    try:
        if str(path) == STANDARD_INPUT:
            content = _read_standard_input(largest)
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


_piped = bytearray()
"""What has been read of standard input."""


def _read_standard_input(largest: int) -> bytes:
    """Return what is piped in, up to `largest` bytes and one more; it is kept, so that a second call returns it again."""
    _piped.extend(sys.stdin.buffer.read(max(0, largest + 1 - len(_piped))))
    return bytes(_piped[: largest + 1])


def read_text(path: PathLike[str] | str) -> str:
    """Return the text of a user's file.  Errors: `InputError` as of `read_bytes`, and for what is not UTF-8."""
    try:
        return read_bytes(path).decode("utf-8-sig")
    except UnicodeDecodeError as problem:
        raise InputError(f"{str(path)!r} is not UTF-8 text (byte {problem.start}); save it as UTF-8") from None


def read_json(path: PathLike[str] | str) -> dict[str, Any]:
    """Return the JSON object of a file, a document of ours or one that a user changed, as a dictionary.

    Errors: `InputError` as for text, and for what is no JSON object.
    """
    found = parse_json(read_text(path), repr(str(path)))
    if not isinstance(found, dict):
        raise InputError(f"{str(path)!r} is not a document of ours: it is no JSON object")
    return found


def parse_toml(text: str, where: str) -> dict[str, Any]:
    """Return a TOML text as a dictionary.  Errors: `InputError`, with the name `where`, for what is no TOML."""
    try:
        return tomllib.loads(text)
    except (ValueError, RecursionError) as problem:
        hint = "; what kafka-topics.sh prints goes with --describe" if text.startswith("Topic:") else ""
        raise InputError(f"malformed TOML in {where!r}: {problem}{hint}") from None


def find_lines(text: str) -> dict[str, int]:
    """Return the line of each key of a well-formed TOML document, by its dotted name; the first where there are several.

    A key in a table stands under its own name too, as tables such as `[topic]` only sort the keys; one in the second
    `[[pair]]` under `pair[2].KEY`.
    """
    found: dict[str, int] = {}
    listed: dict[str, int] = {}
    many = Counter[str]()
    table = ""
    for number, line in enumerate(text.splitlines(), 1):
        head, key = TABLE_LINE.match(line), KEY_LINE.match(line)
        if head is not None:
            table = head[1].strip()
            if line.lstrip().startswith("[["):
                many[table] += 1
                table += f"[{many[table]}]"
        elif key is not None:
            name = key[1].replace('"', "").replace("'", "").replace(" ", "")
            (listed if table.endswith("]") else found).setdefault(name, number)
            found.setdefault(f"{table}.{name}", number)
    return listed | found


_KINDS = {str: "text", int: "whole number", bool: "true or false", list: "list", dict: "table"}


def flatten(table: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yield dotted keys with the values of nested tables: TOML reads a bare `min.insync.replicas` as three tables."""
    for name, value in table.items():
        if isinstance(value, dict):
            yield from ((f"{name}.{rest}", each) for rest, each in flatten(value))
        else:
            yield name, value


class TableReader:
    """Reads a TOML table key by key; `end` raises an error for a key that nobody read."""

    def __init__(self, table: Any, where: str) -> None:
        if not isinstance(table, dict):
            raise InputError(f"bad value {table!r} in {where}: use a table")
        self._left, self.where = dict(table), where
        self._known: list[str] = []

    def has(self, key: str) -> bool:
        """Return True if a key is given and was not read yet."""
        self._known.append(key)
        return key in self._left

    def text(self, key: str, default: str | None = None) -> str:
        """Return a text, each run of white space made one blank; the default where the key is missing.  Errors: `InputError`
        for what is no text, a blank text that is not the default, and a missing key without a default."""
        found = self._take(key, str, default)
        if not found.strip() and found != default:
            raise InputError(f"empty {key} in {self.where}: write a text")
        return " ".join(str(found).split())

    def number(self, key: str) -> int | None:
        """Return a whole number from 1 to 999, or None where it is 0 or not given.  Errors: `InputError` for anything else."""
        found = self._take(key, int, 0)
        if isinstance(found, bool) or not 0 <= found < 1000:
            raise InputError(f"bad value {found!r} for {key} in {self.where}: use a whole number below 1000")
        return int(found) or None

    def flag(self, key: str) -> bool:
        """Return true or false; false where it is not given.  Errors: `InputError` for anything else."""
        return bool(self._take(key, bool, False))

    def choice(self, key: str, choices: tuple[str, ...], default: str | None = None) -> str:
        found = self.text(key, default)
        if found not in choices:
            raise unknown(key, found, choices, self.where)
        return found

    def texts(self, key: str) -> tuple[str, ...]:
        """Return a list of texts, none blank, as a tuple; empty where not given.  Errors: `InputError` for anything else."""
        found = self._take(key, list, [])
        if not all(isinstance(each, str) and each.strip() for each in found):
            raise InputError(f"bad value {found!r} for {key} in {self.where}: use a list of texts")
        return tuple(found)

    def tables(self, key: str) -> list[Any]:
        """Return a list, meant for tables but unchecked; empty where none is given.  Errors: `InputError` for no list."""
        return list(self._take(key, list, []))

    def flat(self, key: str) -> dict[str, Any]:
        """Return a table as one with dotted keys (TOML reads `a.b` as a table in a table); empty where it is not given.
        Errors: `InputError` for what is no table."""
        return dict(flatten(self._take(key, dict, {})))

    def end(self) -> None:
        """Raise `InputError` for a key that was not read."""
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
