"""Merges what a user has into one history: metadata logs, and what clients wrote down."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from neverlost.checker.kafka.history.history import COMPLETE, History, HistoryObservation, make_history, parse_observation
from neverlost.specs.configuration.input import read_text
from neverlost.specs.errors import InputError

if TYPE_CHECKING:
    from neverlost.checker.kafka.history.metadata_log import MetadataRecord


def gather_history(metadata: list[str], clients: list[str], topic: str, partition: int) -> History:
    """Return the history of a partition from files of the metadata log and of clients.  It is complete in changes of the
    partition and brokers, and in what all clients' files call complete. Errors: `InputError` without a metadata log, for a
    malformed file, if the log does not have the partition, and for clients' lines about one that was deleted before it."""
    if not metadata:
        raise InputError("--clients alone does not say who led: add --metadata-log FILE")
    from neverlost.checker.kafka.history.metadata_log import make_observations

    seen, whole = _read_clients(clients)
    changes, config = make_observations(_read_metadata(metadata), topic, partition, seen)
    complete = sorted(whole | {"partition", "broker"})
    return make_history({"topic": topic, "partition": partition, "config": config, "complete": complete}, seen + changes, topic)


def _read_metadata(paths: list[str]) -> list[MetadataRecord]:
    """Return the records of several files of one log, in order; files may overlap.  Errors: `InputError` where they differ."""
    from neverlost.checker.kafka.history.metadata_log import read_entries

    found: dict[int, MetadataRecord] = {}
    for each in (one for path in paths for one in read_entries(path)):
        before = found.setdefault(each.event.offset, each)
        if (before.at, before.event.kind) != (each.at, each.event.kind):
            raise InputError(
                f"{each.place}: offset {each.event.offset} is another record at {before.place}; "
                "give the segments of one log, or one snapshot"
            )
    return [found[offset] for offset in sorted(found)]


def _read_clients(paths: list[str]) -> tuple[list[HistoryObservation], set[str]]:
    """Return the observations in clients' files, and the kinds of observations that every file has all of; a line that is only
    `{"complete": [...]}` says of which kinds its file has all."""
    seen: list[HistoryObservation] = []
    complete: set[str] | None = None
    for path in paths:
        whole: set[str] = set()
        for number, line in enumerate(read_text(Path(path)).splitlines(), 1):
            if not line.strip():
                continue
            place = f"{path}:{number}"
            try:
                document = json.loads(line)
            except (ValueError, RecursionError) as problem:
                raise InputError(f"{place}: malformed JSON: {problem}") from None
            if isinstance(document, dict) and document.keys() == {"complete"}:
                whole |= _parse_kinds(document["complete"], place)
            else:
                seen.append(parse_observation(document, place))
        complete = whole if complete is None else complete & whole
    return seen, complete or set()


def _parse_kinds(value: Any, place: str) -> set[str]:
    if not isinstance(value, list) or not all(each in COMPLETE for each in value):
        raise InputError(f"{place}: complete is a list out of {', '.join(COMPLETE)}")
    return set(value)
