"""A broker that has started fetches before it has registered, with no broker epoch."""

from __future__ import annotations

from neverlost.model.faults import LOSSY_CRASH
from neverlost.model.kernel import NO_REPLICA, Clauses, Primitives, action, different
from neverlost.model.kraft.broker.log import truncate_to
from neverlost.model.kraft.lifecycle.stops import can_lose_end, stop
from neverlost.model.kraft.state import ELECTED
from neverlost.model.limits import fault_enabled, record_fault
from neverlost.model.system import View


@action(
    broker="unregistered",
    leader="replica",
    where=different,
    says="broker {broker}, started and not yet registered, follows {leader}",
)
def broker_follow_unregistered(k: Primitives, s: View, broker: int, leader: int) -> Clauses:
    """A process that starts within its old session fetches before it can register, and its fetch names no broker epoch.

    The leader takes it for the old incarnation, which has not been missed yet, and proposes it for the ISR without an epoch;
    whatever incarnation is registered when the request arrives is let in.  Of a member of the ISR the leader proposes nothing.

    Source: BrokerServer.startup, RemoteLeaderEndPoint.buildFetch, Replica.updateFetchStateOrThrow,
    Partition.isBrokerEpochIsrEligible, ReplicationControlManager.ineligibleReplicasForIsr.
    """
    yield "process has not registered", k.not_(s.is_running[broker])
    yield "old session lasts", k.not_(s.is_fenced[broker])
    yield "elected", s.leader == leader
    yield "leadership is applied", s.leader_knows != ELECTED
    yield "bound: not yet following", s.follows[broker] != leader
    yield "bound: outside the ISR", k.not_(s.isr[broker])
    if s.sizes.reassignment:
        yield "a replica", s.is_replica[broker]
    s.follows[broker] = leader


@action(
    broker="unregistered",
    kept="offset",
    says="broker {broker}, which has not registered, loses power{kept}",
    fault="lossy_crash",
)
def broker_crash_unregistered(k: Primitives, s: View, broker: int, kept: int) -> Clauses:
    """A broker, started and not registered, loses its log from `kept` on, while a request that names it may be on its way.

    One that loses nothing may start again and follow again at once, so that such an end is left out.
    """
    yield from fault_enabled(k, s, LOSSY_CRASH, broker)
    yield "process has not registered", k.all_of(k.not_(s.is_running[broker]), s.follows[broker] != NO_REPLICA)
    yield from can_lose_end(k, s, broker, kept)
    record_fault(s, LOSSY_CRASH, broker)
    truncate_to(k, s, broker, kept)
    stop(k, s, broker)


UNREGISTERED_ACTIONS = (broker_follow_unregistered, broker_crash_unregistered)
