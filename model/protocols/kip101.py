"""KIP-101: a new follower asks the leader once where its latest epoch ends, and truncates there.

Source: Kip101.tla; Kafka 0.11 to 1.1.
"""

from __future__ import annotations

from neverlost.model.classic.log import latest_epoch
from neverlost.model.classic.protocol import request_to_follow, truncate_and_follow
from neverlost.model.kernel import Clauses, Primitives, Value, action
from neverlost.model.protocols.truncate_to_hw import MODEL as TRUNCATE_TO_HW
from neverlost.model.system import View


def lookup_offset_for_epoch(k: Primitives, s: View, leader: int, follower: int, epoch: Value) -> Value:
    """Return where an epoch ends on the leader: at its log's end if that is its latest epoch, else at its first record of a
    newer one or, if it has none, at the follower's high watermark."""
    log_end, undefined = s.log_end_offset[leader], s.high_watermark[follower]
    answer = undefined
    for offset in range(s.sizes.offset - 1, -1, -1):
        larger_epoch = k.all_of(log_end > offset, s.log_epoch[leader][offset] > epoch)
        answer = k.ite(larger_epoch, offset, answer)
    answer = k.ite(latest_epoch(k, s, leader) == epoch, log_end, answer)
    return k.ite(log_end == 0, undefined, answer)


@action(
    replica="replica",
    leader="replica",
    epoch="epoch",
    where=lambda replica, leader, epoch: replica != leader,
    says="broker {replica} applies LeaderAndIsr of epoch {epoch} and follows {leader} from where its last epoch ends there",
)
def become_follower(k: Primitives, s: View, replica: int, leader: int, epoch: int) -> Clauses:
    """The follower asks where the leader's log ends for the epoch of its own last record (OffsetsForLeaderEpoch), and truncates
    there.

    It no longer drops what is only above its own lagging high watermark (KAFKA-1211).  The question is asked once: where the
    leader has neither that epoch nor a newer one the follower falls back to its high watermark, and where epochs are skipped
    by fast elections the answer leaves divergent records in place (KAFKA-6361, mended by KIP-279).

    Source: Kip101.tla, BecomeFollowerTruncateKip101; ReplicaFetcherThread.maybeTruncate.
    """
    log_end = s.log_end_offset[replica]
    answer = lookup_offset_for_epoch(k, s, leader, replica, latest_epoch(k, s, replica))
    end = k.ite(log_end == 0, 0, answer)
    yield from request_to_follow(k, s, replica, leader, epoch)
    yield "truncation point in the log", end <= log_end
    truncate_and_follow(k, s, replica, leader, epoch, end)


MODEL = TRUNCATE_TO_HW.differing(
    "kip-101",
    "followers truncate to where their latest epoch ends on the leader (Kafka 0.11 to 1.1)",
    replacing={"become_follower": become_follower},
    source="Kip101.tla",
)
