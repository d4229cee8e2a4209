"""Obligations of published proofs, asked again of another solver than the one that proved them."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import product
from typing import Any

import z3

from neverlost.checker.prove import smtlib
from neverlost.checker.prove.every_size import EverySize
from neverlost.checker.prove.obligations import symbols_of
from neverlost.specs.configuration.choose import choose, read_given
from neverlost.specs.lemma import lemmas_of
from neverlost.specs.property import properties

PATIENCE = 20
"""How long the second solver may take for one obligation.  Units: seconds."""

TOGETHER = 120
"""How long it may take for all obligations of a step together.  Units: seconds."""


@dataclass(frozen=True)
class Again:
    """How many obligations of a step cvc5 confirms, and how many z3 does that cvc5 leaves.

    `is_wrong`: a solver has a counterexample.  `is_never`: the premises contradict each other.
    """

    step: str
    cvc5: int = 0
    z3: int = 0
    is_wrong: bool = False
    is_never: bool = False


def asked_again(task: tuple[str, str], until: float) -> Again:
    """A task's obligations, asked of cvc5 together, then one by one; those that it leaves, of z3 as it reads a text."""
    step, text = task
    if time.monotonic() > until:
        return Again(step)
    is_never = smtlib.solve_with_cvc5(smtlib.premises_of(text), PATIENCE) == ["unsat"]
    if asked_at_once(text) == "unsat":
        return Again(step, text.count("(check-sat)"), is_never=is_never)
    answers = smtlib.solve_with_cvc5(text, PATIENCE)
    others = [] if set(answers) == {"unsat"} else smtlib.solve_with_z3(f"(set-option :timeout {PATIENCE * 1000})\n{text}")
    by_z3 = sum(one != "unsat" and other == "unsat" for one, other in zip(answers, others, strict=False))
    return Again(step, answers.count("unsat"), by_z3, "sat" in (*answers, *others), is_never)


def asked_at_once(text: str) -> str:
    """What cvc5 says to all checks of a text as one: whether any of them can be satisfied."""
    import cvc5

    solver = cvc5.Solver()
    for name, value in {"bitblast": "eager", "tlimit-per": str(TOGETHER * 1000)}.items():
        solver.setOption(name, value)
    parser = cvc5.InputParser(solver)
    parser.setStringInput(cvc5.InputLanguage.SMT_LIB_2_6, as_one(text), "obligations")
    said = ""
    while not (command := parser.nextCommand()).isNull():
        said = str(command.invoke(solver, parser.getSymbolManager())).strip() or said
    return said


def as_one(text: str) -> str:
    """A text of `smtlib` with one check, which is satisfied where any of its checks is."""
    premises, *checks = text.split("(push 1)\n")
    parts = [check.partition("(check-sat)")[0].split("\n(assert ")[1:] for check in checks]
    refuted = [f"(and true {' '.join(each.strip().removesuffix(')') for each in assertions)})" for assertions in parts]
    return "\n".join([premises, "(assert (or false", *refuted, "))", "(check-sat)", ""])


@cache
def every_size(settings: tuple[tuple[str, Any], ...], goal: str) -> EverySize:
    """A row's obligations for every number of replicas."""
    system = choose(read_given(None, dict(settings))).system
    return EverySize(system, lemmas_of(system, goal), properties()[goal])


def asked_with_quantifiers(number: int, settings: tuple[tuple[str, Any], ...], goal: str, until: float) -> Again:
    """A task's obligations with quantifiers: cvc5 proves them again and names the premises that it needed; z3 has these only.

    Counted as `z3` are those that both prove, since here cvc5 was the first solver.
    """
    reading = every_size(settings, goal)
    task = reading.tasks()[number]
    by_cvc5 = by_z3 = 0
    for each in reading.goals(task):
        found = None
        for choice in reading.attempts(task, each):
            reading.is_enough(task, each, choice)
            refuted = reading.refutation(task, each)
            premises = [part for premise in reading.premises(task) for part in _parts(premise)]
            for options in ({}, smtlib.MORE_INSTANCES):
                found = found or (None if time.monotonic() > until else needed(premises, refuted, options))
            if found is not None:
                by_cvc5 += 1
                by_z3 += _z3_proves([*found, *refuted])
                break
    return Again(task.label.split("(")[0], by_cvc5, by_z3)


def _parts(term: Any) -> list[Any]:
    return [part for each in term.children() for part in _parts(each)] if z3.is_and(term) else [term]


def needed(premises: Sequence[Any], refuted: Sequence[Any], options: Mapping[str, str]) -> list[Any] | None:
    """The premises from which cvc5 finds a contradiction with a negated conclusion; None where it finds none."""
    import cvc5

    solver = cvc5.Solver()
    for name, value in {**options, "produce-unsat-cores": "true", "tlimit-per": str(PATIENCE * 1000)}.items():
        solver.setOption(name, value)
    symbols = {name: each.sexpr() for name, each in symbols_of([*premises, *refuted]).items()}
    lines = ["(set-logic UFLIA)", *(symbols[name] for name in sorted(symbols))]
    lines += [f"(assert (! {each.sexpr()} :named premise!{number}))" for number, each in enumerate(premises)]
    lines += [*(f"(assert {each.sexpr()})" for each in refuted), "(check-sat)", "(get-unsat-core)"]
    parser = cvc5.InputParser(solver)
    parser.setStringInput(cvc5.InputLanguage.SMT_LIB_2_6, "\n".join(lines), "obligation")
    said = ""
    while not (command := parser.nextCommand()).isNull():
        text = str(command.invoke(solver, parser.getSymbolManager())).strip()
        if command.getCommandName() == "check-sat":
            said = text
        elif said == "unsat" and command.getCommandName() == "get-unsat-core":
            names = text.strip("()").split()
            return [premises[int(each.partition("!")[2])] for each in names if each.startswith("premise!")]
        if said not in ("", "unsat"):
            return None
    return None


def _z3_proves(terms: Sequence[Any]) -> bool:
    for kind, finds_models in product((z3.SimpleSolver, z3.Solver), (True, False)):
        solver = kind()
        solver.set("timeout", PATIENCE * 1000)
        solver.set("mbqi", finds_models)
        solver.add(*terms)
        if solver.check() == z3.unsat:
            return True
    return False
