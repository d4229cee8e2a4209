"""Which message a step of a counterexample sends, by the step's label: who sends what to whom."""

from __future__ import annotations

import re
from dataclasses import dataclass

CONTROLLER, CLIENT = "controller", "client"
"""Ends of a message that are no broker."""

RECORD, FETCH, ASKED, ANSWER, METADATA = "record", "fetch", "AlterPartition", "answer", "metadata"
"""What travels: records (also in fetch responses), fetch requests, the leader's request to change the ISR, the controller's
answer to it, and partition records of the controller's log."""

MESSAGES: dict[str, tuple[str, str, str]] = {
    "become_leader": (METADATA, CONTROLLER, "replica"),
    "become_follower": (METADATA, CONTROLLER, "replica"),
    "leader_expand_isr": (ASKED, "leader", CONTROLLER),
    "leader_shrink_isr": (ASKED, "leader", CONTROLLER),
    "leader_write": (RECORD, CLIENT, "replica"),
    "follower_fetch": (RECORD, "leader", "follower"),
    "follower_truncate": (RECORD, "leader", "follower"),
    "follower_truncate_late": (RECORD, "leader", "follower"),
    "leader_append": (RECORD, CLIENT, "leader"),
    "leader_append_retry": (RECORD, CLIENT, "leader"),
    "leader_note_fetch": (FETCH, "follower", "leader"),
    "follower_take_response": (RECORD, "leader", "follower"),
    "follower_note_high_watermark": (RECORD, "leader", "follower"),
    "leader_ask_to_expand_isr": (ASKED, "leader", CONTROLLER),
    "leader_ask_to_shrink_isr": (ASKED, "leader", CONTROLLER),
    "controller_refuse_isr": (ANSWER, CONTROLLER, "leader"),
    "leader_learn_isr": (METADATA, CONTROLLER, "broker"),
    "leader_apply_answer": (ANSWER, CONTROLLER, "broker"),
    "leader_replay_own_change": (METADATA, CONTROLLER, "broker"),
    "broker_apply_leadership": (METADATA, CONTROLLER, "broker"),
    "broker_follow": (METADATA, CONTROLLER, "broker"),
    "broker_learn_config": (METADATA, CONTROLLER, "broker"),
    "broker_delete_replica": (METADATA, CONTROLLER, "broker"),
    "consumer_poll": (RECORD, "leader", CLIENT),
}
"""By action what travels, from where, to where; broker ends are named by the action's arguments."""

_LABEL = re.compile(r"(?P<action>\w+)(?:\((?P<arguments>.*)\))?")


@dataclass(frozen=True)
class Message:
    """One message: its kind, and at each end a broker's number, `controller` or `client`."""

    kind: str
    sender: int | str
    receiver: int | str


def message_of(label: str) -> Message | None:
    """Return the message of a step by its label, as `leader_note_fetch(leader=0, follower=1)`; None if the step sends none."""
    found = _LABEL.fullmatch(label)
    if found is None or found["action"] not in MESSAGES:
        return None
    kind, sender, receiver = MESSAGES[found["action"]]
    arguments = dict(each.split("=", 1) for each in (found["arguments"] or "").split(", ") if "=" in each)
    ends = [each if each in (CONTROLLER, CLIENT) else arguments.get(each, "") for each in (sender, receiver)]
    if not all(each in (CONTROLLER, CLIENT) or each.isdigit() for each in ends):
        return None
    first, last = (int(each) if each.isdigit() else each for each in ends)
    return Message(kind, first, last)


def broker_of(label: str) -> int | None:
    """Return the number of the broker at which a step without a message happens; None for the controller, or none named."""
    found = re.search(r"\((?:broker|replica|leader|candidate)=(\d+)", label)
    return None if found is None or label.startswith("controller_") else int(found[1])
