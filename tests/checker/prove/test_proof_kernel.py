"""The kernel of published proofs: it accepts what follows, and nothing else."""

from __future__ import annotations

import pytest
import z3

from neverlost.checker.campaign.necessity import without
from neverlost.checker.prove.obligations import Closed
from neverlost.specs.property import properties
from tests.checker.prove.test_unimpaired_proof import ACKED, THEORY, unlimited
from tests.publish.proofs_kernel import Clause, clauses_of, follows, is_refuted, question

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
        reading = Closed(system, THEORY.lemmas, properties()[ACKED])
        task = next(each for each in reading.tasks() if each.label.startswith("leader_note_fetch"))
        solver = z3.Solver()
        for clause in clauses_of(question(reading, task)):
            solver.add(z3.Or([z3.Bool(str(each)) if each > 0 else z3.Not(z3.Bool(str(-each))) for each in clause]))
        said.append(solver.check())
    assert said == [z3.unsat, z3.sat]
