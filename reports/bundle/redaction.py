"""Replaces a user's names consistently before a question is answered: topics, topic ids, files, addresses, and settings that
say where a cluster is or how to log in to it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from neverlost.specs.configuration.input import STANDARD_INPUT, Contents
from neverlost.specs.errors import InputError

SECRET = r"password|secret|sasl\.jaas\.config"
"""What the keys are called whose values are never kept, redacted or not."""

PRIVATE = (
    rf"{SECRET}|jaas|token|credential|servers?|listeners?|principal|user|host|connect|location"
    r"|log\.dirs?|voters|url|client[._-]id|group[._-]id"
)
"""What the keys are called whose values say where a cluster is or how to log in to it."""

LINE = (
    r"(?im)((?:^|[{{,])[ \t]*(?:-[ \t]*)?[\"']?[\w.-]*(?:{})[\w.-]*[\"']?[ \t]*[:=][ \t]*)"
    r"(?:([\"'])(?:(?!\2)[^\\\n]|\\.)*\2|[^\s\"'#{{\[](?:[^\\\n]|\\\n|\\.)*)"
)
"""A line with such a key, and its value, which may go on in the next lines."""

ADDRESS = re.compile(r"(?<![\d.])\d{1,3}(?:\.\d{1,3}){3}(?![\d.])")
TOPIC_ID = re.compile(r"(?<=TopicId:)(\s*)[\w-]{22}")


def redact_names(arguments: Mapping[str, Any], contents: Contents, names: Iterable[str]) -> tuple[dict[str, Any], Contents]:
    """Return arguments and contents with `topic-1`, ... for `names`, sorted, and `file-1`, ... (with their endings) for files;
    and contents with addresses, topic ids and private settings replaced.  Errors: `InputError` for a file that is not text."""
    files = {name: f"file-{number}{_ending(name)}" for number, name in enumerate(contents, 1) if name != STANDARD_INPUT}
    topics = {name: f"topic-{number}" for number, name in enumerate(sorted(set(names)), 1)}
    hidden = {files.get(name, name): _without(name, content, topics).encode() for name, content in contents.items()}
    return _replaced(arguments, files, topics), hidden


def without_secrets(contents: Contents) -> Contents:
    """Return the contents with `redacted` for the values of secret settings; files that are not UTF-8 text are unchanged."""
    return {name: _without_secrets(each) for name, each in contents.items()}


def _without_secrets(content: bytes) -> bytes:
    try:
        text = content.decode()
    except UnicodeDecodeError:
        return content
    return _masked(text, SECRET).encode()


def _masked(text: str, keys: str) -> str:
    return re.sub(LINE.format(keys), lambda found: f"{found[1]}{found[2] or ''}redacted{found[2] or ''}", text)


def _without(name: str, content: bytes, topics: Mapping[str, str]) -> str:
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise InputError(f"{name!r} is not UTF-8 text, so no name in it can be replaced; drop --redact") from None
    text = _masked(text, PRIVATE)
    text = TOPIC_ID.sub(r"\1redacted-redacted-red", text)
    return _in_text(ADDRESS.sub("192.0.2.1", text), topics)


def _in_text(text: str, topics: Mapping[str, str]) -> str:
    for name in sorted(topics, key=len, reverse=True):
        text = re.sub(rf"(?<![\w.-]){re.escape(name)}(?![\w.]|-(?!\d))", topics[name], text)
    return text


def _replaced(value: Any, files: Mapping[str, str], topics: Mapping[str, str]) -> Any:
    if isinstance(value, Mapping):
        return {name: _replaced(each, files, topics) for name, each in value.items()}
    if isinstance(value, list):
        return [_replaced(each, files, topics) for each in value]
    return files.get(value) or _in_text(value, topics) if isinstance(value, str) else value


def _ending(name: str) -> str:
    """Return the ending of a file name if it is one by which readers know a format, such as `.yaml`; else an empty text."""
    found = re.search(r"\.(toml|txt|json|jsonl|properties|csv|ya?ml|tf|xml|log)$", name)
    return found[0] if found else ""
