"""Counts reachable states one by one on the ints interpreter: a walk that shares no code with the engines."""

from __future__ import annotations

from collections.abc import Sequence

from neverlost.model.interpreters import ints
from neverlost.model.system import System
from neverlost.specs.property import RECOVERY, Property


def count_reachable(system: System, properties: Sequence[Property]) -> int | None:
    """Return how many states are reachable, on the ints interpreter; None if a property other than of recovery fails in one."""
    safety = [each for each in properties if each.kind != RECOVERY]
    seen = {state for _, state in system.initial_states()}
    waiting = list(seen)
    while waiting:
        state = waiting.pop()
        if not all(ints.evaluate(system, state, each.condition) for each in safety):
            return None
        for step in system.steps:
            after = ints.take(system, state, step)
            if after is not None and after not in seen:
                seen.add(after)
                waiting.append(after)
    return len(seen)
