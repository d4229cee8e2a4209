"""A model bound to sizes and configurations: slots, action instances and the packing of states.

A state is a tuple of ints, one per *slot* (a scalar field or an element of an array field), in the order of `System.slots`.
Packing puts each slot that can vary into bits of 64-bit words; one with one possible value (most configuration) takes none.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import product
from typing import Any

from neverlost.model.kernel import (
    NO_REPLICA,
    Action,
    Clauses,
    Configuration,
    Field,
    Model,
    ModelError,
    Primitives,
    Sizes,
    Value,
)

State = tuple[int, ...]
Words = tuple[int, ...]
WORD_BITS = 64
SMALLEST = LARGEST = 100
"""Bounds of a value: columns are one byte wide, and a protocol may look one beyond a bound."""
USABLE_BITS = 63
"""One bit of the first word stays free, so that a word of all ones is never a state."""


@dataclass(frozen=True)
class Slot:
    """One packed element of the state.

    Units: `low`/`high` inclusive; `word`, `shift`, `bits` place it; `bits == 0` means constant `low`.
    """

    name: str
    field: Field
    index: tuple[int, ...]
    low: int
    high: int
    word: int
    shift: int
    bits: int

    @property
    def mask(self) -> int:
        return (1 << self.bits) - 1

    @property
    def is_constant(self) -> bool:
        return self.bits == 0


@dataclass(frozen=True)
class Step:
    """An action with its arguments: one way to leave a state."""

    action: Action
    arguments: Mapping[str, int]

    def run(self, k: Primitives, view: View) -> Clauses:
        return self.action.body(k, view, **self.arguments)

    @property
    def label(self) -> str:
        inside = ", ".join(f"{name}={value}" for name, value in self.arguments.items())
        return f"{self.action.name}({inside})"


class View:
    """Attribute access to a state for actions and properties: `s.leader_epoch[replica]`.

    Interpreters supply `_read(slot)` and `_write(slot, value)`.  A read after a write in the same action sees the new value.
    """

    __slots__ = ("_system",)

    def __init__(self, system: System) -> None:
        object.__setattr__(self, "_system", system)

    def _read(self, slot: int) -> Value:
        raise NotImplementedError

    def _write(self, slot: int, value: Value) -> None:
        raise NotImplementedError

    def __getattr__(self, name: str) -> Any:
        try:
            base, shape = self._system.places[name]
        except KeyError:
            raise ModelError(f"{self._system.model.name} has no field {name!r}") from None
        return Vector(self, base, shape) if shape else self._read(base)

    def __setattr__(self, name: str, value: Value) -> None:
        base, shape = self._system.places[name]
        if shape:
            raise ModelError(f"{name!r} is an array: assign its elements")
        self._write(base, value)

    @property
    def sizes(self) -> Any:
        """The model's own sizes: how long its axes are, and which parts of the protocol exist."""
        return self._system.sizes


class Vector:
    """An array field, or a row of one, seen through a view."""

    __slots__ = ("_base", "_shape", "_view")

    def __init__(self, view: View, base: int, shape: tuple[int, ...]) -> None:
        self._view, self._base, self._shape = view, base, shape

    def __len__(self) -> int:
        return self._shape[0]

    def _stride(self) -> int:
        stride = 1
        for length in self._shape[1:]:
            stride *= length
        return stride

    def __getitem__(self, index: int) -> Any:
        if not 0 <= index < self._shape[0]:
            raise IndexError(index)
        base = self._base + index * self._stride()
        return Vector(self._view, base, self._shape[1:]) if len(self._shape) > 1 else self._view._read(base)

    def __setitem__(self, index: int, value: Value) -> None:
        if len(self._shape) != 1 or not 0 <= index < self._shape[0]:
            raise ModelError(f"bad assignment at index {index} of an array of shape {self._shape}")
        self._view._write(self._base + index, value)


@dataclass(frozen=True)
class System:
    """A model with sizes and one or more configurations that share them.

    `disabled` names guard clauses that are switched off, as `(action, clause)`.
    """

    model: Model
    configurations: tuple[Configuration, ...]
    disabled: frozenset[tuple[str, str]] = frozenset()

    @cached_property
    def sizes(self) -> Sizes:
        """What the configurations have in common: the lengths of the axes.  Errors: `ModelError` where they differ."""
        found = [self.model.sizes(each) for each in self.configurations]
        if any(each != found[0] for each in found):
            raise ModelError("configurations of one system must agree on sizes")
        return found[0]

    @cached_property
    def fields(self) -> tuple[Field, ...]:
        """The fields, with bounds that fit every configuration.  Errors: `ModelError` where they differ in more than bounds."""
        found = [tuple(self.model.fields(each)) for each in self.configurations]
        shapes = [[(each.name, each.axes, each.kind, each.frozen) for each in fields] for fields in found]
        if any(each != shapes[0] for each in shapes):
            raise ModelError("configurations of one system must agree on fields")
        return tuple(
            replace(same[0], low=min(each.low for each in same), high=max(each.high for each in same))
            for same in zip(*found, strict=True)
        )

    def _domain(self, declared: Field) -> tuple[int, int]:
        """Return a field's bounds; of a frozen field, the least and the greatest value that the configurations give.

        Errors: `ModelError` for a value of theirs that is outside the declared bounds.
        """
        if not declared.frozen:
            return declared.low, declared.high
        values = [int(self.model.frozen[declared.name](each)) for each in self.configurations]
        for value in values:
            if not declared.low <= value <= declared.high:
                raise ModelError(f"{declared.name} = {value} is outside {declared.low}..{declared.high}")
        return min(values), max(values)

    @cached_property
    def slots(self) -> tuple[Slot, ...]:
        """Every element of the state, in the order of the fields, with its place in the packed words.

        Errors: `ModelError` where a value may be outside -`SMALLEST`..`LARGEST`.
        """
        shapes = [(each, tuple(self.sizes[axis] for axis in each.axes)) for each in self.fields]
        elements = [(each, index) for each, shape in shapes for index in product(*map(range, shape))]
        order = sorted(range(len(elements)), key=lambda i: _packing_group(*elements[i]))
        used: list[int] = [0]
        placed: dict[int, Slot] = {}
        for position in order:
            declared, index = elements[position]
            low, high = self._domain(declared)
            if low < -SMALLEST or high > LARGEST:
                raise ModelError(f"{declared.name} ranges over {low}..{high}; columns hold -{SMALLEST}..{LARGEST}")
            bits = (high - low).bit_length()
            word = next((w for w, taken in enumerate(used) if taken + bits <= USABLE_BITS), len(used))
            if word == len(used):
                used.append(0)
            name = declared.name + "".join(f"[{i}]" for i in index)
            placed[position] = Slot(name, declared, index, low, high, word, used[word] if bits else 0, bits)
            used[word] += bits
        return tuple(placed[position] for position in range(len(elements)))

    @cached_property
    def places(self) -> Mapping[str, tuple[int, tuple[int, ...]]]:
        """The number of the first slot and the shape of each field, by the field's name."""
        found: dict[str, tuple[int, tuple[int, ...]]] = {}
        base = 0
        for declared in self.fields:
            shape = tuple(self.sizes[axis] for axis in declared.axes)
            found[declared.name] = (base, shape)
            length = 1
            for size in shape:
                length *= size
            base += length
        return found

    @cached_property
    def words(self) -> int:
        """How many 64-bit words a packed state takes."""
        return 1 + max(slot.word for slot in self.slots)

    @cached_property
    def bits(self) -> int:
        """How many bits of a packed state carry information."""
        return sum(slot.bits for slot in self.slots)

    @cached_property
    def steps(self) -> tuple[Step, ...]:
        """Every action with every combination of its arguments that it allows."""
        return tuple(Step(each, args) for each in self.model.actions for args in each.arguments(self.sizes))

    def fault_of(self, step: Step) -> str | None:
        """Return the kind of fault whose limit a step spends; None for a step that is no fault."""
        return step.action.fault and self.sizes.paid_by(step.action.fault)

    def configured(self, configuration: Configuration, values: Mapping[str, Any]) -> State:
        """Return a state from nested field values (one number fills an array); frozen fields come from the configuration.

        A field without a value is `NO_REPLICA`, 0, or a lower bound above 0.  Errors: `ModelError` as for `checked`.
        """
        state: list[int] = []
        for declared in self.fields:
            shape = tuple(self.sizes[axis] for axis in declared.axes)
            if declared.frozen:
                given: Any = self.model.frozen[declared.name](configuration)
            else:
                given = values.get(declared.name, NO_REPLICA if declared.kind == "replica" else max(declared.low, 0))
            for index in product(*map(range, shape)):
                state.append(int(_element(given, index)))
        return self.checked(tuple(state))

    def initial_states(self) -> list[tuple[int, State]]:
        """Return the initial states, each after the number of the configuration that it belongs to."""
        return [
            (number, self.configured(each, values))
            for number, each in enumerate(self.configurations)
            for values in self.model.initial(each)
        ]

    def checked(self, state: State) -> State:
        """Return the same state.  Errors: `ModelError` for a wrong number of values, or one that is out of its bounds."""
        if len(state) != len(self.slots):
            raise ModelError(f"a state of {self.model.name} has {len(self.slots)} values, not {len(state)}")
        for slot, value in zip(self.slots, state, strict=True):
            if not slot.low <= value <= slot.high:
                raise ModelError(f"{slot.name} = {value} is outside {slot.low}..{slot.high}")
        return state

    def pack(self, state: State) -> Words:
        """Return a state, whose values are within their bounds, packed into 64-bit words."""
        packed = [0] * self.words
        for slot, value in zip(self.slots, state, strict=True):
            packed[slot.word] |= (value - slot.low) << slot.shift
        return tuple(packed)

    def unpack(self, words: Sequence[int]) -> State:
        """Return the state of packed words."""
        return tuple(slot.low + ((int(words[slot.word]) >> slot.shift) & slot.mask) for slot in self.slots)

    def nested(self, state: State) -> dict[str, Any]:
        """Return the value of each field by its name: arrays as nested lists, flags as bools."""
        return {each.name: self._nest(state, *self.places[each.name], each.kind == "flag") for each in self.fields}

    def _nest(self, state: State, base: int, shape: tuple[int, ...], is_flag: bool) -> Any:
        if not shape:
            return bool(state[base]) if is_flag else state[base]
        stride = 1
        for length in shape[1:]:
            stride *= length
        return [self._nest(state, base + i * stride, shape[1:], is_flag) for i in range(shape[0])]


def _element(given: Any, index: tuple[int, ...]) -> Any:
    for position in index:
        given = given[position] if isinstance(given, list | tuple) else given
    return given


def _packing_group(declared: Field, index: tuple[int, ...]) -> tuple[int, int]:
    """Return the key by which elements are sorted for packing: replica by replica, and what is of no replica after them."""
    if declared.axes and declared.axes[0] == "replica":
        return (0, index[0])
    return (1, 0)


def bind(model: Model, *configurations: Configuration, disabled: Iterable[tuple[str, str]] = ()) -> System:
    """Return the system of a model under configurations, not checked yet to share their sizes; `disabled` clauses are off."""
    return System(model, tuple(configurations), frozenset(disabled))


Predicate = Callable[[Any, View], Value]
"""A property's condition on one state."""
