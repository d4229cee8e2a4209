"""What happens to a broker: it learns of the controller's decisions, it stops, and it starts again.

Source: ReplicaManager.applyDelta, Partition.makeLeader, Partition.makeFollower, BrokerLifecycleManager,
ClusterControlManager.registerBroker.
"""

from __future__ import annotations

from typing import Any

from neverlost.model.kernel import NOBODY, Clauses, Value, action, different
from neverlost.model.kraft.controller import fence, unfence
from neverlost.model.kraft.follower import truncate_before_fetching
from neverlost.model.kraft.leader import adopt_isr, forget_leadership, leads
from neverlost.model.kraft.log import crash, crash_unflushed, log_end, lose_disk, truncate_to
from neverlost.model.kraft.state import BEHIND, ELECTED, UP_TO_DATE, everyone


@action(broker="replica", says="broker {broker} applies its leadership")
def broker_take_over(k: Any, s: Any, broker: int) -> Clauses:
    """Who led before and never heard of another leader goes on with what it knows of its followers.

    Source: Partition.makeLeader (`isNewLeader`), Replica.resetReplicaState.
    """
    yield "elected", s.leader == broker
    yield "not yet taken over", s.leader_knows == ELECTED
    yield "broker is running", s.is_running[broker]
    again = k.all_of(leads(s, broker), k.not_(s.reelection_forgets_offsets))
    known = [k.ite(again, offset, 0) for offset in s.fetch_offset[broker]]
    forget_leadership(k, s, broker)
    for each in everyone(s):
        s.fetch_offset[broker][each] = known[each]
    s.follows[broker] = broker
    s.leader_epoch_start = k.ite(s.leader_epoch_start_rule, log_end(k, s, broker), 0)
    if not s.sizes["fenced_fetch"]:
        s.is_stale[broker] = False
    if s.sizes["epochs"]:
        s.led_epoch[broker] = s.leader_epoch
    learn_config(s, broker)
    adopt_isr(k, s, broker)


@action(broker="replica", says="leader {broker} learns the committed ISR")
def leader_learn_isr(k: Any, s: Any, broker: int) -> Clauses:
    """By metadata, which comes in order, or by the answer to its own request, which may overtake a new configuration."""
    yield "elected", s.leader == broker
    yield "leads with an old partition epoch", s.leader_knows == BEHIND
    if s.sizes["config_change"]:
        in_order = k.any_of(s.isr_answer_with_config, k.not_(is_answer(k, s, broker)))
        s.min_isr_known[broker] = k.ite(in_order, s.min_isr_raised, s.min_isr_known[broker])
    adopt_isr(k, s, broker)


def is_answer(k: Any, s: Any, leader: int) -> Value:
    """Whether the committed ISR is the one that the leader has asked for."""
    changed = [k.any_of(s.leader_isr[leader][each] == s.isr[each], s.pending[leader] == each) for each in everyone(s)]
    moved = [k.any_of(s.leader_isr[leader][each] != s.isr[each], s.pending[leader] != each) for each in everyone(s)]
    return k.all_of(s.pending[leader] != NOBODY, *changed, *moved)


def learn_config(s: Any, broker: int) -> None:
    """Effect: the broker has replayed the metadata and with it the topic's configuration."""
    if s.sizes["config_change"]:
        s.min_isr_known[broker] = s.min_isr_raised


@action(broker="configured", says="broker {broker} learns the new min.insync.replicas")
def broker_learn_config(k: Any, s: Any, broker: int) -> Clauses:
    yield "takes itself for the leader", leads(s, broker)
    yield "bound: something new", s.min_isr_known[broker] != s.min_isr_raised
    learn_config(s, broker)


@action(broker="replica", leader="replica", where=different, says="broker {broker} learns of {leader} and follows it")
def broker_follow(k: Any, s: Any, broker: int, leader: int) -> Clauses:
    yield "elected", s.leader == leader
    yield "broker is running", s.is_running[broker]
    if s.sizes["reassignment"]:
        yield "a replica", s.is_replica[broker]
    if s.sizes["fenced_fetch"]:
        yield "has taken over", s.leader_knows != ELECTED
        yield "bound: not yet following", s.follows[broker] != leader
    else:
        yield "leader answers", leads(s, leader)
        yield "bound: not yet following", s.is_stale[broker]
        s.is_stale[broker] = False
    if s.sizes["config_change"]:
        s.min_isr_known[broker] = 0
    forget_leadership(k, s, broker, leads(s, broker))
    s.follows[broker] = leader
    truncate_before_fetching(k, s, broker, leader)


def stop(k: Any, s: Any, broker: int) -> None:
    """Effect: the broker's process ends, and with it all that it had in memory."""
    s.is_running[broker] = False
    if s.sizes["config_change"]:
        s.min_isr_known[broker] = 0
    forget_leadership(k, s, broker)
    s.follows[broker] = NOBODY
    s.high_watermark[broker] = 0
    led = s.leader == broker
    s.leader_knows = k.ite(led, ELECTED, s.leader_knows)
    s.leader_epoch_start = k.ite(led, 0, s.leader_epoch_start)
    s.request_outdated = k.all_of(k.not_(led), s.request_outdated)
    if not s.sizes["fenced_fetch"]:
        s.is_stale[broker] = False


def start(k: Any, s: Any, broker: int) -> None:
    """Effect: the broker runs, knows nothing yet, and is a new incarnation to whoever asked to admit the old one."""
    s.is_running[broker] = True
    if not s.sizes["fenced_fetch"]:
        s.is_stale[broker] = True
    asked = [k.all_of(s.leader == each, s.leader_knows == UP_TO_DATE, s.pending[each] == broker) for each in everyone(s)]
    s.request_outdated = k.all_of(s.broker_epoch_in_isr, k.any_of(s.request_outdated, *asked))


@action(broker="replica", says="unclean shutdown of broker {broker}, log intact", fault="crash")
def broker_crash(k: Any, s: Any, broker: int) -> Clauses:
    yield from crash(k, s, broker)
    stop(k, s, broker)


@action(
    broker="replica",
    kept="offset",
    says="unclean shutdown of broker {broker} that loses unflushed data",
    fault="lossy_crash",
)
def broker_crash_lossy(k: Any, s: Any, broker: int, kept: int) -> Clauses:
    yield from crash_unflushed(k, s, broker, kept)
    stop(k, s, broker)


@action(broker="replica", says="broker {broker} stops and its log directory is replaced by an empty one", fault="disk_loss")
def broker_lose_disk(k: Any, s: Any, broker: int) -> Clauses:
    yield from lose_disk(k, s, broker)
    stop(k, s, broker)


@action(
    rack="rack",
    kept="offset",
    says="unclean shutdown of rack {rack} that loses unflushed data",
    fault="rack_loss",
)
def rack_lose_power(k: Any, s: Any, rack: int, kept: int) -> Clauses:
    """One cut for the whole rack: where a broker's log is shorter it keeps all of it."""
    members = [each for each in everyone(s) if s.sizes[f"rack_of_{each}"] == rack]
    yield "bound: a rack loss is left", s.rack_loss_left > 0
    yield "bound: a broker runs there", k.any_of(*[s.is_running[each] for each in members])
    s.rack_loss_left = s.rack_loss_left - 1
    for each in members:
        lost = k.all_of(s.is_running[each], k.not_(s.flushes_each_record))
        truncate_to(k, s, each, k.ite(lost, kept, s.sizes["offset"]))
        stop(k, s, each)


@action(broker="replica", elected="replica", says="broker {broker} starts and registers")
def broker_restart(k: Any, s: Any, broker: int, elected: int) -> Clauses:
    """A new incarnation: the old one's session must have expired, and a request that names it is outdated."""
    yield "broker is down", k.not_(s.is_running[broker])
    yield "old session has expired", s.is_fenced[broker]
    if s.sizes["elr"]:
        yield "stopped uncleanly", k.not_(s.stopped_cleanly[broker])
    yield from unfence(k, s, broker, elected, unclean_restart=broker)
    start(k, s, broker)


@action(
    broker="clean_stop",
    elected="replica",
    says="broker {broker} starts and registers after a clean shutdown",
)
def broker_restart_clean(k: Any, s: Any, broker: int, elected: int) -> Clauses:
    """The clean-shutdown file names the registered broker epoch, so the broker stays in the ELR."""
    yield "broker is down", k.not_(s.is_running[broker])
    yield "stopped cleanly", s.stopped_cleanly[broker]
    yield from unfence(k, s, broker, elected)
    s.stopped_cleanly[broker] = False
    start(k, s, broker)


@action(broker="bounce", says="broker {broker} restarts within its session, unnoticed by the controller")
def broker_bounce(k: Any, s: Any, broker: int) -> Clauses:
    """Source: KAFKA-7235; only where bounces are not detected."""
    yield "broker is down", k.not_(s.is_running[broker])
    yield "session is still valid", k.not_(s.is_fenced[broker])
    yield "not the leader", s.leader != broker
    start(k, s, broker)


@action(
    broker="clean_stop",
    elected="replica",
    says="controlled shutdown of broker {broker}",
    fault="crash",
)
def broker_stop_cleanly(k: Any, s: Any, broker: int, elected: int) -> Clauses:
    """Controlled shutdown: the broker leaves ISR and leadership, writes its clean-shutdown file and stops."""
    yield "bound: a crash is left", s.crash_left > 0
    yield "broker is running", s.is_running[broker]
    yield "not fenced", k.not_(s.is_fenced[broker])
    yield from fence(k, s, broker, elected)
    s.crash_left = s.crash_left - 1
    s.stopped_cleanly[broker] = True
    stop(k, s, broker)
