"""Runs Kafka's own broker for one partition: kafka.cluster.Partition with a real log, and stand-ins for its neighbours.

The stand-ins: a clock, a scheduler that runs nothing by itself, what the metadata cache says of the other brokers, and the
channel to the controller, which keeps each AlterPartition request until it is answered.  Brokers are numbered from 1.

Source: kafka.cluster.Partition, kafka.log.LogManager, org.apache.kafka.storage.internals.log.UnifiedLog.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

from neverlost.checker.engine.host import scratch
from neverlost.checker.kafka.conform.java.jvm import (
    PACKAGE,
    call,
    call_known,
    constant,
    constructor,
    declared_methods,
    empty_optional,
    field_of,
    first_class,
    has_class,
    int_array,
    integer,
    java_class,
    kafka_class,
    new,
    new_from,
    option,
    optional,
    optional_result,
    proxy,
)
from neverlost.checker.kafka.conform.java.metadata import metadata_version, partition_registration, unassigned_directories
from neverlost.checker.kafka.conform.java.replication_control_manager import Clock

PARTITION = "kafka.cluster.Partition"
LOG = PACKAGE + "storage.internals.log."
LATER = ((LOG + "VerificationGuard", "SENTINEL"), (PACKAGE + "server.common.TransactionVersion", "TV_UNKNOWN"))
"""What an append takes besides, in the versions that have it."""

STARTED = 1_000_000
FIELDS = (
    "partitionState",
    "partitionEpoch",
    "leaderEpoch",
    "leaderEpochStartOffsetOpt",
    "leaderReplicaIdOpt",
    "assignmentState",
)
"""The fields of a Partition that its entry points change, besides its log and its remote replicas."""


class Host:
    """What the partitions of one broker share: the log directories with their LogManager, and the clock."""

    def __init__(self, me: int = 1, min_isr: int = 1, folders: Sequence[str] = ()) -> None:
        """Make a host for the partitions of broker `me`; `folders` are its log directories, by default one in memory, since a
        log is appended to and truncated thousands of times."""
        self.me, self.clock, self.partitions = me, Clock(STARTED), 0
        self.time = self.clock.java()
        self.flushes: dict[str, Any] = {}
        """The writes of leader-epoch caches that the scheduler was given last."""
        self.held = ExitStack()
        self.folders = tuple(folders) or (self.held.enter_context(scratch.hold_folder("conform", in_memory=True)),)
        configuration = self.configuration = self._configuration(min_isr)
        self.lag = int(configuration.replicaLagTimeMaxMs())
        self.logs = self._log_manager(configuration)
        self.purgatories = [self._purgatory(each) for each in ("produce", "fetch", "delete", "share")]

    def flush_leader_epochs(self) -> None:
        """Write the leader-epoch caches that wait to be written."""
        while self.flushes:
            self.flushes.popitem()[1].run()

    def _idle_scheduler(self) -> Any:
        """Return a Kafka Scheduler that runs nothing by itself."""

        def schedule(name: Any, task: Any, *_: Any) -> Any:
            """Do not run the task, but keep one that writes a leader-epoch cache; return a future that can be cancelled."""
            if str(name).startswith("leader-epoch-cache-flush"):
                self.flushes[str(name)] = task
            return proxy("java.util.concurrent.ScheduledFuture", {"cancel": lambda is_running: True})

        nothing = dict.fromkeys(("startup", "shutdown", "resizeThreadPool"), lambda *_: None)
        methods = {**nothing, "isStarted": lambda: True, "schedule": schedule, "scheduleOnce": schedule}
        return proxy(first_class(PACKAGE + "server.util.Scheduler", "kafka.utils.Scheduler"), methods)

    def _configuration(self, min_isr: int) -> Any:
        given = {
            "process.roles": "broker",
            "node.id": self.me,
            "controller.quorum.voters": "9@h:1",
            "controller.listener.names": "C",
            "listeners": "PLAINTEXT://h:2",
            "log.dirs": ",".join(self.folders),
            "min.insync.replicas": min_isr,
            "log.cleaner.enable": "false",
            "log.index.size.max.bytes": 64,
            "replica.fetch.backoff.ms": 0,
        }
        properties = java_class("java.util.Properties")()
        for key, value in given.items():
            properties.setProperty(key, str(value))
        return java_class("kafka.server.KafkaConfig").fromProps(properties)

    def _log_manager(self, configuration: Any) -> Any:
        topics = proxy(
            first_class(PACKAGE + "metadata.ConfigRepository", "kafka.server.metadata.ConfigRepository"),
            dict.fromkeys(("config", "topicConfig", "brokerConfig"), lambda *_: java_class("java.util.Properties")()),
        )
        made = java_class("kafka.log.LogManager")
        apply = next(each for each in made.class_.getMethods() if str(each.getName()) == "apply")
        types = [str(each.getName()) for each in apply.getParameterTypes()]
        empty = java_class("java.util.HashSet")()
        if not types[1].startswith("java."):
            empty = java_class("scala.jdk.javaapi.CollectionConverters").asScala(java_class("java.util.ArrayList")()).toSeq()
        statistics = first_class(PACKAGE + "storage.log.metrics.BrokerTopicStats", "kafka.server.BrokerTopicStats")
        self.statistics = new(
            statistics, *[optional() if each == "java.util.Optional" else False for each in constructor(statistics)[1]]
        )
        idle = self._idle_scheduler()
        is_own = types[3].endswith("KafkaScheduler")  # up to 3.3 it must be Kafka's own until the manager is made
        scheduler = new(types[3], 1, "", True) if is_own else idle
        given = [configuration, empty, topics, scheduler, self.time, self.statistics, java_class(types[6])(1)]
        found = made.apply(*given, *[True] * (len(types) - len(given)))
        if is_own:
            field_of("kafka.log.LogManager", "scheduler").set(found, idle)
        return found

    def _purgatory(self, name: str) -> Any:
        made = first_class(PACKAGE + "server.purgatory.DelayedOperationPurgatory", "kafka.server.DelayedOperationPurgatory")
        idle = {"add": lambda _: None, "advanceClock": lambda _: False, "size": lambda: 0, "close": lambda: None}
        timer = proxy(constructor(made)[1][1], {**idle, "shutdown": idle["close"]})
        return new(made, name, timer, self.me, 1000, False, False)

    def close(self) -> None:
        """Remove the log directory in memory, if it has one."""
        self.held.close()


@dataclass(frozen=True)
class PartitionSnapshot:
    """What can be read from a Partition, with Kafka's names of states and broker ids.  Units: offsets are exclusive ends."""

    state: str
    isr: tuple[int, ...]
    maximal_isr: tuple[int, ...]
    is_inflight: bool
    leader_epoch: int
    partition_epoch: int
    high_watermark: int
    log_end: int
    remote: tuple[tuple[int, int], ...]
    """Each follower with the log end offset that the leader knows of it."""


@dataclass
class AlterPartitionRequest:
    """An AlterPartition request on its way, and the future that its answer completes."""

    sent: Any
    future: Any
    state: Any
    """The pending partition state that it stands for."""

    @property
    def isr(self) -> tuple[int, ...]:
        """The ISR that the request asks for, sorted."""
        if hasattr(self.sent, "isrWithBrokerEpoch"):
            return _ids(self.sent.isrWithBrokerEpoch(), lambda each: each.brokerId())
        return _ids(self.sent.isr())

    @property
    def leader_epoch(self) -> int:
        return int(self.sent.leaderEpoch())

    @property
    def partition_epoch(self) -> int:
        return int(self.sent.partitionEpoch())


def _ids(found: Any, of: Any = int) -> tuple[int, ...]:
    """Return the broker ids of a Scala or Java collection, sorted."""
    if isinstance(found, java_class("scala.collection.Iterable")):
        found = java_class("scala.jdk.javaapi.CollectionConverters").asJava(found)
    return tuple(sorted(int(of(each)) for each in found))


class Broker:
    """One Partition on a host; its metadata cache knows the broker epochs `epochs`, save those of `fenced` brokers."""

    content = "m"
    """The value of the records that are appended."""

    def __init__(self, host: Host, replicas: Sequence[int] = (1, 2, 3), number: int | None = None) -> None:
        """Make a Partition of topic `t` with these replicas and this number; by default with the host's next number."""
        self.host, self.replicas = host, tuple(replicas)
        self.epochs = {each: 100 + each for each in replicas}
        self.own_epoch = self.epochs[host.me]
        self.fenced: set[int] = set()
        self.shutting_down: set[int] = set()
        self.requests: list[AlterPartitionRequest] = []
        self.failures = 0
        host.partitions += number is None
        self.topic_partition = kafka_class("common.TopicPartition")("t", host.partitions if number is None else number)
        self.topic_id = kafka_class("common.Uuid")(5, 1)
        types = constructor(PARTITION)[1]
        cache = next(each for each in types if each.endswith("MetadataCache"))
        self.asks_who_is_fenced = any(str(each.getName()) == "isBrokerFenced" for each in java_class(cache).class_.getMethods())
        self.partition = self._partition(types)
        java_class(PARTITION).removeMetrics(self.topic_partition)
        self.fields = [field_of(PARTITION, each) for each in FIELDS]

    def _partition(self, types: list[str]) -> Any:
        def named(end: str) -> str:
            return next(each for each in types if each.endswith(end))

        given = constructor("kafka.cluster.DelayedOperations")[1]
        purgatories = self.host.purgatories[: sum("Purgatory" in each for each in given)]
        identity = [option(self.topic_id)] if len(given) > 4 else []
        delayed = new("kafka.cluster.DelayedOperations", *identity, self.topic_partition, *purgatories)
        supplier = proxy(
            "scala.Function0",
            {"apply": lambda: java_class("java.lang.Long")(self.own_epoch), "apply$mcJ$sp": lambda: self.own_epoch},
        )
        by_type = {
            "TopicPartition": self.topic_partition,
            "long": self.host.lag,
            "MetadataVersion": metadata_version(),
            "int": self.host.me,
            "Function0": supplier,
            "Time": self.host.time,
            "AlterPartitionListener": proxy(named("AlterPartitionListener"), self._listener()),
            "DelayedOperations": delayed,
            "MetadataCache": proxy(named("MetadataCache"), self._metadata_cache(named("MetadataCache"))),
            "LogManager": self.host.logs,
            "AlterPartitionManager": proxy(named("AlterPartitionManager"), {"submit": self._submitted}),
            "Option": option(self.topic_id),
        }
        return new_from(PARTITION, by_type)

    def _metadata_cache(self, interface: str) -> dict[str, Any]:
        def alive(broker: int) -> Any:
            epoch = self.epochs.get(int(broker)) if int(broker) not in self.fenced else None
            value = None if epoch is None else java_class("java.lang.Long")(epoch)
            return optional_result(interface, "getAliveBrokerEpoch", value)

        return {
            "getAliveBrokerEpoch": alive,
            "isBrokerFenced": lambda broker: int(broker) in self.fenced,
            "isBrokerShuttingDown": lambda broker: int(broker) in self.shutting_down,
            "hasAliveBroker": lambda broker: int(broker) in self.epochs and int(broker) not in self.fenced,
        }

    def _listener(self) -> dict[str, Any]:
        def failed() -> None:
            self.failures += 1

        return {"markIsrExpand": lambda: None, "markIsrShrink": lambda: None, "markFailed": failed}

    def _submitted(self, partition: Any, sent: Any, *controller_epoch: Any) -> Any:
        future = java_class("java.util.concurrent.CompletableFuture")()
        self.requests.append(AlterPartitionRequest(sent, future, self.partition.partitionState()))
        return future

    # what the metadata log brings

    def learn(self, leader: int, isr: Collection[int], leader_epoch: int, partition_epoch: int) -> None:
        """Apply a metadata record of the partition as ReplicaManager.applyDelta does."""
        registration = partition_registration(
            {
                "Replicas": int_array(self.replicas),
                "Isr": int_array(isr),
                "Directories": unassigned_directories(len(self.replicas)),
                "Leader": integer(leader),
                "LeaderEpoch": integer(leader_epoch),
                "PartitionEpoch": integer(partition_epoch),
            }
        )
        what = "makeLeader" if leader == self.host.me else "makeFollower"
        known = [registration, False]
        if hasattr(registration, "toLeaderAndIsrPartitionState"):  # up to 4.1
            known = [registration.toLeaderAndIsrPartitionState(self.topic_partition, False)]
        call_known(self.partition, what, *known, self._checkpoints(), option(self.topic_id), option())

    def _checkpoints(self) -> Any:
        name = first_class(
            PACKAGE + "storage.internals.checkpoint.OffsetCheckpoints", "kafka.server.checkpoints.OffsetCheckpoints"
        )
        return proxy(name, {"fetch": lambda *_: optional_result(name, "fetch")})

    # what clients and followers ask

    def records(self) -> Any:
        """Return a batch of one record, whose value is this broker's attribute `content`."""
        name = first_class(PACKAGE + "common.record.internal.MemoryRecords", PACKAGE + "common.record.MemoryRecords")
        record = java_class(name.replace("MemoryRecords", "SimpleRecord"))
        content = record(java_class("java.lang.String")(self.content).getBytes())
        uncompressed = java_class(
            first_class(PACKAGE + "common.compress.Compression", PACKAGE + "common.record.CompressionType")
        )
        return java_class(name).withRecords(uncompressed.NONE, content)

    def append(self, acks: int = -1) -> str:
        """Append a producer's record; return the error's name, NONE if it is in the log."""
        made = java_class(first_class(PACKAGE + "server.common.RequestLocal", "kafka.server.RequestLocal"))
        local = made.noCaching() if hasattr(made, "noCaching") else made.NoCaching()
        origin = constant(LOG + "AppendOrigin", "CLIENT", "kafka.log.AppendOrigin$Client")
        given = [self.records(), origin, acks, local]
        for name, field in LATER:
            given += [getattr(java_class(name), field)] if has_class(name) and hasattr(java_class(name), field) else []
        try:
            call(self.partition, "appendRecordsToLeader", *given)
        except java_class("java.lang.Exception") as thrown:
            return error_of(thrown)
        return "NONE"

    def fetch(self, follower: int, offset: int, last_epoch: int | None = None) -> str:
        """Handle a follower's fetch; return the error's name, NONE without one, DIVERGING_EPOCH where the logs diverge."""
        epoch = optional(None if last_epoch is None else integer(last_epoch))
        data = java_class(PACKAGE + "common.requests.FetchRequest$PartitionData")(
            self.topic_id, offset, 0, 1 << 20, optional(integer(self.partition.getLeaderEpoch())), epoch
        )
        try:
            found = self.read_for(follower, self.epochs[follower], data)
        except java_class("java.lang.Exception") as thrown:
            return error_of(thrown)
        diverging = found.divergingEpoch
        diverging = diverging() if callable(diverging) else diverging
        return "NONE" if diverging.isEmpty() else "DIVERGING_EPOCH"

    def read_for(self, follower: int, broker_epoch: int, data: Any) -> Any:
        """Return the LogReadInfo of a follower's fetch, which names this broker epoch.  What Kafka throws is raised."""
        places = (PACKAGE + "server.storage.log.", LOG, "kafka.server.")
        made = first_class(*[each + "FetchParams" for each in places])
        types = constructor(made)[1]
        isolation = constant(made.replace("FetchParams", "FetchIsolation"), "LOG_END", "kafka.server.FetchLogEnd")
        request = [13] if types[0] == "short" else []
        epoch = [broker_epoch] if types.count("long") > 1 else []
        client = empty_optional(next(each for each in types if "Option" in each))
        shared = [False] * types.count("boolean")
        parameters = new(made, *request, follower, *epoch, 0, 1, 1 << 20, isolation, client, *shared)
        return call(self.partition, "fetchRecords", parameters, data, self.host.clock.now, data.maxBytes, True, True)

    def acknowledged(self, offset: int) -> tuple[bool, str]:
        """Return whether a producer with acks=all that waits for `offset` (exclusive) is answered, and the error's name."""
        found = self.partition.checkEnoughReplicasReachOffset(offset)
        return bool(found._1()), str(found._2().name())

    def shrink(self) -> None:
        """Fire the timer that looks for slow followers."""
        self.partition.maybeShrinkIsr()

    def pass_lag(self) -> None:
        """Advance the clock by more than replica.lag.time.max.ms."""
        self.host.clock.now += self.host.lag + 1

    def look_again(self) -> None:
        """Make the leader recompute its high watermark, as each append and each new fetch offset does."""
        call(self.partition, "maybeIncrementLeaderHW", self.log, self.host.clock.now)

    # what the controller answers

    def answer(self, request: AlterPartitionRequest, partition_epoch: int) -> None:
        """Complete an AlterPartition request: the controller has applied it, in this partition epoch."""
        request.future.complete(request.sent.withPartitionEpoch(partition_epoch))

    def refuse(self, request: AlterPartitionRequest, error: str) -> None:
        request.future.completeExceptionally(kafka_class("common.protocol.Errors").valueOf(error).exception())

    # reading and installing

    @property
    def log(self) -> Any:
        return self.partition.log().get()

    def append_to_log(self, leader_epoch: int) -> None:
        """Append one record to the log itself, past the Partition; a log in Scala has a method with defaults to fill in."""
        log, method = self.log, "appendAsLeader"
        counts = {int(each.getParameterCount()) for each in declared_methods(log, method)}
        last = 2 if 2 in counts else min(counts)
        defaults = [call(log, f"{method}$default${number}") for number in range(3, last + 1)]
        call(log, method, self.records(), leader_epoch, *defaults)

    def empty_log(self) -> None:
        """Drop every record and every leader epoch; the log begins at 0 again."""
        log = self.log
        method = "truncateFullyAndStartAt"
        kinds = [str(each.getParameterTypes()[-1].getName()) for each in declared_methods(log, method)]
        call_known(log, method, 0, *[empty_optional(each) for each in kinds if each != "long"])

    def offset(self, offset: int) -> Any:
        """Return an offset as LogOffsetMetadata without a segment."""
        return new(first_class(LOG + "LogOffsetMetadata", "kafka.server.LogOffsetMetadata"), offset, -1, -1)

    def replica(self, follower: int) -> Any:
        """Return Kafka's Replica object of a follower, in which the leader keeps what it knows of it."""
        return self.partition.getReplica(follower).get()

    def isr(self) -> tuple[int, ...]:
        """Return the ISR that the Partition holds, sorted."""
        return _ids(self.partition.partitionState().isr())

    def remote_ends(self) -> tuple[tuple[int, int], ...]:
        """Return each follower of which the leader keeps a Replica, with the log end offset that it knows of it."""
        found = [(each, self.partition.getReplica(each)) for each in self.replicas]
        return tuple((me, int(each.get().stateSnapshot().logEndOffset())) for me, each in found if not each.isEmpty())

    def seen(self) -> PartitionSnapshot:
        state, log = self.partition.partitionState(), self.log
        return PartitionSnapshot(
            state=str(state.getClass().getSimpleName()),
            isr=self.isr(),
            maximal_isr=_ids(state.maximalIsr()),
            is_inflight=bool(state.isInflight()),
            leader_epoch=int(self.partition.getLeaderEpoch()),
            partition_epoch=int(self.partition.getPartitionEpoch()),
            high_watermark=int(log.highWatermark()),
            log_end=int(log.logEndOffset()),
            remote=self.remote_ends(),
        )


def error_of(thrown: Any) -> str:
    return str(kafka_class("common.protocol.Errors").forException(thrown).name())
