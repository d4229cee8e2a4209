"""Starts and ends of brokers' processes as questions to the model."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from neverlost.checker.kafka.history.history import History, HistoryObservation
from neverlost.checker.kafka.observe.history_question import HistoryQuestion, StepQuery, Tracked, repeat_query
from neverlost.checker.kafka.observe.starting_model import HistorySetting
from neverlost.model.faults import KILLED, LOST
from neverlost.model.observed.protocol import FAULT_OF

SLACK = 5.0
"""Seconds after a process ended in which the controller may still carry out what it had asked for."""


@dataclass(frozen=True)
class _Stop:
    """The last end of a process whose broker was registered, and the latest time for the model's end of it."""

    at: float
    latest: float


def ask_about_processes(setting: HistorySetting) -> Iterator[HistoryQuestion]:
    """Yield a question for each end of a replica's process since the history's first metadata, and for each start after an end.
    An end with no registration since the one before is asked about as that of a broker that stayed down."""
    registered = _list_registrations(setting.history)
    stops: dict[int, _Stop] = {}
    for each in setting.history.of("process"):
        broker, at = each["broker"], setting.index(each["broker"])
        if at is None or each.at < setting.start_at:
            continue
        times, stop = registered.get(broker, []), stops.get(broker)
        if each["state"] == "started":
            if stop is None:
                continue
            asked = repeat_query(StepQuery(("start", at), [("process_start", {"broker": at})]))
        elif stop is not None and not any(stop.at <= time <= each.until for time in times):
            asked = _make_unregistered_query(each, at)
        else:
            asked = _make_ending_query(each, at)
            again = next((time for time in times if time > each.until), math.inf)
            stop = stops[broker] = _Stop(each.at, min(again, each.until + SLACK))
        yield HistoryQuestion((each,), each.at, max(each.until, stop.latest), f"process {broker}", asked)


def _list_registrations(history: History) -> dict[int, list[float]]:
    found: dict[int, list[float]] = {}
    for each in history.of("broker"):
        if each["state"] == "registered":
            found.setdefault(each["broker"], []).append(each.at)
    return found


def _make_unregistered_query(seen: HistoryObservation, at: int) -> Callable[[Tracked], StepQuery]:
    state, end = seen["state"], seen.get("log_end")

    def asked(tracked: Tracked) -> StepQuery:
        may = [0] if state != LOST else [0, 1] if end is None else [int(end <= tracked.offset)]
        return StepQuery(("unregistered", at, tuple(may)), [("process_end", {"broker": at, "lost": lost}) for lost in may])

    return asked


def list_endings(state: str) -> tuple[str, ...]:
    """Return the actions by which a running broker's process ends in a given way."""
    return tuple(name for name, fault in FAULT_OF.items() if fault.ends == state and name != "broker_lose_down")


def _make_ending_query(seen: HistoryObservation, at: int) -> Callable[[Tracked], StepQuery]:
    """Return the query for the end of a process.  What was lost may lie beyond the tracked offset: then the process ended and
    lost nothing that is tracked."""
    state, end = seen["state"], seen.get("log_end")

    def emptied(k: Any, was: Any, now: Any) -> Any:
        return now.log_record[at][0] == 0

    def asked(tracked: Tracked) -> StepQuery:
        if state != LOST:
            names, is_cut = list_endings(state), end is not None and end <= tracked.offset
        elif end is None:
            names, is_cut = list_endings(KILLED) + list_endings(LOST), False
        else:
            is_cut = end <= tracked.offset
            names = list_endings(KILLED) + (list_endings(LOST) if is_cut else ())
        calls = [(name, {"broker": at}) for name in names]
        return StepQuery(("process", at, names, is_cut), calls, emptied if is_cut and state == LOST else None)

    return asked
