"""Kafka clients: produce, consume and administer through confluent-kafka."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from neverlost.checker.kafka.cluster.batches import Record
from neverlost.checker.kafka.cluster.process import ClusterError, wait_until
from neverlost.specs.errors import InputError

QUIET = {"log_level": 0, "log.connection.close": False}
NO_LEADER = -1
ANSWERING = 30
"""Seconds within which a broker has to answer a client that it leads."""


def import_client() -> Any:
    """Import the client library.  Errors: `InputError` if it is not installed."""
    try:
        import confluent_kafka
        import confluent_kafka.admin
    except ImportError:
        raise InputError("a real cluster needs a Kafka client; install it: pip install 'neverlost[kafka]'") from None
    return confluent_kafka


@dataclass(frozen=True)
class ProduceResult:
    """The answer to a producer: an offset (None with acks=0), or an error's name; `at` is the Unix time at which it came."""

    offset: int | None
    error: str | None
    at: float

    @property
    def is_acknowledged(self) -> bool:
        return self.error is None


class Sending:
    """Sends one record to partition 0 when it is made; the answer comes later, and nothing is sent twice unless asked for.
    With a `leader`, whose address `bootstrap` then is, the record goes to that broker although the cluster may have another
    leader by now: the producer asks only it who leads.  Errors: `ClusterError` if that broker does not answer that it leads
    within `ANSWERING` seconds."""

    def __init__(
        self, bootstrap: str, topic: str, value: bytes, acks: str, seconds: float, leader: int | None = None, **more: object
    ) -> None:
        settings = {
            "bootstrap.servers": bootstrap,
            "acks": acks,
            "retries": 0,
            "linger.ms": 0,
            "message.timeout.ms": int(seconds * 1000),
            "request.timeout.ms": int(seconds * 1000),
            "topic.metadata.refresh.interval.ms": 500 if leader is None else -1,
        }
        self.acks, self.deadline = acks, time.monotonic() + seconds + 5
        self._answer: ProduceResult | None = None
        whole = {**settings, **QUIET, **more}
        self._producer = import_client().Producer(whole) if leader is None else _pin_producer(whole, topic, leader)
        self._producer.produce(topic, value=value, partition=0, on_delivery=self._note)
        self._producer.poll(0)

    def _note(self, error: Any, message: Any) -> None:
        offset = None if error is not None or self.acks == "0" else message.offset()
        self._answer = ProduceResult(offset, None if error is None else error.name(), time.time())

    @property
    def answer(self) -> ProduceResult | None:
        """Return the answer to the record that was sent, or None as long as there is none."""
        self._producer.poll(0)
        return self._answer

    def wait(self) -> ProduceResult:
        """Wait for the answer, then close the producer; return the answer, or one with the error "no answer" if none came."""
        while self._answer is None and time.monotonic() < self.deadline:
            self._producer.poll(0.1)
        self.close()
        return self._answer or ProduceResult(None, "no answer", time.time())

    def close(self) -> None:
        """Discard what the producer of this record still has to send, and what is on its way."""
        self._producer.purge()
        self._producer.poll(0)


def _pin_producer(settings: Mapping[str, object], topic: str, leader: int) -> Any:
    """Return a producer whose only metadata about the topic say that broker `leader` leads; wait until that broker says so.
    Each attempt makes a new one: one that knows other brokers may ask them.  Errors: `ConditionNotMet` after `ANSWERING` s."""
    named = NO_LEADER

    def asked() -> list[Any]:
        nonlocal named
        producer = import_client().Producer(settings)
        with contextlib.suppress(import_client().KafkaException):
            partitions = producer.list_topics(topic, timeout=5).topics[topic].partitions
            named = partitions[0].leader if partitions else NO_LEADER
        return [producer] * (named == leader)  # in a list, since a producer with nothing to send is false

    wanted = f"broker {leader} to answer clients that it leads"
    return wait_until(asked, wanted, ANSWERING, lambda: f"broker {leader} answers clients that broker {named} leads")[0]


def fetch_all(bootstrap: str, topic: str, seconds: float) -> list[Record]:
    """Return the records that a consumer reads of partition 0, from its beginning to its end or to the first open transaction.
    Errors: `ClusterError` when that is not reached within `seconds`."""
    kafka = import_client()
    settings = {
        "bootstrap.servers": bootstrap,
        "group.id": "neverlost",
        "enable.auto.commit": False,
        "enable.partition.eof": True,
        "auto.offset.reset": "earliest",
        "fetch.wait.max.ms": 50,
    }
    consumer = kafka.Consumer(settings | QUIET)
    found: list[Record] = []
    try:
        consumer.assign([kafka.TopicPartition(topic, 0, 0)])
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            message = consumer.poll(0.2)
            if message is None:
                continue
            if message.error() is None:
                found.append(Record(message.offset(), message.leader_epoch() or 0, message.key(), message.value()))
            elif message.error().code() == kafka.KafkaError._PARTITION_EOF:
                return found
        raise ClusterError(f"{topic} could not be read to its end within {seconds:.0f} s")
    finally:
        consumer.close()


class Admin:
    """An operator's requests; brokers' addresses are looked up each time, since brokers come and go."""

    def __init__(self, bootstrap: Callable[[], str]) -> None:
        self.bootstrap = bootstrap

    def _client(self) -> Any:
        """Return a client, which the caller must hold until the answer arrives: without it the request is dropped."""
        return import_client().admin.AdminClient({"bootstrap.servers": self.bootstrap(), **QUIET})

    def brokers(self) -> list[int]:
        with contextlib.suppress(import_client().KafkaException):
            return sorted(self._client().list_topics(timeout=5).brokers)
        return []

    def create_topic(self, topic: str, replicas: list[int], configs: dict[str, str]) -> None:
        """Create a topic of one partition.  Errors: `ClusterError` with Kafka's refusal."""
        new = import_client().admin.NewTopic(topic, num_partitions=1, replica_assignment=[replicas], config=configs)
        client = self._client()
        self._wait_done(client.create_topics([new], operation_timeout=30), f"create topic {topic}")

    def delete_topic(self, topic: str) -> None:
        """Delete a topic.  Errors: `ClusterError` with Kafka's refusal."""
        client = self._client()
        self._wait_done(client.delete_topics([topic], operation_timeout=30), f"delete topic {topic}")

    def set_topic_config(self, topic: str, name: str, value: str) -> None:
        """Change one setting of a topic.  Errors: `ClusterError` with Kafka's refusal."""
        admin = import_client().admin
        change = admin.ConfigEntry(name, value, incremental_operation=admin.AlterConfigOpType.SET)
        resource = admin.ConfigResource(admin.ConfigResource.Type.TOPIC, topic, incremental_configs=[change])
        client = self._client()
        self._wait_done(client.incremental_alter_configs([resource]), f"set {name} of {topic}")

    def elect(self, topic: str, unclean: bool = False) -> str | None:
        """Request a preferred leader election of partition 0, or an unclean one; return the error as text; None without one."""
        kafka = import_client()
        kind = kafka.ElectionType.UNCLEAN if unclean else kafka.ElectionType.PREFERRED
        client = self._client()
        found = client.elect_leaders(kind, [kafka.TopicPartition(topic, 0)]).result(40)
        return next((str(error) for error in found.values() if error is not None), None)

    def _wait_done(self, futures: Mapping[Any, Any], what: str) -> None:
        for future in futures.values():
            try:
                future.result(40)
            except import_client().KafkaException as problem:
                raise ClusterError(f"cannot {what}: {problem.args[0]}") from None
