"""What a configuration survives, whatever the number of faults: a verdict for each number of brokers that lose data at once
and each number of others that are out meanwhile.

Each spot of the table is a question of its own: any number of faults, with that many brokers suffering at once.  What is known
already is not searched for; the other spots whose states have the same fields share a search, which distinguishes them by
their limits, so a counterexample is a shortest one.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from neverlost.checker.engine.host import interrupts
from neverlost.checker.engine.outcome import Behaviour, Verdict
from neverlost.checker.engine.search.options import Options, Reporter
from neverlost.checker.questions.coverage import list_single, look_for_strikes, with_harmless_faults
from neverlost.checker.questions.tolerance.fault_budget import FaultBudget, spots_of
from neverlost.model.kernel import Configuration, Model, Sizes
from neverlost.model.system import System, bind
from neverlost.specs.configuration.canonical import sizes_of
from neverlost.specs.property import SAFETY, Property

SEARCH, ATLAS, LEFT_OUT = "search", "atlas", "left out"
"""Where a verdict comes from; `LEFT_OUT` where there is none, since the question leaves something out."""

Known = Callable[[Model, Configuration, Sequence[Property]], list[tuple[Verdict, int | None]] | None]
"""Returns the verdict on each property with the steps of a shortest counterexample; None unless all of them are known."""


@dataclass(frozen=True)
class CellVerdict:
    """The verdict on one property at one spot; `steps` is how many a shortest counterexample has, `trace` is that, if searched.

    `is_interrupted` says that an interrupt ended the search that would have decided more; `unstruck` are, if the property
    holds, the allowed faults that never struck and what there is only one of: the verdict says nothing about them.
    """

    property: Property
    verdict: Verdict
    steps: int | None
    source: str
    trace: Behaviour | None = None
    is_interrupted: bool = False
    unstruck: tuple[str, ...] = ()


@dataclass(frozen=True)
class Tolerance:
    """The verdicts on each property at each spot, by spot; `more` are limits of other faults that all spots allow besides."""

    model: Model
    configuration: Configuration
    more: Mapping[str, Any]
    entries: Mapping[FaultBudget, tuple[CellVerdict, ...]]

    def asked(self, spot: FaultBudget) -> Configuration:
        return {**self.configuration, **self.more, **spot.limits_among(self.model.keys)}

    @property
    def is_interrupted(self) -> bool:
        """True if an interrupt ended a search for the table."""
        return any(each.is_interrupted for row in self.entries.values() for each in row)

    def undecided(self) -> Tolerance:
        """Return the table for a question that leaves something out: safety that holds becomes undecided, all else stays."""
        rows = {
            spot: tuple(
                replace(each, verdict=Verdict.INCONCLUSIVE, source=LEFT_OUT)
                if each.property.kind == SAFETY and each.verdict is Verdict.HOLDS
                else each
                for each in row
            )
            for spot, row in self.entries.items()
        }
        return replace(self, entries=rows)

    def system(self, spot: FaultBudget) -> System:
        return bind(self.model, self.asked(spot))


def tolerance(
    model: Model,
    configuration: Configuration,
    properties: Sequence[Property],
    options: Options | None,
    more: Mapping[str, Any] | None = None,
    engine: str = "memory",
    reporter: Reporter | None = None,
    known: Known | None = None,
    only: Sequence[FaultBudget] | None = None,
    strikes: bool = True,
) -> Tolerance:
    """Return the table of a configuration, or `only` these spots of it; without options what is not known stays undecided.
    Without `strikes`, looked-up verdicts do not name the faults that never struck; tables can still be compared."""
    every = only if only is not None else spots_of(configuration)
    empty = Tolerance(model, configuration, dict(more or {}), {})
    cells = [(model, empty.asked(spot)) for spot in every]
    entries = decided(cells, properties, options, engine, reporter, known, strikes=strikes)
    return Tolerance(model, configuration, empty.more, dict(zip(every, entries, strict=True)))


def decided(
    cells: Sequence[tuple[Model, Configuration]],
    properties: Sequence[Property],
    options: Options | None,
    engine: str = "memory",
    reporter: Reporter | None = None,
    known: Known | None = None,
    tell: Callable[[Collection[int]], object] = len,
    strikes: bool = True,
) -> list[tuple[CellVerdict, ...]]:
    """Return the verdict on each property of each cell: looked up where it is known, else searched for, in few searches, or
    undecided without options.  After each search and at the end `tell` is called with the numbers of all cells decided then."""
    entries: dict[int, tuple[CellVerdict, ...]] = {}
    together: dict[tuple[int, Sizes], list[int]] = {}
    found = {}
    for number, (model, configuration) in enumerate(cells):
        answers = known(model, configuration, properties) if known is not None else None
        if answers is not None and strikes:
            found[number] = answers
            together.setdefault((id(model), sizes_of(model, configuration)), []).append(number)
        elif answers is not None:
            pairs = zip(properties, answers, strict=True)
            entries[number] = tuple(CellVerdict(each, verdict, steps, ATLAS) for each, (verdict, steps) in pairs)
    for numbers in together.values():
        system = bind(cells[numbers[0]][0], *(cells[number][1] for number in numbers))
        harmless_too = with_harmless_faults(system)
        for place, number in enumerate(numbers):
            holds = any(verdict is Verdict.HOLDS for verdict, _ in found[number])
            unstruck = look_for_strikes(system, place, harmless_too).faults if holds else ()
            entries[number] = _verdicts_of(properties, found[number], unstruck, harmless_too)
    left = [number for number in range(len(cells)) if number not in entries]
    is_interrupted = interrupts.have_come()
    if is_interrupted or options is None:
        undecided = tuple(CellVerdict(each, Verdict.INCONCLUSIVE, None, SEARCH, None, is_interrupted) for each in properties)
        entries |= dict.fromkeys(left, undecided)
    elif left:
        from neverlost.checker.questions.sweep.sweep import Sweeper

        def progress(*_: int) -> None:
            tell({*entries, *(number for number, found in zip(left, sweeper.decided, strict=True) if found)})

        sweeper = Sweeper([cells[number] for number in left], properties, options, (), engine, reporter, progress)
        sweep = sweeper.run()
        for place, (number, decisions) in enumerate(zip(left, sweep.decisions, strict=True)):
            searched = []
            for at, each in enumerate(decisions):
                steps = len(each.trace.steps) if each.trace else None
                unstruck = sweep.unstruck(place, at) if each.verdict is Verdict.HOLDS else ()
                cell = CellVerdict(each.property, each.verdict, steps, SEARCH, each.trace, sweep.is_interrupted, unstruck)
                searched.append(cell)
            entries[number] = tuple(searched)
    tell(entries)
    return [entries[number] for number in range(len(cells))]


def look_up(
    model: Model, configuration: Configuration, properties: Sequence[Property], known: Known | None
) -> tuple[CellVerdict, ...] | None:
    """Return the verdict on each property of a cell as `known` has it, without a search; None unless it has all of them."""
    found = known(model, configuration, properties) if known is not None else None
    if found is None:
        return None
    unstruck = look_for_strikes(system := bind(model, configuration)).faults
    return _verdicts_of(properties, found, unstruck, system)


def _verdicts_of(
    properties: Sequence[Property], answers: Sequence[tuple[Verdict, int | None]], unstruck: tuple[str, ...], system: System
) -> tuple[CellVerdict, ...]:
    """Return looked-up answers as verdicts; one that holds names the faults that never struck and what there is only one of."""
    single = {each: list_single(system, each) for each in properties}
    return tuple(
        CellVerdict(each, verdict, steps, ATLAS, unstruck=unstruck + single[each] if verdict is Verdict.HOLDS else ())
        for each, (verdict, steps) in zip(properties, answers, strict=True)
    )
