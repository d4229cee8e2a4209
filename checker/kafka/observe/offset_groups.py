"""Which offsets are asked about, and what: those about which a history says the same in the same order are one *group*.

The history is held against the model once for every offset that it speaks about, and for one that was never written.
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from neverlost.checker.kafka.history.history import Seen
from neverlost.checker.kafka.observe.explained import Observation, Observer, States
from neverlost.checker.kafka.observe.questions import Questions
from neverlost.checker.kafka.observe.starting_model import Setting

UNKNOWN = "unknown record"


@dataclass(frozen=True)
class OffsetGroup:
    """Offsets about which the history says the same: the offsets, the names of the records there, and what is asked.

    `repeats`: whether those records may have been sent more than once.
    """

    offsets: tuple[int, ...]
    names: tuple[str, ...]
    observations: tuple[Observation, ...]
    repeats: bool = False

    @property
    def tracked(self) -> int:
        """The offset that stands for all."""
        return self.offsets[-1]


class Matching:
    """The groups of a history."""

    def __init__(self, setting: Setting) -> None:
        self.setting, self.questions = setting, Questions(setting)
        self._steps: dict[tuple[int, bool, Any], tuple[int, ...]] = {}
        self._labels: dict[int, int] = {}

    @cached_property
    def _grid(self) -> list[float]:
        times = {time for place, _ in self.questions.fixed for time in (place.earliest, place.latest) if math.isfinite(time)}
        return sorted(times)

    def _down(self, time: float) -> float:
        """Just after the last moment of the grid before a time: nothing in between distinguishes them."""
        at = bisect_right(self._grid, time)
        if at == 0:
            return -math.inf
        return time if self._grid[at - 1] == time else math.nextafter(self._grid[at - 1], math.inf)

    def _up(self, time: float) -> float:
        """Just before the first moment of the grid after a time."""
        at = bisect_left(self._grid, time)
        if at == len(self._grid):
            return math.inf
        return time if self._grid[at] == time else math.nextafter(self._grid[at], -math.inf)

    @cached_property
    def about(self) -> dict[int, list[Seen]]:
        """Acknowledgements and reads by offset."""
        found: dict[int, list[Seen]] = {}
        for each in self.setting.history.of("acked", "read"):
            if each["offset"] >= 0 and (each.saw == "read" or each["acks"] != "0"):
                found.setdefault(each["offset"], []).append(each)
        return found

    @cached_property
    def _places(self) -> dict[str, set[int]]:
        """The offsets at which each record was seen."""
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
        """When the first record was sent whose offset is not known: it may be anywhere."""
        if "sent" not in self.setting.history.complete:
            return -math.inf
        return min((at for record, at in self._sent.items() if record not in self._places), default=math.inf)

    def groups(self) -> list[OffsetGroup]:
        """Everything that is asked: first about an offset that was never written, then about each that was seen."""
        records: dict[int, set[str]] = {}
        for record, offsets in self._places.items():
            for offset in offsets:
                records.setdefault(offset, set()).add(record)
        beyond = max([each["high_watermark"] for each in self.setting.history.of("high_watermark")] + [*records, 0]) + 1
        found: dict[Any, list[int]] = {}
        asked: dict[Any, tuple[tuple[str, ...], tuple[Observation, ...]]] = {}
        # what was written before the history begins is not known
        for offset in [beyond, *sorted(records)] if self.setting.begins_with_the_topic else [beyond]:
            names = tuple(sorted(records.get(offset, ())))
            observations = self._observations(offset, names)
            signature = (len(names), tuple((each.key, each.earliest, each.latest) for each in observations))
            found.setdefault(signature, []).append(offset)
            asked[signature] = (names, observations)
        return [OffsetGroup(tuple(offsets), *asked[signature]) for signature, offsets in found.items()]

    def with_repeats(self, group: OffsetGroup) -> OffsetGroup:
        """The same group, when its records may have been sent more than once."""
        return replace(group, observations=self._observations(group.tracked, group.names, True), repeats=True)

    def observer(self, group: OffsetGroup) -> Observer:
        """Who is asked about a group."""
        return self.setting.observer(count_of(group.names), group.repeats)

    def starts(self, group: OffsetGroup) -> States:
        """The states that the history of a group may begin in."""
        return self.setting.starts(count_of(group.names), group.repeats)

    def _observations(self, offset: int, names: tuple[str, ...], repeats: bool = False) -> tuple[Observation, ...]:
        count, index, found = count_of(names), {name: number for number, name in enumerate(names)}, []
        for place, asked in self.questions.fixed:
            key, calls, fits = asked(offset, count, index)
            found.append(self._asking(count, repeats, place, key, calls, fits))
        for kind, name, at, seen in self._records(offset, names):
            number = count - 1 if name == UNKNOWN else index[name]
            label = self._label(seen)
            place = Observation(None, (), None, at, at, f"{kind} {name}", label)
            found.append(self._asking(count, repeats, place, (kind, number), [(kind, {"record": number})], None))
        return tuple(found)

    def _records(self, offset: int, names: tuple[str, ...]) -> Iterator[tuple[str, str, float, Seen | None]]:
        """What is said about the records at one offset, with the moment that says least: sent early, acknowledged late."""
        if self.unaccounted < math.inf:
            yield "producer_sends", UNKNOWN, self._down(self.unaccounted), None
        for name in names:
            yield "producer_sends", name, self._down(self._sent.get(name, -math.inf)), None
            for elsewhere in self._places[name] - {offset}:
                first = min(
                    (each for each in self.about.get(elsewhere, ()) if each["record"] == name),
                    key=lambda each: each.at,
                    default=None,
                )
                if first is not None:
                    yield "record_stands_elsewhere", name, self._up(first.until), first
        once: set[tuple[str, str]] = set()
        for each in self.about.get(offset, ()):
            kind = "producer_is_notified" if each.saw == "acked" else "consumer_reads"
            if (kind, each["record"]) not in once:
                once.add((kind, each["record"]))
                yield kind, each["record"], self._up(each.until), each

    def _label(self, seen: Seen | None) -> int:
        if seen is None:
            return -1
        if id(seen) not in self._labels:
            self.questions.all.append((seen,))
            self._labels[id(seen)] = len(self.questions.all) - 1
        return self._labels[id(seen)]

    def _asking(self, count: int, repeats: bool, place: Observation, key: Any, calls: Iterable[Any], fits: Any) -> Observation:
        where = (count, repeats, key)
        if where not in self._steps:
            self._steps[where] = numbers(self.setting.observer(count, repeats), calls)
        return Observation(key, self._steps[where], fits, place.earliest, place.latest, place.source, place.label)


def count_of(names: tuple[str, ...]) -> int:
    """How many names the model has: those that were seen, at least one, and the unknown record."""
    return max(1, len(names)) + 1


def numbers(observer: Observer, calls: Iterable[tuple[str, Mapping[str, int]]]) -> tuple[int, ...]:
    """The steps of some actions with some of their arguments given."""
    wanted = list(calls)
    return tuple(
        number
        for number, step in enumerate(observer.system.steps)
        if any(step.action.name == name and given.items() <= dict(step.arguments).items() for name, given in wanted)
    )
