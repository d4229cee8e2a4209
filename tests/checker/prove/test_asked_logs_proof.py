"""An election that asks enough replicas keeps what acks=min.insync.replicas acknowledged: proved for any number of faults."""

from __future__ import annotations

from typing import Any

import pytest

from neverlost.checker.engine.outcome import Verdict
from neverlost.checker.engine.proof.induction import Proof, prove
from neverlost.model.kraft.controller import leader_election
from neverlost.model.kraft.state import minimum_isr
from neverlost.specs.lemmas import find_lemmas
from neverlost.specs.lemmas.acks_min_isr import THEORY
from neverlost.specs.properties import properties
from tests.support.modern import system

ACKED = "acked-never-lost"
ANY = dict.fromkeys(("leader_move", "fence", "kill", "isr_shrink"), "any")
ASKING = {"acks": "min.insync.replicas", "policy": "fenced-longest-log", "defects": "fixed"}


def proof(without: str = "", **given: Any) -> Proof:
    bound = system("3.9", **{**ASKING, **given})
    lemmas = tuple(each for each in find_lemmas(bound, ACKED) if each.name != without)
    return prove(bound, properties()[ACKED], lemmas, look_up=False, until_refuted=bool(without))


def is_open(found: Proof) -> list[str]:
    return [f"{each.task.label}: {each.goal} {each.answer} {each.reason}" for each in found.open]


@pytest.mark.parametrize(
    "given",
    [
        pytest.param({"leader_move": "any"}, marks=pytest.mark.slow),
        pytest.param(ANY, marks=pytest.mark.slow),
        pytest.param({**ANY, "records": 2}, marks=pytest.mark.slow),
    ],
    ids=["moves", "any faults", "two records"],
)
def test_nothing_acknowledged_is_lost_at_rf_3(given: dict[str, Any]) -> None:
    found = proof(**given)
    assert is_open(found) == [] and found.verdict is Verdict.HOLDS
    assert {each.name for each in found.lemmas} == {each.name for each in THEORY.lemmas}


@pytest.mark.slow
def test_with_one_answer_fewer_the_proof_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    def one_fewer(k: Any, s: Any, of: Any) -> Any:
        return len(of.replicas) - minimum_isr(k, s)

    monkeypatch.setattr(leader_election, "needed_answers", one_fewer)
    assert proof(leader_move="any").verdict is not Verdict.HOLDS


@pytest.mark.slow
@pytest.mark.parametrize("name", [each.name for each in THEORY.lemmas])
def test_the_proof_fails_without_any_one_lemma(name: str) -> None:
    assert proof(name, **ANY, records=2).verdict is not Verdict.HOLDS


@pytest.mark.parametrize(
    "given",
    [
        {"kill": 1},
        {"acks": "all"},
        {"policy": "longest-log"},
        {"lossy_crash": 1},
        {"unclean": True},
        {"reassign": 1},
        {"min_isr_change": 1},
        {"producer_retry": 1},
        {"off": "diverging-fetch-ignored", "defects": None},
    ],
    ids=str,
)
def test_what_the_argument_does_not_cover_has_none_of_its_lemmas(given: dict[str, Any]) -> None:
    fences = {} if "kill" in given else {"fence": "any"}
    assert not THEORY.covers(system("3.9", **{**ASKING, **fences, **given}).configurations[0])
    assert THEORY.covers(system("3.9", **ASKING, fence="any").configurations[0])
