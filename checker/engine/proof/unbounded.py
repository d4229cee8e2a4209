"""Obligations without bounds on some axes: integers and functions instead of bit-vectors and arrays."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import z3

from neverlost.checker.engine.proof.obligations import BOUNDS, CONSECUTION, INITIATION, SAFETY, Goal, ProofTask, find_symbols
from neverlost.model.interpreters.terms import Terms
from neverlost.model.interpreters.unbounded_terms import (
    Assuming,
    Concluding,
    OpenState,
    OpenView,
    is_open,
    list_open_axes,
    make_open_initial,
    make_open_steps,
    make_open_variables,
    require_positive,
    take_open_step,
)
from neverlost.model.system import State, System
from neverlost.specs.errors import InputError
from neverlost.specs.lemma import Lemma
from neverlost.specs.property import Property


@dataclass(frozen=True)
class Conjunct:
    """A part of a lemma: what is to be concluded, and the names of what it reads."""

    goal: Goal
    reads: frozenset[str]


class UnboundedEncoding:
    """The encoding in which the model's unbounded axes have no bound. Errors: `InputError` for a model that declares none."""

    logic: str = "QF_UFLIA"
    solvers: tuple[str, ...] = ("", "QF_UFLIA", "")

    def __init__(self, system: System, lemmas: Sequence[Lemma], goal: Property) -> None:
        self.system, self.lemmas, self.goal = system, tuple(lemmas), goal
        if not list_open_axes(system):
            raise InputError(f"model {system.model.name!r} has no reading without bounds; prove it without --unbounded")
        self.unbounded = tuple(f"{axis}s" for axis in list_open_axes(system))
        self.before = make_open_variables(system, "before")
        self.steps = make_open_steps(system)
        self.transitions = [take_open_step(system, step, self.before) for step, _ in self.steps]
        self._grown = {name for each in system.model.unbounded for name in each.fields}
        self._indices = {name for each in system.model.unbounded for name in each.indices}
        self._axes = list_open_axes(system)
        self._assuming = Assuming(None, self._axes)
        self._instantiated: dict[int, tuple[Any, int, tuple[Any, ...]]] = {}
        view = OpenView(system, self.before)
        self._assumed = [self._assuming.lift(self._in_bounds(self._assuming, view))]
        self._assumed += [self._assuming.lift(each.condition(self._assuming, view)) for each in lemmas]
        for each in self._assumed:
            require_positive(each, self._assuming.quantified)
        self._conjuncts = [self._parts(each) for each in self.lemmas]

    def tasks(self) -> list[ProofTask]:
        """Return every task; steps that differ only in an unbounded argument are one."""
        steps = [ProofTask(CONSECUTION, number, step.label) for number, (step, _) in enumerate(self.steps)]
        return [ProofTask(INITIATION, label="initial states"), *steps, ProofTask(SAFETY, label=self.goal.name)]

    def goals(self, task: ProofTask) -> list[Goal]:
        """Return a task's conclusions: the property, or the bounds and each conjunct of a lemma by itself, for what may be
        assumed grows with the elements in use.  A conjunct that reads nothing of what a step writes is left out."""
        if task.kind == SAFETY:
            return [Goal(self.goal.name, self.goal.condition)]
        conjuncts = [each for of_lemma in self._conjuncts for each in of_lemma]
        if task.step is not None:
            written = self._find_written(task.step)
            conjuncts = [each for each in conjuncts if each.reads & written]
        return [Goal(BOUNDS, self._in_bounds), *(each.goal for each in conjuncts)]

    def _parts(self, lemma: Lemma) -> list[Conjunct]:
        """Return a lemma's conjuncts, each with the symbols of the state before a step that it reads."""
        k = Concluding(None, self._axes, [z3.Int("any!witness")])
        found = [k.lift(each) for each in lemma.conjuncts(k, OpenView(self.system, self.before))]
        many = len(found)

        def goal(number: int) -> Goal:
            name = lemma.name if many == 1 else f"{lemma.name}, {number + 1} of {many}"
            return Goal(name, lambda k, s: lemma.conjuncts(k, s)[number])

        return [Conjunct(goal(number), frozenset(find_symbols([each]))) for number, each in enumerate(found)]

    def _find_written(self, step: int) -> set[str]:
        """Return the symbols of the state before a step that it may change."""
        before, after = self.before, self.transitions[step][1]
        pairs = [(one, other) for one, other in zip(before.values, after.values, strict=True) if one is not other]
        found = {str(one) for one, _ in pairs}
        for name, functions in before.functions.items():
            changed = zip(functions, after.functions[name], strict=True)
            found |= {one.name() for one, other in changed if one is not other}  # type: ignore[attr-defined]
        return found

    def _in_bounds(self, k: Terms, s: Any) -> Any:
        found = []
        for number, slot in enumerate(self.system.slots):
            if slot.field.kind == "flag" or is_open(self.system, number):
                continue
            found.append(s.values[number] >= slot.low)
            if slot.field.name not in self._grown:
                found.append(s.values[number] <= slot.high)
        return k.all_of(*found)

    def asks_together(self, task: ProofTask) -> bool:
        """Return False: the obligations of a task are asked one by one."""
        return False

    def premises(self, task: ProofTask) -> list[Any]:
        """Return what is assumed of the state before a step, at the elements in use, and its guard; none for initial states."""
        if task.kind == INITIATION:
            return []
        guard: list[Any] = []
        if task.step is not None:
            guard = [*(each >= 0 for each in self.steps[task.step][1]), *self.transitions[task.step][0]]
        return [*self._assumed, *self._instances(self._elements(task), []), *guard]

    def refutation(self, task: ProofTask, goal: Goal) -> list[Any]:
        if task.kind == INITIATION:
            states = sorted({state for _, state in self.system.initial_states()})
            return [z3.Or([self._refute(make_open_initial(self.system, each), goal, [])[0] for each in states])]
        after = self.before if task.step is None else self.transitions[task.step][1]
        elements = self._elements(task)
        refuted, fresh = self._refute(after, goal, elements)
        return [*self._instances(elements, fresh), refuted] if fresh else [refuted]

    def _elements(self, task: ProofTask) -> list[Any]:
        """Return the elements in use: those that the state names, those that lemmas name, and the step's arguments."""
        slots = zip(self.system.slots, self.before.values, strict=True)
        named = [value for slot, value in slots if slot.field.name in self._indices]
        return [*named, *self._assuming.names(), *(self.steps[task.step][1] if task.step is not None else [])]

    def _instances(self, elements: Sequence[Any], fresh: Sequence[Any]) -> list[Any]:
        """Return every schema at all elements; with fresh ones, only where one of those takes part."""
        found = []
        schemas = list(enumerate(self._assuming.schemas))
        new = {each.get_id() for each in fresh}
        for number, schema in schemas:
            for chosen in product([*elements, *fresh], repeat=len(schema.variables)):
                if not fresh or any(each.get_id() in new for each in chosen):
                    instance = schema.at(chosen)
                    self._instantiated[instance.get_id()] = (instance, number, chosen)
                    found.append(instance)
        return found

    def _refute(self, state: OpenState, goal: Goal, witnesses: list[Any]) -> tuple[Any, list[Any]]:
        k = Concluding(None, self._axes, witnesses)
        concluded = k.lift(goal.predicate(k, OpenView(self.system, state)))
        require_positive(concluded, k.quantified)
        named = find_symbols([concluded])
        return z3.Not(concluded), [each for each in k.made if str(each) in named]

    def states(self, task: ProofTask, found: z3.ModelRef) -> tuple[State, State] | None:
        """Return None: a state without bounds may be no state of the system."""
        return None

    def definitions(self) -> list[tuple[str, Any, tuple[Any, ...]]]:
        """Return the schemas, as functions that instances call."""
        return [(_name_schema(number), each.formula, each.variables) for number, each in enumerate(self._assuming.schemas)]

    def text(self, term: Any) -> str:
        """Return a term in SMT-LIB 2; an instance of a schema as a call."""
        known = self._instantiated.get(term.get_id())
        if known is None:
            return str(term.sexpr())
        return f"({_name_schema(known[1])} {' '.join(each.sexpr() for each in known[2])})"


def _name_schema(number: int) -> str:
    return f"assumption!{number}"
