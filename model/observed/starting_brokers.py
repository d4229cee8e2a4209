"""How a broker comes back, in the parts that a cluster shows: the protocol's model leaves them out, as they hide no loss.

A broker that starts has a high watermark of 0 in the protocol's model (decision 014).  A cluster shows the one that was written
down in `replication-offset-checkpoint`, also while too few replicas are in sync for it to be raised again.

A replica that was removed does not fetch any more there.  A cluster's does until it learns of that, and its old leader, which
has not learned it either, raises the high watermark by it.

A broker that is back and not registered yet is down there.  A cluster's reads the metadata and follows the leader, and if
the controller has not missed it, it is in the ISR and counts; it serves no client before it is unfenced.

Source: Partition.createLog (`offsetCheckpoints.fetch`), UnifiedLog.updateHighWatermark (never above the log end);
ReplicaManager.applyDelta (a removed replica's fetcher stops when the metadata arrive); BrokerServer.startup (publishers are
installed before the controller has acknowledged the broker, requests are processed after it is unfenced).
"""

from __future__ import annotations

from neverlost.model.kernel import NO_REPLICA, Clauses, Primitives, action, different, flag
from neverlost.model.kraft.broker.follower import truncate_before_fetching
from neverlost.model.kraft.broker.log import truncate_to
from neverlost.model.kraft.lifecycle.stops import stop
from neverlost.model.kraft.state import ELECTED, everyone
from neverlost.model.observed.one_offset import unknown_record
from neverlost.model.system import View


@action(broker="replica", says="broker {broker} starts with the high watermark that it had written down")
def broker_remember_high_watermark(k: Primitives, s: View, broker: int) -> Clauses:
    """A broker that has started takes its checkpoint's high watermark, past its tracked record, if that was seen below a
    leader's high watermark or is an unknown one."""
    yield "broker is running", s.is_running[broker]
    yield "knows no leader", s.follows[broker] == NO_REPLICA
    yield "bound: nothing known yet", s.high_watermark[broker] == 0
    here = s.log_record[broker][0]
    seen = [k.all_of(here == record + 1, s.is_visible[record]) for record in range(unknown_record(s))]
    yield "was below a leader's high watermark", k.any_of(here == unknown_record(s) + 1, *seen)
    s.high_watermark[broker] = 1


@action(broker="replica", says="the process of broker {broker} starts")
def process_start(k: Primitives, s: View, broker: int) -> Clauses:
    """A process starts; its broker is down for the controller, or was never missed, until it registers."""
    yield "broker is down", k.not_(s.is_running[broker])
    s.is_back[broker] = True


@action(broker="replica", lost="two", says="the process of broker {broker}, which has not registered, ends")
def process_end(k: Primitives, s: View, broker: int, lost: int) -> Clauses:
    """A process that has not registered ends, if there was one; with `lost` 1 its log ends before the tracked offset."""
    yield "broker is down", k.not_(s.is_running[broker])
    s.is_back[broker] = False
    stop(k, s, broker)
    if lost:
        truncate_to(k, s, broker, 0)


@action(broker="replica", leader="replica", where=different, says="broker {broker}, back but not registered, follows {leader}")
def broker_follow_unregistered(k: Primitives, s: View, broker: int, leader: int) -> Clauses:
    """A broker replays the metadata while its registration is under way, and fetches; until it is unfenced it serves no client.

    Source: BrokerServer.startup (publishers are installed before the controller has acknowledged the broker).
    """
    yield "back and not registered", k.all_of(s.is_back[broker], k.not_(s.is_running[broker]))
    yield "elected", s.leader == leader
    yield "leadership is applied", s.leader_knows != ELECTED
    yield "bound: not yet following", s.follows[broker] != leader
    if s.sizes.reassignment:
        yield "a replica", s.is_replica[broker]
    s.follows[broker] = leader
    truncate_before_fetching(k, s, broker, leader)


IS_BACK = flag("is_back", "replica")
"""Processes that have started and are down for the controller, or were never missed."""


def forget_registered(k: Primitives, s: View) -> None:
    """Effect: a broker that runs, since it has registered, is no longer marked as one that is back and not registered."""
    for each in everyone(s):
        s.is_back[each] = k.all_of(s.is_back[each], k.not_(s.is_running[each]))


STARTING_ACTIONS = (broker_remember_high_watermark, process_start, process_end, broker_follow_unregistered)
"""The actions that are added to today's protocol."""

UNAWARE = ("follower_take_response", "a replica")
"""The clause that a replica without the newest metadata does not know of."""
