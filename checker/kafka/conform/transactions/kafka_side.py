"""Runs Kafka's own metadata of one transactional.id, and its own log of a partition that a transaction writes to.

Source: TransactionMetadata (Scala until 4.0, Java since), UnifiedLog with ProducerStateManager and ProducerAppendInfo.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from neverlost.checker.kafka.conform.java.jvm import (
    PACKAGE,
    MissingClass,
    call,
    declared_methods,
    first_class,
    java_class,
    kafka_class,
    option,
    optional,
)
from neverlost.checker.kafka.conform.java.partition import Broker, Host

SCALA, JAVA = "kafka.coordinator.transaction.", PACKAGE + "coordinator.transaction."
PRODUCER, TIMEOUT, NONE = 7, 60_000, -1
PREPARE_ABORT = 3
"""The number of PrepareAbort in TransactionState, as it is written to `__transaction_state`."""

REFUSALS = (
    "InvalidProducerEpochException",
    "InvalidTxnStateException",
    "OutOfOrderSequenceException",
    "TransactionCoordinatorFencedException",
)
"""The exceptions with which a log refuses a record or a marker."""

Known = tuple[int, int, frozenset[int]]
"""What a coordinator knows: the state's number, the producer epoch, the partitions of the transaction."""


class CoordinatorMetadata:
    """One TransactionMetadata; a method prepares a transition and completes it at once, or raises what Kafka refuses."""

    def __init__(self, known: Known, version: int) -> None:
        state, epoch, partitions = known
        self.version = version
        self.in_java = first_class(JAVA + "TransactionMetadata", SCALA + "TransactionMetadata").startswith(JAVA)
        given = [self._state(state), self._set(partitions), 0, 0]
        if self.in_java:
            made = java_class(JAVA + "TransactionMetadata")
            self.metadata = made("t", PRODUCER, NONE, NONE, epoch, NONE, TIMEOUT, *given, self._version())
        else:
            if version == 2:
                raise MissingClass("TransactionMetadata of transaction version 2")
            self.metadata = java_class(SCALA + "TransactionMetadata")("t", PRODUCER, NONE, epoch, NONE, TIMEOUT, *given)

    def _version(self) -> Any:
        return kafka_class("server.common.TransactionVersion").fromFeatureLevel(self.version)

    def _state(self, number: int) -> Any:
        if self.in_java:
            return java_class(JAVA + "TransactionState").fromId(number)
        return getattr(java_class(SCALA + "TransactionState$"), "MODULE$").fromId(number)

    def _set(self, partitions: Iterable[int]) -> Any:
        found = java_class("java.util.HashSet" if self.in_java else "scala.collection.mutable.HashSet")()
        for each in sorted(partitions):
            found.add(kafka_class("common.TopicPartition")("t", each))
        return found

    @property
    def known(self) -> Known:
        """Return the number of the metadata's state, the producer epoch and the partitions."""
        topics = self.metadata.topicPartitions()
        if not self.in_java:
            topics = java_class("scala.jdk.javaapi.CollectionConverters").asJava(topics)
        partitions = frozenset(int(each.partition()) for each in topics)
        return int(self.metadata.state().id()), int(self.metadata.producerEpoch()), partitions

    def init(self, expected: int | None = None) -> None:
        """Handle InitProducerId; `expected` is the epoch that the producer says it has (None: it says none)."""
        boxed = None if expected is None else java_class("java.lang.Short")(expected)
        found = self.metadata.prepareIncrementProducerEpoch(TIMEOUT, (optional if self.in_java else option)(boxed), 1)
        if not self.in_java:
            if found.isLeft():
                raise java_class("java.lang.IllegalStateException")(str(found.left().get()))
            found = found.toOption().get()
        self.metadata.completeTransitionTo(found)

    def add(self, partition: int) -> None:
        added = self._set([partition])
        found = (
            self.metadata.prepareAddPartitions(added, 1, self._version())
            if self.in_java
            else self.metadata.prepareAddPartitions(added.toSet(), 1)
        )
        self.metadata.completeTransitionTo(found)

    def end(self, state: int) -> None:
        """Handle EndTxn: move to the `state` of this number, PrepareCommit or PrepareAbort."""
        found = (
            self.metadata.prepareAbortOrCommit(self._state(state), self._version(), NONE, 1, self.known[0] != 1)
            if self.in_java
            else self.metadata.prepareAbortOrCommit(self._state(state), 1)
        )
        self.metadata.completeTransitionTo(found)

    def time_out(self) -> None:
        """Abort as the coordinator does by itself, including what TransactionCoordinator.endTransaction does in between."""
        fenced = self.metadata.prepareFenceProducerEpoch()
        if self.in_java:
            self.metadata.pendingState(optional())
        else:
            call(self.metadata, "pendingState_$eq", option())
        if self.version == 1:
            self._set_epoch("producerEpoch", int(fenced.producerEpoch()))
            self._set_epoch("lastProducerEpoch", NONE)
        self.end(PREPARE_ABORT)

    def _set_epoch(self, field: str, value: int) -> None:
        setter = f"set{field[0].upper()}{field[1:]}" if self.in_java else f"{field}_$eq"
        call(self.metadata, setter, value)

    def complete(self) -> None:
        """Complete the transaction, as the coordinator does when every marker is written."""
        self.metadata.completeTransitionTo(self.metadata.prepareComplete(1))


class TransactionalLog:
    """A log on which each case has a producer id of its own; `version` is the transaction version of what is written."""

    def __init__(self, version: int) -> None:
        self.version = version
        self.host = Host()
        broker = Broker(self.host, (1,))
        broker.learn(1, [1], 0, 0)
        self.log = broker.log
        self.producer = 0  # for each case the next one, which the log has not seen
        name = first_class(PACKAGE + "common.record.internal.MemoryRecords", PACKAGE + "common.record.MemoryRecords")
        self.package = name.removesuffix("MemoryRecords")
        self.sentinel = kafka_class("storage.internals.log.VerificationGuard").SENTINEL
        self.calls = 0

    def close(self) -> None:
        """Remove the log."""
        self.host.close()

    def _tried(self, method: str, *arguments: Any) -> Any:
        """Call a method of the log; return None if it refuses with one of `REFUSALS`."""
        try:
            return call(self.log, method, *arguments)
        except java_class("java.lang.Exception") as thrown:
            if str(thrown.getClass().getSimpleName()) not in REFUSALS:
                raise
            return None

    def guard(self, epoch: int, sequence: int) -> Any:
        """Return the guard that the leader keeps while the coordinator verifies a request; None if it refuses that at once."""
        method = "maybeStartTransactionVerification"
        given = [self.producer, sequence, epoch, self.version == 2]
        return self._tried(method, *given[: int(declared_methods(self.log, method)[0].getParameterCount())])

    def append(self, epoch: int, sequence: int, guard: Any = None) -> str:
        """Append a record of a transaction (`guard` None: unverified); return `appended`, `duplicate` or `refused`."""
        content = java_class(self.package + "SimpleRecord")(java_class("java.lang.String")("m").getBytes())
        compression = kafka_class("common.compress.Compression").NONE
        records = java_class(self.package + "MemoryRecords").withTransactionalRecords(
            compression, self.producer, epoch, sequence, content
        )
        return self._append(records, "CLIENT", self.sentinel if guard is None else guard, -1)

    def mark(self, epoch: int, coordinator: int, commits: bool, version: int | None = None) -> str:
        """Append a marker; `version`: its transaction version (None: the log's).  Return `appended` or `refused`."""
        kind = java_class(self.package + "ControlRecordType")
        marker = java_class(self.package + "EndTransactionMarker")(kind.COMMIT if commits else kind.ABORT, coordinator)
        records = java_class(self.package + "MemoryRecords").withEndTransactionMarker(
            self.host.clock.now, self.producer, epoch, marker
        )
        return self._append(records, "COORDINATOR", self.sentinel, self.version if version is None else version)

    def _append(self, records: Any, origin: str, guard: Any, version: int) -> str:
        self.calls += 1
        before = int(self.log.logEndOffset())
        method = max(declared_methods(self.log, "appendAsLeader"), key=lambda each: int(each.getParameterCount()))
        local = java_class(first_class(PACKAGE + "server.common.RequestLocal", "kafka.server.RequestLocal"))
        given = {
            "MemoryRecords": records,
            "int": 0,
            "AppendOrigin": getattr(kafka_class("storage.internals.log.AppendOrigin"), origin),
            "RequestLocal": local.noCaching() if hasattr(local, "noCaching") else local.NoCaching(),
            "VerificationGuard": guard,
            "short": version,
        }
        if any(str(each.getSimpleName()) == "MetadataVersion" for each in method.getParameterTypes()):
            given["MetadataVersion"] = kafka_class("server.common.MetadataVersion").latestProduction()
        found = self._tried("appendAsLeader", *[given[str(each.getSimpleName())] for each in method.getParameterTypes()])
        if found is None:
            return "refused"
        return "appended" if int(self.log.logEndOffset()) > before else "duplicate"

    @property
    def seen(self) -> tuple[int, bool, int]:
        """What the log knows of the producer: (epoch, is a transaction open, coordinator's epoch), or (-1, False, 0)."""
        entry = call(call(self.log, "producerStateManager"), "lastEntry", self.producer)
        if not entry.isPresent():
            return -1, False, 0
        found = entry.get()
        return (
            int(found.producerEpoch()),
            bool(found.currentTxnFirstOffset().isPresent()),
            max(0, int(found.coordinatorEpoch())),
        )
