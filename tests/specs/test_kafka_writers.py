"""Who writes a topic: applications by their names, programs of Kafka their own topics, and nobody by another's file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from neverlost.specs.errors import InputError
from neverlost.specs.inputs import remedies
from neverlost.specs.inputs.chosen import chosen_configurations
from neverlost.specs.inputs.internal_topics import internal_topic
from tests.support.program import neverlost

INTERNAL = (
    "__consumer_offsets",
    "__transaction_state",
    "connect-configs",
    "connect-cluster-offsets",
    "connect-status",
    "_schemas",
)
ORDERS = ("orders.v1", "orders.v2", "payments")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    lines = []
    for name in (*ORDERS, *INTERNAL):
        lines.append(
            f"Topic: {name}\tTopicId: {'A' * 22}\tPartitionCount: 1\tReplicationFactor: 2\tConfigs: min.insync.replicas=1"
        )
        lines.append(f"\tTopic: {name}\tPartition: 0\tLeader: 1\tReplicas: 1,2\tIsr: 1,2")
    (tmp_path / "topics.txt").write_text("\n".join(lines) + "\n")
    (tmp_path / "one.properties").write_text("acks=1\n")
    (tmp_path / "all.properties").write_text("acks=all\n")
    return tmp_path


def acks(folder: Path, given: dict[str, Any] | None = None, **files: Any) -> dict[str, str]:
    """Return the acks with which each topic is judged."""
    stated = {"kafka.version": ("3.9", "--set"), "metadata.version": ("3.9-IV0", "--set")} | (given or {})
    found, _ = chosen_configurations(stated, {"describe": folder / "topics.txt", **files})
    return {name: str(each.configuration["acks"]) for each in found for name in each.subjects}


def test_an_application_says_nothing_of_the_topics_that_kafka_writes(folder: Path) -> None:
    by_file = acks(folder, producer_properties=folder / "one.properties")
    by_flag = acks(folder, {"acks": ("1", "--set")})
    assert by_file == by_flag == dict.fromkeys(ORDERS, "1") | dict.fromkeys(INTERNAL, "all")


@pytest.mark.parametrize("name", ["connect-events", "connections", "offsets", "__consumer_offsets2", "my_schemas"])
def test_other_topics_are_of_applications(name: str) -> None:
    """A name that only looks alike must not turn acks=1 into acks=all."""
    assert internal_topic(name) is None


def test_what_brokers_set_for_offsets_counts(folder: Path) -> None:
    (folder / "server.properties").write_text("process.roles=broker\nnode.id=1\noffsets.commit.required.acks=1\n")
    found = acks(folder, server_properties=folder / "server.properties", producer_properties=folder / "all.properties")
    assert {name for name, value in found.items() if value == "1"} == {"__consumer_offsets"}


def test_each_application_writes_its_topics_and_the_least_safe_decides(folder: Path) -> None:
    (folder / "apps.toml").write_text(
        '[[application]]\nname = "shop"\nproducer-properties = "all.properties"\ntopics = ["orders.*", "connect-status"]\n'
        '[[application]]\nname = "import"\nproducer-properties = ["one.properties"]\ntopics = "orders.v2"\n'
    )
    found = acks(folder, applications=folder / "apps.toml")
    assert [found[each] for each in ORDERS] == ["all", "1", "all"]
    done = neverlost(
        *("tolerance", "--describe", str(folder / "topics.txt"), "--applications", str(folder / "apps.toml")),
        *("--kafka-version", "3.9", "--set", "metadata.version=3.9-IV0", "--set", "defects=fixed", "--json", "-"),
    )
    document = json.loads(done.stdout)
    (label,) = [each for each, topics in document["topics"].items() if "orders.v2" in topics]
    assert "one.properties decides with acks=1, the least safe of them" in str(document["notices"][label])
    assert document["sources"][label]["acks"]["where"].endswith("one.properties line 1")


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("name = 1\n", "has no list of applications; write [[application]] with name, producer-properties, topics"),
        ('[[application]]\nproducer = "x"\n', "unknown key 'producer' in application 1 of"),
        ('[[application]]\nproducer-properties = "all.properties"\n', "bad value None for topics in application 1 of"),
        ('[[application]]\nproducer-properties = "all.properties"\ntopics = ["order.*"]\n', "no described topic is called so"),
    ],
)
def test_a_file_of_applications_that_would_count_nowhere_is_refused(folder: Path, text: str, says: str) -> None:
    (folder / "apps.toml").write_text(text)
    with pytest.raises(InputError, match=None) as caught:
        acks(folder, applications=folder / "apps.toml")
    assert says in str(caught.value)


def test_remedies_name_the_keys_of_the_writer(folder: Path) -> None:
    stated = {"kafka.version": ("3.9", "--set"), "metadata.version": ("3.9-IV0", "--set"), "acks": ("all", "--set")}
    found, _ = chosen_configurations(stated, {"describe": folder / "topics.txt"})
    (internal,) = [each for each in found if "__transaction_state" in each.subjects]
    lines = {
        each.line: each.where for each in remedies.commands(internal, {"replication.factor": "3", "min.insync.replicas": "2"})
    }
    assert (
        lines["transaction.state.log.min.isr=2"]
        == lines["offsets.topic.replication.factor=3"]
        == "server.properties of every broker"
    )
    assert lines["config.storage.replication.factor=3"] == "configuration of every Connect worker"
    assert not any("orders" in each for each in lines)


def test_a_bundle_with_applications_verifies(folder: Path) -> None:
    (folder / "apps.toml").write_text('[[application]]\nproducer-properties = "one.properties"\ntopics = ["*"]\n')
    given = ("--kafka-version", "3.9", "--set", "metadata.version=3.9-IV0", "--set", "defects=fixed", "--topic", "payments")
    files = ("--describe", str(folder / "topics.txt"), "--applications", str(folder / "apps.toml"))
    assert neverlost("tolerance", *files, *given, "--out", str(folder / "out")).returncode == 0
    assert neverlost("verify", str(folder / "out")).returncode == 0
