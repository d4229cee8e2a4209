"""Every action and property of every model reads the same under ints (the definition), columns, terms and strict."""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import pytest
import z3
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from neverlost.model.faults import FAULTS, RACK_LOSS
from neverlost.model.interpreters import ints
from neverlost.model.interpreters.columns import Successors, Tape, evaluate_condition, pack_rows, unpack_row
from neverlost.model.interpreters.terms import Terms, compute_bit_width, lift_condition, read_state, transition
from neverlost.model.kernel import Clauses, Model, ModelError, action
from neverlost.model.kernel import number as number_field
from neverlost.model.protocols import models
from neverlost.model.system import LARGEST, State, Step, System, bind
from neverlost.model.transactions.state import FAULTS as TRANSACTION_FAULTS
from neverlost.specs.configuration.keys import configuration
from neverlost.specs.properties import properties
from neverlost.specs.property import Property
from tests.support import strict
from tests.support.two_phase_commit import Participants

RICH = {
    "replication.factor": 3,
    "bounds.records": 2,
    "bounds.max_leader_epoch": 2,
    "min.insync.replicas": 2,
    "unclean.leader.election.enable": "true",
    **{f"faults.{each}": 1 for each in TRANSACTION_FAULTS},
}
LIMITED = {"faults.lossy_crash": "any:1", "faults.kill": "any", "faults.fence": "any:2", "faults.at_once": 2}
"""Limits that are read from the state, beside totals; the other models have totals only."""
CHANGING = {
    "replication.factor": 2,
    "quorum.observers": 1,
    "bounds.records": 1,
    "bounds.voter_changes": 1,
    "mechanism.directory-ids": "on",
    "mechanism.snapshots": "on",
}
"""Controllers that are added and removed, with snapshots; the composed model has those that stay."""
COUNTED = {"election.policy": "longest-log"}
"""Where leader epochs are compared they are counted, so that steps from arbitrary states leave their bounds."""
FEWER = {"kraft-elr": 2}
"""Replicas of the largest model: its rows with three are slow."""
THREE = "kraft-elr, three replicas"
BATCHES = (0, 1, 2, 257)
OUT_OF_BOUNDS = "out of bounds"


@cache
def rich_system(name: str) -> System:
    """A small system of a model with every fault allowed once."""
    whole, name = name, name.partition(",")[0]
    model = models()[name]
    given_keys: dict[str, Any] = {key: value for key, value in RICH.items() if key in model.keys}
    given_keys |= {"replication.factor": FEWER[whole]} if whole in FEWER else {}
    given_keys |= {each.key: 1 for each in FAULTS if each.key in model.keys and not each.of and each is not RACK_LOSS}
    given_keys |= {key: value for key, value in LIMITED.items() if key in model.keys and name in ("kraft-elr", "majority")}
    given_keys |= CHANGING if name == "kraft-quorum" else {}
    given_keys |= COUNTED if name == "kraft" else {}
    return bind(model, configuration(model, {key: (value, "test") for key, value in given_keys.items()}))


def defined(system: System) -> list[Property]:
    """The properties that speak of fields that the system has."""
    return [each for each in properties().values() if set(each.needs) <= set(system.places)]


@pytest.mark.parametrize("name", sorted(models()))
def test_every_property_can_be_asked_at_the_beginning(name: str) -> None:
    system = rich_system(name)
    asked = defined(system)
    assert asked
    for _, state in system.initial_states():
        assert [each.name for each in asked if not ints.evaluate(system, state, each.condition)] == []


LONG = (
    "kraft",
    "kraft-standing",
    "kraft-unordered",
    THREE,
    "pull-raft",
    *[f"transactions-{version}" for version in ("3.5", "3.6", "3.9", "4.1")],
)
"""Models of which another one has every action, or is their like, or whose messages fill the state: their rows are slow."""


def named(names: Iterable[str]) -> list[Any]:
    """Parameters for each name."""
    return [pytest.param(each, marks=pytest.mark.slow if each in LONG else ()) for each in sorted(names)]


def walk(system: System, seed: int, length: int) -> list[State]:
    """The states of a random walk from an initial state."""
    chance = random.Random(seed)
    state = chance.choice(system.initial_states())[1]
    states = [state]
    while len(states) < length:
        steps = list(system.steps)
        chance.shuffle(steps)
        after = next((found for step in steps if (found := ints.take(system, state, step)) is not None), None)
        state = chance.choice(system.initial_states())[1] if after is None else after
        states.append(state)
    return states


def in_bounds(system: System) -> st.SearchStrategy[State]:
    """Any state within the declared bounds, reachable or not."""
    return st.tuples(*[st.integers(slot.low, slot.high) for slot in system.slots])


def defined_successors(system: System, state: State) -> list[State | str | None]:
    """What each step does by the definition; a step may leave the bounds from a state that is not reachable."""
    found: list[State | str | None] = []
    for step in system.steps:
        try:
            found.append(ints.take(system, state, step))
        except ModelError:
            found.append(OUT_OF_BOUNDS)
    return found


@dataclass(frozen=True)
class Defined:
    """What the ints interpreter finds in one state: a successor for each step, and whether each property holds."""

    after: list[State | str | None]
    holds: list[bool]


def define(system: System, states: Iterable[State]) -> dict[State, Defined]:
    """Return what the ints interpreter finds in each state."""
    return {
        state: Defined(
            defined_successors(system, state), [ints.evaluate(system, state, each.condition) for each in defined(system)]
        )
        for state in states
    }


def check_columns(system: System, states: list[State], by_ints: dict[State, Defined]) -> None:
    """Columns agree with ints on every step and property of a batch; steps that leave the bounds are refused."""
    expected = [by_ints[state].after for state in states]
    safe = [row for row, found in enumerate(expected) if OUT_OF_BOUNDS not in found]
    packed = pack_rows(system, [states[row] for row in safe])
    found: dict[tuple[int, int], State] = {}
    for number, rows, words in Successors(system).of(packed):
        for place, row in enumerate(rows):
            found[int(row), number] = unpack_row(system, words, place)
    for place, row in enumerate(safe):
        for number, step in enumerate(system.steps):
            assert found.get((place, number)) == expected[row][number], step.label
    for row in set(range(len(states))) - set(safe):
        with pytest.raises(ModelError):
            list(Successors(system).of(pack_rows(system, [states[row]])))
    whole = pack_rows(system, states)
    for at, each in enumerate(defined(system)):
        assert evaluate_condition(system, whole, each.condition).tolist() == [by_ints[state].holds[at] for state in states]


def check_strict(system: System, state: State, by_ints: Defined) -> None:
    """Strict agrees with ints, and no Python control flow touches a state value."""
    for step, expected in zip(system.steps, by_ints.after, strict=True):
        if expected == OUT_OF_BOUNDS:
            with pytest.raises(ModelError, match="outside"):
                strict.take(system, state, step)
        else:
            assert strict.take(system, state, step) == expected, step.label
    for each, holds in zip(defined(system), by_ints.holds, strict=True):
        assert strict.evaluate(system, state, each.condition) == holds, each.name


def sampled(pairs: list[tuple[Step, Any]]) -> list[tuple[Step, Any]]:
    """At most 40 pairs, with every action and every enabled step among them where they fit."""
    chance = random.Random(1)
    chance.shuffle(pairs)
    first = {step.action.name: (step, found) for step, found in reversed(pairs)}
    enabled = [pair for pair in pairs if pair[1] is not None]
    return list({step.label: (step, found) for step, found in [*first.values(), *enabled, *pairs]}.values())[:40]


def check_terms(system: System, terms: Terms, state: State, by_ints: Defined) -> None:
    """Terms agree with ints when every variable is a literal."""
    literals = [
        terms.lift(bool(value) if slot.field.kind == "flag" else value) for slot, value in zip(system.slots, state, strict=True)
    ]
    symbols = [
        (bool(value) if slot.field.kind == "flag" else value) if slot.is_constant else literal
        for slot, value, literal in zip(system.slots, state, literals, strict=True)
    ]
    solver = z3.Solver()
    solver.check()
    nothing = solver.model()
    for step, expected in sampled(list(zip(system.steps, by_ints.after, strict=True))):
        guard, after = transition(system, terms, step, symbols)
        enabled = z3.is_true(z3.simplify(terms.lift(terms.all_of(*[clause for _, clause in guard]))))
        assert enabled == (expected is not None), step.label
        if enabled and expected != OUT_OF_BOUNDS:
            assert read_state(system, terms, nothing, after) == expected, step.label
    for each, holds in zip(defined(system), by_ints.holds, strict=True):
        value = z3.is_true(z3.simplify(lift_condition(system, terms, symbols, each.condition)))
        assert value == holds, each.name


@pytest.mark.parametrize("name", named([*models(), THREE]))
@settings(max_examples=2, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_interpreters_agree(name: str, data: st.DataObject) -> None:
    """The largest batch has each state of a walk twice."""
    system = rich_system(name)
    states = walk(system, data.draw(st.integers(0, 2**32)), max(BATCHES) // 2 + 1)
    arbitrary = data.draw(st.lists(in_bounds(system), min_size=2, max_size=2))
    by_ints = define(system, {*states, *arbitrary})
    for size in BATCHES:
        check_columns(system, (states * 2)[:size], by_ints)
    check_columns(system, arbitrary, by_ints)
    for state in [*random.Random(0).sample(states, 12), *arbitrary]:
        check_strict(system, state, by_ints[state])
    check_terms(system, Terms(compute_bit_width(system)), states[-1], by_ints[states[-1]])
    check_terms(system, Terms(None), arbitrary[0], by_ints[arbitrary[0]])


@pytest.mark.parametrize("name", sorted(models()))
@settings(max_examples=20, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_packing_is_lossless(name: str, data: st.DataObject) -> None:
    system = rich_system(name)
    state = data.draw(in_bounds(system))
    words = system.pack(state)
    assert system.unpack(words) == state
    assert all(0 <= word < 2**63 for word in words)
    packed = pack_rows(system, [state])
    assert packed.dtype == np.uint64 and tuple(int(word[0]) for word in packed) == words


def slips() -> Iterator[tuple[str, Any]]:
    """Python control flow on a state value, as a protocol function might use it by mistake."""
    yield "if", lambda k, s: 1 if s.log_end_offset[0] > 0 else 0
    yield "and", lambda k, s: s.log_end_offset[0] > 0 and s.log_end_offset[1] > 0
    yield "in", lambda k, s: s.log_end_offset[0] in (0, 1)
    yield "hash", lambda k, s: {s.log_end_offset[0]: 1}
    yield "index", lambda k, s: [0, 1, 2][s.log_end_offset[0]]
    yield "flag arithmetic", lambda k, s: s.quorum_isr[0] + s.quorum_isr[1]
    yield "number as condition", lambda k, s: k.not_(s.log_end_offset[0])


@pytest.mark.parametrize("slip", [pytest.param(body, id=name) for name, body in slips()])
def test_strict_refuses_control_flow_on_state_values(slip: Any) -> None:
    system = rich_system("kip-320")
    with pytest.raises((ModelError, TypeError)):
        strict.evaluate(system, system.initial_states()[0][1], slip)


@action(says="the sign changes")
def flip(k: Any, s: Any) -> Clauses:
    """From the lowest value to the highest."""
    yield "negative", s.far < 0
    s.far = 0 - s.far


def test_a_field_may_be_as_wide_as_columns_hold() -> None:
    """From -100 to 100 are more values than half a byte counts; a value beside it keeps its own bits."""
    model = Model(
        name="wide",
        summary="a value and its neighbour",
        keys=(),
        sizes=lambda configuration: Participants(1),
        fields=lambda configuration: (number_field("far", -LARGEST, LARGEST), number_field("near", 0, 7)),
        initial=lambda configuration: [{"far": low, "near": 5} for low in range(-LARGEST, 0)],
        actions=(flip,),
    )
    system = bind(model, {})
    states = [state for _, state in system.initial_states()]
    ((_, rows, after),) = Successors(system).of(pack_rows(system, states))
    found = [unpack_row(system, after, place) for place in range(len(rows))]
    assert found == [ints.take(system, states[row], system.steps[0]) for row in rows] and len(found) == LARGEST


def test_an_interrupt_while_a_step_is_read_changes_no_successor(monkeypatch: pytest.MonkeyPatch) -> None:
    """At many of the operations that the steps ask for until the first successors are found."""
    system = rich_system("kip-320")
    packed, left = pack_rows(system, [system.initial_states()[0][1]]), [0]
    apply = Tape.apply

    def interrupt(*given: Any) -> Any:
        left[0] -= 1
        if not left[0]:
            raise KeyboardInterrupt
        return apply(*given)

    def following(successors: Successors) -> list[Any]:
        return [(number, words.tolist()) for number, _, words in successors.of(packed)]

    monkeypatch.setattr(Tape, "apply", interrupt)
    expected = following(Successors(system))
    for wanted in range(1, -left[0], 7):
        successors = Successors(system)
        for again in (wanted, 1):
            left[0] = again
            with pytest.raises(KeyboardInterrupt):
                following(successors)
        assert following(successors) == expected
    assert wanted > 50
