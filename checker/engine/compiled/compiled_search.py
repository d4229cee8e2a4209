"""The workers of a search in machine code: threads that share memory, each with tables of its own.

A round has two halves.  First every worker expands parts of the frontier and puts the successors, mixed, into a box for
the worker that owns their table; then every worker inserts what its boxes hold.  Calls into machine code let the other
threads run, nothing is locked, and the set of states of a level does not depend on who expanded what.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from neverlost.checker.engine.compiled.ascending import Ascending
from neverlost.checker.engine.compiled.checks import CompiledChecks
from neverlost.checker.engine.compiled.programs import SAMPLE, Programs
from neverlost.checker.engine.compiled.sharing import Boxes, Shares, Threads
from neverlost.checker.engine.compiled.state_tables import Arena, Growth, StateTables
from neverlost.checker.engine.compiled.stored_levels import StoredLevels
from neverlost.checker.engine.compiled.table_text import TABLES, K, Layout
from neverlost.checker.engine.host.resources import give_back
from neverlost.checker.engine.search.expansion import note_parents
from neverlost.checker.engine.search.level_report import LevelReport
from neverlost.checker.engine.search.owned_states import OwnedStates, require_predecessors
from neverlost.checker.engine.storage.compact import Block
from neverlost.checker.engine.storage.levels import ASCENDING, Level, StateFile, Store
from neverlost.model.interpreters.machine_code import Rows
from neverlost.model.system import Words

ROOM = 1 << 18
"""About how many states a worker writes to its boxes before its part of a round ends."""

CHUNK = 1 << 12
"""States that are expanded at once, shared by the workers: the successors stay in the cache."""

CHECKED = 1 << 16
"""States that are checked at once."""

DEEP = 255
"""An entry of a table counts levels up to this one: the states of it and of later levels are kept as rows too."""


class CompiledSearch:
    """Threads that hold a search's states and expand them by compiled code."""

    def __init__(self, local: OwnedStates, programs: Programs, workers: int, is_limited: bool = False) -> None:
        self.system, self.programs = local.system, programs
        self.configurations, self.decided = local.configurations, local.expansion.decided
        self.tables = StateTables(Layout.of(self.system), programs.functions)
        self.threads = Threads(min(workers, TABLES))
        total, words = self.threads.total, self.system.words
        self._chunk = max(16, CHUNK // total)
        self.boxes = Boxes(programs, total, total, self._chunk, max(1 << 12, ROOM // total))
        self._checks = CompiledChecks(programs, local.properties, local.configurations)
        self._growth = Growth(is_limited)
        self._order = Ascending(programs.functions, words, total)
        self._pieces = [Arena(words) for _ in range(total)]
        self._fresh: list[list[Rows]] = [[] for _ in range(total)]
        self._base = (local.expansion.generated, local.expansion.fired)
        self._level = self._distinct = 0
        self._deep: dict[int, list[Rows]] = {}
        self._stored: StoredLevels | None = None
        self._frontier: Sequence[Rows | Block] = []
        self._waiting = Shares([], self._chunk, self._rows)
        self._sample = np.empty((0, words), np.uint64)
        self._compared = False

    def continue_from(self, local: OwnedStates) -> None:
        """Insert the states that a search by columns has found so far, level by level; the last level becomes the frontier."""
        room = self.boxes.capacity
        for start, end in zip(local.bounds, local.bounds[1:], strict=False):
            self._take_in(local.states.slice(first, min(first + room, end)).T for first in range(start, end, room))
            self._next_level()
        self._start()

    def _take_in(self, blocks: Iterable[Rows]) -> None:
        for block in blocks:
            rows = np.ascontiguousarray(block)
            self.boxes.scatter(0, rows, len(rows))
            self.threads.each(self._insert, len(rows))

    def _next_level(self) -> None:
        """Make the states inserted since the last level the newest level, without those that a level in the store has."""
        found = [block for blocks in self._fresh for block in blocks]
        self._fresh = [[] for _ in self._fresh]
        if self._stored is None:
            if self._level >= DEEP:
                self._deep[self._level] = found
            self._advance(found)
            return
        self._advance(self._stored.new(found))
        self._stored.store.rest()
        give_back()

    def _advance(self, states: Sequence[Rows | Block]) -> None:
        """Make these states the newest level, and count them."""
        self._frontier = states
        new = sum(map(len, states))
        self._growth.add(new, self.tables.bytes)
        self._distinct += new
        self._level += 1

    def _start(self) -> None:
        """Make the newest level the frontier; each part of it is freed once it is expanded."""
        starts = [self._rows(block)[:SAMPLE] for block in self._frontier[:SAMPLE]]
        self._sample = np.concatenate([np.empty((0, self.system.words), np.uint64), *starts])[:SAMPLE].copy()
        self._waiting, self._frontier = Shares(self._frontier, self._chunk, self._rows), []

    def _rows(self, block: Rows | Block) -> Rows:
        return self._order.join(block) if isinstance(block, Block) else block

    def expand(self) -> bool:
        """Expand parts of the frontier and insert their successors; return True if the level has more."""
        self._compare()
        if self.tables.are_short(self._growth.expected[0]):
            self.threads.each(self._reserve, self._distinct)
        self._growth.forget()
        self.threads.each(self._expand, self._waiting.left)
        self.threads.each(self._insert, self.boxes.total)
        return self._waiting.left > 0

    def _compare(self) -> None:
        """Load better code if it is ready; at the first call and after loading, compare code with columns on sample states.

        Errors: `EngineError` if they differ.
        """
        if self.programs.improve() or not self._compared:
            self._compared = True
            self.programs.agree(self._sample)

    def _reserve(self, worker: int) -> None:
        """Enlarge those of a worker's tables that would be too full with what the next level is expected to bring."""
        for number in range(worker, TABLES, self.threads.total):
            self.tables.reserve(number, *self._growth.expected)

    def _expand(self, worker: int) -> None:
        while not self.boxes.is_full(worker) and not self.threads.are_stopped:
            chunk = self._waiting.take()
            if chunk is None:
                return
            if self.decided is not None:
                chunk = np.ascontiguousarray(chunk[~self.decided[self.configurations.of(chunk.T)]])
            self.boxes.expand(worker, chunk)

    def _insert(self, worker: int) -> None:
        for sender in range(self.threads.total):
            self._absorb(worker, *self.boxes.empty(sender, worker))

    def _absorb(self, worker: int, box: Rows, count: int) -> None:
        if count:
            new = self.tables.absorb(box, count, min(self._level, DEEP), self._pieces[worker].room(count))
            if new:
                self._fresh[worker].append(self._pieces[worker].take(new))

    def close_level(self) -> LevelReport:
        """Check the states of the finished level, make them the frontier, and return the report."""
        self._next_level()
        if self._checks.are_none:
            report = self._checks.nothing(sum(map(len, self._frontier)))
            self._start()
            return report
        reports = [self._checks.nothing() for _ in range(self.threads.total)]
        unchecked = Shares(self._frontier, CHECKED, self._rows)

        def check(worker: int) -> None:
            while (rows := unchecked.take()) is not None:
                reports[worker] = reports[worker].merge(self._checks.of(rows))

        self.threads.each(check, unchecked.left)
        self._start()
        first, *others = reports
        for each in others:
            first = first.merge(each)
        return first

    def keep(self, location: str, depth: int) -> list[StateFile]:
        """Write the frontier, of which nothing is expanded yet, to a file of a store, and return that file in a list."""
        store, waiting = Store.attach(location), self._waiting.blocks
        blocks = [each for each in waiting if isinstance(each, Block)]
        if len(blocks) < len(waiting):
            blocks = [*self._order.run([self._rows(each) for each in waiting]).blocks()]
        self._waiting = Shares(blocks, self._chunk, self._rows)
        return [store.write_level_content(depth, [each.to_bytes() for each in blocks], self._waiting.left, ASCENDING)]

    def offload(self, location: str) -> None:
        """Empty the tables, since the store has every finished level; the frontier and what was found beyond it are kept."""
        self._stored = self._stored or StoredLevels(Store.attach(location), self._order)
        found = [block for blocks in self._fresh for block in blocks]
        self._fresh, self._pieces = [[] for _ in self._fresh], [Arena(self.system.words) for _ in self._pieces]
        self._stored.adopt(found, self._level)
        half = int(self.tables.descriptions[:, K].min()) - 1
        self.tables = StateTables(Layout.of(self.system), self.programs.functions, half)
        self._deep = {}
        give_back()

    def restore(self, store: Store, level: Level) -> None:
        """Insert a stored level as the frontier, after all before it; add what the search that stored it counted for it."""
        self._base = (self._base[0] + level.generated, self._base[1] + Counter(level.fired))
        blocks, room = [store.read_packed(file).T for file in level.files], self.boxes.capacity
        if self._stored is None:
            self._take_in(rows[at : at + room] for rows in blocks for at in range(0, len(rows), room))
            self._next_level()
        else:
            self._advance([*self._order.run(blocks).blocks()])
            self._stored.hold_until(self._level)
        self._start()

    def forget(self, decided: NDArray[np.bool_]) -> None:
        """From now on expand no state of a configuration that is True in `decided`."""
        self.decided = decided if decided.any() else None

    def parents(self, targets: Sequence[Words], depth: int) -> dict[Words, tuple[Words, int]]:
        """Return for each target its smallest predecessor among the states of level `depth`, and the lowest step from that one.

        Errors: `EngineError` for a target without one.
        """
        least: dict[Words, tuple[Words, int]] = {}
        for block in self._states_of(depth):
            for rows in (block[start : start + CHUNK] for start in range(0, len(block), CHUNK)):
                after, origins = self.programs.successors(rows)
                note_parents(least, targets, rows, after, origins)
        return require_predecessors(targets, least)

    def _states_of(self, depth: int) -> Iterable[Rows]:
        if self._stored is not None:
            return self._stored.states_of(depth)
        if depth >= DEEP:
            return self._deep[depth]
        return (self.tables.collect(number, depth) for number in range(TABLES))

    def counts(self) -> tuple[int, int, int, Counter[str]]:
        """Return how many states are generated, distinct and waiting, and how often each action fired."""
        (generated, before), fired = self._base, self.boxes.count_fired()
        distinct = len(self.tables) if self._stored is None else self._distinct
        return generated + fired.total(), distinct, self._waiting.left, Counter(before) + fired

    def close(self) -> None:
        self.threads.end()
        self.programs.close()
