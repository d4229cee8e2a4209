"""Which format a file has, by its content; what is not taken is named, with the command that gives a format that is."""

from __future__ import annotations

import re
from functools import cache
from importlib import import_module
from pkgutil import iter_modules
from types import ModuleType

from neverlost.specs.errors import InputError, quote
from neverlost.specs.inputs import formats
from neverlost.specs.inputs.syntax.documents import DocumentNode, looks_like_json, parse_json, parse_yaml
from neverlost.specs.inputs.syntax.text import Path, lines_of, read_text, shown_name
from neverlost.specs.inputs.syntax.topics_and_settings import Described, Document

_YAML_START = re.compile(r"""---\s*$|(- )?["']?[A-Za-z_][\w.\-]*["']?:(\s|$)""")
_DESCRIBE = "give what kafka-topics.sh --bootstrap-server HOST:PORT --describe prints"

NOT_TAKEN: tuple[tuple[str, str, str], ...] = (
    (r"Metadata for (all topics|\S+) \(from broker", "kcat -L in its text form", "give what kcat -L -J prints"),
    (r"GROUP\s+TOPIC\s+PARTITION\s+CURRENT-OFFSET", "kafka-consumer-groups.sh --describe", _DESCRIBE),
    (r"Querying brokers for log directories|Received log directory information", "kafka-log-dirs.sh --describe", _DESCRIBE),
    (r"Dumping \S+\.log|Starting offset: \d+|baseOffset: \d+", "kafka-dump-log.sh", _DESCRIBE),
    (r'resource\s+"\w+"\s+"[\w-]+"', "a file of Terraform's language", "give what terraform show -json prints"),
    (r"\S+ \(id: \d+ rack: ", "kafka-broker-api-versions.sh", _DESCRIBE),
    (r"Status of partition reassignment", "kafka-reassign-partitions.sh --verify", _DESCRIBE),
    (r'Current partition replica assignment|\s*\{\s*("version":\s*1,\s*)?"partitions":', "a plan of reassignments", _DESCRIBE),
    (r"\s*(NAME|Name)\s+\|?\s*(Internal|PARTITIONS|CLUSTER)\b", "a table of topics", _DESCRIBE),
    (r"acks\s*=|[\w.%-]*\.acks\s*[=:]", "the settings of a producer", "give it with --producer-properties"),
    (r"(broker\.id|node\.id|process\.roles|log\.dirs?)\s*=", "the settings of a broker", "give it with --server-properties"),
    (r"<(!doctype|html|\?xml)", "a page or an XML document", _DESCRIBE),
    (r"\s*(services|version):\s*(\S+)?$", "a Docker Compose file", "give the broker's settings with --server-properties"),
)
"""Patterns of a line, what the file is then, and what to do."""


@cache
def readers() -> dict[str, ModuleType]:
    """Return the module that reads each format, by the module's name."""
    names = sorted(each.name for each in iter_modules(formats.__path__))
    return {name: import_module(f"{formats.__name__}.{name}") for name in names}


def read_described(path: Path, option: str) -> Described:
    """Return what a file describes.  Errors: `InputError` for one that cannot be read, has no known format or is malformed."""
    return described(read_text(path, option), shown_name(path))


def described(text: str, name: str) -> Described:
    """Return what the text of a file describes.  Errors: `InputError` for a text of no known format, or a malformed one."""
    if not text.strip():
        raise InputError(f"{name} is empty; {_DESCRIBE}")
    lines = lines_of(text)
    for reader in readers().values():
        if hasattr(reader, "LINE") and any(map(reader.LINE.match, lines)):
            printed: Described = reader.read(Document(name, text))
            return printed
    trees, found = _trees(text, name), Described()
    for tree in (each for each in trees if each.content is not None):
        own = next((each for each in readers().values() if hasattr(each, "is_tree") and each.is_tree(tree)), None)
        if own is None:
            raise _not_taken(text, name)
        found.add(own.read(Document(name, text, (tree,))))
    if not trees:
        raise _not_taken(text, name)
    return found


def _trees(text: str, name: str) -> tuple[DocumentNode, ...]:
    """Return the trees of a JSON or YAML text; none for other texts."""
    if looks_like_json(text):
        return (parse_json(text, name),)
    first = next((line for line in lines_of(text) if line.strip() and not line.startswith(("#", "%"))), "")
    return tuple(parse_yaml(text, name)) if _YAML_START.match(first) else ()


def _not_taken(text: str, name: str) -> InputError:
    """Return the error for a text whose format is not read: it names the format if it is known, and what to give instead."""
    for line in lines_of(text)[:200]:
        for pattern, what, remedy in NOT_TAKEN:
            if re.match(pattern, line[:500], re.IGNORECASE):
                return InputError(f"{name} is {what}, which does not describe a cluster here; {remedy}")
    first = next((line.strip() for line in lines_of(text) if line.strip()), "")
    return InputError(f"{name} has no known format (it begins {quote(first, 30)}); {_DESCRIBE} (neverlost explain describe)")
