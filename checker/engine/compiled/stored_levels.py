"""What a search in compiled code has visited and no longer has in its tables: levels in a store."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from neverlost.checker.engine.compiled.ascending import Ascending, Known
from neverlost.checker.engine.storage.compact import Block, Run
from neverlost.checker.engine.storage.levels import ASCENDING, StateFile, Store
from neverlost.model.interpreters.machine_code import Rows


class StoredLevels:
    """The first levels of a store, and what was found of a level before the tables were emptied amid it.

    From the level `_until` on the tables hold whole levels.
    """

    def __init__(self, store: Store, order: Ascending) -> None:
        self.store, self._order = store, order
        self._until = 0
        self._runs: list[Run] = []
        self._looks: dict[str, Known] = {}

    def adopt(self, found: list[Rows], level: int) -> None:
        """Keep what the tables, emptied now, held of the unfinished level of that number; older levels are in the store."""
        if found:
            self._runs.append(self._order.run(found))
        self._until = level + 1 if self._runs else level

    def hold_until(self, level: int) -> None:
        """From now on let `new` look states up in the levels before that one."""
        self._until = level

    def new(self, found: list[Rows]) -> list[Block]:
        """Return what is found or adopted and in no level before `_until`, as compressed blocks; nothing stays adopted."""
        runs, self._runs = [*self._runs, self._order.run(found)], []
        files = [file for level in self.store.levels()[: self._until] for file in level.files]
        return [*self._order.unite(runs, [self._find_look_up(file) for file in files]).blocks()]

    def states_of(self, depth: int) -> Iterator[Rows]:
        return (self.store.read_packed(file).T for file in self.store.levels()[depth].files)

    def _find_look_up(self, file: StateFile) -> Known:
        """Return the function that finds the blocks of a level's file in which some rows may be."""
        if file.order == ASCENDING:
            return partial(self.store.blocks, file, self._order.join)
        if file.name not in self._looks:
            run = self._order.run([self.store.read_packed(file).T])
            self._looks[file.name] = lambda rows: map(self._order.join, run.about(rows))
        return self._looks[file.name]
