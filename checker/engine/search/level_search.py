"""The level-synchronous loop, once; an engine is the workers that answer it."""

from __future__ import annotations

import os
import time
from collections import Counter
from collections.abc import Sequence
from functools import cached_property
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from neverlost.checker.engine.host.processes import INTERRUPTED
from neverlost.checker.engine.host.resources import (
    OUT_OF_MEMORY,
    classify_exhaustion,
    measure_free_memory,
    measure_memory,
    peak_memory,
)
from neverlost.checker.engine.outcome import Behaviour, Counts, EngineError, Finding, Outcome, Verdict, replay
from neverlost.checker.engine.reached_states_system import pack_initial_states
from neverlost.checker.engine.search.level_report import LevelReport, Violations
from neverlost.checker.engine.search.options import Options, Reporter, SearchProgress
from neverlost.checker.engine.search.owned_states import OwnedStates
from neverlost.checker.engine.search.symmetry import Renaming
from neverlost.model.system import System, Words
from neverlost.specs.property import Property

MOST_OF_MEMORY = 0.75
"""The part of the memory free at the start that a search without a limit may use: the system kills who uses all of it."""


class Workers(Protocol):
    """What a search calls on its workers."""

    def expand(self) -> bool: ...
    def close_level(self) -> LevelReport: ...
    def forget(self, decided: NDArray[np.bool_]) -> None: ...
    def parents(self, targets: Sequence[Words], depth: int) -> dict[Words, tuple[Words, int]]: ...
    def counts(self) -> tuple[int, int, int, Counter[str]]: ...
    def close(self) -> None: ...


class LevelSearch:
    """A search level by level until all is decided or a limit ends it; the workers of an engine expand the levels."""

    def __init__(self, system: System, properties: tuple[Property, ...], options: Options, reporter: Reporter | None) -> None:
        self.system, self.properties, self.options, self.reporter = system, properties, options, reporter
        self.started = time.monotonic()
        self.processes = options.workers or os.cpu_count() or 1
        self.workers: Workers = OwnedStates(system, properties, options.symmetry)
        self.found: dict[tuple[int, int], tuple[int, Words]] = {}
        self.levels = 0
        self.orbits = 0
        self.growth: list[tuple[int, int]] = []
        self.by_configuration = np.zeros(len(system.configurations), np.int64)
        self.reason: str | None = None
        self._parents: dict[tuple[Words, int], tuple[Words, int]] = {}
        self.peak = 0

    def run(self) -> Outcome:
        try:
            self._go()
            return self._outcome()
        finally:
            self.workers.close()

    def _go(self) -> None:
        """Search until everything is decided or a limit, an interrupt or exhaustion ends it, as `reason` then says."""
        try:
            self._seed()
            while self._level():
                pass
        except KeyboardInterrupt:
            self.reason = INTERRUPTED
        except Exception as problem:
            self.reason = classify_exhaustion(problem)

    def _seed(self) -> None:
        packed = pack_initial_states(self.system)
        owned = self.workers
        if not isinstance(owned, OwnedStates):
            raise EngineError("a search starts in one process")
        owned.absorb(owned.symmetry.canonical(packed) if owned.symmetry else packed)
        owned.expansion.generated = packed.shape[1]
        self._close()

    def _close(self) -> LevelReport:
        report = self.workers.close_level()
        self._add(report)
        self._report_progress()
        return report

    def _add(self, report: LevelReport) -> None:
        if report.new:
            self.levels += 1
            generated, distinct, _, _ = self.workers.counts()
            self.growth.append((generated, distinct))
        self.orbits += report.orbits
        if report.by_configuration is not None:
            self.by_configuration += report.by_configuration
        self._note(report.violations)

    def _note(self, violations: Violations) -> None:
        for key, words in violations.items():
            self.found.setdefault(key, (self.levels - 1, words))
        if violations and self.options.every_configuration and not self.options.keep_going:
            counts = np.bincount([cell for _, cell in self.found], minlength=len(self.system.configurations))
            self.workers.forget(counts == len(self.properties))

    def _level(self) -> bool:
        """Expand the frontier unless all is decided or a limit is reached; return True if there is another frontier."""
        if self._is_decided():
            return False
        if not self._waiting():
            return False
        self._share()
        while True:
            self.reason = self._limit()
            if self.reason:
                return False
            if not self.workers.expand():
                return self._close().new > 0
            self._report_progress()

    def _waiting(self) -> int:
        return self.workers.counts()[2]

    def _is_decided(self) -> bool:
        if not self.found or self.options.keep_going:
            return False
        wanted = len(self.properties) * len(self.system.configurations)
        return not self.options.every_configuration or len(self.found) == wanted

    def _share(self) -> None:
        """Hook: called before a level is expanded."""

    def _limit(self) -> str | None:
        limits = self.options.limits
        if limits.are_passed(self.started):
            return limits.too_little_time
        if limits.depth is not None and self.levels > limits.depth:
            return f"the depth limit of {limits.depth} levels was reached"
        if limits.states is not None and self.growth and self.growth[-1][1] > limits.states:
            return limits.too_many_states
        if limits.memory_bytes is not None and measure_memory() > limits.memory_bytes:
            return limits.too_little_memory
        if limits.memory_bytes is None and measure_memory() > MOST_OF_MEMORY * measure_free_memory():
            free = f"{measure_free_memory() >> 20:,} MiB that were free at the start"
            return f"{OUT_OF_MEMORY}: three quarters of the {free} are used; --memory-limit SIZE allows more, and uses the disk"
        return None

    def _report_progress(self) -> None:
        used = measure_memory()
        self.peak = max(self.peak, used)
        if self.reporter is None:
            return
        generated, distinct, waiting, _ = self.workers.counts()
        seconds = time.monotonic() - self.started
        self.reporter(SearchProgress(self.levels, waiting, generated, distinct, seconds, used))

    def _outcome(self) -> Outcome:
        generated, distinct, waiting, fired = self.workers.counts()
        seconds = time.monotonic() - self.started
        memory = max(self.peak, peak_memory())
        left = 0 if self.reason is None and not self._is_decided() else waiting
        return Outcome(
            system=self.system,
            findings=tuple(
                self._finding(number, cell)
                for cell in range(len(self.system.configurations))
                for number in range(len(self.properties))
            ),
            counts=Counts(generated, distinct, self.levels, left),
            seconds=seconds,
            reason=self.reason,
            peak_memory_bytes=memory,
            symmetry=self.options.symmetry,
            fired=dict(sorted(fired.items())),
            orbit_states=self.orbits if self.options.symmetry else None,
            distinct_by_configuration=tuple(int(each) for each in self.by_configuration),
            growth=tuple(self.growth),
        )

    def _finding(self, number: int, cell: int) -> Finding:
        broken = self.properties[number]
        where = self.found.get((number, cell))
        if where is None:
            stopped = self.reason is not None or self._is_decided()
            return Finding(broken, cell, Verdict.INCONCLUSIVE if stopped else Verdict.HOLDS)
        try:
            return Finding(broken, cell, Verdict.VIOLATED, replay(self.system, self._trace(*where), broken))
        except KeyboardInterrupt:  # what leads to the others is not asked for any more
            self.reason, self.found = INTERRUPTED, {}
            return Finding(broken, cell, Verdict.INCONCLUSIVE)
        except Exception as problem:  # a state that breaks it was met, but what leads there can no longer be shown
            why = classify_exhaustion(problem)
            self.reason = self.reason if self.reason == INTERRUPTED else why
            return Finding(broken, cell, Verdict.INCONCLUSIVE)

    def _trace(self, depth: int, target: Words) -> Behaviour:
        """Return a shortest behaviour that ends in the target, from the levels, backwards."""
        words = [target]
        steps: list[int] = []
        for level in range(depth - 1, -1, -1):
            before, step = self._step_to(words[0], level)
            words.insert(0, before)
            steps.insert(0, step)
        states = tuple(self.system.unpack(each) for each in words)
        trace = Behaviour(states, tuple(steps))
        return self._renaming(trace) if self.options.symmetry else trace

    def _step_to(self, target: Words, depth: int) -> tuple[Words, int]:
        """Return the predecessor, in level `depth`, and the step of a state of a trace; one look back serves all traces."""
        if (target, depth) not in self._parents:
            self._look_back()
        return self._parents[target, depth]

    def _look_back(self) -> None:
        ends: dict[int, set[Words]] = {}
        for depth, words in self.found.values():
            ends.setdefault(depth, set()).add(words)
        targets: set[Words] = set()
        for depth in range(max(ends), 0, -1):
            targets |= ends.get(depth, set())
            before = self.workers.parents(sorted(targets), depth - 1)
            self._parents |= {(target, depth - 1): found for target, found in before.items()}
            targets = {words for words, _ in before.values()}

    @cached_property
    def _renaming(self) -> Renaming:
        return Renaming(self.system)
