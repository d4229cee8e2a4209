"""The brokers that the model's replicas stand for, under the user's own names."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from neverlost.specs.inputs.effective_settings import ClusterConfiguration
from neverlost.specs.inputs.effective_settings import read_cluster as every_configuration

ORDERS = (
    "Topic: orders\tTopicId: Xm3bVpA8QfO0yYw2l2cB3g\tPartitionCount: 2\tReplicationFactor: 3\tConfigs: min.insync.replicas=2\n"
    "\tTopic: orders\tPartition: 0\tLeader: 105\tReplicas: 101,105,104\tIsr: 104,105\n"
    "\tTopic: orders\tPartition: 1\tLeader: 104\tReplicas: 104,101,105\tIsr: 104,101,105\n"
)


def read_cluster(*files: Any, given: Sequence[str] = (), **options: Any) -> list[ClusterConfiguration]:
    """What files say of a cluster whose metadata version is given elsewhere."""
    named = dict(zip(("describe", "configs"), files, strict=False))
    return every_configuration(given=(*given, "metadata.version"), **named, **options)


def described(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "topics.txt"
    path.write_text(text)
    return path


def test_replicas_are_numbered_from_the_leader_on_and_end_with_those_outside_the_isr(tmp_path: Path) -> None:
    """In the model replica 0 leads at the start, and the last replicas are those outside the ISR."""
    behind, healthy = read_cluster(described(tmp_path, ORDERS), kafka_version="3.9")
    assert behind.brokers(are_alike=True) == {"orders-0": ("105", "104", "101")}
    assert healthy.brokers(are_alike=True) == {"orders-1": ("104", "101", "105")}


def test_replicas_that_differ_are_numbered_as_they_are_assigned(tmp_path: Path) -> None:
    """The preferred election asks them in that order."""
    behind, _ = read_cluster(described(tmp_path, ORDERS), kafka_version="3.9")
    assert behind.brokers(are_alike=False) == {"orders-0": ("101", "105", "104")}


def test_a_rack_s_brokers_stand_where_the_model_has_their_rack(tmp_path: Path) -> None:
    """The model's racks are sorted: a, a, b."""
    configs = tmp_path / "configs.txt"
    racks = {101: "b", 104: "a", 105: "a"}
    lines = [f"Dynamic configs for broker {each} are:\n  broker.rack={rack} sensitive=false\n" for each, rack in racks.items()]
    configs.write_text("".join(lines))
    behind, _ = read_cluster(described(tmp_path, ORDERS), configs, kafka_version="3.9")
    assert behind.settings["broker.rack"].value == "a,a,b"
    assert behind.brokers(are_alike=False) == {"orders-0": ("105", "104", "101")}


def test_topics_with_one_answer_keep_their_own_brokers(tmp_path: Path) -> None:
    clicks = ORDERS.replace("orders", "clicks").replace("101", "201").replace("Leader: 105", "Leader: 104")
    behind, healthy = read_cluster(described(tmp_path, ORDERS + clicks), kafka_version="3.9")
    assert set(behind.brokers(True)) == {"orders-0", "clicks-0"} and behind.brokers(True)["clicks-0"] == ("104", "105", "201")
    assert set(healthy.brokers(True)) == {"orders-1", "clicks-1"}
