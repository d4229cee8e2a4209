"""Proofs for every number of replicas: the reading agrees with ints at each size, and what is not so is not proved."""

from __future__ import annotations

import random
from functools import cache
from itertools import product
from typing import Any

import pytest
import z3

import neverlost
from neverlost.checker.engine.proof.every_size import ParametricEncoding
from neverlost.checker.engine.proof.induction import ObligationAnswer, discharge
from neverlost.checker.engine.proof.obligations import INITIATION, SAFETY, find_symbols
from neverlost.model.interpreters import ints
from neverlost.model.interpreters.quantified_terms import (
    Assumed,
    Concluded,
    Element,
    Functions,
    GenericStep,
    Quantified,
    list_lengths,
    make_generic_steps,
    transition,
)
from neverlost.model.interpreters.unbounded_terms import require_positive
from neverlost.model.kernel import ModelError, Primitives, action, for_every, for_some
from neverlost.model.protocols import models
from neverlost.model.system import State, System, bind
from neverlost.reports.questions.prove.api import read_every_size
from neverlost.specs.any_log import open_logs
from neverlost.specs.configuration.keys import configuration
from neverlost.specs.errors import InputError
from neverlost.specs.lemma import Lemma
from tests.checker.prove.test_induction import STRONG, kip_320, lemmas


def answers(
    reading: ParametricEncoding, kinds: tuple[str, ...], names: tuple[str, ...] = (), patience: float = 30.0
) -> set[str]:
    """What became of the obligations of some tasks: of these kinds, or of actions of these names."""
    found: list[ObligationAnswer] = []
    for task in reading.tasks():
        if task.kind in kinds or task.label.split("(")[0] in names:
            discharge(found.append, reading, task, patience, None)
    assert found
    return {each.answer for each in found}


def test_the_lemmas_hold_at_first_of_any_number_of_replicas_and_imply_strong_isr() -> None:
    reading = read_every_size(kip_320(2, 2, 1), lemmas(), STRONG)
    assert answers(reading, (INITIATION, SAFETY)) == {"proved"}


@pytest.mark.slow
def test_strong_isr_is_proved_for_every_number_of_replicas() -> None:
    found = neverlost.prove(
        {"model": "kip-320"}, method="induction", every_rf=True, properties=["strong-isr"], time_limit=1800
    ).inductions[0]
    assert [f"{each.task.label}: {each.goal} {each.reason}" for each in found.open] == []


def test_what_is_true_of_two_replicas_only_is_not_proved() -> None:
    def two_at_most(k: Any, s: Any) -> list[Any]:
        def alike(one: Any, other: Any, third: Any) -> Any:
            return k.any_of(one == other, other == third, one == third)

        return [
            for_every(
                k,
                s,
                "replica",
                lambda a: for_every(k, s, "replica", lambda b: for_every(k, s, "replica", lambda c: alike(a, b, c))),
            )
        ]

    wrong = Lemma("two-at-most", "", "", two_at_most)
    small = kip_320(2, 1, 1)
    assert ints.evaluate(small, small.initial_states()[0][1], wrong.condition)
    assert "unknown" in answers(read_every_size(small, (wrong,), STRONG), (INITIATION,), patience=2.0)


def test_a_clause_that_is_needed_at_once_is_missed_at_once() -> None:
    """`request names the leader` is what makes an epoch have one leader."""
    weakened = kip_320(2, 2, 1, disabled=[("become_leader", "request names the leader")])
    one_leader = tuple(each for each in lemmas() if each.name in ("epochs-are-issued", "one-leader-per-epoch"))
    assert "unknown" in answers(read_every_size(weakened, one_leader, STRONG), (), ("become_leader",), patience=2.0)
    assert answers(read_every_size(kip_320(2, 2, 1), one_leader, STRONG), (), ("become_leader",)) == {"proved"}


# --- the reading ---


@pytest.mark.parametrize("replicas", [3, *[pytest.param(each, marks=pytest.mark.slow) for each in (2, 4)]])
def test_the_reading_for_every_size_agrees_with_ints_at_each(replicas: int) -> None:
    system = kip_320(replicas, 2, 2)
    endless, _ = open_logs(system, STRONG)
    opened = list_lengths(endless)
    steps = {each.step.action.name: each for each in make_generic_steps(endless, Quantified(None, opened))}
    bounding = {each.clause for each in endless.model.unbounded}
    chance = random.Random(replicas)
    state = system.initial_states()[0][1]
    taken: set[str] = set()
    for _ in range(12):
        for step in chance.sample(system.steps, 3):
            if not set(ints.refusals(system, state, step)) & bounding:
                assert read(endless, steps[step.action.name], dict(step.arguments), state) == ints_take(system, state, step)
        after = [(step, reached) for step, reached in ints.successors(system, state)]
        if not after:
            state = system.initial_states()[0][1]
            continue
        step, reached = chance.choice(after)
        assert read(endless, steps[step.action.name], dict(step.arguments), state) == reached
        taken.add(step.action.name)
        state = reached
    assert len(taken) >= 5


def ints_take(system: System, state: State, step: Any) -> State | None:
    try:
        return ints.take(system, state, step)
    except ModelError:
        return None


def read(system: System, given: GenericStep, arguments: dict[str, int], state: State) -> State | None:
    """The successor by the reading for every size, at the size of the system."""
    opened = list_lengths(system)
    guard, after = transition(system, Quantified(None, opened), given, tables(system, state))
    here = [(Element(name), z3.IntVal(each)) for name, each in arguments.items()]
    here.append((opened["replica"], z3.IntVal(system.sizes["replica"])))

    def value(term: Any) -> Any:
        return z3.simplify(z3.substitute(grounded(term, system.sizes), *here))

    end = z3.Int("end_of_offset!0")
    ends = range(system.sizes["offset"] + 1 if str(end) in find_symbols(guard) else 1)
    meant = [each for each in ends if all(z3.is_true(value(z3.substitute(one, (end, z3.IntVal(each))))) for one in guard)]
    if not meant:
        return None
    (each,) = meant
    here.append((end, z3.IntVal(each)))
    found = []
    for slot in system.slots:
        pairs = list(zip(slot.field.axes, slot.index, strict=True))
        closed = tuple(each for axis, each in pairs if axis not in opened)
        function = after[slot.field.name][closed]
        known = value(function(*[z3.IntVal(each) for axis, each in pairs if axis in opened]))
        found.append(int(z3.is_true(known)) if z3.is_bool(known) else known.as_long())
    try:
        return system.checked(tuple(found))
    except ModelError:
        return None


def grounded(term: Any, sizes: Any) -> Any:
    """A term without quantifiers: an action's are over the replicas, and over the offsets of a log."""
    if z3.is_quantifier(term):
        axes = [term.var_name(each).partition("?")[0] for each in reversed(range(term.num_vars()))]
        places = product(*[map(z3.IntVal, range(sizes[axis])) for axis in axes])
        every = [grounded(z3.substitute_vars(term.body(), *each), sizes) for each in places]
        return z3.And(every) if term.is_forall() else z3.Or(every)
    children = [grounded(each, sizes) for each in term.children()]
    return term.decl()(*children) if children else term


def tables(system: System, state: State) -> Functions:
    """A state as functions."""
    opened = list_lengths(system)
    rows: dict[str, dict[tuple[int, ...], dict[tuple[int, ...], Any]]] = {}
    for slot, value in zip(system.slots, state, strict=True):
        pairs = list(zip(slot.field.axes, slot.index, strict=True))
        closed = tuple(each for axis, each in pairs if axis not in opened)
        at = tuple(each for axis, each in pairs if axis in opened)
        known = z3.BoolVal(bool(value)) if slot.field.kind == "flag" else z3.IntVal(value)
        rows.setdefault(slot.field.name, {}).setdefault(closed, {})[at] = known
    return {name: {closed: table(each) for closed, each in known.items()} for name, known in rows.items()}


def table(known: dict[tuple[int, ...], Any]) -> Any:
    def at(*index: Any) -> Any:
        *others, (_, found) = known.items()
        for place, value in others:
            found = z3.If(z3.And([one == other for one, other in zip(index, place, strict=True)]), value, found)
        return found

    return at


# --- what is refused ---


@cache
def refused(name: str) -> str:
    model = models()[name]
    keys = {"replication.factor": 3} | dict.fromkeys(set(model.keys) & {"faults.kill", "faults.leader_move"}, 1)
    system = bind(model, configuration(model, {key: (value, "test") for key, value in keys.items()}))
    with pytest.raises(InputError, match="no reading for every number of replicas") as raised:
        read_every_size(system, (), STRONG)
    return str(raised.value)


def test_a_model_that_depends_on_the_number_of_replicas_otherwise_is_refused() -> None:
    assert "goes over the elements of an axis by itself" in refused("kip-279")
    assert "used as a Python condition" in refused("majority")
    assert "elr" in refused("kraft-elr")


@action(replica="replica")
def first_is_special(k: Primitives, s: Any, replica: int) -> Any:
    yield "the first only", s.isr[replica][0 if replica == 0 else 1]


def test_an_element_is_no_python_condition() -> None:
    system = kip_320(2, 1, 1)
    opened = list_lengths(system)
    step = GenericStep(type(system.steps[0])(first_is_special, {"replica": Element("replica")}), (), ())
    with pytest.raises(ModelError, match="used as a Python condition"):
        transition(system, Quantified(None, opened), step, ParametricEncoding(system, (), STRONG).before)


BOTH = (for_every, for_some)
NEGATED = [(primitives, outer, inner) for primitives in (Assumed, Concluded) for outer in BOTH for inner in BOTH]
NEGATED.remove(
    (Concluded, for_some, for_every)
)  # a condition on some element is a quantifier there, and so is what it contains


@pytest.mark.parametrize(("primitives", "outer", "inner"), NEGATED)
def test_a_quantifier_under_a_negation_is_refused_also_inside_another(primitives: Any, outer: Any, inner: Any) -> None:
    def wrong(k: Any, s: Any) -> list[Any]:
        return [outer(k, s, "replica", lambda m: k.not_(inner(k, s, "replica", lambda each: s.quorum_isr[each])))]

    system = kip_320(2, 1, 1)
    good = ParametricEncoding(system, (), STRONG)
    view = good._view(good.before)
    k = primitives(None, list_lengths(system))
    with pytest.raises(ModelError, match="must not stand under a negation"):
        require_positive(k.lift(wrong(k, view)[0]), k.quantified)


def test_what_exists_for_all_alike_is_not_concluded_from_each_having_its_own() -> None:
    """For every replica another leader, therefore one leader for every replica: the order of quantifiers matters."""

    def each_has_one(k: Any, s: Any) -> Any:
        return for_every(k, s, "replica", lambda m: for_some(k, s, "replica", lambda x: s.isr[m][x]))

    def one_for_all(k: Any, s: Any) -> Any:
        return for_some(k, s, "replica", lambda x: for_every(k, s, "replica", lambda m: s.isr[m][x]))

    system = kip_320(2, 1, 1)
    reading = ParametricEncoding(system, (), STRONG)
    view, opened = reading._view(reading.before), list_lengths(system)
    solver = z3.Solver()
    assuming, concluding = Assumed(None, opened), Concluded(None, opened)
    solver.add(opened["replica"] == 2, each_has_one(assuming, view), z3.Not(one_for_all(concluding, view)))
    assert solver.check() == z3.sat
