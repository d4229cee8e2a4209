"""`observe` checks whether the model explains what was recorded of a real partition."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from os import PathLike
from typing import Any

from neverlost.checker.engine.host.whole_files import writable_directory
from neverlost.checker.kafka.history.gather import gather_history
from neverlost.checker.kafka.history.history import History, format_history, read_history
from neverlost.checker.kafka.observe.history_verdict import HistoryVerdict, match_history
from neverlost.checker.kafka.observe.losses import Interval, find_intervals
from neverlost.checker.kafka.observe.match_history import TooLarge
from neverlost.checker.kafka.observe.starting_model import make_setting
from neverlost.reports.bundle import question, seal
from neverlost.reports.questions.observe import document as describe
from neverlost.reports.questions.observe.page import REPORT
from neverlost.reports.request.keywords import Settings
from neverlost.reports.request.run_options import RunOptions
from neverlost.reports.results.results import Answer
from neverlost.specs.configuration.choose import Given, read_settings
from neverlost.specs.errors import InputError

Path = str | PathLike[str]
Progress = Callable[..., None]
HISTORY = "history.jsonl"
TABLES = {REPORT.schema: REPORT}


@dataclass(frozen=True, repr=False)
class Observation(Answer):
    """Whether the model explains a history, and what could have been lost in each interval of it."""

    verdict: str
    reason: str | None
    topic: str
    partition: int
    judgement: HistoryVerdict = field(repr=False)
    moments: Sequence[Interval] = field(repr=False)

    def rows(self) -> Sequence[Mapping[str, Any]]:
        return list(self.document["intervals"])


def observe(
    history: Path | None = None,
    settings: Settings = None,
    *,
    kafka_version: str | None = None,
    metadata_log: Sequence[Path] = (),
    clients: Sequence[Path] = (),
    topic: str | None = None,
    partition: int = 0,
    losses: bool = True,
    out: Path | None = None,
    redact: bool = False,
    time_limit: float | None = None,
    progress: Progress = lambda *said: None,
) -> Observation:
    """Match a history, or what a partition's logs say, against the model. `history` is a file of its own format; else `topic`
    and `partition` name what is looked for in `metadata_log` and `clients`. Without `losses` only the verdict is found. After
    `time_limit` seconds nothing more is looked for. Errors: `InputError` for bad input."""
    arguments = {
        "history": history,
        "settings": settings,
        "kafka_version": kafka_version,
        "metadata_log": metadata_log,
        "clients": clients,
        "topic": topic,
        "partition": partition or None,
    }
    asked, (seen, given) = question.read_question("observe", arguments, _read, lambda found: [found[0].topic], redact)
    request = RunOptions(time_limit=time_limit)
    asked = asked.with_arguments(losses=losses and None).with_effort(request)
    if out is not None:
        writable_directory(out)
    until = float("inf") if request.time_limit is None else time.monotonic() + request.time_limit
    setting = make_setting(seen, dict(given), until)
    found = match_history(setting, lambda done, all_: progress("offsets that look alike", done, all_))
    progress("what could have been lost")
    moments = _find_intervals(found) if losses and found.verdict != "inconclusive" else []
    document = describe.document(found, moments)
    if out is not None:
        document |= asked.answered
        seal.write_bundle(out, asked, document, [], {}, {HISTORY: format_history(seen).encode()}, TABLES)
    return Observation.of(document, judgement=found, moments=moments)


def _find_intervals(found: HistoryVerdict) -> Sequence[Interval]:
    """Return the intervals with what could have been lost in each; none, and set `found.unsaid`, if a limit is reached."""
    try:
        return find_intervals(found)
    except TooLarge as problem:
        found.unsaid = str(problem)
        return []


def _read(
    history: str | None = None,
    settings: Settings = None,
    kafka_version: str | None = None,
    metadata_log: Sequence[str] = (),
    clients: Sequence[str] = (),
    topic: str | None = None,
    partition: int = 0,
) -> tuple[History, Given]:
    given = read_settings(settings)
    if kafka_version is not None:
        given.setdefault("kafka.version", (".".join(kafka_version.split(".")[:2]), "--kafka-version"))
    if history is not None:
        return read_history(history), given
    if topic is None:
        raise InputError("--topic NAME is missing: which topic of the files to look at")
    return gather_history(list(metadata_log), list(clients), topic, partition), given
