"""The results of a comparison: how much was compared, and every difference in Kafka's own names."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from neverlost.checker.kafka.conform.cases.entry_calls import ControllerScript, Script


@dataclass(frozen=True)
class Difference:
    """One case in which Kafka's class and the model differ.  `known` says why that was expected; None if it was not.  `test` is
    the case as calls of entry points, None without; `records` are the case's metadata records, empty without."""

    part: str
    method: str
    setting: str
    case: str
    kafka: tuple[str, ...]
    model: tuple[str, ...]
    known: str | None = None
    test: Script | ControllerScript | None = None
    records: tuple[Mapping[str, Any], ...] = ()


@dataclass
class Tally:
    """How much one part of a run compared, the differences, and what could not be compared."""

    part: str
    cases: int = 0
    calls: int = 0
    transitions: int = 0
    states: int = 0
    seconds: float = 0.0
    by_event: Counter[str] = field(default_factory=Counter)
    differences: list[Difference] = field(default_factory=list)
    gaps: list[str] = field(default_factory=list)
    """What could not be compared, because this version lacks a class or a method."""

    def add(self, other: Tally) -> None:
        """Add the counts, differences and gaps of another tally, such as that of another process."""
        for name in ("cases", "calls", "transitions", "states", "seconds"):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        self.by_event.update(other.by_event)
        self.differences += other.differences
        self.gaps += [each for each in other.gaps if each not in self.gaps]

    def compare(self, event: str, setting: str, case: str, kafka: object, model: object) -> None:
        """Count an event in `by_event`, but in no other count; if Kafka's answer is not the model's, store a `Difference`."""
        self.by_event[event] += 1
        if kafka != model:
            self.differences.append(Difference(self.part, event, setting, case, (str(kafka),), (str(model),)))

    @property
    def unexplained(self) -> list[Difference]:
        """The differences that were not expected: their `known` is None."""
        return [each for each in self.differences if each.known is None]


def sorted_texts(answers: Iterable[object]) -> tuple[str, ...]:
    """Return the texts of some answers, sorted."""
    return tuple(sorted(map(str, answers)))
