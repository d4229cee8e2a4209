"""A node that is a controller too is stopped: what the quorum of controllers stands then.

A controller that stops loses nothing, and an election takes more than half of the voters.  What is committed is on more than
half of them: it takes the directories of all these to lose it, or one where an empty directory votes (before KIP-853).

Source: decision 095 (`kraft-quorum` and `kraft-composed`); KIP-595, KIP-853.
"""

from __future__ import annotations

from dataclasses import dataclass

from neverlost.specs.inputs.formats.kafka_metadata_quorum import ControllerQuorum


@dataclass(frozen=True)
class ControllerStop:
    """What a stop leaves: whether a majority of voters (None: not known), for which voters to wait before it, how many more
    controllers must fail until none leads, and how many must lose their directory until committed metadata may be lost."""

    is_majority_left: bool | None
    wait_for: tuple[int, ...]
    until_none_leads: int
    until_loss: int


def stop_controller(quorum: ControllerQuorum, node: int) -> ControllerStop:
    """Return what the stop of a node does to the quorum; one that has no vote takes nothing from it."""
    majority = len(quorum.voters) // 2 + 1
    following = quorum.voters if quorum.following is None else quorum.following
    left = len(following - {node}) - majority
    is_left = None if quorum.following is None and quorum.leader is not None else left >= 0 and quorum.leader is not None
    if quorum.following is None and left < 0:
        is_left = False  # too few are left even if all follow
    waits = quorum.voters - following - {node} if len(quorum.voters - {node}) >= majority else frozenset[int]()
    return ControllerStop(is_left, tuple(sorted(waits)), max(0, left + 1), majority if quorum.has_directories else 1)
