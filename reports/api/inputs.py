"""What is asked about: the configurations that settings and Kafka's own files stand for."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import replace
from os import PathLike

from neverlost.keywords import Settings
from neverlost.specs.configuration.choose import Chosen, read_given
from neverlost.specs.errors import InputError, unknown
from neverlost.specs.kafka_files.chosen import chosen_configurations
from neverlost.specs.kafka_files.remedies import topic_of

Path = str | PathLike[str]


class KafkaFilesWarning(UserWarning):
    """Something in Kafka's files that a verdict may depend on."""


def configurations(
    settings: Settings = None,
    config: Path | None = None,
    kafka_version: str | None = None,
    **files: Path | Sequence[Path] | None,
) -> list[Chosen]:
    """What is asked about; what Kafka's files leave open becomes a warning.

    Errors: `InputError` for unknown keys, bad values and malformed files.
    """
    found, open_questions = chosen_configurations(read_given(config, settings), files, kafka_version)
    for each in open_questions:
        warnings.warn(each, KafkaFilesWarning, stacklevel=5)
    return found


def about_topics(every: Sequence[Chosen], topics: Sequence[str]) -> list[Chosen]:
    """The configurations of some of the described topics.

    Errors: `InputError` for a topic that is not described.
    """
    known = {topic_of(subject) for each in every for subject in each.subjects}
    for name in topics:
        if not known:
            raise InputError(
                f"--topic {name!r} is about a described cluster: give --describe FILE or --bootstrap-server HOST:PORT"
            )
        if name not in known:
            raise unknown("topic", name, known, "--topic")
    kept = [replace(each, subjects=tuple(one for one in each.subjects if topic_of(one) in topics)) for each in every]
    return [each for each in kept if each.subjects]
