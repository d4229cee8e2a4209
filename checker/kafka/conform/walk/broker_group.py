"""Three of Kafka's own brokers and its controller in one Java: for each broker a Partition with a real log and the fetcher of a
follower, and ReplicationControlManager with its records.

What lies between them is here: fetches and their responses, AlterPartition requests and their answers, and the metadata log,
which each broker replays in its own time.  Any of them may be late or lost; requests that a broker sends again when a
connection breaks may be handled twice.

Source: ReplicaManager.applyDelta (which calls are made when the metadata changes), DefaultAlterPartitionManager (one request of
a partition at a time), BrokerServer.startup (a process fetches before it has registered), DelayedProduce.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from neverlost.checker.kafka.conform.java.jvm import (
    PACKAGE,
    call,
    constant,
    field_of,
    first_class,
    java_class,
    kafka_class,
    proxy,
)
from neverlost.checker.kafka.conform.java.partition import LOG, AlterPartitionRequest, Broker, Host, error_of
from neverlost.checker.kafka.conform.java.replication_control_manager import Controller
from neverlost.checker.kafka.conform.walk.replica_fetcher import MANY, FetchMessage, ReplicaFetcher, ReplicaManagerStub
from neverlost.model.kraft.state import BEHIND, ELECTED, UP_TO_DATE

BROKERS = (1, 2, 3)
NO_EPOCH, FIRST = -1, ord("a")
INELIGIBLE = ("INELIGIBLE_REPLICA", "INVALID_REQUEST")
"""Refusals after which a leader goes back to the ISR that it knows."""

Log = tuple[tuple[int, int], ...]
"""The records of a log, each with its leader epoch; records are numbered from 1 in the order of their append."""


@dataclass(frozen=True)
class PartitionImage:
    """What the controller has written: the partition, the registered brokers with their epochs, and who is fenced."""

    leader: int
    isr: tuple[int, ...]
    leader_epoch: int
    partition_epoch: int
    epochs: tuple[tuple[int, int], ...]
    fenced: frozenset[int]


@dataclass
class ProduceRequest:
    """A producer's request whose record is number `record` and ends at `offset` (exclusive) of the broker's log."""

    record: int
    broker: int
    offset: int
    is_stalled: bool


@dataclass
class AlterMessage:
    """A copy of an AlterPartition request on its way to the controller; nobody waits for the answer to one `is_abandoned`."""

    leader: int
    request: AlterPartitionRequest
    epochs: dict[int, int]
    answer: tuple[str, int] | None = None
    is_abandoned: bool = False


class WalkedBroker(Broker):
    """A Broker whose records are told apart, and whose channel to the controller takes one request at a time."""

    sent: AlterPartitionRequest | None = None
    last_sent: AlterPartitionRequest | None = None
    """The request that is not answered yet, and the newest one."""

    @property
    def epoch(self) -> int:
        """The leader epoch that the broker knows."""
        return int(self.partition.getLeaderEpoch())

    def _submitted(self, partition: Any, sent: Any, *controller_epoch: Any) -> Any:
        if self.sent is not None:
            future = java_class("java.util.concurrent.CompletableFuture")()
            future.completeExceptionally(kafka_class("common.protocol.Errors").OPERATION_NOT_ATTEMPTED.exception())
            return future
        found = super()._submitted(partition, sent, *controller_epoch)
        self.sent = self.last_sent = self.requests[-1]
        return found


@dataclass(frozen=True)
class BrokerSight:
    """What can be seen of a broker.

    `state` is `leads`, `follows`, `unregistered` or `down`; `follows` the leader of the same leader epoch, if it has one; `isr`
    and `asked` what a leader knows and whom it asks to add or drop.  `asked` is None where the answer is on its way or will be
    a refusal, and where the controller has another leader or epoch.  `asks_early`: it asks to add a replica that has not
    reached its high watermark.  `is_half_truncated`: its last response said that its log diverges, and it still does.
    """

    state: str
    log: Log
    high_watermark: int = 0
    follows: int | None = None
    isr: frozenset[int] = frozenset()
    asked: frozenset[int] | None = frozenset()
    began_unregistered: bool = False
    asks_early: bool = False
    is_half_truncated: bool = False


@dataclass(frozen=True)
class GroupSight:
    """What can be seen of all at one moment.

    `leader_knows`: how far the elected leader may have followed the controller, as values of the model's field of this name:
    now, and after an answer that is on its way to it; `coming`: the followers to which a response is on its way; `forgotten`:
    the ISRs that unanswered requests ask for whose leader has given them up; `acked`: records acknowledged to acks=all;
    `stalled`: the broker and the offset of the record whose request stands still; `metadata`: what each broker has replayed
    last; `names_no_epoch`: leaders with a broker whose epoch their request does not name.
    """

    leader: int
    isr: frozenset[int]
    fenced: frozenset[int]
    leader_knows: frozenset[int]
    brokers: tuple[BrokerSight, ...]
    coming: frozenset[int]
    forgotten: frozenset[frozenset[int]]
    acked: frozenset[int]
    stalled: tuple[int, int] | None = None
    metadata: tuple[PartitionImage, ...] = ()
    names_no_epoch: frozenset[tuple[int, int]] = frozenset()


@dataclass
class BrokerProcess:
    """One broker: its host, which survives its process, and the process while there is one (`broker` None: it is down).
    `replayed` counts the metadata images that it has applied; `log` is the content of its log as it was read last."""

    host: Host
    manager: ReplicaManagerStub
    fetchers: dict[int, ReplicaFetcher] = field(default_factory=dict)
    broker: WalkedBroker | None = None
    epoch: int = NO_EPOCH
    is_registered: bool = False
    began_unregistered: bool = False
    replayed: int = 0
    fetches_from: int | None = None
    is_half_truncated: bool = False
    log: Log = ()

    @property
    def is_up(self) -> bool:
        return self.broker is not None

    @property
    def serves(self) -> bool:
        """Whether the broker handles requests: it runs, and has registered."""
        return self.broker is not None and self.is_registered

    @property
    def leads(self) -> int | None:
        """The leader epoch in which the broker leads; None if it is down or does not lead."""
        return self.broker.epoch if self.broker is not None and self.broker.partition.isLeader() else None

    @property
    def slow(self) -> int:
        """How many members of a leader's ISR are not at its log end; 0 if the broker is down."""
        if self.broker is None:
            return 0
        isr, log_end = self.broker.isr(), int(self.broker.log.logEndOffset())
        return sum(each in isr and end != log_end for each, end in self.broker.remote_ends())


class BrokerGroup:
    """The brokers of one Java, which is reused for many walks.  `skips_known_epoch`: a record of a partition epoch that the
    broker has already is not applied, as a stand-in for a remedy of a late record of an ISR change."""

    def __init__(self, min_isr: int, brokers: Sequence[int] = BROKERS, skips_known_epoch: bool = False) -> None:
        self.min_isr, self.brokers, self.skips_known_epoch = min_isr, tuple(brokers), skips_known_epoch
        self.processes: dict[int, BrokerProcess] = {}
        for me in self.brokers:
            host = Host(me, min_isr)
            process = self.processes[me] = BrokerProcess(host, ReplicaManagerStub(host.configuration, host.statistics))
            for leader in self.brokers:
                if leader != me:
                    process.fetchers[leader] = ReplicaFetcher(me, leader, host.configuration, process.manager)
        self.number = 0

    def begin(self) -> None:
        """Create a new partition, which broker 1 leads with all in sync, and let every broker apply that."""
        self.number += 1
        self.controller = Controller(self.brokers, min_isr=self.min_isr)
        self.images = [self._image()]
        self.fetches: dict[tuple[int, int], FetchMessage] = {}
        self.alters: list[AlterMessage] = []
        self.produced: list[ProduceRequest] = []
        self.records, self.acked = 0, frozenset[int]()
        for me, process in self.processes.items():
            process.host.clock.now += 1
            self._start(me, registered=True)

    def end(self) -> None:
        """End the walk: delete the log of every broker."""
        for process in self.processes.values():
            broker = process.broker or self._made(process)
            self._stop_fetching(process, broker.topic_partition)
            process.manager.forget(broker.topic_partition)
            if not broker.partition.log().isEmpty():
                self._close(process, broker.log, delete=True)
            process.broker, process.log = None, ()

    def close(self) -> None:
        for each in self.processes.values():
            each.host.close()

    def _image(self) -> PartitionImage:
        found, epochs = self.controller.read(), tuple(sorted(self.controller.epochs.items()))
        isr = tuple(sorted(found.isr))
        return PartitionImage(found.leader, isr, found.leader_epoch, found.partition_epoch, epochs, self.controller.fenced())

    @property
    def newest(self) -> PartitionImage:
        """The image of what the controller has decided last."""
        return self.images[-1]

    def _note(self) -> None:
        """Store an image of what the controller holds, if it differs from the newest one."""
        found = self._image()
        if found != self.newest:
            self.images.append(found)

    def broker(self, me: int) -> WalkedBroker:
        """Return the broker of a process, which must run."""
        found = self.processes[me].broker
        assert found is not None
        return found

    # processes

    def _made(self, process: BrokerProcess) -> WalkedBroker:
        """Return a new WalkedBroker on the host of this process, for the walk's partition."""
        return WalkedBroker(process.host, self.brokers, self.number)

    def open_broker(self, me: int) -> WalkedBroker:
        """Give a process a new broker for the walk's partition, which knows no metadata yet; return it."""
        process = self.processes[me]
        broker = process.broker = self._made(process)
        process.manager.host(broker.topic_partition, broker.partition)
        return broker

    def _start(self, me: int, registered: bool) -> None:
        """Start a process, `registered` or not yet: it opens its log, and applies the newest metadata."""
        process, broker = self.processes[me], self.open_broker(me)
        process.is_registered, process.began_unregistered = registered, not registered
        broker.own_epoch = process.epoch = self.controller.epochs[me] if registered else NO_EPOCH
        process.replayed, process.fetches_from, process.is_half_truncated = 0, None, False
        self.replay(me, self.newest)

    def flush_leader_epochs(self) -> None:
        """Write the leader-epoch caches that wait: Kafka's scheduler does it at once, so that only a kill can come before."""
        for process in self.processes.values():
            process.host.flush_leader_epochs()

    def _stop_fetching(self, process: BrokerProcess, topic_partition: Any) -> None:
        if process.fetches_from is not None:
            process.fetchers[process.fetches_from].remove(topic_partition)
        process.fetches_from = None

    def _close(self, process: BrokerProcess, log: Any, delete: bool = False) -> None:
        """Close a log, or delete its files too, and forget it: who opens it again recovers it from its files."""
        process.host.flushes.clear()
        call(log, "delete" if delete else "close")
        logs = field_of(str(process.host.logs.getClass().getName()), "currentLogs").get(process.host.logs)
        logs.remove(log.topicPartition())

    def kill(self, me: int, kept: int | None = None) -> None:
        """End a process: its requests and connections go, its files stay; with `kept` (a power loss) only that many records."""
        process, broker = self.processes[me], self.broker(me)
        log, file = self.read_log(me), str(broker.log.activeSegment().log().file())
        self._stop_fetching(process, broker.topic_partition)
        process.manager.forget(broker.topic_partition)
        self._close(process, broker.log)
        if kept is not None:
            os.truncate(file, kept * (VALUE + 2))
        process.broker, process.is_registered, process.log = None, False, log[:kept]
        self.fetches = {pair: each for pair, each in self.fetches.items() if me not in pair}
        self.alters = [each for each in self.alters if each.leader != me]
        self.produced = [each for each in self.produced if each.broker != me]

    def expire(self, me: int) -> None:
        """Let the session of a broker expire, whose heartbeats do not come, and fence it."""
        self.controller.expire(me, *self.newest.fenced)
        self._note()

    def heartbeat(self, me: int) -> None:
        """Let a fenced broker heartbeat again, which unfences it."""
        self.controller.heartbeat(me)
        self._note()

    def start(self, me: int) -> None:
        """Start a process; if its old session has expired it registers and is unfenced, else it begins unregistered."""
        registers = me in self.newest.fenced
        if registers:
            self._register(me)
        self._start(me, registers)

    def register(self, me: int) -> None:
        """Let a process that began unregistered register, be unfenced, and catch up with the metadata: then it serves."""
        self._register(me)
        process, epoch = self.processes[me], self.controller.epochs[me]
        process.is_registered, process.epoch, self.broker(me).own_epoch = True, epoch, epoch
        self.replay(me, self.newest)

    def _register(self, me: int) -> None:
        self.controller.offset = max(self.controller.epochs.values())  # a broker epoch counts registrations, nothing else
        self.controller.register(me, clean=False)
        self.controller.heartbeat(me)
        self._note()

    # metadata

    def next_image(self, me: int) -> PartitionImage | None:
        """Return what a broker's next publication brings: all that the controller has written; or, to a leader that has applied
        the answer to its own request, the record of that change by itself; None if nothing is new, or the broker is down."""
        process = self.processes[me]
        left = self.images[process.replayed :]
        if process.broker is None or not left:
            return None
        if process.broker.partition.isLeader() and left[0].partition_epoch == int(process.broker.partition.getPartitionEpoch()):
            return left[0]
        return left[-1]

    def replay(self, me: int, image: PartitionImage) -> None:
        """Let a broker apply an image, as ReplicaManager.applyDelta does: of the partition nothing unless its epochs moved."""
        process, broker = self.processes[me], self.broker(me)
        before = self.images[process.replayed - 1] if process.replayed else None
        process.replayed = self.images.index(image, process.replayed) + 1
        broker.epochs, broker.fenced = dict(image.epochs), set(image.fenced)
        if before is not None and (before.partition_epoch, before.leader_epoch) == (image.partition_epoch, image.leader_epoch):
            return
        if image.leader == me:
            self._stop_fetching(process, broker.topic_partition)
        epoch = broker.epoch
        known = (broker.epoch, int(broker.partition.getPartitionEpoch()))
        if self.skips_known_epoch and known == (image.leader_epoch, image.partition_epoch):
            return
        broker.learn(image.leader, image.isr, image.leader_epoch, image.partition_epoch)
        if image.leader != me and image.leader_epoch > epoch:
            self._fetch_from(process, broker, image)

    def _fetch_from(self, process: BrokerProcess, broker: WalkedBroker, image: PartitionImage) -> None:
        """Make a broker fetch from an image's leader, or from none without one.  Source: ReplicaManager
        (applyLocalFollowersDelta, initialFetchOffset)."""
        self._stop_fetching(process, broker.topic_partition)
        if image.leader not in self.brokers:
            return
        latest = broker.log.latestEpoch()
        latest = latest() if callable(latest) else latest
        offset = int(broker.log.highWatermark() if latest.isEmpty() else broker.log.logEndOffset())
        process.fetchers[image.leader].add(broker.topic_partition, broker.topic_id, image.leader_epoch, offset)
        process.fetches_from = image.leader

    # producers

    def produce(self, me: int, acks: int, stalls: bool = False) -> str:
        """Append a producer's next record; return the error's name.  If it `stalls`, the request does not wait for followers
        yet."""
        broker = self.broker(me)
        broker.content = chr(FIRST + self.records)
        error = broker.append(acks)
        if error == "NONE":
            self.records += 1
            if acks == -1:
                self.produced.append(ProduceRequest(self.records, me, int(broker.log.logEndOffset()), stalls))
        return error

    def answer_producers(self) -> None:
        """Answer each waiting request that is replicated or fails, as DelayedProduce.tryComplete does after every change."""
        for each in list(self.produced):
            broker = self.broker(each.broker)
            is_done, error = (False, "NONE") if each.is_stalled else broker.acknowledged(each.offset)
            if is_done or error != "NONE":
                self.produced.remove(each)
                self.acked |= {each.record} if error == "NONE" else frozenset()

    # fetches

    def send(self, follower: int, size: int = MANY) -> bool:
        """Send a follower's next fetch, unless one is on its way already; return False only if it has none to send."""
        process = self.processes[follower]
        assert process.fetches_from is not None
        pair = (follower, process.fetches_from)
        data = process.fetchers[process.fetches_from].request(self.broker(follower).topic_partition, size)
        if data is not None and pair not in self.fetches:
            self.fetches[pair] = FetchMessage(*pair, data, process.epoch)
        return data is not None

    def answer(self, follower: int, leader: int) -> str:
        """Let a leader handle a fetch; return the error's name, DIVERGING_EPOCH, or NONE."""
        message, broker = self.fetches[follower, leader], self.broker(leader)
        data = kafka_class("common.message.FetchResponseData$PartitionData")().setPartitionIndex(self.number)
        message.response = data
        try:
            found = broker.read_for(follower, message.epoch, message.data)
        except java_class("java.lang.Exception") as thrown:
            error = error_of(thrown)
            data.setErrorCode(getattr(kafka_class("common.protocol.Errors"), error).code())
            return error
        diverging, fetched = (each() if callable(each) else each for each in (found.divergingEpoch, found.fetchedData))
        high_watermark = found.highWatermark
        data.setHighWatermark(high_watermark() if callable(high_watermark) else high_watermark).setLogStartOffset(0)
        data.setRecords(fetched.records)
        if diverging.isEmpty():
            return "NONE"
        data.setDivergingEpoch(diverging.get())
        return "DIVERGING_EPOCH"

    def deliver(self, follower: int, leader: int) -> str:
        """Let a follower process a response, whose bytes are read now; return `broken` if they are gone, so that the connection
        breaks; `late` if there are any and the leader is down, or in another epoch than the fetch; else `delivered`."""
        message = self.fetches.pop((follower, leader))
        process, records = self.processes[follower], message.response.records()
        size = 0 if records is None else int(records.sizeInBytes())
        if size:
            sink = {"transferFrom": lambda channel, position, count: count}
            channel = first_class(
                PACKAGE + "common.network.TransferableChannel", PACKAGE + "common.network.internals.TransferableChannel"
            )
            try:
                records.writeTo(proxy(channel, sink), 0, size)
            except java_class("java.lang.Exception"):
                return "broken"
        sender = self.processes[leader].broker
        process.fetchers[leader].deliver(message, lambda epoch: self._latest_offset(leader, epoch))
        is_diverging = message.response.divergingEpoch().epoch() != NO_EPOCH
        process.is_half_truncated = is_diverging and not has_prefix(self.read_log(leader), self.read_log(follower))
        is_late = size and (sender is None or sender.epoch != message.leader_epoch)
        return "late" if is_late else "delivered"

    def _latest_offset(self, leader: int, epoch: int) -> Any:
        """Return a leader's end offset, with its epoch, to a follower; NotLeaderOrFollowerException if it does not lead in that
        epoch.  Source: Partition.fetchOffsetForTimestamp."""
        broker = self.processes[leader].broker
        if broker is None or not broker.partition.isLeader() or broker.epoch != epoch:
            raise kafka_class("common.errors.NotLeaderOrFollowerException")("not the leader of this epoch")
        return kafka_class("server.common.OffsetAndEpoch")(int(broker.log.logEndOffset()), epoch)

    # AlterPartition

    def collect_requests(self) -> None:
        """Put the AlterPartition requests that leaders have made on their way to the controller."""
        for me, process in self.processes.items():
            broker = process.broker
            if broker is not None and broker.requests:
                for each in broker.requests:
                    self.alters.append(AlterMessage(me, each, self._named_epochs(me, each)))
                broker.requests.clear()

    def _named_epochs(self, me: int, request: AlterPartitionRequest) -> dict[int, int]:
        """Return the broker epochs that a request names.  Up to 4.0 a leader names none unless its metadata cache is of KRaft's
        class, which a stand-in is not; they are read from where it would have them (Partition.addBrokerEpochToIsr)."""
        states = request.sent.isrWithBrokerEpoch()
        if isinstance(states, java_class("scala.collection.Iterable")):
            states = java_class("scala.jdk.javaapi.CollectionConverters").asJava(states)
        named, broker = {int(each.brokerId()): int(each.brokerEpoch()) for each in states}, self.broker(me)
        if not broker.asks_who_is_fenced:
            for each in named:
                known = None if each == me else broker.replica(each).stateSnapshot().brokerEpoch()
                named[each] = broker.own_epoch if known is None else int(known.get()) if not known.isEmpty() else NO_EPOCH
        return named

    def alter(self, message: AlterMessage) -> str:
        """Let the controller handle a copy of a request, put its answer into the message, and return the error's name."""
        sent = message.request
        message.answer = self.controller.alter_partition(
            message.leader, sent.isr, sent.leader_epoch, sent.partition_epoch, message.epochs
        )
        if message.is_abandoned:
            self.alters.remove(message)
        self._note()
        return message.answer[0]

    def alter_again(self, message: AlterMessage) -> None:
        """Break the connection of a request: the broker sends it again, and the copy on its way may still be handled."""
        if message.answer is None:
            message.is_abandoned = True
        else:
            self.alters.remove(message)
        self.alters.append(AlterMessage(message.leader, message.request, message.epochs))

    def answer_alter(self, message: AlterMessage) -> str:
        """Bring the controller's answer to the leader; return the error's name."""
        assert message.answer is not None
        self.alters.remove(message)
        broker = self.broker(message.leader)
        broker.sent = None
        error, epoch = message.answer
        if error == "NONE":
            broker.answer(message.request, epoch)
        else:
            broker.refuse(message.request, error)
        return error

    def lag(self, me: int) -> None:
        """Let more than replica.lag.time.max.ms pass on a leader, and its timer look for slow followers."""
        broker = self.broker(me)
        broker.pass_lag()
        broker.shrink()

    # elections

    def move_leader(self, to: int) -> None:
        """Put a broker first in the assignment, by a reassignment to the same replicas, and hold a preferred election."""
        order = (to, *[each for each in self.brokers if each != to])
        if self.controller.read().replicas != order:
            self.controller.reassign(order)
        self.controller.elect()
        self._note()

    # reading

    def view(self) -> GroupSight:
        """Return what can be seen of the whole group now."""
        newest, processes = self.newest, self.processes
        answered = {each.leader: each.answer[0] for each in self.alters if each.answer is not None}
        coming = frozenset(
            follower
            for (follower, sender), each in self.fetches.items()
            if each.response is not None and processes[follower].fetches_from == sender
        )
        knows = self._leader_knows(answered.get(newest.leader))
        brokers = tuple(self._view_of(each, answered.get(each)) for each in self.brokers)
        stalled = next(((each.broker, each.offset - 1) for each in self.produced if each.is_stalled), None)
        forgotten = frozenset(frozenset(each.request.isr) for each in self.alters if self._is_forgotten(each))
        metadata = tuple(self.images[each.replayed - 1] for each in processes.values())
        isr = frozenset(newest.isr)
        seen = newest.leader, isr, newest.fenced, knows, brokers, coming, forgotten, self.acked, stalled, metadata
        without = ((each.leader, one) for each in self.alters for one, epoch in each.epochs.items() if epoch == NO_EPOCH)
        return GroupSight(*seen, frozenset(without))

    def _is_forgotten(self, message: AlterMessage) -> bool:
        broker = self.broker(message.leader)
        return message.answer is None and not bool(broker.partition.partitionState().isInflight())

    def _leader_knows(self, answer: str | None) -> frozenset[int]:
        newest = self.newest
        process = self.processes.get(newest.leader)
        if process is None or process.broker is None or not process.is_registered:
            return frozenset([ELECTED])
        partition = process.broker.partition
        if not partition.isLeader() or int(partition.getLeaderEpoch()) != newest.leader_epoch:
            return frozenset([ELECTED])
        if int(partition.getPartitionEpoch()) == newest.partition_epoch:
            return frozenset([UP_TO_DATE])
        return frozenset([BEHIND, UP_TO_DATE] if answer == "NONE" else [BEHIND])

    def _view_of(self, me: int, answer: str | None) -> BrokerSight:
        process, log = self.processes[me], self.read_log(me)
        broker = process.broker
        if broker is None:
            return BrokerSight("down", log)
        partition, high_watermark = broker.partition, int(broker.log.highWatermark())
        if partition.isLeader():
            if not process.is_registered:
                return BrokerSight("down", log)
            sent, isr, asked = broker.last_sent, frozenset(broker.isr()), frozenset[int]()
            if sent is not None and bool(partition.partitionState().isInflight()):
                asked = isr ^ frozenset(sent.isr)
            is_open = answer == "NONE" or answer in INELIGIBLE or (sent is not None and bool(asked) and self._is_outdated(sent))
            is_open = is_open or (broker.epoch, me) != (self.newest.leader_epoch, self.newest.leader)
            is_early = bool(asked - isr) and any(
                each in asked - isr and 0 <= end < high_watermark for each, end in broker.remote_ends()
            )
            asked_for, began = None if is_open else asked, process.began_unregistered
            return BrokerSight("leads", log, high_watermark, None, isr, asked_for, began, is_early)
        state, follows = "unregistered" if not process.is_registered else "follows", process.fetches_from
        leader = self.processes[follows].broker if follows is not None and self.processes[follows].serves else None
        if leader is None or not leader.partition.isLeader() or leader.epoch != broker.epoch:
            follows = None
        began, half = process.began_unregistered, process.is_half_truncated
        return BrokerSight(state, log, high_watermark, follows, began_unregistered=began, is_half_truncated=half)

    def _is_outdated(self, sent: AlterPartitionRequest) -> bool:
        """Return True if the controller would refuse a request now: it names other epochs than its own, or a fenced broker."""
        newest = self.newest
        epochs = (newest.leader_epoch, newest.partition_epoch)
        return (sent.leader_epoch, sent.partition_epoch) != epochs or bool(newest.fenced & set(sent.isr))

    def read_log(self, me: int) -> Log:
        """Read a broker's log from its files' bytes, keep and return it; while it is down, return what was read last."""
        process = self.processes[me]
        if process.broker is not None and not process.broker.partition.log().isEmpty():
            process.log = log_content(process.broker.log)
        return process.log


def has_prefix(log: Log, prefix: Log) -> bool:
    return log[: len(prefix)] == prefix


BATCH_HEAD, VALUE, ONE_BYTE = 12, 67, 2
"""In the bytes of a batch of one record whose value is one letter: the bytes that its length does not count, where the value
is, and the length of the value, which stands before it."""


def log_content(log: Any) -> Log:
    """Return the (record number, leader epoch) of a log's records, in order, read from its bytes segment by segment.  Errors:
    `ValueError` for a batch of more than one record, or of one that is not one letter."""
    kind = first_class(PACKAGE + "server.storage.log.FetchIsolation", LOG + "FetchIsolation")
    found: list[tuple[int, int]] = []
    while len(found) < int(log.logEndOffset()):
        records = log.read(len(found), MANY, constant(kind, "LOG_END", "kafka.server.FetchLogEnd"), True).records
        buffer = java_class("java.nio.ByteBuffer").allocate(records.sizeInBytes())
        records.readInto(buffer, 0)
        content, at = memoryview(buffer.array()).tobytes(), 0
        while at < len(content):
            _, length, epoch = struct.unpack_from(">qii", content, at)
            if (length, content[at + VALUE - 1]) != (VALUE + 2 - BATCH_HEAD, ONE_BYTE):
                raise ValueError("a log has another batch than one of one record of one letter")
            found.append((content[at + VALUE] - FIRST + 1, epoch))
            at += BATCH_HEAD + length
    return tuple(found)
