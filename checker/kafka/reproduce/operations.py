"""What a step of the model is on a cluster: an operation that is done to it, or something that it does by itself.  Brokers are
counted from 1 here, as on the cluster."""

from __future__ import annotations

from dataclasses import dataclass

from neverlost.model.faults import BY_NAME, FAULTS
from neverlost.model.kernel import Action, members
from neverlost.model.system import Step

DONE = {
    "leader_append": "produce",
    "controller_cancel_reassignment": "cancel",
    "controller_cancel_reassignment_uncleanly": "cancel",
    "controller_unfence": "reconnect",
    "broker_restart": "start",
    "broker_restart_clean": "start",
    "broker_lose_directory_cleanly": "stop-and-take-out",
    "controller_assign_directory": "assign-directory",
}
"""What is done to a cluster, by the model's action, where no fault declares it (`Fault.done`) or it is done in another way."""

NOT_YET = (
    "broker_create_log_anew",
    "broker_crash_unregistered",
    "broker_follow_unregistered",
    "follower_take_late_bytes",
    "leader_answer_stalled_request",
    "leader_stall_request",
)
"""Actions that cannot be done yet."""

DIRECTORIES = ("stop-and-take-out", "assign-directory")
"""These need brokers with several log directories."""

LEARNING = (
    "leader_apply_answer",
    "leader_replay_own_change",
    "leader_learn_isr",
    "broker_apply_leadership",
    "broker_follow",
    "broker_delete_replica",
    "broker_learn_config",
)
"""Actions in which a broker learns what the controller decided; one after records have moved begins a stage of its own."""

BY_ITSELF = (
    "leader_note_fetch",
    "follower_take_response",
    "follower_truncate",
    "leader_ask_to_expand_isr",
    "controller_alter_isr",
    "controller_refuse_isr",
    "controller_fence_dead",
    *LEARNING,
)
"""Actions that the cluster takes by itself."""

REPLAY = "leader_replay_own_change"
"""The leader reads the record of an ISR change whose answer it has applied, and no record after it."""

REPLICATION = ("leader_append", "leader_note_fetch", "follower_take_response", "follower_truncate")

FETCHES = ("leader_note_fetch", "follower_take_response", "follower_truncate", "leader_ask_to_expand_isr")

ASKED = ("move", "reassign", "cancel", "set-min-isr")
"""An operator asks the cluster for these, through some broker."""

ENDING = (*dict.fromkeys(each.done for each in FAULTS if each.ends and each.done), "stop-and-take-out")
"""These end a broker; until it is down it must not get what was held back before."""

RECONNECTING = ("reconnect", "start", *ENDING)
"""After these a broker's heartbeats are no longer lost."""

SUBJECTS = ("broker", "elected", "follower", "leader")
"""The parameters that may name the broker that an operation is about, the first that an action has."""


@dataclass(frozen=True)
class Operation:
    """An operation, its broker (0: none), and its arguments: a leader, replicas, an offset, a value."""

    name: str
    broker: int
    argument: tuple[int, ...]


def find_operation(action: Action) -> str | None:
    """Return the name of the operation that causes a step; None if the cluster takes it by itself, or it cannot be done."""
    if action.name in NOT_YET:
        return None
    return DONE.get(action.name) or (BY_NAME[action.fault].done if action.fault is not None else None) or None


def is_possible(action: Action) -> bool:
    """Return True if a step can be brought about on a cluster, or the cluster takes it by itself."""
    return find_operation(action) is not None or action.name in BY_ITSELF


def find_operation_of_stage(step: Step, offsets: int) -> Operation:
    """Return the operation that a stage begins with; if none is done, its name is `replay`, `learn` (a broker reads the
    metadata log) or `go on`.  A power loss that leaves all `offsets` of a log is a kill."""
    by_itself = "replay" if step.action.name == REPLAY else "learn" if step.action.name in LEARNING else "go on"
    given, name = step.arguments, find_operation(step.action) or by_itself
    broker = next((given[each] for each in SUBJECTS if each in given), -1) + 1
    if name == "lag":
        return Operation(name, broker, (given["leader"] + 1,))
    if name == "reassign":
        return Operation(name, broker, tuple(each + 1 for each in members(given["target"])))
    if name == "crash-lossy" and given["kept"] == offsets:
        return Operation("crash", broker, ())
    return Operation(name, broker, tuple(given[each] for each in ("kept", "least") if each in given))
