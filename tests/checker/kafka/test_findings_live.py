"""A request that outlives its broker's data, on running clusters: findings E and F, five times each, with the control beside.

A leader asks to admit a follower that has caught up, and the request is held.  The follower loses what it has, comes back and
is unfenced; then the request arrives.  Since KIP-903 the controller refuses it by the broker's epoch, unless the finalized
metadata.version is too old to name one (E), or the fetch that led to the request came before the broker had registered (F).
"""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from neverlost.checker.kafka.cluster import faults
from neverlost.checker.kafka.cluster.cluster import FIRST_CONTROLLER, Cluster, cluster
from neverlost.checker.kafka.cluster.jars import find_kafka
from neverlost.checker.kafka.cluster.network import ALTER_PARTITION, FETCH, REQUESTS, TrafficRule
from neverlost.checker.kafka.cluster.process import ConditionNotMet

pytestmark = [pytest.mark.kafka, pytest.mark.slow]

VERSIONS = ("4.3.1", "3.9.2")
TRIES = range(5)
NAME, REGISTRATION = "neverlost", 62
LEVEL_WITHOUT_EPOCHS = {"metadata.version": 8}
"""3.4-IV0: AlterPartition names brokers without their epochs up to 3.5-IV0."""

SAFE = {"min.insync.replicas": "2", "unclean.leader.election.enable": "false"}
LONG_SESSION = {"broker.session.timeout.ms": "18000"}


def drop_follower(found: Cluster) -> TrafficRule:
    """Create the topic, and let follower 2 leave the ISR; the rule that keeps its fetches back."""
    found.create_topic(NAME, [1, 2, 3], SAFE)
    fetches = found.network.hold(2, 1, FETCH)
    found.produce(NAME, b"m0", acks="1")
    found.wait(lambda: sorted(found.partition(NAME).isr) == [1, 3], "follower 2 to leave the ISR", 60)
    return fetches


def hold_request(found: Cluster) -> TrafficRule:
    """Hold the leader's next AlterPartition.  The answer to the last one, by which the ISR shrank, may still be on its way: to
    hold that instead would keep the leader from asking for anything."""
    return found.network.hold(1, FIRST_CONTROLLER, ALTER_PARTITION, part=REQUESTS)


def is_acknowledged(found: Cluster) -> bool:
    return found.produce(NAME, b"m1", acks="all").error is None


def come_back(found: Cluster, *held: TrafficRule) -> None:
    """Start broker 2, which is down, once the controller has missed it; it fetches nothing."""
    for other in (1, 3):
        found.network.hold(2, other, FETCH)
    if held:
        found.network.lift(*held)
    found.wait(lambda: not found.is_unfenced(2), "broker 2 to be fenced", 90)
    faults.start(found, 2)
    found.wait(lambda: found.is_unfenced(2), "broker 2 to be unfenced", 120)


def is_admitted(found: Cluster, request: TrafficRule) -> bool:
    """Let the request go; whether the controller commits it."""
    found.network.lift(request)
    try:
        found.wait(lambda: sorted(found.partition(NAME).isr) == [1, 2, 3], "broker 2 to be admitted", 15)
    except ConditionNotMet:
        return False
    return True


def read_after_leader_dies(found: Cluster) -> list[bytes]:
    """What a consumer reads once another broker leads, with every hold lifted."""
    faults.crash(found, 1)
    found.wait(lambda: found.partition(NAME).leader in (2, 3), "another leader", 60)
    found.network.lift()
    return [each.value for each in found.consume(NAME)]


def ask_for_follower_that_loses_its_disk(found: Cluster) -> TrafficRule:
    """Broker 2 catches up; the request to admit it is held; m1 is acknowledged; then its disk is replaced."""
    fetches = drop_follower(found)
    request = hold_request(found)
    found.network.lift(fetches)
    found.wait(lambda: found.network.is_holding(request), "leader 1 to ask for broker 2", 60)
    assert is_acknowledged(found)
    faults.lose_disk(found, 2)
    come_back(found)
    return request


def ask_for_process_that_has_not_registered(found: Cluster) -> TrafficRule:
    """Broker 2 is killed and starts within its session; the request that its first fetches lead to is held; it loses power."""
    fetches = drop_follower(found)
    request = hold_request(found)
    registration = found.network.hold(2, FIRST_CONTROLLER, REGISTRATION)
    faults.crash(found, 2)
    # a fetch of the killed process that was let through would lead to a request that names its epoch
    found.wait(lambda: not found.network.is_holding(fetches), "the fetch of the killed process to be dropped", 30)
    found.network.lift(fetches)
    assert not found.network.is_holding(request)
    faults.start(found, 2)
    found.wait(lambda: found.network.is_holding(request), "leader 1 to ask for broker 2", 30)
    assert is_acknowledged(found)
    # a registration that is not answered is sent anew
    found.wait(lambda: found.network.is_holding(registration), "the registration of broker 2 to wait", 30)
    faults.crash_lossy(found, 2, NAME, 0)
    come_back(found, registration)
    return request


def kafka_cluster(version: str, features: Mapping[str, int] | None = None, settings: Mapping[str, str] | None = None):  # type: ignore[no-untyped-def]
    return cluster(find_kafka(version=version), brokers=3, controllers=1, features=features, settings=settings)


@pytest.mark.parametrize("attempt", TRIES)
@pytest.mark.parametrize("version", VERSIONS)
def test_with_an_old_metadata_version_the_request_is_committed(version: str, attempt: int) -> None:
    with kafka_cluster(version, LEVEL_WITHOUT_EPOCHS) as found:
        assert is_admitted(found, ask_for_follower_that_loses_its_disk(found))
        assert b"m1" not in read_after_leader_dies(found)


@pytest.mark.parametrize("version", VERSIONS)
def test_with_the_newest_metadata_version_it_is_refused(version: str) -> None:
    with kafka_cluster(version) as found:
        assert not is_admitted(found, ask_for_follower_that_loses_its_disk(found))
        assert b"m1" in read_after_leader_dies(found)


@pytest.mark.parametrize("attempt", TRIES)
@pytest.mark.parametrize("version", VERSIONS)
def test_a_process_that_fetched_before_it_registered_is_admitted_without_its_data(version: str, attempt: int) -> None:
    with kafka_cluster(version, settings=LONG_SESSION) as found:
        assert is_admitted(found, ask_for_process_that_has_not_registered(found))
        assert b"m1" not in read_after_leader_dies(found)
