"""Many configurations decided in few searches.

Cells whose systems are the same are decided once.  Cells that agree on model, sizes, bounds and budgets share one search.
Cells that differ only by a larger fault budget come after those with the smaller one: a counterexample of the smaller is run
again, on the ints interpreter, under the larger, and only what it does not settle is searched.  So every `violated` has a
behaviour of its own configuration, and every `holds` a complete search of its own system.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import inf
from typing import Any

from neverlost.checker.engine.engines.explore import explore
from neverlost.checker.engine.host import interrupts
from neverlost.checker.engine.outcome import Behaviour, Counts, Outcome, Verdict, breaks, find_same_steps, follow_steps, worst
from neverlost.checker.engine.search.options import Options, Reporter, SearchLimits
from neverlost.checker.questions.coverage import (
    Coverage,
    cover,
    list_allowed_faults,
    list_single,
    list_unstruck,
    list_unused_actions,
    look_for_strikes,
)
from neverlost.model.kernel import Configuration, Model
from neverlost.model.limits import encoded
from neverlost.model.system import System, bind
from neverlost.specs.property import Property

EXPLORED, SAME, REPLAYED = "explored", "same system", "replayed"
"""How a verdict came about: a search, another cell's identical system, or another cell's counterexample run again here."""

Cell = tuple[Model, Configuration]


@dataclass(frozen=True)
class Decision:
    """The verdict on one property of one cell.  `source` is the number of another cell if it was derived from that."""

    property: Property
    verdict: Verdict
    how: str
    trace: Behaviour | None = None
    source: int | None = None


@dataclass(frozen=True)
class Exploration:
    """One search that decided one or several cells; `never` are the actions that happened in none of them."""

    model: str
    cells: tuple[int, ...]
    counts: Counts
    seconds: float
    reason: str | None
    peak_memory_bytes: int
    growth: tuple[tuple[int, int], ...] = ()
    never: tuple[str, ...] = ()


@dataclass(frozen=True)
class Sweep:
    """What a sweep found.

    `systems[i]` is the system of cell `i` alone.  `distinct[i]` is how many states it has, if every property holds there, else
    None.  `coverage[i]` says what never happened in it, if at least one property holds there, else nothing.
    """

    cells: tuple[Cell, ...]
    systems: tuple[System, ...]
    decisions: tuple[tuple[Decision, ...], ...]
    searches: tuple[Exploration, ...]
    distinct: tuple[int | None, ...]
    seconds: float
    coverage: tuple[Coverage, ...]

    def unstruck(self, cell: int, place: int) -> tuple[str, ...]:
        """Return the faults that a cell allows and that never struck, and what its property number `place` compares though
        there is only one of it: if the property holds, that says nothing about them."""
        return self.coverage[cell].faults + list_single(self.systems[cell], self.decisions[cell][place].property)

    def is_vacuous(self, cell: int) -> bool:
        """Return True if a fault that a cell allows never struck, or a property of it compares what there is only one of."""
        return any(self.unstruck(cell, place) for place in range(len(self.decisions[cell])))

    @property
    def is_interrupted(self) -> bool:
        """True if any search was ended by an interrupt."""
        return any(each.reason == "interrupted" for each in self.searches)

    def verdict(self, cell: int) -> Verdict:
        """Return the verdict on a cell: the worst of the verdicts on its properties."""
        return worst(each.verdict for each in self.decisions[cell])


def identity(system: System) -> tuple[Any, ...]:
    """Return a key; systems with the same one have the same behaviours: actions, sizes, fields with bounds, initial states."""
    bounds = tuple((each.name, each.low, each.high, each.axes) for each in system.fields if not each.frozen)
    starts = tuple(sorted({state for _, state in system.initial_states()}))
    return (*kind(system), bounds, starts)


def kind(system: System) -> tuple[Any, ...]:
    """Return a key that systems of one search have in common: actions, function of initial states, sizes, fields with axes."""
    actions = tuple(id(each.body) for each in system.model.actions)
    return (actions, id(system.model.initial), system.sizes, tuple((each.name, each.axes) for each in system.fields))


def bounds_of(system: System) -> tuple[Any, ...]:
    """Return the lowest and highest value of each field that is not fixed by the configuration."""
    return tuple((each.low, each.high) for each in system.fields if not each.frozen)


def budgets(configuration: Configuration, names: Sequence[str]) -> tuple[int, ...]:
    """Return a configuration's values of `names`, as numbers; a larger value of these keys only adds behaviours."""
    return tuple(encoded(configuration[name]) for name in names if name in configuration)


class Sweeper:
    """Decides cells, search by search; `growing` are the keys whose larger values only add behaviours."""

    def __init__(
        self,
        cells: Sequence[Cell],
        properties: Sequence[Property],
        options: Options,
        growing: Sequence[str] = (),
        engine: str = "memory",
        reporter: Reporter | None = None,
        progress: Callable[[int, int], None] | None = None,
    ) -> None:
        self.cells, self.properties, self.options = tuple(cells), tuple(properties), options
        self.growing, self.engine, self.reporter, self.progress = tuple(growing), engine, reporter, progress
        self.systems = tuple(bind(model, configuration) for model, configuration in self.cells)
        self.decided: list[dict[str, Decision]] = [{} for _ in self.cells]
        self.distinct: list[int | None] = [None] * len(self.cells)
        self.coverage = [Coverage()] * len(self.cells)
        self.searches: list[Exploration] = []

    def run(self) -> Sweep:
        """Decide every cell and return the sweep; what the limits leave undecided is inconclusive."""
        started = time.monotonic()
        for members in self.groups():
            self._decide(members, started)
            if self.progress is not None:
                self.progress(sum(bool(each) for each in self.decided), len(self.twins))
        for first, *others in self.twins:
            self._share(first, others)
        decisions = tuple(tuple(each[asked.name] for asked in self.properties) for each in self.decided)
        seconds = time.monotonic() - started
        found = tuple(self.searches), tuple(self.distinct)
        return Sweep(self.cells, self.systems, decisions, *found, seconds, tuple(self.coverage))

    @cached_property
    def twins(self) -> list[list[int]]:
        """Lists of the numbers of cells that have the same system; each cell is in one of them."""
        if len(self.systems) == 1:
            return [[0]]
        found: dict[tuple[Any, ...], list[int]] = {}
        for number, system in enumerate(self.systems):
            found.setdefault(identity(system), []).append(number)
        return list(found.values())

    def groups(self) -> list[list[int]]:
        """Return lists of cells that share a search, the smallest budgets first; of twins only the first is in a list."""
        found: dict[tuple[Any, ...], list[int]] = {}
        for first, *_ in self.twins:
            system, configuration = self.systems[first], self.cells[first][1]
            spent = budgets(configuration, self.growing)
            begins = tuple(value for key, value in configuration.items() if key.startswith("start."))
            found.setdefault((sum(spent), spent, kind(system), bounds_of(system), begins), []).append(first)
        return [found[key] for key in sorted(found, key=lambda each: (each[0], each[1], found[each][0]))]

    def _share(self, first: int, others: Sequence[int]) -> None:
        for other in others:
            self.distinct[other], self.coverage[other] = self.distinct[first], self.coverage[first]
            if list_allowed_faults(self.cells[other][1]) != list_allowed_faults(self.cells[first][1]):
                self.coverage[other] = look_for_strikes(self.systems[other])
            self.decided[other] = {name: replace(each, how=SAME, source=first) for name, each in self.decided[first].items()}

    def _decide(self, members: list[int], started: float) -> None:
        """Decide cells of equal budgets: first by counterexamples of smaller budgets, then by one search for all cells that
        have the same properties left undecided."""
        for cell in members if not interrupts.have_come() else ():
            self._inherit(cell)
        for names in sorted({self._open(cell) for cell in members if self._open(cell)}):
            chosen = [cell for cell in members if self._open(cell) == names]
            self._search(chosen, [each for each in self.properties if each.name in names], started)

    def _open(self, cell: int) -> tuple[str, ...]:
        return tuple(each.name for each in self.properties if each.name not in self.decided[cell])

    def _inherit(self, cell: int) -> None:
        """Decide properties of a cell by the counterexamples of cells with smaller budgets that end in a violation here too."""
        for smaller in self._smaller(cell):
            for asked in self.properties:
                known = self.decided[smaller].get(asked.name)
                if asked.name in self.decided[cell] or known is None or known.trace is None:
                    continue
                trace = again(self.systems[smaller], known.trace, self.systems[cell], asked)
                if trace is not None:
                    source = smaller if known.source is None else known.source
                    self.decided[cell][asked.name] = Decision(asked, Verdict.VIOLATED, REPLAYED, trace, source)

    def _smaller(self, cell: int) -> list[int]:
        """Return the decided cells that differ from this one only by smaller budgets, those with the smallest first."""
        model, configuration = self.cells[cell]
        mine = self._rest(configuration)
        spent = budgets(configuration, self.growing)
        found = []
        for other, (other_model, other_configuration) in enumerate(self.cells):
            less = budgets(other_configuration, self.growing)
            if other_model.name != model.name or less == spent or not self.decided[other]:
                continue
            if self._rest(other_configuration) == mine and all(a <= b for a, b in zip(less, spent, strict=True)):
                found.append((sum(less), less, other))
        return [other for *_, other in sorted(found)]

    def _rest(self, configuration: Mapping[str, Any]) -> dict[str, Any]:
        return {name: value for name, value in configuration.items() if name not in self.growing}

    def _search(self, chosen: list[int], asked: list[Property], started: float) -> None:
        model = self.cells[chosen[0]][0]
        if self.options.limits.are_passed(started):
            for cell in chosen:
                self.decided[cell] |= {each.name: Decision(each, Verdict.INCONCLUSIVE, EXPLORED) for each in asked}
            return
        options = replace(self.options, every_configuration=True, limits=self._limits(started))
        system = bind(model, *[self.cells[cell][1] for cell in chosen])
        outcome = explore(system, asked, options, self.reporter, self.engine)
        self._note(chosen, outcome)
        spent = outcome.counts, outcome.seconds, outcome.reason, outcome.peak_memory_bytes, outcome.growth
        self.searches.append(Exploration(model.name, tuple(chosen), *spent, list_unused_actions(outcome)))
        if outcome.reason == "interrupted":
            self.options = self.options.out_of_time()

    def _limits(self, started: float) -> SearchLimits:
        """Return the limits of the next search; the time limit is for all searches together and counts from `started`."""
        limits = self.options.limits
        if limits.seconds is None:
            return limits
        return replace(limits, until=min(started + limits.seconds, limits.until or inf))

    def _cover(self, system: System, shared: Outcome) -> Coverage:
        """Return the coverage of a cell in whose search a property holds: by what the shared search never did and a look at its
        initial states or, where that is not enough, by a search of its own."""
        never, seen = list_unstruck(system, shared.fired), look_for_strikes(system)
        if set(seen.open) <= set(never):
            return Coverage((*seen.faults, *seen.open))
        return cover(explore(system, (), replace(self.options, state_dir=None, resume=False)))

    def _note(self, chosen: list[int], outcome: Outcome) -> None:
        for finding in outcome.findings:
            cell = chosen[finding.configuration]
            decision = Decision(finding.property, finding.verdict, EXPLORED, finding.trace)
            self.decided[cell][finding.property.name] = decision
        for place, cell in enumerate(chosen):
            if any(each.verdict is Verdict.HOLDS for each in self.decided[cell].values()):
                self.coverage[cell] = self._cover(self.systems[cell], outcome)
            if all(each.verdict is Verdict.HOLDS for each in self.decided[cell].values()):
                self.distinct[cell] = outcome.distinct_by_configuration[place]


def again(system: System, trace: Behaviour, other: System, broken: Property) -> Behaviour | None:
    """Return a behaviour of `other` with the same steps; None unless all are possible there and the end breaks `broken`."""
    steps = find_same_steps(system, trace, other)
    for _, start in other.initial_states():
        found = follow_steps(other, start, steps)
        if len(found.steps) == len(steps) and breaks(other, found.states[-1], broken):
            return found
    return None
