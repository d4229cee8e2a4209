"""The kernels of published proofs: they accept what follows, and nothing else."""

from __future__ import annotations

from pathlib import Path

import pytest
import z3

from neverlost.checker.engine.proof import smtlib
from neverlost.checker.engine.proof.obligations import BoundedEncoding
from neverlost.checker.questions.necessity.necessity import without
from neverlost.specs.properties import properties
from tests.checker.prove.test_unimpaired_proof import ACKED, THEORY, unlimited
from tests.tools.publish import proofs_again
from tests.tools.publish.proofs_again import alone, as_one, asked_again, is_proof, missing_for_ethos, proof_of
from tests.tools.publish.proofs_kernel import Clause, clauses_of, follows, is_refuted, question

PAIR: list[Clause] = [(1, 2), (-1, 2), (1, -2), (-1, -2)]
GOOD = ["5 2 0 1 2 0", "5 d 1 2 0", "6 0 5 3 4 0"]


def test_a_proof_is_accepted_that_derives_the_empty_clause() -> None:
    assert is_refuted(PAIR, GOOD)
    assert is_refuted([()], [])


@pytest.mark.parametrize(
    "proof",
    [
        [],
        GOOD[:2],
        ["5 2 0 1 0", *GOOD[1:]],
        ["5 1 2 0 1 0", "6 0 5 3 4 0"],
        ["5 0 1 2 0"],
        ["5 2 0 2 1 1 0", "6 0 5 3 0"],
    ],
    ids=["empty", "no end", "a hint is missing", "a weaker clause", "no unit", "no conflict"],
)
def test_what_does_not_follow_is_refused(proof: list[str]) -> None:
    assert not is_refuted(PAIR, proof)


def test_what_can_be_satisfied_has_no_proof() -> None:
    assert not is_refuted(PAIR[:3], ["4 2 0 1 2 0", "5 0 4 3 1 0"])
    assert not follows((), [(1,), (2,)]) and follows((), [(1,), (-1,)])


def test_the_clauses_of_a_question_say_what_it_says() -> None:
    """A step that keeps the lemmas gives clauses that nothing satisfies; without a clause of its guard, something does."""
    whole = unlimited("kraft-elr", 2)
    weakened = without(whole, "leader_note_fetch", "follower is in the leader's epoch")
    said = []
    for system in (whole, weakened):
        reading = BoundedEncoding(system, THEORY.lemmas, properties()[ACKED])
        task = next(each for each in reading.tasks() if each.label.startswith("leader_note_fetch"))
        solver = z3.Solver()
        for clause in clauses_of(question(reading, task)):
            solver.add(z3.Or([z3.Bool(str(each)) if each > 0 else z3.Not(z3.Bool(str(-each))) for each in clause]))
        said.append(solver.check())
    assert said == [z3.unsat, z3.sat]


# --- another solver, and the checker of its proofs ---

PREMISE = "(set-logic UFLIA)\n(declare-const x Int)\n(assert (> x 0))\n"
ABSURD = "(push 1)\n; absurd\n(set-info :status unsat)\n(assert (<\n  x 0))\n(assert (> x (- 5)))\n(check-sat)\n(pop 1)\n"
POSSIBLE = "(push 1)\n; possible\n(set-info :status unsat)\n(assert (< x 7))\n(check-sat)\n(pop 1)\n"


@pytest.mark.parametrize(("checks", "said"), [([ABSURD], "unsat"), ([ABSURD, ABSURD], "unsat"), ([ABSURD, POSSIBLE], "sat")])
def test_checks_as_one_are_satisfied_where_any_is(checks: list[str], said: str) -> None:
    assert smtlib.solve_with_z3(as_one(PREMISE + "".join(checks))) == [said]


def test_what_one_check_refutes_is_counted_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    def plain(text: str) -> str:
        return smtlib.solve_with_z3(as_one(text))[0]

    monkeypatch.setattr(proofs_again, "asked_at_once", plain)
    every, some = (asked_again("step", PREMISE + ABSURD + each) for each in (ABSURD, POSSIBLE))
    assert (every.checks, every.cvc5, every.is_wrong, every.is_never) == (2, 2, False, False)
    assert (some.checks, some.cvc5, some.is_wrong) == (2, 1, True)
    assert asked_again("step", PREMISE.replace("> x 0", "> x x") + ABSURD).is_never


@pytest.mark.parametrize(("answer", "is_accepted"), [("correct", True), ("incomplete", False), ("", False)])
def test_only_a_proof_without_gaps_counts(
    answer: str, is_accepted: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By a stand-in for ethos, which answers so to everything."""
    (tmp_path / "ethos").write_text(f"#!/bin/sh\necho {answer}\n")
    (tmp_path / "ethos").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    text = alone(PREMISE + ABSURD)
    proof = proof_of(text, {})
    assert proof is not None and is_proof(text, proof) == is_accepted
    last = proof.rstrip().splitlines()[-1]
    assert not is_proof(text, proof.replace(last, "")), "it stops short of the contradiction"
    assert not is_proof(text, f"(assume-push @more false)\n{proof}"), "its contradiction is one of an assumption"
    assert proof_of(alone(PREMISE + POSSIBLE), {}) is None


def test_a_missing_checker_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    assert missing_for_ethos().startswith("ethos is not on the PATH: ")


@pytest.mark.skipif(bool(missing_for_ethos()), reason=missing_for_ethos())
def test_ethos_refuses_what_does_not_follow() -> None:
    text = alone(PREMISE + ABSURD)
    proof = proof_of(text, {})
    assert proof is not None and is_proof(text, proof)
    assert not is_proof(text.replace("(assert (> x 0))\n", ""), proof), "it assumes what is not asserted"
    *others, last = proof.rstrip().splitlines()
    assert not is_proof(text, "\n".join([*others, last.replace(" true", " false")])), "its last step is another"
