"""What `kafka-configs.sh --describe` prints: on one line (ZooKeeper), or one setting a line with synonyms (brokers, 1.1).

Source: `ConfigCommand.describeResourceConfig` from 0.9 to 4.x.
"""

from __future__ import annotations

import re

from neverlost.specs.errors import InputError, quote
from neverlost.specs.inputs.syntax.printed import content
from neverlost.specs.inputs.syntax.topics_and_settings import Described, Document, split_configs
from neverlost.specs.setting import Setting, Settings

NAME = "kafka-configs.sh --describe"
LINE = re.compile(r"(?:[A-Z][A-Za-z]* )?[Cc]onfigs? for \S")

_HEADERS = (
    re.compile(r"(?:Dynamic |All )?[Cc]onfigs? for (?P<kind>topic|broker)s? (?P<name>.+?) are:?(?P<rest>\s.*)?$"),
    re.compile(r"Default configs? for (?P<kind>broker)s in the cluster are:(?P<rest>\s.*)?$"),
    re.compile(r"Configs for default (?P<kind>topic|broker)s? are(?P<rest>\s.*)?$"),
)
_OTHER_HEADER = re.compile(r"[A-Z][A-Za-z ]{0,60}? for ")
"""Of a user, a client, a group: an unindented sentence.  No pattern here backtracks over a whole line."""


def _section(found: Described, kind: str, name: str | None) -> Settings:
    """Return the dictionary to add an entity's settings to: its own in `found`; without a name that of all brokers or, for
    topics, a new one that is not kept."""
    if name is None:
        return found.cluster if kind == "broker" else {}
    named = found.configs if kind == "topic" else found.brokers
    return named.setdefault(name, {})


def read(document: Document) -> Described:
    """Return the settings of topics, brokers and all brokers; entities of other kinds (users, clients) are passed over.
    Errors: `InputError` for a line before the first entity, and as `split_configs`."""
    found = Described()
    section: Settings | None = None
    for where, line in content(document):
        header = next(filter(None, (each.match(line.strip()) for each in _HEADERS)), None)
        if header:
            entity = header.groupdict().get("name")
            section = _section(found, header["kind"], entity.strip("'") if entity else None)
            section.update(split_configs((header["rest"] or "").strip(), where))
        elif _OTHER_HEADER.match(line):
            section = {}
        elif section is None:
            raise InputError(f"{where} is not what {NAME} prints: {quote(line.strip())}; remove the line")
        else:
            key, equals, value = line.strip().partition("=")
            if equals:
                section[key] = Setting(value.partition(" sensitive=")[0].strip(), where)
    return found
