"""The format of a history: what was seen of one partition, one observation per line of JSON.

The first line is the header; every other line says when something was seen (`at`, and `until` where it may have happened
at any time in between; seconds of one clock), by whom (`source`: observations of one source are in order) and what:

partition       leader, leader_epoch, partition_epoch, isr, elr, last_known_elr, replicas, adding, removing: what the
                controller has after a change; `batch` ties it to changes of brokers in the same controller event
broker          broker, state: registered, fenced, unfenced, or stopping (in controlled shutdown)
process         broker, state: started, stopped (cleanly), killed (its log intact), lost (unflushed data, or the disk);
                log_end is what lost has left
sent            record: the producer hands it to its client
acked           record, acks, offset: it is acknowledged to the producer
failed          record, error: an error to the producer: it may not be written
read            record, offset: a consumer reads it
high_watermark  leader_epoch, high_watermark, broker: the leader of an epoch answers with its high watermark
log             broker, log_end, records (offset to record): what is on a broker's disk

The header's `complete` lists what the history has all of: `partition`, `broker`, `process`, `sent`.  What is not
complete may also have happened unseen; `sent` is complete when no client sends a record twice, not even by itself.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeGuard

from neverlost.specs.configuration.input import read_text
from neverlost.specs.errors import InputError, unknown

FORMAT = "neverlost.history/1"
COMPLETE = ("partition", "broker", "process", "sent")
BROKER_STATES = ("registered", "fenced", "unfenced", "stopping")
PROCESS_STATES = ("started", "stopped", "killed", "lost")
ACKS = ("0", "1", "all")
MOST_LINES = 2_000_000


@dataclass(frozen=True)
class HistoryObservation:
    """What was seen (`saw`, its fields in `says`), between which times (seconds), by whom, and in which line of a file."""

    saw: str
    at: float
    until: float
    source: str
    says: Mapping[str, Any]
    place: str = ""

    def __getitem__(self, name: str) -> Any:
        return self.says[name]

    def get(self, name: str, default: Any = None) -> Any:
        """Return a field that an observation may have, else the default."""
        return self.says.get(name, default)


@dataclass(frozen=True)
class History:
    """One partition's observations by time, what is known about all of them, and which kinds are complete."""

    topic: str
    partition: int
    config: Mapping[str, Any]
    complete: frozenset[str]
    seen: tuple[HistoryObservation, ...]
    about: Mapping[str, Any] = field(default_factory=dict)

    def of(self, *kinds: str) -> list[HistoryObservation]:
        """Return the observations of these kinds, such as `acked`, by time."""
        return [each for each in self.seen if each.saw in kinds]


Check = Callable[[Any], bool]


def _is_number(value: Any) -> TypeGuard[int]:
    return isinstance(value, int) and not isinstance(value, bool) and -1 <= value < 2**63


def _is_brokers(value: Any) -> bool:
    return isinstance(value, list) and len(value) <= 64 and all(_is_number(each) and each >= 0 for each in value)


def _is_text(value: Any) -> TypeGuard[str]:
    return isinstance(value, str) and 0 < len(value) <= 1000


def _is_records(value: Any) -> bool:
    return isinstance(value, dict) and all(
        key.isascii() and key.isdigit() and len(key) < 19 and _is_text(each) for key, each in value.items()
    )


def _require_one_of(choices: tuple[str, ...]) -> Check:
    return lambda value: value in choices


NUMBER, BROKERS, TEXT = (_is_number, "a whole number"), (_is_brokers, "a list of broker ids"), (_is_text, "a text")
FIELDS: dict[str, dict[str, tuple[Check, str]]] = {
    "partition": {
        **dict.fromkeys(("leader", "leader_epoch", "partition_epoch"), NUMBER),
        **dict.fromkeys(("isr", "replicas", "elr?", "last_known_elr?", "adding?", "removing?"), BROKERS),
        "batch?": NUMBER,
    },
    "broker": {"broker": NUMBER, "state": (_require_one_of(BROKER_STATES), " or ".join(BROKER_STATES)), "batch?": NUMBER},
    "process": {"broker": NUMBER, "state": (_require_one_of(PROCESS_STATES), " or ".join(PROCESS_STATES)), "log_end?": NUMBER},
    "sent": {"record": TEXT},
    "acked": {"record": TEXT, "offset": NUMBER, "acks": (_require_one_of(ACKS), " or ".join(ACKS))},
    "failed": {"record": TEXT, "error?": TEXT},
    "read": {"record": TEXT, "offset": NUMBER},
    "high_watermark": {"leader_epoch": NUMBER, "high_watermark": NUMBER, "broker?": NUMBER},
    "log": {"broker": NUMBER, "log_end": NUMBER, "records?": (_is_records, "offsets with their records")},
}
"""The fields of each kind; those with a question mark may be left out."""


def parse_observation(line: Any, place: str) -> HistoryObservation:
    """Return one line of a history as an observation.  Errors: `InputError` with the field and what it must be."""
    if not isinstance(line, dict):
        raise InputError(f"{place}: write an object with at, saw and its fields")
    saw = line.get("saw")
    if not isinstance(saw, str) or saw not in FIELDS:
        raise unknown("observation", str(saw)[:40], FIELDS, place)
    says: dict[str, Any] = {}
    for declared, (is_good, what) in FIELDS[saw].items():
        name, is_optional = declared.rstrip("?"), declared.endswith("?")
        if name not in line:
            if is_optional:
                continue
            raise InputError(f"{place}: {saw} has no {name}; give {what}")
        if not is_good(line[name]):
            raise InputError(f"{place}: bad value {json.dumps(line[name])[:80]} for {name} of {saw}; use {what}")
        says[name] = line[name]
    left = line.keys() - says.keys() - {"at", "until", "source", "saw"}
    for name in sorted(left):
        raise unknown("field", str(name)[:40], [each.rstrip("?") for each in FIELDS[saw]], place)
    at = _parse_time(line.get("at"), "at", place)
    until = _parse_time(line.get("until", at), "until", place)
    if until < at:
        raise InputError(f"{place}: until {until:g} is before at {at:g}; exchange them")
    source = line.get("source", saw)
    if not _is_text(source):
        raise InputError(f"{place}: bad value {json.dumps(source)[:80]} for source; use a text")
    return HistoryObservation(saw, at, until, source, says, place)


def _parse_time(value: Any, name: str, place: str) -> float:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if not is_number or not abs(value) < 1e15:
        raise InputError(f"{place}: bad value {json.dumps(value)[:80]} for {name}; use seconds, such as 12.5")
    return float(value)


def read_history(path: Path | str) -> History:
    """Read a history file.  Errors: `InputError` (with the line, if one is bad) if it is unreadable, too long or no history."""
    lines = read_text(path).splitlines()
    if len(lines) > MOST_LINES:
        raise InputError(f"{str(path)!r} has {len(lines)} lines; cut it into histories of at most {MOST_LINES}")
    found = [
        (f"{path}:{number}", _parse_json(line, f"{path}:{number}")) for number, line in enumerate(lines, 1) if line.strip()
    ]
    if not found or not isinstance(found[0][1], dict) or found[0][1].get("history") != FORMAT:
        raise InputError(f'{str(path)!r} is no history: its first line must have "history": "{FORMAT}"')
    return make_history(found[0][1], [parse_observation(line, place) for place, line in found[1:]], found[0][0])


def make_history(header: Mapping[str, Any], seen: Iterable[HistoryObservation], place: str) -> History:
    """Return a history from its header and its observations, which it sorts by time; `InputError` for a bad header."""
    topic, partition = header.get("topic"), header.get("partition", 0)
    config, complete = header.get("config", {}), header.get("complete", [])
    if not _is_text(topic) or not _is_number(partition):
        raise InputError(f"{place}: the header needs a topic and a partition number")
    if not isinstance(config, dict) or not all(_is_text(name) for name in config):
        raise InputError(f"{place}: config is a table of keys, as --set takes them")
    if not isinstance(complete, list) or not all(isinstance(each, str) for each in complete):
        raise InputError(f"{place}: complete is a list out of {', '.join(COMPLETE)}")
    for each in complete:
        if each not in COMPLETE:
            raise unknown("kind", each[:40], COMPLETE, f"complete of {place}")
    ordered = tuple(sorted(seen, key=lambda each: each.at))
    about = {
        name: value for name, value in header.items() if name not in ("history", "topic", "partition", "config", "complete")
    }
    return History(topic, partition, config, frozenset(complete), ordered, about)


def _parse_json(line: str, place: str) -> Any:
    try:
        return json.loads(line)
    except (ValueError, RecursionError) as problem:
        raise InputError(f"{place}: malformed JSON: {problem}") from None


def format_history(history: History) -> str:
    header = {
        "history": FORMAT,
        "topic": history.topic,
        "partition": history.partition,
        "config": dict(history.config),
        "complete": sorted(history.complete),
        **history.about,
    }
    lines = [header]
    for each in history.seen:
        until = {} if each.until == each.at else {"until": round(each.until, 6)}
        lines.append({"at": round(each.at, 6), **until, "source": each.source, "saw": each.saw, **each.says})
    return "".join(json.dumps(each) + "\n" for each in lines)
