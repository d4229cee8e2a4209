"""The memory engine: level-synchronous exploration in this process, or over all cores once it pays.

A level's set of states does not depend on the number of workers, and everything reported is a function of
those sets: counts, depth, the counterexample (the smallest violating state of the first level that has one,
and the smallest predecessor at every step back).
"""

from __future__ import annotations

import os
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from contextlib import ExitStack
from functools import cached_property
from pathlib import Path

import numpy as np

from checker.outcome import Counts, EngineError, Finding, Outcome, Trace, Verdict, replayed
from checker.partition import LevelReport, Partition, Violations
from checker.resources import peak_memory, used_memory
from checker.search import Options, Progress, Reporter
from checker.store import Level, Store, Violation, meta_of
from checker.symmetry import Symmetry
from checker.team import Local, Processes, Team
from model import ints
from model.catalogue import models
from model.columns import pack_rows
from model.system import State, System, Words
from specs.property import Property

WORTH_SHARING = 120_000
"""States waiting from which several processes beat one."""


def explore(
    system: System, properties: Sequence[Property] = (), options: Options | None = None, reporter: Reporter | None = None
) -> Outcome:
    """Every reachable state of the system; see `checker.search.explore`."""
    asked = options or Options()
    with ExitStack() as stack:
        place = asked.state_dir
        if place is None and asked.limits.memory_bytes is not None:
            place = stack.enter_context(tempfile.TemporaryDirectory(prefix="neverlost-levels-"))
        return MemorySearch(system, tuple(properties), asked, reporter, place).run()


class LevelSearch:
    """The level-synchronous loop, once; an engine is a team of workers that answers it."""

    def __init__(self, system: System, properties: tuple[Property, ...], options: Options, reporter: Reporter | None) -> None:
        self.system, self.properties, self.options, self.reporter = system, properties, options, reporter
        self.started = time.monotonic()
        self.workers = options.workers or os.cpu_count() or 1
        self.team: Team = Local(Partition(system, properties, options.symmetry))
        self.found: dict[tuple[int, int], tuple[int, Words]] = {}
        self.levels = 0
        self.orbits = 0
        self.growth: list[tuple[int, int]] = []
        self.by_cell = np.zeros(len(system.configurations), np.int64)
        self.reason: str | None = None
        self._parents: dict[tuple[Words, int], tuple[Words, int]] = {}
        self.peak = 0

    def run(self) -> Outcome:
        try:
            self._seed()
            while self._level():
                pass
            return self._outcome()
        except KeyboardInterrupt:
            self.reason = "interrupted"
            return self._outcome()
        finally:
            self.team.close()

    def _seed(self) -> None:
        states = sorted({state for _, state in self.system.initial_states()})
        packed = pack_rows(self.system, states)
        partition = self.team.partition if isinstance(self.team, Local) else None
        if partition is None:
            raise EngineError("a search starts in one process")
        partition.absorb(partition.symmetry.canonical(packed) if partition.symmetry else packed)
        partition.generated = len(states)
        self._close()

    def _close(self) -> LevelReport:
        report = self.team.close_level()
        self._add(report)
        self._tell()
        return report

    def _add(self, report: LevelReport) -> None:
        if report.new:
            self.levels += 1
            generated, distinct, _, _ = self.team.counts()
            self.growth.append((generated, distinct))
        self.orbits += report.orbits
        if report.by_cell is not None:
            self.by_cell += report.by_cell
        self._note(report.violations)

    def _note(self, violations: Violations) -> None:
        for key, words in violations.items():
            self.found.setdefault(key, (self.levels - 1, words))
        if violations and self.options.every_configuration and not self.options.keep_going:
            counts = np.bincount([cell for _, cell in self.found], minlength=len(self.system.configurations))
            self.team.forget(counts == len(self.properties))

    def _level(self) -> bool:
        """Expand the frontier; whether there is another one."""
        if self._is_decided():
            return False
        if not self._waiting():
            return False
        self._share()
        while True:
            self.reason = self._limit()
            if self.reason:
                return False
            if not self.team.round():
                return self._close().new > 0
            self._tell()

    def _waiting(self) -> int:
        return self.team.counts()[2]

    def _is_decided(self) -> bool:
        if not self.found or self.options.keep_going:
            return False
        wanted = len(self.properties) * len(self.system.configurations)
        return not self.options.every_configuration or len(self.found) == wanted

    def _share(self) -> None:
        """Called before a level is expanded."""

    def _limit(self) -> str | None:
        limits = self.options.limits
        if limits.seconds is not None and time.monotonic() - self.started > limits.seconds:
            return f"the time limit of {limits.seconds:g} s was reached"
        if limits.depth is not None and self.levels > limits.depth:
            return f"the depth limit of {limits.depth} levels was reached"
        if limits.memory_bytes is not None and used_memory() > limits.memory_bytes:
            return f"the memory limit of {limits.memory_bytes} bytes was reached"
        return None

    def _tell(self) -> None:
        used = used_memory()
        self.peak = max(self.peak, used)
        if self.reporter is None:
            return
        generated, distinct, waiting, _ = self.team.counts()
        seconds = time.monotonic() - self.started
        self.reporter(Progress(self.levels, waiting, generated, distinct, seconds, used))

    def _outcome(self) -> Outcome:
        generated, distinct, waiting, fired = self.team.counts()
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
            distinct_by_configuration=tuple(int(each) for each in self.by_cell),
            growth=tuple(self.growth),
        )

    def _finding(self, number: int, cell: int) -> Finding:
        broken = self.properties[number]
        where = self.found.get((number, cell))
        if where is None:
            stopped = self.reason is not None or self._is_decided()
            return Finding(broken, cell, Verdict.INCONCLUSIVE if stopped else Verdict.HOLDS)
        return Finding(broken, cell, Verdict.VIOLATED, replayed(self.system, self._trace(*where), broken))

    def _trace(self, depth: int, target: Words) -> Trace:
        """A shortest way to the target, from the levels, backwards."""
        words = [target]
        steps: list[int] = []
        for level in range(depth - 1, -1, -1):
            before, step = self._step_to(words[0], level)
            words.insert(0, before)
            steps.insert(0, step)
        states = tuple(self.system.unpack(each) for each in words)
        trace = Trace(states, tuple(steps))
        return self._renaming(trace) if self.options.symmetry else trace

    def _step_to(self, target: Words, depth: int) -> tuple[Words, int]:
        """One pass over a level serves every counterexample that goes through it."""
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
            before = self.team.parents(sorted(targets), depth - 1)
            self._parents |= {(target, depth - 1): found for target, found in before.items()}
            targets = {words for words, _ in before.values()}

    @cached_property
    def _renaming(self) -> Renaming:
        return Renaming(self.system)


class MemorySearch(LevelSearch):
    """The search over partitions in memory; with a store, every level is kept there and old ones may live there only."""

    def __init__(
        self,
        system: System,
        properties: tuple[Property, ...],
        options: Options,
        reporter: Reporter | None,
        place: Path | str | None,
    ) -> None:
        super().__init__(system, properties, options, reporter)
        self.local = Partition(system, properties, options.symmetry)
        self.team: Local | Processes = Local(self.local)
        self.store = self._opened(place) if place is not None else None
        self._kept = (0, Counter[str]())

    def _opened(self, place: Path | str) -> Store:
        asked = tuple(each.name for each in self.properties)
        forgets = self.options.every_configuration and not self.options.keep_going
        meta = meta_of(self.system, asked, self.options.symmetry) | {"forgets_decided": forgets}
        return Store.open(place, meta) if self.options.resume else Store.create(place, meta)

    def _seed(self) -> None:
        levels = self.store.levels() if self.store is not None and self.options.resume else []
        if self.store is None or not levels:
            super()._seed()
            return
        self.store.discard_uncommitted(levels)
        numbers = {each.name: number for number, each in enumerate(self.properties)}
        for level in levels:
            for file in level.files:
                self.local.adopt(self.store.packed(file))
            self.store.forget()
            self.local.restore_level(level.generated, level.fired)
            found = {(numbers[each.property], each.configuration): each.state for each in level.violations}
            by_cell = np.array(level.facts["by_cell"], np.int64) if level.facts.get("by_cell") else None
            self._add(LevelReport(level.rows, found, by_cell, level.facts.get("orbits", 0)))
            self._relieve()
        self._kept = (self.local.generated, Counter(self.local.fired))
        self._tell()

    def _close(self) -> LevelReport:
        report = super()._close()
        if self.store is not None:
            self._commit(self.store, report)
            self._relieve()
        return report

    def _commit(self, store: Store, report: LevelReport) -> None:
        """Make the level durable."""
        generated, _, _, fired = self.team.counts()
        depth = self.levels - 1 if report.new else self.levels
        files = self.team.keep(store.files.location, depth) if report.new else []
        store.commit(
            Level(
                depth=depth,
                files=tuple(each for each in files if each.rows),
                generated=generated - self._kept[0],
                fired=dict(sorted((fired - self._kept[1]).items())),
                violations=tuple(
                    Violation(self.properties[number].name, cell, words)
                    for (number, cell), words in sorted(report.violations.items())
                ),
                facts={"by_cell": [] if report.by_cell is None else report.by_cell.tolist(), "orbits": report.orbits},
            )
        )
        self._kept = (generated, Counter(fired))

    def _relieve(self) -> None:
        """Move visited states to the store when they fill half of the memory that is allowed."""
        limit = self.options.limits.memory_bytes
        if self.store is not None and limit is not None and used_memory() * 2 > limit:
            self.team.offload(self.store.files.location)

    def _share(self) -> None:
        """Move to several processes when the frontier is worth it and the model can be named to them."""
        if not isinstance(self.team, Local) or self.workers == 1 or self._waiting() < WORTH_SHARING or self.local.runs:
            return
        if models().get(self.system.model.name) is not self.system.model:
            return
        decided = self.local.decided
        self.team = Processes(self.local, self.workers)
        self.local = Partition(self.system, (), False)
        if decided is not None:
            self.team.forget(decided)


class Renaming:
    """Makes the names of replicas consistent along a behaviour whose states are canonical forms."""

    def __init__(self, system: System) -> None:
        self.system = system
        self.symmetry = Symmetry(system)
        self.starts = {form: start for start, form in self._forms(sorted({state for _, state in system.initial_states()}))}
        self._known: dict[State, list[tuple[int, State, State]]] = {}

    def __call__(self, trace: Trace) -> Trace:
        """A behaviour of the system whose states have the canonical forms of the trace's."""
        states = [self.starts[trace.states[0]]]
        steps: list[int] = []
        for wanted in trace.states[1:]:
            number, after = self._next(states[-1], wanted)
            states.append(after)
            steps.append(number)
        return Trace(tuple(states), tuple(steps))

    def _next(self, state: State, wanted: State) -> tuple[int, State]:
        for number, after, form in self._successors(state):
            if form == wanted:
                return number, after
        raise EngineError("a symmetric trace cannot be made concrete")

    def _successors(self, state: State) -> list[tuple[int, State, State]]:
        """Step, state and canonical form; several counterexamples begin alike."""
        if state not in self._known:
            reached = [(number, ints.take(self.system, state, step)) for number, step in enumerate(self.system.steps)]
            enabled = [(number, after) for number, after in reached if after is not None]
            forms = self._forms([after for _, after in enabled])
            self._known[state] = [(number, after, form) for (number, _), (after, form) in zip(enabled, forms, strict=True)]
        return self._known[state]

    def _forms(self, states: list[State]) -> list[tuple[State, State]]:
        """Each state with its canonical form."""
        packed = self.symmetry.canonical(pack_rows(self.system, states))
        return [(state, self.system.unpack([int(word[row]) for word in packed])) for row, state in enumerate(states)]
