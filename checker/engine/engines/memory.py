"""The memory engine: level-synchronous exploration, by columns in this process and compiled, over all cores, once it pays.

A level's set of states does not depend on the number of workers, and everything reported is a function of
those sets: counts, depth, the counterexample (the smallest violating state of the first level that has one,
and the smallest predecessor at every step back).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

from neverlost.checker.engine.host import interrupts, scratch
from neverlost.checker.engine.host.resources import measure_memory
from neverlost.checker.engine.outcome import Outcome
from neverlost.checker.engine.search.level_report import LevelReport
from neverlost.checker.engine.search.level_search import LevelSearch
from neverlost.checker.engine.search.options import Options, Reporter
from neverlost.checker.engine.search.owned_states import OwnedStates
from neverlost.checker.engine.search.resume import describe_report, open_store, restore_report
from neverlost.checker.engine.storage.levels import Level, Store
from neverlost.model.system import System
from neverlost.specs.property import Property

WORTH_COMPILING = 60_000
"""States known from which machine code beats columns, its compilation included."""

SMALL = 15_000
"""A search that is limited to fewer states than these ends before machine code would have paid."""

WORTH_EMPTYING = 1 << 14
"""Tables with more states than this may be emptied within a level, where memory is limited."""


def explore(
    system: System, properties: Sequence[Property] = (), options: Options | None = None, reporter: Reporter | None = None
) -> Outcome:
    """Explore reachable states, as far as the options say, in memory; return the verdicts and what was counted."""
    asked = options or Options()
    with ExitStack() as stack:
        place = asked.state_dir
        if place is None and asked.limits.memory_bytes is not None:
            place = stack.enter_context(scratch.hold_folder("levels"))
        return MemorySearch(system, tuple(properties), asked, reporter, place).run()


class MemorySearch(LevelSearch):
    """The search in memory; with a store, every level is written there, and old ones may be there only."""

    def __init__(
        self,
        system: System,
        properties: tuple[Property, ...],
        options: Options,
        reporter: Reporter | None,
        place: Path | str | None,
    ) -> None:
        super().__init__(system, properties, options, reporter)
        self.workers: OwnedStates | Any
        self.store = open_store(place, system, properties, options) if place is not None else None
        self._kept = (0, Counter[str]())
        self._may_compile = options.machine_code and (options.limits.states or SMALL) >= SMALL

    def _seed(self) -> None:
        levels = self.store.levels() if self.store is not None and self.options.resume else []
        if self.store is not None:
            self.store.discard_uncommitted(levels)
        if self.store is None or not levels:
            super()._seed()
            return
        for level in levels:
            self.workers.restore(self.store, level)
            self.store.forget()
            self._add(restore_report(level, self.properties))
            self._relieve()
            if isinstance(self.workers, OwnedStates):
                self._compile(self.workers)
        generated, _, _, fired = self.workers.counts()
        self._kept = (generated, Counter(fired))
        self._report_progress()

    def _close(self) -> LevelReport:
        report = super()._close()
        if self.store is not None:
            self._commit(self.store, report)
            self._relieve(0.6)
        return report

    def _commit(self, store: Store, report: LevelReport) -> None:
        level = self._level_of(report)
        files = self.workers.keep(store.files.location, level.depth) if report.new else []
        store.commit(replace(level, files=tuple(each for each in files if each.rows)))

    def _level_of(self, report: LevelReport) -> Level:
        """Return the manifest entry of the closed level, without its files, with what was counted since the last call."""
        generated, _, _, fired = self.workers.counts()
        before, self._kept = self._kept, (generated, Counter(fired))
        return Level(
            depth=self.levels - 1 if report.new else self.levels,
            files=(),
            generated=generated - before[0],
            fired=dict(sorted((fired - before[1]).items())),
            **describe_report(report, self.properties),
        )

    def _relieve(self, most: float = 0.5) -> None:
        """Move a compiled search's visited states to the store if more than the part `most` of the memory limit is used."""
        limit = self.options.limits.memory_bytes
        if isinstance(self.workers, OwnedStates) or self.store is None or limit is None:
            return
        if measure_memory() > most * limit:
            self.workers.offload(self.store.files.location)

    def _limit(self) -> str | None:
        if isinstance(self.workers, OwnedStates):
            return super()._limit()
        programs, limits = self.workers.programs, self.options.limits
        if len(self.workers.tables) > WORTH_EMPTYING:
            self._relieve(0.5 if programs.is_compiling else 0.75)
        if limits.memory_bytes is not None and measure_memory() > limits.memory_bytes:
            programs.close()  # what code there is goes on alone
        reason = super()._limit()
        if reason == limits.too_little_memory and len(self.workers.tables) <= WORTH_EMPTYING:
            return f"{reason}: with hardly a state in its tables this search takes {measure_memory()} bytes"
        return reason

    def _share(self) -> None:
        """Continue by compiled code once the search is large enough."""
        if isinstance(self.workers, OwnedStates):
            self._compile(self.workers)

    def _compile(self, local: OwnedStates) -> None:
        """Continue by compiled code if there is a compiler and the search is large enough."""
        if not self._may_compile or local.known < WORTH_COMPILING:
            return
        with interrupts.delay_interrupts():
            try:
                from neverlost.checker.engine.compiled import compiled_search as team
                from neverlost.checker.engine.compiled import programs

                compiled = programs.Programs(self.system, self.properties, local.symmetry)
            except (ImportError, OSError, RuntimeError):
                self._may_compile = False
                return
            workers = team.CompiledSearch(local, compiled, self.processes, self.options.limits.memory_bytes is not None)
            workers.continue_from(local)
            self.workers = workers
