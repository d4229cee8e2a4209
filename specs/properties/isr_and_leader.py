"""The ISR as leader and controller know it, and one leader an epoch."""

from __future__ import annotations

from typing import Any

from neverlost.model.kernel import NO_REPLICA, Value, count, implies
from neverlost.model.kraft.broker.high_watermark import is_waited_for
from neverlost.model.kraft.broker.leader import is_answered, leads
from neverlost.model.kraft.state import ELECTED, UP_TO_DATE, everyone, minimum_isr
from neverlost.specs.property import as_property


@as_property(
    says="once the leader has applied its leadership, its maximal ISR (known or asked for) contains the controller's ISR",
    needs=("isr", "leader_isr", "leader_knows", "pending"),
    violated_by="kraft-pending-isr-kept",
    source="P-QSUP, KIP-497; ReplicationQuorumSuperset; since 2.8 a known bug breaks it: late-record-forgets-request",
    compares=("replica",),
)
def isr_superset(k: Any, s: Any) -> Value:
    """Once the current leader has applied its leadership, its maximal ISR (what it knows or has asked to add) contains the
    controller's ISR, of which any may be elected."""
    return k.all_of(
        *[
            implies(
                k, k.all_of(s.leader == leader, s.leader_knows != ELECTED, s.isr[replica]), is_waited_for(k, s, leader, replica)
            )
            for leader in everyone(s)
            for replica in everyone(s)
            if leader != replica
        ]
    )


def knows_newest_epoch(k: Any, s: Any, follower: int, leader: int) -> Value:
    """Return True if a follower is in the leader's epoch: the leader answers it and, unless fetches are fenced (then that is
    enough), the follower is not stale."""
    answered = is_answered(k, s, follower, leader)
    return answered if s.sizes.fenced_fetch else k.all_of(answered, k.not_(s.is_stale[follower]))


@as_property(
    says="a leader with the newest metadata and a follower of its ISR and epoch agree below both high watermarks",
    needs=("follows", "high_watermark", "leader_isr", "leader_knows", "log_record"),
    violated_by="kraft",
    source="KIP-101 scenario 2, KIP-279; WeakIsr of the public TLA+ modules, for brokers with memory and restarts",
    compares=("record", "replica"),
)
def isr_matches_leader(k: Any, s: Any) -> Value:
    """Below both high watermarks, each follower in the ISR of the current leader agrees with its log, if that leader is up to
    date and the follower is in its leader epoch."""
    return k.all_of(
        *[
            implies(
                k,
                k.all_of(
                    s.leader == leader,
                    s.leader_knows == UP_TO_DATE,
                    s.leader_isr[leader][follower],
                    knows_newest_epoch(k, s, follower, leader),
                    s.high_watermark[leader] > offset,
                    s.high_watermark[follower] > offset,
                ),
                s.log_record[leader][offset] == s.log_record[follower][offset],
            )
            for leader in everyone(s)
            for follower in everyone(s)
            if leader != follower
            for offset in range(s.sizes.offset)
        ]
    )


@as_property(
    says="the controller's ISR has at least min.insync.replicas members, as set at first",
    needs=("isr", "min_isr"),
    violated_by="kraft",
    source="a common claim; min.insync.replicas bounds which writes are accepted and, since 3.7, the high watermark",
)
def isr_at_least_minimum(k: Any, s: Any) -> Value:
    """The ISR has at least as many members as min.insync.replicas says at first; Kafka lets it shrink further, and then refuses
    writes."""
    return count(k, list(s.isr)) >= s.min_isr


@as_property(
    says="with ISR and ELR empty the controller remembers at least min.insync.replicas replicas to recover from",
    needs=("elr", "isr", "last_known_leader"),
    violated_by="kraft-elr",
    source="KIP-966; MinIsrRecoveryQuorum (Vanlightly); Kafka remembers one at most, the last known leader",
)
def min_isr_recovery_quorum(k: Any, s: Any) -> Value:
    """If ISR and ELR are empty, min.insync.replicas replicas are remembered: so only if that is 1, as Kafka remembers one last
    leader at most."""
    empty = k.not_(k.any_of(*s.isr, *s.elr))
    remembered = count(k, [s.last_known_leader != NO_REPLICA])
    return implies(k, empty, remembered >= minimum_isr(k, s))


@as_property(
    says="brokers in one leader epoch have one leader, which believes that it leads as long as it is in that epoch itself",
    needs=("follows", "leader_knows"),
    violated_by="kraft-broker_follow-leadership is applied",
    source="KIP-101; LeaderAndIsr names one leader for each epoch; broken by a model that lacks a clause",
)
def single_leader_per_epoch(k: Any, s: Any) -> Value:
    """The current leader that has applied its leadership believes that it leads, and no broker leads in another one's epoch.

    With fenced fetches `follows[b] == l` says that `b` is in `l`'s leader epoch, so `l` leads there; without, a broker that is
    not stale knows the current epoch, so if it leads it is the elected one.
    """
    pairs = [(broker, leader) for broker in everyone(s) for leader in everyone(s)]
    if s.sizes.fenced_fetch:
        same = [implies(k, s.follows[broker] == leader, s.follows[leader] == leader) for broker, leader in pairs]
    else:
        same = [implies(k, k.all_of(leads(s, each), k.not_(s.is_stale[each])), s.leader == each) for each in everyone(s)]
    return k.all_of(
        *same,
        *[
            implies(k, k.all_of(s.leader == leader, s.leader_knows != ELECTED), s.follows[leader] == leader)
            for leader in everyone(s)
        ],
    )
