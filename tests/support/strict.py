"""The checking interpreter, for tests: a value that refuses to be used as Python control flow.

The other readings fail silently where a protocol function says `if`, `and` or `in` about a state value;
here `__bool__`, `__hash__` and `__index__` raise.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any, NoReturn

from neverlost.model.kernel import ModelError, Value
from neverlost.model.system import Predicate, State, Step, System, View


class Strict:
    """An int or bool that only arithmetic, comparison and the primitives may touch."""

    __slots__ = ("raw",)

    def __init__(self, raw: int | bool) -> None:
        self.raw = raw

    def __bool__(self) -> NoReturn:
        raise ModelError("a state value was used as a Python condition: use all_of, any_of, not_ or ite")

    def __hash__(self) -> NoReturn:
        raise ModelError("a state value was hashed")

    def __index__(self) -> NoReturn:
        raise ModelError("a state value was used as an index: use at()")


def _operation(apply: Callable[[Any, Any], Any], is_numeric: bool) -> Callable[[Strict, Any], Strict]:
    def operate(self: Strict, other: Any) -> Strict:
        raw = raw_of(other)
        if is_numeric and (isinstance(self.raw, bool) or isinstance(raw, bool)):
            raise ModelError("arithmetic on a flag: use count() or ite")
        if not is_numeric and isinstance(self.raw, bool) != isinstance(raw, bool):
            raise ModelError("a flag was compared with a number")
        return Strict(apply(self.raw, raw))

    return operate


def _reflected(apply: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    return lambda left, right: apply(right, left)


for _name in ("add", "sub"):
    _apply = getattr(operator, _name)
    setattr(Strict, f"__{_name}__", _operation(_apply, True))
    setattr(Strict, f"__r{_name}__", _operation(_reflected(_apply), True))
for _name in ("eq", "ne", "lt", "le", "gt", "ge"):
    setattr(Strict, f"__{_name}__", _operation(getattr(operator, _name), False))


def raw_of(value: Value) -> Any:
    """The Python value inside a strict one."""
    return value.raw if isinstance(value, Strict) else value


class StrictPrimitives:
    """Primitives over strict values; a condition must be a bool."""

    @staticmethod
    def all_of(*conditions: Value) -> Value:
        return Strict(all(_flag(each) for each in conditions))

    @staticmethod
    def any_of(*conditions: Value) -> Value:
        return Strict(any(_flag(each) for each in conditions))

    @staticmethod
    def not_(condition: Value) -> Value:
        return Strict(not _flag(condition))

    @staticmethod
    def ite(condition: Value, then: Value, otherwise: Value) -> Value:
        if isinstance(raw_of(then), bool) != isinstance(raw_of(otherwise), bool):
            raise ModelError("ite() between a flag and a number")
        return Strict(raw_of(then) if _flag(condition) else raw_of(otherwise))


def _flag(condition: Value) -> bool:
    raw = raw_of(condition)
    if not isinstance(raw, bool):
        raise ModelError(f"a condition was the number {raw!r}")
    return raw


class StrictView(View):
    """A view whose values are all strict, constants included."""

    __slots__ = ("values",)
    values: list[int]

    def __init__(self, system: System, state: State) -> None:
        super().__init__(system)
        object.__setattr__(self, "values", list(state))

    def _read(self, slot: int) -> Value:
        value = self.values[slot]
        return Strict(bool(value) if self._system.slots[slot].field.kind == "flag" else value)

    def _write(self, slot: int, value: Value) -> None:
        raw = raw_of(value)
        if isinstance(raw, bool) != (self._system.slots[slot].field.kind == "flag"):
            raise ModelError(f"{self._system.slots[slot].name} was assigned {raw!r}")
        self.values[slot] = int(raw)


def take(system: System, state: State, step: Step) -> State | None:
    """The successor by one step, or None; as `neverlost.model.interpreters.ints.take`."""
    view = StrictView(system, state)
    for clause, condition in step.run(StrictPrimitives, view):
        if not _flag(condition) and (step.action.name, clause) not in system.disabled:
            return None
    if system.model.normalise is not None:
        system.model.normalise(StrictPrimitives, view)
    return system.checked(tuple(view.values))


def evaluate(system: System, state: State, predicate: Predicate) -> bool:
    """A property's condition in one state."""
    return _flag(predicate(StrictPrimitives, StrictView(system, state)))
