"""Proof by induction: lemmas that hold at first, that every step keeps, and that imply the property.

Obligations are discharged in killable processes, those of one step together; a solver that gives up hands over to the
next of a small portfolio.  A counterexample to induction is a state that keeps all lemmas and a step that breaks one: it is
replayed on ints and looked up among the reachable states.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import product
from typing import Any

import z3

from neverlost.checker.engine.digest import lemma_digest
from neverlost.checker.engine.engines.explore import explore
from neverlost.checker.engine.host.processes import INTERRUPTED, Send, run
from neverlost.checker.engine.outcome import Behaviour, Counts, EngineError, Finding, Outcome, Verdict
from neverlost.checker.engine.proof import smtlib
from neverlost.checker.engine.proof.every_size import ParametricEncoding
from neverlost.checker.engine.proof.obligations import (
    BOUNDS,
    CONSECUTION,
    INITIATION,
    LEAVES,
    SAFETY,
    BoundedEncoding,
    Goal,
    Predicate,
    ProofTask,
    Reading,
)
from neverlost.checker.engine.proof.progress import ProofProgress, Reporter
from neverlost.checker.engine.proof.renumbering import Renumbered, find_renumbered
from neverlost.checker.engine.search.options import Options, SearchLimits
from neverlost.model.interpreters import ints
from neverlost.model.interpreters.terms import name_solver
from neverlost.model.kernel import ModelError
from neverlost.model.plain import plain
from neverlost.model.system import State, System
from neverlost.specs.lemma import Lemma
from neverlost.specs.property import Property

SEED = 0
DEFAULT_TACTIC = "z3's choice of a solver"
ROUNDS = (4.0, 30.0)
"""How long one question with quantifiers goes on, with each choice of witnesses in turn; and once more.  Units: seconds."""
OPTIONS: tuple[Mapping[str, str], ...] = ({}, smtlib.MORE_INSTANCES)
"""What cvc5 is asked with: with as few instances as it likes, and with more."""
SHOWN = 8
"""How many counterexamples to induction are looked up."""


@dataclass(frozen=True)
class ObligationAnswer:
    """One obligation's answer: `proved`, `refuted` or `unknown`; `states` before and after refute it."""

    task: ProofTask
    goal: str
    answer: str
    seconds: float
    solver: str = ""
    reason: str = ""
    states: tuple[State, State] | None = None


@dataclass(frozen=True)
class ReachabilityCheck:
    """A counterexample to induction; `trace` reaches its first state, `is_reachable` None means not known."""

    answer: ObligationAnswer
    is_reachable: bool | None = None
    trace: Behaviour | None = None


@dataclass(frozen=True)
class Proof:
    """What became of a proof: every answer, and what exploration says about the refuted ones.

    `takes` says for each action whether a state with all lemmas allows a step of it: `sat`, `unsat` or `unknown`.
    """

    system: System
    goal: Property
    lemmas: tuple[Lemma, ...]
    answers: tuple[ObligationAnswer, ...]
    seconds: float
    unbounded: tuple[str, ...] = ()
    looked: tuple[ReachabilityCheck, ...] = ()
    violation: Finding | None = None
    texts: tuple[tuple[ProofTask, str], ...] = field(default=(), repr=False)
    solver: str = ""
    seed: int = SEED
    leaves: str | None = None
    takes: Mapping[str, str] = field(default_factory=dict)

    @property
    def is_complete(self) -> bool:
        """True if every obligation is proved, and there are any."""
        return bool(self.answers) and all(each.answer == "proved" for each in self.answers)

    @property
    def open(self) -> list[ObligationAnswer]:
        """Obligations that are not proved."""
        return [each for each in self.answers if each.answer != "proved"]

    @property
    def verdict(self) -> Verdict:
        """Holds where proved, violated where exploration found a behaviour, else inconclusive."""
        if self.violation is not None:
            return Verdict.VIOLATED
        return Verdict.HOLDS if self.is_complete else Verdict.INCONCLUSIVE

    @property
    def reason(self) -> str | None:
        """Why the proof is inconclusive; None if it is not."""
        if self.verdict != Verdict.INCONCLUSIVE:
            return None
        refuted = sum(1 for each in self.open if each.answer == "refuted")
        unknown = {each.reason for each in self.open if each.answer == "unknown"}
        parts = [f"{refuted} obligations are refuted by counterexamples to induction"] if refuted else []
        parts += [f"{LEAVES}: {self.leaves}"] if self.leaves else []
        return "; ".join([*parts, *sorted(unknown)]) or "there is nothing to prove with"

    def seconds_of(self, kind: str) -> float:
        """Return the solvers' time in seconds for initiation, consecution or safety."""
        return sum(each.seconds for each in self.answers if each.task.kind == kind)

    @property
    def is_interrupted(self) -> bool:
        """True if an interrupt left some obligations without an answer."""
        return any(each.reason == INTERRUPTED for each in self.open)

    @property
    def outcome(self) -> Outcome:
        """The verdict in the form that every engine gives: of all configurations, or of the one with a violation."""
        found = tuple(
            Finding(self.goal, number, self.verdict, self.violation.trace if self.violation else None)
            for number in range(len(self.system.configurations))
            if self.violation is None or self.violation.configuration == number
        )
        return Outcome(self.system, found, Counts(), self.seconds, self.reason, engine="z3-induction")

    @property
    def about(self) -> dict[str, Any]:
        """Beside the obligations go model, configurations, disabled clauses, property, unbounded axes, lemmas, solver, seed."""
        return {
            "model": self.system.model.name,
            "configurations": [plain(each) for each in self.system.configurations],
            "disabled": sorted(map(list, self.system.disabled)),
            "property": self.goal.name,
            "unbounded": list(self.unbounded),
            "lemmas": [
                {"name": each.name, "says": each.says, "why": each.why, "digest": lemma_digest(each)} for each in self.lemmas
            ],
            "solver": self.solver,
            "seed": self.seed,
        }


def discharge(
    send: Send, reading: Reading, task: ProofTask, patience: float, shared: smtlib.SharedDefinitions | None
) -> str | None:
    """Send an answer for every obligation of a task; return its SMT-LIB text if `shared` is given, else None."""
    goals = reading.goals(task)
    if isinstance(reading, ParametricEncoding):
        known = smtlib.SharedDefinitions(reading)
        for goal in goals:
            send(_prove_with_quantifiers(reading, task, goal, patience, known))
    elif not (reading.asks_together(task) and _prove_together(send, reading, task, goals, patience)):
        _prove_one_by_one(send, reading, task, goals, patience)
    return None if shared is None else smtlib.format_task(reading, task, shared)


def _prove_with_quantifiers(
    reading: ParametricEncoding, task: ProofTask, goal: Goal, patience: float, shared: smtlib.SharedDefinitions | None = None
) -> ObligationAnswer:
    """Return `proved` or `unknown`, by cvc5, with one choice of witnesses after the other, and with more instances.

    Only that it is unsatisfiable counts: with other witnesses it might be where it is not with these.
    """
    started, said = time.monotonic(), ""
    shared = shared or smtlib.SharedDefinitions(reading)
    for longest, options, choice in product(ROUNDS, OPTIONS, reading.attempts(task, goal)):
        reading.is_enough(task, goal, choice)
        text = smtlib.format_task(reading, task, shared, [goal])
        (said,) = smtlib.solve_with_cvc5(text, min(patience, longest), options)
        if said == "unsat":
            return ObligationAnswer(task, goal.name, "proved", time.monotonic() - started, "cvc5")
    reason = f"cvc5 said {said.split()[0]} with every choice of witnesses"
    return ObligationAnswer(task, goal.name, "unknown", time.monotonic() - started, reason=reason)


def _prove_together(send: Send, reading: Reading, task: ProofTask, goals: Sequence[Goal], patience: float) -> bool:
    """Ask a task's obligations in one question; if that proves all, send so and return True, else send nothing."""
    name = reading.solvers[0]
    solver = _make_solver(name, SEED, patience)
    solver.add(*reading.premises(task), z3.Or([z3.And(reading.refutation(task, each)) for each in goals]))
    started = time.monotonic()
    if solver.check() != z3.unsat:
        return False
    seconds = (time.monotonic() - started) / len(goals)
    for each in goals:
        send(ObligationAnswer(task, each.name, "proved", seconds, name))
    return True


def _prove_one_by_one(send: Send, reading: Reading, task: ProofTask, goals: Sequence[Goal], patience: float) -> None:
    """Ask about each obligation by itself, and send the answers; a solver that gives up hands over to the next."""
    first = None
    for goal in goals:
        if first is None:
            first = _make_solver(reading.solvers[0], SEED, patience)
            first.add(*reading.premises(task))
        first.push()
        first.add(*reading.refutation(task, goal))
        answer = _ask_solver(reading, task, goal, first, reading.solvers[0])
        first.pop()
        if answer.answer == "unknown":
            first = None  # a solver that was cut short may have lost premises: what it says next is not to be trusted
            answer = _ask_other_solvers(reading, task, goal, answer, patience)
        send(answer)


def _ask_other_solvers(
    reading: Reading, task: ProofTask, goal: Goal, answer: ObligationAnswer, patience: float
) -> ObligationAnswer:
    """Return what the other solvers, cvc5 last, say of an obligation; where none decides it, `unknown` with what was tried."""
    tried = [f"{reading.solvers[0] or DEFAULT_TACTIC} ({answer.reason})"]
    for number, name in enumerate(reading.solvers[1:], start=1):
        fresh = _make_solver(name, SEED + number, patience)
        fresh.add(*reading.premises(task), *reading.refutation(task, goal))
        answer = _ask_solver(reading, task, goal, fresh, name, answer.seconds)
        if answer.answer != "unknown":
            return answer
        tried.append(f"{name or DEFAULT_TACTIC} ({answer.reason})")
    started = time.monotonic()
    said = _ask_cvc5(reading, task, goal, patience)
    spent = answer.seconds + time.monotonic() - started
    if said == "unsat":
        return ObligationAnswer(task, goal.name, "proved", spent, "cvc5")
    return replace(answer, seconds=spent, reason=f"z3 and cvc5 said unknown: {', '.join([*tried, f'cvc5 ({said})'])}")


def _ask_cvc5(reading: Reading, task: ProofTask, goal: Goal, patience: float) -> str:
    """Return cvc5's answer about an obligation, or "not installed"; only `unsat` is used, since its models are not read."""
    try:
        return smtlib.solve_with_cvc5(smtlib.format_task(reading, task, smtlib.SharedDefinitions(reading), [goal]), patience)[0]
    except ImportError:
        return "not installed"


def _make_solver(name: str, seed: int, patience: float) -> z3.Solver:
    solver = z3.SolverFor(name) if name else z3.Solver()
    solver.set("random_seed", seed)
    solver.set("timeout", max(1, int(patience * 1000)))
    return solver


def _ask_solver(
    reading: Reading, task: ProofTask, goal: Goal, solver: z3.Solver, name: str, before: float = 0.0
) -> ObligationAnswer:
    started = time.monotonic()
    found = solver.check()
    spent = before + time.monotonic() - started
    if found == z3.unsat:
        return ObligationAnswer(task, goal.name, "proved", spent, name)
    if found == z3.sat:
        return ObligationAnswer(task, goal.name, "refuted", spent, name, "", reading.states(task, solver.model()))
    return ObligationAnswer(task, goal.name, "unknown", spent, "", str(solver.reason_unknown()))


@dataclass(frozen=True)
class ProofBudget:
    """What a proof may cost, and who is to know how far it is.

    Units: seconds for everything, `patience` in seconds for one solver on one obligation, bytes.
    """

    seconds: float | None = None
    patience: float = 60.0
    workers: int = 2
    memory_bytes: int | None = None
    progress: Reporter | None = None


UNHURRIED = ProofBudget()


def prove(
    system: System,
    goal: Property,
    lemmas: Sequence[Lemma],
    effort: ProofBudget = UNHURRIED,
    *,
    given: Reading | None = None,
    with_texts: bool = False,
    look_up: bool = True,
    until_refuted: bool = False,
) -> Proof:
    """Try to prove a property inductive with the help of lemmas, and return what became of it.

    `given` reads the system otherwise than within its bounds.  A system that renumbers is first asked about with renumbering
    as a step of its own; steps that are refuted so, or all if renumbering is, again together with it.  `until_refuted` stops at
    the first refuted obligation; `look_up` explores whether what refutes them is reachable; `with_texts` keeps SMT-LIB texts.
    Errors: `EngineError` when a solver's process fails, or a counterexample does not replay on ints.
    """
    started = time.monotonic()
    reading: Reading = given or choose_reading(system, lemmas, goal)
    apart = given is None and isinstance(reading, Renumbered)
    answers, texts = _discharge_all(reading, reading.tasks(), effort, with_texts, until_refuted and not apart)
    refuted_apart = {each.task for each in answers if apart and each.answer == "refuted"}
    if isinstance(reading, Renumbered) and refuted_apart:
        whole, rest = (
            BoundedEncoding(system, lemmas, goal),
            replace(effort, seconds=_compute_left(effort, time.monotonic() - started)),
        )
        is_shown = refuted_apart.isdisjoint(reading.renumbering)
        again = [each for each in whole.tasks() if each in refuted_apart or not is_shown]
        more, written = _discharge_all(whole, again, rest, with_texts, until_refuted)
        answers = [*(each for each in answers if is_shown and each.task not in refuted_apart), *more]
        texts = [*(each for each in texts if is_shown and each[0] not in refuted_apart), *written]
    proof = Proof(
        system,
        goal,
        tuple(lemmas),
        tuple(answers),
        time.monotonic() - started,
        getattr(given, "unbounded", ()),
        texts=tuple(texts),
        solver=name_solver(),
    )
    refuted = [each for each in proof.open if each.states is not None]
    for each in refuted:
        _replay(proof, each)
    left = _compute_left(effort, proof.seconds)
    if proof.is_complete and not isinstance(reading, ParametricEncoding):
        return replace(proof, takes=_ask_steps(reading, replace(effort, seconds=min(left or ALL_GUARDS, ALL_GUARDS))))
    return _look_up(proof, refuted, left) if look_up and refuted and not proof.is_interrupted else proof


ONE_GUARD, ALL_GUARDS = 5.0, 60.0
"""How long it is asked whether a step, and whether every action, can be taken.  Units: seconds."""


def _ask_steps(reading: Reading, effort: ProofBudget) -> dict[str, str]:
    """Return for each action whether a state with all lemmas allows a step of it: `sat`, `unsat` or `unknown`."""
    tasks: dict[str, list[ProofTask]] = {}
    for task in (each for each in reading.tasks() if each.step is not None):
        tasks.setdefault(task.label.partition("(")[0], []).append(task)
    names, said = list(tasks), dict.fromkeys(tasks, "unknown")
    jobs = [(reading, tasks[name]) for name in names]
    with contextlib.suppress(KeyboardInterrupt):
        for message in run(_can_be_taken, jobs, effort.workers, effort.seconds, effort.memory_bytes):
            if message.kind == "result":
                said[names[message.job]] = str(message.value)
    return said


def _can_be_taken(send: Send, reading: Reading, tasks: Sequence[ProofTask]) -> str:
    """Return `sat` if a state with all lemmas allows one of the steps, `unsat` if none does, else `unknown`; send nothing."""
    found = {"unsat"}
    for task in tasks:
        solver = _make_solver(reading.solvers[0], SEED, ONE_GUARD)
        solver.add(*reading.premises(task))
        answer = str(solver.check())
        if answer == "sat":
            return answer
        found.add(answer)
    return "unknown" if "unknown" in found else "unsat"


def choose_reading(system: System, lemmas: Sequence[Lemma], goal: Property) -> Reading:
    """Return the bounded encoding; of a system that renumbers, with the renumbering as a step of its own."""
    return (Renumbered if find_renumbered(system) else BoundedEncoding)(system, lemmas, goal)


def _compute_left(effort: ProofBudget, spent: float) -> float | None:
    """Return the seconds that are left, and one at least; None without a limit."""
    return None if effort.seconds is None else max(1.0, effort.seconds - spent)


def _discharge_all(
    reading: Reading, tasks: Sequence[ProofTask], effort: ProofBudget, with_texts: bool, until_refuted: bool
) -> tuple[list[ObligationAnswer], list[tuple[ProofTask, str]]]:
    """Return answers (`until_refuted`: to the first refuted) in the tasks' order, and the tasks' SMT-LIB texts if asked for."""
    shared = smtlib.SharedDefinitions(reading) if with_texts else None
    jobs = [(reading, task, effort.patience, shared) for task in tasks]
    answers: list[ObligationAnswer] = []
    texts: dict[int, str] = {}
    started, done = time.monotonic(), 0
    messages = run(discharge, jobs, effort.workers, effort.seconds, effort.memory_bytes)
    try:
        for message in messages:
            if message.kind == "progress":
                answers.append(message.value)
                if until_refuted and message.value.answer == "refuted":
                    break
            elif message.kind == "failure":
                answers += _give_up(reading, tasks[message.job], answers, str(message.value))
            elif message.value is not None:
                texts[message.job] = message.value
            done += message.kind != "progress"
            if effort.progress is not None and message.kind != "progress":
                proved = sum(each.answer == "proved" for each in answers)
                effort.progress(ProofProgress(proved, len(answers) - proved, done, len(tasks), time.monotonic() - started))
    except KeyboardInterrupt:
        answers += [each for task in tasks for each in _give_up(reading, task, answers, INTERRUPTED)]
    finally:
        messages.close()
    order = {task: number for number, task in enumerate(tasks)}
    return sorted(answers, key=lambda each: order[each.task]), [(tasks[number], texts[number]) for number in sorted(texts)]


def make_untried(system: System, goal: Property, reason: str) -> Proof:
    nothing = ObligationAnswer(ProofTask(SAFETY, label=goal.name), goal.name, "unknown", 0.0, reason=reason)
    return Proof(system, goal, (), (nothing,), 0.0, solver=name_solver())


def _give_up(reading: Reading, task: ProofTask, answers: list[ObligationAnswer], reason: str) -> list[ObligationAnswer]:
    """Return an `unknown` answer for each goal of the task not in `answers`; `EngineError` if `reason` is an error of ours."""
    if reason.startswith(("ModelError", "EngineError", "AssertionError", "TypeError", "AttributeError", "Z3Exception")):
        raise EngineError(f"a solver's process failed: {reason}")
    done = {each.goal for each in answers if each.task == task}
    return [
        ObligationAnswer(task, each.name, "unknown", 0.0, reason=reason)
        for each in reading.goals(task)
        if each.name not in done
    ]


def _replay(proof: Proof, answer: ObligationAnswer) -> None:
    """Raise `EngineError` if ints does not confirm a counterexample to induction."""
    assert answer.states is not None
    before, after = answer.states
    if answer.task.step is not None:
        try:
            reached = ints.take(proof.system, before, proof.system.steps[answer.task.step])
        except ModelError:
            reached = after if answer.goal == BOUNDS else None
        if reached != after:
            raise EngineError(f"{answer.task.label} does not lead from a counterexample's first state to its second")
    by_name = {each.name: each.condition for each in proof.lemmas}
    conclusion = proof.goal.condition if answer.task.kind == SAFETY else by_name.get(answer.goal)
    if conclusion is not None and ints.evaluate(proof.system, after, conclusion):
        raise EngineError(f"{answer.goal} holds in the state that should refute it")
    if answer.task.kind != INITIATION and not all(ints.evaluate(proof.system, before, each) for each in by_name.values()):
        raise EngineError("a counterexample to induction breaks a lemma before its step")


def _look_up(proof: Proof, refuted: list[ObligationAnswer], seconds: float | None) -> Proof:
    """Return the proof with its first `SHOWN` counterexamples looked up among reachable states, for a minute at most, and with
    a violation if one is met."""
    shown = refuted[:SHOWN]
    asked = [proof.goal, *(_make_never_reached(number, each) for number, each in enumerate(shown))]
    limits = SearchLimits(seconds=60.0 if seconds is None else min(60.0, seconds), memory_bytes=8 << 30)
    try:
        outcome = explore(proof.system, asked, Options(limits=limits, keep_going=True, workers=1))
    except ModelError as problem:
        if not proof.system.disabled:
            raise
        return replace(proof, leaves=str(problem), looked=tuple(map(ReachabilityCheck, shown)))
    traces: dict[str, Behaviour] = {}
    violation = None
    for finding in outcome.findings:
        if finding.trace is not None and finding.property is proof.goal:
            violation = violation or finding
        elif finding.trace is not None:
            traces.setdefault(finding.property.name, finding.trace)
    looked = tuple(
        ReachabilityCheck(each, True if name in traces else (None if outcome.reason else False), traces.get(name))
        for each, name in zip(shown, (each.name for each in asked[1:]), strict=True)
    )
    return replace(proof, seconds=proof.seconds + outcome.seconds, looked=looked, violation=violation)


def _make_never_reached(number: int, answer: ObligationAnswer) -> Property:
    """Return the property that a counterexample's first state is never reached."""
    assert answer.states is not None
    return Property(f"counterexample {number + 1}", "never reached", differs_from(answer.states[0]), (), "")


def differs_from(state: State) -> Predicate:
    """Return the predicate of being another state than this one."""

    def condition(k: Any, s: Any) -> Any:
        pairs = zip(s._system.slots, map(s._read, range(len(state))), state, strict=True)
        return k.any_of(*[_differ(k, value, wanted, slot.field.kind == "flag") for slot, value, wanted in pairs])

    return condition


def _differ(k: Any, value: Any, wanted: int, is_flag: bool) -> Any:
    if not is_flag:
        return value != wanted
    return k.not_(value) if wanted else value


KINDS = (INITIATION, CONSECUTION, SAFETY)
