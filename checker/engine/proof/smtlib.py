"""A proof's obligations as SMT-LIB 2 files that any solver can re-check, with a manifest.

One file holds the obligations that share their premises; every `(check-sat)` in it must answer `unsat`.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

import z3

from neverlost.checker.engine.proof.obligations import Goal, ProofTask, Reading, find_symbols

SCHEMA = "neverlost.obligations/1"
MANIFEST = "obligations.json"


class SharedDefinitions:
    """What the files of one proof share: definitions of the assumptions, written once; and what each task assumes."""

    def __init__(self, reading: Reading) -> None:
        self.lines: list[str] = []
        self.symbols: dict[str, str] = {}
        self.premises: dict[ProofTask, tuple[dict[str, str], list[str]]] = {}
        for name, term, variables in reading.definitions():
            parameters = " ".join(f"({each.sexpr()} Int)" for each in variables)
            self.lines.append(f"(define-fun {name} ({parameters}) Bool {term.sexpr()})")
            bound = {each.decl().name() for each in variables}
            self.symbols |= {key: text for key, text in _format_symbols([term]).items() if key not in bound}


def format_task(reading: Reading, task: ProofTask, shared: SharedDefinitions, some: Sequence[Goal] | None = None) -> str:
    """Return a task's obligations, or `some` of them, as SMT-LIB 2; `shared` keeps the texts of its premises."""
    premises, chosen = reading.premises(task), reading.goals(task) if some is None else some
    goals: list[tuple[Goal, list[Any]]] = [(goal, reading.refutation(task, goal)) for goal in chosen]
    if task not in shared.premises:
        shared.premises[task] = _format_symbols(premises), [f"(assert {reading.text(each)})" for each in premises]
    named, assumed = shared.premises[task]
    symbols = shared.symbols | named | _format_symbols(each for _, refuted in goals for each in refuted)
    lines = [f"; {task.kind}: {task.label}; every check must answer unsat", f"(set-logic {reading.logic})"]
    lines += [symbols[name] for name in sorted(symbols)] + shared.lines
    lines += assumed
    for goal, refuted in goals:
        lines += ["(push 1)", f"; {goal.name}", "(set-info :status unsat)"]
        lines += [f"(assert {reading.text(each)})" for each in refuted]
        lines += ["(check-sat)", "(pop 1)"]
    return "\n".join([*lines, ""])


def _format_symbols(terms: Iterable[Any]) -> dict[str, str]:
    return {name: each.sexpr() for name, each in find_symbols(terms).items()}


def name_file(number: int, kind: str) -> str:
    return f"{number:03}-{kind}.smt2"


def format_files(texts: Sequence[tuple[ProofTask, str]], about: dict[str, Any]) -> dict[str, bytes]:
    """Return the content of each file of a proof by its name, that of the manifest which lists them included."""
    files, listed = {}, []
    for number, (task, text) in enumerate(texts):
        name, content = name_file(number, task.kind), text.encode()
        files[name] = content
        found = hashlib.sha256(content).hexdigest()
        listed.append(
            {"file": name, "kind": task.kind, "label": task.label, "checks": text.count("(check-sat)"), "sha256": found}
        )
    manifest = {"schema": SCHEMA, **about, "expected": "unsat", "files": listed}
    return {**files, MANIFEST: (json.dumps(manifest, indent=1) + "\n").encode()}


Solve = Callable[[str], list[str]]
"""A solver: the answers to the checks of an SMT-LIB text, in order."""


def solve_with_z3(text: str) -> list[str]:
    """Return Z3's answers to the checks of a text, in order; fewer than checks where Z3 finds an error in the text."""
    context = z3.Context()
    try:
        said = str(z3.Z3_eval_smtlib2_string(context.ref(), text))
    except z3.Z3Exception as problem:
        said = problem.value.decode() if isinstance(problem.value, bytes) else str(problem)
    return [each for each in said.splitlines() if each in ("sat", "unsat", "unknown")]


MORE_INSTANCES = {"enum-inst": "true"}
"""Options with which cvc5 enumerates instances of a quantifier when it finds no others."""


def solve_with_cvc5(text: str, patience: float | None = None, options: Mapping[str, str] = MappingProxyType({})) -> list[str]:
    """Return cvc5's answers to every check of a text; `options` are more of its own.

    Units: `patience` in seconds for one check.  Errors: `ImportError` where cvc5 is not installed.
    """
    import cvc5

    solver = cvc5.Solver()
    solver.setOption("incremental", "true")
    for name, value in options.items():
        solver.setOption(name, value)
    if patience is not None:
        solver.setOption("tlimit-per", str(max(1, int(patience * 1000))))
    parser = cvc5.InputParser(solver)
    parser.setStringInput(cvc5.InputLanguage.SMT_LIB_2_6, text, "obligations")
    answers = []
    while not (command := parser.nextCommand()).isNull():
        said = str(command.invoke(solver, parser.getSymbolManager())).strip()
        if command.getCommandName() == "check-sat":
            answers.append("sat" if "but got sat" in said else said)
    return answers


SOLVERS: dict[str, Solve] = {"z3": solve_with_z3, "cvc5": solve_with_cvc5}


def cut_premises(text: str) -> str:
    """Return what a file assumes as a text with one check; `unsat` there would prove anything."""
    return text.partition("(push 1)")[0] + "(check-sat)\n"
