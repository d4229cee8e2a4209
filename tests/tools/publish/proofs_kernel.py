"""Has one central proof checked by a kernel that is no solver: `python -m tests.tools.publish.proofs_kernel`.

`kraft-elr` as designed, three replicas, two records, any number of faults while one replica is unimpaired: no acknowledged
record is lost.  Each task's obligations are one question; Z3 only writes it as clauses (bit-blast, tseitin-cnf).  varisat,
another solver, refutes them with a proof (`cargo install varisat-cli`), its checker confirms the proof and writes it as LRAT,
and `is_refuted` below, which only propagates units in the order that the proof names, checks that again.

What is left to trust: the reading of the actions as terms (compared with ints by the tests), and Z3's translation into clauses.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import z3

from neverlost.checker.engine.proof.obligations import BoundedEncoding, ProofTask
from neverlost.specs.configuration.choose import choose, read_given
from neverlost.specs.lemmas import find_lemmas
from neverlost.specs.properties import properties
from tests.tools.publish.proofs import Row, central, keep

UNSATISFIABLE = 20
"""The exit status by which SAT solvers say so."""

SECONDS = 120
"""How long one call of the solver or its checker may take."""

Clause = tuple[int, ...]


@dataclass(frozen=True)
class Checked:
    """A question whose refutation was checked: how many obligations and clauses it has, and how many steps its proof."""

    task: ProofTask
    obligations: int
    clauses: int
    steps: int


def reading_of(row: Row) -> BoundedEncoding:
    """A row's obligations."""
    system = choose(read_given(None, row.settings)).system
    return BoundedEncoding(system, find_lemmas(system, row.goal), properties()[row.goal])


def question(reading: BoundedEncoding, task: ProofTask) -> z3.Goal:
    """Whether a state refutes any obligation of a task."""
    asked = z3.Goal()
    asked.add(*reading.premises(task), z3.Or([z3.And(reading.refutation(task, each)) for each in reading.goals(task)]))
    return asked


def clauses_of(asked: z3.Goal) -> list[Clause]:
    """The same question in clauses."""
    (found,) = z3.Then("simplify", "bit-blast", "tseitin-cnf")(asked)
    lines = [each.split() for each in found.dimacs(include_names=False).splitlines()]
    return [tuple(map(int, each[:-1])) for each in lines if each and each[0] not in ("p", "c")]


def refutation(clauses: Sequence[Clause], folder: Path) -> list[str]:
    """varisat's proof that no assignment satisfies the clauses, confirmed by its checker, in LRAT.

    Errors: `RuntimeError` where there is none.
    """
    variables = max((abs(each) for clause in clauses for each in clause), default=0)
    lines = [f"p cnf {variables} {len(clauses)}", *(" ".join(map(str, (*each, 0))) for each in clauses)]
    (folder / "question.cnf").write_text("\n".join(lines) + "\n")
    run(UNSATISFIABLE, "question.cnf", "--proof", "question.proof", folder=folder)
    run(0, "--check", "question.cnf", "--proof", "question.proof", "--write-lrat", "question.lrat", folder=folder)
    return (folder / "question.lrat").read_text().splitlines()


def run(expected: int, *arguments: str, folder: Path) -> None:
    done = subprocess.run(["varisat", *arguments], cwd=folder, capture_output=True, text=True, timeout=SECONDS, check=False)
    if done.returncode != expected:
        raise RuntimeError(
            f"varisat {' '.join(arguments)}: status {done.returncode}, {done.stdout[-200:]} {done.stderr[-200:]}"
        )


def is_refuted(clauses: Sequence[Clause], proof: Sequence[str]) -> bool:
    """Whether an LRAT proof derives the empty clause: each clause follows from those that it names, unit by unit."""
    known = dict(enumerate(clauses, start=1))
    for line in proof:
        number, *rest = line.split()
        if rest[0] == "d":
            for each in rest[1:-1]:
                known.pop(int(each), None)
            continue
        end = rest.index("0")
        clause, hints = tuple(map(int, rest[:end])), tuple(map(int, rest[end + 1 : -1]))
        if not follows(clause, [known[each] for each in hints]):
            return False
        if not clause:
            return True
        known[int(number)] = clause
    return () in clauses


def follows(clause: Clause, hints: Sequence[Clause]) -> bool:
    """Whether a clause cannot be false where the hints hold: each of them is a unit in turn, and the last is in conflict."""
    false = set(clause)
    for hint in hints:
        left = [each for each in hint if each not in false]
        if not left:
            return True
        if len(left) > 1:
            return False
        false.add(-left[0])
    return False


def checked(reading: BoundedEncoding) -> Iterator[Checked]:
    """Every question, one after the other.

    Errors: `RuntimeError` where a proof is not one.
    """
    for task in reading.tasks():
        clauses = clauses_of(question(reading, task))
        with tempfile.TemporaryDirectory() as folder:
            proof = refutation(clauses, Path(folder))
        if not is_refuted(clauses, proof):
            raise RuntimeError(f"{task.label}: the proof does not derive the empty clause")
        yield Checked(task, len(reading.goals(task)), len(clauses), len(proof))


def main() -> int:
    """Check the central proof, and keep what was checked for the page."""
    if shutil.which("varisat") is None:
        print("varisat is not on the PATH: cargo install varisat-cli", file=sys.stderr)
        return 64
    row, reading = central(), reading_of(central())
    started = time.monotonic()
    found = list(checked(reading))
    kept = {
        "stamp": row.stamp(),
        "questions": len(found),
        "obligations": sum(each.obligations for each in found),
        "clauses": sum(each.clauses for each in found),
        "steps": sum(each.steps for each in found),
        "seconds": round(time.monotonic() - started),
    }
    keep(row.text, {"kernel": kept})
    print(row.text, kept)
    return 0


if __name__ == "__main__":
    sys.exit(main())
