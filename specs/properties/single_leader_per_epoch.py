"""Brokers in one leader epoch agree on one leader, and that one leads."""

from __future__ import annotations

from typing import Any

from model.kernel import Value, implies
from model.modern_state import ELECTED, everyone
from specs.property import Property


def single_leader_per_epoch(k: Any, s: Any) -> Value:
    """`follows[b] == l` says that `b` is in `l`'s leader epoch: so `l` leads there; so does the elected one in the newest."""
    pairs = [(broker, leader) for broker in everyone(s) for leader in everyone(s)]
    return k.all_of(
        *[implies(k, s.follows[broker] == leader, s.follows[leader] == leader) for broker, leader in pairs],
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
    violated_by="kraft-broker_follow-has taken over",
    source="KIP-101; LeaderAndIsr requests carry one leader for each leader epoch",
)
