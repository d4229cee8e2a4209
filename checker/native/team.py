"""The workers of a search in machine code: threads that share memory, each with tables of its own.

A round has two halves.  First every worker expands parts of the frontier and puts the successors, mixed, into a box for
the worker that owns their table; then every worker inserts what its boxes hold.  Calls into machine code let the other
threads run, nothing is locked, and the set of states of a level does not depend on who expanded what.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from functools import partial

import numpy as np
from numpy.typing import NDArray

from neverlost.checker.machine import interrupts
from neverlost.checker.machine.resources import give_back
from neverlost.checker.native.ascending import Ascending, Known
from neverlost.checker.native.programs import SAMPLE, Programs
from neverlost.checker.native.state_tables import Pieces, StateTables, cleared_rows, none_passed_on
from neverlost.checker.native.table_text import TABLES, K, Layout
from neverlost.checker.search.level_report import LevelReport
from neverlost.checker.search.owned_states import OwnedStates
from neverlost.checker.search.workers import best
from neverlost.checker.storage.compact import Block, Run
from neverlost.checker.storage.levels import ASCENDING, Level, StateFile, Store
from neverlost.model.interpreters.machine_code import Rows, left_its_bounds
from neverlost.model.system import Words

ROOM = 1 << 18
"""States in the boxes that one worker fills that end its half of a round, about."""

CHUNK = 1 << 12
"""States that are expanded at once, shared by the workers: the successors stay in the cache."""

APART = 16
"""Numbers that keep what one worker counts away from what another does, in the cache."""

CHECKED = 1 << 16
"""States that are checked at once."""

FEW = 1 << 10
"""States that one thread expands, inserts and checks sooner than several have begun."""

HORIZON = 3
"""Levels ahead for which tables get room at once: each time, every state in them moves."""

GENEROUS = 1 << 31
"""Bytes; larger tables get room for one level only.  With a limit of memory, tables grow only when they are full."""

DEEP = 255
"""Levels from this one on are kept as rows: entries do not count further."""


class Native:
    """A team of threads that continues from what one worker has found so far."""

    def __init__(self, local: OwnedStates, programs: Programs, workers: int, is_limited: bool = False) -> None:
        self.system, self.properties, self.configurations = local.system, local.properties, local.configurations
        self.programs = programs
        self.total = min(workers, TABLES)
        self.layout = Layout.of(self.system)
        self.tables = StateTables(self.layout, programs.functions)
        self._order = Ascending(programs.functions, self.system.words, self.total)
        self._pool = ThreadPoolExecutor(self.total) if self.total > 1 else None
        self._stopped = threading.Event()
        steps, words, threads = len(self.system.steps), self.system.words, range(self.total)
        self._chunk, self._room = max(16, CHUNK // self.total), max(1 << 12, ROOM // self.total)
        most = self._chunk * steps
        self._after = [cleared_rows(most, words) for _ in threads]
        self._origins = [cleared_rows(most, 1) for _ in threads]
        self._boxes = [[cleared_rows(self._room + most, words) for _ in threads] for _ in threads]
        self._pieces = [Pieces(words) for _ in threads]
        self._places = [np.array([box.ctypes.data for box in boxes], np.uint64) for boxes in self._boxes]
        self._filled = np.zeros((self.total, max(self.total, APART)), np.int64)
        self._owners = np.arange(TABLES, dtype=np.int64) % self.total
        self._fired = np.zeros((self.total, steps), np.int64)
        self._latest = [none_passed_on(words) for _ in threads]
        self._base = (local.expansion.generated, local.expansion.fired)
        self._level = 0
        self._deep: dict[int, list[Rows]] = {}
        self._distinct = 0
        self._growth: list[int] = []
        self._expected = (0, 0)
        self._is_limited = is_limited
        self._store: Store | None = None
        self._until = 0
        self._looks: dict[str, Known] = {}
        self._runs: list[Run] = []
        self.decided: NDArray[np.bool_] | None = local.expansion.decided
        self._frontier: Sequence[Rows | Block] = []
        self._fresh: list[list[Rows]] = [[] for _ in range(self.total)]
        self._waiting = Shares([], self._chunk, self._rows)
        self._compared = False
        self._continue_from(local)

    def _continue_from(self, local: OwnedStates) -> None:
        for start, end in zip(local.bounds, local.bounds[1:], strict=False):
            self._take_in(local.states.slice(first, min(first + self._room, end)).T for first in range(start, end, self._room))
            self._next_level()
        self._start()

    def _take_in(self, blocks: Iterable[Rows]) -> None:
        """Insert states of which this worker has room for each block."""
        for block in blocks:
            rows = np.ascontiguousarray(block)
            self._scatter(0, rows, len(rows))
            self._each(self._insert, len(rows))

    def _next_level(self) -> None:
        """What was inserted since the last level is one, without what was visited before the tables were emptied."""
        found = [block for blocks in self._fresh for block in blocks]
        self._fresh = [[] for _ in range(self.total)]
        if self._store is None:
            if self._level >= DEEP:
                self._deep[self._level] = found
            self._advance(found)
            return
        runs, self._runs = [*self._runs, self._order.run(found)], []
        files = [file for level in self._store.levels()[: self._until] for file in level.files]
        self._advance([*self._order.united(runs, [self._looked_up(self._store, file) for file in files]).blocks()])
        self._store.rest()
        give_back()

    def _advance(self, states: Sequence[Rows | Block]) -> None:
        """These are the next level."""
        self._frontier = states
        new = sum(map(len, states))
        self._growth = [*self._growth[-2:], new]
        soon, later = expected(self._growth)
        self._expected = (0, 0) if self._is_limited else (soon, later if self.tables.bytes < GENEROUS else soon)
        self._distinct += new
        self._level += 1

    def _start(self) -> None:
        """Make the newest level the frontier; what is expanded of it is let go."""
        starts = [self._rows(block)[:SAMPLE] for block in self._frontier[:SAMPLE]]
        self._sample = np.concatenate([np.empty((0, self.system.words), np.uint64), *starts])[:SAMPLE].copy()
        self._waiting, self._frontier = Shares(self._frontier, self._chunk, self._rows), []

    def _rows(self, block: Rows | Block) -> Rows:
        return self._order.joined(block) if isinstance(block, Block) else block

    def _each(self, work: Callable[[int], None], states: int) -> None:
        """Do something with every worker, to the end even where an interrupt comes; it concerns so many states in all."""
        with interrupts.later():
            if self._pool is None or states <= FEW:
                for worker in range(self.total):
                    work(worker)
                return
            running = [self._pool.submit(work, worker) for worker in range(self.total)]
            try:
                wait(running)
            except BaseException:
                self._stopped.set()
                wait(running)
                raise
        for each in running:
            each.result()

    def round(self) -> bool:
        """Expand parts of the frontier and insert their successors; whether there is more of this level."""
        if self.programs.improve() or not self._compared:
            self._compared = True
            self.programs.agree(self._sample)
        if self.tables.are_short(self._expected[0]):
            self._each(self._reserve, self._distinct)
        self._expected = (0, 0)
        self._each(self._expand, self._waiting.left)
        self._each(self._insert, int(self._filled.sum()))
        return self._waiting.left > 0

    def _reserve(self, owner: int) -> None:
        """Make room for what the level will bring, rather than again and again while it comes."""
        for number in range(owner, TABLES, self.total):
            self.tables.reserve(number, *self._expected)

    def _expand(self, worker: int) -> None:
        expand = self.programs.functions["expand"]
        after = self._after[worker]
        places = [after.ctypes.data, self._origins[worker].ctypes.data, self._fired[worker].ctypes.data]
        while self._filled[worker].max() < self._room and not self._stopped.is_set():
            chunk = self._waiting.take()
            if chunk is None:
                return
            if self.decided is not None:
                chunk = np.ascontiguousarray(chunk[~self.decided[self.configurations.of(chunk.T)]])
            count = expand(chunk.ctypes.data, len(chunk), *places)
            if count < 0:
                raise left_its_bounds(self.system, chunk, count)
            self.programs.identify(after, count)
            self._scatter(worker, after, count)

    def _scatter(self, worker: int, rows: Rows, count: int) -> None:
        arrays = self._owners, self._places[worker], self._filled[worker], self._latest[worker]
        places = [each.ctypes.data for each in arrays]
        self.programs.functions["scatter"](rows.ctypes.data, count, *places)

    def _insert(self, owner: int) -> None:
        for sender in range(self.total):
            self._absorb(owner, self._boxes[sender][owner], int(self._filled[sender, owner]))
            self._filled[sender, owner] = 0

    def _absorb(self, owner: int, box: Rows, count: int) -> None:
        if count:
            new = self.tables.absorb(box, count, min(self._level, DEEP), self._pieces[owner].room(count))
            if new:
                self._fresh[owner].append(self._pieces[owner].take(new))

    def close_level(self) -> LevelReport:
        """Finish the level: check its states, which become the frontier."""
        self._next_level()
        if not self.properties and self.configurations.count == 1 and self.programs.symmetry is None:
            report = LevelReport(sum(map(len, self._frontier)))
            self._start()
            return report
        reports: list[LevelReport] = [LevelReport(0, by_configuration=self._no_states()) for _ in range(self.total)]
        unchecked = Shares(self._frontier, CHECKED, self._rows)

        def check(worker: int) -> None:
            while (rows := unchecked.take()) is not None:
                reports[worker] = reports[worker].merge(self._checked(rows))

        self._each(check, unchecked.left)
        self._start()
        first, *others = reports
        for each in others:
            first = first.merge(each)
        return first

    def _no_states(self) -> NDArray[np.int64] | None:
        return np.zeros(self.configurations.count, np.int64) if self.configurations.count > 1 else None

    def _checked(self, rows: Rows) -> LevelReport:
        """What some states of a new level bring."""
        report = LevelReport(len(rows), by_configuration=self._no_states())
        if self.programs.symmetry is not None:
            report.orbits = self.programs.identify(rows, len(rows))
        cells = self.configurations.of(rows.T) if self.configurations.count > 1 else None
        if cells is not None:
            report.by_configuration = np.bincount(cells, minlength=self.configurations.count)
        broken = np.empty(len(rows), np.uint64)
        if not self.properties or not self.programs.functions["judge"](rows.ctypes.data, len(rows), broken.ctypes.data):
            return report
        bad = np.flatnonzero(broken)
        bad = bad[np.lexsort(rows[bad].T[::-1])]
        for row in bad.tolist():
            words = tuple(rows[row].tolist())
            for number in range(len(self.properties)):
                if int(broken[row]) >> number & 1:
                    report.violations.setdefault((number, 0 if cells is None else int(cells[row])), words)
        return report

    def keep(self, location: str, depth: int) -> list[StateFile]:
        """Write the frontier, of which nothing is expanded yet, to a store."""
        store, waiting = Store.attach(location), self._waiting.blocks
        blocks = [each for each in waiting if isinstance(each, Block)]
        if len(blocks) < len(waiting):
            blocks = [*self._order.run([self._rows(each) for each in waiting]).blocks()]
        self._waiting = Shares(blocks, self._chunk, self._rows)
        return [store.write_level_content(depth, [each.stored() for each in blocks], self._waiting.left, ASCENDING)]

    def keep_levels(self, location: str, depths: Sequence[int]) -> list[list[StateFile]]:
        """Write levels that are in memory to a store."""
        return [[self._written(Store.attach(location), depth)] for depth in depths]

    def _written(self, store: Store, depth: int) -> StateFile:
        run = self._order.run([self._rows(block) for block in self._states_of(depth)])
        return store.write_level_content(depth, [each.stored() for each in run.blocks()], len(run), ASCENDING)

    @property
    def holds_every_level(self) -> bool:
        """Whether the tables are all there is."""
        return self._store is None and not self._deep

    def offload(self, location: str) -> None:
        """Empty the tables: every level is in the store, and what this one has found is kept beside.  The frontier stays."""
        self._store = self._store or Store.attach(location)
        found = [block for blocks in self._fresh for block in blocks]
        self._fresh, self._pieces = [[] for _ in range(self.total)], [Pieces(self.system.words) for _ in range(self.total)]
        if found:
            self._runs.append(self._order.run(found))
        self._until = self._level + 1 if self._runs else self._level  # from there on the tables hold whole levels
        half = int(self.tables.descriptions[:, K].min()) - 1
        self.tables = StateTables(self.layout, self.programs.functions, half)
        self._deep = {}
        give_back()

    def _looked_up(self, store: Store, file: StateFile) -> Known:
        """How a file of a level is looked through."""
        if file.order == ASCENDING:
            return partial(store.blocks, file, self._order.joined)
        if file.name not in self._looks:
            run = self._order.run([store.packed(file).T])
            self._looks[file.name] = lambda rows: map(self._order.joined, run.about(rows))
        return self._looks[file.name]

    def restore(self, store: Store, level: Level) -> None:
        """Go on from a level that an earlier search kept."""
        self._base = (self._base[0] + level.generated, self._base[1] + Counter(level.fired))
        blocks = [store.packed(file).T for file in level.files]
        if self._store is None:
            self._take_in(rows[at : at + self._room] for rows in blocks for at in range(0, len(rows), self._room))
            self._next_level()
        else:
            self._advance([*self._order.run(blocks).blocks()])
            self._until = self._level
        self._start()

    def forget(self, decided: NDArray[np.bool_]) -> None:
        """Stop expanding these configurations."""
        self.decided = decided if decided.any() else None

    def parents(self, targets: Sequence[Words], depth: int) -> dict[Words, tuple[Words, int]]:
        """The smallest predecessor of each state in the level before it, and the lowest such step.

        Errors: `EngineError` for a target without one.
        """
        return best(targets, [self.predecessors(targets, depth)])

    def predecessors(self, targets: Sequence[Words], depth: int) -> dict[Words, tuple[Words, int]]:
        """Of each target that has one here, the smallest state of a level with a step to it, and the lowest such step."""
        wanted = np.array(targets, np.uint64)
        known = set(targets)
        least: dict[Words, tuple[Words, int]] = {}
        for block in self._states_of(depth):
            shares = Shares([block], CHUNK, self._rows)
            while (rows := shares.take()) is not None:
                after, origins = self.programs.successors(rows)
                for place in np.flatnonzero(np.isin(after[:, 0], wanted[:, 0])):
                    target = tuple(after[place].tolist())
                    if target in known:
                        origin = int(origins[place])
                        found = (tuple(rows[origin & 0xFFFFFFFF].tolist()), origin >> 32)
                        least[target] = min(least.get(target, found), found)
        return least

    def _states_of(self, depth: int) -> Iterable[Rows]:
        if self._store is not None:
            return (self._store.packed(file).T for file in self._store.levels()[depth].files)
        if depth >= DEEP:
            return self._deep[depth]
        return (self.tables.collect(number, depth) for number in range(TABLES))

    def counts(self) -> tuple[int, int, int, Counter[str]]:
        """Generated, distinct, waiting, and how often each action fired."""
        fired = Counter(self._base[1])
        for step, times in zip(self.system.steps, self._fired.sum(axis=0).tolist(), strict=True):
            if times:
                fired[step.action.name] += times
        distinct = len(self.tables) if self._store is None else self._distinct
        return self._base[0] + int(self._fired.sum()), distinct, self._waiting.left, fired

    def end_threads(self) -> None:
        """Nothing will be expanded here any more."""
        if self._pool is not None:
            self._pool.shutdown()

    def close(self) -> None:
        """End the threads, and the compiler."""
        self.end_threads()
        self.programs.close()


def expected(growth: Sequence[int]) -> tuple[int, int]:
    """About how many states the next level will bring, and the next few, from the sizes of the last three.

    It is for making room only; where it is wrong, tables grow when they are full.
    """
    if len(growth) < 3 or not all(growth):
        return 0, 0
    first, second, size = growth
    ratio = size / second
    change = min(1.0, ratio / (second / first))
    sizes = []
    for _ in range(HORIZON):
        ratio *= change
        size = int(size * ratio)
        sizes.append(size)
    return sizes[0], sum(sizes)


class Shares:
    """Blocks of states cut into chunks of rows, each of which one thread takes."""

    def __init__(self, blocks: Sequence[Rows | Block], size: int, rows: Callable[[Rows | Block], Rows]) -> None:
        self.left = sum(map(len, blocks))
        self.blocks = [*blocks]
        self._size, self._rows = size, rows
        self._chunks = self._cut()
        self._lock = threading.Lock()

    def _cut(self) -> Iterator[Rows]:
        while self.blocks:
            block = self._rows(self.blocks.pop())
            yield from (block[start : start + self._size] for start in range(0, len(block), self._size))

    def take(self) -> Rows | None:
        """The next chunk; None when there is none."""
        with self._lock:
            found = next(self._chunks, None)
            self.left -= 0 if found is None else len(found)
        return found
