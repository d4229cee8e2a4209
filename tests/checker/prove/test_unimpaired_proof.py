"""While one broker is unimpaired nothing committed is lost: proved for any number of faults, as searches that close find it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from neverlost.checker.engine.engines.explore import explore
from neverlost.checker.engine.outcome import Verdict
from neverlost.checker.engine.proof.induction import CONSECUTION, ObligationAnswer, Proof, discharge, prove
from neverlost.checker.engine.proof.obligations import BoundedEncoding
from neverlost.checker.engine.search.options import Options
from neverlost.checker.questions.necessity.necessity import clauses_of, without
from neverlost.model.kernel import ModelError
from neverlost.model.kraft.controller.reassignment import controller_reassign
from neverlost.model.system import System, bind
from neverlost.specs.lemma import Lemma
from neverlost.specs.lemmas import find_lemmas
from neverlost.specs.lemmas.unimpaired import NEEDED, THEORY
from neverlost.specs.properties import properties
from neverlost.specs.property import Property
from tests.support.modern import system

COMMITTED, ACKED = "committed-never-lost", "acked-never-lost"
KINDS = ("isr_shrink", "clean_stop", "kill", "fence", "leader_move", "lossy_crash", "disk_loss")
"""Slow followers, stops, fences, leader moves, unclean shutdowns and disk losses: any number of each."""


def unlimited(model: str, rf: int, **given: Any) -> System:
    """All faults as often as one likes, while at least one broker stays unimpaired."""
    given = {"defects": "fixed", "faults.at_once": rf - 1, **dict.fromkeys(KINDS, "any")} | given
    return system(model, rf=rf, **given)


def proof(bound: System, goal: str, lemmas: tuple[Lemma, ...] | None = None, **more: Any) -> Proof:
    given = find_lemmas(bound, goal) if lemmas is None else lemmas
    return prove(bound, properties()[goal], given, look_up=False, **more)


def is_open(found: Proof) -> list[str]:
    return [f"{each.task.label}: {each.goal} {each.answer} {each.reason}" for each in found.open]


@pytest.mark.slow
@pytest.mark.parametrize(("model", "records"), [("kraft-elr", 1), ("kraft", 2)])
def test_with_two_replicas_the_proof_closes_as_the_search_does(model: str, records: int) -> None:
    bound = unlimited(model, 2, records=records)
    asked = [properties()[COMMITTED], properties()[ACKED]]
    asked += [Property(each.name, each.says, each.condition, (), "") for each in THEORY.lemmas]
    outcome = explore(bound, asked, Options(workers=1, keep_going=True))
    assert outcome.reason is None, "the reachable set is complete"
    assert [each.property.name for each in outcome.findings if each.verdict is not Verdict.HOLDS] == []
    found = proof(bound, ACKED)
    assert is_open(found) == [] and found.verdict is Verdict.HOLDS
    lemmas = {each.name for each in THEORY.lemmas if records > 1 or each.name != "no-gaps"}
    assert {each.goal for each in found.answers if each.task.kind == CONSECUTION} >= lemmas


SIZES: list[dict[str, Any]] = [
    {"rf": 3},
    {"rf": 3, "records": 3, "unclean": "true", "unclean_election": "any", "min_isr": 1},
    {"rf": 3, "min_isr_change": "any"},
    {"rf": 4, "racks": "a,a,b,b", "rack_loss": "any"},
    {"rf": 5, "min_isr": 3},
]


@pytest.mark.slow
@pytest.mark.parametrize("model", ["kraft", "kraft-elr"])
@pytest.mark.parametrize("goal", [COMMITTED, ACKED])
@pytest.mark.parametrize("given", SIZES, ids=lambda each: " ".join(f"{name}={value}" for name, value in each.items()))
def test_nothing_is_lost_while_one_broker_is_unimpaired(model: str, goal: str, given: dict[str, Any]) -> None:
    assert is_open(proof(unlimited(model, **given), goal)) == []


@pytest.mark.slow
@pytest.mark.parametrize("name", [each.name for each in THEORY.lemmas])
def test_the_proof_fails_without_any_one_lemma(name: str) -> None:
    bound = unlimited("kraft-elr", 2, records=2)
    found = proof(bound, ACKED, tuple(each for each in THEORY.lemmas if each.name != name), until_refuted=True)
    assert any(each.answer == "refuted" for each in found.open)


@pytest.mark.slow
@pytest.mark.parametrize("mechanism", NEEDED)
def test_the_proof_fails_without_any_mechanism_that_it_names(mechanism: str) -> None:
    bound = unlimited("kraft-elr", 3, records=2, off=mechanism, defects=None, on=",".join(set(NEEDED) - {mechanism}))
    found = proof(bound, ACKED, THEORY.lemmas, until_refuted=True)
    assert any(each.answer == "refuted" for each in found.open)


@pytest.mark.parametrize(
    "given", [{"faults.at_once": 3}, {"faults.at_once": 0}, {"defects": "shipped"}, {"reassign": 1}], ids=str
)
def test_what_the_argument_does_not_cover_has_no_lemmas(given: dict[str, Any]) -> None:
    assert find_lemmas(unlimited("kraft-elr", 3)) == THEORY.lemmas
    assert find_lemmas(unlimited("kraft-elr", 3, **given)) == ()


def verdict(bound: System) -> str:
    """What a search says of both properties together: `holds`, `violated`, or that the declared bounds are left."""
    try:
        outcome = explore(bound, [properties()[COMMITTED], properties()[ACKED]], Options(workers=1, keep_going=True))
    except ModelError:
        return "leaves the bounds"
    assert outcome.reason is None, "the reachable set is complete"
    return str(outcome.verdict)


def is_proved(weakened: System, action: str) -> bool:
    """Whether the weakened action keeps every lemma; what the others do is as it was, and proved with the whole system."""
    lemmas = find_lemmas(weakened, ACKED)
    reading = BoundedEncoding(weakened, lemmas, properties()[ACKED])
    found: list[ObligationAnswer] = []
    for task in reading.tasks():
        if task.step is not None and weakened.steps[task.step].action.name == action:
            discharge(found.append, reading, task, 60.0, None)
    assert found
    return all(each.answer == "proved" for each in found)


@pytest.mark.slow
@pytest.mark.parametrize("part", [0, *[pytest.param(each, marks=pytest.mark.slow) for each in range(1, 6)]])
def test_a_guard_clause_less_is_never_proved_where_the_search_finds_a_loss(part: int) -> None:
    """Every clause of every action, one at a time: the proof of a weakened system is worth something only if it can fail."""
    whole = unlimited("kraft-elr", 2)
    found = {}
    for clause in clauses_of(whole)[part::6]:
        weakened = without(whole, *clause)
        found[clause] = (verdict(weakened), is_proved(weakened, clause[0]))
    assert [clause for clause, (said, is_proved) in found.items() if is_proved and said != "holds"] == []
    assert sum(said == "violated" for said, _ in found.values()) >= 1, "the search finds losses"
    assert sum(is_proved for _, is_proved in found.values()) >= 10, "and some clauses are not needed for this"
    assert len(found) >= 21


def reassigned_alike(bound: System) -> System:
    """Reassignments of as many replicas as before, one at a time."""

    def one_at_a_time(k: Any, s: Any, target: int, outcome: int) -> Any:
        yield "bound: one reassignment at a time", k.not_(k.any_of(*s.is_adding, *s.is_removing))
        yield from controller_reassign.body(k, s, target, outcome)

    replicas = bound.configurations[0]["replication.factor"]
    alike = replace(controller_reassign, body=one_at_a_time, where=lambda target, outcome: target.bit_count() == replicas)
    actions = tuple(alike if each is controller_reassign else each for each in bound.model.actions)
    return bind(replace(bound.model, actions=actions), *bound.configurations)


@pytest.mark.slow
def test_a_replica_that_is_being_added_is_not_counted_so_reassignments_lose_records() -> None:
    """It crashes before the controller has admitted it, which then removes the replica that has the record (decision 036)."""
    bound = reassigned_alike(unlimited("kraft-elr", 2, reassign="any"))
    (finding,) = explore(bound, [properties()[ACKED]], Options(workers=1)).findings
    assert finding.trace is not None and len(finding.trace.steps) == 16
    names = [bound.steps[each].action.name for each in finding.trace.steps]
    assert names.count("broker_crash_lossy") + names.count("broker_lose_disk") == 2, "two lose data while one counts"
