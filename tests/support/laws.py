"""Faults are monotone: each step under a configuration is a step under one that allows stronger faults, in every state.

Two configurations share a state but for what belongs to limits: each has its own counters, and what the stronger one has left
allows every number of strikes that the weaker one has left (Hall's theorem, over all sets of kinds).  Z3 is asked for a state,
of all that the fields can hold, and for counters, with a fault of the weaker configuration that no step of the stronger one
equals: the same fields afterwards, and counters that again allow as much.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain, combinations
from typing import Any

import z3

from neverlost.model.any_number import AnyNumber
from neverlost.model.faults import BY_NAME, FAULTS
from neverlost.model.interpreters.terms import Terms, bound_slots, compute_bit_width, transition, variables
from neverlost.model.kraft.broker.log import EMPTY
from neverlost.model.system import Step, System

WEAKER = {"lossy_crash": ("kill",), "data_loss": ("kill", "lossy_crash", "disk_loss")}
"""What is weaker than a kind: a power loss may take nothing, and a loss of data is a power loss or a lost disk."""

UNCOMPARED = (*(each.struck for each in FAULTS), "ghost_lost_data", "flushed_end")
"""Fields in which two configurations may differ, beside counters: marks of limits, and what is on disk where not all is."""


def limited(system: System) -> list[str]:
    """The kinds of faults that a model counts, by name."""
    return [each.name.removesuffix("_left") for each in system.fields if each.name.endswith("_left")]


def allowed_by(limit: str) -> frozenset[str]:
    """The kinds that a limit of this kind allows to strike."""
    return frozenset((limit, *WEAKER.get(limit, ()), *(BY_NAME[limit].of if limit in BY_NAME else ())))


def left_for(system: System, state: Sequence[Any], kinds: frozenset[str]) -> Any:
    """How often faults of these kinds may strike in all, as a number or term; None where there is no such number."""
    total: Any = 0
    for each in (one for one in limited(system) if allowed_by(one) & kinds):
        limit = system.configurations[0][f"faults.{each}"]
        if isinstance(limit, AnyNumber):
            return None
        total = total + state[system.places[f"{each}_left"][0]] if limit else total
    return total


def allows_as_much(weaker: System, x: Sequence[Any], stronger: System, y: Sequence[Any]) -> Iterator[Any]:
    """The stronger one has at least as many strikes left, for each set of kinds that the weaker one allows, and that no limit
    takes apart."""
    kinds = {kind for each in limited(weaker) if weaker.configurations[0][f"faults.{each}"] for kind in allowed_by(each)}
    struck = sorted(kind for kind in kinds if kind not in BY_NAME or not BY_NAME[kind].of or BY_NAME[kind].is_of_one_rack)
    for some in chain.from_iterable(combinations(struck, many) for many in range(1, len(struck) + 1)):
        if len(some) > 1 and all(len(allowed_by(each) & set(some)) < 2 for each in {*limited(weaker), *limited(stronger)}):
            continue
        needed, there = (left_for(system, state, frozenset(some)) for system, state in ((weaker, x), (stronger, y)))
        if there is None or (isinstance(needed, int) and needed == 0):
            continue
        assert needed is not None, f"{some}: any number before, and not after"
        yield there >= needed


@dataclass
class Comparison:
    """Steps that were compared: the actions of those that some state allows, and what is wrong, a line for each step."""

    actions: set[str] = field(default_factory=set)
    wrong: list[str] = field(default_factory=list)


def compare(weaker: System, stronger: System) -> Comparison:
    """Look for faults of the weaker configuration that the stronger one lacks."""
    terms = Terms(max(compute_bit_width(weaker), compute_bit_width(stronger)) + 2)
    x = variables(weaker, terms, "weaker")
    y = _other_state(weaker, x, stronger, terms)
    assumed = [*bound_slots(weaker, terms, x), *bound_slots(stronger, terms, y), *allows_as_much(weaker, x, stronger, y)]
    found = Comparison()
    for step in (each for each in weaker.steps if each.action.fault):
        guard, after = transition(weaker, terms, step, x)
        if any(condition is False for _, condition in guard):
            continue
        solver = z3.Solver()
        solver.add(*assumed, *[terms.lift(condition) for _, condition in guard])
        ways = [(other, *transition(stronger, terms, other, y)) for other in _candidates(step, stronger)]
        same = [[terms.lift(each) for each in _same(weaker, after, stronger, one)] for _, _, one in ways]
        if step.action.name not in found.actions and solver.check() == z3.sat:
            found.actions.add(step.action.name)
        for (_, clauses, _), equal in zip(ways, same, strict=True):
            solver.add(z3.Not(z3.And(*[terms.lift(condition) for _, condition in clauses], *equal)))
        answer = solver.check()
        assert answer != z3.unknown, step.label
        if answer == z3.sat:
            found.wrong.append(f"{step.label}: {_why(solver.model(), terms, ways, same)}")
    return found


def _other_state(weaker: System, x: Sequence[Any], stronger: System, terms: Terms) -> list[Any]:
    """The same state under the other configuration: what only that has room for is empty, and a stronger kind has struck what
    those have that it stands for."""
    shared = {slot.name: value for slot, value in zip(weaker.slots, x, strict=True)}
    marks = {each.struck: [BY_NAME[kind].struck for kind in allowed_by(each.name)] for each in FAULTS}
    found = []
    for slot, value in zip(stronger.slots, variables(stronger, terms, "stronger"), strict=True):
        declared = slot.field.name
        if slot.is_constant or slot.field.frozen or declared.endswith("_left"):
            found.append(value)
        elif slot.name in shared:
            found.append(shared[slot.name])
        elif declared in marks:
            named = [slot.name.replace(declared, each) for each in marks[declared]]
            found.append(terms.any_of(False, *[shared[each] for each in named if each in shared]))
        elif declared in UNCOMPARED:
            found.append(value)
        else:
            assert declared in weaker.places, f"{slot.name} has nothing to be compared with"
            found.append(EMPTY)
    return found


def _candidates(step: Step, stronger: System) -> list[Step]:
    """Steps that may do the same: the same one, and faults that strike the same brokers."""
    given = {name: value for name, value in step.arguments.items() if name not in ("kept", "parts")}
    alike = [each for each in stronger.steps if each.action.fault and given.items() <= each.arguments.items()]
    same = [each for each in stronger.steps if each.label == step.label]
    return same + [each for each in alike if step.action.fault and each.label != step.label]


def _same(weaker: System, after: Sequence[Any], stronger: System, one: Sequence[Any]) -> Iterator[Any]:
    """Conditions: two states after a step agree in every field of the protocol, and in what is left."""
    others = {slot.name: value for slot, value in zip(stronger.slots, one, strict=True)}
    for slot, value in zip(weaker.slots, after, strict=True):
        if slot.field.frozen or slot.field.name.endswith("_left") or slot.field.name in UNCOMPARED:
            continue
        other = others[slot.name]
        if not (z3.is_ast(value) and z3.is_ast(other) and value.eq(other)):
            yield value == other
    yield from allows_as_much(weaker, after, stronger, one)


def _why(found: z3.ModelRef, terms: Terms, ways: Sequence[Any], same: Sequence[Sequence[Any]]) -> str:
    """Name the clauses that refuse the steps with the same effect, in the state that was found."""

    def holds(condition: Any) -> bool:
        return z3.is_true(found.eval(terms.lift(condition), model_completion=True))

    alike = [
        f"{step.action.name}: {next(name for name, condition in guard if not holds(condition))}"
        for (step, guard, _), equal in zip(ways, same, strict=True)
        if all(holds(each) for each in equal)
    ]
    return "; ".join(dict.fromkeys(alike)) or "no step has this effect"
