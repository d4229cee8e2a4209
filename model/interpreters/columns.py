"""The exploring interpreter: a value is a NumPy column, one row per state.

Shapes: a batch holds `n` packed states as one array `uint64[words, n]`; a number is `int8[n]`, a flag
is `bool[n]`, a constant stays a Python value.  Guards run on the whole batch (a comparison of byte
columns costs less than gathering rows); effects run on the rows that survived.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from neverlost.model.kernel import ModelError, Value
from neverlost.model.system import Predicate, State, Step, System, Vector, View

Packed = NDArray[np.uint64]
FEW = 4096
"""The most rows for which a step is computed in all of them at once: to look at them again costs more than it spares."""

THIN = 8
"""A batch of more than `FEW` rows is narrowed as soon as fewer than one row in this many survives a clause."""


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
    """A view of some rows of a batch; `rows` None means all of them.  Assignments go to `writes` alone."""

    __slots__ = ("_batch", "_rows", "_seen", "writes")
    writes: dict[int, Value]

    def __init__(self, batch: Batch, rows: NDArray[np.intp] | None = None) -> None:
        super().__init__(batch.system)
        put = object.__setattr__
        put(self, "_batch", batch)
        put(self, "_rows", rows)
        put(self, "_seen", {})
        put(self, "writes", {})

    def _read(self, slot: int) -> Value:
        if slot in self.writes:
            return self.writes[slot]
        found = self._seen.get(slot)
        if found is None:
            found = self._batch.column(slot)
            if self._rows is not None and isinstance(found, np.ndarray):
                found = found.take(self._rows)
            self._seen[slot] = found
        return found

    def _write(self, slot: int, value: Value) -> None:
        self.writes[slot] = value


def _with_properties(system: System) -> type[ColumnsView]:
    """Return a subclass of the view, with a property for each field: Python finds it much sooner than `__getattr__` answers."""

    def reader(base: int, shape: tuple[int, ...]) -> property:
        return property((lambda view: Vector(view, base, shape)) if shape else lambda view: view._read(base))

    return type("ColumnsView", (ColumnsView,), {"__slots__": (), **{name: reader(*at) for name, at in system.places.items()}})


class Successors:
    """All steps of a system applied to batches of packed states."""

    def __init__(self, system: System) -> None:
        self.system = system
        self._view = _with_properties(system)
        self._clauses = [0] * len(system.steps)  # none is counted before a guard has run to its end

    def of(self, words: Packed, numbers: Iterable[int] | None = None) -> Iterator[tuple[int, NDArray[np.intp], Packed]]:
        """Yield step number, parent rows and packed successors for each step (all, or `numbers`) that is enabled in some row.

        Errors: `ModelError` where a step leaves the declared bounds.
        """
        batch = Batch(self.system, words)
        for number in range(len(self.system.steps)) if numbers is None else numbers:
            found = self._apply(batch, number)
            if found is not None:
                yield number, *found

    def _apply(self, batch: Batch, number: int) -> tuple[NDArray[np.intp], Packed] | None:
        rows: NDArray[np.intp] | None = None
        while True:
            view = self._view(batch, rows)
            length = len(batch) if rows is None else len(rows)
            keep = self._guard(view, number, length)
            if keep is False:
                return None
            if keep is True or length <= FEW:
                break
            rows = np.flatnonzero(keep) if rows is None else rows[keep]
        if self.system.model.normalise is not None:
            self.system.model.normalise(Columns, view)
        rows = np.arange(len(batch)) if rows is None else rows
        writes = view.writes
        if keep is not True:
            rows = rows[keep]
            writes = {slot: each[keep] if isinstance(each, np.ndarray) else each for slot, each in view.writes.items()}
        return rows, self._pack(batch, rows, writes, self.system.steps[number])

    def _guard(self, view: ColumnsView, at: int, length: int) -> Any:
        """Return True when every row passed and the effect has run; False when no row passes; else a flag for each row: of at
        most `FEW` rows, the effect has then run in all, passed or not; of more, call again with a view of those that passed."""
        step, count = self.system.steps[at], 0
        mask: Any = True
        for count, (clause, condition) in enumerate(step.run(Columns, view), start=1):
            if (step.action.name, clause) not in self.system.disabled:
                mask = Columns.all_of(mask, condition)
            if mask is False:
                return False
            if mask is True:
                continue
            survivors = int(np.count_nonzero(mask))
            if survivors == 0:
                return False
            if survivors == length:
                mask = True
            elif length > FEW and (count == self._clauses[at] or survivors * THIN < length):
                return mask
        self._clauses[at] = count
        return mask

    def _pack(self, batch: Batch, rows: NDArray[np.intp], writes: dict[int, Value], step: Step) -> Packed:
        words = batch.words.take(rows, axis=1)
        slots = self.system.slots
        cleared = [0] * self.system.words
        for slot in writes:
            cleared[slots[slot].word] |= slots[slot].mask << slots[slot].shift
        for word, bits in enumerate(cleared):
            if bits:
                words[word] &= np.uint64(~bits & 0xFFFF_FFFF_FFFF_FFFF)
        for slot, value in writes.items():
            place = slots[slot]
            _check_bounds(place.name, place.low, place.high, value, step)
            if isinstance(value, np.ndarray):
                shifted = (np.subtract(value, place.low, dtype=np.int16) if place.low else value).astype(np.uint64)
                if place.shift:
                    shifted <<= np.uint64(place.shift)
                words[place.word] |= shifted
            else:
                words[place.word] |= np.uint64((int(value) - place.low) << place.shift)
        return words


def _check_bounds(name: str, low: int, high: int, value: Value, step: Step) -> None:
    is_column = isinstance(value, np.ndarray)
    if is_column and value.dtype == np.bool_:
        return
    least, most = (int(value.min()), int(value.max())) if is_column else (int(value), int(value))
    if least < low or most > high:
        bad = least if least < low else most
        raise ModelError(f"{step.label} wrote {name} = {bad}, outside {low}..{high}")


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
