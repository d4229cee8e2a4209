"""Many questions, each decided in a process of its own: what corpora of scenarios, claims and mutants share."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from neverlost.checker.engine.engines.explore import explore
from neverlost.checker.engine.host.processes import Send, run
from neverlost.checker.engine.outcome import Behaviour, Finding, Verdict, worst
from neverlost.checker.engine.search.options import Options, SearchLimits
from neverlost.model.kernel import ModelError
from neverlost.model.system import System
from neverlost.specs.property import Property


@dataclass(frozen=True)
class ExecutionTarget:
    """The name of the engine that decides questions; if it is `spark`, also Spark's master and settings."""

    engine: str = "memory"
    spark_master: str | None = None
    spark_conf: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class SearchQuestion:
    """A system and the properties that it must keep; the search stops at the first violation.

    A `probe` is a property that must be violated, or the others hold only because nothing happened.  With a probe the search
    does not stop at a violation: it explores everything.
    """

    system: System
    properties: tuple[Property, ...]
    means: ExecutionTarget = ExecutionTarget()
    probe: Property | None = None


@dataclass(frozen=True)
class SearchAnswer:
    """What was found: the verdict on all properties together, the shortest counterexample, what was explored.

    `problem` says why the search did not end: a limit, a process that died, or (`leaves_bounds`) an effect outside declared
    bounds, which a system with a clause switched off can have.  `is_premise_true` is False if a probe was not violated.
    """

    verdict: Verdict
    broken: str | None = None
    trace: Behaviour | None = None
    distinct: int = 0
    depth: int = 0
    seconds: float = 0.0
    problem: str | None = None
    leaves_bounds: bool = False
    unfired: tuple[str, ...] = ()
    is_premise_true: bool = True

    @property
    def steps(self) -> int | None:
        return len(self.trace.steps) if self.trace is not None else None


def finding_of(question: SearchQuestion, answer: SearchAnswer) -> Finding | None:
    if answer.trace is None:
        return None
    broken = next(each for each in question.properties if each.name == answer.broken)
    return Finding(broken, 0, answer.verdict, answer.trace)


def options_for(system: System, seconds: float | None, keep_going: bool = False) -> Options:
    """Return the options of a search in one process, of at most so many seconds, with one state for each orbit where replicas
    are alike; with `keep_going` it does not stop at a violation."""
    alike = all(system.model.symmetric(each) for each in system.configurations)
    return Options(limits=SearchLimits(seconds=seconds), workers=1, symmetry=alike, keep_going=keep_going)


def answered(question: SearchQuestion, seconds: float | None = None) -> SearchAnswer:
    """Decide one question in this process and return the answer; it is inconclusive for a system that leaves its bounds."""
    system = question.system
    means = question.means
    options = replace(options_for(system, seconds), spark_master=means.spark_master, spark_conf=means.spark_conf)
    started = time.monotonic()
    try:
        probes = () if question.probe is None else (question.probe,)
        options = replace(options, keep_going=bool(probes))
        outcome = explore(system, (*question.properties, *probes), options, engine=means.engine)
    except ModelError as problem:
        spent = time.monotonic() - started
        return SearchAnswer(Verdict.INCONCLUSIVE, seconds=spent, problem=str(problem), leaves_bounds=True)
    asked = [each for each in outcome.findings if each.property is not question.probe]
    violated = [each for each in asked if each.trace is not None]
    shortest = min(violated, key=lambda each: len(each.trace.steps) if each.trace else 0, default=None)
    never = tuple(each.name for each in system.model.actions if not outcome.fired.get(each.name))
    found = SearchAnswer(
        worst((each.verdict for each in asked), outcome.reason),
        distinct=outcome.counts.distinct,
        depth=outcome.counts.depth,
        seconds=outcome.seconds,
        problem=outcome.reason,
        unfired=never,
        is_premise_true=len(asked) == len(outcome.findings)
        or any(each.verdict is Verdict.VIOLATED for each in outcome.findings if each not in asked),
    )
    return found if shortest is None else replace(found, broken=shortest.property.name, trace=shortest.trace)


def _work(send: Send, question: SearchQuestion, seconds: float | None) -> SearchAnswer:
    return answered(question, seconds)


def answers(
    questions: Sequence[SearchQuestion],
    workers: int | None = None,
    seconds: float | None = None,
    seconds_each: float | None = None,
    notify: Callable[[int, SearchAnswer], None] = lambda number, answer: None,
) -> list[SearchAnswer]:
    """Return the answers in the questions' order, inconclusive where a search fails; `notify` gets number and answer of each as
    it comes.  Leaving early (Ctrl-C, an exception in `notify`) kills what still runs.  Units: seconds for all, and for each."""
    found: dict[int, SearchAnswer] = {}
    for report in run(_work, [(each, seconds_each) for each in questions], workers or os.cpu_count() or 1, seconds):
        if report.kind == "progress":
            continue
        is_answer, why = report.kind == "result", str(report.value)
        found[report.job] = report.value if is_answer else SearchAnswer(Verdict.INCONCLUSIVE, problem=why)
        notify(report.job, found[report.job])
    return [found[number] for number in range(len(questions))]
