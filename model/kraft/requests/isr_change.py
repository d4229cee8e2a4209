"""How the ISR changes: the leader asks, the controller commits or refuses.

A request is the leader's pending change; it names the partition epoch and the replica's broker epoch of the moment it was
made.  Answers are not modelled as messages: what an answer says, the metadata says too (`leader_learn_isr`), and a
retry of a request that was applied is refused as stale without effect.  A copy of a request that was refused is no such retry:
nothing has outdated it (`controller_alter_isr_late`, only with `faults.request_copy`).

Source: Partition.scala (maybeExpandIsr, maybeShrinkIsr, handleAlterPartitionError),
ReplicationControlManager.validateAlterPartitionData.
"""

from __future__ import annotations

from neverlost.model.faults import ISR_SHRINK, REQUEST_COPY
from neverlost.model.kernel import NO_REPLICA, Clauses, Primitives, Value, action, different
from neverlost.model.kraft.broker.high_watermark import raise_high_watermark
from neverlost.model.kraft.broker.leader import (
    adopt_isr,
    drop_pending,
    is_answered,
    is_up_to_date_leader,
    leave_request_behind,
    logs_agree,
)
from neverlost.model.kraft.broker.log import log_end
from neverlost.model.kraft.controller.leader_election import Flags
from neverlost.model.kraft.controller.partition_change import Change, assignment_of, change_partition, outdate_leader, unfenced
from neverlost.model.kraft.state import BEHIND, ELECTED, UP_TO_DATE, everyone
from neverlost.model.limits import fault_enabled, record_fault
from neverlost.model.system import View


def proposed_isr(k: Primitives, s: View, leader: int, replica: int) -> Flags:
    """Return the ISR that the leader knows with `replica` added or, if it is a member, removed."""
    return [k.not_(s.leader_isr[leader][each]) if each == replica else s.leader_isr[leader][each] for each in everyone(s)]


def is_kept_out(k: Primitives, s: View, replica: int) -> Value:
    """Return True if a replica must not join the ISR: since 3.3 a fenced one, which could not lead (KIP-841, KAFKA-13916)."""
    return k.all_of(s.fenced_replicas_kept_out, s.is_fenced[replica])


def ask(k: Primitives, s: View, leader: int, replica: int) -> Clauses:
    """Effect (no clauses): adding or removing `replica` is pending as AlterPartition; before KIP-497 the leader writes the ISR
    itself, at once."""
    if s.sizes.asks_controller:
        s.pending[leader] = replica
        return
    active = [each == leader for each in everyone(s)]
    change = Change(proposed_isr(k, s, leader, replica), active, assignment_of(s), by_leader=True)
    yield from change_partition(k, s, change, None)
    outdate_leader(k, s, True)
    adopt_isr(k, s, leader)


@action(leader="replica", follower="replica", where=different, says="{leader} finds {follower} caught up", can_be_left_out=True)
def leader_ask_to_expand_isr(k: Primitives, s: View, leader: int, follower: int) -> Clauses:
    """`maybeExpandIsr`: a fetch of a replica outside the ISR makes the leader ask, when the replica has caught up.

    It must have reached the high watermark (under `fenced-longest-log` the leader's log end) and, since KAFKA-7128, the offset
    at which this leader epoch began: until then the leader does not know the high watermark of the leader before, and would
    admit a replica without committed records.
    """
    yield "follower is in the leader's epoch", is_answered(k, s, follower, leader)
    yield "leader is up to date", is_up_to_date_leader(k, s, leader)
    yield "no request in flight", s.pending[leader] == NO_REPLICA
    yield "outside the ISR", k.not_(s.leader_isr[leader][follower])
    if s.sizes.reassignment:
        yield "a replica", s.is_replica[follower]
    yield "logs agree", k.any_of(k.not_(s.diverging_fetch_ignored), logs_agree(k, s, follower, leader))
    end = log_end(k, s, follower)
    yield "reached the high watermark", end >= s.high_watermark[leader]
    reached = k.any_of(k.not_(s.leader_epoch_start), end >= s.leader_epoch_start_offset)
    yield "reached the leader epoch's start", reached
    if s.sizes.asks_for_logs:
        yield "reached the leader's log end", end >= log_end(k, s, leader)
    yield "follower is not fenced", k.not_(is_kept_out(k, s, follower))
    s.fetch_offset[leader][follower] = end
    yield from ask(k, s, leader, follower)
    if s.sizes.fetches_unregistered:
        s.request_names_no_epoch = k.not_(s.is_running[follower])


@action(leader="replica", follower="replica", where=different, says="{leader} finds {follower} too slow", fault="isr_shrink")
def leader_ask_to_shrink_isr(k: Primitives, s: View, leader: int, follower: int) -> Clauses:
    """`maybeShrinkIsr`: the leader asks to remove a running follower that has not caught up for replica.lag.time.max.ms.

    The leader waits for it until the controller has confirmed the removal: the controller may elect it until then.
    A leader that stopped waiting at once could acknowledge a record without a replica that is elected next (KIP-497).
    """
    yield from fault_enabled(k, s, ISR_SHRINK, follower)
    yield "leader is up to date", is_up_to_date_leader(k, s, leader)
    yield "no request in flight", s.pending[leader] == NO_REPLICA
    yield "in the ISR", s.leader_isr[leader][follower]
    yield "follower is running", s.is_running[follower]
    yield from ask(k, s, leader, follower)
    record_fault(s, ISR_SHRINK, follower)


@action(
    leader="replica",
    replica="replica",
    outcome="isr_change_outcome",
    where=lambda leader, replica, outcome: leader != replica,
    says="controller commits the AlterPartition of {leader}",
)
def controller_alter_isr(k: Primitives, s: View, leader: int, replica: int, outcome: int) -> Clauses:
    """`alterPartition` commits the ISR that a leader asks for; it stays leader, unless that ends a reassignment without it.

    A request with an old partition epoch is refused: the controller has changed the ISR since, perhaps by fencing the very
    replica that is asked for.  A replica that has restarted since the leader saw its fetch may have lost records, so the
    request names its broker epoch too (KIP-903).
    """
    yield "requested", s.pending[leader] == replica
    yield "current leader", k.all_of(s.leader == leader, s.leader_knows != ELECTED)
    is_current = s.leader_knows == UP_TO_DATE
    yield "current partition epoch", k.any_of(is_current, k.not_(s.partition_epoch_check))
    leaves = s.leader_isr[leader][replica]
    yield "replica is not fenced", k.any_of(leaves, k.not_(is_kept_out(k, s, replica)))
    yield "replica's broker epoch is current", k.any_of(leaves, k.not_(s.request_outdated))
    active = unfenced(k, s) if s.sizes.reassignment else [each == leader for each in everyone(s)]
    waits_for_record = s.record_to_come
    yield from change_partition(k, s, Change(proposed_isr(k, s, leader, replica), active, assignment_of(s)), outcome)
    if s.sizes.reassignment:
        s.late_record[leader] = k.all_of(waits_for_record, s.leader_knows == ELECTED)
        s.assignment_to_come = False
    else:
        outdate_leader(k, s, True)
    s.request_outdated = False


@action(
    leader="replica",
    replica="replica",
    where=different,
    says="controller refuses the AlterPartition of {leader}, because {replica} is not eligible",
)
def controller_refuse_isr(k: Primitives, s: View, leader: int, replica: int) -> Clauses:
    """The controller refuses with INELIGIBLE_REPLICA: only by that the leader gives up its pending change for the ISR it knows.

    The replica is fenced or shutting down (KIP-841), or has restarted since the leader saw its fetch (KIP-903); any other
    refusal may be of a retry whose first copy was applied, and the leader goes on waiting for the pending ISR.
    """
    yield "requested", s.pending[leader] == replica
    yield "current leader epoch", s.leader == leader
    yield "current partition epoch", s.leader_knows == UP_TO_DATE
    yield "an expansion", k.not_(s.isr[replica])
    yield "not eligible", k.any_of(is_kept_out(k, s, replica), s.request_outdated)
    s.pending[leader] = NO_REPLICA
    s.fetch_offset[leader][replica] = 0
    leave_request_behind(k, s, replica)
    s.request_outdated = False
    raise_high_watermark(k, s, leader)


@action(
    leader="sending_twice",
    replica="replica",
    outcome="isr_change_outcome",
    where=lambda leader, replica, outcome: leader != replica,
    says="controller commits an AlterPartition of {leader} that comes late, when {leader} has forgotten it",
    fault="request_copy",
)
def controller_alter_isr_late(k: Primitives, s: View, leader: int, replica: int, outcome: int) -> Clauses:
    """A leader sends its request again when the connection breaks; the first copy may be handled after the second.

    A refusal does not change the partition epoch, so the first copy stays valid.  It is committed when the replica is eligible
    again.  By then the leader has gone back to the ISR without that replica, and may commit records that it does not have.

    Source: NodeToControllerChannelManager (retries), ReplicationControlManager.validateAlterPartitionData,
    Partition.handleAlterPartitionError (INELIGIBLE_REPLICA).
    """
    yield from fault_enabled(k, s, REQUEST_COPY)
    yield "refused before", k.all_of(s.leader == leader, s.forgotten == replica)
    yield "no other change since", s.leader_knows == UP_TO_DATE
    yield "replica is not fenced", k.not_(s.is_fenced[replica])
    yield "bound: outside the ISR", k.not_(s.isr[replica])
    active = unfenced(k, s) if s.sizes.reassignment else [each == leader for each in everyone(s)]
    yield from change_partition(k, s, Change(proposed_isr(k, s, leader, replica), active, assignment_of(s)), outcome)
    if not s.sizes.reassignment:
        outdate_leader(k, s, True)
    record_fault(s, REQUEST_COPY)


@action(leader="replica", says="{leader} drops its pending ISR, because its AlterPartition was refused as stale")
def leader_drop_pending_isr(k: Primitives, s: View, leader: int) -> Clauses:
    """Where the pending ISR is not kept, a leader drops it once the retry of a request that was applied comes back refused.

    The controller may have applied the first copy, so the high watermark must still wait for the pending ISR
    (`handleAlterPartitionError`: INVALID_UPDATE_VERSION and the like keep it).
    """
    yield "pending ISR is not kept", k.not_(s.pending_isr_kept)
    yield "request is stale", k.all_of(s.leader == leader, s.leader_knows == BEHIND)
    yield "request in flight", s.pending[leader] != NO_REPLICA
    drop_pending(k, s, leader)


ISR_CHANGE_ACTIONS = (
    leader_ask_to_expand_isr,
    leader_ask_to_shrink_isr,
    controller_alter_isr,
    controller_refuse_isr,
    controller_alter_isr_late,
    leader_drop_pending_isr,
)
