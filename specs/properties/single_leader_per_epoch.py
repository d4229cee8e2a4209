"""Brokers in one leader epoch agree on one leader, and that one leads."""

from __future__ import annotations

from typing import Any

from neverlost.model.kernel import Value, implies
from neverlost.model.kraft.broker.leader import leads
from neverlost.model.kraft.state import ELECTED, everyone
from neverlost.specs.property import Property


def single_leader_per_epoch(k: Any, s: Any) -> Value:
    """Return the current leader that has applied its leadership leads, and no broker leads in an epoch of another.

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


PROPERTY = Property(
    name="single-leader-per-epoch",
    says="brokers in one leader epoch agree on one leader, and that one leads",
    condition=single_leader_per_epoch,
    needs=("follows", "leader_knows"),
    violated_by="kraft-broker_follow-leadership is applied",
    source="KIP-101; LeaderAndIsr requests carry one leader for each leader epoch",
)
