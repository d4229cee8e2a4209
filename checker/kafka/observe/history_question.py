"""What is asked of the model about one thing that was seen, whichever offset is tracked."""

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
        """How many names the model has: those that were seen, at least one, and the last one for every unknown record."""
        return max(1, len(self.names)) + 1

    def number(self, record: str | None) -> int:
        """The model's number of a record."""
        return self.names.index(record) if record in self.names else self.count - 1


@dataclass(frozen=True)
class StepQuery:
    """Which steps may have been seen, and whether one of them fits; where keys are equal the answer is the same."""

    key: Hashable
    calls: Sequence[Call]
    fits: Relation | None = None


@dataclass(frozen=True)
class HistoryQuestion:
    """Something that was seen, when it may have happened, by whom it was seen, and how it is asked about.

    Units: seconds.
    """

    seen: tuple[HistoryObservation, ...]
    earliest: float
    latest: float
    source: str
    asked: Callable[[Tracked], StepQuery]

    @property
    def saw(self) -> str:
        """What kind of observation it is."""
        return self.seen[-1].saw


def about(seen: HistoryObservation, asked: Callable[[Tracked], StepQuery]) -> HistoryQuestion:
    """The question about a single observation, at the time that it was made."""
    return HistoryQuestion((seen,), seen.at, seen.until, seen.source, asked)


def always(asked: StepQuery) -> Callable[[Tracked], StepQuery]:
    """What is asked about every offset alike."""
    return lambda tracked: asked
