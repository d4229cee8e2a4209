"""Saves one broker of a BrokerGroup, and puts the group's broker back into what was saved.

Saved is all that decides what the broker does next: its log with the checksums of the batches, the leader-epoch cache and its
file, the high watermark, the fields of Partition, what it knows of each remote replica, the fetch state of its follower, the
request to the controller that is not answered, and its metadata.  Times count back from the broker's clock, and are told apart
only by whether replica.lag.time.max.ms has passed since: the clock never moves by less.

Left out, since nothing reads it here: producer states (no producer has an id), quotas and metrics, a fetch state's lag and its
delay (replica.fetch.backoff.ms is 0).  A log of several segments is refused: positions in a segment then follow from the log.

Source: Partition, UnifiedLog, LeaderEpochFileCache, AbstractFetcherThread, Replica.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from neverlost.checker.kafka.conform.java.jvm import call, field_of, integer, java_class, new
from neverlost.checker.kafka.conform.java.partition import LOG, PARTITION, AlterPartitionRequest, Broker
from neverlost.checker.kafka.conform.walk.broker_group import FIRST, BrokerGroup, BrokerProcess, Log, WalkedBroker, log_content

Key = tuple[Any, ...]
ENTRY = LOG + "EpochEntry"
PROCESS = ("epoch", "is_registered", "began_unregistered", "fetches_from", "is_half_truncated")
"""The fields of a BrokerProcess that are saved; `began_unregistered` and the last are for what is seen."""


class RestoreError(Exception):
    """A saved and restored state differs from the one that its path leads to, or cannot be saved or restored."""


@dataclass(frozen=True)
class SavedProcess:
    """A broker as it was.  `log`: its records with their epochs; `sums`: the checksums of their batches; `epochs` and `file`:
    the leader-epoch cache, and its checkpoint; without a process (`is_up` false) nothing else is there."""

    key: Key
    log: Log
    sums: tuple[int, ...]
    epochs: tuple[tuple[int, int], ...]
    file: tuple[tuple[int, int], ...]
    is_up: bool = False
    process: tuple[Any, ...] = ()
    known: tuple[dict[int, int], frozenset[int], int] = ({}, frozenset(), -1)
    """The broker epochs and the fenced brokers of its metadata, and its own broker epoch."""
    fields: tuple[Any, ...] = ()
    high_watermark: int = 0
    mark: Any = None
    """The high watermark as Kafka has it."""
    remote: tuple[tuple[int, Any], ...] = ()
    fetch: Any = None
    sent: AlterPartitionRequest | None = None
    last_sent: AlterPartitionRequest | None = None
    now: int = 0
    leads: int | None = None
    """The leader epoch in which it leads; None if it does not."""
    slow: int = 0
    """How many members of the ISR are not at its log end, if it leads."""

    @cached_property
    def committed(self) -> frozenset[int]:
        """The records below the high watermark of a broker that leads, which a consumer may read; none of any other."""
        readable = self.log[: self.high_watermark] if self.serves and self.leads is not None else ()
        return frozenset(record for record, _ in readable)

    @property
    def serves(self) -> bool:
        """Whether the broker handles requests: it runs, and has registered."""
        return self.is_up and bool(self.process[1])

    @property
    def fetches_from(self) -> int | None:
        return self.process[3] if self.is_up else None

    def without_process(self, log: Log) -> SavedProcess:
        """Return what a stop leaves of the broker: its files, with `log`, a beginning of its log, as what is left of that."""
        sums = self.sums[: len(log)]
        return SavedProcess(("down", log, sums, self.file), log, sums, self.file, self.file)


def request_key(request: AlterPartitionRequest | None) -> Key | None:
    return None if request is None else (request.isr, request.leader_epoch, request.partition_epoch)


def epoch_cache(broker: Broker) -> Any:
    found = field_of(str(broker.log.getClass().getName()), "leaderEpochCache").get(broker.log)
    return found.get() if isinstance(found, java_class("scala.Option")) else found


def _entries(found: Any) -> tuple[tuple[int, int], ...]:
    epoch, offset = field_of(ENTRY, "epoch"), field_of(ENTRY, "startOffset")
    return tuple((int(epoch.get(each)), int(offset.get(each))) for each in found)


def _checkpoint(cache: Any) -> Any:
    return field_of(str(cache.getClass().getName()), "checkpoint").get(cache)


def _batch_sums(log: Any) -> tuple[int, ...]:
    """Return the checksums of a log's batches, which cover all bytes but the epoch and the offset."""
    return tuple(int(each.checksum()) for each in segment_of(log).log().batches())


def segment_of(log: Any) -> Any:
    """Return a log's only segment.  Errors: `RestoreError` if there are several."""
    if int(log.numberOfSegments()) != 1:
        raise RestoreError("a log has several segments, whose bounds are not saved")
    return log.activeSegment()


class ProcessSaver:
    """Saves and restores the brokers of one group."""

    def __init__(self, group: BrokerGroup) -> None:
        self.group = group
        self.there: dict[int, SavedProcess] = {}
        """What each broker is now, where that is known."""

    def save(self, me: int) -> SavedProcess:
        """Return the present state of a broker; of one that is down, its files as they were known last."""
        process = self.group.processes[me]
        broker = process.broker
        found = self.there[me].without_process(process.log) if broker is None else self._saved(process, broker)
        self.there[me] = found
        return found

    def _saved(self, process: BrokerProcess, broker: WalkedBroker) -> SavedProcess:
        partition, log, now = broker.partition, broker.log, process.host.clock.now
        process.log = log_content(log)
        cache = epoch_cache(broker)
        epochs, file, sums = _entries(cache.epochEntries()), _entries(_checkpoint(cache).read()), _batch_sums(log)
        remote = tuple(
            (each, _state_of(broker.replica(each)).get())
            for each in broker.replicas
            if not partition.getReplica(each).isEmpty()
        )
        fetch = None
        if process.fetches_from is not None:
            fetch = _fetch_states(process, process.fetches_from).stateValue(broker.topic_partition)
        seen, state = broker.seen(), partition.partitionState()
        pending = request_key(AlterPartitionRequest(state.sentLeaderAndIsr(), None, state)) if seen.is_inflight else None
        leader, start = partition.leaderReplicaIdOpt(), partition.leaderEpochStartOffsetOpt()
        fields = tuple(each.get(partition) for each in broker.fields)
        key = (
            (process.log, sums, epochs, file, seen.high_watermark),
            (process.epoch, process.is_registered, process.fetches_from, broker.own_epoch),
            (tuple(sorted(broker.epochs.items())), tuple(sorted(broker.fenced))),
            (seen.state, seen.isr, seen.maximal_isr, pending, seen.partition_epoch, seen.leader_epoch, str(leader), str(start)),
            tuple((each, _remote_key(known, now, process.host.lag)) for each, known in remote),
            None if fetch is None else _fetch_key(fetch),
            request_key(broker.sent),
        )
        return SavedProcess(
            key,
            process.log,
            sums,
            epochs,
            file,
            True,
            tuple(getattr(process, each) for each in PROCESS),
            (dict(broker.epochs), frozenset(broker.fenced), broker.own_epoch),
            fields,
            seen.high_watermark,
            _high_watermark(log).get(log),
            remote,
            fetch,
            broker.sent,
            broker.last_sent,
            now,
            process.leads,
            process.slow,
        )

    def restore(self, me: int, saved: SavedProcess) -> None:
        """Put a broker into a saved state, unless it is known to be in that state."""
        if me in self.there and self.there[me].key == saved.key:
            return
        process = self.group.processes[me]
        broker = self._opened(process, saved)
        self._restore_log(broker, saved)
        for leader, fetcher in process.fetchers.items():
            _fetch_states(process, leader).remove(broker.topic_partition)
            fetcher.topic_partition = broker.topic_partition
        if saved.is_up:
            self._restore_process(process, broker, saved)
        else:
            process.fetches_from = None
            self.group.kill(me)
        process.log = saved.log
        self.there[me] = saved

    def _opened(self, process: BrokerProcess, saved: SavedProcess) -> WalkedBroker:
        """Return a process's broker with an open log and a Replica for each saved remote one; if the log or a Replica is
        missing, the broker is first made leader, which creates them."""
        broker = process.broker
        if broker is None:
            broker = self.group.open_broker(process.host.me)
        if broker.partition.log().isEmpty() or any(broker.partition.getReplica(each).isEmpty() for each, _ in saved.remote):
            broker.fields[1].set(broker.partition, integer(-1))
            broker.learn(broker.host.me, broker.replicas, broker.epoch + 1, 0)
        if not saved.remote:
            field_of(PARTITION, "remoteReplicasMap").get(broker.partition).clear()
        return broker

    def _restore_log(self, broker: WalkedBroker, saved: SavedProcess) -> None:
        log, has = broker.log, log_content(broker.log)
        same = next(at for at in range(len(has), -1, -1) if has[:at] == saved.log[:at])
        if len(has) > same:
            call(log, "truncateTo", same)
        for record, epoch in saved.log[same:]:
            broker.content = chr(FIRST + record - 1)
            broker.append_to_log(epoch)
        cache = epoch_cache(broker)
        if _entries(cache.epochEntries()) != saved.epochs:
            known = field_of(str(cache.getClass().getName()), "epochs").get(cache)
            known.clear()
            for epoch, offset in saved.epochs:
                known.put(integer(epoch), new(ENTRY, epoch, offset))
        if _entries(_checkpoint(cache).read()) != saved.file:
            written = java_class("java.util.ArrayList")()
            for epoch, offset in saved.file:
                written.add(new(ENTRY, epoch, offset))
            _checkpoint(cache).write(written)

    def _restore_process(self, process: BrokerProcess, broker: WalkedBroker, saved: SavedProcess) -> None:
        partition = broker.partition
        process.host.clock.now = saved.now
        for name, value in zip(PROCESS, saved.process, strict=True):
            setattr(process, name, value)
        epochs, fenced, broker.own_epoch = saved.known
        broker.epochs, broker.fenced = dict(epochs), set(fenced)
        for follower, state in saved.remote:
            _state_of(broker.replica(follower)).set(state)
        for each, value in zip(broker.fields, saved.fields, strict=True):
            each.set(partition, value)
        _high_watermark(broker.log).set(broker.log, saved.mark)
        if saved.fetch is not None and saved.process[3] is not None:
            _fetch_states(process, saved.process[3]).updateAndMoveToEnd(broker.topic_partition, saved.fetch)
        broker.sent, broker.last_sent = None, saved.last_sent
        if saved.sent is not None:
            # the same request again, with a future that is still open
            call(partition, "submitAlterPartition", saved.sent.state)
            assert broker.sent is not None
            broker.sent = broker.last_sent = replace(broker.sent, state=saved.sent.state)
        broker.requests.clear()


def _high_watermark(log: Any) -> Any:
    return field_of(str(log.getClass().getName()), "highWatermarkMetadata")


def _state_of(replica: Any) -> Any:
    return field_of(str(replica.getClass().getName()), "replicaState").get(replica)


def _fetch_states(process: BrokerProcess, leader: int) -> Any:
    return field_of("kafka.server.AbstractFetcherThread", "partitionStates").get(process.fetchers[leader].thread)


def _remote_key(state: Any, now: int, lag: int) -> Key:
    times = (state.lastFetchTimeMs(), state.lastCaughtUpTimeMs())
    ends = (int(state.logEndOffset()), int(state.lastFetchLeaderLogEndOffset()))
    return (*ends, *(now - int(each) > lag for each in times), str(state.brokerEpoch()))


def _fetch_key(state: Any) -> Key:
    return (int(state.fetchOffset()), int(state.currentLeaderEpoch()), str(state.state()), str(state.lastFetchedEpoch()))
