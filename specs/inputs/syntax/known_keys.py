"""The names that Kafka and its clients know, and which of them a mistyped key was meant to be."""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping
from functools import cache

from neverlost.model.toml_beside import read_toml_beside
from neverlost.specs.errors import InputError, quote
from neverlost.specs.setting import Settings

DECISIVE: dict[str, tuple[str, ...]] = {
    "producer": (
        "acks",
        "request.required.acks",
        "enable.idempotence",
        "transactional.id",
        "retries",
        "max.in.flight.requests.per.connection",
    ),
    "consumer": ("enable.auto.commit", "isolation.level", "auto.offset.reset"),
    "broker": (
        "min.insync.replicas",
        "unclean.leader.election.enable",
        "default.replication.factor",
        "log.flush.interval.messages",
    ),
    "topic": ("min.insync.replicas", "unclean.leader.election.enable", "flush.messages"),
}
"""The keys that an answer depends on: one that is nearly one of them is an error, not a key of another tool."""


@cache
def names() -> Mapping[str, frozenset[str]]:
    """Return the known keys of `producer`, `consumer`, `broker`, `topic`, `librdkafka-producer` and `librdkafka-consumer`."""
    document = read_toml_beside(__name__)
    return {kind: frozenset(found) for kind, found in document.items()}


def known_to(kind: str) -> frozenset[str]:
    """Return the keys that a kind of file, such as `producer`, may have; for clients the Java client's and librdkafka's."""
    return names()[kind] | names().get(f"librdkafka-{kind}", frozenset())


def meant(key: str, kind: str) -> str | None:
    """Return the decisive key that an unknown one was probably meant to be; None if it is close to none."""
    plain = re.sub(r"\[\d+\]$", "", key).lower().replace("_", ".").replace("-", ".").strip()
    near = difflib.get_close_matches(plain[:100], DECISIVE[kind], n=1, cutoff=0.75)
    if near:
        return near[0]
    return next((each for each in DECISIVE[kind] if plain.endswith(f".{each}")), None)


def unknown_keys(settings: Settings, kind: str) -> Settings:
    """Return the settings that Kafka does not know in a file of this kind: those of plug-ins, serializers and interceptors.
    Errors: `InputError` for one of them whose key is nearly, or ends like, a key that an answer depends on."""
    found = {key: each for key, each in settings.items() if key not in known_to(kind)}
    for key, setting in found.items():
        suggestion = meant(key, kind)
        if suggestion is not None:
            raise InputError(f"unknown {kind} setting {quote(key)} in {setting.where}; did you mean {suggestion!r}?")
    return found
