"""Reads the configurations that settings and Kafka's own files describe."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import replace
from os import PathLike

from neverlost.reports.wording.merged_rows import value_text
from neverlost.reports.wording.table_words import QUORUM
from neverlost.specs.configuration.choose import VERSION, Chosen, Given
from neverlost.specs.configuration.keys import MECHANISM
from neverlost.specs.configuration.metadata_version import METADATA
from neverlost.specs.errors import InputError, unknown
from neverlost.specs.inputs.chosen import chosen_configurations
from neverlost.specs.inputs.remedies import topic_of

Path = str | PathLike[str]


class KafkaFilesWarning(UserWarning):
    """A warning about something in Kafka's files that a verdict may depend on."""


def read_configurations(given: Given, kafka_version: str | None = None, **files: Path | Sequence[Path] | None) -> list[Chosen]:
    """Return the configurations that are asked about; each notice that a user must see becomes a `KafkaFilesWarning`.  Errors:
    `InputError` for unknown keys, bad values and malformed files."""
    found, open_questions = chosen_configurations(given, files, kafka_version)
    for each in open_questions:
        warnings.warn(each, KafkaFilesWarning, stacklevel=5)
    return found


def select_topics(every: Sequence[Chosen], topics: Sequence[str], option: str = "--topic") -> list[Chosen]:
    """Return the configurations of these described topics, without other topics; [] for no topics.  Errors: `InputError` for a
    topic that is not described."""
    known = {topic_of(subject) for each in every for subject in each.subjects}
    for name in topics:
        if not known:
            raise InputError(
                f"--topic {name!r} is about a described cluster: give --describe FILE or --bootstrap-server HOST:PORT"
            )
        if name not in known:
            raise unknown("topic", name, known, option)
    kept = []
    for each in every:
        brokers, out = (
            {name: one for name, one in every_one.items() if name.rpartition("-")[0] in topics}
            for every_one in (each.brokers, each.out)
        )
        subjects = tuple(one for one in each.subjects if topic_of(one) in topics)
        settings = {key: one.of_topics(subjects) for key, one in each.settings.items()}
        kept.append(replace(each, subjects=subjects, brokers=brokers, out=out, settings=settings))
    return [each for each in kept if each.subjects]


def make_labels(every: Sequence[Chosen]) -> list[str]:
    """Return a label for each configuration: its topics and, if others share them, the keys that differ (but for `defects`)."""
    same: dict[str, list[dict[str, str]]] = {}
    for each in every:
        same.setdefault(describe_subject(each), []).append(_values(each))
    return [describe_subject(each) + _difference(_values(each), same[describe_subject(each)]) for each in every]


def _values(chosen: Chosen) -> dict[str, str]:
    """Return the requested versions and the settings by which a configuration is distinguished."""
    version = {key: chosen.settings[key].value for key in (VERSION, METADATA) if key in chosen.settings}
    settings = {name: value for name, value in chosen.configuration.items() if not name.startswith(MECHANISM)}
    return version | {name: value_text(value) for name, value in settings.items() if name != "defects"}


def _difference(mine: dict[str, str], others: Sequence[dict[str, str]]) -> str:
    """Return, in brackets, the settings that differ from others of its version, and its version if some have another; or ''."""
    alike = [each for each in others if each.get(VERSION) == mine.get(VERSION)]
    among = others if len(alike) == len(others) else alike
    version = [f"{VERSION}={mine[VERSION]}"] if VERSION in mine and among is not others else []
    differing = (name for name, value in mine.items() if any(each.get(name) != value for each in among))
    said = ", ".join([*version, *(f"{name}={mine[name]}" for name in differing)])
    return f" ({said})" if said else ""


def describe_subject(chosen: Chosen) -> str:
    """Return the topics of a configuration; without topics `configuration`, or what a quorum is called."""
    is_kafka = "min.insync.replicas" in chosen.configuration
    return ", ".join(chosen.subjects) or ("configuration" if is_kafka else QUORUM)
