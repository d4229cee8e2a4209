"""The configurations to ask about: the one that a user gives, or each distinct one of Kafka's own files."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from neverlost.specs.configuration.choose import Chosen, Given, choose

KafkaFiles = Mapping[str, Any]
"""What `read_cluster` reads, by the names of its parameters; None is not given."""


def chosen_configurations(given: Given, files: KafkaFiles, version: str | None = None) -> tuple[list[Chosen], list[str]]:
    """The configurations, and a sentence for each thing in the files that deserves a warning; given keys win over files.

    Errors: `InputError` for whatever is wrong with a key, a value or a file.
    """
    given = dict(given)
    if version is not None:
        given.setdefault("kafka.version", (version, "--kafka-version"))
    named = {option: path for option, path in files.items() if path is not None}
    if not named:
        return [choose(given)], []
    from neverlost.specs.kafka_files.cluster import read_cluster

    found: list[Chosen] = []
    warnings: list[str] = []
    for each in read_cluster(**named, kafka_version=given.get("kafka.version", (None,))[0], given=given.keys()):
        found.append(choose(given, subjects=each.topics, offered=each.keys))
        model = found[-1].model
        warnings += map(str, each.warnings)
        for key in sorted(each.keys.keys() - each.defaulted - given.keys() - set(model.keys)):
            value, where = each.keys[key]
            warnings.append(f"{key}={value} ({where}) is not read by model {model.name}")
    return found, list(dict.fromkeys(warnings))
