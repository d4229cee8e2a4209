"""A user's file, or standard input, as text of bounded size; the words that messages show of it."""

from __future__ import annotations

import os
import re

from neverlost.specs.configuration.input import STANDARD_INPUT, read_bytes
from neverlost.specs.errors import InputError

Path = str | os.PathLike[str]

_LINE_END = re.compile(r"\r\n|\n|\r")
_CONTROL = re.compile(r"[\x00-\x08\x0e-\x1f]")
_PACKED = {b"\x1f\x8b": "gzip", b"PK\x03\x04": "zip", b"(\xb5/\xfd": "zstd", b"BZh": "bzip2", b"\xfd7zXZ": "xz", b"%PDF": "PDF"}


def shown_name(path: Path) -> str:
    """Return what messages call a file: its path, or `standard input`."""
    return "standard input" if os.fspath(path) == STANDARD_INPUT else os.fspath(path)


def read_text(path: Path, option: str, encoding: str = "utf-8") -> str:
    """Return the text of a file, or of standard input for `-`; a byte order mark decides over `encoding`.
    Errors: `InputError` for a file that cannot be read, is too large, or is not text."""
    name = os.fspath(path)
    data = read_bytes(name, option)
    named = f"{option} {shown_name(path)!r}"
    packed = next((each for start, each in _PACKED.items() if data.startswith(start)), None)
    if packed:
        raise InputError(f"{named} is a {packed} file; unpack it and give the text")
    for mark, found in ((b"\xef\xbb\xbf", "utf-8-sig"), (b"\xff\xfe", "utf-16"), (b"\xfe\xff", "utf-16")):
        encoding = found if data.startswith(mark) else encoding
    try:
        text = data.decode(encoding)
    except UnicodeDecodeError as error:
        raise InputError(f"{named} is not text: byte {error.start} is not {encoding}; save it as UTF-8") from None
    control = _CONTROL.search(text)
    if control:
        raise InputError(f"{named} is not text: it has a control character at {control.start()}; give a text file")
    return text


def require_one_standard_input(paths: dict[str, list[Path]]) -> None:
    """Errors: `InputError` where `-` is given more than once, to one option or to several: it can be read once."""
    reading = [option for option, given in paths.items() for each in given if os.fspath(each) == STANDARD_INPUT]
    if len(reading) > 1:
        raise InputError(f"standard input (-) is given to {' and '.join(reading)}, but can be read once; name a file")


def lines_of(text: str) -> list[str]:
    """Return the lines of a text, whatever ends them; only LF, CR and CRLF do (Python's own splitting knows more)."""
    return _LINE_END.split(text)
