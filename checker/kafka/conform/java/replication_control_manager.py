"""Runs Kafka's own controller for one partition: ReplicationControlManager with its helpers and its records.

Only the clock is a stand-in.  Brokers are numbered as in Kafka, from 1.

Source: org.apache.kafka.controller (ReplicationControlManager, ClusterControlManager, ConfigurationControlManager,
FeatureControlManager).
"""

from __future__ import annotations

import functools
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import astuple, dataclass
from typing import Any

from neverlost.checker.kafka.conform.java.jvm import (
    PACKAGE,
    call,
    call_accepting,
    call_known,
    constructor,
    declared_methods,
    first_class,
    has_method,
    integer,
    java_class,
    java_list,
    kafka_class,
    new,
    proxy,
)
from neverlost.checker.kafka.conform.java.metadata import metadata_version

TOPIC = "t"
SESSION_MS = 9_000
LOG_CONTEXT = ("common.utils.LogContext", "common.utils.internals.LogContext")
ELR_FEATURE = "eligible.leader.replicas.version"


class Clock:
    """A stand-in for Kafka's Time: `now` is in milliseconds, and moves only when it is set or by `sleep`, which adds to it."""

    def __init__(self, now: int = 0) -> None:
        self.now = now

    def milliseconds(self) -> int:
        return self.now

    def hiResClockMs(self) -> int:
        return self.now

    def nanoseconds(self) -> int:
        return self.now * 1_000_000

    def sleep(self, ms: int) -> None:
        self.now += ms

    def waitObject(self, *arguments: Any) -> None:
        """Return at once, whatever is given: nothing is waited for."""

    def java(self) -> Any:
        """Return a Java object that implements Kafka's Time with this clock."""
        return proxy(PACKAGE + "common.utils.Time", self)


@functools.cache
def supported_features() -> Any:
    """Return a Java map from every feature's name to its range of levels in this Kafka version, unstable levels included."""
    made = kafka_class("controller.QuorumFeatures")
    if hasattr(made, "defaultSupportedFeatureMap"):
        return made.defaultSupportedFeatureMap(True)
    try:
        return made.defaultFeatureMap(True)
    except TypeError:
        return made.defaultFeatureMap()


@dataclass(frozen=True)
class PartitionState:
    """What the controller holds of the partition, in Kafka's names and numbers, in the order in which `calls` lists them."""

    replicas: tuple[int, ...]
    isr: tuple[int, ...]
    elr: tuple[int, ...]
    last_known_elr: tuple[int, ...]
    leader: int
    adding: tuple[int, ...]
    removing: tuple[int, ...]
    leader_epoch: int
    partition_epoch: int


class Controller:
    """Kafka's controller of one partition; methods make requests of it, fire its timers, and replay records."""

    def __init__(self, brokers: Sequence[int] = (1, 2, 3), elr: bool = False, min_isr: int = 1) -> None:
        self.clock = Clock()
        self.epochs: dict[int, int] = {}
        self.incarnations: dict[int, int] = {}
        self.offset = 100
        self.calls: list[tuple[Any, ...]] = []
        """What was asked since a state was installed, with that: names of methods and what they were given."""
        self._build(elr)
        for each in brokers:
            self.register(each, clean=False)
            self.heartbeat(each)
        self._create(brokers, min_isr)

    def _build(self, elr: bool) -> None:
        clock = self.clock.java()
        context = java_class(first_class(*[PACKAGE + each for each in LOG_CONTEXT]))()
        self.snapshots = kafka_class("timeline.SnapshotRegistry")(context)
        self.features = self._features(elr)
        known = {"SnapshotRegistry": self.snapshots, "ClusterId": "c", "SessionTimeoutNs": SESSION_MS * 1_000_000}
        made = _builder("ClusterControlManager", {**known, "Time": clock, "FeatureControlManager": self.features})
        self._handle_shutdowns(made)
        self.cluster = call(made, "build")
        self.configurations = self._configurations()
        controls = {
            "ConfigurationControl": self.configurations,
            "ClusterControl": self.cluster,
            "FeatureControl": self.features,
        }
        others = {"LogContext": context, "MaxElectionsPerImbalance": 1000, "EligibleLeaderReplicasEnabled": elr}
        made = _builder("ReplicationControlManager", {"SnapshotRegistry": self.snapshots, **controls, **others})
        self.replication = call(made, "build")
        call(self.cluster, "activate")

    def _features(self, elr: bool) -> Any:
        quorum = PACKAGE + "controller.QuorumFeatures"
        others = [kafka_class("clients.ApiVersions")()] if len(constructor(quorum)[1]) > 3 else []
        features, version = new(quorum, 0, *others, supported_features(), java_list([0])), metadata_version()
        known = {"SnapshotRegistry": self.snapshots, "QuorumFeatures": features, "MetadataVersion": version}
        found = call(_builder("FeatureControlManager", known), "build")
        levels = {"metadata.version": version.featureLevel()}
        if elr and ELR_FEATURE in map(str, supported_features().keySet()):
            levels[ELR_FEATURE] = 1
        for name, level in levels.items():
            record = kafka_class("common.metadata.FeatureLevelRecord")().setName(name).setFeatureLevel(level)
            call_accepting(found, "replay", record)
        return found

    def _handle_shutdowns(self, made: Any) -> None:
        """Give `made`, the builder of ClusterControlManager, a handler by which a registration changes the partitions of the
        broker's earlier incarnation, if this version's builder takes one."""
        controls = PACKAGE + "controller.ClusterControlManager$"
        self.distinguishes_clean_shutdowns = has_method(made, "setBrokerShutdownHandler")
        if self.distinguishes_clean_shutdowns:

            def shut_down(broker: int, clean: bool, records: Any) -> None:
                call(self.replication, "handleBrokerShutdown", broker, clean, records)

            handler = proxy(controls + "BrokerShutdownHandler", {"addRecordsForShutdown": shut_down})
            call(made, "setBrokerShutdownHandler", handler)
        elif has_method(made, "setBrokerUncleanShutdownHandler"):

            def shut_down_uncleanly(broker: int, records: Any) -> None:
                call(self.replication, "handleBrokerUncleanShutdown", broker, records)

            handler = proxy(controls + "BrokerUncleanShutdownHandler", {"addRecordsForShutdown": shut_down_uncleanly})
            call(made, "setBrokerUncleanShutdownHandler", handler)

    def _configurations(self) -> Any:
        schema = java_class("kafka.server.KafkaRaftServer").configSchema()
        known = {"SnapshotRegistry": self.snapshots, "FeatureControl": self.features, "KafkaConfigSchema": schema}
        return call(_builder("ConfigurationControlManager", known), "build")

    def replay(self, records: Iterable[Any]) -> None:
        """Replay each record in the one manager that it is for: of brokers, of configurations, or else of replication."""
        for each in records:
            self.offset += 1
            message = each.message()
            kind = str(message.getClass().getSimpleName())
            if kind == "RegisterBrokerRecord":
                call(self.cluster, "replay", message, self.offset)
            elif kind.startswith(("BrokerReg", "Unregister")):
                call_accepting(self.cluster, "replay", message)
            elif kind == "ConfigRecord":
                call_accepting(self.configurations, "replay", message)
            else:
                call_accepting(self.replication, "replay", message)

    def _done(self, result: Any) -> Any:
        self.replay(result.records())
        return result.response()

    def _context(self, api: int, version: int) -> Any:
        header = kafka_class("common.message.RequestHeaderData")().setRequestApiKey(api).setRequestApiVersion(version)
        principal = kafka_class("common.security.auth.KafkaPrincipal").ANONYMOUS
        return kafka_class("controller.ControllerRequestContext")(
            header, principal, java_class("java.util.OptionalLong").empty()
        )

    # what brokers ask

    def directory(self, broker: int, number: int = 0) -> Any:
        """Return the Uuid of a broker's log directory; `number` is 0 or 1."""
        return kafka_class("common.Uuid")(77 + number, broker)

    def register(self, broker: int, clean: bool) -> None:
        """Register a new incarnation of a broker; if `clean`, the request names the epoch of its last registration, else
        none."""
        self.calls.append(("register", broker, clean))
        self.incarnations[broker] = self.incarnations.get(broker, 0) + 1
        data = "common.message.BrokerRegistrationRequestData"
        request = kafka_class(data)().setBrokerId(broker).setClusterId("c")
        request.setIncarnationId(kafka_class("common.Uuid")(broker, self.incarnations[broker]))
        if hasattr(request, "setLogDirs"):
            request.setLogDirs(java_list([self.directory(broker), self.directory(broker, 1)]))
        if hasattr(request, "setPreviousBrokerEpoch"):
            request.setPreviousBrokerEpoch(self.epochs.get(broker, -1) if clean else -1)
        listeners = kafka_class(data + "$ListenerCollection")()
        listeners.add(kafka_class(data + "$Listener")().setName("L").setHost("h").setPort(9092).setSecurityProtocol(0))
        request.setListeners(listeners)
        offered = kafka_class(data + "$FeatureCollection")()
        for name, levels in supported_features().items():
            feature = kafka_class(data + "$Feature")().setName(name)
            offered.add(feature.setMinSupportedVersion(levels.min()).setMaxSupportedVersion(levels.max()))
        request.setFeatures(offered)
        finalized = call(self.features, "finalizedFeatures", 2**63 - 1)
        last = True if self.distinguishes_clean_shutdowns else kafka_class(data).HIGHEST_SUPPORTED_VERSION
        self._done(call_known(self.cluster, "registerBroker", request, self.offset + 1, finalized, last))
        self.epochs[broker] = int(self.registration_of(broker).epoch())

    def registration_of(self, broker: int) -> Any:
        return call(self.cluster, "brokerRegistrations").get(integer(broker))

    def heartbeat(self, broker: int, stop: bool = False, offline: Iterable[Any] = ()) -> Any:
        """Handle a broker's heartbeat, and return Kafka's reply.  It unfences the broker, or asks for a controlled shutdown
        (`stop`); `offline` are the Uuids of log directories that failed."""
        self.calls.append(("heartbeat", broker, stop))
        request = kafka_class("common.message.BrokerHeartbeatRequestData")().setBrokerId(broker)
        request.setBrokerEpoch(self.epochs[broker]).setCurrentMetadataOffset(self.offset)
        request.setWantShutDown(stop)
        if hasattr(request, "setOfflineLogDirs"):
            request.setOfflineLogDirs(java_list(offline))
        self.track(broker)
        return self._done(call(self.replication, "processBrokerHeartbeat", request, self.offset))

    def track(self, broker: int) -> None:
        """Make a broker's session start anew, as a sign of life of the broker does."""
        if has_method(self.cluster, "trackBrokerHeartbeat"):
            call(self.cluster, "trackBrokerHeartbeat", broker, self.epochs[broker])
        else:
            fenced = bool(self.registration_of(broker).fenced())
            call(call(self.cluster, "heartbeatManager"), "touch", broker, fenced, self.offset)

    def expire(self, *lost: int) -> None:
        """Let the sessions of the `lost` brokers expire, and no others, and let the controller fence these brokers."""
        self.calls.append(("expire", *lost))
        self.clock.now += SESSION_MS - 1_000
        for each in self.epochs:
            if each not in lost:
                self.track(each)
        self.clock.now += 2_000
        while True:
            result = call(self.replication, "maybeFenceOneStaleBroker")
            fenced = bool(result.records().size())
            is_more = self._done(result)  # since 4.0 the timer says whether it should run again at once
            if not fenced and not (is_more is not None and bool(is_more)):
                break

    def alter_partition(
        self,
        leader: int,
        isr: Collection[int],
        leader_epoch: int,
        partition_epoch: int,
        epochs: Mapping[int, int] | None = None,
    ) -> tuple[str, int]:
        """Handle the leader's AlterPartition; return the error's name and the partition epoch of the answer.  `epochs` are the
        broker epochs that the request names (None: the registered ones)."""
        data = "common.message.AlterPartitionRequestData"
        named = epochs or self.epochs
        stale = [each for each in isr if named[each] != self.epochs[each]]
        self.calls.append(("alter_partition", leader, list(isr), leader_epoch, partition_epoch, stale))
        part = kafka_class(data + "$PartitionData")().setPartitionIndex(0)
        if hasattr(part, "setNewIsrWithEpochs"):
            states = [kafka_class(data + "$BrokerState")().setBrokerId(each).setBrokerEpoch(named[each]) for each in isr]
            part.setNewIsrWithEpochs(java_list(states))
        else:
            part.setNewIsr(java_list(isr))
        part.setLeaderEpoch(leader_epoch).setPartitionEpoch(partition_epoch)
        topic = kafka_class(data + "$TopicData")().setTopicId(self.topic_id).setPartitions(java_list([part]))
        request = kafka_class(data)().setBrokerId(leader).setBrokerEpoch(self.epochs[leader]).setTopics(java_list([topic]))
        context = self._context(56, min(3, int(kafka_class(data).HIGHEST_SUPPORTED_VERSION)))
        result = call(self.replication, "alterPartition", context, request)
        answer = self._done(result).topics()[0].partitions()[0]
        return error_name(answer.errorCode()), int(answer.partitionEpoch())

    def assign_directory(self, broker: int, number: int) -> None:
        """Handle a broker's report that its replica is in its log directory `number` (0 or 1)."""
        self.calls.append(("assign_directory", broker, number))
        data = "common.message.AssignReplicasToDirsRequestData"
        part = kafka_class(data + "$PartitionData")().setPartitionIndex(0)
        topic = kafka_class(data + "$TopicData")().setTopicId(self.topic_id).setPartitions(java_list([part]))
        place = kafka_class(data + "$DirectoryData")().setId(self.directory(broker, number)).setTopics(java_list([topic]))
        request = kafka_class(data)().setBrokerId(broker).setBrokerEpoch(self.epochs[broker])
        self._done(call(self.replication, "handleAssignReplicasToDirs", request.setDirectories(java_list([place]))))

    # what operators and timers ask

    def _create(self, brokers: Sequence[int], min_isr: int) -> None:
        data = "common.message.CreateTopicsRequestData"
        topic = kafka_class(data + "$CreatableTopic")().setName(TOPIC).setNumPartitions(-1).setReplicationFactor(-1)
        assignment = kafka_class(data + "$CreatableReplicaAssignment")().setPartitionIndex(0).setBrokerIds(java_list(brokers))
        topic.assignments().add(assignment)
        named = java_class(
            first_class(*[PACKAGE + data + each for each in ("$CreatableTopicConfig", "$CreateableTopicConfig")])
        )
        config = named().setName("min.insync.replicas").setValue(str(min_isr))
        topic.configs().add(config)
        request = kafka_class(data)()
        request.topics().add(topic)
        names = java_class("java.util.HashSet")()
        names.add(TOPIC)
        types = [str(each.getName()) for each in declared_methods(self.replication, "createTopics")[0].getParameterTypes()]
        context = [self._context(19, 7)] if types[0].endswith("ControllerRequestContext") else []
        self._done(call_known(self.replication, "createTopics", *context, request, names, False))
        self.topic_id = call(self.replication, "getTopicId", TOPIC)

    def elect(self, unclean: bool = False) -> str:
        """Handle an operator's request for an election: unclean, or of the preferred leader; return the error's name or
        NONE."""
        self.calls.append(("elect", unclean))
        data = "common.message.ElectLeadersRequestData"
        topics = kafka_class(data + "$TopicPartitionsCollection")()
        topics.add(kafka_class(data + "$TopicPartitions")().setTopic(TOPIC).setPartitions(java_list([0])))
        request = kafka_class(data)().setElectionType(1 if unclean else 0).setTopicPartitions(topics)
        answer = self._done(call(self.replication, "electLeaders", request))
        return error_name(answer.replicaElectionResults()[0].partitionResult()[0].errorCode())

    def reassign(self, replicas: Sequence[int] | None) -> str:
        """Handle an operator's reassignment to `replicas` (None: cancel that under way); return the error's name or NONE."""
        self.calls.append(("reassign", None if replicas is None else list(replicas)))
        data = "common.message.AlterPartitionReassignmentsRequestData"
        part = kafka_class(data + "$ReassignablePartition")().setPartitionIndex(0)
        part.setReplicas(None if replicas is None else java_list(replicas))
        topic = kafka_class(data + "$ReassignableTopic")().setName(TOPIC).setPartitions(java_list([part]))
        request = kafka_class(data)().setTopics(java_list([topic]))
        answer = self._done(call(self.replication, "alterPartitionReassignments", request))
        if answer.errorCode():
            return error_name(answer.errorCode())
        return error_name(answer.responses()[0].partitions()[0].errorCode())

    def configure(self, key: str, value: str) -> None:
        """Set a key of the topic's configuration, as an operator does."""
        self.calls.append(("configure", key, value))
        kind = kafka_class("clients.admin.AlterConfigOp$OpType").SET
        operations = java_class("java.util.HashMap")()
        operations.put(key, java_class("java.util.AbstractMap$SimpleEntry")(kind, java_class("java.lang.String")(value)))
        changes = java_class("java.util.HashMap")()
        topic = kafka_class("common.config.ConfigResource")(kafka_class("common.config.ConfigResource$Type").TOPIC, TOPIC)
        changes.put(topic, operations)
        self._done(call_known(self.configurations, "incrementalAlterConfigs", changes, False, False))

    # reading and installing

    def read(self) -> PartitionState:
        found = call(self.replication, "getPartition", self.topic_id, 0)

        def ids(name: str) -> tuple[int, ...]:
            return tuple(map(int, getattr(found, name))) if hasattr(found, name) else ()

        names = ("replicas", "isr", "elr", "lastKnownElr", "addingReplicas", "removingReplicas")
        replicas, isr, elr, last, adding, removing = map(ids, names)
        leader, epoch, changes = int(found.leader), int(found.leaderEpoch), int(found.partitionEpoch)
        return PartitionState(replicas, isr, elr, last, leader, adding, removing, epoch, changes)

    def fenced(self) -> frozenset[int]:
        return frozenset(each for each in self.epochs if bool(self.registration_of(each).fenced()))

    def install(self, wanted: PartitionState, fenced: Collection[int] = ()) -> None:
        """Put the partition into the state `wanted`, and fence just `fenced`, by a snapshot's records; `calls` begins anew."""
        self.calls = [("install", *astuple(wanted), sorted(fenced))]
        record = kafka_class("common.metadata.PartitionRecord")().setTopicId(self.topic_id).setPartitionId(0)
        record.setReplicas(java_list(wanted.replicas)).setIsr(java_list(wanted.isr)).setLeader(wanted.leader)
        record.setLeaderEpoch(wanted.leader_epoch).setPartitionEpoch(wanted.partition_epoch)
        record.setAddingReplicas(java_list(wanted.adding)).setRemovingReplicas(java_list(wanted.removing))
        if hasattr(record, "setEligibleLeaderReplicas"):
            record.setEligibleLeaderReplicas(java_list(wanted.elr) if wanted.elr else None)
            last_known = "setLastKnownElr" if hasattr(record, "setLastKnownElr") else "setLastKnownELR"
            getattr(record, last_known)(java_list(wanted.last_known_elr) if wanted.last_known_elr else None)
        if hasattr(record, "setDirectories"):
            record.setDirectories(java_list(self.directory(each) for each in wanted.replicas))
        call_accepting(self.replication, "replay", record)
        for each in self.epochs:
            if bool(self.registration_of(each).fenced()) != (each in fenced):
                change = kafka_class("common.metadata.BrokerRegistrationChangeRecord")()
                change.setBrokerId(each).setBrokerEpoch(self.epochs[each]).setFenced(1 if each in fenced else -1)
                call_accepting(self.cluster, "replay", change)
            if each not in fenced:
                self.track(each)

    def end_sessions(self) -> None:
        """Move the clock past the end of all sessions; nobody is fenced until the controller's timer fires (`expire`)."""
        self.clock.now += 2 * SESSION_MS


def _builder(of: str, known: Mapping[str, Any]) -> Any:
    """Return the Java builder of the controller class `of`, with those of the `known` values for which it has a setter."""
    made = new(f"{PACKAGE}controller.{of}$Builder")
    for name, value in known.items():
        if has_method(made, "set" + name):
            call(made, "set" + name, value)
    return made


def error_name(code: int) -> str:
    return str(kafka_class("common.protocol.Errors").forCode(code).name())
