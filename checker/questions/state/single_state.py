"""Answers about one state of a partition: what is true in it, and what one fault can lose.  The model's own rules decide."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from neverlost.checker.engine.engines.explore import explore
from neverlost.checker.engine.outcome import Behaviour, Outcome, Verdict
from neverlost.checker.engine.reached_states_system import Continued
from neverlost.checker.engine.search.options import Options
from neverlost.model.any_number import AnyNumber
from neverlost.model.faults import DISK_LOSS, FAULTS, KILL, LOSSY_CRASH, Fault
from neverlost.model.interpreters import ints
from neverlost.model.kernel import NO_REPLICA, Configuration, Model, Value, implies
from neverlost.model.kraft.broker.log import holds_record
from neverlost.model.kraft.state import ELECTED, everyone
from neverlost.model.observed.described_state import DescribedState, build_state, handle_fetches, lose_while_down
from neverlost.model.system import State, Step, System, bind
from neverlost.specs.property import Property

SINGLE = {KILL: "broker_crash", LOSSY_CRASH: "broker_crash_lossy", DISK_LOSS: "broker_lose_disk"}
"""The faults that are tried one by one, with the step of each."""

POLICY, ANY, KAFKAS = "election.policy", "any", "preferred"


@dataclass(frozen=True)
class Election:
    """Who `may` be elected when a broker (from 0) stops or returns, and who is by the policy; empty: partition offline."""

    when: str
    broker: int
    may: tuple[int, ...]
    elected: tuple[int, ...]


@dataclass(frozen=True)
class FaultEffect:
    """The effect of one fault of a broker (from 0), when nothing else fails: which acknowledged records (from 1) can be lost.

    `lost` are in order; `trace` is the shortest behaviour to the loss of the first, None without a loss.  If the broker is
    down already (`is_down`), it begins after the fault, because in the model only a broker that runs has faults.
    """

    fault: str
    broker: int
    is_down: bool
    verdict: Verdict
    lost: tuple[int, ...]
    system: System
    trace: Behaviour | None


@dataclass(frozen=True)
class SingleState:
    """A state with its committed, readable and acknowledged records (from 1), who may be elected, what each single fault can
    lose, and which properties are violated in it already."""

    committed: frozenset[int]
    readable: frozenset[int]
    acknowledged: frozenset[int]
    elections: tuple[Election, ...]
    effects: tuple[FaultEffect, ...]
    broken: tuple[Property, ...]


def settings_of_faults(configuration: Configuration, policy: str | None = None) -> Configuration:
    """Return a copy, with this election policy if given, in which faults of `SINGLE` may happen, any number, and no others."""
    none = {each.key: 0 for each in FAULTS if each.key in configuration}
    allowed = {each.key: AnyNumber() for each in SINGLE}
    return {**configuration, **none, **allowed, **({POLICY: policy} if policy else {})}


def without_faults(model: Model) -> Model:
    """Return the same protocol without its faults: a copy of the model with only the actions that are no faults."""
    rest = tuple(each for each in model.actions if each.fault is None)
    return model.differing(f"{model.name}-undisturbed", "the same, without further faults", actions=rest)


def examine(
    model: Model, configuration: Configuration, shown: DescribedState, guarantees: Sequence[Property], options: Options
) -> SingleState:
    """Return what is true of a described state: safe records, elections, what single faults lose, broken guarantees."""
    system = bind(model, settings_of_faults(configuration))
    state = build_state(system, shown)
    now, counted = system.nested(state), system.nested(handle_fetches(system, state))
    leader = now["leader"]
    is_led = leader != NO_REPLICA and now["is_running"][leader]
    readable = now["log_record"][leader][: now["high_watermark"][leader]] if is_led else []
    acknowledged = frozenset(number for number, is_acked in enumerate(now["ghost_acked"], 1) if is_acked)
    return SingleState(
        committed=frozenset(each for each in counted["ghost_committed"] if each),
        readable=frozenset(readable),
        acknowledged=acknowledged,
        elections=tuple(_elections(model, configuration, shown)),
        effects=tuple(_effect(system, state, fault, broker, acknowledged, options) for broker, fault in _strikes(now)),
        broken=tuple(each for each in guarantees if not ints.evaluate(system, state, each.condition)),
    )


def explore_from(
    model: Model, configuration: Configuration, shown: DescribedState, properties: Sequence[Property], options: Options
) -> Outcome:
    """Return the outcome of a search that begins in a described state, with the faults that the configuration allows."""
    system = bind(model, configuration)
    return explore(_begin(system, [build_state(system, shown)]), properties, options)


def _begin(system: System, states: Sequence[State]) -> Continued:
    rows = np.array([system.pack(each) for each in states], np.uint64).T
    return Continued(system.model, system.configurations, system.disabled, beginning=np.ascontiguousarray(rows))


def _strikes(now: dict[str, Any]) -> list[tuple[int, Fault]]:
    """Return pairs of a broker and a fault that matters to it now.  A broker that is down is not killed, and if its whole log
    is on disk (it stopped cleanly, or each record is flushed), a loss of power takes nothing from it."""
    found = []
    for broker, runs in enumerate(now["is_running"]):
        is_flushed = bool(now["flushes_each_record"]) or (not runs and bool(now.get("stopped_cleanly", {broker: 0})[broker]))
        found += [(broker, each) for each in SINGLE if runs or each is DISK_LOSS or (each is LOSSY_CRASH and not is_flushed)]
    return found


def _steps(system: System, action: str, **arguments: int) -> list[Step]:
    every = (each for each in system.steps if each.action.name == action)
    return [each for each in every if all(each.arguments[name] == value for name, value in arguments.items())]


def _effect(system: System, state: State, fault: Fault, broker: int, acked: frozenset[int], options: Options) -> FaultEffect:
    """Return which of the `acked` records one fault of a broker can lose; a loss of power may also leave the whole log."""
    is_down = not system.nested(state)["is_running"][broker]
    after: dict[State, Step | None] = {}
    if is_down:
        ends = range(system.sizes["offset"] + 1) if fault is LOSSY_CRASH else (0,)
        after = dict.fromkeys(lose_while_down(system, state, broker, kept) for kept in ends)
    else:
        names = [SINGLE[KILL], SINGLE[LOSSY_CRASH]] if fault is LOSSY_CRASH else [SINGLE[fault]]
        strikes = [each for name in names for each in _steps(system, name, broker=broker)]
        struck = [(ints.take(system, state, step), step) for step in strikes]
        after = {found: step for found, step in struck if found is not None}
    asked = [_keeps(record) for record in sorted(acked)]
    if not asked:
        return FaultEffect(fault.name, broker, is_down, Verdict.HOLDS, (), system, None)
    calm = bind(without_faults(system.model), *system.configurations)
    outcome = explore(_begin(calm, list(after)), asked, replace(options, keep_going=True))
    lost = {record: each for record, each in zip(sorted(acked), outcome.findings, strict=True) if each.trace is not None}
    trace = next((each.trace for each in lost.values()), None)
    if trace is not None:
        numbers = {step.label: number for number, step in enumerate(system.steps)}
        first = after[trace.states[0]]
        taken = [*([first] if first else []), *(calm.steps[number] for number in trace.steps)]
        states = (*([state] if first else []), *trace.states)
        trace = Behaviour(states, tuple(numbers[each.label] for each in taken))
    return FaultEffect(fault.name, broker, is_down, outcome.verdict, tuple(lost), system, trace)


def _keeps(record: int) -> Property:
    """Return the property that every leader that has applied its leadership has record `record` (from 1) if it is acked."""

    def keeps(k: Any, s: Any) -> Value:
        leads = [k.all_of(s.leader == each, s.leader_knows != ELECTED, s.ghost_acked[record - 1]) for each in everyone(s)]
        return k.all_of(*[implies(k, led, holds_record(k, s, each, record - 1)) for each, led in enumerate(leads)])

    return Property(f"keeps-record-{record}", "the leader has the record", keeps, (), "")


def _elections(model: Model, configuration: Configuration, shown: DescribedState) -> list[Election]:
    """Return the election when the leader stops or, without a leader, one for the return of each broker that is down."""
    policy = configuration[POLICY]
    systems = [bind(model, settings_of_faults(configuration, each)) for each in (ANY, KAFKAS if policy == ANY else policy)]
    found = []
    if shown.leader != NO_REPLICA:
        may, elected = (_elected_after_stop(each, shown) for each in systems)
        return [Election("stops" if shown.runs[shown.leader] else "has stopped", shown.leader, may, elected)]
    for broker, runs in enumerate(shown.runs):
        if not runs:
            may, elected = (_elected_at_return(each, build_state(each, shown), broker) for each in systems)
            found.append(Election("returns", broker, may, elected))
    return found


def _elected_after_stop(system: System, shown: DescribedState) -> tuple[int, ...]:
    state: State | None = build_state(system, shown)
    leader = shown.leader
    if state is not None and shown.runs[leader]:
        (stops,) = _steps(system, SINGLE[KILL], broker=leader)
        state = ints.take(system, state, stops)
    return _outcomes(system, state, "controller_fence_dead", leader)


def _elected_at_return(system: System, state: State, broker: int) -> tuple[int, ...]:
    clean = _outcomes(system, state, "broker_restart_clean", broker)
    return clean or _outcomes(system, state, "broker_restart", broker)


def _outcomes(system: System, state: State | None, action: str, broker: int) -> tuple[int, ...]:
    """Return the brokers that an action of a broker can elect in a state; () where it is not possible, or elects nobody."""
    every = [each for each in _steps(system, action, broker=broker) if each.arguments["outcome"] >= 0]
    taken = [each for each in every if state is not None and ints.take(system, state, each) is not None]
    return tuple(dict.fromkeys(each.arguments["outcome"] % system.sizes["replica"] for each in taken))
