"""What a search calls on its workers, and the one worker in this process that uses columns."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from neverlost.checker.engine.outcome import EngineError
from neverlost.checker.engine.search.level_report import LevelReport
from neverlost.checker.engine.search.owned_states import OwnedStates
from neverlost.checker.engine.storage.levels import Level, StateFile, Store
from neverlost.model.system import Words


class Workers(Protocol):
    """What a search calls on its workers."""

    def round(self) -> bool: ...
    def close_level(self) -> LevelReport: ...
    def forget(self, decided: NDArray[np.bool_]) -> None: ...
    def parents(self, targets: Sequence[Words], depth: int) -> dict[Words, tuple[Words, int]]: ...
    def counts(self) -> tuple[int, int, int, Counter[str]]: ...
    def close(self) -> None: ...


class Local:
    """The one worker in this process."""

    def __init__(self, owned: OwnedStates) -> None:
        self.owned = owned

    def round(self) -> bool:
        """Expand a batch; return True if the level has more."""
        self.owned.expand()
        return self.owned.waiting > 0

    def close_level(self) -> LevelReport:
        return self.owned.close_level()

    def forget(self, decided: NDArray[np.bool_]) -> None:
        """Stop expanding these configurations."""
        self.owned.expansion.forget(decided)

    def parents(self, targets: Sequence[Words], depth: int) -> dict[Words, tuple[Words, int]]:
        """Return the smallest predecessor of each state in the level before it, and the step."""
        return require_predecessors(targets, self.owned.parents(targets, depth))

    def counts(self) -> tuple[int, int, int, Counter[str]]:
        """Return how many states are generated, distinct and waiting, and how often each action fired."""
        part = self.owned
        return part.expansion.generated, part.known, part.waiting, part.expansion.fired

    def restore(self, store: Store, level: Level) -> None:
        """Insert a level that an earlier search stored."""
        for file in level.files:
            self.owned.absorb(store.read_packed(file))
        self.owned.restore_level(level.generated, level.fired)

    def keep(self, location: str, depth: int) -> list[StateFile]:
        """Write the frontier to a store."""
        return [self.owned.keep(location, depth)]

    def close(self) -> None:
        """Nothing to release."""


def require_predecessors(targets: Sequence[Words], found: dict[Words, tuple[Words, int]]) -> dict[Words, tuple[Words, int]]:
    """Return the predecessors that were found. Errors: `EngineError` for a target without one."""
    if set(found) != set(targets):
        raise EngineError("a state of a trace has no predecessor in the level before it")
    return found
