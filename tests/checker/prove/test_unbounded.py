"""Proofs for any number of epochs and records."""

from __future__ import annotations

import random
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import z3

from neverlost.checker.engine.outcome import Verdict
from neverlost.checker.engine.proof import smtlib
from neverlost.checker.engine.proof.induction import Proof, prove
from neverlost.checker.engine.proof.unbounded import UnboundedEncoding
from neverlost.model.interpreters import ints
from neverlost.model.interpreters.unbounded_terms import OpenState, is_open, list_open_axes, take_open_step
from neverlost.model.kernel import ModelError, for_every, for_some
from neverlost.model.system import State, Step, System
from neverlost.specs.errors import InputError
from neverlost.specs.lemma import Lemma
from tests.checker.prove.test_induction import STRONG, kip_320, lemmas
from tests.support import obligations


def unbounded(system: System, given: tuple[Lemma, ...], **more: Any) -> Proof:
    reading = UnboundedEncoding(system, given, STRONG)
    return prove(system, STRONG, given, given=reading, look_up=False, **more)


@cache
def proof_of_two() -> Proof:
    return unbounded(kip_320(2, 2, 1), lemmas(), with_texts=True)


@pytest.mark.slow
def test_strong_isr_is_proved_for_any_number_of_epochs_and_records() -> None:
    found = proof_of_two()
    assert [f"{each.task.label}: {each.goal} {each.reason}" for each in found.open] == []
    assert found.verdict == Verdict.HOLDS and found.unbounded == ("epochs", "records")


@pytest.mark.slow
def test_strong_isr_is_proved_for_three_replicas_and_any_number_of_epochs_and_records() -> None:
    assert unbounded(kip_320(3, 2, 1), lemmas()).verdict == Verdict.HOLDS


@pytest.mark.slow
def test_another_solver_confirms_the_proof_without_bounds(tmp_path: Path) -> None:
    found = proof_of_two()
    obligations.write(tmp_path, found.texts, found.about)
    assert obligations.recheck(tmp_path, smtlib.solve_with_cvc5) == []


@pytest.mark.parametrize("name", ["follower-is-prefix", "committed-survives"])
def test_the_proof_without_bounds_fails_without_a_lemma(name: str) -> None:
    rest = tuple(each for each in lemmas() if each.name != name)
    found = unbounded(kip_320(2, 2, 1), rest, until_refuted=True)
    assert any(each.answer == "refuted" for each in found.open)


@pytest.mark.slow
def test_the_proof_without_bounds_fails_for_a_mutant() -> None:
    system = kip_320(2, 2, 1, disabled=[("leader_advance_high_watermark", "ISR has the record")])
    found = unbounded(system, lemmas(), until_refuted=True)
    refuted = [each for each in found.open if each.answer == "refuted"]
    assert {each.task.label.split("(")[0] for each in refuted} == {"leader_advance_high_watermark"}


@pytest.mark.parametrize("quantifier", [for_every, for_some])
def test_a_quantifier_under_a_negation_is_refused(quantifier: Any) -> None:
    """Made finite there, it would prove too much: the wrong lemma below is 'no epoch has a request', said as a negation."""

    def wrong(k: Any, s: Any) -> list[Any]:
        return [k.not_(quantifier(k, s, "epoch", lambda epoch: epoch < s.next_leader_epoch))]

    with pytest.raises(ModelError, match="must not stand under a negation"):
        unbounded(kip_320(2, 1, 1), (Lemma("wrong", "", "", wrong),))
    choice = Lemma("choice", "", "", lambda k, s: [k.ite(quantifier(k, s, "epoch", lambda epoch: epoch >= 0), True, False)])
    with pytest.raises(ModelError, match="a choice or a comparison"):
        unbounded(kip_320(2, 1, 1), (choice,))


def test_a_model_without_unbounded_axes_is_refused() -> None:
    from tests.support.modern import system

    with pytest.raises(InputError, match="no reading without bounds"):
        UnboundedEncoding(system("kraft"), (), STRONG)


def opened(system: System, state: State) -> OpenState:
    """A concrete state as an open one."""
    values: list[Any] = []
    functions: dict[str, list[Any]] = {}
    for number, (slot, value) in enumerate(zip(system.slots, state, strict=True)):
        known = bool(value) if slot.field.kind == "flag" else value
        values.append(None if is_open(system, number) else known)
        if is_open(system, number) and slot.index[0] == 0:
            elements = [
                each for other, each in zip(system.slots, state, strict=True) if same_column(slot.field.name, slot.index, other)
            ]
            functions.setdefault(slot.field.name, []).append(table(elements, slot.field.kind == "flag"))
    return OpenState(values, functions)


def same_column(name: str, index: tuple[int, ...], other: Any) -> bool:
    return other.field.name == name and other.index[1:] == index[1:]


def table(elements: list[int], is_flag: bool) -> Any:
    constants = [z3.BoolVal(bool(each)) if is_flag else z3.IntVal(each) for each in elements]

    def read(at: Any) -> Any:
        found = constants[-1]
        for position, each in enumerate(constants):
            found = z3.If(at == position, each, found)
        return found

    return read


def closed(system: System, state: OpenState) -> State:
    """An open state within the bounds as a concrete one."""
    found = []
    for number, slot in enumerate(system.slots):
        if is_open(system, number):
            inner = slot.index[1] if len(slot.index) > 1 else 0
            value = state.functions[slot.field.name][inner](z3.IntVal(slot.index[0]))
        else:
            value = state.values[number]
        found.append(number_of(value))
    return tuple(found)


def number_of(value: Any) -> int:
    if not z3.is_expr(value):
        return int(value)
    known = z3.simplify(value)
    return int(z3.is_true(known)) if z3.is_bool(known) else known.as_long()


def test_the_reading_without_bounds_agrees_with_ints_on_walks() -> None:
    system = kip_320(3, 2, 3)
    bounding = set(list_open_axes(system).values())
    chance = random.Random(5)
    taken: set[str] = set()
    for _ in range(12):
        state = system.initial_states()[0][1]
        for _ in range(14):
            for step in chance.sample(system.steps, 12):
                assert opened_take(system, state, step, bounding) == ints_take(system, state, step)
            enabled = [(step, after) for step, after in ints.successors(system, state)]
            if not enabled:
                break
            name = chance.choice(sorted({step.action.name for step, _ in enabled}))
            state = chance.choice([after for step, after in enabled if step.action.name == name])
            taken.add(name)
    assert len(taken) == len(system.model.actions)


def opened_take(system: System, state: State, step: Step, bounding: set[str]) -> State | None:
    guard, after = take_open_step(system, step, opened(system, state))
    if not all(z3.is_true(z3.simplify(each)) for each in guard) or set(ints.refusals(system, state, step)) & bounding:
        return None
    return closed(system, after)


def ints_take(system: System, state: State, step: Step) -> State | None:
    try:
        return ints.take(system, state, step)
    except ModelError:
        return None
