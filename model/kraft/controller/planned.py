"""What an operator does on purpose, as steps of their own that only a plan has: one value of min.insync.replicas, one replica
more.

Source: ConfigurationControlManager.java; ReplicationControlManager.alterPartitionReassignments.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from neverlost.model.kernel import Action, Clauses, Model, Primitives, Value, action
from neverlost.model.kraft.controller.operator import controller_set_min_isr
from neverlost.model.kraft.controller.partition_change import outdate_leader
from neverlost.model.kraft.state import UNCHANGED, UP_TO_DATE, everyone
from neverlost.model.system import View


@action(says="the controller records a replica more")
def controller_add_replica(k: Primitives, s: View) -> Clauses:
    """The record moves the partition epoch, no more: the model has the replica from the start, with no log and outside the ISR,
    and it joins as any other does.  Nothing is removed, so there is nothing to complete."""
    yield "bound: the leader was up to date", s.leader_knows == UP_TO_DATE
    outdate_leader(k, s, True)


def operated(model: Model, least: int | None, is_growing: bool = False) -> Model:
    """Return the model in which min.insync.replicas can be set to `least` only and, if it `is_growing`, a replica be added.

    If `least` is None min.insync.replicas cannot be set.
    """
    chosen: Action = replace(
        controller_set_min_isr, where=lambda **given: least is not None and UNCHANGED < least == given["least"]
    )
    grown = (controller_add_replica,) if is_growing else ()
    actions = (chosen if each is controller_set_min_isr else each for each in model.actions)
    return replace(model, actions=(*actions, *grown))


def is_set(least: int, before: int) -> Callable[[Any, Any], Value]:
    """Return the condition that the controller's min.insync.replicas is now `least`, where it was configured as `before`."""
    return lambda k, s: s.min_isr_changed == _code(least, before)


def is_known_everywhere(least: int, before: int) -> Callable[[Any, Any], Value]:
    """Return the condition that the controller and every broker have `least`, where it was configured as `before`."""

    def is_known(k: Any, s: Any) -> Value:
        known = (s.min_isr_known[each] == _code(least, before) for each in everyone(s))
        return k.all_of(s.min_isr_changed == _code(least, before), *known)

    return is_known


def _code(least: int, before: int) -> int:
    return UNCHANGED if least == before else least
