"""The model that a history is held against: today's Kafka at one offset, with all that a cluster shows of it."""

from __future__ import annotations

from dataclasses import replace

from neverlost.model.faults import BY_NAME
from neverlost.model.kernel import Configuration, Field, Model, Primitives
from neverlost.model.observed import one_offset
from neverlost.model.observed.observations import OBSERVATIONS
from neverlost.model.observed.one_offset import ONE_OFFSET_ACTIONS
from neverlost.model.observed.starting_brokers import IS_BACK, STARTING_ACTIONS, UNAWARE, forget_registered
from neverlost.model.protocols.kraft import MODEL as KRAFT
from neverlost.model.system import System, View, bind


def observed_fields(configuration: Configuration) -> tuple[Field, ...]:
    """Return the fields of the model of one offset, and the flag of the brokers that are back and not registered."""
    return (*one_offset.one_offset_fields(configuration), IS_BACK)


def settle(k: Primitives, s: View) -> None:
    """Effect, after every step: what the model of one offset needs; a registered broker is no longer one that is back."""
    one_offset.settle(k, s)
    forget_registered(k, s)


OBSERVED: Model = replace(
    KRAFT,
    name="kraft-observed",
    summary="today's Kafka as one offset of one partition shows it",
    sizes=one_offset.one_offset_sizes,
    fields=observed_fields,
    actions=(*ONE_OFFSET_ACTIONS, *OBSERVATIONS, *STARTING_ACTIONS),
    normalise=settle,
    guarantees=(),
)
"""What histories are held against."""

SEEN = frozenset(each.name for each in OBSERVATIONS)
"""Actions that are an observation and nothing else."""

METADATA = frozenset(
    (
        "leader_drop",
        "controller_alter_isr",
        "controller_fence_dead",
        "controller_fence_live",
        "controller_unfence",
        "controller_move_leader",
        "controller_reassign",
        "controller_cancel_reassignment",
        "controller_cancel_reassignment_uncleanly",
        "controller_elect_uncleanly",
        "controller_assign_directory",
        "broker_register",
        "broker_register_clean",
        "controller_touch",
        "controller_renew_leader",
    )
)
"""Actions of which the controller's log has a record."""

FAULT_OF = {each.name: BY_NAME[each.fault] for each in OBSERVED.actions if each.fault}
"""The kind of fault that an action is, by the action's name."""

PROCESS = frozenset((*(name for name, fault in FAULT_OF.items() if fault.ends), "process_start", "process_end"))
"""Actions that start or end a broker's process."""


def observed_system(configuration: Configuration) -> System:
    """Return the observed model under a configuration; with reassignments, without the clause `UNAWARE`."""
    return bind(OBSERVED, configuration, disabled=[UNAWARE] if configuration["faults.reassign"] else [])
