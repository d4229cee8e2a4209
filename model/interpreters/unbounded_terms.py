"""The proving interpreter without bounds: numbers are integers, and an array over an unbounded axis is a function.

Quantifiers over such an axis are made finite here, in the way that keeps a proof sound: an assumption is used at chosen
elements only, a conclusion is shown for a fresh element; what an assumption says to exist gets a fresh name, and what a
conclusion says to exist must be one of the chosen elements.  So every obligation is free of quantifiers.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from typing import Any

import z3

from neverlost.model.interpreters.terms import Symbols, Terms, TermsView
from neverlost.model.kernel import ModelError, Value
from neverlost.model.system import State, Step, System

Function = Callable[[Any], Any]


@dataclass(frozen=True)
class Concluding(Terms):
    """Primitives for a conclusion: `chosen` are the elements that may witness a `for_some`, `made` the fresh ones."""

    open_axes: Collection[str] = ()
    chosen: Sequence[Any] = ()
    made: list[Any] = field(default_factory=list)
    quantified: list[Any] = field(default_factory=list)

    def for_every(self, axis: str, body: Callable[[Any], Value]) -> Value:
        """Return True if a condition holds of a new element of which nothing is known; the element is added to `made`."""
        self.made.append(z3.Int(f"any_{axis}!{len(self.made)}"))
        fresh = self.made[-1]
        return _note(self.quantified, z3.Or(z3.Not(fresh >= 0), self.lift(body(fresh))))

    def for_some(self, axis: str, body: Callable[[Any], Value]) -> Value:
        """Return True if a condition holds of one of the elements in `chosen`."""
        return _note(self.quantified, z3.Or([z3.And(each >= 0, self.lift(body(each))) for each in self.chosen]))


@dataclass(frozen=True)
class Schema:
    """A formula that may be used at any elements."""

    variables: tuple[Any, ...]
    formula: Any

    def at(self, elements: Sequence[Any]) -> Any:
        """Return the formula at as many elements as it has variables."""
        return z3.substitute(self.formula, *zip(self.variables, elements, strict=True))


@dataclass(frozen=True)
class Assuming(Terms):
    """Primitives for assumptions: each `for_every` becomes a name, with a schema of what that name implies."""

    open_axes: Collection[str] = ()
    schemas: list[Schema] = field(default_factory=list)
    made: list[Any] = field(default_factory=list)
    scope: list[Any] = field(default_factory=list)
    quantified: list[Any] = field(default_factory=list)

    def for_every(self, axis: str, body: Callable[[Any], Value]) -> Value:
        """Return a name for "it holds of all"; add its meaning to `schemas`.  Errors: `ModelError`, see `require_positive`."""
        number = len(self.schemas)
        variable = z3.Int(f"{axis}?{number}")
        self.schemas.append(Schema((), None))
        holds = self._name_term(f"every_{axis}!{number}", z3.BoolSort())
        self.scope.append(variable)
        conclusion = self.lift(body(variable))
        require_positive(conclusion, self.quantified)
        formula = z3.Implies(z3.And(holds, *(each >= 0 for each in self.scope)), conclusion)
        self.schemas[number] = Schema(tuple(self.scope), formula)
        self.scope.pop()
        return _note(self.quantified, holds)

    def for_some(self, axis: str, body: Callable[[Any], Value]) -> Value:
        """Return True if a condition holds of a new element of which nothing else is known; the element is added to `made`."""
        fresh = self._name_term(f"some_{axis}!{len(self.made)}", z3.IntSort())
        self.made.append(fresh)
        return _note(self.quantified, z3.And(fresh >= 0, self.lift(body(fresh))))

    def _name_term(self, name: str, sort: Any) -> Any:
        """Return a new constant; inside a `for_every`, a new function, applied to the elements of those around it."""
        if not self.scope:
            return z3.Const(name, sort)
        return z3.Function(name, *[z3.IntSort()] * len(self.scope), sort)(*self.scope)

    def names(self) -> list[Any]:
        """Return the new elements that `for_some` has made and that depend on no other element."""
        return [each for each in self.made if each.num_args() == 0]


def _note(quantified: list[Any], term: Any) -> Any:
    """Return the term itself, once it is noted as one that stands for a quantified condition."""
    quantified.append(term)
    return term


def require_positive(term: Any, quantified: Sequence[Any]) -> None:
    """Errors: `ModelError` where in `term` one of the `quantified` stands under anything but conjunctions and disjunctions.

    There its finite reading would be stronger as an assumption, or weaker as a conclusion: what it proves would be wrong.
    """
    marked = {each.get_id() for each in quantified}
    seen: set[tuple[int, bool]] = set()
    stack = [(term, True)]
    while stack:
        here, is_positive = stack.pop()
        if (here.get_id(), is_positive) in seen:
            continue
        seen.add((here.get_id(), is_positive))
        if here.get_id() in marked and not is_positive:
            raise ModelError("for_every and for_some must not stand under a negation, a choice or a comparison")
        keeps = z3.is_and(here) or z3.is_or(here)
        stack += [(each, is_positive and keeps) for each in here.children()]


@dataclass(frozen=True)
class OpenState:
    """Values of the slots, and for each field over an unbounded axis (whose values are None) a function per inner element."""

    values: Symbols
    functions: dict[str, list[Function]]


class OpenView(TermsView):
    """A view of a state without bounds; assignments go to a copy, which `state` returns."""

    __slots__ = ("functions",)
    functions: dict[str, list[Function]]

    def __init__(self, system: System, state: OpenState) -> None:
        super().__init__(system, state.values)
        object.__setattr__(self, "functions", dict(state.functions))

    def __getattr__(self, name: str) -> Any:
        if name in self.functions:
            return OpenArray(self, name)
        return super().__getattr__(name)

    def state(self) -> OpenState:
        return OpenState(self.values, self.functions)


class OpenArray:
    """A field over an unbounded axis, seen through a view."""

    def __init__(self, view: OpenView, name: str) -> None:
        self._view, self._name = view, name
        self._is_row = len(view._system.places[name][1]) > 1

    def select(self, index: Any) -> Any:
        found = [each(index) for each in self._view.functions[self._name]]
        return found if self._is_row else found[0]

    __getitem__ = select

    def store(self, index: Any, value: Any) -> None:
        """Effect: write `value` as the element, or as the row, at an index."""
        values = value if self._is_row else [value]
        old = self._view.functions[self._name]
        self._view.functions[self._name] = [_update(*each, index) for each in zip(old, values, strict=True)]


def _update(function: Function, value: Any, index: Any) -> Function:
    def read(at: Any) -> Any:
        before = function(at)
        return z3.If(at == index, _lift(value), before)

    return read


def _lift(value: Any) -> Any:
    if isinstance(value, bool):
        return z3.BoolVal(value)
    return z3.IntVal(value) if isinstance(value, int) else value


def list_open_axes(system: System) -> dict[str, str]:
    """Return by unbounded axis the clause that bounds it; an empty dict where the model has none.

    Errors: `ModelError` for a field with such an axis anywhere but first of at most two.
    """
    axes = {each.axis: each.clause for each in system.model.unbounded}
    for declared in system.fields:
        if set(declared.axes[1:]) & set(axes) or (len(declared.axes) > 2 and declared.axes[0] in axes):
            raise ModelError(f"{declared.name} cannot be read without bounds")
    return axes


def is_open(system: System, slot: int) -> bool:
    """Return True if a slot is an element of an array over an unbounded axis."""
    declared = system.slots[slot].field
    return bool(declared.axes) and declared.axes[0] in list_open_axes(system)


def make_open_variables(system: System, suffix: str) -> OpenState:
    """Return a symbolic state without bounds, whose variables and functions are named `field[index]@suffix`."""
    values: Symbols = []
    functions: dict[str, list[Function]] = {}
    terms = Terms(None)
    for number, slot in enumerate(system.slots):
        name = f"{slot.name}@{suffix}"
        if not is_open(system, number):
            values.append(terms.variable(name, slot))
            continue
        values.append(None)
        if slot.index[0] == 0:
            result = z3.BoolSort() if slot.field.kind == "flag" else z3.IntSort()
            inner = "".join(f"[{each}]" for each in slot.index[1:])
            functions.setdefault(slot.field.name, []).append(
                z3.Function(f"{slot.field.name}{inner}@{suffix}", z3.IntSort(), result)
            )
    return OpenState(values, functions)


def make_open_initial(system: System, state: State) -> OpenState:
    """Return an initial state as one without bounds.  Errors: `ModelError` if values differ along an unbounded axis."""
    values: Symbols = []
    functions: dict[str, list[Function]] = {}
    for number, (slot, value) in enumerate(zip(system.slots, state, strict=True)):
        known = bool(value) if slot.field.kind == "flag" else value
        if not is_open(system, number):
            values.append(known)
            continue
        values.append(None)
        first = next(i for i, each in enumerate(system.slots) if each.field is slot.field and each.index[1:] == slot.index[1:])
        if state[first] != value:
            raise ModelError(f"{slot.field.name} does not begin alike everywhere")
        if slot.index[0] == 0:
            functions.setdefault(slot.field.name, []).append(_make_constant(known))
    return OpenState(values, functions)


def _make_constant(value: Any) -> Function:
    return lambda at: _lift(value)


def take_open_step(system: System, step: Step, before: OpenState) -> tuple[list[Any], OpenState]:
    """Return a step's guard without clauses that bound axes or are disabled, and the state after it.

    Errors: `ModelError` for a model that normalises its states.
    """
    terms = Terms(None)
    clauses = set(list_open_axes(system).values())
    view = OpenView(system, before)
    guard = [
        terms.lift(condition)
        for name, condition in step.run(terms, view)
        if name not in clauses and (step.action.name, name) not in system.disabled
    ]
    if system.model.normalise is not None:
        raise ModelError(f"{system.model.name} cannot be read without bounds: its states are normalised")
    return guard, view.state()


def make_open_steps(system: System) -> list[tuple[Step, list[Any]]]:
    """Return the steps, each with its variables: for an argument over an unbounded axis one variable in place of all values."""
    axes = list_open_axes(system)
    found: dict[tuple[Any, ...], tuple[Step, list[Any]]] = {}
    for step in system.steps:
        arguments: dict[str, Any] = dict(step.arguments)
        variables = {name: z3.Int(name) for name, axis in step.action.parameters.items() if axis in axes}
        kept = tuple(sorted((name, value) for name, value in arguments.items() if name not in variables))
        found.setdefault((step.action.name, kept), (Step(step.action, arguments | variables), list(variables.values())))
    return list(found.values())
