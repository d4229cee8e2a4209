"""The classic protocol base: an atomic controller, followers that read their leader's state directly.

Action for action the abstraction of the public TLA+ module `KafkaReplication`, so that counts of distinct
states equal TLC's.  `leaderAndIsrRequests` holds at most one request per epoch (every request takes a new
epoch), so it is a pair of arrays by epoch; the epoch of the quorum state is the newest request's.

Source: hachikuji/kafka-specification, KafkaReplication.tla and FiniteReplicatedLog.tla.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from neverlost.model.classic.log import append, copy_next, log_fields, truncate
from neverlost.model.kernel import (
    NO_REPLICA,
    Clauses,
    Configuration,
    Field,
    Model,
    Primitives,
    Sizes,
    Unbounded,
    Value,
    action,
    different,
    fill,
    flag,
    for_every,
    number,
    put,
    replica_id,
    row,
    smaller,
)
from neverlost.model.snapshot import (
    FOLLOWER,
    LEADER,
    STALE_LEADER,
    WAITING,
    BrokerView,
    ClusterSnapshot,
    log_of,
    members,
    named,
)
from neverlost.model.system import View

KEYS = ("replication.factor", "bounds.records", "bounds.log_size", "bounds.max_leader_epoch")


@dataclass(frozen=True)
class ClassicSizes(Sizes):
    """Lengths of the axes: replicas, log offsets, leader epochs, records."""

    replica: int
    offset: int
    epoch: int
    record: int


def sizes(configuration: Configuration) -> ClassicSizes:
    """Return the sizes that a configuration needs."""
    return ClassicSizes(
        replica=configuration["replication.factor"],
        offset=configuration["bounds.log_size"],
        epoch=configuration["bounds.max_leader_epoch"] + 1,
        record=configuration["bounds.records"],
    )


def fields(configuration: Configuration) -> tuple[Field, ...]:
    """Return the fields: the variables of the TLA+ module."""
    replicas, records = configuration["replication.factor"], configuration["bounds.records"]
    log_size, max_epoch = configuration["bounds.log_size"], configuration["bounds.max_leader_epoch"]
    return (
        *log_fields(log_size, records, max_epoch),
        number("high_watermark", 0, log_size, "replica"),
        number("leader_epoch", -1, max_epoch, "replica"),
        replica_id("leader", replicas, "replica"),
        flag("isr", "replica", "replica"),
        number("next_record", 0, records),
        number("next_leader_epoch", 0, max_epoch + 1),
        replica_id("request_leader", replicas, "epoch"),
        flag("request_isr", "epoch", "replica"),
        replica_id("quorum_leader", replicas),
        flag("quorum_isr", "replica"),
    )


def initial(configuration: Configuration) -> list[dict[str, Any]]:
    """Return the one initial state: no leader, every replica in the quorum's ISR, no request sent yet."""
    return [{"quorum_isr": [1] * configuration["replication.factor"], "leader_epoch": -1}]


def replicas(s: View) -> range:
    """Return the numbers of all replicas, from 0."""
    return range(s.sizes.replica)


def presumes_leadership(s: View, replica: int) -> Value:
    """Return True if a broker believes itself to be the leader, rightly or not."""
    return s.leader[replica] == replica


def is_following(s: View, follower: int, leader: int) -> Value:
    """Return True if broker `follower` believes `leader` to be the leader."""
    return s.leader[follower] == leader


def has_offset(s: View, replica: int, offset: Value) -> Value:
    """Return True if the replica's log has a record at an offset."""
    return offset < s.log_end_offset[replica]


def is_caught_up_to(k: Primitives, s: View, leader: int, follower: int, end_offset: Value) -> Value:
    """Return True if a follower follows the leader and both logs are at least `end_offset` long; contents are not compared."""
    return k.all_of(
        is_following(s, follower, leader),
        k.any_of(
            end_offset == 0,
            k.all_of(s.log_end_offset[leader] >= end_offset, s.log_end_offset[follower] >= end_offset),
        ),
    )


def true_leader(k: Primitives, s: View, leader: int) -> Clauses:
    """Clauses: a broker leads by the quorum's state and by its own, and is in the newest leader epoch."""
    yield "quorum names the leader", s.quorum_leader == leader
    yield "presumes leadership", presumes_leadership(s, leader)
    yield "has the quorum's epoch", s.leader_epoch[leader] == s.next_leader_epoch - 1


def set_isr_member(s: View, leader: int, replica: int, member: bool) -> None:
    """Effect: put a replica into the leader's ISR, or take it out if `member` is False; the quorum's ISR becomes that ISR."""
    s.isr[leader][replica] = member
    fill(s.quorum_isr, s.isr[leader])


def send_leader_and_isr(k: Primitives, s: View, leader: Value, isr: Any) -> None:
    """Effect: begin a new leader epoch, whose LeaderAndIsr request has this leader and ISR; they become the quorum's too."""
    epoch = s.next_leader_epoch
    put(k, s.request_leader, epoch, leader)
    put(k, s.request_isr, epoch, isr)
    s.quorum_leader = leader
    fill(s.quorum_isr, isr)
    s.next_leader_epoch = epoch + 1


def epoch_left(s: View) -> Value:
    """Return True if the bound allows another leader epoch."""
    return s.next_leader_epoch < s.sizes.epoch


def follow(k: Primitives, s: View, replica: int, leader: int, epoch: int) -> None:
    """Effect: the replica takes `leader`, `epoch` and the ISR of that epoch's LeaderAndIsr request for its own."""
    s.leader_epoch[replica] = epoch
    s.leader[replica] = leader
    fill(s.isr[replica], s.request_isr[epoch])


def request_to_follow(k: Primitives, s: View, replica: int, leader: int, epoch: int) -> Clauses:
    """Clauses: the request of `epoch` was sent and names this leader, and the epoch is newer than the replica's."""
    yield "request was sent", s.next_leader_epoch > epoch
    yield "request names the leader", s.request_leader[epoch] == leader
    yield "request is newer", s.leader_epoch[replica] < epoch


def truncate_and_follow(k: Primitives, s: View, replica: int, leader: int, epoch: int, end: Value) -> None:
    """Effect: truncate to `end`, lower a high watermark that is beyond it, and adopt leader, epoch and ISR of the request."""
    watermark = smaller(k, end, s.high_watermark[replica])
    truncate(k, s, replica, end)
    s.high_watermark[replica] = watermark
    follow(k, s, replica, leader, epoch)


def replicate(k: Primitives, s: View, follower: int, leader: int) -> None:
    """Effect: the follower appends the leader's next record and takes the leader's high watermark, at most its own log end."""
    copy_next(k, s, leader, follower)
    s.high_watermark[follower] = smaller(k, s.high_watermark[leader], s.log_end_offset[follower])


@action(replica="replica", says="controller finds broker {replica} unavailable")
def controller_shrink_isr(k: Primitives, s: View, replica: int) -> Clauses:
    """The controller takes a broker out of the ISR when its ZooKeeper session ends, whether by failure or controlled shutdown.

    If it led, the partition has no leader until `controller_elect_leader`; and if it led as the last member of the ISR it stays
    in it, since it alone is known to have every committed record, and without unclean election only it may lead again.  A last
    member that does not lead is removed.  The broker may run on, fetching or leading: only fencing protects from that.

    Source: KafkaReplication.tla, ControllerShrinkIsr; ReplicaStateMachine, PartitionStateMachine (KafkaController).
    """
    leads = s.quorum_leader == replica
    is_last = for_every(k, s, "replica", lambda each: k.ite(each == replica, s.quorum_isr[each], k.not_(s.quorum_isr[each])))
    yield "in the ISR or leading", k.any_of(leads, s.quorum_isr[replica])
    yield "bound: epoch left", epoch_left(s)
    stays = k.all_of(leads, is_last)
    isr = row(k, s, "replica", lambda each: k.ite(each == replica, stays, s.quorum_isr[each]))
    send_leader_and_isr(k, s, k.ite(leads, NO_REPLICA, s.quorum_leader), isr)


@action(replica="replica", says="controller holds an election")
def controller_elect_leader(k: Primitives, s: View, replica: int) -> Clauses:
    """The controller elects a member of the ISR that does not lead yet, after a failure or to move leadership.

    Only the ISR is asked: its members have what the high watermark of the leader before covered.  Each election takes a new
    leader epoch, by which brokers know which request is newer.

    Source: KafkaReplication.tla, ControllerElectLeader.
    """
    yield "in the ISR", s.quorum_isr[replica]
    yield "not the leader already", s.quorum_leader != replica
    yield "bound: epoch left", epoch_left(s)
    send_leader_and_isr(k, s, replica, row(k, s, "replica", lambda each: s.quorum_isr[each]))


@action(replica="replica", epoch="epoch", says="broker {replica} applies LeaderAndIsr of epoch {epoch} and becomes leader")
def become_leader(k: Primitives, s: View, replica: int, epoch: int) -> Clauses:
    """A broker applies a LeaderAndIsr request that names it, unless it knows a newer epoch already (`Partition.makeLeader`).

    It keeps its own high watermark, which is usually behind the one that the leader before had shown, since followers learn it
    a fetch later.  That lag is why a follower must not truncate to its high watermark (KIP-101), and why the ISR must not grow
    before the new epoch's records are committed (KAFKA-7128).

    Source: KafkaReplication.tla, BecomeLeader.
    """
    yield from request_to_follow(k, s, replica, replica, epoch)
    follow(k, s, replica, replica, epoch)


@action(replica="replica", says="broker {replica} receives the producer's next record")
def leader_write(k: Primitives, s: View, replica: int) -> Clauses:
    """Any broker that believes it is leader accepts a record and stamps it with its leader epoch; a stale leader does, too.

    That is no harm in itself: the record is committed only if the ISR has it, and only a true leader may change the ISR.

    Source: KafkaReplication.tla, LeaderWrite.
    """
    yield "presumes leadership", presumes_leadership(s, replica)
    yield "bound: record left", s.next_record < s.sizes.record
    yield "bound: room in the log", s.log_end_offset[replica] < s.sizes.offset
    s.next_record = s.next_record + 1
    append(k, s, replica, s.next_record, s.leader_epoch[replica])


@action(leader="replica", replica="replica", where=different, says="{leader} finds {replica} too slow")
def leader_shrink_isr(k: Primitives, s: View, leader: int, replica: int) -> Clauses:
    """A true leader takes a lagging follower out of the ISR, so that its high watermark need not wait (`maybeShrinkIsr`).

    ISR changes are a conditional write to ZooKeeper: a leader that was replaced fails with an old version, and so cannot commit
    alone.  Here that is the clauses of `true_leader`, at once and without a race.

    Source: KafkaReplication.tla, LeaderShrinkIsr.
    """
    yield from true_leader(k, s, leader)
    yield "in the leader's ISR", s.isr[leader][replica]
    yield "not caught up", k.not_(is_caught_up_to(k, s, leader, replica, s.log_end_offset[leader]))
    set_isr_member(s, leader, replica, False)


@action(leader="replica", replica="replica", where=different, says="{leader} finds {replica} caught up")
def leader_expand_isr(k: Primitives, s: View, leader: int, replica: int) -> Clauses:
    """A true leader admits to the ISR a follower whose log reaches the leader's high watermark (`maybeExpandIsr`).

    The high watermark of a new leader may be behind what the one before had committed, and then a follower is admitted without
    committed records.  KIP-320 waits for the current epoch (KAFKA-7128).

    Source: KafkaReplication.tla, LeaderExpandIsr.
    """
    yield from true_leader(k, s, leader)
    yield "outside the leader's ISR", k.not_(s.isr[leader][replica])
    yield "reached the high watermark", is_caught_up_to(k, s, leader, replica, s.high_watermark[leader])
    set_isr_member(s, leader, replica, True)


@action(leader="replica", says="{leader} advances its high watermark")
def leader_advance_high_watermark(k: Primitives, s: View, leader: int) -> Clauses:
    """A broker that believes it leads commits one offset when all of its ISR follow it and have it (`maybeIncrementLeaderHW`).

    No epoch is compared: a follower counts that is still in an older epoch, and truncates what it was counted for when it
    reaches the newer one.  KIP-320 adds that comparison.

    Source: KafkaReplication.tla, LeaderIncHighWatermark.
    """
    watermark = s.high_watermark[leader]
    yield "presumes leadership", presumes_leadership(s, leader)
    yield "bound: offset in the log", watermark < s.sizes.offset
    for replica in replicas(s):
        reached = k.all_of(is_following(s, replica, leader), has_offset(s, replica, watermark))
        yield "ISR has the record", k.any_of(k.not_(s.isr[leader][replica]), reached)
    s.high_watermark[leader] = watermark + 1


@action(
    replica="replica",
    leader="replica",
    epoch="epoch",
    where=lambda replica, leader, epoch: replica != leader,
    says="broker {replica} applies LeaderAndIsr of epoch {epoch} and follows {leader} from its own high watermark on",
)
def become_follower(k: Primitives, s: View, replica: int, leader: int, epoch: int) -> Clauses:
    """A broker applies a LeaderAndIsr request that names another, and truncates its log before it fetches (`makeFollowers`).

    Here, before 0.11, it truncates to its own high watermark.  Since that lags, it may drop a record that was committed and be
    elected before it has fetched it again; and what it keeps may diverge from the leader's log (KAFKA-1211, mended by KIP-101).

    Source: KafkaReplication.tla, BecomeFollowerAndTruncateTo.
    """
    yield from request_to_follow(k, s, replica, leader, epoch)
    yield "truncation point in the log", s.high_watermark[replica] <= s.log_end_offset[replica]
    truncate_and_follow(k, s, replica, leader, epoch, s.high_watermark[replica])


@action(follower="replica", leader="replica", where=different, says="broker {follower} fetches from {leader}")
def follower_fetch(k: Primitives, s: View, follower: int, leader: int) -> Clauses:
    """A follower appends the leader's next record and takes the leader's high watermark or, if lower, its own log end.

    Only that both agree on who leads is asked: neither the leader epoch nor the epoch of the follower's last record is
    compared, so a fetch may be answered by a leader of another epoch.  KIP-320 fences it.

    Source: KafkaReplication.tla, FollowerReplicate.
    """
    yield "presumes leadership", presumes_leadership(s, leader)
    yield "follows the leader", is_following(s, follower, leader)
    yield "leader has more", has_offset(s, leader, s.log_end_offset[follower])
    replicate(k, s, follower, leader)


def portrait(values: Mapping[str, Any]) -> ClusterSnapshot:
    """Return a state, given as values by field, as a snapshot: each broker with what it believes, and the quorum's state."""
    lanes = []
    for replica, leader in enumerate(values["leader"]):
        leads = leader == replica
        is_stale = leads and values["quorum_leader"] != replica
        role = STALE_LEADER if is_stale else LEADER if leads else WAITING if leader < 0 else FOLLOWER
        lanes.append(
            BrokerView(
                broker=replica,
                role=role,
                log=log_of(values, replica),
                high_watermark=values["high_watermark"][replica],
                epoch=named(values["leader_epoch"][replica]),
                isr=members(values["isr"][replica]) if leads else None,
                is_leader=leads,
                follows=named(leader),
            )
        )
    shown = frozenset(record for lane in lanes if lane.is_leader for record, _ in lane.log[: lane.high_watermark])
    epoch = named(values["next_leader_epoch"] - 1)
    return ClusterSnapshot(named(values["quorum_leader"]), epoch, members(values["quorum_isr"]), tuple(lanes), committed=shown)


BASE = Model(
    name="classic",
    summary="what the classic models share",
    keys=KEYS,
    sizes=sizes,
    fields=fields,
    initial=initial,
    actions=(
        controller_elect_leader,
        controller_shrink_isr,
        become_leader,
        leader_expand_isr,
        leader_shrink_isr,
        leader_write,
        leader_advance_high_watermark,
        become_follower,
        follower_fetch,
    ),
    guarantees=("weak-isr", "strong-isr"),
    unbounded=(
        Unbounded(
            "epoch",
            "bound: epoch left",
            ("log_epoch", "leader_epoch", "next_leader_epoch"),
            ("leader_epoch", "next_leader_epoch"),
        ),
        Unbounded("record", "bound: record left", ("log_record", "next_record")),
    ),
    portrait=portrait,
)
