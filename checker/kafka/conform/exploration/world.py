"""The states and events of Kafka's own leader and controller, which are explored breadth first without the model.

The leader is kafka.cluster.Partition with a real log, the controller is ReplicationControlManager; followers are their log
ends, and a fetch is one step.  In every state, each replica that an election may choose must hold what the leader's high
watermark covers.  States are saved and restored in place; that this is right is shown by states that another process has found
and that this one reaches by running their whole path again: their identity must be the same.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from neverlost.checker.kafka.conform.cases.entry_calls import Call, Script
from neverlost.checker.kafka.conform.java.jvm import call, field_of
from neverlost.checker.kafka.conform.java.partition import AlterPartitionRequest, Broker, Host
from neverlost.checker.kafka.conform.java.replication_control_manager import Controller, PartitionState

LEADER, FOLLOWERS = 1, (2, 3)
LEADER_EPOCH, FIRST_PARTITION_EPOCH = 5, 10
LOST = "committed record is missing on an electable replica"

Event = str
Key = tuple[Any, ...]


@dataclass(frozen=True)
class Bounds:
    """The bounds of the exploration, and its stand-in fix.  `waits`: how often more than replica.lag.time.max.ms passes.
    `skips_known_epoch`: a metadata record whose partition epoch the leader has already is skipped, as a stand-in for a remedy
    of finding A."""

    records: int = 2
    waits: int = 1
    min_isr: int = 1
    skips_known_epoch: bool = False


@dataclass(frozen=True)
class Committed:
    """A metadata record of the partition."""

    isr: tuple[int, ...]
    partition_epoch: int


@dataclass(frozen=True)
class ControllerResponse:
    """The controller's answer to the newest request; `is_delivered`: the leader has received it."""

    error: str
    partition_epoch: int
    is_delivered: bool = False


@dataclass(frozen=True)
class ClassesState:
    """A state of Kafka's classes: the values of the fields that events change, and the messages in flight
    outside the classes."""

    fields: tuple[Any, ...]
    high_watermark: Any
    log_end: int
    replicas: tuple[Any, ...]
    request: AlterPartitionRequest | None
    now: int
    ends: tuple[int, ...]
    waits: int
    answer: ControllerResponse | None
    committed: tuple[Committed, ...]
    replayed: int


class NotedBroker:
    """A Broker that records the calls of its entry points."""

    def __init__(self, broker: Broker, calls: list[Call]) -> None:
        self.broker, self.calls = broker, calls

    def __getattr__(self, name: str) -> Any:
        """Return the broker's own attribute; a method is recorded when it is called."""
        found = getattr(self.broker, name)
        if name not in ENTRY_POINTS:
            return found

        def noted(*arguments: Any) -> Any:
            self.calls.append(Call(name, tuple(each for each in arguments if not isinstance(each, AlterPartitionRequest))))
            return found(*arguments)

        return noted


ENTRY_POINTS = ("learn", "append", "fetch", "shrink", "pass_lag", "look_again", "answer", "refuse")
"""What a path to a loss calls."""


class World:
    """One leader, one controller, and the messages between them."""

    def __init__(self, bounds: Bounds) -> None:
        self.bounds = bounds
        self.host, self.controller = Host(LEADER, bounds.min_isr), Controller(min_isr=bounds.min_isr)
        self.broker = Broker(self.host, (LEADER, *FOLLOWERS))
        self.broker.epochs = dict(self.controller.epochs)
        self.ends = dict.fromkeys(FOLLOWERS, 0)
        self.waits, self.answer, self.request = 0, None, None
        self.committed, self.replayed = [Committed((LEADER,), FIRST_PARTITION_EPOCH)], 0
        self._learn(self.committed[0])
        log_class = str(self.broker.log.getClass().getName())
        self._high_watermark = field_of(log_class, "highWatermarkMetadata")
        self._replica_state = field_of(str(self.broker.replica(FOLLOWERS[0]).getClass().getName()), "replicaState")
        self.first = self.save()

    answer: ControllerResponse | None
    request: AlterPartitionRequest | None

    def _learn(self, record: Committed) -> None:
        self.broker.learn(LEADER, record.isr, LEADER_EPOCH, record.partition_epoch)

    def save(self) -> ClassesState:
        """Return a copy of the present state."""
        partition, log = self.broker.partition, self.broker.log
        return ClassesState(
            fields=tuple(each.get(partition) for each in self.broker.fields),
            high_watermark=self._high_watermark.get(log),
            log_end=int(log.logEndOffset()),
            replicas=tuple(self._replica_state.get(self.broker.replica(each)).get() for each in FOLLOWERS),
            request=self.request,
            now=self.host.clock.now,
            ends=tuple(self.ends[each] for each in FOLLOWERS),
            waits=self.waits,
            answer=self.answer,
            committed=tuple(self.committed),
            replayed=self.replayed,
        )

    def restore(self, saved: ClassesState) -> None:
        partition, log = self.broker.partition, self.broker.log
        self.host.clock.now, self.waits, self.replayed = saved.now, saved.waits, saved.replayed
        self.ends, self.committed = dict(zip(FOLLOWERS, saved.ends, strict=True)), list(saved.committed)
        end = int(log.logEndOffset())
        if end > saved.log_end:
            log.truncateTo(saved.log_end)
        for _ in range(saved.log_end - end):
            self.broker.append_to_log(LEADER_EPOCH)
        for each, value in zip(self.broker.fields, saved.fields, strict=True):
            each.set(partition, value)
        self._high_watermark.set(log, saved.high_watermark)
        for each, value in zip(FOLLOWERS, saved.replicas, strict=True):
            self._replica_state.get(self.broker.replica(each)).set(value)
        self.request, self.answer = saved.request, saved.answer
        if saved.request is not None and not (saved.answer and saved.answer.is_delivered):
            # the same request again, with a future that is still open
            call(partition, "submitAlterPartition", saved.request.state)
            self.request = replace(self.broker.requests[-1], state=saved.request.state)
        self.broker.requests.clear()

    def events(self) -> Iterator[Event]:
        """Yield what can happen next."""
        seen = self.broker.seen()
        if seen.log_end < self.bounds.records:
            yield "append"
        known = dict(seen.remote)
        for each in FOLLOWERS:
            is_candidate = not seen.is_inflight and each not in seen.isr
            if self.ends[each] < seen.log_end or known[each] != self.ends[each] or is_candidate:
                yield f"fetch {each}"
        if seen.is_inflight and self.request is not None and self.answer is None:
            yield "controller"
        if self.answer is not None and not self.answer.is_delivered:
            yield "answer"
        if self.replayed + 1 < len(self.committed):
            yield "record"
        if self.waits < self.bounds.waits:
            yield "wait"
        yield "shrink"
        yield "look again"

    def do(self, event: Event) -> None:
        """Make one event happen."""
        if event.startswith("fetch "):
            self._fetch(int(event.removeprefix("fetch ")))
        else:
            STEPS[event](self)
        broker = self.broker
        if broker.requests:
            self.request, self.answer = broker.requests[-1], None
            broker.requests.clear()

    def _fetch(self, follower: int) -> None:
        self.broker.fetch(follower, self.ends[follower])
        self.ends[follower] = int(self.broker.log.logEndOffset())

    def _replay_record(self) -> None:
        self.replayed += 1
        record = self.committed[self.replayed]
        is_known = record.partition_epoch == int(self.broker.partition.getPartitionEpoch())
        if not (self.bounds.skips_known_epoch and is_known):
            self._learn(record)

    def _wait(self) -> None:
        self.waits += 1
        self.broker.pass_lag()

    def _control(self) -> None:
        """Let the controller handle the pending request."""
        assert self.request is not None
        self.install()
        error, epoch = self.controller.alter_partition(
            LEADER, self.request.isr, self.request.leader_epoch, self.request.partition_epoch
        )
        self.answer = ControllerResponse(error, epoch)
        if error == "NONE" and epoch > self.committed[-1].partition_epoch:
            self.committed.append(Committed(tuple(sorted(self.controller.read().isr)), epoch))

    def install(self) -> None:
        """Put the newest record into the controller."""
        newest = self.committed[-1]
        self.controller.install(
            PartitionState((LEADER, *FOLLOWERS), newest.isr, (), (), LEADER, (), (), LEADER_EPOCH, newest.partition_epoch)
        )

    def _answer(self) -> None:
        assert self.answer is not None and self.request is not None
        answer, request = self.answer, self.request
        self.answer = ControllerResponse(answer.error, answer.partition_epoch, is_delivered=True)
        if answer.error == "NONE":
            self.broker.answer(request, answer.partition_epoch)
        else:
            self.broker.refuse(request, answer.error)

    def key(self) -> Key:
        """Return the identity of the state, in which epochs count down from the newest record."""
        seen, newest = self.broker.seen(), self.committed[-1].partition_epoch
        caught_up = tuple(self.broker.is_caught_up(each, seen.log_end) for each in FOLLOWERS)
        asked: tuple[Any, ...] | None = None
        is_delivered = self.answer is not None and self.answer.is_delivered
        if self.request is not None and (seen.is_inflight or not is_delivered):
            answered = None if self.answer is None else (self.answer.error, newest - self.answer.partition_epoch)
            answered = ("delivered", 0) if is_delivered else answered
            asked = (self.request.isr, newest - self.request.partition_epoch, answered)
        return (
            seen.state,
            seen.isr,
            seen.maximal_isr,
            newest - seen.partition_epoch,
            seen.high_watermark,
            seen.log_end,
            seen.remote,
            caught_up,
            tuple(self.ends.values()),
            asked,
            self.committed[-1].isr,
            tuple((each.isr, newest - each.partition_epoch) for each in self.committed[self.replayed :]),
            self.waits,
        )

    def lacking(self) -> tuple[int, ...]:
        """Return the followers that an election may choose and that lack a record below the high watermark."""
        high_watermark = int(self.broker.log.highWatermark())
        return tuple(each for each in self.committed[-1].isr if each != LEADER and self.ends[each] < high_watermark)

    def close(self) -> None:
        self.host.close()

    def described(self, path: Sequence[Event]) -> list[str]:
        """Return what each event of a path does, and what an election then does."""
        self.restore(self.first)
        lines = [f"{'':24}{self._shown()}"]
        for number, event in enumerate(path, start=1):
            self.do(event)
            lines.append(f"{number:3} {event:20}{self._shown()}")
        high_watermark = int(self.broker.log.highWatermark())
        acknowledged = [self.broker.acknowledged(offset + 1) for offset in range(high_watermark)]
        lines.append(f"    acks=all up to offset {high_watermark}: {acknowledged}; lacking at {list(self.lacking())}: {LOST}")
        return lines

    def script(self, path: Sequence[Event]) -> Script:
        """Return the calls that a path to a loss makes, and how far the high watermark may be at its end."""
        self.restore(self.first)
        broker, first = self.broker, self.committed[0]
        noted = NotedBroker(broker, [Call("learn", (LEADER, first.isr, LEADER_EPOCH, first.partition_epoch))])
        self.broker = noted  # type: ignore[assignment]
        for event in path:
            self.do(event)
        self.broker = broker
        most = min(self.ends[each] for each in self.committed[-1].isr if each != LEADER)
        return Script(self.bounds.min_isr, 1 + len(FOLLOWERS), tuple(noted.calls), most=most)

    def _shown(self) -> str:
        seen, newest = self.broker.seen(), self.committed[-1]
        return (
            f"leader {LEADER}: {seen.state.removesuffix('PartitionState')} isr={list(seen.isr)} "
            f"maximalIsr={list(seen.maximal_isr)} partitionEpoch={seen.partition_epoch} HW={seen.high_watermark} "
            f"LEO={seen.log_end} | controller: isr={list(newest.isr)} partitionEpoch={newest.partition_epoch} "
            f"| logs end at {self.ends}"
        )


STEPS: dict[Event, Callable[[World], object]] = {
    "append": lambda world: world.broker.append(),
    "controller": World._control,
    "answer": World._answer,
    "record": World._replay_record,
    "wait": World._wait,
    "shrink": lambda world: world.broker.shrink(),
    "look again": lambda world: world.broker.look_again(),
}
"""What each event does, beside the fetches of the followers."""
