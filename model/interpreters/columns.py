"""The exploring interpreter: a value is a NumPy column, one row per state.

Shapes: a batch holds `n` packed states as one array `uint64[words, n]`; a number is `int8[n]`, a flag
is `bool[n]`, a constant stays a Python value.  The functions of steps run once, on values of a tape instead of columns; what
they do to these is then done to the columns of each batch, and what several steps ask is computed once.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from neverlost.model.kernel import ModelError, StateValue, Value
from neverlost.model.system import Predicate, Slot, State, Step, System, View

Packed = NDArray[np.uint64]
SHORT = 1 << 14
"""States of which all values are kept until every step was taken in them."""


class Columns:
    """A model's primitives (all_of, any_of, not_, ite) over NumPy columns, one row per state; Python constants are folded."""

    @staticmethod
    def all_of(*conditions: Value) -> Value:
        kept: Value = True
        for condition in conditions:
            if condition is False or kept is False:
                return False
            if condition is not True:
                kept = condition if kept is True else kept & condition
        return kept

    @staticmethod
    def any_of(*conditions: Value) -> Value:
        kept: Value = False
        for condition in conditions:
            if condition is True or kept is True:
                return True
            if condition is not False:
                kept = condition if kept is False else kept | condition
        return kept

    @staticmethod
    def not_(condition: Value) -> Value:
        return (not condition) if isinstance(condition, bool) else ~condition

    @staticmethod
    def ite(condition: Value, then: Value, otherwise: Value) -> Value:
        if isinstance(condition, bool):
            return then if condition else otherwise
        if isinstance(condition, TapeValue):
            return then if then is otherwise else condition.tape.apply(np.where, condition, _narrow(then), _narrow(otherwise))
        return np.where(condition, _narrow(then), _narrow(otherwise))


def _narrow(value: Value) -> Value:
    """Return a Python constant as a byte-wide scalar, so that columns stay byte-wide; a column as it is."""
    if isinstance(value, bool):
        return np.bool_(value)
    return np.int8(value) if isinstance(value, int) else value


class Batch:
    """Packed states whose fields are unpacked when they are first read, and kept so."""

    def __init__(self, system: System, words: Packed) -> None:
        self.system, self.words = system, words
        self._columns: dict[int, Value] = {}

    def __len__(self) -> int:
        return int(self.words.shape[1])

    def column(self, slot: int) -> Value:
        found = self._columns.get(slot)
        if found is None:
            found = self._columns[slot] = self._unpack(slot)
        return found

    def _unpack(self, slot: int) -> Value:
        place = self.system.slots[slot]
        is_flag = place.field.kind == "flag"
        if place.is_constant:
            return bool(place.low) if is_flag else place.low
        bits = (self.words[place.word] >> np.uint64(place.shift)) & np.uint64(place.mask)
        if is_flag:
            return bits.astype(np.bool_)
        column = bits.astype(np.int8)
        return column + np.int8(place.low) if place.low else column


class ColumnsView(View):
    """A view of the states of a batch, or of those that a tape is for.  Assignments go to `writes` alone."""

    __slots__ = ("_read_slot", "writes")
    writes: dict[int, Value]

    def __init__(self, batch: Batch | Tape) -> None:
        super().__init__(batch.system)
        object.__setattr__(self, "_read_slot", batch.column)
        object.__setattr__(self, "writes", {})

    def _read(self, slot: int) -> Value:
        return self.writes[slot] if slot in self.writes else self._read_slot(slot)

    def _write(self, slot: int, value: Value) -> None:
        self.writes[slot] = value


class Tape:
    """Operations on columns, each once, and after those whose results it takes.

    A list of the values of a batch is as long as the tape: None for what is not computed yet, and first the batch itself.
    """

    def __init__(self, system: System) -> None:
        self.system = system
        self.operations: list[tuple[Callable[..., Value], tuple[int, ...]]] = [(Batch, ())]
        """Of each operation the function, and the places of the values that it takes."""
        self._known: dict[Any, TapeValue] = {}

    def apply(self, function: Callable[..., Value], *taken: Value) -> TapeValue:
        """Return the result of a function of values on the tape and constants."""
        places = tuple([(each if isinstance(each, TapeValue) else self._constant(each)).place for each in taken])
        return self._find((function, places), function, places)

    def column(self, slot: int) -> Value:
        """Return what a slot holds; a Python constant if it is the same in every state."""
        place = self.system.slots[slot]
        if place.is_constant:
            return bool(place.low) if place.field.kind == "flag" else place.low
        return self._find(slot, lambda batch: batch.column(slot), (0,))

    def _constant(self, value: Value) -> TapeValue:
        return self._find((type(value), value), lambda: value, ())  # True is no 1

    def _find(self, key: Any, function: Callable[..., Value], places: tuple[int, ...]) -> TapeValue:
        found = self._known.get(key)
        if found is None:
            found = TapeValue(self, len(self.operations))
            self.operations.append((function, places))  # an interrupt after it leaves an operation that nobody asks for
            self._known[key] = found
        return found

    def list_needed(self, results: Iterable[Value], listed: set[int]) -> list[int]:
        """Return the places of results and of what they take, in order, except those `listed`; add them there."""
        waiting, found = [each.place for each in results if isinstance(each, TapeValue)], []
        while waiting:
            place = waiting.pop()
            if place not in listed:
                listed.add(place)
                found.append(place)
                waiting.extend(self.operations[place][1])
        return sorted(found)

    def compute(self, places: Iterable[int], values: list[Value]) -> None:
        """Compute what is at some places, in order, among the values of a batch, unless it is there."""
        operations = self.operations
        values.extend([None] * (len(operations) - len(values)))
        for place in places:
            if values[place] is None:
                function, taken = operations[place]
                values[place] = function(*[values[each] for each in taken])


def _on_tape(function: Callable[..., Value]) -> Any:
    return lambda value, *others: value.tape.apply(function, value, *others)


class TapeValue(StateValue):
    """A value that depends on the state: a place on a tape."""

    __slots__ = ("place", "tape")

    def __init__(self, tape: Tape, place: int) -> None:
        self.tape, self.place = tape, place

    def __eq__(self, other: object) -> Value:
        return False if other is None else self.tape.apply(operator.eq, self, other)

    def __ne__(self, other: object) -> Value:
        return True if other is None else self.tape.apply(operator.ne, self, other)

    def __rsub__(self, other: Value) -> Value:
        return self.tape.apply(operator.sub, other, self)

    __lt__, __le__ = _on_tape(operator.lt), _on_tape(operator.le)
    __gt__, __ge__ = _on_tape(operator.gt), _on_tape(operator.ge)
    __add__ = __radd__ = _on_tape(operator.add)
    __sub__, __invert__ = _on_tape(operator.sub), _on_tape(operator.invert)
    __and__, __or__ = _on_tape(operator.and_), _on_tape(operator.or_)


class _StepOnTape:
    """A step as operations on a tape, written down as far as a batch has needed them.

    `clauses` are the guard clauses that depend on the state: the places to compute, and the condition.  `writes`
    is what the step assigns to slots, and `effect` the places to compute for that: None until all clauses are written down.
    """

    def __init__(self, tape: Tape, step: Step) -> None:
        self.tape, self.step = tape, step
        self._is_reading = False
        self._begin()

    def _begin(self) -> None:
        self.clauses: list[tuple[list[int], TapeValue]] = []
        self.effect: list[int] | None = None
        self.is_possible = True
        self._view, self._listed = ColumnsView(self.tape), set[int]()
        self._running, self.writes = self.step.run(Columns, self._view), self._view.writes

    def read_on(self) -> None:
        """Write down the next guard clause that depends on the state, or what the step assigns; or that it is impossible."""
        if self._is_reading:  # an interrupt ended an earlier call
            self._begin()
        self._is_reading = True
        self._read_clause()
        self._is_reading = False

    def _read_clause(self) -> None:
        for clause, condition in self._running:
            if condition is not True and (self.step.action.name, clause) not in self.tape.system.disabled:
                self.is_possible = condition is not False
                if self.is_possible:
                    self.clauses.append((self.tape.list_needed([condition], self._listed), condition))
                return
        if self.tape.system.model.normalise is not None:
            self.tape.system.model.normalise(Columns, self._view)
        self.effect = self.tape.list_needed(self.writes.values(), self._listed)


class Successors:
    """All steps of a system applied to batches of packed states."""

    def __init__(self, system: System) -> None:
        self.system = system
        self._tape = Tape(system)
        self._steps = [_StepOnTape(self._tape, each) for each in system.steps]

    def of(self, words: Packed, numbers: Iterable[int] | None = None) -> Iterator[tuple[int, NDArray[np.intp], Packed]]:
        """Yield step number, parent rows and packed successors for each step (all, or `numbers`) that is enabled in some row.

        Errors: `ModelError` where a step leaves the declared bounds.
        """
        asked = range(len(self._steps)) if numbers is None else numbers
        found: dict[int, list[tuple[NDArray[np.intp], Packed]]] = {number: [] for number in asked}
        for start in range(0, words.shape[1], SHORT):
            values: list[Value] = [Batch(self.system, words[:, start : start + SHORT])]
            for number, parts in found.items():
                rows = self._find_enabled(self._steps[number], values)
                if len(rows):
                    parts.append((start + rows, self._take(self._steps[number], values, rows)))
        for number, parts in found.items():
            if parts:
                parents, after = zip(*parts, strict=True)
                yield number, np.concatenate(parents), np.concatenate(after, axis=1)

    def _find_enabled(self, step: _StepOnTape, values: list[Value]) -> NDArray[np.intp]:
        """Return the rows of a batch with these values in which the guard of a step is met."""
        mask, place = None, 0
        while step.is_possible and (mask is None or mask.any()):
            if place < len(step.clauses):
                needed, condition = step.clauses[place]
                self._tape.compute(needed, values)
                met = values[condition.place]
                mask, place = met if mask is None else mask & met, place + 1
            elif step.effect is not None:
                return np.arange(len(values[0])) if mask is None else np.flatnonzero(mask)
            else:
                step.read_on()
        return np.empty(0, np.intp)

    def _take(self, step: _StepOnTape, values: list[Value], rows: NDArray[np.intp]) -> Packed:
        """Return the successors of some rows of a batch by a step."""
        self._tape.compute(step.effect or (), values)
        words: Packed = values[0].words.take(rows, axis=1)
        slots = self.system.slots
        cleared = [0] * self.system.words
        for slot in step.writes:
            cleared[slots[slot].word] |= slots[slot].mask << slots[slot].shift
        for word, bits in enumerate(cleared):
            if bits:
                words[word] &= np.uint64(~bits & 0xFFFF_FFFF_FFFF_FFFF)
        for slot, written in step.writes.items():
            place = slots[slot]
            if not isinstance(written, TapeValue):
                _require_bounds(place, int(written), step.step)
                words[place.word] |= np.uint64((int(written) - place.low) << place.shift)
                continue
            value = values[written.place].take(rows)
            above = np.subtract(value, place.low, dtype=np.int16) if place.low else value
            shifted = above.astype(np.uint64)
            if value.dtype != np.bool_ and shifted.max() > place.high - place.low:  # what is below the lowest is huge too
                _require_bounds(place, int(value.min()), step.step)
                _require_bounds(place, int(value.max()), step.step)
            if place.shift:
                shifted <<= np.uint64(place.shift)
            words[place.word] |= shifted
        return words


def _require_bounds(slot: Slot, value: int, step: Step) -> None:
    if not slot.low <= value <= slot.high:
        raise ModelError(f"{step.label} wrote {slot.name} = {value}, outside {slot.low}..{slot.high}")


def evaluate_condition(system: System, words: Packed, predicate: Predicate) -> NDArray[np.bool_]:
    """Return an array with a bool for each packed state: whether a property's condition holds in it."""
    batch = Batch(system, words)
    found = predicate(Columns, ColumnsView(batch))
    return np.full(len(batch), found) if isinstance(found, bool) else found


def pack_rows(system: System, states: list[State]) -> Packed:
    """Return states given as tuples, packed as `uint64[words, n]`: one column each."""
    rows = np.array([system.pack(state) for state in states], dtype=np.uint64).reshape(len(states), system.words)
    return np.ascontiguousarray(rows.T)


def unpack_row(system: System, words: Packed, row: int) -> State:
    """Return the packed state in column `row` as a tuple."""
    return system.unpack([int(word[row]) for word in words])
