"""Why a majority-quorum log loses nothing by stops and moves: the proof closes as the search does, and needs each lemma."""

from __future__ import annotations

from typing import Any

import pytest

from neverlost.checker.engine.engines.explore import explore
from neverlost.checker.engine.outcome import Verdict
from neverlost.checker.engine.proof.induction import Proof, prove
from neverlost.checker.engine.search.options import Options
from neverlost.model.protocols import models
from neverlost.model.system import System, bind
from neverlost.specs.configuration.keys import configuration
from neverlost.specs.lemma import Lemma
from neverlost.specs.lemmas import find_lemmas
from neverlost.specs.lemmas.majority import THEORY
from neverlost.specs.properties import properties
from neverlost.specs.property import Property

COMMITTED, ACKED = "committed-never-lost", "acked-never-lost"


def majority(rf: int, records: int, **given: Any) -> System:
    """Any number of stops and moves."""
    keys = {"replication.factor": rf, "bounds.records": records, "faults.kill": "any", "faults.leader_move": "any"}
    keys |= {name if "." in name else f"faults.{name}": value for name, value in given.items()}
    model = models()["majority"]
    return bind(model, configuration(model, {key: (value, "test") for key, value in keys.items()}))


def proof(bound: System, goal: str, lemmas: tuple[Lemma, ...] = THEORY.lemmas, **more: Any) -> Proof:
    return prove(bound, properties()[goal], lemmas, look_up=False, **more)


def is_open(found: Proof) -> list[str]:
    return [f"{each.task.label}: {each.goal} {each.answer} {each.reason}" for each in found.open]


@pytest.mark.slow
def test_with_three_replicas_the_proof_closes_as_the_search_does() -> None:
    bound = majority(3, 1)
    asked = [properties()[COMMITTED], properties()[ACKED]]
    asked += [Property(each.name, each.says, each.condition, (), "") for each in find_lemmas(bound)]
    outcome = explore(bound, asked, Options(workers=1, keep_going=True))
    assert outcome.reason is None, "the reachable set is complete"
    assert [each.property.name for each in outcome.findings if each.verdict is not Verdict.HOLDS] == []
    assert is_open(proof(bound, ACKED)) == []


FLUSHED = {"flush.messages": "1", "lossy_crash": "any", "kill": 0}


@pytest.mark.slow
@pytest.mark.parametrize("goal", [COMMITTED, ACKED])
@pytest.mark.parametrize("given", [{}, FLUSHED], ids=str)
@pytest.mark.parametrize(("replicas", "records"), [(3, 2), (5, 1)])
def test_nothing_is_lost_by_stops_and_moves(goal: str, given: dict[str, Any], replicas: int, records: int) -> None:
    assert is_open(proof(majority(replicas, records, **given), goal)) == []


@pytest.mark.slow
@pytest.mark.parametrize("name", [each.name for each in THEORY.lemmas])
def test_the_proof_fails_without_any_one_lemma(name: str) -> None:
    found = proof(majority(3, 2), ACKED, tuple(each for each in THEORY.lemmas if each.name != name), until_refuted=True)
    assert any(each.answer == "refuted" for each in found.open)


@pytest.mark.parametrize("given", [{"disk_loss": "any"}, pytest.param({"lossy_crash": "any"}, marks=pytest.mark.slow)], ids=str)
def test_lost_data_is_not_covered_and_breaks_the_proof(given: dict[str, Any]) -> None:
    assert find_lemmas(majority(3, 1)) == THEORY.lemmas and find_lemmas(majority(3, 1, **FLUSHED)) == THEORY.lemmas
    bound = majority(3, 1, **given)
    assert find_lemmas(bound) == ()
    assert any(each.answer == "refuted" for each in proof(bound, COMMITTED, until_refuted=True).open)
