"""What an inductive proof must show, as formulas: initiation, consecution step by step, and safety.

A `Reading` turns a system's state, steps and predicates into Z3 terms.  `Closed` reads them within the declared bounds, as
bit-vectors.  Each obligation is a list of assertions that must be unsatisfiable together.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import z3

from model.system import State, System, View
from model.terms import Symbols, Terms, TermsView, bit_width, condition, state_of, transition, variables, within_bounds
from specs.lemma import Lemma
from specs.property import Property

Predicate = Callable[[Any, View], Any]
INITIATION, CONSECUTION, SAFETY = "initiation", "consecution", "safety"
BOUNDS = "declared-bounds"
"""The implicit lemma that every slot stays within what is declared."""


@dataclass(frozen=True)
class Task:
    """Obligations that share their premises: all initiations, all of one step, or the safety of the property."""

    kind: str
    step: int | None = None
    label: str = ""


@dataclass(frozen=True)
class Goal:
    """What an obligation concludes: a lemma or property by name, as a predicate."""

    name: str
    predicate: Predicate


class Reading(Protocol):
    """Obligations of one system under some lemmas."""

    logic: str
    solvers: tuple[str, ...]

    def tasks(self) -> list[Task]: ...
    def goals(self, task: Task) -> list[Goal]: ...
    def premises(self, task: Task) -> list[Any]: ...
    def refutation(self, task: Task, goal: Goal) -> list[Any]: ...
    def states(self, task: Task, found: z3.ModelRef) -> tuple[State, State] | None: ...
    def definitions(self) -> list[tuple[str, Any, tuple[Any, ...]]]: ...
    def text(self, term: Any) -> str: ...


class Closed:
    """The reading within the declared bounds: numbers are bit-vectors, arrays have all their elements."""

    logic: str = "QF_BV"
    solvers: tuple[str, ...] = ("QF_FD", "QF_BV", "")

    def __init__(self, system: System, lemmas: Sequence[Lemma], goal: Property) -> None:
        self.system, self.lemmas, self.goal = system, tuple(lemmas), goal
        self.terms = Terms(bit_width(system))
        self.before = variables(system, self.terms, "before")
        self._after: dict[int, tuple[list[Any], Symbols]] = {}
        self._assumed = self._assumptions()
        self._names = {each.get_id(): name for name, each, _ in self.definitions()}

    def tasks(self) -> list[Task]:
        """Every task, the initial states first."""
        steps = [Task(CONSECUTION, number, step.label) for number, step in enumerate(self.system.steps)]
        return [Task(INITIATION, label="initial states"), *steps, Task(SAFETY, label=self.goal.name)]

    def goals(self, task: Task) -> list[Goal]:
        """Conclusions of a task."""
        if task.kind == SAFETY:
            return [Goal(self.goal.name, self.goal.condition)]
        return [Goal(BOUNDS, self._in_bounds), *(Goal(each.name, each.condition) for each in self.lemmas)]

    def _in_bounds(self, k: Terms, s: View) -> Any:
        assert isinstance(s, TermsView)
        constants = [
            slot.low <= value <= slot.high
            for slot, value in zip(self.system.slots, s.values, strict=True)
            if isinstance(value, int)
        ]
        return k.all_of(*constants, *within_bounds(self.system, k, [k.lift(each) for each in s.values]))

    def premises(self, task: Task) -> list[Any]:
        """What may be assumed."""
        if task.kind == INITIATION:
            return [self._one_of({state for _, state in self.system.initial_states()}, range(len(self.system.slots)))]
        return self._assumed + (self._transition(task)[0] if task.step is not None else [])

    def _assumptions(self) -> list[Any]:
        """Bounds, the configuration and all lemmas before a step; built once, before the processes part."""
        found = within_bounds(self.system, self.terms, self.before)
        frozen = [i for i, slot in enumerate(self.system.slots) if slot.field.frozen and not slot.is_constant]
        if frozen:
            found.append(self._one_of({state for _, state in self.system.initial_states()}, frozen))
        return found + [condition(self.system, self.terms, self.before, each.condition) for each in self.lemmas]

    def definitions(self) -> list[tuple[str, Any, tuple[Any, ...]]]:
        """Assumptions by name: what all obligations but the initial ones share."""
        return [(f"assumption!{number}", each, ()) for number, each in enumerate(self._assumed)]

    def text(self, term: Any) -> str:
        """A term in SMT-LIB 2."""
        known = self._names.get(term.get_id())
        return known if known is not None else str(term.sexpr())

    def _one_of(self, states: set[State], slots: Sequence[int]) -> Any:
        cells = {tuple((i, state[i]) for i in slots if z3.is_expr(self.before[i])) for state in states}
        return z3.Or([z3.And([self._equals(i, value) for i, value in cell]) for cell in sorted(cells)])

    def _equals(self, slot: int, value: int) -> Any:
        symbol = self.before[slot]
        return symbol == (z3.BoolVal(bool(value)) if z3.is_bool(symbol) else self.terms.lift(value))

    def _transition(self, task: Task) -> tuple[list[Any], Symbols]:
        assert task.step is not None
        if task.step not in self._after:
            guard, after = transition(self.system, self.terms, self.system.steps[task.step], self.before)
            self._after[task.step] = [self.terms.lift(each) for _, each in guard], after
        return self._after[task.step]

    def refutation(self, task: Task, goal: Goal) -> list[Any]:
        """The negated conclusion; all but the bounds themselves may assume them after the step."""
        if task.step is None:
            return [z3.Not(condition(self.system, self.terms, self.before, goal.predicate))]
        after = self._transition(task)[1]
        bounded = [] if goal.name == BOUNDS else [condition(self.system, self.terms, after, self._in_bounds)]
        return [*bounded, z3.Not(condition(self.system, self.terms, after, goal.predicate))]

    def states(self, task: Task, found: z3.ModelRef) -> tuple[State, State]:
        """The state before and the state after in a model of a refuted obligation."""
        before = state_of(self.system, self.terms, found, self.before)
        after = before if task.step is None else state_of(self.system, self.terms, found, self._transition(task)[1])
        return before, after
