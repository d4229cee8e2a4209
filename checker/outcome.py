"""What an engine or prover found, as values: verdicts, traces, counts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from itertools import pairwise

from neverlost.model.interpreters import ints
from neverlost.model.system import State, System
from neverlost.specs.property import RECOVERY, Property


class EngineError(Exception):
    """An engine contradicts the defining interpreter, or itself: always a defect of ours (exit 70)."""


class Verdict(StrEnum):
    """`INCONCLUSIVE` is neither of the others: a search that was cut short proves nothing."""

    HOLDS = "holds"
    VIOLATED = "violated"
    INCONCLUSIVE = "inconclusive"


@dataclass(frozen=True)
class Trace:
    """A behaviour: `states[0]` is initial and `steps[i]` (a number in `System.steps`) leads to `states[i + 1]`."""

    states: tuple[State, ...]
    steps: tuple[int, ...]

    def faults(self, system: System) -> dict[str, int]:
        """How often each kind of fault occurs."""
        found: dict[str, int] = {}
        for number in self.steps:
            fault = system.steps[number].action.fault
            if fault:
                found[fault] = found.get(fault, 0) + 1
        return found


def replayed(system: System, trace: Trace, broken: Property | None = None) -> Trace:
    """The same trace, after running it on the ints interpreter.

    Errors: `EngineError` where a step is not enabled, leads elsewhere, starts nowhere, or the property holds at the end.
    """
    if trace.states[0] not in {state for _, state in system.initial_states()}:
        raise EngineError("a trace does not start in an initial state")
    for number, (before, after) in zip(trace.steps, pairwise(trace.states), strict=True):
        step = system.steps[number]
        if ints.take(system, before, step) != after:
            raise EngineError(f"{step.label} does not lead from a state of the trace to its next one")
    if broken is not None and not breaks(system, trace.states[-1], broken):
        raise EngineError(f"{broken.name} holds in the last state of its counterexample")
    return trace


def breaks(system: System, state: State, broken: Property) -> bool:
    """Whether a reachable state refutes a property, on the ints interpreter."""
    if broken.kind != RECOVERY:
        return not ints.evaluate(system, state, broken.condition)
    return not any(ints.evaluate(system, each, broken.condition) for each in without_faults(system, state))


def without_faults(system: System, state: State) -> Iterator[State]:
    """The states that can be reached from one by steps that are no faults, itself the first."""
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
    trace: Trace | None = None


@dataclass(frozen=True)
class Counts:
    """`generated` counts successors and initial states; `depth` counts levels, the initial one included; `left` is
    what a cut search had still to expand."""

    generated: int = 0
    distinct: int = 0
    depth: int = 0
    left: int = 0


@dataclass(frozen=True)
class Outcome:
    """What a search found.

    `reason` says why it was cut short; None means it ran to the end (or to the first violation).  `fired`
    counts successors by action.  With symmetry, `orbit_states` is the number of states that the orbits hold.  `growth` tells
    per level what was generated and what was distinct when it was complete.
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

    @property
    def verdict(self) -> Verdict:
        """The verdict on everything that was asked."""
        found = {each.verdict for each in self.findings}
        if Verdict.VIOLATED in found:
            return Verdict.VIOLATED
        return Verdict.INCONCLUSIVE if self.reason or Verdict.INCONCLUSIVE in found else Verdict.HOLDS
