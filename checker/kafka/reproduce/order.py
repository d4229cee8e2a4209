"""A counterexample with its steps in an order that a cluster can follow.

A controller misses a dead broker when its session has expired, so it misses brokers in the order in which they died.  The model
knows no time: there two may die, and be missed the other way round.
"""

from __future__ import annotations

from neverlost.checker.outcome import Trace
from neverlost.model.interpreters import ints
from neverlost.model.system import State, System

DEATHS = ("broker_crash", "broker_crash_lossy", "broker_lose_disk")


def as_sessions_expire(system: System, trace: Trace) -> Trace:
    """The same steps to the same end, in which no broker is missed before another that died earlier.

    A broker dies later than in the trace, after those that are missed before it, where the steps between commute with its
    death; elsewhere the trace stays as it is.
    """
    for broker in range(system.sizes["replica"]):
        trace = _dying_later(system, trace, broker) or trace
    return trace


def _dying_later(system: System, trace: Trace, broker: int) -> Trace | None:
    """One broker's last death moved behind the last miss of others that must come first; None if nothing is to be moved."""
    died, missed = _last(system, trace, DEATHS), _last(system, trace, ("controller_fence_dead",))
    both = died.keys() & missed.keys()
    if broker not in both:
        return None
    first = [missed[each] for each in both if died[broker] < died[each] < missed[each] < missed[broker]]
    if not first:
        return None
    order = list(trace.steps)
    order.insert(max(first), order.pop(died[broker]))
    return _taken(system, trace, order)


def _last(system: System, trace: Trace, names: tuple[str, ...]) -> dict[int, int]:
    """Where a step with one of these names was last taken, by broker."""
    steps = [system.steps[number] for number in trace.steps]
    return {step.arguments["broker"]: place for place, step in enumerate(steps) if step.action.name in names}


def _taken(system: System, trace: Trace, order: list[int]) -> Trace | None:
    """The steps in another order, if they can be taken so and lead to the same state."""
    states: list[State] = [trace.states[0]]
    for number in order:
        after = ints.take(system, states[-1], system.steps[number])
        if after is None:
            return None
        states.append(after)
    return Trace(tuple(states), tuple(order)) if states[-1] == trace.states[-1] else None
