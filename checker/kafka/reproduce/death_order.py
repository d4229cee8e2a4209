"""A counterexample with its steps in an order that a cluster can follow.

A controller misses a dead broker when its session has expired, so it misses brokers in the order in which they died.  The model
knows no time: there two may die, and be missed the other way round.
"""

from __future__ import annotations

from collections.abc import Callable

from neverlost.checker.engine.outcome import Behaviour, followed
from neverlost.model.faults import BY_NAME, KILLED, LOST
from neverlost.model.kernel import Action
from neverlost.model.system import System

DEATHS = (KILLED, LOST)
"""How a process ends that the controller misses later, when its session has expired."""


def as_sessions_expire(system: System, trace: Behaviour) -> Behaviour:
    """The same steps to the same end, in which no broker is missed before another that died earlier.

    A broker dies later than in the trace, after those that are missed before it, where the steps between commute with its
    death; elsewhere the trace stays as it is.
    """
    for broker in range(system.sizes["replica"]):
        trace = _dying_later(system, trace, broker) or trace
    return trace


def _dying_later(system: System, trace: Behaviour, broker: int) -> Behaviour | None:
    """One broker's last death moved behind the last miss of others that must come first; None if nothing is to be moved."""
    died, missed = _last(system, trace, _is_death), _last(system, trace, lambda each: each.name == "controller_fence_dead")
    both = died.keys() & missed.keys()
    if broker not in both:
        return None
    first = [missed[each] for each in both if died[broker] < died[each] < missed[each] < missed[broker]]
    if not first:
        return None
    order = list(trace.steps)
    order.insert(max(first), order.pop(died[broker]))
    again = followed(system, trace.states[0], order)
    return again if again.states[-1] == trace.states[-1] and len(again.steps) == len(order) else None


def _is_death(action: Action) -> bool:
    return action.fault is not None and "broker" in action.parameters and BY_NAME[action.fault].ends in DEATHS


def _last(system: System, trace: Behaviour, is_wanted: Callable[[Action], bool]) -> dict[int, int]:
    """Where a step of a kind was last taken, by broker."""
    steps = [system.steps[number] for number in trace.steps]
    return {step.arguments["broker"]: place for place, step in enumerate(steps) if is_wanted(step.action)}
