"""Proofs by induction: complete ones, necessary lemmas, obligations that another solver confirms, and mutants that fail."""

from __future__ import annotations

import contextlib
import json
import random
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import z3

from neverlost.checker.engine.engines.explore import explore
from neverlost.checker.engine.outcome import Verdict, replay
from neverlost.checker.engine.proof import bounded_search, induction, smtlib
from neverlost.checker.engine.proof.induction import (
    CONSECUTION,
    INITIATION,
    SAFETY,
    ObligationAnswer,
    Proof,
    ProofBudget,
    differs_from,
    prove,
)
from neverlost.checker.engine.proof.obligations import LEAVES, BoundedEncoding
from neverlost.checker.engine.proof.progress import ProofProgress
from neverlost.checker.engine.search.options import Options
from neverlost.model.interpreters import ints
from neverlost.model.kernel import ModelError
from neverlost.model.system import System
from neverlost.specs.lemma import Lemma
from neverlost.specs.lemmas import find_lemmas
from neverlost.specs.properties import properties
from neverlost.specs.property import Property
from tests.support import obligations
from tests.support.searches import classic

STRONG = properties()["strong-isr"]
EXPANSION = ("leader_expand_isr", "high watermark in the current epoch")


def kip_320(replicas: int, log_size: int, max_epoch: int, **more: Any) -> System:
    return classic("kip-320", replicas, log_size, log_size, max_epoch, **more)


def lemmas() -> tuple[Lemma, ...]:
    return find_lemmas(kip_320(2, 1, 1))


@cache
def proof(replicas: int) -> Proof:
    return prove(kip_320(replicas, 2, 3), STRONG, lemmas(), with_texts=True)


@pytest.mark.parametrize("replicas", [2, pytest.param(3, marks=pytest.mark.slow)])
def test_strong_isr_of_kip_320_is_proved(replicas: int) -> None:
    found = proof(replicas)
    assert [f"{each.task.label}: {each.goal}" for each in found.open] == []
    assert found.verdict == Verdict.HOLDS and found.outcome.verdict == Verdict.HOLDS
    kinds = [each.task.kind for each in found.answers]
    assert kinds.count(SAFETY) == 1
    assert kinds.count(INITIATION) == len(lemmas()) + 1
    assert kinds.count(CONSECUTION) >= len(found.system.steps) * 2
    assert found.seconds < 300


def test_a_step_that_needs_no_obligation_for_a_lemma_never_changes_its_truth() -> None:
    """Also where the lemma is false: states at random, in which only those clauses count that read what the step writes."""
    system = kip_320(2, 1, 1)
    reading = BoundedEncoding(system, lemmas(), STRONG)
    tasks = [each for each in reading.tasks() if each.kind == CONSECUTION]
    left_out = {task: {each.name for each in lemmas()} - {each.name for each in reading.goals(task)} for task in tasks}
    assert any(left_out.values())
    draw, tried = random.Random(1), 0
    while tried < 300:
        state = tuple(draw.randint(slot.low, slot.high) for slot in system.slots)
        for task, names in left_out.items():
            with contextlib.suppress(ModelError):
                after = ints.take(system, state, system.steps[task.step or 0])
                for each in lemmas() if after is not None else ():
                    if each.name in names:
                        tried += 1
                        assert ints.evaluate(system, state, each.condition) == ints.evaluate(system, after, each.condition)


@pytest.mark.parametrize("sizes", [(2, 2, 2), (3, 1, 1)])
def test_lemmas_hold_in_every_reachable_state(sizes: tuple[int, int, int]) -> None:
    system = kip_320(*sizes)
    asked = [Property(each.name, each.says, each.condition, (), "") for each in lemmas()]
    outcome = explore(system, asked, Options(workers=1, keep_going=True))
    assert [each.property.name for each in outcome.findings if each.verdict != Verdict.HOLDS] == []


@pytest.mark.parametrize("name", [each.name for each in lemmas()])
def test_the_proof_fails_without_any_one_lemma(name: str) -> None:
    rest = [each for each in lemmas() if each.name != name]
    assert len(rest) == len(lemmas()) - 1
    found = prove(kip_320(3, 2, 2), STRONG, rest, look_up=False, until_refuted=True)
    assert any(each.answer == "refuted" for each in found.open)
    assert found.verdict == Verdict.INCONCLUSIVE


MUTANTS = [
    pytest.param((3, 2, EXPANSION), marks=pytest.mark.slow),
    pytest.param((3, 2, ("leader_expand_isr", "in the leader's epoch")), marks=pytest.mark.slow),
    (2, 2, ("leader_advance_high_watermark", "ISR has the record")),
    (2, 2, ("leader_advance_high_watermark", "ISR is in the leader's epoch")),
]


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda each: str(each[-1]))
def test_without_a_needed_clause_a_counterexample_to_induction_leads_to_a_behaviour(mutant: Any) -> None:
    replicas, max_epoch, clause = mutant
    system = kip_320(replicas, 2, max_epoch, disabled=[clause])
    found = prove(system, STRONG, lemmas())
    broken = [each for each in found.open if each.task.step is not None and each.states is not None]
    assert {system.steps[each.task.step].action.name for each in broken if each.task.step is not None} == {clause[0]}
    assert found.verdict == Verdict.VIOLATED and found.outcome.verdict == Verdict.VIOLATED
    assert found.violation is not None and found.violation.trace is not None
    replay(system, found.violation.trace, STRONG)


def test_a_reachable_counterexample_comes_with_its_behaviour() -> None:
    """A lemma that admits the initial state only is broken by every step from it, and that state is reached."""
    system = kip_320(2, 1, 1)
    initial = system.initial_states()[0][1]
    stays = Lemma("stays", "nothing ever happens", "wrong on purpose", lambda k, s: [k.not_(differs_from(initial)(k, s))])
    found = prove(system, STRONG, [stays])
    assert found.looked and all(each.is_reachable for each in found.looked)
    for each in found.looked:
        assert each.trace is not None and each.answer.states is not None
        assert each.trace.states == (each.answer.states[0],) == (initial,)
    assert found.verdict == Verdict.INCONCLUSIVE, "the property holds: it is the lemma that is wrong"


def test_a_missing_lemma_shows_an_unreachable_counterexample() -> None:
    rest = [each for each in lemmas() if each.name != "logs-match"]
    found = prove(kip_320(2, 2, 2), STRONG, rest)
    assert found.looked and {each.is_reachable for each in found.looked} == {False}
    answer = found.looked[0].answer
    assert answer.states is not None and answer.task.step is not None
    before, after = answer.states
    assert ints.take(found.system, before, found.system.steps[answer.task.step]) == after


@pytest.fixture(params=[2, pytest.param(3, marks=pytest.mark.slow)])
def written(request: Any, tmp_path: Path) -> tuple[Path, Proof]:
    found = proof(request.param)
    obligations.write(tmp_path, found.texts, found.about)
    return tmp_path, found


def test_another_solver_confirms_every_obligation(written: tuple[Path, Proof]) -> None:
    directory, found = written
    assert obligations.recheck(directory, smtlib.solve_with_cvc5) == []
    manifest = json.loads((directory / smtlib.MANIFEST).read_text())
    assert sum(each["checks"] for each in manifest["files"]) == len(found.answers)
    assert [each["name"] for each in manifest["lemmas"]] == [each.name for each in lemmas()]
    assert manifest["solver"].startswith("z3 ") and manifest["seed"] == found.seed


@pytest.mark.slow
def test_a_tampered_obligation_is_refuted(tmp_path: Path) -> None:
    found = proof(2)
    obligations.write(tmp_path, found.texts, found.about)
    assert obligations.recheck(tmp_path) == []
    victim = tmp_path / "001-consecution.smt2"
    lines = victim.read_text().splitlines()
    first = next(i for i, line in enumerate(lines) if line == "(push 1)")
    cut = next(i for i in range(first, len(lines)) if lines[i] == "(check-sat)")
    removed = [*lines[: first + 3], *lines[cut:]]
    victim.write_text("\n".join([*removed, ""]))
    problems = obligations.recheck(tmp_path, smtlib.solve_with_cvc5)
    assert [each.split(":")[0] for each in problems] == ["001-consecution.smt2"] * 2
    assert "changed since" in problems[0] and "answered sat, unsat" in problems[1]
    assert obligations.recheck(tmp_path) == problems
    (tmp_path / "000-initiation.smt2").unlink()
    assert "000-initiation.smt2: missing" in obligations.recheck(tmp_path, smtlib.solve_with_cvc5)


LEAVING = [
    ("leader_write", "presumes leadership", "log_epoch[0][0] = -1"),
    ("follower_fetch", "leader has more", "log_end_offset[0] = 2"),
]


@pytest.mark.parametrize(("action", "clause", "what"), LEAVING)
def test_a_clause_without_which_the_bounds_are_left_is_reported_as_such(action: str, clause: str, what: str) -> None:
    """The search refuses, the proof says why it decides nothing, the bounded search does not count what it did not follow."""
    system = kip_320(2, 1, 1, disabled=[(action, clause)])
    with pytest.raises(ModelError, match="outside") as problem:
        explore(system, [STRONG], Options(workers=1))
    assert what in str(problem.value)
    found = prove(system, STRONG, lemmas())
    assert found.verdict is Verdict.INCONCLUSIVE
    assert found.reason is not None and f"{LEAVES}: {problem.value}" in found.reason
    bounded = bounded_search.check(system, [STRONG], 5, workers=1)
    assert bounded.outcome.verdict is Verdict.INCONCLUSIVE
    assert bounded.outcome.reason == f"{LEAVES}, after {bounded.depth + 1} steps"


def test_an_obligation_that_no_solver_decides_says_what_was_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    system = kip_320(3, 2, 3)
    reading = BoundedEncoding(system, lemmas(), STRONG)
    task = next(each for each in reading.tasks() if each.label.startswith("become_leader"))
    goal = next(each for each in reading.goals(task) if each.name == "committed-survives")
    first = ObligationAnswer(task, goal.name, "unknown", 0.0, reason="timeout")
    with monkeypatch.context() as patched:
        patched.setattr(z3.Solver, "check", lambda *_: z3.unknown)
        found = induction._ask_other_solvers(reading, task, goal, first, patience=0.001)
    assert found.answer == "unknown" and found.reason.startswith("z3 and cvc5 said unknown: QF_FD (timeout), QF_BV (")
    assert "z3's choice of a solver (" in found.reason and "cvc5 (" in found.reason
    decided = induction._ask_other_solvers(replace_solvers(reading), task, goal, first, patience=60)
    assert (decided.answer, decided.solver) == ("proved", "cvc5")


def replace_solvers(reading: BoundedEncoding) -> BoundedEncoding:
    """The reading with z3's first solver alone, so that the second program has to decide."""
    reading.solvers = reading.solvers[:1]
    return reading


def test_a_proof_says_how_far_it_is() -> None:
    seen: list[ProofProgress] = []
    found = prove(kip_320(2, 1, 1), STRONG, lemmas(), ProofBudget(progress=seen.append))
    assert [each.tasks for each in seen] == list(range(1, seen[-1].of + 1))
    assert (seen[-1].proved, seen[-1].open, seen[-1].left) == (len(found.answers), 0, 0)
    assert all(each.left > 0 for each in seen[:-1])


def test_giving_up_is_inconclusive_and_says_why() -> None:
    found = prove(kip_320(3, 2, 3), STRONG, lemmas(), ProofBudget(seconds=0.5))
    assert found.verdict == Verdict.INCONCLUSIVE and found.reason == "the time limit was reached"
    assert not found.is_complete
