"""What happens to a broker: it learns of the controller's decisions, and it stops.

Source: ReplicaManager.applyDelta, Partition.makeLeader, Partition.makeFollower.
"""

from __future__ import annotations

from typing import Any

from model.kernel import NOBODY, Clauses, action, different
from model.modern_leader import adopt_isr, forget_leadership, leads
from model.modern_log import log_end, truncate_to
from model.modern_state import BEHIND, ELECTED


@action(broker="replica", says="broker {broker} learns that it leads and takes over")
def broker_take_over(k: Any, s: Any, broker: int) -> Clauses:
    yield "elected", s.leader == broker
    yield "not yet taken over", s.leader_knows == ELECTED
    yield "broker is running", s.is_running[broker]
    forget_leadership(k, s, broker)
    s.follows[broker] = broker
    s.leader_epoch_start = log_end(k, s, broker)
    adopt_isr(k, s, broker)


@action(broker="replica", says="leader {broker} learns the committed ISR")
def leader_learn_isr(k: Any, s: Any, broker: int) -> Clauses:
    """By metadata or by the answer to its request: both say the same."""
    yield "elected", s.leader == broker
    yield "leads with an old partition epoch", s.leader_knows == BEHIND
    adopt_isr(k, s, broker)


@action(broker="replica", leader="replica", where=different, says="broker {broker} learns of leader {leader} and follows it")
def broker_follow(k: Any, s: Any, broker: int, leader: int) -> Clauses:
    yield "elected", s.leader == leader
    yield "has taken over", s.leader_knows != ELECTED
    yield "broker is running", s.is_running[broker]
    yield "not yet following", s.follows[broker] != leader
    forget_leadership(k, s, broker, leads(s, broker))
    s.follows[broker] = leader


def stop(k: Any, s: Any, broker: int) -> None:
    """Effect: the broker's process ends, and with it all that it had in memory."""
    s.is_running[broker] = False
    forget_leadership(k, s, broker)
    s.follows[broker] = NOBODY
    s.high_watermark[broker] = 0
    s.leader_knows = k.ite(s.leader == broker, ELECTED, s.leader_knows)
    s.leader_epoch_start = k.ite(s.leader == broker, 0, s.leader_epoch_start)
    s.request_outdated = k.all_of(s.leader != broker, s.request_outdated)


@action(broker="replica", says="broker {broker} crashes; its log stays intact", fault="crash")
def broker_crash(k: Any, s: Any, broker: int) -> Clauses:
    yield "bound: a crash is left", s.crash_left > 0
    yield "broker is running", s.is_running[broker]
    s.crash_left = s.crash_left - 1
    stop(k, s, broker)


@action(
    broker="replica",
    kept="offset",
    says="broker {broker} crashes and loses its unflushed log from offset {kept} on",
    fault="lossy_crash",
)
def broker_crash_lossy(k: Any, s: Any, broker: int, kept: int) -> Clauses:
    yield "bound: a lossy crash is left", s.lossy_crash_left > 0
    yield "broker is running", s.is_running[broker]
    yield "records are not flushed one by one", k.not_(s.flushes_each_record)
    yield "something is lost", s.log_record[broker][kept] != 0
    s.lossy_crash_left = s.lossy_crash_left - 1
    truncate_to(k, s, broker, kept)
    stop(k, s, broker)
