"""Topics as a file asks for them (operators, Terraform): what it sets shows, what brokers add does not."""

from __future__ import annotations

from neverlost.specs.errors import InputError, quote
from neverlost.specs.inputs.syntax.known_keys import unknown_keys
from neverlost.specs.inputs.syntax.topics_and_settings import Described, Topic
from neverlost.specs.setting import Notice, NoticeKind, Setting, Settings


def asked_topic(name: str, where: str, replication_factor: Setting | None, configs: Settings) -> Described:
    """Return a description of one topic, with a notice of the settings that Kafka does not know.
    Errors: `InputError` for an empty name, and for a key that is nearly one that an answer depends on."""
    if not name.strip():
        raise InputError(f"the topic in {where} has no name; write one")
    strange = unknown_keys(configs, "topic")
    factor = replication_factor or Setting("", where)
    found = Described(topics={name: Topic(name, factor, configs, False, is_declared=True)})
    if strange:
        says = f"topic {quote(name)} has settings that Kafka does not know: {', '.join(map(quote, list(strange)[:5]))}"
        found.notices.append(Notice(NoticeKind.IGNORED, says, next(iter(strange.values())).where, topics=(name,)))
    return found
