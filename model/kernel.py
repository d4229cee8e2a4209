"""The closed vocabulary in which a protocol is written once and read by several interpreters.

A protocol is a tuple of `Action`s over `Field`s.  An action is one generator function: it yields its named guard clauses first
and then assigns to the state; the assignments run only where every clause held.  Values are of a kind that the function does
not know (a Python int, a NumPy column, a Z3 term), so it combines them by arithmetic, comparison and `Primitives` only.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from itertools import product
from typing import Any, NoReturn, Protocol

Value = Any
"""A state value of whatever kind the interpreter reads: an int, a column, a register, a term or an expression."""

NO_REPLICA = -1
"""The value of a replica-valued field that names no replica."""


class ModelError(Exception):
    """The model itself is wrong: a value outside its declared bounds, an unknown field."""


class StateValue:
    """A value that is not known while functions are read; as a Python condition it raises `ModelError`."""

    __slots__ = ()

    def __bool__(self) -> NoReturn:
        raise ModelError("a state value was used as a Python condition: use all_of, any_of, not_ or ite")

    __hash__ = None  # type: ignore[assignment]


class Primitives(Protocol):
    """What an interpreter must supply; everything else is Python's own arithmetic and comparison."""

    def all_of(self, *conditions: Value) -> Value: ...
    def any_of(self, *conditions: Value) -> Value: ...
    def not_(self, condition: Value) -> Value: ...
    def ite(self, condition: Value, then: Value, otherwise: Value) -> Value: ...


@dataclass(frozen=True)
class Field:
    """A declared state variable: a scalar, or an array over named axes.

    Units: `low` and `high` are inclusive bounds of each element.  `kind` is `number`, `flag` (a boolean) or `replica` (a
    replica's index, or `NO_REPLICA`).  A `frozen` field is configuration: it is read like the others and never assigned.
    """

    name: str
    low: int = 0
    high: int = 1
    axes: tuple[str, ...] = ()
    kind: str = "number"
    frozen: bool = False


def flag(name: str, *axes: str, frozen: bool = False) -> Field:
    """Return the declaration of a boolean field: a scalar, or an array over these axes."""
    return Field(name, 0, 1, axes, "flag", frozen)


def number(name: str, low: int, high: int, *axes: str, frozen: bool = False) -> Field:
    """Return the declaration of a bounded integer field: a scalar, or an array over these axes."""
    return Field(name, low, high, axes, "number", frozen)


def replica_id(name: str, replicas: int, *axes: str) -> Field:
    """Return the declaration of a field that names a replica or none: a scalar, or an array over these axes."""
    return Field(name, NO_REPLICA, replicas - 1, axes, "replica")


class Sizes(Mapping[str, int]):
    """Base class of a model's sizes, which are a frozen dataclass of the axes' lengths and of what else the layout depends on.

    Axes are named by text, so it is a mapping too, of its attributes that are ints.  Systems with equal sizes have one layout.
    """

    def __getitem__(self, axis: str) -> int:
        try:
            return int(getattr(self, axis))
        except AttributeError:
            raise KeyError(axis) from None

    def __iter__(self) -> Iterator[str]:
        named = (each.name for each in fields(self))  # type: ignore[arg-type]
        return (name for name in named if isinstance(getattr(self, name), int))

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def paid_by(self, fault: str) -> str:
        """Return the kind of fault whose limit a fault spends: itself, unless a model's sizes say otherwise."""
        return fault

    def along(self, axis: str) -> range:
        """Return the values of a parameter on an axis: from 0 to its length - 1, unless a model's sizes say otherwise."""
        return range(self[axis])


Clauses = Generator[tuple[str, Value], None, None]
"""What an action yields: a clause's name and its condition."""

BOUND = "bound:"
"""Prefix of a clause that only keeps the exploration finite; it is no part of the protocol."""


@dataclass(frozen=True)
class Action:
    """A named guarded step with finite parameters.

    `parameters` maps each parameter to the axis of the sizes that it ranges over.  `where` is true of the combinations that
    make sense (not of a replica that fetches from itself).  `fault` names the kind of fault that the step is, if it is one.
    `can_be_left_out` marks one that makes many states and few violations need: a quick search for violations leaves it out.
    """

    name: str
    body: Callable[..., Clauses]
    parameters: Mapping[str, str]
    where: Callable[..., bool] | None = None
    says: str = ""
    fault: str | None = None
    can_be_left_out: bool = False

    def arguments(self, sizes: Sizes) -> Iterator[dict[str, int]]:
        """Yield each combination of parameter values that `where` allows, by parameter; the last parameter changes fastest."""
        for values in product(*(sizes.along(axis) for axis in self.parameters.values())):
            chosen = dict(zip(self.parameters, values, strict=True))
            if self.where is None or self.where(**chosen):
                yield chosen

    @property
    def source(self) -> tuple[str, int]:
        """File and first line of the body, for reports."""
        code = inspect.unwrap(self.body).__code__
        return code.co_filename, code.co_firstlineno


def action(
    where: Callable[..., bool] | None = None,
    says: str = "",
    fault: str | None = None,
    can_be_left_out: bool = False,
    **parameters: str,
) -> Callable[[Callable[..., Clauses]], Action]:
    """Return the decorator that makes an `Action` of a generator function; other keywords give the axis of each parameter.

    `says` is the sentence in Kafka's words, with the parameters in braces.
    """

    def declare(body: Callable[..., Clauses]) -> Action:
        return Action(body.__name__, body, parameters, where, says, fault, can_be_left_out)

    return declare


def different(**replicas: int) -> bool:
    """Return True if all arguments differ: the usual `where` of an action between two replicas."""
    return len(set(replicas.values())) == len(replicas)


Configuration = Mapping[str, Any]
"""Configuration keys of the command line contract and their parsed values."""


@dataclass(frozen=True)
class Unbounded:
    """An axis that a proof may leave without a bound: its elements are all numbers from 0.

    `clause` is the guard clause that bounds it, `fields` the numbers that grow with it, and `indices` those of them
    that say which elements are in use (none for an axis without arrays).
    """

    axis: str
    clause: str
    fields: tuple[str, ...]
    indices: tuple[str, ...] = ()


@dataclass(frozen=True)
class Model:
    """A protocol: its state, its initial states, its actions.

    `initial` gives for each initial state the values of fields that are not frozen, as `{name: value}` with nested lists for
    arrays; fields that are left out start at zero, a lower bound above it, False or `NO_REPLICA`.  `frozen` maps each frozen
    field to its value under a configuration.  `normalise` changes the state at the end of every step.  `portrait` draws a state
    from its nested values.  `contradiction` says what is wrong with keys that are right one by one, or None.
    """

    name: str
    summary: str
    keys: tuple[str, ...]
    sizes: Callable[[Configuration], Sizes]
    fields: Callable[[Configuration], Iterable[Field]]
    initial: Callable[[Configuration], Iterable[Mapping[str, Any]]]
    actions: tuple[Action, ...]
    guarantees: tuple[str, ...] = ()
    frozen: Mapping[str, Callable[[Configuration], int]] = field(default_factory=dict)
    defaults: Mapping[str, Any] = field(default_factory=dict)
    symmetric: Callable[[Configuration], bool] = lambda configuration: True
    contradiction: Callable[[Configuration], str | None] = lambda configuration: None
    normalise: Callable[[Any, Any], None] | None = None
    portrait: Callable[[Mapping[str, Any]], Any] | None = None
    source: str = ""
    unbounded: tuple[Unbounded, ...] = ()

    def differing(self, name: str, summary: str, *, replacing: Mapping[str, Action] | None = None, **changes: Any) -> Model:
        """Return this model renamed, with the actions that `replacing` gives by name and the attributes of `changes`.

        Errors: `ModelError` when an action to replace does not exist.
        """
        swaps = dict(replacing or {})
        unknown = set(swaps) - {each.name for each in self.actions}
        if unknown:
            raise ModelError(f"{name} replaces unknown actions {sorted(unknown)} of {self.name}")
        actions = tuple(swaps.get(each.name, each) for each in self.actions)
        return replace(self, name=name, summary=summary, **({"actions": actions} | changes))


def at(k: Primitives, vector: Any, index: Value) -> Value:
    """Return the element of `vector` at a state-valued index; of a list the last element, where it has no such index."""
    select = getattr(vector, "select", None)
    if select is not None:
        return select(index)
    elements = list(vector)
    chosen = elements[-1]
    for position in range(len(elements) - 2, -1, -1):
        chosen = k.ite(index == position, elements[position], chosen)
    return chosen


def put(k: Primitives, array: Any, index: Value, value: Any) -> None:
    """Effect: write a value (a list: a row) at a state-valued index of `array`; nothing where the array has no such index."""
    store = getattr(array, "store", None)
    if store is not None:
        store(index, value)
        return
    for position in range(len(array)):
        here = index == position
        if isinstance(value, list):
            for inner, each in enumerate(value):
                array[position][inner] = k.ite(here, each, array[position][inner])
        else:
            array[position] = k.ite(here, value, array[position])


def for_every(k: Any, s: Any, axis: str, body: Callable[[Any], Value]) -> Value:
    """Return True if a condition holds for every element of an axis.  No lemma may negate this: some proofs rely on that."""
    quantified = _over(k, axis, "for_every")
    found: Value = quantified(axis, body) if quantified else k.all_of(*[body(each) for each in range(s.sizes[axis])])
    return found


def for_some(k: Any, s: Any, axis: str, body: Callable[[Any], Value]) -> Value:
    """Return True if a condition holds for some element of an axis.  No lemma may negate this either."""
    quantified = _over(k, axis, "for_some")
    found: Value = quantified(axis, body) if quantified else k.any_of(*[body(each) for each in range(s.sizes[axis])])
    return found


def row(k: Any, s: Any, axis: str, body: Callable[[Any], Value]) -> Any:
    """Return what `body` gives for each element of an axis, in a list or what stands for one, for `fill` or `put` to write."""
    whole = _over(k, axis, "row")
    return whole(axis, body) if whole else [body(each) for each in range(s.sizes[axis])]


def fill(array: Any, values: Any) -> None:
    """Effect: write every element of `array`, each from the one of `values` at its place."""
    whole = getattr(array, "fill", None)
    if whole is not None:
        whole(values)
        return
    for position in range(len(array)):
        array[position] = values[position]


def _over(k: Any, axis: str, name: str) -> Any:
    """Return the interpreter's own function `name` for an axis that it reads without a bound; None for every other axis."""
    return getattr(k, name) if axis in getattr(k, "open_axes", ()) else None


def count(k: Primitives, conditions: Iterable[Value]) -> Value:
    """Return how many of the conditions hold."""
    total: Value = 0
    for condition in conditions:
        total = k.ite(condition, 1, 0) + total
    return total


def members(bits: int) -> list[int]:
    """Return the replicas, lowest first, in a set that is a parameter: bit `r` says whether replica `r` belongs to it."""
    return [each for each in range(bits.bit_length()) if bits >> each & 1]


def smaller(k: Primitives, left: Value, right: Value) -> Value:
    """Return the smaller of two numbers."""
    return k.ite(left < right, left, right)


def larger(k: Primitives, left: Value, right: Value) -> Value:
    """Return the larger of two numbers."""
    return k.ite(left > right, left, right)


def implies(k: Primitives, condition: Value, consequence: Value) -> Value:
    """Return True if the condition is false or the consequence true."""
    return k.any_of(k.not_(condition), consequence)
