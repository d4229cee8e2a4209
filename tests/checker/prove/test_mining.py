"""Lemmas found by scanning reachable states prove properties on their own."""

from __future__ import annotations

import json
from functools import cache
from itertools import product

import numpy as np
import pytest

from neverlost.checker.engine.engines.explore import explore
from neverlost.checker.engine.outcome import Verdict
from neverlost.checker.engine.proof.candidate_lemmas import Clause, Vocabulary, false_rows, reachable, survivors
from neverlost.checker.engine.proof.induction import prove
from neverlost.checker.engine.proof.mining import Mined, is_inductive, mined
from neverlost.checker.engine.search.options import Options
from neverlost.model.interpreters import ints
from neverlost.model.interpreters.columns import unpack_row
from neverlost.model.interpreters.ints import Ints, IntsView
from neverlost.model.system import State, System
from neverlost.specs.errors import InputError
from tests.checker.prove.test_induction import STRONG, kip_320
from tests.support.program import neverlost


@cache
def smallest() -> Mined:
    return mined(kip_320(2, 1, 0), STRONG, size=2, seconds=600)


def test_a_property_is_proved_with_mined_lemmas_only() -> None:
    found = smallest()
    assert found.is_inductive and found.survivors < found.candidates and found.states == (37,)
    proof = prove(kip_320(2, 1, 0), STRONG, found.lemmas)
    assert proof.verdict == Verdict.HOLDS, proof.reason


def test_clauses_are_scanned_in_every_configuration() -> None:
    """What is left is true of the larger states too, here read by ints in the smaller one's slots."""
    base, larger = kip_320(2, 1, 0), kip_320(2, 1, 1)
    vocabulary, names = Vocabulary(base), {slot.name: number for number, slot in enumerate(larger.slots)}
    moved = [names[slot.name] for slot in base.slots]
    within = [tuple(state[number] for number in moved) for state in states_of(larger)]
    literals = vocabulary.literals()
    false = [np.packbits([not holds(vocabulary, (each,), state) for state in within]) for each in literals]
    here = false_rows(vocabulary, literals, reachable(base))
    both, looked = survivors(vocabulary, literals, np.concatenate([here, np.array(false)], axis=1), 2)
    found = mined(base, STRONG, size=2, seconds=10, also=[larger])
    assert found.states == (37, 277)
    assert (found.survivors, found.candidates) == (len(both), looked)
    assert len(both) != len(survivors(vocabulary, literals, here, 2)[0])
    assert " reachable states of 2 configurations: " in found.says


def test_a_configuration_without_a_needed_slot_is_an_input_error() -> None:
    with pytest.raises(InputError, match="a configuration to mine in has no 'log_record"):
        mined(kip_320(2, 2, 0), STRONG, size=2, seconds=60, also=[kip_320(2, 1, 0)])


@pytest.mark.slow
def test_two_epochs_are_proved_with_mined_lemmas_only() -> None:
    system = kip_320(2, 1, 1)
    found = mined(system, STRONG, size=2, seconds=240)
    assert found.is_inductive
    assert prove(system, STRONG, found.lemmas).verdict == Verdict.HOLDS


def test_every_mined_lemma_is_needed() -> None:
    lemmas = smallest().lemmas
    assert len(lemmas) > 5
    for each in lemmas[:-1]:
        assert not is_inductive(kip_320(2, 1, 0), STRONG, [other for other in lemmas if other is not each])


def test_mining_a_violated_property_finds_no_proof() -> None:
    system = kip_320(2, 1, 0, disabled=[("leader_advance_high_watermark", "ISR has the record")])
    assert explore(system, [STRONG], Options(workers=1)).verdict == Verdict.VIOLATED
    found = mined(system, STRONG, size=2, seconds=60)
    assert not found.is_inductive and found.lemmas == ()


def holds(vocabulary: Vocabulary, clause: Clause, state: State) -> bool:
    return bool(vocabulary.value(Ints, clause, IntsView(vocabulary.system, state)._read))


def states_of(system: System) -> list[State]:
    rows = reachable(system)
    return [unpack_row(system, rows, number) for number in range(rows.shape[1])]


def test_scans_agree_with_ints() -> None:
    """Survivors are true in every reachable state, and no valid clause of two literals is missed."""
    system = kip_320(2, 1, 0)
    vocabulary, states = Vocabulary(system), states_of(system)
    literals = vocabulary.literals()[::3]
    rows = reachable(system)
    clauses, _ = survivors(vocabulary, literals, false_rows(vocabulary, literals, rows), 2)
    assert clauses and all(holds(vocabulary, clause, state) for clause in clauses for state in states)
    kept = {image for clause in clauses for image in vocabulary.renamed(clause)}
    for one, other in product(literals, literals):
        if one < other and one.negated != other and all(holds(vocabulary, (one, other), state) for state in states):
            implied = {(one, other), (one,), (other,)} & kept
            assert implied, vocabulary.text((one, other))


def test_reachable_states_are_those_of_exploration() -> None:
    system = kip_320(2, 1, 1)
    assert reachable(system).shape[1] == explore(system, [], Options(workers=1)).counts.distinct
    assert all(after in set(states_of(system)) for _, after in ints.successors(system, system.initial_states()[0][1]))


def test_renaming_replicas_keeps_truth() -> None:
    system = kip_320(2, 1, 1)
    vocabulary, states = Vocabulary(system), states_of(system)
    for clause in [(each,) for each in vocabulary.literals()]:
        truths = [np.mean([holds(vocabulary, image, state) for state in states]) for image in vocabulary.renamed(clause)]
        assert max(truths) - min(truths) < 1e-9, vocabulary.text(clause)


def test_too_large_a_system_is_an_input_error() -> None:
    with pytest.raises(InputError, match="--mine needs all reachable states of a small configuration"):
        reachable(kip_320(3, 2, 2), seconds=0.0)


@pytest.mark.slow
def test_the_command_prints_mined_lemmas() -> None:
    keys = ["model=kip-320", "replication.factor=2", "bounds.records=1", "bounds.max_leader_epoch=0"]
    options = [part for each in keys for part in ("--set", each)]
    asked = ["--method", "induction", "--mine", "--property", "strong-isr", "--json", "-"]
    done = neverlost("prove", *options, *asked, timeout=600)
    assert done.returncode == 0, done.stderr
    proof = json.loads(done.stdout)["proofs"][0]
    assert proof["mined"].startswith("mined 37 + ") and proof["open"] == []
    assert " reachable states of 4 configurations: " in proof["mined"] and " survived (" in proof["mined"]
    assert all(each["name"].startswith("mined-") for each in proof["lemmas"][:-1])


def test_a_clause_reads_as_the_model_writes_it() -> None:
    vocabulary = Vocabulary(kip_320(2, 1, 1))
    texts = {vocabulary.text((each,)) for each in vocabulary.literals()}
    assert {"isr[0][1]", "not isr[0][1]", "leader[0] != -1", "high_watermark[0] <= log_end_offset[0]"} <= texts
