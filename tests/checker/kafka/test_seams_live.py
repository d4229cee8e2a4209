"""Counterexamples of the seams on real clusters: a controller of three loses its directory, a real transactional producer.

Each follows a counterexample of its model; what the model decides otherwise is tried beside it.  `pytest -m kafka` runs these.
"""

from __future__ import annotations

import struct
from typing import Any

import pytest

from neverlost.checker.kafka.cluster import faults
from neverlost.checker.kafka.cluster.batches import parse_batches
from neverlost.checker.kafka.cluster.clients import QUIET, import_client
from neverlost.checker.kafka.cluster.cluster import SEGMENT, Cluster, cluster
from neverlost.checker.kafka.cluster.jars import find_kafka
from neverlost.checker.kafka.cluster.metadata import LOG, MetadataImage
from neverlost.checker.kafka.cluster.process import ClusterError
from neverlost.checker.kafka.cluster.requests import encode_header, send_request
from tests.support.live import disturbances

pytestmark = pytest.mark.kafka

PATIENT = {
    "broker.session.timeout.ms": "18000",
    "controller.quorum.fetch.timeout.ms": "12000",
    "controller.quorum.election.timeout.ms": "6000",
    "controller.quorum.request.timeout.ms": "6000",
}
"""What five processes on a busy machine need to be taken for alive."""

TRANSACTIONS = {
    "transaction.state.log.replication.factor": "1",
    "transaction.state.log.min.isr": "1",
    "transaction.state.log.num.partitions": "1",
}
NAME = "neverlost"
INVALID_STATE, FENCED = 48, 47
"""INVALID_TXN_STATE and INVALID_PRODUCER_EPOCH."""


def end_transaction(address: str, name: str, producer: int, epoch: int, commits: bool, seconds: float = 30) -> int:
    """Ask the coordinator to end whatever transaction of a transactional.id is open; its error's number, 0 for none.

    Source: EndTxnRequest.json and EndTxnResponse.json, version 1.
    """
    asked = f"the end of a transaction of {name}"
    body = struct.pack(">h", len(name.encode())) + name.encode() + struct.pack(">qh?", producer, epoch, commits)
    answer = send_request(address, encode_header(26, 1) + body, asked, seconds)
    if not answer:
        raise ClusterError(f"{asked} is not answered: the connection was closed")
    return int(struct.unpack(">h", answer[-2:])[0])


def of_controller(kafka: Cluster, controller: int) -> MetadataImage:
    """What one controller's own log says."""
    found = MetadataImage()
    found.follow(kafka.controllers[controller].data / LOG)
    return found


def isr(kafka: Cluster, controller: int) -> tuple[int, ...]:
    """The topic's ISR in one controller's log; none where the topic is not in it."""
    found = of_controller(kafka, controller).partition("t")
    return found.isr if found else ()


def leads(kafka: Cluster, controller: int) -> bool:
    """Whether a controller is the active one; none may be for a while."""
    try:
        return disturbances.find_active_controller(kafka) == controller
    except ClusterError:
        return False


def values(kafka: Cluster) -> list[bytes | None]:
    return [each.value for each in kafka.consume("t")]


@pytest.mark.parametrize("version", ["4.3"])
def test_a_controller_whose_directory_is_empty_takes_acknowledged_data_with_it(version: str) -> None:
    """kraft-quorum and kraft-composed with `faults.disk_loss=1`: one controller lags, another loses the shrunk ISR.

    The two are a majority without the decision, which the third has; the broker that lacks m1 is in the ISR that they know.
    """
    with cluster(find_kafka(version=version), brokers=2, controllers=3, settings=PATIENT) as kafka:
        kafka.create_topic("t", [1, 2], {"min.insync.replicas": "1"})
        active = disturbances.find_active_controller(kafka)
        lags, wiped = [each for each in kafka.controllers if each != active]
        kafka.wait(lambda: isr(kafka, lags) == (1, 2), "the topic in the log of the controller that will lag")
        kafka.controllers[lags].process.kill()

        faults.crash(kafka, 2)
        kafka.wait(lambda: isr(kafka, active) == isr(kafka, wiped) == (1,), "the shrunk ISR on two of three controllers")
        assert kafka.produce("t", b"m1").is_acknowledged
        faults.crash(kafka, 1)

        kafka.controllers[active].process.kill()
        faults.replace_disk(kafka, kafka.controllers[wiped])
        for each in (lags, wiped):
            kafka.controllers[each].process.start()
        kafka.wait(lambda: leads(kafka, lags), "the controller that lagged to lead", 120)
        assert isr(kafka, lags) == (1, 2), "a committed decision is lost"

        kafka.brokers[2].process.start()
        kafka.wait(lambda: of_controller(kafka, lags).partition("t").leader == 2, "broker 2 to lead, from the ISR", 120)
        kafka.controllers[active].process.start()
        kafka.brokers[1].process.start()
        kafka.wait(lambda: kafka.log(1, "t") == [], "broker 1 to truncate m1", 120)
        assert values(kafka) == [], "acknowledged data is lost with the metadata"


def producer(kafka: Cluster) -> Any:
    """A transactional producer that has its epoch."""
    made = import_client().Producer({"bootstrap.servers": kafka.bootstrap, "transactional.id": NAME, **QUIET})
    made.init_transactions(60)
    return made


def sent(producing: Any, value: bytes) -> None:
    """One record in the open transaction, written."""
    producing.produce("t", value=value, partition=0)
    assert producing.flush(60) == 0


def last_producer(kafka: Cluster) -> tuple[int, int]:
    """Producer id and epoch of the last batch of the topic."""
    segment = (kafka.log_folder(1, "t") / SEGMENT).read_bytes()
    return list(parse_batches(segment))[-1].producer


@pytest.mark.parametrize("version", ["3.9", "4.3"])
def test_a_late_end_of_a_transaction_commits_the_next_one(version: str) -> None:
    """`transactions-3.9` with `faults.request_retry=1` violates no-commit-after-abort: m2 is committed as m1 had asked.

    The client speaks version 1 of the protocol, so 4.3 does the same for it (transaction-version-not-raised).  With a new epoch
    the same request is refused.
    """
    with cluster(find_kafka(version=version), brokers=1, settings=TRANSACTIONS) as kafka:
        kafka.create_topic("t", [1])
        producing = producer(kafka)
        producing.begin_transaction()
        sent(producing, b"m1")
        who = last_producer(kafka)
        producing.commit_transaction(60)

        producing.begin_transaction()
        sent(producing, b"m2")
        assert last_producer(kafka) == who, "version 1 keeps the epoch"
        assert end_transaction(kafka.bootstrap, NAME, *who, commits=True) == 0, "the late copy is taken for m2's"
        with pytest.raises(import_client().KafkaException):
            producing.abort_transaction(60)
        kafka.wait(lambda: values(kafka) == [b"m1", b"m2"], "a read_committed consumer to read m2, which was never committed")

        after = producer(kafka)
        after.begin_transaction()
        sent(after, b"m3")
        assert last_producer(kafka) != who
        refused = end_transaction(kafka.bootstrap, NAME, *who, commits=True)
        assert refused in (FENCED, INVALID_STATE), "a producer epoch of its own is what version 2 gives every transaction"
        after.abort_transaction(60)
        assert values(kafka) == [b"m1", b"m2"]
