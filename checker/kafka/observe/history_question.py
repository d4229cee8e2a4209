"""What an observation asks the model, for any tracked offset."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass

from neverlost.checker.kafka.history.history import HistoryObservation
from neverlost.checker.kafka.observe.match_history import Relation

Call = tuple[str, Mapping[str, int]]
"""An action, and those of its arguments that are known."""


@dataclass(frozen=True)
class Tracked:
    """An offset, and the names of the records that were seen there."""

    offset: int
    names: tuple[str, ...]

    @property
    def count(self) -> int:
        """How many record names the model has: those that were seen (at least one), and a last one for every unknown record."""
        return max(1, len(self.names)) + 1

    def number(self, record: str | None) -> int:
        return self.names.index(record) if record in self.names else self.count - 1


@dataclass(frozen=True)
class StepQuery:
    """The steps that may have been seen, and a relation that one of them must satisfy; equal keys mean equal answers."""

    key: Hashable
    calls: Sequence[Call]
    fits: Relation | None = None


@dataclass(frozen=True)
class HistoryQuestion:
    """An observation with the time span in which it may have happened, its source, and how the model is asked about it.
    Units: seconds."""

    seen: tuple[HistoryObservation, ...]
    earliest: float
    latest: float
    source: str
    asked: Callable[[Tracked], StepQuery]

    @property
    def saw(self) -> str:
        return self.seen[-1].saw


def ask_about(seen: HistoryObservation, asked: Callable[[Tracked], StepQuery]) -> HistoryQuestion:
    """Return the question about a single observation, at its own time."""
    return HistoryQuestion((seen,), seen.at, seen.until, seen.source, asked)


def repeat_query(asked: StepQuery) -> Callable[[Tracked], StepQuery]:
    return lambda tracked: asked
