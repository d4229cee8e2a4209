"""Obligations of published proofs, asked again of another solver than the one that proved them."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any

from neverlost.checker.engine.proof import smtlib
from neverlost.checker.engine.proof.every_size import ParametricEncoding
from neverlost.checker.engine.proof.induction import OPTIONS, ROUNDS, choose_reading
from neverlost.checker.engine.proof.obligations import ProofTask, Reading
from neverlost.checker.engine.proof.unbounded import UnboundedEncoding
from neverlost.reports.questions.prove.api import read_every_size
from neverlost.specs.configuration.choose import choose, read_given
from neverlost.specs.lemmas import find_lemmas
from neverlost.specs.properties import properties

RULES = os.environ.get("ETHOS_RULES", "")
"""The rules of cvc5's proofs, for ethos to check them by: `proofs/eo/cpc/Cpc.eo` among the sources of cvc5."""

PATIENCE = 20
"""How long the second solver may take for one obligation.  Units: seconds."""

TOGETHER = 120
"""How long it may take for all obligations of a step together.  Units: seconds."""


@dataclass(frozen=True)
class Again:
    """How many obligations a step has, how many cvc5 confirms, and z3 of those that it leaves; of how many a proof was checked.

    `is_wrong`: a solver has a counterexample.  `is_never`: the premises contradict each other.
    """

    step: str
    checks: int
    cvc5: int = 0
    z3: int = 0
    is_wrong: bool = False
    is_never: bool = False
    checked: int = 0


@cache
def reading_of_row(settings: tuple[tuple[str, Any], ...], goal: str, unbounded: bool, every_rf: bool) -> Reading:
    """How a row's obligations are read."""
    system = choose(read_given(None, dict(settings))).system
    lemmas, asked = find_lemmas(system, goal), properties()[goal]
    if every_rf:
        return read_every_size(system, lemmas, asked)
    return UnboundedEncoding(system, lemmas, asked) if unbounded else choose_reading(system, lemmas, asked)


@cache
def shared_by(reading: Reading) -> smtlib.SharedDefinitions:
    """What the texts of a reading share."""
    return smtlib.SharedDefinitions(reading)


def asked_of_row(number: int, row: tuple[Any, ...]) -> Again:
    """A task's obligations, asked again; where they have quantifiers over the replicas, proved and checked."""
    reading: Any = reading_of_row(*row)
    task = reading.tasks()[number]
    if isinstance(reading, ParametricEncoding):
        return asked_with_quantifiers(reading, task)
    return asked_again(task.label.split("(")[0], smtlib.format_task(reading, task, shared_by(reading)))


def asked_again(step: str, text: str) -> Again:
    """A text's obligations, asked of cvc5 together, then one by one; those that it leaves, of z3 as it reads a text."""
    checks = text.count("(check-sat)")
    is_never = smtlib.solve_with_cvc5(smtlib.cut_premises(text), PATIENCE) == ["unsat"]
    if asked_at_once(text) == "unsat":
        return Again(step, checks, checks, is_never=is_never)
    answers = smtlib.solve_with_cvc5(text, PATIENCE)
    others = [] if set(answers) == {"unsat"} else smtlib.solve_with_z3(f"(set-option :timeout {PATIENCE * 1000})\n{text}")
    by_z3 = sum(one != "unsat" and other == "unsat" for one, other in zip(answers, others, strict=False))
    return Again(step, checks, answers.count("unsat"), by_z3, "sat" in (*answers, *others), is_never)


def asked_at_once(text: str) -> str:
    """What cvc5 says to all checks of a text as one: whether any of them can be satisfied."""
    bits = {"bitblast": "eager"} if "(set-logic QF_BV)" in text else {}
    return said_by_cvc5(as_one(text), {**bits, "tlimit-per": str(TOGETHER * 1000)})[0]


def said_by_cvc5(text: str, options: Mapping[str, str]) -> list[str]:
    """All that cvc5 says to a text, command by command."""
    import cvc5

    solver = cvc5.Solver()
    for name, value in options.items():
        solver.setOption(name, value)
    parser = cvc5.InputParser(solver)
    parser.setStringInput(cvc5.InputLanguage.SMT_LIB_2_6, text, "obligations")
    said = []
    while not (command := parser.nextCommand()).isNull():
        said.append(str(command.invoke(solver, parser.getSymbolManager())).strip())
    return [each for each in said if each]


def as_one(text: str) -> str:
    """A text of `smtlib` with one check, which is satisfied where any of its checks is."""
    premises, *checks = text.split("(push 1)\n")
    parts = [check.partition("(check-sat)")[0].split("\n(assert ")[1:] for check in checks]
    refuted = [f"(and true {' '.join(each.strip().removesuffix(')') for each in assertions)})" for assertions in parts]
    return "\n".join([premises, "(assert (or false", *refuted, "))", "(check-sat)", ""])


def missing_for_ethos() -> str:
    """What the check of proofs needs and is not there; nothing, if all is."""
    if shutil.which("ethos") is None:
        return "ethos is not on the PATH: cmake builds it from https://github.com/cvc5/ethos"
    return "" if Path(RULES).is_file() else "ETHOS_RULES must name proofs/eo/cpc/Cpc.eo among the sources of cvc5"


def is_proof(text: str, proof: str) -> bool:
    """Whether a proof ends in a contradiction, and ethos finds no gap in it and nothing assumed but what a text asserts."""
    last = proof.rstrip().rpartition("\n")[2].split()
    is_closed = proof.count("(assume-push ") == proof.count("(step-pop ")
    if last[:1] != ["(step"] or last[2:3] != ["false"] or not is_closed:
        return False
    with tempfile.TemporaryDirectory() as folder:
        asked, written = Path(folder, "obligation.smt2"), Path(folder, "obligation.cpc")
        asked.write_text(text)
        written.write_text(f'(include "{Path(RULES).resolve()}")\n(reference "{asked}")\n{proof}')
        done = subprocess.run(["ethos", str(written)], capture_output=True, text=True, timeout=TOGETHER, check=False)
    return done.stdout.split() == ["correct"]


def asked_with_quantifiers(reading: ParametricEncoding, task: ProofTask) -> Again:
    """A task's obligations with quantifiers: cvc5 proves them again, and its proofs are checked.

    Counted are those of which a proof was checked: here cvc5 was the first solver too.
    """
    checked, text, goals = 0, "", reading.goals(task)
    for each in goals:
        for patience, options, choice in product(ROUNDS, OPTIONS, reading.attempts(task, each)):
            reading.is_enough(task, each, choice)
            text = smtlib.format_task(reading, task, shared_by(reading), [each])
            proof = proof_of(alone(text), {**options, "tlimit-per": str(int(patience * 1000))})
            if proof is not None:
                checked += is_proof(alone(text), proof)
                break
    is_never = smtlib.solve_with_cvc5(smtlib.cut_premises(text), PATIENCE) == ["unsat"]
    return Again(task.label.split("(")[0], len(goals), is_never=is_never, checked=checked)


def alone(text: str) -> str:
    """A text of `smtlib` with one check, as one that nothing is taken back from."""
    return text.replace("(push 1)\n", "").replace("(pop 1)\n", "")


def proof_of(text: str, options: Mapping[str, str]) -> str | None:
    """cvc5's proof, each step with its rule, that a text contradicts itself; None where it finds none."""
    written = {"produce-proofs": "true", "proof-format-mode": "cpc", "proof-print-reference": "true"}
    said = said_by_cvc5(f"{text}(get-proof)\n", {**options, **written})
    return said[1].strip().removeprefix("(").removesuffix(")") if said[0] == "unsat" else None
