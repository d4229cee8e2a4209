"""States of one orbit, and no others, have one canonical form; machine code and columns find the same one."""

from __future__ import annotations

import random
from itertools import permutations

import numpy as np
import pytest

from neverlost.checker.engine.compiled.orbit_text import ORBIT_SIGNATURES, Orbits
from neverlost.checker.engine.search.symmetry import FEW, Symmetry
from neverlost.model.interpreters.columns import pack_rows
from neverlost.model.interpreters.llvm import Loaded, OptimizationLevel, compile_program
from neverlost.model.protocols import models
from neverlost.model.system import Slot, State, System, bind
from neverlost.specs.configuration.keys import configuration
from tests.support.searches import classic


def kraft(replicas: int) -> System:
    found, keys = (
        models()["kraft-elr"],
        {"replication.factor": str(replicas), "faults.crash": "any", "faults.isr_shrink": "any"},
    )
    return bind(found, configuration(found, {name: (value, "test") for name, value in keys.items()}))


SYSTEMS = {"one": lambda: kraft(1), "three": lambda: classic("kip-320", 3, 2, 2, 1), "four": lambda: kraft(4)}


def drawn(system: System, chance: random.Random) -> State:
    """Any state within the declared bounds; often replicas are alike, or differ only in what one has about another."""

    def value(slot: Slot) -> int:
        return chance.choice((slot.low, slot.high, min(slot.low + 1, slot.high)))

    common = {slot.field.name: value(slot) for slot in system.slots}
    axes, part = chance.choice((1, 2)), chance.choice((0.0, 0.1, 1.0))
    return tuple(
        value(slot) if slot.field.axes.count("replica") >= axes and chance.random() < part else common[slot.field.name]
        for slot in system.slots
    )


def renamed(system: System, state: State, order: tuple[int, ...]) -> State:
    """The state in which replica `r` is called `order[r]`, element by element."""
    values = {}
    for slot, value in zip(system.slots, state, strict=True):
        places = zip(slot.field.axes, slot.index, strict=True)
        index = tuple(order[each] if axis == "replica" else each for axis, each in places)
        values[slot.field.name, index] = order[value] if slot.field.kind == "replica" and value >= 0 else value
    return tuple(values[slot.field.name, slot.index] for slot in system.slots)


@pytest.mark.parametrize("name", SYSTEMS)
def test_one_canonical_form_for_each_orbit(name: str) -> None:
    system, chance = SYSTEMS[name](), random.Random(18)
    symmetry, orders = Symmetry(system), [*permutations(range(system.sizes["replica"]))]
    orbits = [[renamed(system, state, order) for order in orders] for state in (drawn(system, chance) for _ in range(160))]
    states = pack_rows(system, [state for orbit in orbits for state in orbit])
    found = symmetry.canonical(states).T.reshape(len(orbits), len(orders), system.words)
    for orbit, forms in zip(orbits, found, strict=True):
        assert (forms == forms[0]).all() and system.unpack(forms[0].tolist()) in orbit
    assert symmetry.orbit_total(np.ascontiguousarray(found[:, 0].T)) == sum(len({*orbit}) for orbit in orbits)
    many = np.tile(states, FEW // states.shape[1] + 1)
    assert (symmetry.canonical(many) == np.tile(found.reshape(-1, system.words).T, FEW // states.shape[1] + 1)).all()
    code = Loaded(compile_program(Orbits(symmetry).text, OptimizationLevel.NONE), ORBIT_SIGNATURES)
    rows = np.ascontiguousarray(states.T)
    total = code.functions["canonical"](rows.ctypes.data, len(rows))
    assert (rows.reshape(found.shape) == found).all()
    assert total == sum(len({*orbit}) * len(orders) for orbit in orbits)
