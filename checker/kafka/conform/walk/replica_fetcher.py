"""Runs Kafka's own follower: kafka.server.ReplicaFetcherThread, never started, in front of a leader that is a stand-in.

Its look-up of partitions is a ReplicaManager whose constructor has not run, of which only the map of partitions is there.  A
request is what the thread would send; a response is handed to `processFetchRequest`, which truncates, appends and takes the
high watermark.  The records of a response are a slice of the leader's segment file, whose bytes are read when it is delivered.

Source: AbstractFetcherThread, ReplicaFetcherThread, RemoteLeaderEndPoint.buildFetch, ReplicaManager.applyLocalFollowersDelta.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from neverlost.checker.kafka.conform.java.jvm import (
    PACKAGE,
    call,
    constructor,
    field_of,
    first_class,
    java_class,
    kafka_class,
    new,
    option,
    optional,
    proxy,
)
from neverlost.checker.kafka.conform.java.metadata import metadata_version

THREAD = "kafka.server.ReplicaFetcherThread"
MANAGER = "kafka.server.ReplicaManager"
MANY, ONE = 1 << 20, 1
"""How many bytes a fetch asks for: all batches that there are, or one."""


@dataclass
class FetchMessage:
    """A follower's fetch, and the leader's response once there is one.  `data` is the request's PartitionData; `epoch` the
    broker epoch that it names."""

    follower: int
    leader: int
    data: Any
    epoch: int
    response: Any = None

    @property
    def offset(self) -> int:
        return int(self.data.fetchOffset)

    @property
    def leader_epoch(self) -> int:
        return int(self.data.currentLeaderEpoch.get())


def converted(values: Any, to_scala: bool) -> Any:
    """Return a Java collection as a Scala one if `to_scala`, else as it is."""
    converters = java_class("scala.jdk.javaapi.CollectionConverters")
    return converters.asScala(values) if to_scala else values


class ReplicaManagerStub:
    """A ReplicaManager with partitions and statistics, no log directory to move a replica to, and nothing else."""

    def __init__(self, configuration: Any, statistics: Any) -> None:
        unsafe = java_class("sun.misc.Unsafe")
        field = unsafe.class_.getDeclaredField("theUnsafe")
        field.setAccessible(True)
        self.java = field.get(None).allocateInstance(java_class(MANAGER).class_)
        found = field_of(MANAGER, "allPartitions")
        kind = str(found.getType().getName())
        self.partitions = new(kind, option()) if kind.endswith("Pool") else java_class(kind)()
        found.set(self.java, self.partitions)
        field_of(MANAGER, "brokerTopicStats").set(self.java, statistics)
        nothing = kafka_class("server.common.DirectoryEventHandler").NOOP
        mover = new("kafka.server.ReplicaAlterLogDirsManager", configuration, self.java, None, statistics, nothing)
        field_of(MANAGER, "replicaAlterLogDirsManager").set(self.java, mover)
        self.online = first_class(PACKAGE + "server.HostedPartition$Online", "kafka.server.HostedPartition$Online")

    def host(self, topic_partition: Any, partition: Any) -> None:
        """Let a look-up of this partition in the stand-in find it from now on."""
        self.partitions.put(topic_partition, new(self.online, partition))

    def forget(self, topic_partition: Any) -> None:
        self.partitions.remove(topic_partition)


class ReplicaFetcher:
    """The ReplicaFetcherThread of one broker for one leader; it is never started: each of its actions is called."""

    def __init__(self, me: int, leader: int, configuration: Any, manager: ReplicaManagerStub) -> None:
        self.me, self.leader = me, leader
        types = constructor(THREAD)[1]
        interface = next(each for each in types if each.endswith("LeaderEndPoint"))
        quota = next(each for each in types if each.endswith("ReplicaQuota"))
        end_point = first_class(PACKAGE + "server.network.BrokerEndPoint", "kafka.cluster.BrokerEndPoint")
        self.end_point = java_class(end_point)(leader, "h", 9092)
        self.is_scala = interface.startswith("kafka.")
        self.response: Any = None
        self.latest: Callable[[int], Any] = lambda epoch: None
        endpoint = {
            "isTruncationOnFetchSupported": lambda: True,
            "initiateClose": lambda: None,
            "close": lambda: None,
            "brokerEndPoint": lambda: self.end_point,
            "fetch": lambda _: self._fetched(),
            "fetchLatestOffset": lambda _, epoch: self.latest(int(epoch)),
            "fetchEarliestOffset": lambda *_: kafka_class("server.common.OffsetAndEpoch")(0, 0),
            "fetchEarliestLocalOffset": lambda *_: kafka_class("server.common.OffsetAndEpoch")(0, 0),
        }
        unlimited = {"record": lambda _: None, "isThrottled": lambda _: False, "isQuotaExceeded": lambda: False}
        given = {
            "LeaderEndPoint": proxy(interface, endpoint),
            "KafkaConfig": configuration,
            "FailedPartitions": java_class("kafka.server.FailedPartitions")(),
            "ReplicaManager": manager.java,
            "ReplicaQuota": proxy(quota, unlimited),
            "Function0": proxy("scala.Function0", {"apply": metadata_version}),
        }
        texts = iter([f"fetcher-{me}-{leader}", f"[{me}-{leader}] "])
        self.thread = new(
            THREAD, *[next(texts) if each.endswith("String") else given[each.rpartition(".")[2]] for each in types]
        )
        self.topic_partition: Any = None

    def _fetched(self) -> Any:
        found = java_class("java.util.HashMap")()
        found.put(self.topic_partition, self.response)
        return converted(found, self.is_scala)

    # what ReplicaFetcherManager does

    def add(self, topic_partition: Any, topic_id: Any, leader_epoch: int, offset: int) -> None:
        """Begin to fetch a partition, in this leader epoch and from this offset."""
        self.topic_partition = topic_partition
        made = first_class(PACKAGE + "server.InitialFetchState", "kafka.server.InitialFetchState")
        states = java_class("java.util.HashMap")()
        states.put(topic_partition, new(made, option(topic_id), self.end_point, leader_epoch, offset))
        call(self.thread, "addPartitions", converted(states, to_scala=True))

    def remove(self, topic_partition: Any) -> None:
        """Stop fetching a partition."""
        partitions = java_class("java.util.HashSet")()
        partitions.add(topic_partition)
        call(self.thread, "removePartitions", converted(partitions, to_scala=True))

    # what doWork does

    def request(self, topic_partition: Any, size: int = MANY) -> Any:
        """Truncate where the thread has to, and return the PartitionData of its next fetch; None if there is none to send."""
        call(self.thread, "maybeTruncate")
        found = call(self.thread, "fetchState", topic_partition)
        if found.isEmpty() or not bool(found.get().isReadyForFetch()):
            return None
        state = found.get()
        topic_id = kafka_class("common.Uuid").ZERO_UUID if state.topicId().isEmpty() else state.topicId().get()
        last = state.lastFetchedEpoch()
        last = optional() if last.isEmpty() else optional(java_class("java.lang.Integer")(last.get()))
        epoch = optional(java_class("java.lang.Integer")(state.currentLeaderEpoch()))
        data = java_class(PACKAGE + "common.requests.FetchRequest$PartitionData")
        return data(topic_id, state.fetchOffset(), 0, size, epoch, last)

    def deliver(self, message: FetchMessage, latest: Callable[[int], Any]) -> None:
        """Let the thread process the response to a fetch; `latest` answers where a leader's log ends, by leader epoch."""
        self.response, self.latest = message.response, latest
        sent = java_class("java.util.HashMap")()
        sent.put(self.topic_partition, message.data)
        call(self.thread, "processFetchRequest", sent, None)
