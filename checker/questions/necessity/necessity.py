"""Which parts of a protocol its properties need: each is switched off in turn and the rest is explored.

A part that nothing needs is either explained in writing, or a sign that the model or the bounds are too
poor to show what it is for: so this is the mutation test of a model too.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

import numpy as np

from neverlost.checker.engine.engines.explore import explore
from neverlost.checker.engine.host import scratch
from neverlost.checker.engine.host.processes import Send, run
from neverlost.checker.engine.outcome import Verdict
from neverlost.checker.engine.storage.levels import Store
from neverlost.checker.questions.search_questions import SearchAnswer, SearchQuestion, answered, options_for
from neverlost.model.interpreters.columns import Batch, Columns, ColumnsView, Packed
from neverlost.model.interpreters.ints import Ints, IntsView
from neverlost.model.kernel import BOUND, Value
from neverlost.model.system import System
from neverlost.specs.property import Property


class Need(StrEnum):
    """What switching a part off does.

    `NEEDED`: a property breaks.  `STRUCTURAL`: a step leaves the declared bounds, so it makes no sense without the part.
    `IDLE`: as many states are reachable as with it.  `UNNEEDED`: more or fewer are, and every property holds.
    `UNDECIDED`: a limit was reached.
    """

    NEEDED = "needed"
    STRUCTURAL = "structural"
    IDLE = "changes nothing"
    UNNEEDED = "not needed"
    UNDECIDED = "undecided"


@dataclass(frozen=True)
class Profile:
    """One configuration and the properties that hold in it (`left_out`: those that do not); `distinct`: states, or orbits."""

    name: str
    question: SearchQuestion
    distinct: int = 0
    left_out: tuple[str, ...] = ()


@dataclass(frozen=True)
class Variant:
    """A part that is switched off: for profiles that have it, the profile's index and the question without the part."""

    kind: str
    name: str
    questions: tuple[tuple[int, SearchQuestion], ...]


@dataclass(frozen=True)
class VariantVerdict:
    """What switching a part off does; `profile` and `answer` are those that decided it."""

    variant: Variant
    need: Need
    profile: int | None = None
    answer: SearchAnswer | None = None

    @property
    def question(self) -> SearchQuestion | None:
        """What was asked in the profile that decided: its system without the part, and the properties; None if none did."""
        return dict(self.variant.questions).get(self.profile) if self.profile is not None else None


def clauses_of(system: System) -> list[tuple[str, str]]:
    """Return every guard clause of the protocol as `(action, clause)`, without those that only bound the exploration."""
    start = system.initial_states()[0][1]
    found: dict[tuple[str, str], None] = {}
    for step in system.steps:
        for clause, _ in step.run(Ints, IntsView(system, start)):
            if not clause.startswith(BOUND):
                found[step.action.name, clause] = None
    return list(found)


def without(system: System, action: str, clause: str) -> System:
    """Return the system with one more clause switched off."""
    return replace(system, disabled=system.disabled | {(action, clause)})


def profiles(
    named: Sequence[tuple[str, System]],
    properties: Sequence[Property],
    workers: int | None = None,
    seconds: float | None = None,
) -> list[Profile]:
    """Return a profile for each system, in order, with the properties that hold in it; with none if its search fails."""
    jobs = [
        (system, tuple(each for each in properties if {*each.needs} <= system.places.keys()), seconds) for _, system in named
    ]
    kept: dict[int, Profile] = {}
    for report in run(_keeps, jobs, workers or os.cpu_count() or 1, seconds):
        if report.kind == "progress":
            continue
        name, system = named[report.job]
        holding, distinct = report.value if report.kind == "result" else (set(), 0)
        asked = jobs[report.job][1]
        question = SearchQuestion(system, tuple(each for each in asked if each.name in holding))
        left_out = tuple(each.name for each in asked if each.name not in holding)
        kept[report.job] = Profile(name, question, distinct, left_out)
    return [kept[number] for number in range(len(named))]


def _keeps(send: Send, system: System, asked: tuple[Property, ...], seconds: float | None) -> tuple[set[str], int]:
    """Return the names of the properties that hold, and how many states (or orbits) there are."""
    outcome = explore(system, asked, options_for(system, seconds, keep_going=True))
    return {each.property.name for each in outcome.findings if each.verdict is Verdict.HOLDS}, outcome.counts.distinct


def find_used_clauses(system: System, seconds: float | None = None) -> frozenset[tuple[str, str]]:
    """Return each clause that in some reachable state is the only clause of its step that does not hold.  Any other single
    clause can be left out without making another step possible."""
    with scratch.hold_folder("profile") as place:
        explore(system, (), replace(options_for(system, seconds), state_dir=place))
        store = Store.attach(place)
        states = (store.read_packed(file) for level in store.levels() for file in level.files)
        return frozenset(pair for each in states for pair in _find_used(system, each))


def _find_used(system: System, states: Packed) -> Iterator[tuple[str, str]]:
    """Yield (action, clause) if in one of the states this clause alone of its step does not hold; some more than once."""
    batch = Batch(system, states)
    for step in system.steps:
        holds: dict[str, Value] = {}
        for clause, value in step.run(Columns, ColumnsView(batch)):
            holds[clause] = Columns.all_of(holds.get(clause, True), value)
        fails = {name: np.broadcast_to(np.logical_not(value), len(batch)) for name, value in holds.items()}
        is_alone = sum(each.astype(np.int8) for each in fails.values()) == 1
        yield from ((step.action.name, name) for name, each in fails.items() if np.any(each & is_alone))


def judged(
    kept: Sequence[Profile],
    variants: Sequence[Variant],
    workers: int | None = None,
    seconds: float | None = None,
    seconds_each: float | None = None,
    notify: Callable[[VariantVerdict], None] = lambda judgement: None,
) -> list[VariantVerdict]:
    """Return what switching off each variant does, in order. Units: seconds for all, and for each variant and profile."""
    found: dict[int, VariantVerdict] = {}
    jobs = [(each, tuple(one.distinct for one in kept), seconds_each) for each in variants]
    for report in run(_work, jobs, workers or os.cpu_count() or 1, seconds):
        if report.kind == "progress":
            continue
        variant = variants[report.job]
        if report.kind == "result":
            need, profile, answer = report.value
            found[report.job] = VariantVerdict(variant, need, profile, answer)
        else:
            found[report.job] = VariantVerdict(
                variant, Need.UNDECIDED, None, SearchAnswer(Verdict.INCONCLUSIVE, problem=str(report.value))
            )
        notify(found[report.job])
    return [found[number] for number in range(len(variants))]


def _work(
    send: Send, variant: Variant, distinct: tuple[int, ...], seconds: float | None
) -> tuple[Need, int | None, SearchAnswer | None]:
    """Return need, profile and answer of the first profile that breaks a property; else of the first that is structural, else
    undecided, else unneeded, else idle; `IDLE` and None without a profile."""
    seen: list[tuple[Need, int, SearchAnswer]] = []
    for number, question in variant.questions:
        answer = answered(question, seconds)
        seen.append((_need(answer, distinct[number]), number, answer))
        if answer.verdict is Verdict.VIOLATED:
            return seen[-1]
    for need in (Need.STRUCTURAL, Need.UNDECIDED, Need.UNNEEDED, Need.IDLE):
        for each in seen:
            if each[0] is need:
                return each
    return Need.IDLE, None, None


def _need(answer: SearchAnswer, distinct: int) -> Need:
    if answer.verdict is Verdict.VIOLATED:
        return Need.NEEDED
    if answer.leaves_bounds:
        return Need.STRUCTURAL
    if answer.verdict is Verdict.INCONCLUSIVE:
        return Need.UNDECIDED
    return Need.IDLE if answer.distinct == distinct else Need.UNNEEDED


def clause_variants(kept: Sequence[Profile]) -> Iterator[Variant]:
    """Yield every clause of any profile, each with the profiles in which it alone forbids a step and some property holds."""
    owners: dict[tuple[str, str], list[int]] = {}
    used = [find_used_clauses(each.question.system) for each in kept]
    for number, profile in enumerate(kept):
        for pair in clauses_of(profile.question.system):
            owners.setdefault(pair, []).append(number)
    for (action, clause), numbers in owners.items():
        questions = [(n, kept[n].question) for n in numbers if kept[n].question.properties and (action, clause) in used[n]]
        off = tuple((each, SearchQuestion(without(one.system, action, clause), one.properties)) for each, one in questions)
        yield Variant("clause", f"{action}: {clause}", off)
