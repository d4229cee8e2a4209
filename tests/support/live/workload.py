"""A producer, a consumer and a watcher that record what they see of one partition."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any

from neverlost.checker.kafka.cluster.clients import QUIET, import_client
from neverlost.checker.kafka.history.history import HistoryObservation

PAUSE = 0.05
"""A quarter of the seconds between two looks at the high watermark."""


class Notebook:
    """Observations of several threads, each with the times before and after it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.seen: list[HistoryObservation] = []

    def note(self, saw: str, source: str, at: float | None = None, until: float | None = None, **says: Any) -> None:
        """Record one observation; its time is now unless it is given."""
        moment = time.time()
        begun = moment if at is None else at
        with self._lock:
            self.seen.append(HistoryObservation(saw, begun, begun if until is None else until, source, says))


class Workload:
    """Threads that use the cluster until they are stopped; the application sends each record once."""

    def __init__(self, notebook: Notebook, bootstrap: Callable[[], str], topic: str, acks: str, rate: float) -> None:
        self.notebook, self.bootstrap, self.topic, self.acks = notebook, bootstrap, topic, acks
        self.pause = 1 / rate
        self._over = threading.Event()
        self._threads = [threading.Thread(target=each, daemon=True) for each in (self._produce, self._consume, self._watch)]
        self.failures: list[str] = []

    def __enter__(self) -> Workload:
        for each in self._threads:
            each.start()
        return self

    def __exit__(self, *problem: object) -> None:
        self._over.set()
        for each in self._threads:
            each.join(30)

    def _produce(self) -> None:
        settings = {
            "bootstrap.servers": self.bootstrap(),
            "acks": self.acks,
            "enable.idempotence": False,
            "message.send.max.retries": 0,
            "message.timeout.ms": 4000,
            "request.timeout.ms": 3000,
            "linger.ms": 0,
            "batch.num.messages": 1,
            "queue.buffering.max.ms": 0,
            "topic.metadata.refresh.interval.ms": 500,
            "topic.metadata.refresh.fast.interval.ms": 100,
            "reconnect.backoff.max.ms": 300,
        }
        producer = import_client().Producer(settings | QUIET)
        number = 0
        while not self._over.wait(self.pause):
            record = f"r{number}"
            number += 1
            self.notebook.note("sent", "producer", record=record)
            producer.produce(self.topic, value=record.encode(), partition=0, on_delivery=self._note_answer)
            producer.poll(0)
        producer.flush(10)

    def _note_answer(self, error: Any, message: Any) -> None:
        record = message.value().decode()
        if error is not None:
            self.notebook.note("failed", "producer", record=record, error=error.name())
        elif self.acks != "0":
            self.notebook.note("acked", "producer", record=record, acks=self.acks, offset=message.offset())

    def _consume(self) -> None:
        kafka = import_client()
        settings = {
            "bootstrap.servers": self.bootstrap(),
            "group.id": "observer",
            "enable.auto.commit": False,
            "auto.offset.reset": "earliest",
            "fetch.wait.max.ms": 100,
            "reconnect.backoff.max.ms": 300,
        }
        consumer = kafka.Consumer(settings | QUIET)
        consumer.assign([kafka.TopicPartition(self.topic, 0, 0)])
        while not self._over.is_set():
            message = consumer.poll(0.2)
            if message is not None and message.error() is None:
                self.notebook.note("read", "consumer", record=message.value().decode(), offset=message.offset())
        consumer.close()

    def _watch(self) -> None:
        kafka = import_client()
        client, place = None, kafka.TopicPartition(self.topic, 0)
        while not self._over.wait(PAUSE * 4):
            settings = {"bootstrap.servers": self.bootstrap(), "reconnect.backoff.max.ms": 300, **QUIET}
            client = client or kafka.admin.AdminClient(settings)
            begun = time.time()
            try:
                asked = client.list_offsets({place: kafka.admin.OffsetSpec.latest()}, request_timeout=3)
                found = asked[place].result(5)
            except (kafka.KafkaException, TimeoutError):
                # a client that once knew a leader asks it with its epoch for good: begin anew
                client = None
                continue
            if found.leader_epoch is not None and found.leader_epoch >= 0:
                says = {"leader_epoch": found.leader_epoch, "high_watermark": found.offset}
                self.notebook.note("high_watermark", "watcher", begun, time.time(), **says)
