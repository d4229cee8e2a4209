"""What an inductive proof must show, as formulas: initiation, consecution step by step, and safety.

A `Reading` turns a system's state, steps and predicates into Z3 terms.  `BoundedEncoding` reads them within the declared
bounds, as bit-vectors.  Each obligation is a list of assertions that must be unsatisfiable together.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import z3

from neverlost.model.interpreters import ints
from neverlost.model.interpreters.terms import (
    Symbols,
    Terms,
    TermsView,
    bound_slots,
    compute_bit_width,
    lift_condition,
    read_state,
    transition,
    variables,
)
from neverlost.model.system import State, System, View
from neverlost.specs.lemma import Lemma
from neverlost.specs.property import Property

Predicate = Callable[[Any, View], Any]
INITIATION, CONSECUTION, SAFETY = "initiation", "consecution", "safety"
BOUNDS = "declared-bounds"
"""The implicit lemma that every slot stays within what is declared."""
LEAVES = "without the clause a step leaves the declared bounds"
"""Why a weakened system may be undecided: nothing within the bounds speaks about what it does beyond."""


@dataclass(frozen=True)
class ProofTask:
    """Obligations that share their premises: all initiations, all of one step, or the safety of the property."""

    kind: str
    step: int | None = None
    label: str = ""


@dataclass(frozen=True)
class Goal:
    """What an obligation concludes: a property, or a part of the named lemma, as a predicate."""

    name: str
    predicate: Predicate
    lemma: str = ""


class Reading(Protocol):
    """Obligations of one system under some lemmas."""

    logic: str
    solvers: tuple[str, ...]

    def tasks(self) -> list[ProofTask]: ...
    def goals(self, task: ProofTask) -> list[Goal]: ...
    def asks_together(self, task: ProofTask) -> bool: ...
    def premises(self, task: ProofTask) -> list[Any]: ...
    def refutation(self, task: ProofTask, goal: Goal) -> list[Any]: ...
    def states(self, task: ProofTask, found: z3.ModelRef) -> tuple[State, State] | None: ...
    def definitions(self) -> list[tuple[str, Any, tuple[Any, ...]]]: ...
    def text(self, term: Any) -> str: ...


class BoundedEncoding:
    """The reading within the declared bounds: numbers are bit-vectors, arrays have all their elements."""

    logic: str = "QF_BV"
    solvers: tuple[str, ...] = ("QF_FD", "QF_BV", "")

    def __init__(self, system: System, lemmas: Sequence[Lemma], goal: Property) -> None:
        self.system, self.lemmas, self.goal = system, tuple(lemmas), goal
        self.terms = Terms(compute_bit_width(system))
        self.before = variables(system, self.terms, "before")
        self._after: dict[int, tuple[list[Any], Symbols]] = {}
        self._after_bounds: dict[int, Any] = {}
        self._slot_names = {str(each): number for number, each in enumerate(map(_find_symbol, self.before)) if each is not None}
        self._conjuncts = {each.name: self._parts(each) for each in self.lemmas}
        self.lemma_terms = {name: _conjoin([term for term, _ in parts]) for name, parts in self._conjuncts.items()}
        self._assumed = self._assumptions()
        self._names = {each.get_id(): name for name, each, _ in self.definitions()}

    def tasks(self) -> list[ProofTask]:
        """Return every task, the initial states first."""
        steps = [ProofTask(CONSECUTION, number, step.label) for number, step in enumerate(self.system.steps)]
        return [ProofTask(INITIATION, label="initial states"), *steps, ProofTask(SAFETY, label=self.goal.name)]

    def goals(self, task: ProofTask) -> list[Goal]:
        """Return a task's conclusions: the property, or bounds and lemmas, but for those that read nothing a step writes."""
        if task.kind == SAFETY:
            return [Goal(self.goal.name, self.goal.condition)]
        disturbed = [each for each in self.lemmas if task.step is None or self._find_disturbed(task, each.name)]
        return [Goal(BOUNDS, self._in_bounds), *(Goal(each.name, each.condition) for each in disturbed)]

    def asks_together(self, task: ProofTask) -> bool:
        """Return True: a task's obligations are asked in one question first."""
        return True

    def _parts(self, lemma: Lemma) -> list[tuple[Any, frozenset[int]]]:
        """Return a lemma's conjuncts before a step, each with the slots that it reads."""
        terms = [self.terms.lift(each) for each in lemma.conjuncts(self.terms, TermsView(self.system, self.before))]
        return [(each, frozenset(self._slot_names[name] for name in find_symbols([each]))) for each in terms]

    def _find_written(self, task: ProofTask) -> set[int]:
        """Return the slots that a task's step may change."""
        after = self.take_step(task)[1]
        return {number for number, (one, other) in enumerate(zip(self.before, after, strict=True)) if one is not other}

    def _find_disturbed(self, task: ProofTask, name: str) -> list[Any]:
        """Return the conjuncts of a lemma that read what a step writes."""
        written = self._find_written(task)
        return [term for term, read in self._conjuncts[name] if read & written]

    def _in_bounds(self, k: Terms, s: View) -> Any:
        assert isinstance(s, TermsView)
        constants = [
            slot.low <= value <= slot.high
            for slot, value in zip(self.system.slots, s.values, strict=True)
            if isinstance(value, int)
        ]
        return k.all_of(*constants, *bound_slots(self.system, k, [k.lift(each) for each in s.values]))

    def premises(self, task: ProofTask) -> list[Any]:
        """Return what a task may assume: an initial state; or the assumptions before a step, and its guard."""
        if task.kind == INITIATION:
            return [self._one_of({state for _, state in self.system.initial_states()}, range(len(self.system.slots)))]
        return self._assumed + (self.take_step(task)[0] if task.step is not None else [])

    def _assumptions(self) -> list[Any]:
        """Return the bounds, the configuration and all lemmas before a step; built once, before processes are forked."""
        found = bound_slots(self.system, self.terms, self.before)
        frozen = [i for i, slot in enumerate(self.system.slots) if slot.field.frozen and not slot.is_constant]
        if frozen:
            found.append(self._one_of({state for _, state in self.system.initial_states()}, frozen))
        return found + list(self.lemma_terms.values())

    def definitions(self) -> list[tuple[str, Any, tuple[Any, ...]]]:
        """Return the assumptions by name: what all obligations but the initial ones share."""
        return [(f"assumption!{number}", each, ()) for number, each in enumerate(self._assumed)]

    def text(self, term: Any) -> str:
        known = self._names.get(term.get_id())
        return known if known is not None else str(term.sexpr())

    def _one_of(self, states: set[State], slots: Sequence[int]) -> Any:
        cells = {tuple((i, state[i]) for i in slots if z3.is_expr(self.before[i])) for state in states}
        return z3.Or([z3.And([self._equals(i, value) for i, value in cell]) for cell in sorted(cells)])

    def _equals(self, slot: int, value: int) -> Any:
        symbol = self.before[slot]
        return symbol == (z3.BoolVal(bool(value)) if z3.is_bool(symbol) else self.terms.lift(value))

    def take_step(self, task: ProofTask) -> tuple[list[Any], Symbols]:
        """Return the guard of a task's step and the state after it."""
        assert task.step is not None
        if task.step not in self._after:
            guard, after = transition(self.system, self.terms, self.system.steps[task.step], self.before)
            self._after[task.step] = [self.terms.lift(each) for _, each in guard], after
        return self._after[task.step]

    def refutation(self, task: ProofTask, goal: Goal) -> list[Any]:
        """Return the negated conclusion, on the state after the step if there is one.  For a lemma and a step there is first
        the assertion that this state is within the bounds."""
        if task.step is None:
            return [z3.Not(lift_condition(self.system, self.terms, self.before, goal.predicate))]
        after = self.take_step(task)[1]
        if goal.name == BOUNDS:
            return [z3.Not(lift_condition(self.system, self.terms, after, goal.predicate))]
        if task.step not in self._after_bounds:
            self._after_bounds[task.step] = lift_condition(self.system, self.terms, after, self._in_bounds)
        return [
            self._after_bounds[task.step],
            z3.Not(self.substitute_after(z3.And(self._find_disturbed(task, goal.name)), after)),
        ]

    def substitute_after(self, term: Any, after: Symbols) -> Any:
        """Return a formula on the state before a step, read on the state after it."""
        pairs = [
            (one, self.terms.lift(other))
            for one, other in zip(self.before, after, strict=True)
            if z3.is_expr(one) and one is not other
        ]
        return z3.substitute(term, *pairs) if pairs else term

    def states(self, task: ProofTask, found: z3.ModelRef) -> tuple[State, State] | None:
        """Return the state before and the state after in a Z3 model of a refuted obligation, the same without a step."""
        before = read_state(self.system, self.terms, found, self.before)
        after = before if task.step is None else read_state(self.system, self.terms, found, self.take_step(task)[1])
        return before, after


def _conjoin(terms: Sequence[Any]) -> Any:
    """Return the conjunction of terms; `true` for none, since Z3 writes an empty one in a form that no solver reads."""
    return z3.And(terms) if terms else z3.BoolVal(True)


def _find_symbol(value: Any) -> Any:
    """Return the variable inside a slot's term; None for a constant."""
    while z3.is_expr(value) and value.num_args():
        value = value.arg(0)
    return value if z3.is_expr(value) else None


def find_symbols(terms: Iterable[Any]) -> dict[str, Any]:
    """Return the declarations of the uninterpreted symbols (constants and functions) of some terms, by name."""
    found: dict[str, Any] = {}
    seen: set[int] = set()
    stack = list(terms)
    while stack:
        term = stack.pop()
        if term.get_id() in seen:
            continue
        seen.add(term.get_id())
        if z3.is_app(term) and term.decl().kind() == z3.Z3_OP_UNINTERPRETED:
            found[term.decl().name()] = term.decl()
        stack.extend(term.children())
    return found


def find_inductive(system: System, lemmas: Sequence[Lemma]) -> list[Lemma]:
    """Return the lemmas that hold at first and that every step keeps if all of them hold before; none if a solver gives up."""
    first = [state for _, state in system.initial_states()]
    live = [each for each in lemmas if all(ints.evaluate(system, state, each.condition) for state in first)]
    reading = BoundedEncoding(system, live, Property("nothing", "", lambda k, s: True, (), ""))
    solvers = {task: _make_breaking_solver(reading, task, live) for task in reading.tasks() if task.step is not None}
    stale = set(solvers)
    while stale:
        task = min(stale, key=lambda each: each.step or 0)
        broken = _find_broken(solvers[task], live)
        if not broken:
            stale.discard(task)
            continue
        live = [each for each in live if each.name not in broken]
        stale = set(solvers)
    return live


def _make_breaking_solver(reading: BoundedEncoding, task: ProofTask, lemmas: Sequence[Lemma]) -> Any:
    """Return a solver in which a lemma may be assumed before a step, and be asked to fail after it."""
    solver = z3.SolverFor("QF_FD")
    guard, after = reading.take_step(task)
    solver.add(*bound_slots(reading.system, reading.terms, reading.before), *guard)
    for each, term in zip(lemmas, reading.lemma_terms.values(), strict=True):
        solver.add(z3.Implies(z3.Bool(f"holds:{each.name}"), term))
        solver.add(z3.Implies(z3.Bool(f"fails:{each.name}"), z3.Not(reading.substitute_after(term, after))))
    return solver


def _find_broken(solver: Any, live: Sequence[Lemma]) -> set[str]:
    """Return the names of lemmas that fail in one Z3 model, if any can; those of all where the solver gives up."""
    if not live:
        return set()
    asked = z3.FreshBool("asked")
    solver.add(z3.Implies(asked, z3.Or([z3.Bool(f"fails:{each.name}") for each in live])))
    answer = solver.check(asked, *[z3.Bool(f"holds:{each.name}") for each in live])
    if answer == z3.unsat:
        return set()
    if answer != z3.sat:
        return {each.name for each in live}
    return {each.name for each in live if z3.is_true(solver.model().eval(z3.Bool(f"fails:{each.name}")))}
