"""A search whose levels live on storage: it can be resumed, and need not fit into memory.

It is the memory engine's loop with other workers: each level is expanded in slices of the frontier, whose candidates go
to the owners of their keys; these take away what was visited and write what is new.  Narrow levels are done in this
process; who does the wide ones (Spark tasks, or no others) is a matter of `Jobs`.  A level is committed from the
files that its tasks name in their results, so a task may be retried, run twice or be lost.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import nullcontext
from dataclasses import replace
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from neverlost.checker.engine.disk.level_tasks import RUNS, Counted, LevelTask, LevelWorker, SearchDescription, Settled
from neverlost.checker.engine.host import scratch
from neverlost.checker.engine.outcome import EngineError, JobsDone, Outcome
from neverlost.checker.engine.search.level_report import LevelReport
from neverlost.checker.engine.search.level_search import LevelSearch
from neverlost.checker.engine.search.options import Options, Reporter, SearchProgress
from neverlost.checker.engine.search.owned_states import require_predecessors
from neverlost.checker.engine.search.resume import describe_report, open_store, restore_report
from neverlost.checker.engine.search.symmetry import Symmetry
from neverlost.checker.engine.storage.levels import KEYED, Level, StateFile
from neverlost.checker.engine.storage.sorted_states import make_keyed, sort_distinct
from neverlost.model.interpreters.columns import pack_rows
from neverlost.model.system import System, Words
from neverlost.specs.errors import InputError
from neverlost.specs.property import Property

TUNING = {
    "neverlost.driver.states": 600_000,
    "neverlost.task.states": 1 << 20,
    "neverlost.task.candidates": 1 << 22,
    "neverlost.task.least": 1 << 14,
    "neverlost.task.columns": 60_000,
}
"""What `--spark-conf` can say about our own work: the widest level that this process does itself; the most states and
candidates of a task; the fewest states worth a task; the states from which machine code beats columns, its making included."""

SUCCESSORS = 3
"""Candidates expected per state, for choosing how many owners share a level."""
SIGHT = 3
"""How many levels ahead, at the present growth, the workers get ready: starting them for nothing costs seconds."""
RATIO = 2
"""Visited runs are merged so that each is at least this many times as long as the next one."""


class Jobs(Protocol):
    """Runs the tasks of wide levels."""

    @property
    def master(self) -> str: ...
    @property
    def parallelism(self) -> int: ...
    def prepare(self) -> None: ...
    def level(self, task: LevelTask) -> tuple[list[Settled], Counted]: ...
    def parents(self, task: LevelTask, targets: Sequence[Words]) -> dict[Words, tuple[Words, int]]: ...
    def events(self) -> list[str]: ...
    def cancel(self) -> None: ...
    def close(self) -> None: ...


Hire = Callable[[SearchDescription], Jobs]


def explore(
    system: System,
    properties: Sequence[Property] = (),
    options: Options | None = None,
    reporter: Reporter | None = None,
    hire: Hire | None = None,
) -> Outcome:
    """Explore reachable states, as far as the options say, on levels stored on disk; return the verdicts and what was counted.

    Without `hire` everything is done in this process.
    """
    asked = options or Options()
    with nullcontext(str(asked.state_dir)) if asked.state_dir else scratch.hold_folder("levels") as place:
        return _SearchOnDisk(system, tuple(properties), asked, reporter, place, hire).run()


class _SearchOnDisk(LevelSearch):
    """The level loop with workers that expand levels stored on disk."""

    def __init__(
        self,
        system: System,
        properties: tuple[Property, ...],
        options: Options,
        reporter: Reporter | None,
        place: str,
        hire: Hire | None,
    ) -> None:
        super().__init__(system, properties, options, reporter)
        self.on_disk = LevelsOnDisk(system, properties, options, place, hire)
        self.workers = self.on_disk

    def _seed(self) -> None:
        if not self.options.resume:
            self.on_disk.seed()
            self._close()
            return
        for report in self.on_disk.resume_levels():
            self._add(report)
        self._report_progress()

    def _outcome(self) -> Outcome:
        found = super()._outcome()
        return replace(found, cluster=self.on_disk.done)

    def _share(self) -> None:
        """Do nothing: levels are shared as they come."""

    def _report_progress(self) -> None:
        super()._report_progress()
        for note in self.on_disk.events():
            if self.reporter is not None:
                generated, distinct, waiting, _ = self.workers.counts()
                self.reporter(SearchProgress(self.levels, waiting, generated, distinct, 0.0, 0, note=note))


class LevelsOnDisk:
    """Searches levels that are stored on disk: narrow ones in this process, wide ones by the hired jobs, if there are any."""

    def __init__(
        self, system: System, properties: Sequence[Property], options: Options, place: str, hire: Hire | None = None
    ) -> None:
        self.system, self.properties = system, tuple(properties)
        self.tuning = parse_tuning(dict(options.spark_conf))
        self.store = open_store(place, system, self.properties, options)
        search = SearchDescription.about(self.store.files.location, system, self.properties, options.symmetry)
        self.jobs = hire(search) if hire is not None and search.homes is not None else None
        self.worker = LevelWorker(self.store, system, properties, options.symmetry)
        self.symmetry = Symmetry(system) if options.symmetry else None
        self.levels: list[Level] = []
        self.generations: list[list[StateFile]] = []
        self.total = Counted()
        self.distinct = 0
        self.decided: tuple[int, ...] = ()
        self._pool = ThreadPoolExecutor(1)
        self._running: Future[tuple[list[Settled], Counted]] | None = None
        self._task = LevelTask(0, 1)
        self.done = JobsDone(self.jobs.master) if self.jobs is not None else None

    def seed(self) -> None:
        """Write the initial states, which `close_level` commits as level 0."""
        states = sorted({state for _, state in self.system.initial_states()})
        packed = pack_rows(self.system, states)
        first = sort_distinct(make_keyed(self.symmetry.canonical(packed) if self.symmetry else packed))
        self._running = Future()
        self._running.set_result(([self.worker.settle(self._task, 0, [first])], Counted(len(states))))

    def resume_levels(self) -> Iterator[LevelReport]:
        """Delete what is uncommitted; yield the reports of committed levels.  Without any, commit the initial states first."""
        self.levels = self.store.levels()
        if not self.levels:
            self.store.discard_uncommitted([])
            self.seed()
            yield self.close_level()
            return
        self.store.discard_uncommitted(self.levels)
        for level in self.levels:
            self.total.add(Counted(level.generated, Counter(level.fired)))
            self.distinct += level.rows
            yield restore_report(level, self.properties)
        self.generations = self._list_visited(self.levels)

    def _list_visited(self, levels: Sequence[Level]) -> list[list[StateFile]]:
        """Return the last manifest's generations of visited runs.  If it lists none, each level is one; files of levels that
        are not in the order of keys are written anew in that order."""
        runs, grouped = list(levels[-1].runs), levels[-1].facts.get("generations")
        if grouped is not None:
            return [[runs.pop(0) for _ in range(length)] for length in grouped]
        return [[self._write_keyed(file) for file in level.files] for level in levels if level.files]

    def _write_keyed(self, file: StateFile) -> StateFile:
        if file.order == KEYED:
            return file
        return self.store.write(sort_distinct(make_keyed(self.store.read(file))), RUNS)

    @property
    def frontier(self) -> tuple[StateFile, ...]:
        """The files of the last level."""
        return self.levels[-1].files

    def expand(self) -> bool:
        """Expand the level, or wait a second at most for the jobs that do; return True if they have not ended."""
        if self._running is None:
            self._task = self._plan_task()
            waiting = sum(file.rows for file in self.frontier)
            self._prepare(waiting)
            if self.jobs is None or waiting <= self.tuning["neverlost.driver.states"]:
                self._running = Future()
                self._running.set_result(self._settle_here(replace(self._task, parts=1)))
                return False
            self._running = self._pool.submit(self.jobs.level, self._task)
            self._count_job(len(self.levels))
        try:
            self._running.result(timeout=1)
        except TimeoutError:
            return True
        return False

    def _count_job(self, *levels: int) -> None:
        if self.done is not None:
            self.done = replace(self.done, jobs=self.done.jobs + 1, levels=(*self.done.levels, *levels))

    def _prepare(self, waiting: int) -> None:
        """Start the executors while levels are still narrow, if growth will soon make them wide."""
        before = self.levels[-2].rows if len(self.levels) > 1 else waiting
        expected = waiting * (waiting / max(before, 1)) ** SIGHT
        if self.jobs is not None and expected > self.tuning["neverlost.driver.states"]:
            self.jobs.prepare()

    def _settle_here(self, task: LevelTask) -> tuple[list[Settled], Counted]:
        counted = Counted()
        candidates = list(self.worker.candidates(task, task.slices, counted))
        return [self.worker.settle(task, 0, candidates)], counted

    def _plan_task(self) -> LevelTask:
        rows = sum(file.rows for file in self.frontier)
        merging = self._choose_merging(rows)
        cores = self.jobs.parallelism if self.jobs and rows > self.tuning["neverlost.driver.states"] else 1
        least, most = self.tuning["neverlost.task.least"], self.tuning["neverlost.task.states"]
        tasks = max(min(cores, -(-rows // least)), -(-rows // most))
        work = rows * SUCCESSORS + sum(file.rows for file in merging)
        owners = max(min(cores, -(-rows // least)), -(-work // self.tuning["neverlost.task.candidates"]))
        return LevelTask(
            depth=len(self.levels),
            parts=1 << (owners - 1).bit_length(),
            slices=tuple(_slice_files(self.frontier, -(-rows // tasks) if tasks else 1)),
            runs=tuple(file for generation in self.generations for file in generation),
            merging=tuple(file.name for file in merging),
            decided=self.decided,
            candidates=self.tuning["neverlost.task.candidates"],
            columns=self.tuning["neverlost.task.columns"],
        )

    def _choose_merging(self, expected: int) -> list[StateFile]:
        """Return the runs to merge next: the newest generations, while each has fewer rows than `RATIO` times the sum of
        `expected` and the rows of all newer generations."""
        chosen: list[StateFile] = []
        for generation in reversed(self.generations):
            rows = sum(file.rows for file in generation)
            if rows >= RATIO * expected:
                break
            expected += rows
            chosen += generation
        return chosen

    def close_level(self) -> LevelReport:
        """Commit the level and return its report.  Errors: `EngineError` where it was not worked on."""
        if self._running is None:
            raise EngineError("a level is closed before it was worked on")
        found, counted = self._running.result()
        self._running = None
        files = tuple(each.file for each in found if each.file)
        generations = self._list_generations(found) if files else []  # nothing will be looked up after the last level
        report = _merge_reports(found)
        about = describe_report(report, self.properties)
        level = Level(
            depth=len(self.levels),
            files=files,
            generated=counted.generated,
            fired=dict(sorted(counted.fired.items())),
            violations=about["violations"],
            runs=tuple(file for generation in generations for file in generation),
            facts=about["facts"] | {"generations": [len(generation) for generation in generations]},
        )
        self.store.commit(level)
        self._remove_runs(level, [each.run for each in found if each.run])
        self.generations = generations
        self.levels.append(level)
        if self.done is not None and level.depth in self.done.levels:
            self.done = replace(self.done, states=self.done.states + level.rows)
        if level.is_last:
            self.store.discard_uncommitted(self.levels)
        self.total.add(counted)
        self.distinct += level.rows
        return report

    def _list_generations(self, found: Sequence[Settled]) -> list[list[StateFile]]:
        merged_away = set(self._task.merging)
        kept = [generation for generation in self.generations if not merged_away & {file.name for file in generation}]
        newest = [each.run if merged_away else each.file for each in found]
        return [*kept, *([[file for file in newest if file]] if any(newest) else [])]

    def _remove_runs(self, level: Level, written: Iterable[StateFile]) -> None:
        """Delete the runs, of those written now and of the last two levels, that no task may still need: at the end, all."""
        kept = (level, *self.levels[-1:]) if level.rows else ()
        needed = {file.name for each in kept for file in each.runs}
        known = [*written, *(file for each in self.levels[-2:] for file in each.runs)]
        self.store.files.remove(file.name for file in known if file.name.startswith(f"{RUNS}/") and file.name not in needed)

    def forget(self, decided: NDArray[np.bool_]) -> None:
        """From now on expand no state of a configuration that is True in `decided`."""
        self.decided = tuple(int(each) for each in np.flatnonzero(decided))

    def parents(self, targets: Sequence[Words], depth: int) -> dict[Words, tuple[Words, int]]:
        """Return, for each target, the smallest predecessor in level `depth` and the lowest step from it.

        Errors: `EngineError` when a target has none.
        """
        files = self.levels[depth].files
        rows = sum(file.rows for file in files)
        if self.jobs is None or rows <= self.tuning["neverlost.driver.states"]:
            found = self.worker.parents(_slice_files(files, rows), targets)
        else:
            self._count_job()
            tasks = max(self.jobs.parallelism, -(-rows // self.tuning["neverlost.task.states"]))
            found = self.jobs.parents(LevelTask(depth, 1, tuple(_slice_files(files, -(-rows // tasks)))), targets)
        return require_predecessors(targets, found)

    def counts(self) -> tuple[int, int, int, Counter[str]]:
        """Return how many states are generated, distinct and waiting, and how often each action fired."""
        waiting = self.levels[-1].rows if self.levels else 0
        return self.total.generated, self.distinct, waiting, self.total.fired

    def events(self) -> list[str]:
        """Return what happened since the last call that a person may want to know."""
        return self.jobs.events() if self.jobs is not None else []

    def close(self) -> None:
        """Stop what is running and let the workers go."""
        if self._running is not None and self.jobs is not None:
            self.jobs.cancel()
        self._pool.shutdown(wait=True)
        self.worker.close()
        if self.jobs is not None:
            self.jobs.close()


def _merge_reports(found: Sequence[Settled]) -> LevelReport:
    report = LevelReport(0)
    for each in found:
        report.new += each.file.rows if each.file else 0
        report.orbits += each.orbits
        for number, home, words in each.violations:
            report.note((number, home), words)
    homes = [each.by_configuration for each in found if each.by_configuration]
    report.by_configuration = np.sum(homes, axis=0) if homes else None
    return report


def _slice_files(files: Iterable[StateFile], most: int) -> Iterator[tuple[StateFile, int, int]]:
    """Yield slices of at most `most` states: the file, the number of the first state, and that after the last."""
    for file in files:
        for start in range(0, file.rows, most):
            yield file, start, min(start + most, file.rows)


def parse_tuning(conf: Mapping[str, str]) -> dict[str, int]:
    """Return `TUNING` with the values that `conf` has for names that begin with `neverlost.`; other names are passed over.

    0 becomes 1, except for `neverlost.driver.states`.  Errors: `InputError` for an unknown name or a bad value.
    """
    found = dict(TUNING)
    for name, value in conf.items():
        if not name.startswith("neverlost."):
            continue
        if name not in TUNING:
            raise InputError(f"unknown setting {name!r} in --spark-conf; available: {', '.join(sorted(TUNING))}")
        if not value.isdecimal():
            raise InputError(f"bad value {value!r} for {name} in --spark-conf: use a whole number")
        found[name] = max(int(value), 0 if name == "neverlost.driver.states" else 1)
    return found
