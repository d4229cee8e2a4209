"""Reorders a counterexample's steps so that a cluster can follow them.  A controller fences a dead broker when its session has
expired, so it fences brokers in the order in which they died.  The model has no time: there two may die, and be fenced the
other way round."""

from __future__ import annotations

from collections.abc import Callable

from neverlost.checker.engine.outcome import Behaviour, follow_steps
from neverlost.model.faults import BY_NAME, KILLED, LOST
from neverlost.model.kernel import Action
from neverlost.model.system import System

DEATHS = (KILLED, LOST)
"""How a process ends that the controller misses later, when its session has expired."""


def order_by_session_expiry(system: System, trace: Behaviour) -> Behaviour:
    """Return the same steps to the same end, where possible in an order in which no broker is fenced before another that died
    earlier.  A broker's death is moved behind the fencings that must come before its own, if the steps between commute with
    it; else the trace stays as it is."""
    for broker in range(system.sizes["replica"]):
        trace = _delay_death(system, trace, broker) or trace
    return trace


def _delay_death(system: System, trace: Behaviour, broker: int) -> Behaviour | None:
    """Return the trace with a broker's last death moved behind the fencings that must precede it; None if it stays as it is."""
    died, missed = (
        _find_last_index(system, trace, _is_death),
        _find_last_index(system, trace, lambda each: each.name == "controller_fence_dead"),
    )
    both = died.keys() & missed.keys()
    if broker not in both:
        return None
    first = [missed[each] for each in both if died[broker] < died[each] < missed[each] < missed[broker]]
    if not first:
        return None
    order = list(trace.steps)
    order.insert(max(first), order.pop(died[broker]))
    again = follow_steps(system, trace.states[0], order)
    return again if again.states[-1] == trace.states[-1] and len(again.steps) == len(order) else None


def _is_death(action: Action) -> bool:
    return action.fault is not None and "broker" in action.parameters and BY_NAME[action.fault].ends in DEATHS


def _find_last_index(system: System, trace: Behaviour, is_wanted: Callable[[Action], bool]) -> dict[int, int]:
    """Return, by broker, the index of the last step whose action is wanted."""
    steps = [system.steps[number] for number in trace.steps]
    return {step.arguments["broker"]: place for place, step in enumerate(steps) if is_wanted(step.action)}
