"""A state of the modern models from what a figure shows: logs, ISR, ELR, high watermarks and who runs.

Everything is settled: the leader knows its ISR, the controller knows who is down (but for a leader or ISR member that has just
stopped), nothing is under way.  What is committed and acknowledged follows by the model's own rules.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import takewhile
from typing import Any

from neverlost.model.faults import FAULTS
from neverlost.model.interpreters.ints import Ints, IntsView
from neverlost.model.kernel import NO_REPLICA
from neverlost.model.kraft.broker.high_watermark import (
    acknowledge,
    answer_producers,
    is_waited_for,
    note_committed,
    raise_high_watermark,
)
from neverlost.model.kraft.broker.leader import logs_agree
from neverlost.model.kraft.broker.log import log_end, truncate_to
from neverlost.model.kraft.lifecycle.stops import stop
from neverlost.model.kraft.state import ACKS, UP_TO_DATE, everyone
from neverlost.model.limits import left
from neverlost.model.system import State, System


@dataclass(frozen=True)
class DescribedState:
    """What is shown of a partition; brokers are numbers in assignment order, records numbers from 1.

    Shapes: `logs` of each broker by offset; `record_epochs` by record, as ranks from 0.  `high_watermarks` None: not shown.
    `acknowledged` None: those that the settings acknowledge.  Units: offsets count from the first that is shown.
    """

    logs: tuple[tuple[int, ...], ...]
    isr: frozenset[int]
    elr: frozenset[int]
    leader: int
    leader_epoch: int
    last_known_leader: int
    runs: tuple[bool, ...]
    stopped_cleanly: tuple[bool, ...]
    high_watermarks: tuple[int | None, ...]
    record_epochs: tuple[int, ...]
    acknowledged: frozenset[int] | None

    @property
    def records(self) -> int:
        return max((max(log, default=0) for log in self.logs), default=0)

    @property
    def shared_end(self) -> int:
        """How many first records all ISR members have alike, or all ELR members if the ISR is empty; 0 if both are empty."""
        logs = [self.logs[each] for each in self.isr or self.elr]
        return _shared_length(*logs) if logs else 0

    def agreed_end(self, broker: int) -> int:
        """Return how many first records a broker's log has as the leader's has them; there has to be a leader."""
        return _shared_length(self.logs[broker], self.logs[self.leader])


def _shared_length(*logs: tuple[int, ...]) -> int:
    """Return how many records all the logs have in common from the start: for one log all of its records, for no log 0."""
    return sum(1 for _ in takewhile(lambda same: len(set(same)) == 1, zip(*logs, strict=False)))


def build_state(system: System, shown: DescribedState) -> State:
    """Return the state of a system with one configuration that a description stands for.

    Errors: `ModelError` for values without room in the system, such as leader epochs that the limits of faults do not allow.
    """
    (configuration,) = system.configurations
    brokers, leader = range(len(shown.logs)), shown.leader
    slots = system.sizes["offset"]
    high = [_high_watermark(shown, each) for each in brokers]
    values: dict[str, Any] = {
        "leader": leader,
        "isr": [each in shown.isr for each in brokers],
        "elr": [each in shown.elr for each in brokers],
        "last_known_leader": shown.last_known_leader,
        "is_replica": True,
        "is_running": True,
        "is_fenced": [_is_fenced(shown, each) for each in brokers],
        "stopped_cleanly": list(shown.stopped_cleanly),
        "leader_knows": UP_TO_DATE,
        "follows": leader,
        "leader_isr": [[each == leader and member in shown.isr for member in brokers] for each in brokers],
        "log_record": [[*log, *[0] * (slots - len(log))] for log in shown.logs],
        "high_watermark": high,
        "fetch_offset": [[_noted(shown, each, other, high) for other in brokers] for each in brokers],
        "pending": NO_REPLICA,
        "stalled_on": NO_REPLICA,
        "late_sender": NO_REPLICA,
        "diverging_sender": NO_REPLICA,
        "leader_epoch": shown.leader_epoch,
        "led_epoch": [shown.leader_epoch if each == leader else 0 for each in brokers],
        "record_epoch": [*shown.record_epochs, *[0] * (system.sizes["record"] - len(shown.record_epochs))],
        "next_record": shown.records,
        **left(configuration, FAULTS),
    }
    view = IntsView(system, system.configured(configuration, values))
    _promise(view, shown)
    for each in brokers:
        if not shown.runs[each]:
            stop(Ints, view, each)
    if system.model.normalise is not None:
        system.model.normalise(Ints, view)
    return system.checked(tuple(view.values))


def handle_fetches(system: System, state: State) -> State:
    """Return the state after the leader, if it runs, has handled a fetch of every running ISR member with an agreeing log,
    and raised its high watermark."""
    view = IntsView(system, state)
    for leader in everyone(view):
        if view.leader == leader and view.is_running[leader]:
            for each in everyone(view):
                asks = view.is_running[each] and view.follows[each] == leader and is_waited_for(Ints, view, leader, each)
                if each != leader and asks and logs_agree(Ints, view, each, leader):
                    view.fetch_offset[leader][each] = max(log_end(Ints, view, each), view.high_watermark[leader])
            raise_high_watermark(Ints, view, leader)
    return system.checked(tuple(view.values))


def lose_while_down(system: System, state: State, broker: int, kept: int) -> State:
    """Return the state after a broker that is down has lost its log from offset `kept` on; with ELR and `kept` 0 it counts as
    stopped uncleanly."""
    view = IntsView(system, state)
    truncate_to(Ints, view, broker, kept)
    if system.sizes["elr"] and not kept:
        view.stopped_cleanly[broker] = False
    return system.checked(tuple(view.values))


def _is_fenced(shown: DescribedState, broker: int) -> bool:
    """Return True if a broker is down and has been missed: the partition has no leader, or the ISR lacks the broker."""
    return not shown.runs[broker] and (shown.leader == NO_REPLICA or broker not in shown.isr)


def _high_watermark(shown: DescribedState, broker: int) -> int:
    """Return what is shown, as it is.  If nothing is: for a follower the leader's, for the leader or without one `shared_end`,
    at most the length of the broker's log."""
    given = shown.high_watermarks[broker]
    if given is not None:
        return given
    leads = shown.leader in (broker, NO_REPLICA)
    known = shown.shared_end if leads else _high_watermark(shown, shown.leader)
    return min(len(shown.logs[broker]), known)


def _noted(shown: DescribedState, leader: int, follower: int, high: list[int]) -> int:
    """Return the fetch offset that the leader has noted of an ISR member: its high watermark or, if none is shown for it and
    that is more, how far the two logs agree; 0 for any other pair of brokers."""
    if leader != shown.leader or follower == leader or follower not in shown.isr:
        return 0
    return max(high[leader], shown.agreed_end(follower) if shown.high_watermarks[leader] is None else 0)


def _promise(view: IntsView, shown: DescribedState) -> None:
    """Effect: commit what is below a high watermark; acknowledge `shown.acknowledged` or, if that is None, by the settings.

    By the settings that is, with acks=all, what is below the high watermark, however small the ISR is; else a leader's log.
    """
    order = sorted(everyone(view), key=lambda each: each != shown.leader)
    for each in order:
        note_committed(Ints, view, each)
    if shown.acknowledged is not None:
        for record in range(len(view.ghost_acked)):
            view.ghost_acked[record] = record + 1 in shown.acknowledged
    elif shown.leader != NO_REPLICA:
        answer_producers(Ints, view, shown.leader, True)
        for record in shown.logs[shown.leader]:
            acknowledge(Ints, view, record, view.acks <= ACKS["1"])
    elif view.acks == ACKS["all"]:
        for record in view.ghost_committed:
            acknowledge(Ints, view, record, True)
