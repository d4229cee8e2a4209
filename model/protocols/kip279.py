"""KIP-279: a new follower goes back from the end of its log to the first entry that the leader has too.

Source: Kip279.tla; Kafka 2.0.
"""

from __future__ import annotations

from neverlost.model.classic.log import same_entry
from neverlost.model.classic.protocol import request_to_follow, truncate_and_follow
from neverlost.model.kernel import Clauses, Primitives, Value, action
from neverlost.model.protocols.kip101 import MODEL as KIP_101
from neverlost.model.system import View


def first_non_matching_offset(k: Primitives, s: View, leader: int, follower: int) -> Value:
    """Return one more than the last offset at which both logs have the same entry; 0 if there is none."""
    end: Value = 0
    for offset in range(s.sizes.offset):
        end = k.ite(same_entry(k, s, leader, follower, offset), offset + 1, end)
    return end


@action(
    replica="replica",
    leader="replica",
    epoch="epoch",
    where=lambda replica, leader, epoch: replica != leader,
    says="broker {replica} applies LeaderAndIsr of epoch {epoch} and follows {leader} from their last common entry on",
)
def become_follower(k: Primitives, s: View, replica: int, leader: int, epoch: int) -> Clauses:
    """The follower truncates to the last entry that both logs share, found by asking for one epoch after the other.

    So logs do not diverge after several fast elections (KAFKA-6361).  But the leader that answers may itself be in an older
    epoch and truncate later, so the point found may be wrong; KIP-320 asks for equal epochs.

    Source: Kip279.tla, BecomeFollowerTruncateKip279.
    """
    yield from request_to_follow(k, s, replica, leader, epoch)
    truncate_and_follow(k, s, replica, leader, epoch, first_non_matching_offset(k, s, leader, replica))


MODEL = KIP_101.differing(
    "kip-279",
    "followers truncate to the last entry that they share with the leader (Kafka 2.0)",
    replacing={"become_follower": become_follower},
    source="Kip279.tla",
)
