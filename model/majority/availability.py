"""When a majority log accepts writes and answers reads, and when its brokers have finished reacting to what happened."""

from __future__ import annotations

from neverlost.model.kernel import Primitives, Value, count
from neverlost.model.kraft.state import ELECTED, UP_TO_DATE, everyone
from neverlost.model.majority.protocol import majority
from neverlost.model.system import View


def is_led(k: Primitives, s: View) -> Value:
    """Return True if the winner of the newest election runs and leads: it answers reads."""
    return k.any_of(
        *[
            k.all_of(s.leader == each, s.leader_knows != ELECTED, s.is_running[each], s.follows[each] == each)
            for each in everyone(s)
        ]
    )


def is_writable(k: Primitives, s: View) -> Value:
    """Return True if the newest election's winner leads and, with its running followers, is a majority: it can commit."""
    led = [
        k.all_of(
            s.leader == leader,
            s.leader_knows != ELECTED,
            s.follows[leader] == leader,
            count(k, [k.all_of(s.is_running[each], s.follows[each] == leader) for each in everyone(s)]) >= majority(s),
        )
        for leader in everyone(s)
    ]
    return k.any_of(*led)


def is_settled(k: Primitives, s: View) -> Value:
    """Return True if less than a majority runs, or the newest election's winner runs and everyone that runs follows it."""
    following = [
        k.any_of(
            k.not_(s.is_running[each]),
            *[k.all_of(s.leader == leader, s.follows[each] == leader) for leader in everyone(s)],
        )
        for each in everyone(s)
    ]
    too_few = count(k, [s.is_running[each] for each in everyone(s)]) < majority(s)
    return k.any_of(too_few, k.all_of(s.leader_knows == UP_TO_DATE, *following))
