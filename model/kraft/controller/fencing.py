"""Fencing: how the controller reacts to brokers that stop and return.

A broker that misses its heartbeats is fenced: it leaves every ISR and leads nothing.  One that registers and catches up with
the metadata is unfenced, and leads a partition that waits for it.

Source: ReplicationControlManager.java (handleBrokerFenced, handleBrokerUnfenced, handleBrokerUncleanShutdown,
generateLeaderAndIsrUpdates), ClusterControlManager.java.
"""

from __future__ import annotations

from dataclasses import replace

from neverlost.model.faults import FENCE
from neverlost.model.kernel import NO_REPLICA, Clauses, Primitives, Value, action
from neverlost.model.kraft.controller.leader_election import Flags, no_brokers
from neverlost.model.kraft.controller.partition_change import Change, assignment_of, change_partition, unfenced
from neverlost.model.kraft.state import everyone
from neverlost.model.limits import fault_enabled, record_fault
from neverlost.model.system import View


def is_not_elected(broker: int, outcome: int) -> bool:
    """Return True if the outcome is not the election of `broker`: one that is being fenced is not elected."""
    return outcome != broker


def isr_without(k: Primitives, s: View, broker: int) -> Flags:
    """Return the ISR without a broker; but without ELR its only member stays in it, so that this one alone may lead again."""
    stays: Value = False
    if not s.sizes.elr:
        stays = k.not_(k.any_of(False, *[s.isr[each] for each in everyone(s) if each != broker]))
    return [k.all_of(s.isr[each], k.any_of(each != broker, stays)) for each in everyone(s)]


def fence(k: Primitives, s: View, broker: int, outcome: int) -> Clauses:
    """Clauses and effect of `handleBrokerFenced`: the broker is fenced, leaves the ISR, and leadership moves on if it led."""
    active = [k.all_of(alive, each != broker) for each, alive in enumerate(unfenced(k, s))]
    change = Change(isr_without(k, s, broker), active, assignment_of(s), has_record=s.isr[broker])
    yield from change_partition(k, s, change, outcome)
    s.is_fenced[broker] = True


def unfence(k: Primitives, s: View, broker: int, outcome: int) -> Clauses:
    """Clauses and effect of `handleBrokerUnfenced`: a partition without a leader gets one if the broker may lead."""
    yield from admit(k, s, broker, outcome, Change(list(s.isr), no_brokers(s), assignment_of(s)))


def register(k: Primitives, s: View, broker: int, outcome: int, is_unclean: bool) -> Clauses:
    """Clauses and effect: a broker registers and is unfenced (`handleBrokerShutdown`, then `handleBrokerUnfenced`).

    With ELR a broker that comes back from an unclean shutdown leaves ISR and ELR first (`unclean-shutdown-leaves-elr`).
    """
    change = Change(list(s.isr), no_brokers(s), assignment_of(s), registers=broker)
    if s.sizes.elr and is_unclean:
        isr = [k.all_of(s.isr[each], k.any_of(each != broker, k.not_(s.unclean_shutdown_leaves_elr))) for each in everyone(s)]
        change = replace(change, isr=isr, unclean_shutdown=broker)
    yield from admit(k, s, broker, outcome, change)


def admit(k: Primitives, s: View, broker: int, outcome: int, change: Change) -> Clauses:
    """Clauses and effect: a broker is unfenced and may lead; a record is written if there is no leader or an unclean one is in
    ISR or ELR."""
    active = [k.any_of(alive, each == broker) for each, alive in enumerate(unfenced(k, s))]
    has_record = s.leader == NO_REPLICA
    if change.unclean_shutdown is not None:
        has_record = k.any_of(has_record, s.isr[broker], s.elr[broker])
    yield from change_partition(k, s, replace(change, active=active, has_record=has_record), outcome)
    s.is_fenced[broker] = False


@action(broker="replica", outcome="outcome", where=is_not_elected, says="controller fences broker {broker}")
def controller_fence_dead(k: Primitives, s: View, broker: int, outcome: int) -> Clauses:
    """The session of a broker that is down expires (broker.session.timeout.ms): the controller fences it, and elects if it led.

    Until then it stays in the ISR and the high watermark waits for it; afterwards it has to catch up before it may lead, unless
    it is in the ELR or, without ELR, the last member of the ISR (KIP-631, KIP-966).
    """
    yield "broker is down", k.not_(s.is_running[broker])
    yield "not yet fenced", k.not_(s.is_fenced[broker])
    yield from fence(k, s, broker, outcome)


@action(
    broker="replica",
    outcome="outcome",
    where=is_not_elected,
    says="controller loses contact with running broker {broker} and fences it",
    fault="fence",
    can_be_left_out=True,
)
def controller_fence_live(k: Primitives, s: View, broker: int, outcome: int) -> Clauses:
    """A long pause or a network cut: who is fenced lives on, and may go on as a stale leader until it learns of its successor.

    What a stale leader accepts is acknowledged with acks=all only if its whole ISR has it, which it cannot shrink by itself.
    """
    yield from fault_enabled(k, s, FENCE, broker)
    yield "broker is running", s.is_running[broker]
    yield "not yet fenced", k.not_(s.is_fenced[broker])
    yield from fence(k, s, broker, outcome)
    record_fault(s, FENCE, broker)


@action(broker="replica", outcome="outcome", says="controller unfences broker {broker}", can_be_left_out=True)
def controller_unfence(k: Primitives, s: View, broker: int, outcome: int) -> Clauses:
    """Heartbeats of a fenced, running broker arrive again; it has not restarted, so its log is whole and it stays in the ELR.

    To be unfenced admits a broker to no ISR: a leader has to propose it once it has caught up (KIP-631, KIP-841).
    """
    yield "broker is running", s.is_running[broker]
    yield "fenced", s.is_fenced[broker]
    yield from unfence(k, s, broker, outcome)


FENCING_ACTIONS = (controller_fence_dead, controller_fence_live, controller_unfence)
