"""Random walks of a BrokerGroup: which events can come next is decided by Kafka's own state, never by the model."""

from __future__ import annotations

import random
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from neverlost.checker.kafka.conform.walk.broker_group import BROKERS, AlterMessage, BrokerGroup, GroupSight, PartitionImage
from neverlost.checker.kafka.conform.walk.replica_fetcher import MANY, ONE, FetchMessage

RECORDS, EVENTS, KILLS = 6, 60, 3
"""Records that producers send, events of a walk, and stops of brokers, at most."""

Arguments = tuple[int, ...]


@dataclass(frozen=True)
class WalkEvent:
    """An event of a walk; `fate` says what came of it."""

    name: str
    arguments: Arguments = ()
    fate: str = ""

    def __str__(self) -> str:
        text = SENTENCES[self.name].format(*self.arguments)
        return f"{text}: {self.fate}" if self.fate else text


SENTENCES = {
    "produce": "leader {0} appends a record with acks=all",
    "produce acks=1": "leader {0} appends a record with acks=1",
    "produce, then stall": "leader {0} appends a record with acks=all, and its request thread stands still",
    "thread goes on": "the request thread of {0} goes on",
    "send": "broker {0} sends a fetch for {1} bytes",
    "answer": "leader {1} handles the fetch of {0}",
    "deliver": "broker {0} processes the response of {1}",
    "lose": "the connection of {0} to {1} breaks",
    "lag": "a follower of {0} has not caught up for replica.lag.time.max.ms",
    "alter": "the controller handles AlterPartition of {0}",
    "alter answered": "leader {0} receives the answer to AlterPartition",
    "alter again": "broker {0} sends AlterPartition again",
    "metadata": "broker {0} replays the metadata log",
    "move leader": "preferred election of {0}",
    "kill": "broker {0} is killed",
    "power loss": "broker {0} loses power, and keeps the first {1} records of its log",
    "expire": "the session of {0} expires",
    "fence": "the session of {0}, which runs, expires",
    "heartbeat": "broker {0} heartbeats again, and is unfenced",
    "start": "broker {0} starts",
    "register": "broker {0} registers",
}

Drawn = tuple[str, Arguments]

STYLES: tuple[dict[str, float], ...] = (
    {},
    {"move leader": 3, "deliver": 0.4, "kill": 0.2, "metadata": 2},
    {"produce, then stall": 6, "move leader": 2, "metadata": 2, "kill": 0.3},
    {"kill": 4, "lag": 6, "start": 4, "expire": 0.7},
    {"kill": 4, "lag": 6, "start": 4, "alter": 0.1, "expire": 3},
)
"""By what the weights of events are multiplied in a walk; each walk draws one."""

WEIGHTS: dict[str, float] = {
    "produce": 3,
    "produce acks=1": 0.6,
    "produce, then stall": 0.4,
    "thread goes on": 1,
    "send": 5,
    "answer": 5,
    "deliver": 5,
    "lose": 0.25,
    "lag": 0.5,
    "alter": 3,
    "alter answered": 3,
    "alter again": 0.3,
    "metadata": 2,
    "move leader": 0.5,
    "kill": 0.12,
    "expire": 1,
    "fence": 0.12,
    "heartbeat": 1,
    "start": 1,
    "register": 1,
}


def fetched(follower: int, leader: int, size: int = MANY, times: int = 1) -> tuple[Drawn, ...]:
    """Return the events of a fetch that is answered and delivered, so many times."""
    pair = (follower, leader)
    return (("send", (follower, size)), ("answer", pair), ("deliver", pair)) * times


def handled(follower: int, leader: int, size: int = MANY) -> tuple[Drawn, ...]:
    """Return the events of a fetch whose response stays on its way."""
    return ("send", (follower, size)), ("answer", (follower, leader))


OPENINGS: dict[str, tuple[Drawn, ...]] = {
    "late bytes of a newer epoch": (
        *(("produce", (1,)), *fetched(2, 1), ("produce", (1,)), *handled(2, 1)),
        *(("move leader", (3,)), ("metadata", (3,)), ("produce", (3,)), ("produce", (3,))),
        *(("metadata", (1,)), *fetched(1, 3, times=2), ("deliver", (2, 1))),
    ),
    "late bytes of an older epoch": (
        *(("produce", (1,)), ("produce", (1,)), ("move leader", (3,)), ("metadata", (3,)), ("metadata", (2,))),
        *(("produce", (3,)), *fetched(2, 3), ("produce", (3,)), *handled(2, 3)),
        *(("move leader", (1,)), ("metadata", (1,)), ("metadata", (3,)), *fetched(3, 1, times=2), ("deliver", (2, 3))),
        *(("metadata", (2,)), *fetched(2, 1), *fetched(3, 1), ("move leader", (2,)), ("metadata", (2,))),
    ),
    "a request that stands still": (
        *(("produce, then stall", (1,)), ("move leader", (3,)), ("metadata", (3,)), ("metadata", (2,)), ("produce", (3,))),
        *(("metadata", (1,)), *fetched(1, 3, times=2), ("move leader", (1,)), ("metadata", (1,)), ("metadata", (2,))),
        *(("metadata", (3,)), *fetched(2, 1, times=2), *fetched(3, 1), ("thread goes on", (1,))),
    ),
    "a fetch before registration": (
        *(("produce", (1,)), *fetched(3, 1, times=2), ("lag", (1,)), ("alter", (1, 0)), ("alter answered", (1, 0))),
        *(("kill", (2,)), ("start", (2,)), *fetched(2, 1)),
    ),
    "an incarnation that has ended": (
        *(("produce", (1,)), *fetched(2, 1, times=2), ("lag", (1,)), ("alter", (1, 0)), ("alter answered", (1, 0))),
        *(*fetched(3, 1, times=2), ("kill", (3,)), ("expire", (3,)), ("start", (3,)), ("alter", (1, 0))),
        ("alter answered", (1, 0)),
    ),
    "a refused request comes again": (
        *(("produce", (1,)), *fetched(3, 1, times=2), ("lag", (1,)), ("alter", (1, 0)), ("alter answered", (1, 0))),
        *(("metadata", (1,)), *fetched(2, 1, times=2), ("alter again", (1, 0)), ("fence", (2,)), ("metadata", (1,))),
        *(("alter", (1, 1)), ("alter answered", (1, 1)), ("heartbeat", (2,))),
        *(("alter", (1, 0)), ("produce", (1,)), ("lag", (1,)), *fetched(3, 1, times=2)),
        *(("move leader", (2,)), ("metadata", (2,))),
    ),
    "a late record of an ISR change": (
        *(("produce", (1,)), *fetched(2, 1, times=2), ("lag", (1,)), ("alter", (1, 0)), ("alter answered", (1, 0))),
        *(*fetched(3, 1, times=2), ("metadata", (1,)), ("alter", (1, 0)), ("lag", (1,)), ("produce", (1,))),
        *(*fetched(2, 1, times=2), ("move leader", (3,)), ("metadata", (3,)), ("metadata", (1,)), *fetched(1, 3)),
    ),
}
"""How some walks begin: what is too rare to be drawn.  They go on at random."""
OPENED = 0.12
"""The share of walks that begin with one of the openings."""
SLOWED, SLOWNESS = ("deliver", "metadata"), 0.05
"""What comes late to the slow broker of a walk, if it has one, and how much less often."""


class RandomWalk:
    """One walk; the same group, seed and number give the same events."""

    def __init__(self, group: BrokerGroup, seed: int, number: int) -> None:
        self.group, self.random = group, random.Random(f"{seed}/{number}")
        self.style = self.random.choice(STYLES)
        self.slow = self.random.choice((None, *BROKERS))
        self.kills = 0
        self.opening = self.random.choice(tuple(OPENINGS.values())) if self.random.random() < OPENED else ()

    def run(self) -> Iterator[tuple[WalkEvent, GroupSight]]:
        """Yield the beginning and up to `EVENTS` events, each with what is seen after it."""
        self.group.begin()
        yield WalkEvent("begin"), self.group.view()
        for name, arguments in self.opening:
            yield take_event(self.group, name, arguments), self.group.view()
        for _ in range(EVENTS - len(self.opening)):
            drawn = list(self.possible())
            if not drawn:
                return
            name, arguments = self.random.choices(drawn, [self._weight(*each) for each in drawn])[0]
            if name != "kill":
                self.group.flush_leader_epochs()
            yield take_event(self.group, name, arguments), self.group.view()
            self.kills += name == "kill"

    def _weight(self, name: str, arguments: Arguments) -> float:
        is_slow = name in SLOWED and arguments[0] == self.slow
        return WEIGHTS[name] * self.style.get(name, 1) * (SLOWNESS if is_slow else 1)

    def possible(self) -> Iterator[Drawn]:
        """Yield the events that can come next within the walk's limits; how many bytes a fetch asks for is drawn."""
        group = self.group

        stalled = [each.broker for each in group.produced if each.is_stalled]

        def may(name: str) -> bool:
            limits = {"kill": self.kills < KILLS, "produce": group.records < RECORDS, "produce, then stall": not stalled}
            return {**limits, "time passes": False, "power loss": False}.get(name, True)

        behind = {me for me in group.brokers if group.next_image(me) is not None}
        fetches = list(group.fetches.values())
        for name, arguments in possible_events(group.processes, group.newest, behind, fetches, group.alters, stalled, may):
            yield name, ((*arguments[:1], self.random.choice((ONE, MANY))) if name == "send" else arguments)


def possible_events(
    processes: Mapping[int, Any],
    newest: PartitionImage,
    behind: Collection[int],
    fetches: Sequence[FetchMessage],
    alters: Sequence[AlterMessage],
    stalled: Sequence[int],
    may: Callable[[str], bool],
) -> Iterator[Drawn]:
    """Yield what can come next.  `processes` are BrokerProcesses, or what was saved of them; `behind` brokers with metadata to
    replay, `stalled` those where a request stands still; `may` says if an event that nothing brings about may come."""
    pairs = {(each.follower, each.leader) for each in fetches}
    for me, process in processes.items():
        is_fenced = me in newest.fenced
        if not process.serves and not is_fenced:
            yield "expire", (me,)
        if not process.is_up:
            if is_fenced or me not in newest.isr:
                yield "start", (me,)
            continue
        if not process.serves and is_fenced:
            yield "register", (me,)
        if may("kill"):
            yield "kill", (me,)
        if may("power loss"):
            yield from (("power loss", (me, kept)) for kept in range(len(process.log)))
        if process.serves and (is_fenced or may("fence")):
            yield ("heartbeat" if is_fenced else "fence"), (me,)
        if me in behind:
            yield "metadata", (me,)
        if process.serves and process.leads is not None:
            if may("produce"):
                yield from ((name, (me,)) for name in PRODUCED if may(name))
            if may("lag") and (process.slow == 1 or (process.slow == 0 and may("time passes"))):
                yield "lag", (me,)
        if process.fetches_from is not None and (me, process.fetches_from) not in pairs:
            yield "send", (me, MANY)
    for fetch in fetches:
        pair = fetch.follower, fetch.leader
        if may("lose"):
            yield "lose", pair
        if fetch.response is not None:
            yield "deliver", pair
        elif processes[fetch.leader].serves:
            yield "answer", pair
    for number, alter in enumerate(alters):
        yield ("alter" if alter.answer is None else "alter answered"), (alter.leader, number)
        if may("alter again") and not alter.is_abandoned:
            yield "alter again", (alter.leader, number)
    yield from (("thread goes on", (broker,)) for broker in stalled)
    for to in newest.isr:
        if to not in (newest.leader, *newest.fenced) and newest.leader in processes and may("move leader"):
            yield "move leader", (to,)


PRODUCED = ("produce", "produce acks=1", "produce, then stall")


def take_event(group: BrokerGroup, name: str, arguments: Arguments) -> WalkEvent:
    """Make an event happen, with all that follows at once (requests are sent, producers answered); return it with its fate."""
    fate = EFFECTS[name](group, *arguments)
    group.answer_producers()
    group.collect_requests()
    return WalkEvent(name, arguments, "" if fate is None else str(fate))


def _metadata(group: BrokerGroup, me: int) -> str:
    image = group.next_image(me)
    assert image is not None
    group.replay(me, image)
    return f"leader {image.leader} of epoch {image.leader_epoch}, ISR {sorted(image.isr)}"


def _go_on(group: BrokerGroup, me: int) -> None:
    for each in group.produced:
        each.is_stalled &= each.broker != me


def _lose(group: BrokerGroup, follower: int, leader: int) -> None:
    del group.fetches[follower, leader]


EFFECTS: dict[str, Callable[..., object]] = {
    "produce": lambda group, me: group.produce(me, -1),
    "produce acks=1": lambda group, me: group.produce(me, 1),
    "produce, then stall": lambda group, me: group.produce(me, -1, stalls=True),
    "thread goes on": _go_on,
    "send": lambda group, me, size: None if group.send(me, size) else "nothing to send",
    "answer": BrokerGroup.answer,
    "deliver": BrokerGroup.deliver,
    "lose": _lose,
    "lag": BrokerGroup.lag,
    "alter": lambda group, me, number: group.alter(group.alters[number]),
    "alter answered": lambda group, me, number: group.answer_alter(group.alters[number]),
    "alter again": lambda group, me, number: group.alter_again(group.alters[number]),
    "metadata": _metadata,
    "move leader": BrokerGroup.move_leader,
    "kill": BrokerGroup.kill,
    "power loss": BrokerGroup.kill,
    "expire": BrokerGroup.expire,
    "fence": BrokerGroup.expire,
    "heartbeat": BrokerGroup.heartbeat,
    "start": BrokerGroup.start,
    "register": BrokerGroup.register,
}
"""What each event does to a group."""
