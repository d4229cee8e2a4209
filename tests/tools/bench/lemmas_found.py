"""Which hand-written lemmas mining finds: `python -m tests.tools.bench.lemmas_found`, as the rows of a table.

A condition of a lemma is found if the clauses of two literals that hold in the complete reachable set of two replicas imply it.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from typing import Any

import z3

from neverlost.checker.engine.proof.candidate_lemmas import Vocabulary, false_rows, reachable, survivors
from neverlost.checker.engine.proof.obligations import BoundedEncoding
from neverlost.model.interpreters.terms import TermsView, within_bounds
from neverlost.model.system import System
from neverlost.specs.configuration.choose import choose, read_given
from neverlost.specs.lemmas import lemmas_of
from neverlost.specs.properties import properties

STOPS = {"faults.kill": "any", "faults.leader_move": "any"}
ALL = STOPS | dict.fromkeys(
    (f"faults.{each}" for each in ("isr_shrink", "clean_stop", "fence", "lossy_crash", "disk_loss")), "any"
)
UNIMPAIRED = {"defects": "fixed", "min.insync.replicas": 2, "faults.at_once": 1, **ALL}
ASKED: list[tuple[str, dict[str, Any], str]] = [
    ("kip-320", {"bounds.log_size": 2, "bounds.max_leader_epoch": 1}, "strong-isr"),
    ("majority", STOPS, "acked-never-lost"),
    ("kraft", UNIMPAIRED, "acked-never-lost"),
    ("kraft-elr", UNIMPAIRED, "acked-never-lost"),
]


def found(system: System, goal: str) -> Iterator[str]:
    """The row of a table for each lemma, after one about what was mined."""
    started = time.monotonic()
    states, vocabulary = reachable(system), Vocabulary(system)
    literals = vocabulary.literals()
    clauses, looked = survivors(vocabulary, literals, false_rows(vocabulary, literals, states), 2)
    seconds = time.monotonic() - started
    yield f"{states.shape[1]:,} states, {looked:,} clauses looked at, {len(clauses):,} survive, {seconds:.1f} s"
    reading = BoundedEncoding(system, lemmas_of(system, goal), properties()[goal])
    view, terms = TermsView(system, reading.before), reading.terms
    solver = z3.SolverFor("QF_FD")
    solver.add(*within_bounds(system, terms, reading.before))
    solver.add(*[terms.lift(vocabulary.value(terms, each, view._read)) for one in clauses for each in vocabulary.renamed(one)])
    for lemma in reading.lemmas:
        conditions = [terms.lift(each) for each in lemma.conjuncts(terms, view)]
        implied = sum(solver.check(z3.Not(each)) == z3.unsat for each in conditions)
        yield f"{lemma.name} | {implied} of {len(conditions)}"


def main() -> int:
    """Print the rows of every model."""
    for model, given, goal in ASKED:
        settings = {"model": model, "replication.factor": 2, "bounds.records": 2, **given}
        for row in found(choose(read_given(None, settings)).system, goal):
            print(f"| {model} | {row} |", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
