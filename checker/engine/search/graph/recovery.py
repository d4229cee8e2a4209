"""Recovery: from every reachable state one that is wanted can be reached again by steps that spend no fault budget.

A search alone does not answer that: it knows what led to a state, not what can still follow.  So the engine explores everything
and keeps its levels; then the state graph is walked backwards from the wanted states.  The counterexample is a shortest
behaviour to a state that the walk has not met, a *trap*.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace

import numpy as np

from neverlost.checker.engine.host import scratch
from neverlost.checker.engine.host.resources import ResourceExhausted, classify_exhaustion, measure_memory
from neverlost.checker.engine.outcome import Finding, Outcome, Verdict, replay, walk_without_faults
from neverlost.checker.engine.search.configurations import Configurations
from neverlost.checker.engine.search.expansion import BATCH
from neverlost.checker.engine.search.graph.state_graph import Chosen, StateGraph, build_from_levels, build_from_store
from neverlost.checker.engine.search.options import Engine, Options, Reporter, SearchProgress
from neverlost.checker.engine.search.symmetry import Renaming
from neverlost.checker.engine.storage.levels import Store
from neverlost.model.interpreters.columns import evaluate_condition, pack_rows
from neverlost.model.system import State, System
from neverlost.specs.property import RECOVERY, Property

MOST_STEPS = 30_000_000
"""Steps of a graph that is still built: about 2 GB."""


def explore(
    system: System, properties: Sequence[Property], options: Options, reporter: Reporter | None, search: Engine
) -> Outcome:
    """Explore everything, whatever is violated on the way, and decide all properties; those of recovery are inconclusive if
    the search or the graph after it is interrupted, passes a limit or uses up what it needs."""
    started = time.monotonic()
    with ExitStack() as stack:
        place = options.state_dir or stack.enter_context(scratch.hold_folder("levels"))
        ordinary = [each for each in properties if each.kind != RECOVERY]
        whole = replace(options, keep_going=True, every_configuration=False, state_dir=place)
        outcome = search(system, ordinary, whole, reporter)
        wanted = [each for each in properties if each.kind == RECOVERY]
        try:
            watch = _Watch(outcome, options, reporter, started)
            found = decide_findings(build_from_store(system, Store.attach(place), watch), wanted)
            reason = None
        except (Exception, KeyboardInterrupt) as problem:
            reason = classify_exhaustion(problem) if isinstance(problem, Exception) else "interrupted"
            cells = range(len(system.configurations))
            found = [Finding(each, cell, Verdict.INCONCLUSIVE) for cell in cells for each in wanted]
    by_key = {(each.configuration, each.property.name): each for each in (*outcome.findings, *found)}
    findings = tuple(by_key[cell, each.name] for cell in range(len(system.configurations)) for each in properties)
    return replace(outcome, findings=findings, reason=reason, seconds=time.monotonic() - started)


@dataclass(frozen=True)
class _Watch:
    """Reports before each batch of a graph; `ResourceExhausted` if a search was cut short or a limit or `MOST_STEPS` passed."""

    outcome: Outcome
    options: Options
    reporter: Reporter | None
    started: float

    def __call__(self, done: int) -> None:
        counts, limits = self.outcome.counts, self.options.limits
        spent, used = time.monotonic() - self.started, measure_memory()
        if self.outcome.reason:
            raise ResourceExhausted(self.outcome.reason)
        if counts.generated > MOST_STEPS:
            raise ResourceExhausted(
                f"recovery needs the graph of all {counts.generated:,} steps, and at most {MOST_STEPS:,} are kept;"
                " lower a budget or a bound"
            )
        if limits.are_passed(self.started):
            raise ResourceExhausted(limits.too_little_time)
        if limits.memory_bytes is not None and used > limits.memory_bytes:
            raise ResourceExhausted(f"the memory limit of {limits.memory_bytes} bytes was reached")
        if self.reporter is not None:
            left = counts.distinct - done
            self.reporter(SearchProgress(counts.depth, left, counts.generated, counts.distinct, spent, used))


def decide_findings(graph: StateGraph, properties: Sequence[Property]) -> list[Finding]:
    homes = Configurations(graph.system).of(graph.states)
    lost = {each.name: ~graph.reaching(_find_wanted(graph, each), ~graph.is_fault) for each in properties}
    return [
        _make_finding(graph, each, cell, lost[each.name] & (homes == cell))
        for cell in range(len(graph.system.configurations))
        for each in properties
    ]


def _find_wanted(graph: StateGraph, asked: Property) -> Chosen:
    batches = [graph.states[:, start : start + BATCH] for start in range(0, len(graph), BATCH)]
    return np.concatenate([evaluate_condition(graph.system, np.ascontiguousarray(each), asked.condition) for each in batches])


def _make_finding(graph: StateGraph, asked: Property, cell: int, lost: Chosen) -> Finding:
    """Return the finding of one property; the counterexample ends in the first lost state, which is at the least depth."""
    if not lost.any():
        return Finding(asked, cell, Verdict.HOLDS)
    way = graph.shortest_way(int(np.argmax(lost)))
    way = Renaming(graph.system)(way) if graph.symmetry else way
    return Finding(asked, cell, Verdict.VIOLATED, replay(graph.system, way, asked))


@dataclass(frozen=True)
class Trap:
    """Where a counterexample ends: how many states can still be reached without a fault, and the components in which that ends.

    Units: states; `ends` are the sizes of the terminal components, the largest first.
    """

    states: int
    ends: tuple[int, ...]


def describe_trap(system: System, state: State) -> Trap:
    """Return how many states can be reached from this one without a fault, and the sizes of the components that they end in."""
    inside = pack_rows(system, list(walk_without_faults(system, state)))
    quiet = frozenset(number for number, step in enumerate(system.steps) if not step.action.fault)
    graph = build_from_levels(system, [inside], only=quiet)
    ends = sorted((len(each.members) for each in graph.components() if each.is_terminal), reverse=True)
    return Trap(len(graph), tuple(ends))
