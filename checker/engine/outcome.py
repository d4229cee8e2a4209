"""What an engine or prover found, as values: verdicts, traces, counts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from itertools import takewhile

from neverlost.checker.engine.reached_states_system import is_initial
from neverlost.model.interpreters import ints
from neverlost.model.system import State, System
from neverlost.specs.property import RECOVERY, Property


class EngineError(Exception):
    """An engine contradicts the ints interpreter or itself, meets what it cannot hold, or runs in two versions (exit 70)."""


class Verdict(StrEnum):
    """What is known of a property: it holds, is violated, or (`INCONCLUSIVE`) neither, such as where a search was cut short."""

    HOLDS = "holds"
    VIOLATED = "violated"
    INCONCLUSIVE = "inconclusive"


def worst(verdicts: Iterable[Verdict | str], reason: str | None = None) -> Verdict:
    """Return `violated` if one is; else `inconclusive` if one is, or with a reason why a search was cut short; else `holds`.

    A search that was asked nothing, and was not cut short, holds.
    """
    found = set(verdicts)
    if Verdict.VIOLATED in found:
        return Verdict.VIOLATED
    return Verdict.INCONCLUSIVE if reason or found - {Verdict.HOLDS} else Verdict.HOLDS


@dataclass(frozen=True)
class Behaviour:
    """States and the steps between them: `steps[i]` (a number in `System.steps`) leads from `states[i]` to `states[i + 1]`."""

    states: tuple[State, ...]
    steps: tuple[int, ...]

    def faults(self, system: System) -> dict[str, int]:
        """Return how often each kind of fault occurs, by the kind whose limit it spends; without kinds that do not occur."""
        found: dict[str, int] = {}
        for number in self.steps:
            fault = system.fault_of(system.steps[number])
            if fault:
                found[fault] = found.get(fault, 0) + 1
        return found


def replay(system: System, trace: Behaviour, broken: Property | None = None) -> Behaviour:
    """Return the same trace, after running it on the ints interpreter.

    Errors: `EngineError` if its start is not initial, a step is not enabled or leads elsewhere, or `broken` holds at the end.
    """
    if not is_initial(system, trace.states[0]):
        raise EngineError("a trace does not start in an initial state")
    again = follow_steps(system, trace.states[0], trace.steps)
    if again.states != trace.states:
        raise EngineError(f"{_find_leaving(system, trace, again)} does not lead from a state of the trace to its next one")
    if broken is not None and not breaks(system, trace.states[-1], broken):
        raise EngineError(f"{broken.name} holds in the last state of its counterexample")
    return trace


def _find_leaving(system: System, trace: Behaviour, again: Behaviour) -> str:
    """Return the label of a trace's first step that leads elsewhere, or nowhere, when it is executed again; or "no step"."""
    agreed = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(again.states, trace.states, strict=False)))
    return system.steps[trace.steps[agreed - 1]].label if agreed <= len(trace.steps) else "no step"


def follow_steps(system: System, start: State, steps: Iterable[int | None]) -> Behaviour:
    """Return the behaviour of the steps from a state on, by the ints interpreter, up to the first that is disabled or None."""
    states, taken = [start], list[int]()
    for number in steps:
        after = None if number is None else ints.take(system, states[-1], system.steps[number])
        if number is None or after is None:
            break
        states.append(after)
        taken.append(number)
    return Behaviour(tuple(states), tuple(taken))


def find_same_steps(system: System, trace: Behaviour, other: System) -> list[int | None]:
    """Return the number that each step of a trace has in another system; None for each step that it lacks."""
    numbers = {step.label: number for number, step in enumerate(other.steps)}
    return [numbers.get(system.steps[number].label) for number in trace.steps]


def breaks(system: System, state: State, broken: Property) -> bool:
    """Return True if a state violates a property: a recovery property if no state reached without a fault satisfies it."""
    if broken.kind != RECOVERY:
        return not ints.evaluate(system, state, broken.condition)
    return not any(ints.evaluate(system, each, broken.condition) for each in walk_without_faults(system, state))


def walk_without_faults(system: System, state: State) -> Iterator[State]:
    """Yield the states that can be reached from one without a fault, that state first."""
    seen, waiting = {state}, [state]
    while waiting:
        yield (before := waiting.pop())
        for step in system.steps:
            after = None if step.action.fault else ints.take(system, before, step)
            if after is not None and after not in seen:
                seen.add(after)
                waiting.append(after)


@dataclass(frozen=True)
class Finding:
    """The verdict on one property under one configuration (an index into `System.configurations`)."""

    property: Property
    configuration: int
    verdict: Verdict
    trace: Behaviour | None = None


@dataclass(frozen=True)
class Counts:
    """`generated` counts successors and initial states; `depth` counts levels, the initial one included; `left` is
    what a cut search had still to expand."""

    generated: int = 0
    distinct: int = 0
    depth: int = 0
    left: int = 0


@dataclass(frozen=True)
class JobsDone:
    """What Spark did of a search: `levels` are the depths at which its jobs found states, `states` counts these."""

    master: str
    jobs: int = 0
    levels: tuple[int, ...] = ()
    states: int = 0


@dataclass(frozen=True)
class Outcome:
    """What a search found.

    `reason` says why it was cut short; None means it ran to the end (or to the first violation).  `fired`
    counts successors by action.  With symmetry, `orbit_states` is the number of states that the orbits hold.  `growth` has
    per level what was generated and what was distinct when it was complete.  `cluster` is None where none was asked for.
    """

    system: System
    findings: tuple[Finding, ...]
    counts: Counts
    seconds: float
    reason: str | None = None
    peak_memory_bytes: int = 0
    symmetry: bool = False
    engine: str = "memory"
    fired: Mapping[str, int] = field(default_factory=dict)
    orbit_states: int | None = None
    distinct_by_configuration: tuple[int, ...] = ()
    growth: tuple[tuple[int, int], ...] = ()
    cluster: JobsDone | None = None

    def undecided(self, reason: str | None) -> Outcome:
        """Return the outcome with `inconclusive` for `holds`, and the reason if it has none; unchanged if `reason` is None or
        if no finding holds."""
        if reason is None or all(each.verdict is not Verdict.HOLDS for each in self.findings):
            return self
        findings = (
            replace(each, verdict=Verdict.INCONCLUSIVE) if each.verdict is Verdict.HOLDS else each for each in self.findings
        )
        return replace(self, findings=tuple(findings), reason=self.reason or reason)

    @property
    def verdict(self) -> Verdict:
        """The verdict on everything that was asked."""
        return worst((each.verdict for each in self.findings), self.reason)
