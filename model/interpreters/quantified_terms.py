"""The proving interpreter for every size: an axis has as many elements as one likes, and quantifiers stay quantifiers.

A number is an integer and an array over such an axis is a function.  The length of an axis is a constant without a value (of
the replicas), or there is none (of the epochs, by `Model.unbounded`).  So one reading of an action is about every size at once;
an action that goes over the elements of such an axis other than by `for_every`, `for_some`, `row` and `fill` is refused.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import count, product
from typing import Any, NoReturn

import z3

from neverlost.model.interpreters.terms import Terms
from neverlost.model.interpreters.unbounded_terms import require_positive
from neverlost.model.kernel import Action, Field, ModelError, Value, different
from neverlost.model.system import Step, System, View

Function = Callable[..., Any]
Functions = dict[str, dict[tuple[int, ...], Function]]
"""By field: for each index on the axes whose length is a number, a function of the indices on the other axes."""

REPLICA = "replica"
_numbers = count()


class Truth(z3.BoolRef):  # type: ignore[misc]
    """A comparison of elements, which Python must not decide: Z3 would answer whether they are written alike."""

    def __bool__(self) -> NoReturn:
        raise ModelError("an element of an axis without a length was used as a Python condition: use ite")


class Element(z3.ArithRef):  # type: ignore[misc]
    """An element of an axis whose length is no number."""

    def __init__(self, name: str) -> None:
        term = z3.Int(name)
        super().__init__(term.as_ast(), term.ctx)

    def __eq__(self, other: object) -> Any:
        """Return a term that Python must not decide; False for a negative Python number, which no element is."""
        return False if _is_negative(other) else Truth(super().__eq__(other).as_ast(), self.ctx)

    def __ne__(self, other: object) -> Any:
        return True if _is_negative(other) else Truth(super().__ne__(other).as_ast(), self.ctx)

    def __hash__(self) -> int:
        return int(super().__hash__())

    def __index__(self) -> NoReturn:
        raise ModelError("an element of an axis without a length was used as an index of a list: use row")


def _is_negative(other: object) -> bool:
    return isinstance(other, int) and other < 0


def make_fresh(axis: str) -> Element:
    """Return an element of an axis, under a name that nothing else has."""
    return Element(f"{axis}?{next(_numbers)}")


@dataclass(frozen=True)
class Quantified(Terms):
    """Primitives for every size; `lengths`: by axis without a number, its length, or None where its elements are all from 0."""

    lengths: Mapping[str, Any] = field(default_factory=dict)
    defined: list[Any] = field(default_factory=list, kw_only=True)
    """What is true of the numbers that `end_of` and `first_of` gave."""

    @property
    def open_axes(self) -> Mapping[str, Any]:
        """The axes that are quantified over, each with its length (None: all numbers from 0)."""
        return self.lengths

    def within(self, axis: str, element: Any) -> Any:
        """Return True if a number is an element of an axis."""
        length = self.lengths[axis]
        return element >= 0 if length is None else z3.And(element >= 0, element < length)

    def for_every(self, axis: str, body: Callable[[Any], Value]) -> Value:
        each = make_fresh(axis)
        return z3.ForAll([each], z3.Implies(self.within(axis, each), self.lift(body(each))))

    def for_some(self, axis: str, body: Callable[[Any], Value]) -> Value:
        each = make_fresh(axis)
        return z3.Exists([each], z3.And(self.within(axis, each), self.lift(body(each))))

    def end_of(self, axis: str, limit: Any, condition: Callable[[Any], Value]) -> Any:
        """Return a new number; `defined` has it one more than the last element below a limit that meets a condition, or 0."""
        end = z3.Int(f"end_of_{axis}!{len(self.defined)}")
        each = make_fresh(axis)
        last, none_later = self.lift(condition(end - 1)), z3.Not(self.lift(condition(each)))
        self.defined.append(z3.Or(end == 0, z3.And(end >= 1, end <= limit, last)))
        self.defined.append(z3.ForAll([each], z3.Implies(z3.And(each >= end, each < limit), none_later)))
        return end

    def first_of(self, axis: str, limit: Any, condition: Callable[[Any], Value]) -> Any:
        """Return a new number; `defined` has it the first element below a limit >= 0 that meets a condition, or the limit."""
        first = z3.Int(f"first_of_{axis}!{len(self.defined)}")
        each = make_fresh(axis)
        here, before, last_before = (self.lift(condition(at)) for at in (first, each, first - 1))
        self.defined.append(z3.And(first >= 0, z3.Or(first == limit, z3.And(first < limit, here))))
        self.defined.append(z3.ForAll([each], z3.Implies(z3.And(each >= 0, each < first), z3.Not(before))))
        self.defined.append(z3.Or(first == 0, z3.Not(last_before)))
        return first

    def row(self, axis: str, body: Callable[[Any], Value]) -> AxisRow:
        """Return a row: a value for each element of an axis, what `body` gives for it."""
        each = make_fresh(axis)
        return AxisRow(each, self.lift(body(each)), axis)

    def any_of(self, *conditions: Value) -> Value:  # type: ignore[override]
        """Return True if some condition holds; of a row that is spread, if it does at some element."""
        spread = [self.for_some(each.row.axis, each.row.__getitem__) for each in conditions if isinstance(each, Spread)]
        return Terms.any_of(*[each for each in conditions if not isinstance(each, Spread)], *spread)

    def any_truth(self) -> Any:
        """Return a truth value of which nothing is known."""
        return z3.Bool(f"any_truth!{next(_numbers)}")


@dataclass(frozen=True)
class AxisRow:
    """A value for each element of an axis: the term `value`, in which `element` stands for any of them."""

    element: Any
    value: Any
    axis: str = REPLICA

    def __getitem__(self, index: Any) -> Any:
        return z3.substitute(self.value, (self.element, _lift(index)))

    def copy(self) -> AxisRow:
        """Return the row itself, since nothing changes it."""
        return self

    def __iter__(self) -> Iterator[Spread]:
        """Yield one `Spread`, which stands for all elements where a row is spread into `any_of`."""
        yield Spread(self)


def copy_unless_list(elements: Any) -> Any:
    """Return what `elements` are now, which later writes do not change: always a new list, or an `AxisRow` of an open axis."""
    return elements.copy() if hasattr(elements, "copy") else list(elements)


@dataclass(frozen=True)
class Spread:
    """All elements of a row, as conditions of which `any_of` asks for one: no value, so that nothing else can use it."""

    row: AxisRow


@dataclass(frozen=True)
class Assumed(Quantified):
    """Primitives for an assumption: what it says to exist is a function of the elements that it is about, so that a conclusion
    may name it (`existing`: the function, the axes of its arguments, and its own)."""

    existing: list[tuple[Any, tuple[str, ...], str]] = field(default_factory=list)
    quantified: list[Any] = field(default_factory=list)
    scope: list[tuple[str, Any]] = field(default_factory=list)

    def for_every(self, axis: str, body: Callable[[Any], Value]) -> Value:
        """Return True if a condition holds of every element.  Errors: as of `require_positive`, for quantifiers inside it."""
        each = make_fresh(axis)
        self.scope.append((axis, each))
        inside = _check_positive(self.lift(body(each)), self.quantified)
        self.scope.pop()
        return _note(self.quantified, z3.ForAll([each], z3.Implies(self.within(axis, each), inside)))

    def for_some(self, axis: str, body: Callable[[Any], Value]) -> Value:
        """Return True if a condition holds of one element: a new function, put into `existing`, of the elements in `scope`."""
        sorts = [z3.IntSort()] * (len(self.scope) + 1)
        made = z3.Function(f"some_{axis}!{len(self.existing)}", *sorts)
        self.existing.append((made, tuple(each for each, _ in self.scope), axis))
        named = made(*[each for _, each in self.scope])
        return _note(self.quantified, z3.And(self.within(axis, named), self.lift(body(named))))


Witnesses = Callable[[int, Sequence[tuple[str, Any]]], Sequence[Any]]
"""Elements that may be what a conclusion says to exist: by the number of its `for_some`, and the elements that it is about."""


@dataclass(frozen=True)
class Concluded(Quantified):
    """Primitives for a conclusion: it is shown for fresh elements (`made` has those in scope), and on an axis with `witnesses`
    what it says to exist is one of the witnesses."""

    witnesses: Mapping[str, Witnesses] = field(default_factory=dict)
    quantified: list[Any] = field(default_factory=list)
    made: list[tuple[str, Any]] = field(default_factory=list)
    chosen: list[str] = field(default_factory=list)
    every: list[Any] = field(default_factory=list)
    under: list[str] = field(default_factory=list)

    def for_every(self, axis: str, body: Callable[[Any], Value]) -> Value:
        """Return True if a condition holds of a new element; inside a `for_some` without witnesses, if it holds of all."""
        if self.under:
            return super().for_every(axis, body)
        each = make_fresh(axis)
        self.made.append((axis, each))
        found = z3.Or(z3.Not(self.within(axis, each)), self.lift(body(each)))
        self.made.pop()
        self.every.append(found)
        return _note(self.quantified, found)

    def for_some(self, axis: str, body: Callable[[Any], Value]) -> Value:
        """Return True if a condition holds of one of the axis's witnesses; on an axis without them, of some element.

        Errors: `ModelError` if `require_positive` refuses the condition, on an axis without witnesses.
        """
        number = len(self.chosen)
        self.chosen.append(axis)
        if axis not in self.witnesses:
            self.under.append(axis)
            found = super().for_some(axis, lambda each: _check_positive(self.lift(body(each)), self.quantified))
            self.under.pop()
            return _note(self.quantified, found)
        chosen = self.witnesses[axis](number, self.made)
        return _note(self.quantified, z3.Or([z3.And(self.within(axis, each), self.lift(body(each))) for each in chosen]))


def _check_positive(term: Any, quantified: list[Any]) -> Any:
    """Return the term itself.  Errors: `ModelError` where `require_positive` refuses it."""
    require_positive(term, quantified)
    return term


def _note(quantified: list[Any], term: Any) -> Any:
    """Return the term itself, once it is noted as one that stands for a quantified condition."""
    quantified.append(term)
    return term


class QuantifiedSizes:
    """The sizes of a system, where an axis without a number has a constant for its length."""

    def __init__(self, sizes: Any, lengths: Mapping[str, Any]) -> None:
        self._sizes, self._lengths = sizes, lengths

    def __getattr__(self, name: str) -> Any:
        if name not in self._lengths:
            return getattr(self._sizes, name)
        length = self._lengths[name]
        return Length(f"length of {name}" if length is None else str(length), name)

    def __getitem__(self, axis: str) -> Any:
        return getattr(self, axis)


class Length(Element):
    """How many elements an axis has: no Python number."""

    def __init__(self, name: str, axis: str) -> None:
        super().__init__(name)
        self.axis = axis

    def __index__(self) -> NoReturn:
        raise ModelError("an action goes over the elements of an axis by itself: use for_every, for_some, row or fill")


class QuantifiedView(View):
    """A view of a state of every size; assignments go to a copy, `functions`."""

    __slots__ = ("functions", "lengths")
    functions: Functions
    lengths: Mapping[str, Any]

    def __init__(self, system: System, functions: Functions, lengths: Mapping[str, Any]) -> None:
        super().__init__(system)
        object.__setattr__(self, "functions", dict(functions))
        object.__setattr__(self, "lengths", lengths)

    def __getattr__(self, name: str) -> Any:
        declared = _find_field(self._system, name)
        return Array(self, declared, ()) if declared.axes else self.functions[name][()]()

    def __setattr__(self, name: str, value: Value) -> None:
        if _find_field(self._system, name).axes:
            raise ModelError(f"{name!r} is an array: assign its elements")
        self.functions[name] = {(): _make_constant(_lift(value))}

    @property
    def sizes(self) -> Any:
        """The system's sizes, where an axis without a number has a constant for its length."""
        return QuantifiedSizes(self._system.sizes, self.lengths)

    def is_open(self, axis: str) -> bool:
        """Return True if an axis has no number for its length."""
        return axis in self.lengths


def _find_field(system: System, name: str) -> Field:
    for each in system.fields:
        if each.name == name:
            return each
    raise ModelError(f"{system.model.name} has no field {name!r}")


class Array:
    """An array field, or a row of one, seen through a view."""

    def __init__(self, view: QuantifiedView, declared: Field, index: tuple[Any, ...]) -> None:
        self._view, self._field, self._index = view, declared, index

    @property
    def _axis(self) -> str:
        return self._field.axes[len(self._index)]

    @property
    def _is_last(self) -> bool:
        return len(self._index) + 1 == len(self._field.axes)

    def __len__(self) -> int:
        if self._view.is_open(self._axis):
            raise ModelError(f"an action goes over {self._field.name} by itself: use for_every, for_some, row or fill")
        return int(self._view._system.sizes[self._axis])

    def __iter__(self) -> Any:
        return iter([self[each] for each in range(len(self))])

    def __getitem__(self, at: Any) -> Any:
        if not self._view.is_open(self._axis) and not 0 <= at < len(self):
            raise IndexError(at)
        if not self._is_last:
            return Array(self._view, self._field, (*self._index, at))
        closed, opened = self._places((*self._index, at))
        return self._view.functions[self._field.name][closed](*opened)

    def select(self, at: Any) -> Any:
        """Return the element, or row, at an index on an axis whose length is no number.  Errors: `ModelError` on others."""
        if not self._view.is_open(self._axis):
            raise ModelError(f"{self._field.name} is read at a state's value: use at() with a list")
        return self[at]

    def __setitem__(self, at: Any, value: Any) -> None:
        if not self._is_last:
            raise ModelError(f"bad assignment to a row of {self._field.name}: use fill")
        closed, opened = self._places((*self._index, at))
        self._write(closed, opened, lambda _: _lift(value))

    def copy(self) -> Any:
        """Return the values of now, which later writes do not change: a list, or an `AxisRow` on an axis without a number."""
        if not self._view.is_open(self._axis):
            return list(self)
        place = make_fresh(self._axis)
        return AxisRow(place, self[place], self._axis)

    def store(self, at: Any, value: Any) -> None:
        """Effect: write `value` as the element, or as the row, at an index."""
        if self._is_last:
            self[at] = value
        else:
            Array(self._view, self._field, (*self._index, at)).fill(value)

    def fill(self, values: Any) -> None:
        """Effect: write every element of a row, each from the one of `values` at its place."""
        if not self._view.is_open(self._axis):
            for position in range(len(self)):
                self[position] = values[position]
            return
        closed, opened = self._places(self._index)
        place = make_fresh(self._axis)
        written = AxisRow(place, _lift(values[place]))
        self._write(closed, opened, lambda at: written[at[-1]])

    def _places(self, index: tuple[Any, ...]) -> tuple[tuple[int, ...], tuple[Any, ...]]:
        """Return an index as two tuples: first on the axes whose length is a number, then on the others."""
        pairs = list(zip(self._field.axes, index, strict=False))
        closed = tuple(each for axis, each in pairs if not self._view.is_open(axis))
        return closed, tuple(_lift(each) for axis, each in pairs if self._view.is_open(axis))

    def _write(self, closed: tuple[int, ...], opened: tuple[Any, ...], value: Callable[[tuple[Any, ...]], Any]) -> None:
        """Effect: at `closed`, the field's function gives `value(arguments)` if these begin with `opened`, else as before."""
        old = self._view.functions[self._field.name]
        before = old[closed]

        def read(*at: Any) -> Any:
            here = Terms.all_of(*[one == other for one, other in zip(at, opened, strict=False)])
            return value(at) if here is True else z3.If(here, value(at), before(*at))

        self._view.functions[self._field.name] = {**old, closed: read}


def _lift(value: Any) -> Any:
    if isinstance(value, bool):
        return z3.BoolVal(value)
    return z3.IntVal(value) if isinstance(value, int) else value


def _make_constant(value: Any) -> Function:
    return lambda *at: value


def list_lengths(system: System) -> dict[str, Any]:
    """Return by axis the lengths that are no number: None where the model leaves it unbounded, a constant for the replicas."""
    return {**{each.axis: None for each in system.model.unbounded}, REPLICA: Length("replication.factor", REPLICA)}


def variables(system: System, opened: Mapping[str, Any], suffix: str) -> Functions:
    """Return the symbolic state of every size whose constants and functions are named `field[index]@suffix`: one per suffix."""
    found: Functions = {}
    for declared in system.fields:
        sort = z3.BoolSort() if declared.kind == "flag" else z3.IntSort()
        known: dict[tuple[int, ...], Function] = {}
        arguments = [z3.IntSort()] * sum(axis in opened for axis in declared.axes)
        for index in list_closed_indices(system, declared, opened):
            name = declared.name + "".join(f"[{each}]" for each in index) + f"@{suffix}"
            known[index] = z3.Function(name, *arguments, sort) if arguments else _make_constant(z3.Const(name, sort))
        found[declared.name] = known
    return found


def read_frozen(systems: Sequence[System]) -> Functions:
    """Return the values of frozen fields under these systems' configurations; a field that differs among them is left out."""
    said: dict[str, set[int]] = {}
    for slot in (slot for each in systems for slot in each.slots if slot.field.frozen):
        said.setdefault(slot.name, set()).update((slot.low, slot.high))
    flags = {each.name for each in systems[0].fields if each.kind == "flag"}
    alike = {name: min(values) for name, values in said.items() if len(values) == 1}
    return {name: {(): _make_constant(bool(value) if name in flags else value)} for name, value in alike.items()}


def list_closed_indices(system: System, declared: Field, opened: Mapping[str, Any]) -> list[tuple[int, ...]]:
    """Return every index of a field on the axes whose length is a number."""
    return list(product(*[range(system.sizes[axis]) for axis in declared.axes if axis not in opened]))


def initial(system: System, opened: Mapping[str, Any]) -> list[Functions]:
    """Return the distinct initial states.  Errors: `ModelError` for one whose values differ along an axis without a number."""
    return [_make_uniform(system, opened, state) for state in sorted({state for _, state in system.initial_states()})]


def _make_uniform(system: System, opened: Mapping[str, Any], state: Sequence[int]) -> Functions:
    found: Functions = {each.name: {} for each in system.fields}
    seen: dict[tuple[str, tuple[int, ...]], int] = {}
    for slot, value in zip(system.slots, state, strict=True):
        closed = tuple(i for axis, i in zip(slot.field.axes, slot.index, strict=True) if axis not in opened)
        if seen.setdefault((slot.field.name, closed), value) != value:
            raise ModelError(f"{slot.field.name} does not begin alike everywhere")
        found[slot.field.name][closed] = _make_constant(_lift(bool(value) if slot.field.kind == "flag" else value))
    return found


@dataclass(frozen=True)
class GenericStep:
    """An action with an element for each argument on an axis whose length is no number; `where` says what these may be."""

    step: Step
    elements: tuple[tuple[str, Any], ...]
    where: tuple[Any, ...]

    @property
    def label(self) -> str:
        """The action's name with its arguments."""
        return self.step.label


def make_generic_steps(system: System, k: Quantified) -> list[GenericStep]:
    """Return every action, read once for all elements of the axes whose length is no number, and for each one of the others."""
    return [found for each in system.model.actions for found in _make_steps(system, k, each)]


def _make_steps(system: System, k: Quantified, action: Action) -> list[GenericStep]:
    closed = {name: axis for name, axis in action.parameters.items() if axis not in k.lengths}
    elements = {name: Element(name) for name, axis in action.parameters.items() if axis in k.lengths}
    found = []
    for values in product(*[system.sizes.along(axis) for axis in closed.values()]):
        arguments: dict[str, Any] = dict(zip(closed, values, strict=True))
        where = [k.within(action.parameters[name], each) for name, each in elements.items()]
        if action.where is different:
            where.append(z3.Distinct(list(elements.values())))
        elif action.where is not None:
            where.append(k.lift(action.where(**arguments, **elements)))
        step = Step(action, {name: {**elements, **arguments}[name] for name in action.parameters})
        found.append(GenericStep(step, tuple((action.parameters[name], each) for name, each in elements.items()), tuple(where)))
    return found


def transition(system: System, k: Quantified, given: GenericStep, before: Functions) -> tuple[list[Any], Functions]:
    """Return a step's conditions, in a list, and the state after it.

    They are the step's `where`, what defines the numbers of `end_of` and `first_of`, and the guard without clauses that bound
    axes or are disabled.  Errors: `ModelError` for a model that normalises its states.
    """
    if system.model.normalise is not None:
        raise ModelError(f"{system.model.name} has no reading for every size: its states are normalised")
    bounding = {each.clause for each in system.model.unbounded}
    view = QuantifiedView(system, before, k.lengths)
    k = replace(k, defined=[])
    guard = [
        k.lift(condition)
        for name, condition in given.step.run(k, view)
        if name not in bounding and (given.step.action.name, name) not in system.disabled
    ]
    return [*given.where, *k.defined, *guard], view.functions
