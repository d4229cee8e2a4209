"""When the partition accepts acknowledged writes, and when the cluster has finished reacting to what happened."""

from __future__ import annotations

from neverlost.model.kernel import Primitives, Value
from neverlost.model.kraft.broker.leader import accepts_writes
from neverlost.model.kraft.state import ELECTED, UP_TO_DATE, everyone
from neverlost.model.system import View


def is_writable(k: Primitives, s: View) -> Value:
    """Return True if the current leader runs, has applied its leadership, and knows of enough in-sync replicas for the acks."""
    return k.any_of(
        *[
            k.all_of(s.leader == leader, s.leader_knows != ELECTED, s.is_running[leader], accepts_writes(k, s, leader))
            for leader in everyone(s)
        ]
    )


def is_settled(k: Primitives, s: View) -> Value:
    """Return True if nothing is left to learn: who is down, and nobody else, is fenced, and a leader, if any, is up to date."""
    seen = [s.is_fenced[broker] != s.is_running[broker] for broker in everyone(s)]
    led = k.any_of(*[s.leader == broker for broker in everyone(s)])
    return k.all_of(*seen, k.any_of(k.not_(led), s.leader_knows == UP_TO_DATE))
