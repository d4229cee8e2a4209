"""Turns a counterexample into stages: what to do on a cluster, and what must be seen before the next thing is done.

A step of the model is an operation that is done to the cluster (produce, kill, cut off, move, ...), or something that the
cluster does by itself.  Each of the former begins a `ReproductionStep`, which lasts to the next one.  Meanwhile traffic is held
(`TrafficBlocks`).  It is over when the cluster looks like the model's state at its end (`Target`).

Brokers are counted from 1 here, as on the cluster; offsets and records in logs are the model's.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

from neverlost.checker.engine.outcome import Behaviour
from neverlost.checker.kafka.reproduce.operations import (
    ASKED,
    DIRECTORIES,
    ENDING,
    LEARNING,
    RECONNECTING,
    REPLAY,
    REPLICATION,
    Operation,
    find_operation,
    find_operation_of_stage,
    is_possible,
)
from neverlost.checker.kafka.reproduce.target import Target, make_target
from neverlost.checker.kafka.reproduce.traffic_blocks import TrafficBlocks, compute_blocks, is_stale
from neverlost.model.interpreters.ints import take
from neverlost.model.kernel import Configuration
from neverlost.model.sentences import sentences
from neverlost.model.system import Step, System
from neverlost.specs.errors import InputError
from neverlost.specs.property import Property


@dataclass(frozen=True)
class ReproductionStep:
    """One operation, the steps of the model that it stands for (`first` to `last`, from 1), and the target that ends it.
    `during` is blocked while it is done, `holds` after that."""

    first: int
    last: int
    says: tuple[str, ...]
    operation: str
    broker: int
    argument: tuple[int, ...]
    during: TrafficBlocks
    holds: TrafficBlocks
    target: Target


@dataclass(frozen=True)
class ReproductionPlan:
    """How a cluster is set up for a counterexample, and what is done to it."""

    model: str
    broken: str
    configuration: Configuration
    brokers: int
    replicas: tuple[int, ...]
    begin: Target
    stages: tuple[ReproductionStep, ...]
    compares_elr: bool
    """Whether the trace itself has eligible leader replicas; `has_elr` is about the cluster that it is tried on."""

    @property
    def acks(self) -> str:
        return str(self.configuration["acks"])

    @property
    def has_elr(self) -> bool:
        return bool(self.configuration["eligible.leader.replicas"])

    @property
    def is_unclean_allowed(self) -> bool:
        return bool(self.configuration["unclean.leader.election.enable"])

    @property
    def topic_configs(self) -> dict[str, str]:
        found = {
            "min.insync.replicas": str(self.configuration["min.insync.replicas"]),
            "unclean.leader.election.enable": str(self.is_unclean_allowed).lower(),
        }
        return found | ({"flush.messages": "1"} if self.configuration["flush.messages"] == "1" else {})

    @property
    def server_settings(self) -> dict[str, str]:
        """Brokers' settings: a follower is slow after 3 s if the counterexample has slow ones, else after 20 s if an answer of
        the metadata log is held back, else after 60 s.  If one is held back, requests of the log time out after 60 s."""
        is_slow = any(stage.operation == "lag" for stage in self.stages)
        is_held = any(stage.holds.metadata_answers for stage in self.stages)
        found = {"replica.lag.time.max.ms": "3000" if is_slow else "20000" if is_held else "60000"}
        if is_held:
            found |= dict.fromkeys(("controller.quorum.request.timeout.ms", "controller.quorum.fetch.timeout.ms"), "60000")
        return found

    @property
    def directories(self) -> int:
        """The number of log directories of each broker: two if an operation is about a directory, else one."""
        return 2 if any(stage.operation in DIRECTORIES for stage in self.stages) else 1


def plan_stages(system: System, broken: Property, trace: Behaviour) -> ReproductionPlan:
    """Return the plan of a counterexample of kraft or kraft-elr.  Errors: `InputError` for another model, for what no Kafka has
    or starts with, a step that cannot be brought about, and a trace that does not begin with an operation."""
    _require_cluster(system)
    trace = move_appends_before_publications(system, trace)
    states = [system.nested(state) for state in trace.states]
    steps = [system.steps[number] for number in trace.steps]
    says = sentences(system, trace.states, trace.steps)
    _require_operations(steps, says)
    stages = tuple(_split_into_stages(steps, states, says))
    return ReproductionPlan(
        model=system.model.name,
        broken=broken.name,
        configuration=system.configurations[0],
        brokers=system.sizes["replica"] + _needs_spare(stages),
        replicas=choose_assignment(states, system.sizes["first_replicas"]),
        begin=make_target(states[0]),
        stages=stages,
        compares_elr=bool(system.configurations[0]["eligible.leader.replicas"]),
    )


def _require_cluster(system: System) -> None:
    """Raise `InputError` for a model or a configuration that no cluster runs, or with replicas moved or outside the ISR at
    first."""
    if "leader_isr" not in system.places:
        raise InputError(f"a trace of {system.model.name} has no ISR to carry out; reproduce traces of kraft and kraft-elr")
    configuration = system.configurations[0]
    if configuration["acks"] not in ("0", "1", "all"):
        raise InputError(f"no Kafka has acks={configuration['acks']}: it is a proposal")
    if configuration["start.outside_isr"] or configuration.get("start.replicas"):
        raise InputError("the trace begins with replicas outside the ISR or moved; a cluster is started with all of them in it")


def _require_operations(steps: Sequence[Step], says: Sequence[str]) -> None:
    """Raise `InputError` for a step that cannot be brought about, and a trace that does not begin with an operation."""
    for number, step in enumerate(steps, start=1):
        if not is_possible(step.action):
            raise InputError(f"step {number} ({says[number]}) cannot be brought about on a cluster yet")
    if not steps or not (find_operation(steps[0].action)):
        raise InputError("the trace does not begin with something that a client, an operator or a fault does")


def _split_into_stages(
    steps: Sequence[Step], states: Sequence[Mapping[str, Any]], says: Sequence[str]
) -> Iterator[ReproductionStep]:
    """Yield the stages into which the steps are split, each with its operation, what is blocked, and how it ends."""
    silent: frozenset[int] = frozenset()
    before = TrafficBlocks()
    for first, end in pairwise([*find_stage_starts(steps, states), len(steps)]):
        operation = find_operation_of_stage(steps[first], len(states[first]["log_record"][0]))
        silent = _update_silent(silent, operation)
        is_late = _is_late(steps, states, first), _is_late(steps, states, end)
        holds = compute_blocks(operation, states[first], states[end], steps[first:end], silent, is_late)
        during = holds
        if operation.name in ENDING:
            during = holds.besides(before)
        elif holds.metadata_answers and not before.metadata_answers:
            during = replace(before, metadata=holds.metadata, metadata_answers=holds.metadata_answers)
        sentences, done = tuple(says[first + 1 : end + 1]), (operation.name, operation.broker, operation.argument)
        yield ReproductionStep(first + 1, end, sentences, *done, during, holds, make_target(states[end]))
        before = holds


def _is_late(steps: Sequence[Step], states: Sequence[Mapping[str, Any]], at: int) -> bool:
    """Return True if the leader has applied an ISR change's answer, and a later step replays that change's record by itself."""
    still = [state.get("record_to_come") or any(state.get("late_record", ())) for state in states]
    gone = next((number for number in range(at, len(steps)) if not still[number + 1]), None)
    return bool(still[at]) and gone is not None and steps[gone].action.name == REPLAY


def move_appends_before_publications(system: System, trace: Behaviour) -> Behaviour:
    """Return the trace with no record appended between the two parts of one publication, if it can be appended before.  On a
    cluster a few milliseconds pass between partitions and configuration: a record that waits there is acknowledged."""
    states, steps = list(trace.states), list(trace.steps)
    for at in range(len(steps) - 1):
        learns, appends = (system.steps[number] for number in steps[at : at + 2])
        if learns.action.name not in LEARNING or appends.action.name != "leader_append":
            continue
        broker, after = learns.arguments["broker"], system.nested(states[at + 1])
        if not after.get("configuration_to_come", {broker: False})[broker]:
            continue
        between = take(system, states[at], appends)
        if between is not None and take(system, between, learns) == states[at + 2]:
            states[at + 1], steps[at], steps[at + 1] = between, steps[at + 1], steps[at]
    return replace(trace, states=tuple(states), steps=tuple(steps))


def _update_silent(silent: frozenset[int], operation: Operation) -> frozenset[int]:
    """Return the brokers whose heartbeats are lost after an operation."""
    if operation.name == "silence":
        return silent | {operation.broker}
    return silent - {operation.broker} if operation.name in RECONNECTING else silent


def _needs_spare(stages: Sequence[ReproductionStep]) -> bool:
    """Return True if an operator requests something while every replica's broker is down: another broker must answer."""
    return any(stage.operation in ASKED and not stage.target.running for stage in stages)


def find_stage_starts(steps: Sequence[Step], states: Sequence[Mapping[str, Any]]) -> list[int]:
    """Return the indices of steps at which stages begin: at an operation, at a leader's replay of its own change, where a
    broker learns something after records have moved, and after a broker has learned something if it must not learn what
    follows."""
    found: list[int] = []
    has_replicated = False
    for number, step in enumerate(steps):
        name = step.action.name
        if find_operation(step.action) or name == REPLAY or (name in LEARNING and has_replicated):
            found.append(number)
            has_replicated = False
        has_replicated = has_replicated or name in REPLICATION
    more = [
        number + 1
        for first, end in pairwise([*found, len(steps)])
        for number in range(first, end - 1)
        if steps[number].action.name in LEARNING and is_stale(states[end], steps[number].arguments["broker"])
    ]
    return sorted({*found, *more})


def choose_assignment(states: Sequence[Mapping[str, Any]], replicas: int) -> tuple[int, ...]:
    """Return an assignment in whose order Kafka elects as the model did: the first leader, then the others in the order in
    which they come to lead."""
    led = [state["leader"] for state in states if 0 <= state["leader"] < replicas]
    return tuple(each + 1 for each in dict.fromkeys([*led, *range(replicas)]))
