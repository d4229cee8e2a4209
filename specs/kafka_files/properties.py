"""Reads files that Kafka reads or prints: text of bounded size, and the Java properties format.

Source: `java.util.Properties.load` (ISO 8859-1, the escapes, the separators) and Kafka's `Utils.loadProps`.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass

from neverlost.specs.configuration.input import read_bytes
from neverlost.specs.errors import InputError

_BLANK = " \t\f"
_ESCAPES = {"t": "\t", "n": "\n", "r": "\r", "f": "\f"}
_LINE_END = re.compile(r"\r\n|\n|\r")
_CONTROL = re.compile(r"[\x00-\x08\x0e-\x1f]")


@dataclass(frozen=True)
class Setting:
    """A raw value and where it stands; `where` reads after "in"."""

    value: str
    where: str


Settings = dict[str, Setting]


def quoted(text: str, limit: int = 60) -> str:
    """A text from a file as one short, printable word for messages."""
    return repr(text if len(text) <= limit else text[: limit - 3] + "...")


def read_text(path: str | os.PathLike[str], option: str, encoding: str = "utf-8") -> str:
    """The text of a file; a byte order mark decides over `encoding`.

    Errors: `InputError` for a file that cannot be read, is too large, or is not text.
    """
    name = os.fspath(path)
    data = read_bytes(name, option)
    for mark, named in ((b"\xef\xbb\xbf", "utf-8-sig"), (b"\xff\xfe", "utf-16"), (b"\xfe\xff", "utf-16")):
        encoding = named if data.startswith(mark) else encoding
    try:
        text = data.decode(encoding)
    except UnicodeDecodeError as error:
        raise InputError(f"{option} {name!r} is not text: byte {error.start} is not {encoding}; save it as UTF-8") from None
    found = _CONTROL.search(text)
    if found:
        raise InputError(f"{option} {name!r} is not text: it has a control character at {found.start()}; give a text file")
    return text


def lines_of(text: str) -> list[str]:
    """The lines of a text, whatever ends them; only LF, CR and CRLF do (Python's own splitting knows more)."""
    return _LINE_END.split(text)


def _logical_lines(text: str) -> Iterator[tuple[int, str]]:
    """Lines with continuations joined and comments left out, with the number of the first natural line."""
    started, joined = 0, ""
    for number, line in enumerate(lines_of(text), 1):
        line = line.lstrip(_BLANK)
        if not joined and (not line or line[0] in "#!"):
            continue
        started = started if joined else number
        if (len(line) - len(line.rstrip("\\"))) % 2:
            joined += line[:-1]
            continue
        yield started, joined + line
        joined = ""
    if joined:
        yield started, joined


def _key_end(line: str) -> int:
    """Where the key ends: the first separator that no backslash protects."""
    position = 0
    while position < len(line) and line[position] not in "=:" + _BLANK:
        position += 2 if line[position] == "\\" else 1
    return min(position, len(line))


def _unescaped(text: str, where: str) -> str:
    """The text with its backslash escapes replaced."""
    if "\\" not in text:
        return text
    found: list[str] = []
    position = 0
    while position < len(text):
        letter = text[position]
        position += 1
        if letter != "\\" or position == len(text):
            found.append(letter if letter != "\\" else "")
            continue
        letter = text[position]
        position += 1
        if letter == "u":
            digits = text[position : position + 4]
            if not re.fullmatch(r"[0-9A-Fa-f]{4}", digits):
                raise InputError(f"malformed escape {quoted(chr(92) + 'u' + digits)} in {where}: use four hexadecimal digits")
            letter = chr(int(digits, 16))
            position += 4
        else:
            letter = _ESCAPES.get(letter, letter)
        found.append(letter)
    return "".join(found)


def parse_properties(text: str, name: str) -> Settings:
    """The settings of a properties text; the last of duplicates wins, as in Java.

    Errors: `InputError` for a malformed `\\uXXXX`, the one thing that Java refuses.
    """
    found: Settings = {}
    for number, line in _logical_lines(text):
        where = f"{name} line {number}"
        end = _key_end(line)
        value = line[end:].lstrip(_BLANK)
        if value[:1] in ("=", ":"):
            value = value[1:].lstrip(_BLANK)
        found[_unescaped(line[:end], where)] = Setting(_unescaped(value, where), where)
    return found


def read_properties(path: str | os.PathLike[str], option: str) -> Settings:
    """The settings of a properties file.

    Errors: as `read_text` and `parse_properties`.
    """
    return parse_properties(read_text(path, option, encoding="iso-8859-1"), os.fspath(path))
