"""What a follower does with a fetch response: append, learn the high watermark, truncate.

A fetch is two steps, because its request and its response do different things at different times: the leader notes the
fetch offset (`leader_note_fetch`, `leader_ask_to_expand_isr`), and the follower takes records together with the high
watermark that the leader had.  So a follower learns a high watermark one fetch after it helped to raise it.

Source: Partition.fetchRecords (the response is read before the follower's state is updated), ReplicaFetcherThread.
"""

from __future__ import annotations

from typing import Any

from model.kernel import Clauses, action, different, implies, larger, smaller
from model.modern_leader import is_waited_for
from model.modern_log import copy_next, has_beyond, is_prefix, log_end, truncate_to_common


@action(follower="replica", leader="replica", where=different, says="broker {follower} takes a fetch response of {leader}")
def follower_take_response(k: Any, s: Any, follower: int, leader: int) -> Clauses:
    yield "in the leader's epoch", s.follows[follower] == leader
    end = log_end(k, s, follower)
    known = larger(k, end, s.high_watermark[leader])
    asked = implies(k, is_waited_for(k, s, leader, follower), s.fetch_offset[leader][follower] == known)
    yield "the request was handled", asked
    behind = k.all_of(s.high_watermark[follower] < end, s.high_watermark[follower] < s.high_watermark[leader])
    yield "brings something", k.any_of(has_beyond(k, s, leader, follower), behind)
    yield "logs agree", is_prefix(k, s, follower, leader)
    copy_next(k, s, leader, follower)
    reached = smaller(k, s.high_watermark[leader], log_end(k, s, follower))
    s.high_watermark[follower] = larger(k, reached, s.high_watermark[follower])


@action(follower="replica", leader="replica", where=different, says="broker {follower} truncates to what {leader} shares")
def follower_truncate(k: Any, s: Any, follower: int, leader: int) -> Clauses:
    """The response says that the logs diverge; it brings no records and tells the leader nothing."""
    yield "in the leader's epoch", s.follows[follower] == leader
    yield "logs diverge", k.not_(is_prefix(k, s, follower, leader))
    truncate_to_common(k, s, follower, leader)
    s.high_watermark[follower] = smaller(k, s.high_watermark[follower], log_end(k, s, follower))
