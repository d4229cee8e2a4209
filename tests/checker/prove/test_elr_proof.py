"""Why ELR keeps committed and acknowledged records: the proof closes, needs each lemma, and fails where a rule is missing."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from neverlost.checker.engine.engines.explore import explore
from neverlost.checker.engine.outcome import Verdict, replay
from neverlost.checker.engine.proof import smtlib
from neverlost.checker.engine.proof.induction import CONSECUTION, Proof, prove
from neverlost.checker.engine.search.options import Options
from neverlost.model.system import System
from neverlost.specs.lemma import Lemma
from neverlost.specs.lemmas import find_lemmas
from neverlost.specs.properties import properties
from neverlost.specs.property import Property
from tests.support import obligations
from tests.support.modern import system

COMMITTED, ACKED = "committed-never-lost", "acked-never-lost"
FIXED = {"defects": "fixed"}
"""The argument is about the design: three known defects make the ISR and the ELR forget who has the records."""
ONE_STOP: dict[str, Any] = {"lossy_crash": 1, "isr_shrink": 1, "defects": "fixed"}


def proof(bound: System, goal: str, lemmas: tuple[Lemma, ...] | None = None, **more: Any) -> Proof:
    return prove(bound, properties()[goal], find_lemmas(bound, goal) if lemmas is None else lemmas, **more)


@pytest.mark.slow
def test_one_lossy_crash_loses_nothing_committed_with_a_minimum_of_two() -> None:
    bound = system("kraft-elr", **ONE_STOP)
    found = proof(bound, COMMITTED)
    assert [f"{each.task.label}: {each.goal} {each.reason}" for each in found.open] == []
    assert found.verdict == Verdict.HOLDS
    taken = {each.task.step for each in found.answers if each.task.kind == CONSECUTION}
    assert taken == set(range(len(bound.steps)))


LARGER: list[dict[str, Any]] = [
    {"lossy_crash": 1, "isr_shrink": 2, "records": 2},
    {"lossy_crash": 2, "isr_shrink": 3, "records": 2, "min_isr": 3},
    {"lossy_crash": 1, "crash": 1, "isr_shrink": 3, "records": 2, "min_isr": 3, "unclean": "true"},
    {"disk_loss": 1, "isr_shrink": 2, "records": 2, "unclean": "true"},
    {"lossy_crash": 2, "isr_shrink": 2, "min_isr": 3, "rf": 5},
]


@pytest.mark.slow
@pytest.mark.parametrize("goal", [COMMITTED, ACKED])
@pytest.mark.parametrize("given", LARGER, ids=lambda each: " ".join(f"{name}={value}" for name, value in each.items()))
def test_fewer_stops_than_the_minimum_lose_nothing(given: dict[str, Any], goal: str) -> None:
    found = proof(system("kraft-elr", **given, **FIXED), goal)
    assert [f"{each.task.label}: {each.goal} {each.reason}" for each in found.open] == []


@pytest.mark.parametrize("given", [{**ONE_STOP, "records": 2}, {"lossy_crash": 1, "crash": 1, "min_isr": 3, **FIXED}], ids=str)
def test_lemmas_hold_in_every_reachable_state(given: dict[str, Any]) -> None:
    bound = system("kraft-elr", **given)
    asked = [Property(each.name, each.says, each.condition, (), "") for each in find_lemmas(bound)]
    outcome = explore(bound, asked, Options(workers=1, keep_going=True))
    assert len(asked) == 14
    assert [each.property.name for each in outcome.findings if each.verdict != Verdict.HOLDS] == []


NEEDED = [(goal, each.name) for goal in (COMMITTED, ACKED) for each in find_lemmas(system("kraft-elr", **FIXED), goal)]


@pytest.mark.slow
@pytest.mark.parametrize(("goal", "name"), NEEDED)
def test_the_proof_fails_without_any_one_lemma(goal: str, name: str) -> None:
    bound = system("kraft-elr", **ONE_STOP, records=2)
    rest = tuple(each for each in find_lemmas(bound, goal) if each.name != name)
    found = proof(bound, goal, rest, look_up=False, until_refuted=True)
    assert any(each.answer == "refuted" for each in found.open)


@pytest.mark.slow
@pytest.mark.parametrize(("rule", "steps"), [("strict-high-watermark", 10), ("maximal-isr", 11)])
def test_without_a_needed_rule_a_counterexample_to_induction_leads_to_a_behaviour(rule: str, steps: int) -> None:
    bound = system("kraft-elr", lossy_crash=1, isr_shrink=2, off=rule, **FIXED)
    found = proof(bound, COMMITTED)
    assert any(each.states is not None for each in found.open)
    assert found.verdict == Verdict.VIOLATED and found.violation is not None and found.violation.trace is not None
    assert len(found.violation.trace.steps) == steps
    replay(bound, found.violation.trace, properties()[COMMITTED])


@pytest.mark.slow
def test_a_rule_that_the_proof_leans_on_breaks_it() -> None:
    bound = system("kraft-elr", **ONE_STOP, off="unclean-shutdown-leaves-elr")
    found = proof(bound, COMMITTED, look_up=False, until_refuted=True)
    refuted = [each for each in found.open if each.answer == "refuted"]
    assert {each.task.label.split("(")[0] for each in refuted} == {"broker_restart"}


@pytest.mark.parametrize(
    "given", [{"lossy_crash": 2}, {"lossy_crash": 1, "fence": 1}, {"lossy_crash": 1, "min_isr": 1}], ids=str
)
def test_what_the_argument_does_not_cover_has_no_lemmas(given: dict[str, Any]) -> None:
    assert find_lemmas(system("kraft-elr", **given)) == ()


@pytest.mark.slow
def test_another_solver_confirms_the_proof(tmp_path: Path) -> None:
    found = proof(system("kraft-elr", **ONE_STOP), COMMITTED, with_texts=True)
    assert found.is_complete
    obligations.write(tmp_path, found.texts, found.about)
    assert obligations.recheck(tmp_path, smtlib.solve_with_cvc5) == []
