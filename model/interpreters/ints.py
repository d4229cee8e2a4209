"""The defining interpreter: a value is a Python int or bool, a state is a tuple of ints."""

from __future__ import annotations

from collections.abc import Iterator

from neverlost.model.kernel import Value
from neverlost.model.system import Predicate, State, Step, System, View


class Ints:
    """A model's primitives (all_of, any_of, not_, ite) over Python ints and bools."""

    @staticmethod
    def all_of(*conditions: Value) -> Value:
        return all(conditions)

    @staticmethod
    def any_of(*conditions: Value) -> Value:
        return any(conditions)

    @staticmethod
    def not_(condition: Value) -> Value:
        return not condition

    @staticmethod
    def ite(condition: Value, then: Value, otherwise: Value) -> Value:
        return then if condition else otherwise


class IntsView(View):
    """A view of one state; assignments go to `values`, a copy that is also what is read afterwards."""

    __slots__ = ("values",)
    values: list[int]

    def __init__(self, system: System, state: State) -> None:
        super().__init__(system)
        object.__setattr__(self, "values", list(state))

    def _read(self, slot: int) -> Value:
        value = self.values[slot]
        return bool(value) if self._system.slots[slot].field.kind == "flag" else value

    def _write(self, slot: int, value: Value) -> None:
        self.values[slot] = int(value)


def take(system: System, state: State, step: Step) -> State | None:
    """Return the successor by one step, or None where a guard clause is false.  Errors: `ModelError` beyond declared bounds."""
    view = IntsView(system, state)
    for clause, condition in step.run(Ints, view):
        if not condition and (step.action.name, clause) not in system.disabled:
            return None
    if system.model.normalise is not None:
        system.model.normalise(Ints, view)
    return system.checked(tuple(view.values))


def refusals(system: System, state: State, step: Step) -> list[str]:
    """Return a list with the name of the first guard clause that is false; it is empty where the step is enabled."""
    view = IntsView(system, state)
    found: list[str] = []
    for clause, condition in step.run(Ints, view):
        if not condition and (step.action.name, clause) not in system.disabled:
            found.append(clause)
            break
    return found


def successors(system: System, state: State) -> Iterator[tuple[Step, State]]:
    """Yield every enabled step with the state it leads to, one that changes nothing too.  Errors: as of `take`."""
    for step in system.steps:
        after = take(system, state, step)
        if after is not None:
            yield step, after


def evaluate(system: System, state: State, predicate: Predicate) -> bool:
    """Return True if a property's condition holds in one state."""
    return bool(predicate(Ints, IntsView(system, state)))
