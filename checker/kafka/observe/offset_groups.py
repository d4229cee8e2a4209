"""Groups offsets about which a history says the same in the same order, and collects what is asked about each group.  The
history is matched once for each group, and once for an offset that was never written."""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Hashable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

from neverlost.checker.kafka.history.history import HistoryObservation
from neverlost.checker.kafka.observe.controller_events import ask_about_controller
from neverlost.checker.kafka.observe.history_question import Call, HistoryQuestion, StepQuery, Tracked, repeat_query
from neverlost.checker.kafka.observe.match_history import ObservedStep, Observer, States
from neverlost.checker.kafka.observe.observed_offsets import ask_about_disks, ask_about_high_watermarks
from neverlost.checker.kafka.observe.process_events import ask_about_processes
from neverlost.checker.kafka.observe.starting_model import HistorySetting


@dataclass(frozen=True)
class OffsetGroup:
    """Offsets about which the history says the same, the names of their records, and what is asked.  `repeats`: whether those
    records may have been sent more than once."""

    offsets: tuple[int, ...]
    names: tuple[str, ...]
    observations: tuple[ObservedStep, ...]
    repeats: bool = False

    @property
    def tracked(self) -> Tracked:
        return Tracked(self.offsets[-1], self.names)

    @property
    def acknowledged(self) -> tuple[float, int] | None:
        """The earliest (time, record number) by which a producer had surely been notified at this offset; None if none ever
        was."""
        keys = ((each.latest, each.key) for each in self.observations if isinstance(each.key, RecordKey))
        return min(((at, key.record) for at, key in keys if key.action == "producer_is_notified"), default=None)


class RecordKey(NamedTuple):
    """The key of a query about a record: the action that shows it, and the record's number in the model."""

    action: str
    record: int


class Matching:
    """Splits the offsets of a history into groups, and says what each group asks the model and with which observer."""

    def __init__(self, setting: HistorySetting) -> None:
        self.setting, self.questions = setting, list_questions(setting)
        self._steps: dict[tuple[int, bool, Hashable], tuple[int, ...]] = {}
        self._records: list[HistoryObservation] = []
        self._labels: dict[int, int] = {}

    def get_seen(self, label: int) -> tuple[HistoryObservation, ...]:
        """Return what a label stands for: the observations of the question of that index, beyond them one record; () for -1."""
        if label < 0:
            return ()
        later = label - len(self.questions)
        return self.questions[label].seen if later < 0 else (self._records[later],)

    @cached_property
    def _grid(self) -> list[float]:
        times = {time for each in self.questions for time in (each.earliest, each.latest) if math.isfinite(time)}
        return sorted(times)

    def _down(self, time: float) -> float:
        """Return a time at which a question begins or ends as it is, else one just after the last such time before it, or -inf
        without one: nothing in between distinguishes them."""
        at = bisect_right(self._grid, time)
        if at == 0:
            return -math.inf
        return time if self._grid[at - 1] == time else math.nextafter(self._grid[at - 1], math.inf)

    def _up(self, time: float) -> float:
        """Return a time at which a question begins or ends as it is, else one just before the next such time, or inf."""
        at = bisect_left(self._grid, time)
        if at == len(self._grid):
            return math.inf
        return time if self._grid[at] == time else math.nextafter(self._grid[at], -math.inf)

    @cached_property
    def about(self) -> dict[int, list[HistoryObservation]]:
        """Reads and acknowledgements, by offset; left out are those without an offset, and acknowledgements with acks=0."""
        found: dict[int, list[HistoryObservation]] = {}
        for each in self.setting.history.of("acked", "read"):
            if each["offset"] >= 0 and (each.saw == "read" or each["acks"] != "0"):
                found.setdefault(each["offset"], []).append(each)
        return found

    @cached_property
    def _places(self) -> dict[str, set[int]]:
        """Return, by record, the offsets at which it was seen."""
        found: dict[str, set[int]] = {}
        for offset, seen in self.about.items():
            for each in seen:
                found.setdefault(each["record"], set()).add(offset)
        for one in self.setting.history.of("log"):
            for offset, record in (one.get("records") or {}).items():
                found.setdefault(record, set()).add(int(offset))
        return found

    @cached_property
    def _sent(self) -> dict[str, float]:
        found: dict[str, float] = {}
        for each in self.setting.history.of("sent"):
            found.setdefault(each["record"], each.at)
        return found

    @cached_property
    def unaccounted(self) -> float:
        """When the first record of unknown offset was sent: it may be anywhere from then on.  -inf if not every sent record is
        in the history, inf if every offset is known."""
        if "sent" not in self.setting.history.complete:
            return -math.inf
        return min((at for record, at in self._sent.items() if record not in self._places), default=math.inf)

    def groups(self) -> list[OffsetGroup]:
        """Return all groups: first that of an offset never written, then, if the history begins with the topic, those of the
        offsets at which a record was seen. Offsets of which the same was seen are in one."""
        records: dict[int, set[str]] = {}
        for record, offsets in self._places.items():
            for offset in offsets:
                records.setdefault(offset, set()).add(record)
        beyond = max([each["high_watermark"] for each in self.setting.history.of("high_watermark")] + [*records, 0]) + 1
        # what was written before the history begins is not known
        wanted = [beyond, *sorted(records)] if self.setting.begins_with_the_topic else [beyond]
        found: dict[Hashable, OffsetGroup] = {}
        for offset in wanted:
            tracked = Tracked(offset, tuple(sorted(records.get(offset, ()))))
            observations = self._observations(tracked)
            signature = (len(tracked.names), tuple((each.key, each.earliest, each.latest) for each in observations))
            alike = found[signature].offsets if signature in found else ()
            found[signature] = OffsetGroup((*alike, offset), tracked.names, observations)
        return list(found.values())

    def with_repeats(self, group: OffsetGroup) -> OffsetGroup:
        """Return a group again, as one whose records may have been sent more than once."""
        return replace(group, observations=self._observations(group.tracked, repeats=True), repeats=True)

    def observer(self, group: OffsetGroup) -> Observer:
        return self.setting.observer(group.tracked.count, group.repeats)

    def starts(self, group: OffsetGroup) -> States:
        """Return the states in which the history of a group may begin."""
        return self.setting.starts(group.tracked.count, group.repeats)

    def _observations(self, tracked: Tracked, repeats: bool = False) -> tuple[ObservedStep, ...]:
        """Return every question as an observation, then what was seen of the records at the offset."""
        return tuple(self._observation(label, each, tracked, repeats) for label, each in self._ask(tracked))

    def _observation(self, label: int, question: HistoryQuestion, tracked: Tracked, repeats: bool) -> ObservedStep:
        asked = question.asked(tracked)
        steps = self._numbers(tracked.count, repeats, asked)
        return ObservedStep(asked.key, steps, asked.fits, question.earliest, question.latest, question.source, label)

    def _ask(self, tracked: Tracked) -> Iterator[tuple[int, HistoryQuestion]]:
        """Yield each question about an offset, after its label."""
        yield from enumerate(self.questions)
        for action, record, at, seen in self._records_at(tracked):
            number = tracked.number(record)
            asked = repeat_query(StepQuery(RecordKey(action, number), [(action, {"record": number})]))
            yield self._label(seen), HistoryQuestion((), at, at, f"{action} {record or 'unknown record'}", asked)

    def _records_at(self, tracked: Tracked) -> Iterator[tuple[str, str | None, float, HistoryObservation | None]]:
        """Yield (action, record, time, observation) for what is known of the records at one offset, at the time that says
        least: sent early, notified late.  Record None is every unknown record; observation None: it was not seen."""
        if self.unaccounted < math.inf:
            yield "producer_sends", None, self._down(self.unaccounted), None
        for name in tracked.names:
            yield "producer_sends", name, self._down(self._sent.get(name, -math.inf)), None
            for elsewhere in self._places[name] - {tracked.offset}:
                there = [each for each in self.about.get(elsewhere, ()) if each["record"] == name]
                if there:
                    first = min(there, key=lambda each: each.at)
                    yield "record_stands_elsewhere", name, self._up(first.until), first
        once: set[tuple[str, str]] = set()
        for each in self.about.get(tracked.offset, ()):
            action = "producer_is_notified" if each.saw == "acked" else "consumer_reads"
            if (action, each["record"]) not in once:
                once.add((action, each["record"]))
                yield action, each["record"], self._up(each.until), each

    def _label(self, seen: HistoryObservation | None) -> int:
        if seen is None:
            return -1
        if id(seen) not in self._labels:
            self._labels[id(seen)] = len(self.questions) + len(self._records)
            self._records.append(seen)
        return self._labels[id(seen)]

    def _numbers(self, count: int, repeats: bool, asked: StepQuery) -> tuple[int, ...]:
        """Return the numbers of the steps of the actions that a query asks for; computed once for equal keys."""
        where = (count, repeats, asked.key)
        if where not in self._steps:
            self._steps[where] = find_steps(self.setting.observer(count, repeats), asked.calls)
        return self._steps[where]


def list_questions(setting: HistorySetting) -> list[HistoryQuestion]:
    """Return the questions that are asked about every offset; the label of one is its index here."""
    return [
        *ask_about_controller(setting),
        *ask_about_processes(setting),
        *ask_about_high_watermarks(setting),
        *ask_about_disks(setting),
    ]


def find_steps(observer: Observer, calls: Iterable[Call]) -> tuple[int, ...]:
    """Return the numbers of all steps that match one of the calls: an action and some of its arguments."""
    wanted = list(calls)
    return tuple(
        number
        for number, step in enumerate(observer.system.steps)
        if any(step.action.name == name and given.items() <= dict(step.arguments).items() for name, given in wanted)
    )
