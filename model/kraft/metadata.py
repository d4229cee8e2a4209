"""How brokers learn what the controller has decided: each replays the metadata log in its own time.

Source: BrokerMetadataPublisher, ReplicaManager.applyDelta, Partition.makeLeader, Partition.makeFollower.
"""

from __future__ import annotations

from neverlost.model.kernel import NOBODY, Clauses, Primitives, Value, action, different
from neverlost.model.kraft.follower import truncate_before_fetching
from neverlost.model.kraft.leader import adopt_isr, forget_leadership, leads
from neverlost.model.kraft.log import log_end
from neverlost.model.kraft.state import BEHIND, ELECTED, everyone
from neverlost.model.system import View


@action(broker="replica", says="broker {broker} applies its leadership")
def broker_apply_leadership(k: Primitives, s: View, broker: int) -> Clauses:
    """A broker that led before, and has not noticed who led in between, goes on with what it knows of its followers.

    That is remembered from an epoch before: a follower may have truncated since, and is counted all the same
    (reelection-forgets-offsets, which no version has).

    Source: Partition.makeLeader (`isNewLeader`), Replica.resetReplicaState.
    """
    yield "elected", s.leader == broker
    yield "leadership not applied yet", s.leader_knows == ELECTED
    yield "broker is running", s.is_running[broker]
    again = k.all_of(leads(s, broker), k.not_(s.reelection_forgets_offsets))
    known = [k.ite(again, offset, 0) for offset in s.fetch_offset[broker]]
    forget_leadership(k, s, broker)
    for each in everyone(s):
        s.fetch_offset[broker][each] = known[each]
    s.follows[broker] = broker
    s.leader_epoch_start_offset = k.ite(s.leader_epoch_start, log_end(k, s, broker), 0)
    if not s.sizes.fenced_fetch:
        s.is_stale[broker] = False
    if s.sizes.epochs:
        s.led_epoch[broker] = s.leader_epoch
    learn_config(s, broker)
    adopt_isr(k, s, broker)


@action(broker="replica", says="leader {broker} learns the committed ISR")
def leader_learn_isr(k: Primitives, s: View, broker: int) -> Clauses:
    """By metadata, which comes in order, or by the answer to its own request, which may overtake a new configuration."""
    yield "elected", s.leader == broker
    yield "leads with an old partition epoch", s.leader_knows == BEHIND
    if s.sizes.config_change:
        in_order = k.any_of(s.isr_answer_waits_for_config, k.not_(is_answer(k, s, broker)))
        s.min_isr_known[broker] = k.ite(in_order, s.min_isr_raised, s.min_isr_known[broker])
    adopt_isr(k, s, broker)


def is_answer(k: Primitives, s: View, leader: int) -> Value:
    """Whether the committed ISR is the one that the leader has asked for."""
    changed = [k.any_of(s.leader_isr[leader][each] == s.isr[each], s.pending[leader] == each) for each in everyone(s)]
    moved = [k.any_of(s.leader_isr[leader][each] != s.isr[each], s.pending[leader] != each) for each in everyone(s)]
    return k.all_of(s.pending[leader] != NOBODY, *changed, *moved)


def learn_config(s: View, broker: int) -> None:
    """Effect: the broker has replayed the metadata and with it the topic's configuration."""
    if s.sizes.config_change:
        s.min_isr_known[broker] = s.min_isr_raised


@action(broker="configured", says="broker {broker} learns the new min.insync.replicas")
def broker_learn_config(k: Primitives, s: View, broker: int) -> Clauses:
    """Until then the leader commits and acknowledges by the old minimum."""
    yield "believes it is leader", leads(s, broker)
    yield "bound: something new", s.min_isr_known[broker] != s.min_isr_raised
    learn_config(s, broker)


@action(broker="replica", leader="replica", where=different, says="broker {broker} learns of {leader} and follows it")
def broker_follow(k: Primitives, s: View, broker: int, leader: int) -> Clauses:
    """`makeFollower`: leadership ends, and before 2.7 the log is truncated before the first fetch.

    With fenced fetches (KIP-320) the leader answers only once it has applied the same leader epoch itself.
    """
    yield "elected", s.leader == leader
    yield "broker is running", s.is_running[broker]
    if s.sizes.reassignment:
        yield "a replica", s.is_replica[broker]
    if s.sizes.fenced_fetch:
        yield "leadership is applied", s.leader_knows != ELECTED
        yield "bound: not yet following", s.follows[broker] != leader
    else:
        yield "leader answers", leads(s, leader)
        yield "bound: not yet following", s.is_stale[broker]
        s.is_stale[broker] = False
    if s.sizes.config_change:
        s.min_isr_known[broker] = 0
    forget_leadership(k, s, broker, leads(s, broker))
    s.follows[broker] = leader
    truncate_before_fetching(k, s, broker, leader)
