"""The search whose states Spark's tasks hold in memory: it begins in this process, and a team of tasks continues it."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from neverlost.checker.engine.disk.on_disk_search import SIGHT
from neverlost.checker.engine.engines.memory import MemorySearch
from neverlost.checker.engine.host import interrupts
from neverlost.checker.engine.host.processes import INTERRUPTED
from neverlost.checker.engine.host.resources import ResourceExhausted, used_memory
from neverlost.checker.engine.outcome import JobsDone, Outcome
from neverlost.checker.engine.search.level_report import LevelReport
from neverlost.checker.engine.search.level_search import LevelSearch
from neverlost.checker.engine.search.options import Options, Reporter, SearchProgress
from neverlost.checker.engine.search.workers import Local
from neverlost.checker.engine.spark.worker_pool import Team
from neverlost.checker.engine.storage.levels import Level, Store
from neverlost.model.system import System
from neverlost.specs.property import Property

KEPT_EVERY = 300.0
"""Seconds of a search that are lost at most where a task is: levels are written as often, if they are not kept anyway."""


class InMemoryShardSearch(MemorySearch):
    """A search whose states move from this process to Spark's executors, or on to files; `moved` says why to files."""

    def __init__(
        self,
        system: System,
        properties: tuple[Property, ...],
        options: Options,
        reporter: Reporter | None,
        place: str,
        team: Team,
        tuning: Mapping[str, int],
    ) -> None:
        super().__init__(system, properties, options, reporter, place)
        self.team, self.narrow = team, tuning["neverlost.driver.states"]
        self.moved: str | None = None
        self.done = JobsDone(team.jobs.master)
        self._pending: list[Level] = []
        self._written_at = time.monotonic()

    def attempt(self) -> Outcome | None:
        """Return the outcome; None if the search must continue in files from the levels that are stored."""
        try:
            return self._ended()
        except KeyboardInterrupt:
            self.reason = INTERRUPTED
            return self._outcome()
        except ResourceExhausted as problem:
            self.moved, self.reason = self.team.lost, str(problem)
            return None if self.moved else self._outcome()
        finally:
            self.workers.close()
            self.team.close()

    def _ended(self) -> Outcome | None:
        self._go()
        if self.reason == INTERRUPTED:
            return self._outcome()
        self.moved = self.moved or self.team.lost
        found = None if self.moved else self._outcome()
        self.moved = self.moved or self.team.lost  # while it looked back
        if self.moved is None or self.reason == INTERRUPTED:
            return found
        if self.team.lost is None:
            self._write(self._pending)
        return None

    def _limit(self) -> str | None:
        limit = self.options.limits.memory_bytes
        if self.moved is None and self.workers is self.team and self.team.is_full:
            self.moved = "tasks hold as many states as they may"
        if self.moved is None and limit is not None and used_memory() > limit // 2:
            self.moved = "half of the memory limit is used"
        return self.moved or LevelSearch._limit(self)

    def _relieve(self, most: float = 0.5) -> None:
        """Do nothing: this search moves to files instead of emptying its tables."""

    def _share(self) -> None:
        if self.workers is self.team:
            return
        super()._share()
        waiting = self._waiting()
        if waiting * self._growth() ** SIGHT > self.narrow:
            self.team.prepare()
        if waiting <= self.narrow:
            return
        self.team.prepare()
        if self.narrow == 0:
            self.team.wait()
        if self.team.is_settled:
            self._hand_over()

    def _growth(self) -> float:
        sizes = [distinct for _, distinct in self.growth[-3:]]
        return (sizes[2] - sizes[1]) / (sizes[1] - sizes[0]) if len(sizes) == 3 else 1.0

    def _hand_over(self) -> None:
        """Let the team go on; this process goes on to ask, and keeps no states.

        Errors: `InputError` where Spark cannot be started.
        """
        if self.team.wrong is not None:
            raise self.team.wrong
        self.moved = self.team.problem
        if isinstance(self.workers, Local) and not self._compile(self.workers.owned, at_once=True):
            self.moved = "there is no machine code here"
        if self.moved:
            return
        native: Any = self.workers
        if not native.holds_every_level:
            self.moved = "some levels are in files already"
            return
        with interrupts.later():
            self.team.expect(native)
            self.workers, self.done = self.team, replace(self.done, jobs=1)
            self.team.continue_from(native, self.levels)
        self._report_events()
        self._say(f"from level {self.levels} on {len(self.team)} tasks hold the states")

    def _close(self) -> LevelReport:
        report = super()._close()
        if self.workers is self.team:
            depth = self.levels - 1 if report.new else self.levels
            self.done = replace(self.done, levels=(*self.done.levels, depth), states=self.done.states + report.new)
        return report

    def _report_progress(self) -> None:
        super()._report_progress()
        self._report_events()

    def _report_events(self) -> None:
        for note in self.team.jobs.events():
            self._say(note)

    def _say(self, note: str) -> None:
        if self.reporter is not None:
            generated, distinct, waiting, _ = self.workers.counts()
            self.reporter(
                SearchProgress(self.levels, waiting, generated, distinct, time.monotonic() - self.started, 0, note=note)
            )

    def _commit(self, store: Store, report: LevelReport) -> None:
        """Store the level if levels are stored; otherwise store, from time to time, all that are not."""
        self._pending.append(self._level_of(report))
        if self.options.state_dir is not None or time.monotonic() - self._written_at > KEPT_EVERY:
            self._write(self._pending)
            self._written_at = time.monotonic()

    def _write(self, levels: list[Level]) -> None:
        """Store levels that are in memory."""
        assert self.store is not None
        workers: Any = self.workers
        depths = [each.depth for each in levels if each.depth < self.levels]
        place = self.store.files.location
        kept = [workers.keep(place, *depths)] if depths == [self.levels - 1] else workers.keep_levels(place, depths)
        written = dict(zip(depths, kept, strict=True))
        while levels:
            files = tuple(each for each in written.get(levels[0].depth, ()) if each.rows)
            self.store.commit(replace(levels.pop(0), files=files))
