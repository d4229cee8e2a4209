"""What the answer to a follower's fetch brings, in every log whose leader a majority has elected.

Source: KIP-595, Fetch; KafkaRaftClient.handleFetchResponse.
"""

from __future__ import annotations

from neverlost.model.kernel import Primitives, Value, larger, smaller
from neverlost.model.kraft.broker.log import copy_next, has_beyond, log_end
from neverlost.model.system import View


def brings_something(k: Primitives, s: View, follower: int, leader: int) -> Value:
    """Return True if a leader has an entry for a follower, or a higher high watermark for what it has."""
    mark = s.high_watermark[follower]
    behind = k.all_of(mark < log_end(k, s, follower), mark < s.high_watermark[leader])
    return k.any_of(has_beyond(k, s, leader, follower), behind)


def append_fetched(k: Primitives, s: View, follower: int, leader: int) -> None:
    """Effect: the follower appends the leader's next entry, if any, and its high watermark rises to the leader's, at most to
    the follower's log end."""
    copy_next(k, s, leader, follower)
    reached = smaller(k, s.high_watermark[leader], log_end(k, s, follower))
    s.high_watermark[follower] = larger(k, reached, s.high_watermark[follower])
