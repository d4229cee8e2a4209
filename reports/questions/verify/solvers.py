"""Gives the obligations of a proof to every SMT solver that is installed.  A text can make a solver write files, so only texts
that were derived here are given to it, and the solver runs confined."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from neverlost.checker.engine.host import scratch
from neverlost.checker.engine.host.processes import JobReport, Send, run
from neverlost.checker.engine.proof.smtlib import SOLVERS, cut_premises
from neverlost.reports.wording.merged_rows import pluralize
from neverlost.specs.errors import InputError

SUFFIX = ".smt2"
ABSENT = "it is not installed"
MEMORY = 8 << 30
"""What a solver may use.  Units: bytes."""


def run_solver(send: Send, solver: str, text: str) -> tuple[int, str] | str:
    """Return how many checks a text has, all unsatisfiable, and the answer to its premises alone; a sentence if the solver
    is not installed, or answers a check otherwise."""
    try:
        found = SOLVERS[solver](text)
    except ImportError:
        return ABSENT
    others = {each for each in found if each != "unsat"}
    if others:
        return f"it answers {', '.join(sorted(others))}"
    premises = SOLVERS[solver](cut_premises(text))
    return len(found), premises[0] if premises else "unknown"


def solve_again(texts: Mapping[str, str], seconds: float | None) -> tuple[list[str], list[str]]:
    """Return what the solvers confirm of obligations that were derived here, and what they leave open, a sentence each.
    Errors: `InputError` for an obligation that a solver refutes."""
    confirmed, unchecked = [], []
    for solver in SOLVERS:
        jobs = [(solver, text) for text in texts.values()]
        checks, hollow, left = 0, list[str](), dict[str, list[str]]()
        for message in _reports(jobs, seconds):
            name = list(texts)[message.job]
            if message.kind == "result" and isinstance(message.value, tuple):
                checks += message.value[0]
                hollow += [name] if message.value[1] == "unsat" else []
            elif message.kind in ("result", "failure"):
                if " sat" in str(message.value).replace(",", ""):
                    raise InputError(f"{name} is refused: {solver} says that an obligation does not hold: {message.value}")
                left.setdefault(str(message.value), []).append(name)
        if checks:
            vacuous = (
                f"; nothing satisfies the premises of {', '.join(hollow)}" if hollow else "; all premises can be satisfied"
            )
            confirmed.append(f"{solver} answers unsat to {pluralize(checks, 'obligation')}{vacuous}")
        for why, names in left.items():
            unchecked.append(f"{', '.join(names)}: {solver} did not answer: {why}; pip install {solver}, or verify --full")
    return confirmed, unchecked


def _reports(jobs: Sequence[tuple[str, str]], seconds: float | None) -> Iterator[JobReport]:
    with scratch.hold_folder("solvers") as place:
        yield from run(run_solver, jobs, 2, seconds, MEMORY, place)
