"""The Java properties format.

Source: `java.util.Properties.load` (ISO 8859-1, the escapes, the separators) and Kafka's `Utils.loadProps`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from neverlost.specs.errors import InputError, quote
from neverlost.specs.inputs.syntax.text import Path, lines_of, read_text, shown_name
from neverlost.specs.setting import Setting, Settings

_BLANK = " \t\f"
_ESCAPES = {"t": "\t", "n": "\n", "r": "\r", "f": "\f"}


def _logical_lines(text: str) -> Iterator[tuple[int, str]]:
    """Yield lines with continuations joined and comments left out, each after the number of its first line in the file."""
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
    """Return where the key ends: at the first separator that no backslash protects, else at the end of the line."""
    position = 0
    while position < len(line) and line[position] not in "=:" + _BLANK:
        position += 2 if line[position] == "\\" else 1
    return min(position, len(line))


def _unescaped(text: str, where: str) -> str:
    """Return the text with its backslash escapes replaced.  Errors: `InputError` for `u` without four hexadecimal digits."""
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
                raise InputError(f"malformed escape {quote(chr(92) + 'u' + digits)} in {where}: use four hexadecimal digits")
            letter = chr(int(digits, 16))
            position += 4
        else:
            letter = _ESCAPES.get(letter, letter)
        found.append(letter)
    return "".join(found)


def parse_properties(text: str, name: str) -> Settings:
    """Return the settings of a properties text; the last of duplicates wins, as in Java.
    Errors: `InputError` for a malformed `\\uXXXX`, the one thing that Java refuses."""
    found: Settings = {}
    for number, line in _logical_lines(text):
        where = f"{name} line {number}"
        end = _key_end(line)
        value = line[end:].lstrip(_BLANK)
        if value[:1] in ("=", ":"):
            value = value[1:].lstrip(_BLANK)
        found[_unescaped(line[:end], where)] = Setting(_unescaped(value, where), where)
    return found


def read_properties(path: Path, option: str) -> Settings:
    """Return the settings of a properties file.
    Errors: `InputError`, with the option, for a file that cannot be read, and with the place for a line that is malformed."""
    return parse_properties(read_text(path, option, encoding="iso-8859-1"), shown_name(path))
