"""Obligations for every number of replicas: actions and lemmas are read once, with quantifiers over the replicas.

Nothing is enumerated but what stays bounded (the slots of a log), so `unsat` is a proof for every size at once.  An assumption
is used as it is; a conclusion is shown for elements of which nothing is known.  A model is refused whose fields or initial
states depend on the number of replicas other than by having one element for each.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import product
from typing import Any

import z3

from neverlost.checker.engine.proof.obligations import BOUNDS, CONSECUTION, INITIATION, SAFETY, Goal, ProofTask
from neverlost.model.interpreters.quantified_terms import (
    REPLICA,
    Assumed,
    Concluded,
    Functions,
    Quantified,
    QuantifiedView,
    Witnesses,
    initial,
    list_closed_indices,
    list_lengths,
    make_generic_steps,
    transition,
    variables,
)
from neverlost.model.interpreters.unbounded_terms import require_positive
from neverlost.model.kernel import Field, ModelError
from neverlost.model.system import State, System, bind
from neverlost.specs.errors import InputError
from neverlost.specs.lemma import Lemma
from neverlost.specs.property import Property

OWN, NAMED, OTHERS, ALL = "own", "named", "others", "all"
WITNESS_STRATEGIES = (OWN, NAMED, OTHERS, ALL)
"""Witnesses: what assumptions say to exist for the same elements; also what the state names; or for a step's arguments; all."""

COMPARED = range(1, 9)
"""The numbers of replicas at which fields and initial states are compared: they are the one part that is not read for all."""


class ParametricEncoding:
    """The reading for every number of replicas, and of all else that the model leaves without a bound.

    Errors: `InputError` for a model that has no such reading, and why.
    """

    logic: str = "UFLIA"
    solvers: tuple[str, ...] = ("cvc5", "")

    def __init__(self, system: System, lemmas: Sequence[Lemma], goal: Property) -> None:
        self.system, self.lemmas, self.goal = system, tuple(lemmas), goal
        self._lengths = list_lengths(system)
        self.unbounded = tuple(f"{axis}s" for axis in self._lengths)
        self._k = self._make_primitives()
        try:
            self.before = variables(system, self._lengths, "before") | self._configuration()
            self._first, self._begins = self._begin()
            self.steps = make_generic_steps(system, self._k)
            self.transitions = [transition(system, self._k, each, self.before) for each in self.steps]
            self._starts: dict[str, int] = {}
            self._assuming = Assumed(None, self._lengths)
            self._assumed = [self._lengths[REPLICA] >= 1, *self._read(self._assuming)]
            self._parts = {each.name: self._shape(each) for each in lemmas}
            self._enough: dict[tuple[ProofTask, str], str] = {}
        except ModelError as problem:
            raise refuse(system, problem) from None

    def _make_primitives(self) -> Quantified:
        """Return the primitives of actions."""
        return Quantified(None, self._lengths)

    def _configuration(self) -> Functions:
        """Return the fields that are read as numbers, because they are configured: here none."""
        return {}

    def _begin(self) -> tuple[list[Functions], list[Any]]:
        """Return the initial states, and what is known of them."""
        require_alike(self.system)
        return initial(self.system, self._lengths), []

    def _shape(self, lemma: Lemma) -> list[int]:
        """Return how many parts each conjunct of a lemma has."""
        k = self._concluding([], ALL, lemma.name)
        return [len(split_conclusion(k, k.lift(each))) for each in lemma.conjuncts(k, self._view(self.before))]

    def _view(self, state: Functions) -> QuantifiedView:
        return QuantifiedView(self.system, state, self._lengths)

    def _read(self, k: Assumed) -> list[Any]:
        view = self._view(self.before)
        found = [k.lift(self._in_bounds(k, view))]
        for each in self.lemmas:
            self._starts[each.name] = len(k.existing)
            found += [k.lift(conjunct) for conjunct in each.conjuncts(k, view)]
        for term in found:
            require_positive(term, k.quantified)
        return found

    def _concluding(self, arguments: Sequence[tuple[str, Any]], choice: str, lemma: str) -> Concluded:
        """Return primitives for a conclusion about a step with these arguments."""
        axes = {each.axis for each in self.system.model.unbounded if each.indices}
        return Concluded(
            None, self._lengths, {axis: self._witnesses(axis, arguments, choice, self._starts.get(lemma, 0)) for axis in axes}
        )

    def _witnesses(self, axis: str, arguments: Sequence[tuple[str, Any]], choice: str, start: int) -> Witnesses:
        """Return a function that lists, for an assumption's number and the elements that a conclusion is about, elements of
        `axis`: those that the assumption says to exist for these; for `OTHERS` also for a step's arguments; for `NAMED` also
        those that the state names; for `ALL` all that, and the arguments and the elements themselves."""
        names = {name for each in self.system.model.unbounded if each.axis == axis for name in each.indices}

        def found(number: int, made: Sequence[tuple[str, Any]]) -> list[Any]:
            function, scope, _ = self._assuming.existing[start + number]
            elements = [function(*[each for _, each in made])] if [of for of, _ in made] == list(scope) else []
            if choice in (OTHERS, ALL):
                given = {of for of, _ in arguments}
                elements += self._apply(function, scope, [*arguments, *((of, each) for of, each in made if of not in given)])
            if choice in (NAMED, ALL):
                for declared in self.system.fields:
                    if declared.name in names:
                        elements += self._apply(self.before[declared.name][()], declared.axes, arguments)
            if choice == ALL:
                elements += [each for of, each in [*arguments, *made] if of == axis]
            return elements

        return found

    def _apply(self, function: Any, axes: Sequence[str], known: Sequence[tuple[str, Any]]) -> list[Any]:
        """Return the values of a function at every combination of known elements of its axes."""
        return [function(*chosen) for chosen in product(*[[each for of, each in known if of == axis] for axis in axes])]

    def _in_bounds(self, k: Quantified, s: Any) -> Any:
        """Return the condition that every number is within its bounds; one that grows with an axis has only a lower one."""
        grown = {name for each in self.system.model.unbounded for name in each.fields}
        return k.all_of(*[self._field_in_bounds(k, s, each, each.name in grown) for each in self.system.fields])

    def _field_in_bounds(self, k: Quantified, s: QuantifiedView, declared: Field, is_grown: bool) -> Any:
        if declared.kind == "flag":
            return True
        open_axes = [axis for axis in declared.axes if axis in self._lengths]
        high = self._lengths[REPLICA] - 1 if declared.kind == "replica" else declared.high

        def within(value: Any) -> Any:
            return value >= declared.low if is_grown else k.all_of(value >= declared.low, value <= high)

        def at(function: Any, axes: Sequence[str], index: tuple[Any, ...]) -> Any:
            if not axes:
                return within(function(*index))
            return k.for_every(axes[0], lambda each: at(function, axes[1:], (*index, each)))

        return k.all_of(
            *[
                at(s.functions[declared.name][index], open_axes, ())
                for index in list_closed_indices(self.system, declared, self._lengths)
            ]
        )

    def tasks(self) -> list[ProofTask]:
        """Return every task: an action is one, whatever its arguments on axes without a length."""
        steps = [ProofTask(CONSECUTION, number, each.label) for number, each in enumerate(self.steps)]
        return [ProofTask(INITIATION, label="initial states"), *steps, ProofTask(SAFETY, label=self.goal.name)]

    def goals(self, task: ProofTask) -> list[Goal]:
        """Return the conclusions of a task: the property, or the bounds and each part of a lemma by itself."""
        if task.kind == SAFETY:
            return [Goal(self.goal.name, self.goal.condition)]
        return [Goal(BOUNDS, self._in_bounds), *(goal for each in self.lemmas for goal in _list_conclusions(each, self._parts))]

    def asks_together(self, task: ProofTask) -> bool:
        """Return False: a task's obligations are never asked in one question first."""
        return False

    def premises(self, task: ProofTask) -> list[Any]:
        """Return what is assumed of the initial states; else of the state before a step (bounds and lemmas), and its guard."""
        if task.kind == INITIATION:
            return [self._lengths[REPLICA] >= 1, *self._begins]
        return [*self._assumed, *(self.transitions[task.step][0] if task.step is not None else [])]

    def refutation(self, task: ProofTask, goal: Goal) -> list[Any]:
        """Return the negated conclusion, with the witnesses that `is_enough` noted for it; else with all."""
        if task.kind == INITIATION:
            return [self._k.any_of(*[self._refute(each, goal, ALL, []) for each in self._first])]
        after = self.before if task.step is None else self.transitions[task.step][1]
        arguments = () if task.step is None else self.steps[task.step].elements
        return [self._refute(after, goal, self._enough.get((task, goal.name), ALL), arguments)]

    def attempts(self, task: ProofTask, goal: Goal) -> list[str]:
        """Return which witnesses to try, in order, for what a conclusion says to exist; only `ALL` if it says none to exist."""
        if task.step is None:
            return [ALL]
        k = self._concluding(self.steps[task.step].elements, ALL, goal.lemma)
        goal.predicate(k, self._view(self.transitions[task.step][1]))
        return list(WITNESS_STRATEGIES) if set(k.chosen) & set(k.witnesses) else [ALL]

    def is_enough(self, task: ProofTask, goal: Goal, choice: str) -> None:
        """Note the choice of witnesses with which a conclusion is asked from now on."""
        self._enough[task, goal.name] = choice

    def _refute(self, state: Functions, goal: Goal, choice: str, arguments: Sequence[tuple[str, Any]]) -> Any:
        k = self._concluding(arguments, choice, goal.lemma)
        concluded = k.lift(goal.predicate(k, self._view(state)))
        require_positive(concluded, k.quantified)
        return z3.Not(concluded)

    def states(self, task: ProofTask, found: z3.ModelRef) -> tuple[State, State] | None:
        """Return None: a state of another size may be none of the system's."""
        return None

    def definitions(self) -> list[tuple[str, Any, tuple[Any, ...]]]:
        """Return an empty list: assumptions are written once in each file as they are."""
        return []

    def text(self, term: Any) -> str:
        """Return a term in SMT-LIB 2."""
        return str(term.sexpr())


def refuse(system: System, problem: ModelError) -> InputError:
    """Return the error that says that a model has no reading for every number of replicas, and why."""
    return InputError(f"model {system.model.name!r} has no reading for every number of replicas: {problem}")


def _list_conclusions(lemma: Lemma, shapes: Mapping[str, Sequence[int]]) -> Iterator[Goal]:
    """Yield a goal for each part of each conjunct of a lemma."""
    places = [(conjunct, part) for conjunct, many in enumerate(shapes[lemma.name]) for part in range(many)]
    for number, (conjunct, part) in enumerate(places, start=1):
        name = lemma.name if len(places) == 1 else f"{lemma.name}, {number} of {len(places)}"
        yield Goal(name, _choose_part(lemma, conjunct, part), lemma.name)


def _choose_part(lemma: Lemma, conjunct: int, part: int) -> Callable[[Any, Any], Any]:
    return lambda k, s: split_conclusion(k, k.lift(lemma.conjuncts(k, s)[conjunct]))[part]


def split_conclusion(k: Concluded, term: Any) -> list[Any]:
    """Return a conclusion's parts, each to be shown by itself, if what it says to exist must be named; else only itself."""
    if not set(k.chosen) & set(k.witnesses):
        return [term]
    if z3.is_and(term):
        return [part for each in term.children() for part in split_conclusion(k, each)]
    if z3.is_or(term) and any(term.eq(each) for each in k.every):
        outside, inside = term.children()
        return [z3.Or(outside, part) for part in split_conclusion(k, inside)]
    return [term]


def require_alike(system: System) -> None:
    """Raise `ModelError` where fields or initial states are others, but in number, with more replicas or fewer."""
    opened = list_lengths(system)
    for other in resize(system):
        if [_describe_values(each) for each in initial(other, opened)] != [
            _describe_values(each) for each in initial(system, opened)
        ]:
            raise ModelError(f"its initial states depend on {FACTOR}")


FACTOR = "replication.factor"


def resize(system: System) -> Iterator[System]:
    """Yield the system with each number of replicas in `COMPARED`.  Errors: `ModelError` where its fields are others."""
    for replicas in COMPARED:
        other = bind(system.model, *[{**each, FACTOR: replicas} for each in system.configurations])
        if _describe_shapes(other) != _describe_shapes(system):
            raise ModelError(f"its fields depend on {FACTOR}")
        yield other


def _describe_shapes(system: System) -> list[tuple[Any, ...]]:
    """Return the fields without their number of elements; a field of replicas also without its highest value."""
    return [
        (each.name, each.axes, each.kind, each.frozen, each.low, None if each.kind == "replica" else each.high)
        for each in system.fields
    ]


def _describe_values(state: Functions) -> dict[str, dict[tuple[int, ...], str]]:
    return {name: {index: str(each()) for index, each in known.items()} for name, known in state.items()}
