"""Nodes that are controllers too are stopped: what the quorum of controllers stands then.

A controller that stops loses nothing, and an election takes more than half of the voters.  What is committed is on more than
half of them: it takes the directories of all these to lose it, or one where an empty directory votes (before KIP-853).

Source: decision 095 (`kraft-quorum` and `kraft-composed`); KIP-595, KIP-853.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from neverlost.checker.questions.roll.broker_stop import FirstAct
from neverlost.specs.inputs.formats.kafka_metadata_quorum import ControllerQuorum

QUORUM, NO_LEADER = "the controller quorum", "no controller leads"
"""How the controllers are named among partitions, and what is said of them where a stop leaves no majority."""


@dataclass(frozen=True)
class ControllerStop:
    """What a stop leaves: whether a majority of voters (None: not known), for which voters to wait before it, how many more
    controllers must fail until none leads, and how many must lose their directory until committed metadata may be lost."""

    is_majority_left: bool | None
    wait_for: tuple[int, ...]
    until_none_leads: int
    until_loss: int


def stop_controllers(quorum: ControllerQuorum, nodes: Collection[int]) -> ControllerStop:
    """Return what the stop of these nodes does to the quorum; one that has no vote takes nothing from it."""
    stopped = frozenset(nodes)
    majority = len(quorum.voters) // 2 + 1
    following = quorum.voters if quorum.following is None else quorum.following
    left = len(following - stopped) - majority
    is_left = None if quorum.following is None and quorum.leader is not None else left >= 0 and quorum.leader is not None
    if quorum.following is None and left < 0:
        is_left = False  # too few are left even if all follow
    waits = quorum.voters - following - stopped if len(quorum.voters - stopped) >= majority else frozenset[int]()
    return ControllerStop(is_left, tuple(sorted(waits)), max(0, left + 1), majority if quorum.has_directories else 1)


def describe_remedy(quorum: ControllerQuorum, stop: ControllerStop) -> FirstAct:
    """Return what to do before a stop that leaves no majority of the quorum, or where it is not known if it does."""
    if stop.is_majority_left is None:
        return FirstAct("which controllers follow is not shown: give what describe --replication prints")
    if stop.wait_for:
        names = tuple(map(str, stop.wait_for))
        return FirstAct(
            f"wait until {', '.join(names)} {'follow' if len(names) > 1 else 'follows'} as controller", "controllers", names
        )
    if quorum.leader is None:
        return FirstAct("wait until a controller leads", "controllers")
    many = len(quorum.voters)
    return FirstAct(f"{many} controller{'s' * (many > 1)} vote, and no majority of them would be left: add voters first")
