"""The proving interpreter: a value is a Z3 term (or a Python value where it is constant).

`Terms(width)` reads numbers as signed bit-vectors of that width, `Terms(None)` as unbounded integers.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import z3

from neverlost.model.kernel import Value
from neverlost.model.system import Predicate, Slot, State, Step, System, View


@dataclass(frozen=True)
class Terms:
    """A model's primitives (all_of, any_of, not_, ite) over Z3 terms; Python constants are folded."""

    width: int | None = None

    @staticmethod
    def all_of(*conditions: Value) -> Value:
        if any(each is False for each in conditions):
            return False
        kept = [each for each in conditions if each is not True]
        return z3.And(kept) if len(kept) > 1 else (kept[0] if kept else True)

    @staticmethod
    def any_of(*conditions: Value) -> Value:
        if any(each is True for each in conditions):
            return True
        kept = [each for each in conditions if each is not False]
        return z3.Or(kept) if len(kept) > 1 else (kept[0] if kept else False)

    @staticmethod
    def not_(condition: Value) -> Value:
        return (not condition) if isinstance(condition, bool) else z3.Not(condition)

    def ite(self, condition: Value, then: Value, otherwise: Value) -> Value:
        if isinstance(condition, bool):
            return then if condition else otherwise
        return z3.If(condition, self.lift(then), self.lift(otherwise))

    def lift(self, value: Value) -> Any:
        """Return a Z3 term for a Python value; a term stays as it is."""
        if isinstance(value, bool):
            return z3.BoolVal(value)
        if isinstance(value, int):
            return z3.IntVal(value) if self.width is None else z3.BitVecVal(value, self.width)
        return value

    def variable(self, name: str, slot: Slot) -> Any:
        """Return the variable of a slot: a Bool for a flag, an Int where `width` is None, else a bit-vector of that width.

        The bit-vector is an extended one of as few bits as the bounds allow.
        """
        if slot.field.kind == "flag":
            return z3.Bool(name)
        if self.width is None:
            return z3.Int(name)
        if slot.low >= 0:
            bits = slot.high.bit_length()
            return z3.ZeroExt(self.width - bits, z3.BitVec(name, bits))
        bits = max(slot.high.bit_length(), (-slot.low - 1).bit_length()) + 1
        return z3.SignExt(self.width - bits, z3.BitVec(name, bits))


def name_solver() -> str:
    return f"z3 {z3.get_version_string()}"


def compute_bit_width(system: System) -> int:
    """Return how many bits, signed, hold the sum of any two declared values, and a count over any axis."""
    most = max(max(abs(slot.low), abs(slot.high)) for slot in system.slots)
    return max(2 * most + 1, *system.sizes.values()).bit_length() + 1


Symbols = list[Value]
"""One term (or constant) per slot: a symbolic state."""


def variables(system: System, terms: Terms, suffix: str) -> Symbols:
    """Return a symbolic state of variables named `field[index]@suffix`; constant slots are Python values."""
    found: Symbols = []
    for slot in system.slots:
        is_flag = slot.field.kind == "flag"
        if slot.is_constant:
            found.append(bool(slot.low) if is_flag else slot.low)
        else:
            found.append(terms.variable(f"{slot.name}@{suffix}", slot))
    return found


def bound_slots(system: System, terms: Terms, symbols: Symbols) -> list[Any]:
    """Return the declared bounds of every number that is no constant, as constraints."""
    found = []
    for slot, value in zip(system.slots, symbols, strict=True):
        if slot.field.kind != "flag" and not slot.is_constant:
            found += [value >= terms.lift(slot.low), value <= terms.lift(slot.high)]
    return found


class TermsView(View):
    """A view of a symbolic state; assignments go to a copy, `values`."""

    __slots__ = ("values",)
    values: Symbols

    def __init__(self, system: System, symbols: Symbols) -> None:
        super().__init__(system)
        object.__setattr__(self, "values", list(symbols))

    def _read(self, slot: int) -> Value:
        return self.values[slot]

    def _write(self, slot: int, value: Value) -> None:
        self.values[slot] = value


def transition(system: System, terms: Terms, step: Step, symbols: Symbols) -> tuple[list[tuple[str, Value]], Symbols]:
    """Return the guard clauses of a step that are not disabled, as (name, condition), and the symbolic state after it."""
    view = TermsView(system, symbols)
    guard = [each for each in step.run(terms, view) if (step.action.name, each[0]) not in system.disabled]
    if system.model.normalise is not None:
        system.model.normalise(terms, view)
    return guard, view.values


def lift_condition(system: System, terms: Terms, symbols: Symbols, predicate: Predicate) -> Any:
    """Return a property's condition on a symbolic state, as a Z3 term."""
    return terms.lift(predicate(terms, TermsView(system, symbols)))


def read_state(system: System, terms: Terms, assignment: z3.ModelRef, symbols: Symbols) -> State:
    """Return the concrete state that a Z3 model gives to a symbolic one."""
    found: list[int] = []
    for value in symbols:
        if isinstance(value, int):
            found.append(int(value))
            continue
        known = assignment.eval(value, model_completion=True)
        if z3.is_bool(known):
            found.append(int(z3.is_true(known)))
        else:
            found.append(known.as_signed_long() if terms.width else known.as_long())
    return tuple(found)
