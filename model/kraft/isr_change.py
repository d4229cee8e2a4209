"""How the ISR changes: the leader asks, the controller commits or refuses.

A request is the leader's pending change; it names the partition epoch and the replica's broker epoch of the moment it was
made.  Answers are not modelled as messages: what an answer tells, the metadata tells too (`leader_learn_isr`), and a
retry of a request that was applied is refused as stale without effect.

Source: Partition.scala (maybeExpandIsr, maybeShrinkIsr, handleAlterPartitionError),
ReplicationControlManager.validateAlterPartitionData.
"""

from __future__ import annotations

from typing import Any

from neverlost.model.kernel import NOBODY, Clauses, Value, action, different
from neverlost.model.kraft.leader import adopt_isr, is_answered, is_newest_leader, logs_agree, raise_high_watermark
from neverlost.model.kraft.log import log_end
from neverlost.model.kraft.partition_change import change_partition
from neverlost.model.kraft.state import BEHIND, ELECTED, UP_TO_DATE, everyone


def proposed_isr(k: Any, s: Any, leader: int, replica: int) -> list[Value]:
    """The leader's ISR with one member changed."""
    return [k.not_(s.leader_isr[leader][each]) if each == replica else s.leader_isr[leader][each] for each in everyone(s)]


def commit_isr(k: Any, s: Any, leader: int, isr: list[Value]) -> Clauses:
    """The leader stays, and is behind the controller until it learns the result."""
    active = [each == leader for each in everyone(s)]
    by_leader = not s.sizes["asks_controller"]
    yield from change_partition(k, s, isr, active, elected=leader, nobody=leader, by_leader=by_leader)
    s.leader_knows = k.ite(s.leader_knows == ELECTED, ELECTED, BEHIND)


def ask(k: Any, s: Any, leader: int, replica: int) -> Clauses:
    """Send the request; before KIP-497 the leader wrote the ISR itself, if the partition had not changed since."""
    if s.sizes["asks_controller"]:
        s.pending[leader] = replica
    else:
        yield from commit_isr(k, s, leader, proposed_isr(k, s, leader, replica))
        adopt_isr(k, s, leader)


@action(leader="replica", follower="replica", where=different, says="{leader} finds {follower} caught up")
def leader_ask_to_expand_isr(k: Any, s: Any, leader: int, follower: int) -> Clauses:
    """A fetch of a replica outside the ISR makes the leader ask, when the replica has caught up."""
    yield "follower is in the leader's epoch", is_answered(k, s, follower, leader)
    yield "newest leader", is_newest_leader(k, s, leader)
    yield "no request in flight", s.pending[leader] == NOBODY
    yield "outside the ISR", k.not_(s.leader_isr[leader][follower])
    if s.sizes["reassignment"]:
        yield "a replica", s.is_replica[follower]
    yield "logs agree", k.any_of(k.not_(s.diverging_fetch_ignored), logs_agree(k, s, follower, leader))
    end = log_end(k, s, follower)
    yield "reached the high watermark", end >= s.high_watermark[leader]
    reached = k.any_of(k.not_(s.leader_epoch_start_rule), end >= s.leader_epoch_start)
    yield "reached the leader epoch's start", reached
    out = k.all_of(s.fenced_replicas_kept_out, s.is_fenced[follower])
    yield "follower is not fenced", k.not_(out)
    s.fetch_offset[leader][follower] = end
    yield from ask(k, s, leader, follower)


@action(
    leader="replica",
    follower="replica",
    where=different,
    says="{leader} finds {follower} too slow",
    fault="isr_shrink",
)
def leader_ask_to_shrink_isr(k: Any, s: Any, leader: int, follower: int) -> Clauses:
    yield "bound: a shrink is left", s.isr_shrink_left > 0
    yield "newest leader", is_newest_leader(k, s, leader)
    yield "no request in flight", s.pending[leader] == NOBODY
    yield "in the ISR", s.leader_isr[leader][follower]
    yield "follower is running", s.is_running[follower]
    yield from ask(k, s, leader, follower)
    s.isr_shrink_left = s.isr_shrink_left - 1


@action(
    leader="replica",
    replica="replica",
    elected="choice",
    where=lambda leader, replica, elected: leader != replica,
    says="controller commits the AlterPartition of {leader}",
)
def controller_alter_isr(k: Any, s: Any, leader: int, replica: int, elected: int) -> Clauses:
    """`elected` matters only where the change completes a reassignment that removes the leader."""
    yield "asked for", s.pending[leader] == replica
    yield "current leader", k.all_of(s.leader == leader, s.leader_knows != ELECTED)
    is_current = s.leader_knows == UP_TO_DATE
    yield "current partition epoch", k.any_of(is_current, k.not_(s.partition_epoch_check))
    leaves = s.leader_isr[leader][replica]
    out = k.all_of(s.fenced_replicas_kept_out, s.is_fenced[replica])
    yield "replica is not fenced", k.any_of(leaves, k.not_(out))
    yield "replica's broker epoch is current", k.any_of(leaves, k.not_(s.request_outdated))
    isr = proposed_isr(k, s, leader, replica)
    if s.sizes["reassignment"]:
        active = [k.not_(s.is_fenced[each]) for each in everyone(s)]
        yield from change_partition(k, s, isr, active, elected, nobody=0)
    else:
        yield from commit_isr(k, s, leader, isr)
    s.request_outdated = False


@action(
    leader="replica",
    replica="replica",
    where=different,
    says="controller refuses the AlterPartition of {leader}, because {replica} is not eligible",
)
def controller_refuse_isr(k: Any, s: Any, leader: int, replica: int) -> Clauses:
    """INELIGIBLE_REPLICA is the one refusal after which the leader goes back to the ISR that it knows."""
    yield "asked for", s.pending[leader] == replica
    yield "current leader epoch", s.leader == leader
    yield "current partition epoch", s.leader_knows == UP_TO_DATE
    yield "an expansion", k.not_(s.isr[replica])
    out = k.all_of(s.fenced_replicas_kept_out, s.is_fenced[replica])
    yield "not eligible", k.any_of(out, s.request_outdated)
    s.pending[leader] = NOBODY
    s.fetch_offset[leader][replica] = 0
    s.request_outdated = False
    raise_high_watermark(k, s, leader)


@action(leader="replica", says="{leader} drops its pending ISR, because its AlterPartition was refused as stale")
def leader_drop_pending_isr(k: Any, s: Any, leader: int) -> Clauses:
    """Only where the pending ISR is not kept: a retry of a request that was applied comes back refused."""
    yield "pending ISR is not kept", k.not_(s.pending_isr_kept)
    yield "request is stale", k.all_of(s.leader == leader, s.leader_knows == BEHIND)
    yield "request in flight", s.pending[leader] != NOBODY
    for each in everyone(s):
        dropped = k.all_of(s.pending[leader] == each, k.not_(s.leader_isr[leader][each]))
        s.fetch_offset[leader][each] = k.ite(dropped, 0, s.fetch_offset[leader][each])
    s.pending[leader] = NOBODY
    raise_high_watermark(k, s, leader)
