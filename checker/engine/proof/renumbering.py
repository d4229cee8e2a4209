"""Renumbering as a step of its own: numbers of which only the order matters become ranks once, not in the formula of each step.

After every step a model may give its terms or epochs the smallest numbers in the same order (`model/ranks.py`).  A step and the
renumbering after it keep the lemmas if the step keeps them with the numbers as they are then, and any others in the same order
keep them too; that ranks are in the same order is an obligation as well.  Only `unsat` counts: lemmas that are kept only by
both together are left to `BoundedEncoding`, which asks about both at once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import permutations
from typing import Any

import z3

from neverlost.checker.engine.proof.obligations import BOUNDS, CONSECUTION, BoundedEncoding, Goal, ProofTask, find_symbols
from neverlost.model.interpreters.terms import (
    Symbols,
    Terms,
    TermsView,
    bound_slots,
    compute_bit_width,
    lift_condition,
    transition,
    variables,
)
from neverlost.model.system import System
from neverlost.specs.lemma import Lemma
from neverlost.specs.property import Property


def find_renumbered(system: System) -> tuple[int, ...]:
    """Return the slots whose numbers a system makes ranks after every step; none where it does not, or where that is not apart.

    It is apart if the ranks are made of these numbers alone, and nothing else that follows a step reads them.
    """
    terms = Terms(compute_bit_width(system))
    before = variables(system, terms, "before")
    after = _normalise(system, terms, before)
    written = [number for number, each in enumerate(after) if each is not before[number]]
    numbers = tuple(each for each in written if system.slots[each].field.kind == "number")
    symbols = find_symbols(terms.lift(before[each]) for each in numbers).keys()
    read_by_ranks = find_symbols(terms.lift(after[each]) for each in numbers).keys()
    read_by_others = find_symbols(terms.lift(after[each]) for each in written if each not in numbers).keys()
    is_apart = read_by_ranks <= symbols and not read_by_others & symbols
    return numbers if is_apart and not any(system.slots[each].is_constant for each in numbers) else ()


def _normalise(system: System, terms: Terms, symbols: Symbols) -> Symbols:
    """Return what becomes of a symbolic state after every step."""
    view = TermsView(system, symbols)
    if system.model.normalise is not None:
        system.model.normalise(terms, view)
    return view.values


class Renumbered(BoundedEncoding):
    """The bounded encoding of a system that renumbers, with the renumbering as a step of its own."""

    def __init__(self, system: System, lemmas: Sequence[Lemma], goal: Property) -> None:
        super().__init__(system, lemmas, goal)
        self._as_they_are = replace(system, model=replace(system.model, normalise=None))
        self._numbers = find_renumbered(system)
        few = len(self._numbers)
        self._begin_few = all(state[each] <= few for _, state in system.initial_states() for each in self._numbers)
        steps, self._bounds = len(system.steps), bound_slots(system, self.terms, self.before)
        ranking = ProofTask(CONSECUTION, steps, "renumbering: ranks are in the order of the numbers")
        renumbering = ProofTask(CONSECUTION, steps + 1, "renumbering: other numbers in the same order")
        self.renumbering = {ranking: self._ranks(), renumbering: self._other_numbers()}

    def _are_few(self, symbols: Symbols) -> list[Any]:
        """Return the conditions that each number is at most how many there are, as ranks are: so adding one stays in bounds."""
        return [self.terms.lift(symbols[each]) <= self.terms.lift(len(self._numbers)) for each in self._numbers]

    def _ranks(self) -> dict[str, list[Any]]:
        """Return, by name, negations: of ranks in bounds, of few ranks, of each two ranks in the order of their numbers."""
        ranks = self._with_numbers(self.before, _normalise(self.system, self.terms, self.before))
        bounds = z3.Not(lift_condition(self.system, self.terms, ranks, self._in_bounds))
        found = {BOUNDS: [bounds], **{name: [z3.Not(each)] for name, each in self._same_order(ranks).items()}}
        if self._begin_few:
            found["ranks are few"] = [z3.Not(z3.And(self._are_few(ranks)))]
        return found

    def _other_numbers(self) -> dict[str, list[Any]]:
        """Return, by name, the negation of: a lemma's part about numbers is true of any others in the same order."""
        fresh = variables(self.system, self.terms, "renumbered")
        given = [*bound_slots(self.system, self.terms, fresh), *self._same_order(fresh).values()]
        return {
            f"{lemma.name} {number}": [
                *given,
                part,
                z3.Not(self.substitute_after(part, self._with_numbers(self.before, fresh))),
            ]
            for lemma in self.lemmas
            for number, (part, read) in enumerate(self._conjuncts[lemma.name], start=1)
            if read & set(self._numbers)
        }

    def _with_numbers(self, symbols: Symbols, numbers: Symbols) -> Symbols:
        """Return a symbolic state with the numbers of another."""
        return [numbers[each] if each in self._numbers else value for each, value in enumerate(symbols)]

    def _same_order(self, other: Symbols) -> dict[str, Any]:
        """Return, by name, for each two of the numbers and zero the condition that their order is the same in another state."""
        zero = self.terms.lift(0)
        pairs = [("0", zero, zero)]
        pairs += [(self.system.slots[each].name, self.before[each], self.terms.lift(other[each])) for each in self._numbers]
        return {
            f"{one} < {two}": (before < bound) == (then < bound_then)
            for (one, before, then), (two, bound, bound_then) in permutations(pairs, 2)
        }

    def tasks(self) -> list[ProofTask]:
        return [*self.renumbering, *super().tasks()]

    def asks_together(self, task: ProofTask) -> bool:
        """Return False for a task of the renumbering, whose obligations are proved one by one; else True."""
        return task not in self.renumbering

    def goals(self, task: ProofTask) -> list[Goal]:
        apart = self.renumbering.get(task)
        return super().goals(task) if apart is None else [Goal(name, self._in_bounds) for name in apart]

    def premises(self, task: ProofTask) -> list[Any]:
        """Return what may be assumed: of a renumbering only the bounds, else as always; of a step also that numbers are few."""
        if task in self.renumbering:
            return self._bounds
        few = self._are_few(self.before) if self._begin_few and task.step is not None else []
        return [*super().premises(task), *few]

    def refutation(self, task: ProofTask, goal: Goal) -> list[Any]:
        apart = self.renumbering.get(task)
        return super().refutation(task, goal) if apart is None else apart[goal.name]

    def states(self, task: ProofTask, found: z3.ModelRef) -> None:
        """Return None: the second state of a step that is not renumbered is no state of the system's."""

    def take_step(self, task: ProofTask) -> tuple[list[Any], Symbols]:
        """Return a step's guard, and the state after it: without the renumbering, with all else that follows a step."""
        assert task.step is not None
        if task.step not in self._after:
            guard, moved = transition(self._as_they_are, self.terms, self.system.steps[task.step], self.before)
            after = self._with_numbers(_normalise(self.system, self.terms, moved), moved)
            self._after[task.step] = [self.terms.lift(each) for _, each in guard], after
        return self._after[task.step]
