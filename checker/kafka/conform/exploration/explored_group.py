"""The states and events of a whole BrokerGroup: what can happen next, and what comes of it.

An event is done by Kafka's own classes the first time that it meets what it reads: the brokers that it runs on, the messages
that it takes, the controller's newest image.  They are put back into the group, the event happens, and what it has changed is
read; from then on that is remembered.  That an event reads nothing else is shown by paths that are walked on a second group
from the beginning, each of which must lead to the state that was found.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any, Generic, NamedTuple, TypeVar

from neverlost.checker.kafka.conform.exploration.saved_process import (
    Key,
    ProcessSaver,
    RestoreError,
    SavedProcess,
    request_key,
    segment_of,
)
from neverlost.checker.kafka.conform.java.jvm import field_of
from neverlost.checker.kafka.conform.java.replication_control_manager import Controller, PartitionState
from neverlost.checker.kafka.conform.walk.broker_group import AlterMessage, BrokerGroup, PartitionImage, ProduceRequest
from neverlost.checker.kafka.conform.walk.random_walk import Arguments, Drawn, WalkEvent, possible_events, take_event
from neverlost.checker.kafka.conform.walk.replica_fetcher import FetchMessage
from neverlost.checker.kafka.conform.walk.walks import Steps

Item = TypeVar("Item")


@dataclass(frozen=True)
class Bounds:
    """How far an exploration goes: brokers, and how often each event may happen that is not brought about by another one.
    `acks_one`: how many of the records have acks=1."""

    brokers: int = 2
    min_isr: int = 1
    records: int = 1
    acks_one: int = 0
    moves: int = 1
    kills: int = 1
    power_losses: int = 0
    lags: int = 0
    stalls: int = 0
    fences: int = 0
    losses: int = 0
    copies: int = 0
    skips_known_epoch: bool = False

    def group(self) -> BrokerGroup:
        """Return a new BrokerGroup with these numbers of brokers and of min.insync.replicas."""
        return BrokerGroup(self.min_isr, range(1, self.brokers + 1), self.skips_known_epoch)


LIMITED = {
    "produce acks=1": "acks_one",
    "produce, then stall": "stalls",
    "move leader": "moves",
    "kill": "kills",
    "power loss": "power_losses",
    "lag": "lags",
    "fence": "fences",
    "lose": "losses",
    "alter again": "copies",
}
"""The bound of each event that has one."""

STOPS = ("kill", "power loss")


class GroupState(NamedTuple):
    """A state: brokers, images and messages by the numbers that they have in an ExploredGroup.

    `images` are those that some broker has still to replay, and the one before; `left` says how many are left for each broker,
    -1 if it is down; `replicas` is the order of assignment; `committed` are the records that were below the high watermark of a
    leader, so that a consumer may have read them; `spent` counts the events that are limited, by LIMITED.
    """

    processes: tuple[int, ...]
    images: tuple[int, ...]
    left: tuple[int, ...]
    replicas: tuple[int, ...]
    fetches: tuple[int, ...]
    alters: tuple[int, ...]
    produced: tuple[tuple[int, int, int, bool], ...]
    acked: frozenset[int]
    records: int
    spent: tuple[int, ...]
    committed: frozenset[int] = frozenset()


class Numbered(Generic[Item]):
    """A table of things that numbers them; those with equal keys have one number."""

    def __init__(self) -> None:
        self.numbers: dict[Hashable, int] = {}
        self.items: list[Item] = []
        self.keys: list[Hashable] = []

    def number(self, key: Hashable, item: Item) -> int:
        found = self.numbers.setdefault(key, len(self.items))
        if found == len(self.items):
            self.items.append(item)
            self.keys.append(key)
        return found

    def __getitem__(self, number: int) -> Item:
        return self.items[number]


class Needs(NamedTuple):
    """What an event reads and changes.  It reads these `brokers`, the AlterPartition messages of these and of the leaders in
    `alters`, and the fetches of these `pairs` (follower, leader).  The flags say if it also reads the `controller`, the images
    that the first broker has to replay (`metadata`), and the count of `records`."""

    brokers: Arguments = ()
    alters: Arguments = ()
    pairs: tuple[tuple[int, int], ...] = ()
    controller: bool = False
    metadata: bool = False
    records: bool = False


class EventOutcome(NamedTuple):
    """What an event read, as it is afterwards.  `images`, `acked` and `records` hold only what it added.  `left` is how many
    images the first broker still has to replay: -1 if it is down, None if the event does not change that."""

    processes: tuple[int, ...]
    fetches: tuple[int, ...]
    alters: tuple[int, ...]
    produced: tuple[tuple[int, int, int, bool], ...]
    acked: frozenset[int]
    records: int
    images: tuple[int, ...]
    replicas: tuple[int, ...]
    left: int | None


class ExploredGroup:
    """A group of brokers whose states are saved, restored, and told apart."""

    def __init__(self, bounds: Bounds) -> None:
        self.bounds, self.group = bounds, bounds.group()
        self.saver = ProcessSaver(self.group)
        self.processes, self.images = Numbered[SavedProcess](), Numbered[PartitionImage]()
        self.fetches, self.alters = Numbered[FetchMessage](), Numbered[AlterMessage]()
        self.outcomes: dict[Hashable, EventOutcome] = {}
        self.controllers: dict[tuple[tuple[int, int], ...], Controller] = {}
        self.group.begin()
        self.first = self.read((0,) * len(LIMITED))

    def close(self) -> None:
        self.group.close()

    # reading the group

    def read(self, spent: tuple[int, ...], committed: frozenset[int] = frozenset()) -> GroupState:
        """Return the present state of the group, with these counts of limited events and records below a high watermark."""
        group = self.group
        processes = tuple(self._process_number(me) for me in group.brokers)
        images = tuple(self.images.number(each, each) for each in group.images)
        left = tuple(len(images) - each.replayed if each.is_up else -1 for each in group.processes.values())
        messages = self._fetch_numbers(), self._alter_numbers(), _requests(group)
        order, acked, records = group.controller.read().replicas, group.acked, group.records
        return _trimmed(GroupState(processes, images, left, order, *messages, acked, records, spent, committed))

    def _process_number(self, me: int) -> int:
        saved = self.saver.save(me)
        return self.processes.number((me, saved.key), saved)

    def _fetch_numbers(self) -> tuple[int, ...]:
        found = [(pair, self.fetches.number(_fetch_key(each), replace(each))) for pair, each in self.group.fetches.items()]
        return tuple(number for _, number in sorted(found))

    def _alter_numbers(self) -> tuple[int, ...]:
        by_leader = sorted(self.group.alters, key=lambda each: each.leader)
        return tuple(self.alters.number(_alter_key(each), replace(each)) for each in by_leader)

    def whole_key(self, state: GroupState) -> Key:
        """Return what a state's numbers stand for in place of them, so that states of two groups can be compared."""
        numbered = (self.images, state.images), (self.fetches, state.fetches), (self.alters, state.alters)
        found = [tuple(table.keys[each] for each in numbers) for table, numbers in numbered]
        return (tuple(self.processes[each].key for each in state.processes), *found, *state[2:4], *state[6:])

    # what can happen

    def events(self, state: GroupState) -> Iterator[Drawn]:
        """Yield the events possible in a state; an AlterPartition request is numbered, from 0, among those of its leader."""
        limits = {name: getattr(self.bounds, bound) for name, bound in LIMITED.items()}
        may = {name: limit > spent for (name, limit), spent in zip(limits.items(), state.spent, strict=True)}
        may |= {"produce": state.records < self.bounds.records, "time passes": True}
        processes = {me: self.processes[number] for me, number in enumerate(state.processes, start=1)}
        behind = [me for me, left in enumerate(state.left, start=1) if left > 0]
        alters = [self.alters[each] for each in state.alters]
        leaders = [each.leader for each in alters]
        rest = [self.fetches[each] for each in state.fetches], alters, [each[1] for each in state.produced if each[3]]
        for name, arguments in possible_events(processes, self.images[state.images[-1]], behind, *rest, may.__getitem__):
            if name.startswith("alter"):
                arguments = arguments[0], arguments[1] - leaders.index(arguments[0])
            yield name, arguments

    # what comes of it

    def retrace(self, path: Sequence[Drawn]) -> GroupState:
        """Return the state to which a path leads from the beginning, with nothing from memory."""
        views = [view for _, view in self.walk(path)]
        leading = [each for view in views for each in view.brokers if each.state == "leads"]
        committed = frozenset(record for each in leading for record, _ in each.log[: each.high_watermark])
        names = [name for name, _ in path]
        return self.read(tuple(names.count(each) for each in LIMITED), committed)

    def walk(self, path: Sequence[Drawn]) -> Steps:
        """Begin again and take the events of a path; return the beginning and each event, each with what is seen after it."""
        group = self.group
        group.end()
        group.begin()
        for me in group.brokers:
            self.saver.save(me)
        steps = [(WalkEvent("begin"), group.view())]
        for name, arguments in path:
            if name in STOPS:
                self.saver.save(arguments[0])
            if name.startswith("alter"):
                leader, number = arguments
                arguments = leader, [at for at, each in enumerate(group.alters) if each.leader == leader][number]
            steps.append((take_event(group, name, arguments), group.view()))
        return steps

    def broken(self, state: GroupState) -> str | None:
        """Return the name of a property that a state breaks; None if it breaks none."""
        processes = [self.processes[each] for each in state.processes]
        newest = self.images[state.images[-1]]
        leader = processes[newest.leader - 1] if newest.leader in self.group.brokers else None
        if leader is not None and leader.serves and leader.leads == newest.leader_epoch:
            has = {record for record, _ in leader.log}
            if not state.acked <= has:
                return "acked-never-lost"
            if not state.committed <= has:
                return "committed-never-lost"
        up = [each for each in processes if each.is_up]
        for one, other in combinations(up, 2):
            end = min(one.high_watermark, other.high_watermark)
            if one.log[:end] != other.log[:end]:
                return "log-matching"
            if one.leads is not None and one.leads == other.leads:
                return "single-leader-per-epoch"
        return None

    def take(self, state: GroupState, event: Drawn) -> GroupState:
        """Return the state after an event; Kafka's classes do it once, and what has been met before is looked up."""
        name, arguments = event
        needs = self._needs(state, event)
        fetches = tuple(each for each in state.fetches if self._pair(each) in needs.pairs)
        alters = tuple(each for each in state.alters if self.alters[each].leader in (*needs.brokers, *needs.alters))
        produced = tuple(each for each in state.produced if each[1] in needs.brokers)
        images: tuple[int, ...] = ()
        if needs.metadata:
            images = state.images[-state.left[arguments[0] - 1] - 1 :]
        elif needs.controller:
            images = state.images[-1:]
        processes = tuple(state.processes[each - 1] for each in needs.brokers)
        replicas, records = state.replicas if needs.controller else (), state.records if needs.records else 0
        read = GroupState(processes, images, (), replicas, fetches, alters, produced, frozenset(), records, ())
        found = self.outcomes.get((event, read))
        if found is None:
            found = self.outcomes[event, read] = self._happen(event, needs, read)
        after = dict(zip(needs.brokers, found.processes, strict=True))
        left = [count + len(found.images) if count >= 0 else -1 for count in state.left]
        if found.left is not None:
            left[needs.brokers[0] - 1] = found.left
        spent = state.spent
        if name in LIMITED:
            at = tuple(LIMITED).index(name)
            spent = (*spent[:at], spent[at] + 1, *spent[at + 1 :])
        whole = GroupState(
            tuple(after.get(me, number) for me, number in enumerate(state.processes, start=1)),
            state.images + found.images,
            tuple(left),
            found.replicas or state.replicas,
            self._merged(state.fetches, fetches, found.fetches, self._pair),
            self._merged(state.alters, alters, found.alters, lambda each: self.alters[each].leader),
            tuple(sorted({*state.produced} - {*produced} | {*found.produced})),
            state.acked | found.acked,
            state.records + found.records,
            spent,
            state.committed.union(*(self.processes[each].committed for each in found.processes)),
        )
        return _trimmed(whole)

    def _pair(self, fetch: int) -> tuple[int, int]:
        found = self.fetches[fetch]
        return found.follower, found.leader

    def _merged(
        self, before: tuple[int, ...], taken: tuple[int, ...], after: tuple[int, ...], order: Callable[[int], Any]
    ) -> tuple[int, ...]:
        """Return the messages of `before` with those of `after` in place of those that were `taken`, sorted by `order`."""
        if taken == after:
            return before
        return tuple(sorted([*[each for each in before if each not in taken], *after], key=order))

    def _needs(self, state: GroupState, event: Drawn) -> Needs:
        name, arguments = event
        me = arguments[:1]
        if name == "send":
            leader = self.processes[state.processes[me[0] - 1]].fetches_from
            assert leader is not None
            return Needs(me, pairs=((me[0], leader),))
        if name in ("answer", "deliver", "lose"):
            brokers = {"answer": arguments[1:], "deliver": arguments}.get(name, ())
            return Needs(brokers, pairs=((me[0], arguments[1]),))
        if name in STOPS:
            others = self.group.brokers
            return Needs(me, pairs=tuple(pair for each in others for pair in ((me[0], each), (each, me[0]))))
        if name in ("alter", "alter again"):
            return Needs(alters=me, controller=name == "alter")
        if name in ("move leader", "expire", "fence", "heartbeat"):
            return Needs(controller=True)
        is_start = name in ("start", "register")
        return Needs(me, controller=is_start, metadata=name in ("metadata", "register"), records=name.startswith("produce"))

    def _happen(self, event: Drawn, needs: Needs, read: GroupState) -> EventOutcome:
        """Let Kafka's classes do an event for the first time with what it reads; return what it has changed."""
        group, (name, _) = self.group, event
        for me, number in zip(needs.brokers, read.processes, strict=True):
            self.saver.restore(me, self.processes[number])
        group.images = [self.images[each] for each in read.images] or group.images[-1:]
        if needs.controller:
            self._restore_controller(group.images[-1], read.replicas)
        if needs.metadata:
            group.processes[needs.brokers[0]].replayed = 1
        group.fetches = {self._pair(each): self._restored_fetch(self.fetches[each], needs) for each in read.fetches}
        group.alters = [self._restored_alter(self.alters[each], needs) for each in read.alters]
        group.produced = [ProduceRequest(*each) for each in read.produced]
        group.records, group.acked = read.records, frozenset()
        before = len(group.images)
        take_event(group, *event)
        if needs.controller:
            self.controllers[_epochs_of(group.controller)] = group.controller
        left = None
        if needs.metadata or name == "start":
            left = len(group.images) - group.processes[needs.brokers[0]].replayed
        elif name in STOPS:
            left = -1
        return EventOutcome(
            tuple(self._process_number(me) for me in needs.brokers),
            *(self._fetch_numbers(), self._alter_numbers(), _requests(group), group.acked, group.records - read.records),
            tuple(self.images.number(each, each) for each in group.images[before:]),
            group.controller.read().replicas if needs.controller else (),
            left,
        )

    def _restored_fetch(self, saved: FetchMessage, needs: Needs) -> FetchMessage:
        """Return a copy of a fetch; if the event runs on its leader, a response that is a slice of the leader's segment reads
        the file that is open now."""
        records = None if saved.response is None else saved.response.records()
        if records is not None and saved.leader in needs.brokers and _slice_bounds(records) is not None:
            file = segment_of(self.group.broker(saved.leader).log).log()
            for name in ("file", "channel"):
                field = field_of(str(records.getClass().getName()), name)
                field.set(records, field.get(file))
        return replace(saved)

    def _restored_alter(self, saved: AlterMessage, needs: Needs) -> AlterMessage:
        """Return a copy of a message; if the event runs on the message's leader, with the request that it waits for, if any."""
        is_awaited = saved.leader in needs.brokers and not saved.is_abandoned
        waiting = self.group.broker(saved.leader).sent if is_awaited else None
        return replace(saved, request=waiting or saved.request)

    def _restore_controller(self, image: PartitionImage, replicas: tuple[int, ...]) -> None:
        group = self.group
        is_there = image.epochs in self.controllers
        group.controller = self.controllers.pop(image.epochs) if is_there else self._controller(image)
        state = PartitionState(replicas, image.isr, (), (), image.leader, (), (), image.leader_epoch, image.partition_epoch)
        group.controller.end_sessions()
        group.controller.install(state, image.fenced)

    def _controller(self, image: PartitionImage) -> Controller:
        """Return a new controller with which brokers registered again, so that they have the broker epochs of the image.
        Errors: `RestoreError` if they cannot get these."""
        found = Controller(self.group.brokers, min_isr=self.bounds.min_isr)
        late = sorted((epoch, me) for me, epoch in image.epochs if epoch > found.epochs[me])
        for epoch, me in late:
            found.offset = epoch - 1
            found.register(me, clean=False)
            found.heartbeat(me)
        if _epochs_of(found) != image.epochs:
            raise RestoreError(f"brokers registered again have epochs {found.epochs}, not {dict(image.epochs)}")
        return found


def _epochs_of(controller: Controller) -> tuple[tuple[int, int], ...]:
    return tuple(sorted(controller.epochs.items()))


def _requests(group: BrokerGroup) -> tuple[tuple[int, int, int, bool], ...]:
    return tuple(sorted((each.record, each.broker, each.offset, each.is_stalled) for each in group.produced))


def _trimmed(state: GroupState) -> GroupState:
    """Return a state without the images that every broker has replayed, but for the last of them."""
    kept = max(state.left) + 1
    return state if len(state.images) <= max(kept, 1) else state._replace(images=state.images[-max(kept, 1) :])


def _slice_bounds(records: Any) -> tuple[int, int] | None:
    """Return where a slice of a segment's file begins, and its size; None for records that are in memory."""
    if "FileRecords" not in str(records.getClass().getName()):
        return None
    return int(field_of(str(records.getClass().getName()), "start").get(records)), int(records.sizeInBytes())


def _fetch_key(message: FetchMessage) -> Key:
    data, response = message.data, message.response
    asked = (int(data.fetchOffset), str(data.currentLeaderEpoch), str(data.lastFetchedEpoch), int(data.maxBytes))
    given: Key | None = None
    if response is not None:
        records, diverging = response.records(), response.divergingEpoch()
        given = (
            *(int(response.errorCode()), int(response.highWatermark()), int(diverging.epoch()), int(diverging.endOffset())),
            None if records is None else (_slice_bounds(records), int(records.sizeInBytes())),
        )
    return (message.follower, message.leader, message.epoch, asked, given)


def _alter_key(message: AlterMessage) -> Key:
    request = request_key(message.request)
    return (message.leader, request, tuple(sorted(message.epochs.items())), message.answer, message.is_abandoned)
