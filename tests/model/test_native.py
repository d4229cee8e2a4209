"""Every action and property of every model reads the same under ints (the definition) and as machine code."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from neverlost.model.faults import FAULTS, RACK_LOSS
from neverlost.model.interpreters import compiled_program as native_program
from neverlost.model.interpreters import emitted_code as native
from neverlost.model.interpreters.llvm import OptimizationLevel
from neverlost.model.interpreters.mixed_versions import mix_versions
from neverlost.model.kernel import ModelError, Value
from neverlost.model.observed.protocol import OBSERVED, observed_system
from neverlost.model.protocols import models
from neverlost.model.system import Slot, State, System, bind
from neverlost.specs.configuration.keys import configuration
from tests.model.test_interpreters import (
    BATCHES,
    LONG,
    OUT_OF_BOUNDS,
    THREE,
    Defined,
    define,
    defined,
    in_bounds,
    rich_system,
    walk,
)
from tests.support.machine import Machine
from tests.support.searches import kraft_matrix

SYSTEMS: dict[str, Callable[[], System]] = {name: lambda name=name: rich_system(name) for name in sorted([*models(), THREE])}
SYSTEMS["three configurations"] = kraft_matrix


FEW = dict.fromkeys(("replication.factor", "bounds.records", "min.insync.replicas"), (2, "test"))
ONCE = dict.fromkeys(("faults.kill", "faults.clean_stop", "faults.fence", "faults.isr_shrink"), (1, "test"))


def amid_a_change() -> System:
    """Brokers of which each may have one minimum ISR or the other."""
    system = bind(models()["kraft"], configuration(models()["kraft"], FEW | ONCE))
    return bind(mix_versions(system, {"min_isr": [1, 2]}), *system.configurations)


def of_observations() -> System:
    """What a real history is held against."""
    every = {each.key: (1, "test") for each in FAULTS if not each.of and each is not RACK_LOSS}
    return observed_system(configuration(OBSERVED, FEW | every))


SYSTEMS |= {"amid a change": amid_a_change, "observed": of_observations}
COMPOSED = ("amid a change", "observed")
"""Whose steps are those of another model, each in several ways."""


LARGE = (*LONG, *COMPOSED, "kraft-elr", "kraft-standing", "kraft-unordered")
"""Whose programs take long to compile: left to those who ask for slow tests."""

WELL = [name for name in SYSTEMS if name not in (*LARGE, "kraft")]
"""Whose good code does not take long."""


def compiled(system: System, effort: OptimizationLevel) -> Machine:
    return Machine(system, [each.condition for each in defined(system)], effort)


@cache
def machine(name: str, effort: OptimizationLevel) -> Machine:
    return compiled(SYSTEMS[name](), effort)


def with_slow(name: str, *more: Any, fast: bool) -> Any:
    return pytest.param(name, *more, marks=() if fast else pytest.mark.slow)


def rows_of(system: System, states: list[State]) -> np.ndarray[Any, np.dtype[np.uint64]]:
    return np.array([system.pack(state) for state in states], np.uint64).reshape(len(states), system.words)


def check(found: Machine, states: list[State], by_ints: dict[State, Defined]) -> None:
    """Machine code agrees with ints on every step and property of a batch; steps that leave the bounds are refused."""
    system = found.system
    expected = [by_ints[state].after for state in states]
    safe = [row for row, each in enumerate(expected) if OUT_OF_BOUNDS not in each]
    after, origins, steps = found.successors(rows_of(system, [states[row] for row in safe]))
    taken = {
        (int(row), int(step)): system.unpack(words) for words, row, step in zip(after.tolist(), origins, steps, strict=True)
    }
    wanted = {
        (place, step): state for place, row in enumerate(safe) for step, state in enumerate(expected[row]) if state is not None
    }
    wrong = [each for each in taken.keys() | wanted.keys() if taken.get(each) != wanted.get(each)]
    assert not wrong, (
        f"{len(wrong)} of {len(wanted)} steps differ"
    )  # a comparison of the two would be drawn line by line, for hours
    for row in sorted(set(range(len(states))) - set(safe)):
        with pytest.raises(ModelError, match=r"wrote .* outside"):
            found.successors(rows_of(system, [states[row]]))
    broken = found.broken(rows_of(system, states)).tolist()
    for position, each in enumerate(defined(system)):
        held = [not word >> position & 1 for word in broken]
        assert held == [by_ints[state].holds[position] for state in states], each.name


@pytest.mark.parametrize("name", [with_slow(name, fast=name in WELL) for name in SYSTEMS])
@settings(max_examples=2, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_machine_code_agrees_with_the_definition(name: str, data: st.DataObject) -> None:
    """Whether it was made without effort or with; the largest batch has each state of a walk twice."""
    system = SYSTEMS[name]()
    states = walk(system, data.draw(st.integers(0, 2**32)), max(BATCHES) // 2 + 1)
    arbitrary = data.draw(st.lists(in_bounds(system), min_size=8, max_size=8))
    by_ints = define(system, {*states, *arbitrary})
    for effort in OptimizationLevel:
        found = machine(name, effort)
        for size in BATCHES:
            check(found, (states * 2)[:size], by_ints)
        check(found, arbitrary, by_ints)


def test_a_batch_may_have_any_length() -> None:
    found = machine("kip-320", OptimizationLevel.NONE)
    states = walk(found.system, 5, 257) * 9
    after, origins, steps = found.successors(rows_of(found.system, states))
    assert origins.max() > 2048
    one = found.successors(rows_of(found.system, states[2048 : 2048 + 1]))
    here = origins == 2048
    assert after[here].tolist() == one[0].tolist() and steps[here].tolist() == one[2].tolist()


def without_guards(system: System, number: int, view: native.NativeView) -> Iterator[Value]:
    """A mutant: clauses are not asked."""
    for _ in clauses(system, number, view):
        yield True


def without_bounds(code: native.Code, slot: Slot, value: Value) -> None:
    """A mutant: values that leave their bounds are stored."""


def one_bit_off(code: native.Code, slot: Slot, value: Value) -> str:
    """A mutant: a value is stored one bit beside its place."""
    return code.value(f"shl i64 {packed(code, slot, value)}, 1")


def without_mask(code: native.Code, slot: Slot) -> Value:
    """A mutant: a number is read with a bit of the slot above it."""
    if slot.is_constant or slot.field.kind == "flag":
        return unpacked(code, slot)
    return unpacked(code, replace(slot, bits=slot.bits + 1))


def second_as_first(condition: Value, then: Value, otherwise: Value) -> Value:
    """A mutant: the two cases of a choice are exchanged."""
    return ite(condition, otherwise, then)


packed, unpacked, ite, clauses = native.emit_pack, native.emit_unpack, native.Native.ite, native_program.run_guard
hasty = {"eq": lambda low, high, least, most: False if low < least or high > most else None}
MUTANTS: dict[str, tuple[str, Any]] = {
    "dropped guards": ("compiled_program.run_guard", without_guards),
    "dropped bounds": ("emitted_code.emit_bounds_check", without_bounds),
    "a wrong shift": ("emitted_code.emit_pack", one_bit_off),
    "a dropped mask": ("emitted_code.emit_unpack", without_mask),
    "exchanged cases": ("emitted_code.Native.ite", staticmethod(second_as_first)),
    "any for all": ("emitted_code.Native.all_of", staticmethod(native.Native.any_of)),
    "all for any": ("emitted_code.Native.any_of", staticmethod(native.Native.all_of)),
    "a wrong range": ("emitted_code.DECIDED", native.DECIDED | hasty),
}


MUTATED = sorted([*models(), *COMPOSED])
KEPT = [
    "amid a change",
    "kraft-composed",
    "kraft-elr",
    "kraft-quorum",
    "kraft-standing",
    "kraft-unordered",
    "majority",
    "observed",
]
"""Models of which no step was found that leaves its bounds, from 400 arbitrary states."""


@cache
def samples(name: str, arbitrary: int) -> dict[State, Defined]:
    """Return what the ints interpreter finds in reachable states, and in up to `arbitrary` others, until a step leaves its
    bounds."""
    system = SYSTEMS[name]()
    chance = random.Random(3)
    found = define(system, walk(system, 1, 60))
    for _ in range(arbitrary):
        state = tuple(chance.randint(slot.low, slot.high) for slot in system.slots)
        found |= define(system, [state])
        if OUT_OF_BOUNDS in found[state].after:
            break
    return found


def leaves_its_bounds(name: str) -> bool:
    return any(OUT_OF_BOUNDS in each.after for each in samples(name, 400).values())


@pytest.mark.slow
def test_bounds_are_left_from_arbitrary_states() -> None:
    assert [name for name in MUTATED if not leaves_its_bounds(name)] == KEPT


@pytest.mark.parametrize(
    ("name", "mutant"),
    [
        with_slow(name, each, fast=name not in LARGE)
        for name in MUTATED
        for each in MUTANTS
        if each != "dropped bounds" or name not in KEPT
    ],
)
def test_a_mutant_of_the_emitter_is_caught(name: str, mutant: str, monkeypatch: pytest.MonkeyPatch) -> None:
    where, change = MUTANTS[mutant]
    by_ints = samples(name, 20 if name in KEPT else 400)
    monkeypatch.setattr(f"neverlost.model.interpreters.{where}", change)
    monkeypatch.setattr("_pytest.assertion.util._reprcompare", None)  # what differs is not read
    with pytest.raises((AssertionError, ModelError, pytest.fail.Exception)):
        check(compiled(SYSTEMS[name](), OptimizationLevel.NONE), [*by_ints], by_ints)
