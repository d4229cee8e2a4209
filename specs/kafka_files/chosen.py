"""The configurations to ask about: the one that a user gives, or each distinct one of Kafka's own files."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from neverlost.specs.configuration.choose import Chosen, Given, choose
from neverlost.specs.setting import Kind, Notice, Origin, Setting, of_kind

KafkaFiles = Mapping[str, Any]
"""What `read_cluster` reads, by the names of its parameters; None is not given."""


def chosen_configurations(given: Given, files: KafkaFiles, version: str | None = None) -> tuple[list[Chosen], list[str]]:
    """The configurations, each with its notices, and a sentence for each that deserves a warning; given keys win over files.

    Errors: `InputError` for a wrong key, value or file.
    """
    given = dict(given)
    if version is not None:
        given.setdefault("kafka.version", (version, "--kafka-version"))
    named = {option: path for option, path in files.items() if path is not None}
    if not named:
        return [choose(given)], []
    from neverlost.specs.kafka_files.cluster import read_cluster

    found: list[Chosen] = []
    for each in read_cluster(**named, kafka_version=given.get("kafka.version", (None,))[0], given=given.keys()):
        asked = given
        if each.version is not None and not {"model", "kafka.version"} & given.keys():
            asked = given | {"kafka.version": (each.version.value, each.version.where)}
        chosen = choose(asked, subjects=each.topics, offered=each.settings)
        brokers = each.brokers(chosen.model.symmetric(chosen.configuration))
        notices = each.notices + _not_read(each.settings, given, chosen)
        found.append(replace(chosen, notices=notices, brokers=brokers, places=each.places, out=each.out))
    every = [notice for each in found for notice in each.notices]
    return found, list(map(str, of_kind(every, Kind.WARNING, Kind.ASSUMED)))


def _not_read(settings: Mapping[str, Setting], given: Given, chosen: Chosen) -> tuple[Notice, ...]:
    """What a file sets and the model knows nothing of."""
    return tuple(
        Notice(Kind.WARNING, f"{key}={each.value} is not read by model {chosen.model.name}", each.where)
        for key, each in sorted(settings.items())
        if each.how == Origin.FILE and key not in given and key not in chosen.model.keys
    )
