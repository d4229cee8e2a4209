"""Kafka's own files as input: real formats, precedence, defaults by version, and every error's full text."""

from __future__ import annotations

import contextlib
import json
import os
import random
import re
import socket
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from neverlost.model.kraft.mechanisms import NEWEST
from neverlost.specs.configuration.choose import choose, read_toml
from neverlost.specs.configuration.input import LARGEST_FILE
from neverlost.specs.configuration.keys import KEYS
from neverlost.specs.configuration.version_defaults import list_defaults, parse_version
from neverlost.specs.errors import InputError
from neverlost.specs.inputs.effective_settings import ClusterConfiguration
from neverlost.specs.inputs.effective_settings import read_cluster as every_configuration
from neverlost.specs.inputs.recognise import described
from neverlost.specs.inputs.syntax.properties import parse_properties
from neverlost.specs.inputs.syntax.topics_and_settings import Described, ranges, split_configs
from neverlost.specs.setting import NoticeKind, Origin, Setting, of_kind
from tests.support.program import neverlost
from tests.support.stated import stated

DATA = Path(__file__).resolve().parents[1] / "data" / "kafka"
UNCLEAN = "unclean.leader.election.enable"
ELR = "eligible.leader.replicas"
OUTSIDE = "start.outside_isr"


def read_cluster(*files: Any, given: Sequence[str] = (), **options: Any) -> list[ClusterConfiguration]:
    """What files say of a cluster whose metadata version is given elsewhere."""
    named = dict(zip(("describe", "configs"), files, strict=False))
    return every_configuration(given=(*given, "metadata.version"), **named, **options)


def values(configuration: ClusterConfiguration, *keys: str) -> list[str]:
    return [configuration.settings[key].value for key in keys]


def where(configuration: ClusterConfiguration, key: str) -> str:
    return configuration.settings[key].where.replace(f"{DATA}/", "")


def one(kafka_version: str = "3.9", **files: object) -> ClusterConfiguration:
    (found,) = read_cluster(kafka_version=kafka_version, **files)
    return found


def defaulted(configuration: ClusterConfiguration) -> set[str]:
    """The keys that no file sets."""
    return {key for key, each in configuration.settings.items() if each.how != Origin.FILE}


def warned(configuration: ClusterConfiguration) -> list[str]:
    return [str(each) for each in of_kind(configuration.notices, NoticeKind.WARNING)]


def assumed(configuration: ClusterConfiguration) -> list[str]:
    return [str(each) for each in of_kind(configuration.notices, NoticeKind.ASSUMED)]


@pytest.fixture
def given(tmp_path, monkeypatch):
    """Writes a file in the current folder, so that messages name it shortly."""
    monkeypatch.chdir(tmp_path)

    def write(name: str, content: str | bytes) -> str:
        Path(name).write_bytes(content if isinstance(content, bytes) else content.encode())
        return name

    return write


# What the tools print


def test_topics_with_equal_configurations_share_a_verdict():
    safe, unsafe, offline, worn = read_cluster(
        describe=DATA / "describe-3.9.txt", producer_properties=DATA / "producer.properties", kafka_version="3.9"
    )
    assert (safe.topics, unsafe.topics, worn.topics) == (("orders",), ("clicks (partition 0)",), ("audit",))
    assert offline.topics == ("clicks (partition 1)",)
    assert values(safe, "replication.factor", "min.insync.replicas", "acks") == ["3", "2", "all"]
    assert values(unsafe, "replication.factor", "min.insync.replicas", "acks") == ["3", "1", "all"]
    assert where(unsafe, "min.insync.replicas") == "describe-3.9.txt line 5"
    assert where(unsafe, "replication.factor") == "describe-3.9.txt line 6"
    assert where(unsafe, "acks") == "producer.properties line 2"
    assert where(unsafe, UNCLEAN) == "Kafka 3.9's default"
    assert defaulted(unsafe) == {UNCLEAN, "flush.messages", ELR, "enable.idempotence"}


def test_a_partition_is_judged_from_where_it_stands():
    safe, unsafe, offline, worn = read_cluster(describe=DATA / "describe-3.9.txt", kafka_version="3.9")
    assert values(worn, "replication.factor", "min.insync.replicas", OUTSIDE) == ["3", "2", "1"]
    assert where(worn, OUTSIDE) == "describe-3.9.txt line 9"
    assert OUTSIDE not in safe.settings and OUTSIDE not in unsafe.settings
    assert (warned(safe), warned(worn)) == ([], [])
    assert warned(offline) == [f"topic 'clicks' is offline now (partition 1) ({DATA / 'describe-3.9.txt'} line 7)"]


def test_partitions_of_a_topic_that_stand_differently_are_distinguished():
    lower, full = read_cluster(describe=DATA / "describe-4.1-elr.txt", kafka_version="4.1")
    assert (lower.topics, full.topics) == (("payments (partition 0)",), ("payments (partition 1)",))
    assert values(lower, OUTSIDE) == ["2"] and OUTSIDE not in full.settings


def test_a_partition_with_eligible_leader_replicas_proves_that_they_are_on():
    found, _ = read_cluster(describe=DATA / "describe-4.1-elr.txt", kafka_version="4.1")
    assert values(found, ELR) == ["true"]
    assert where(found, ELR) == "describe-4.1-elr.txt line 2"
    assert ELR not in defaulted(found)


def test_describe_of_zookeeper_times():
    logs, offline, state = read_cluster(describe=DATA / "describe-0.10.txt", kafka_version="0.10.2")
    assert (logs.topics, offline.topics, state.topics) == (("logs (partition 0)",), ("logs (partition 1)",), ("state",))
    assert values(logs, "replication.factor", "min.insync.replicas", UNCLEAN, "acks") == ["2", "1", "true", "1"]
    assert values(state, "replication.factor", "min.insync.replicas") == ["2", "2"]


def test_a_cluster_without_zookeeper_that_an_old_tool_describes_is_no_old_cluster(tmp_path):
    """Its labels are those of Kafka 2.2 to 2.7, which had no KRaft: they show the tool's version."""
    (tmp_path / "topics.txt").write_text(
        "Topic: orders\tPartitionCount: 1\tReplicationFactor: 3\tConfigs: min.insync.replicas=2\n"
        "\tTopic: orders\tPartition: 0\tLeader: 1\tReplicas: 1,2,3\tIsr: 1,2,3\n"
    )
    (tmp_path / "server.properties").write_text("process.roles=broker,controller\nnode.id=1\n")
    old, new = (
        {each.settings["kafka.version"].value for each in read_cluster(describe=tmp_path / "topics.txt", **more)}
        for more in ({}, {"server_properties": tmp_path / "server.properties"})
    )
    assert old == {"2.2", "2.7"} and new == {"3.3", ".".join(map(str, NEWEST))}


def test_a_pasted_screen_with_blanks_crlf_and_byte_order_mark():
    three, two, moving, offline = read_cluster(describe=DATA / "describe-pasted.txt", kafka_version="3.7")
    assert (three.topics, moving.topics) == (("invoices (partition 0)",), ("invoices (partition 2)",))
    assert (two.topics, offline.topics) == (("invoices (partition 1)",), ("invoices (partition 3)",))
    assert values(three, "replication.factor", UNCLEAN) == ["3", "true"]
    assert values(two, "replication.factor", UNCLEAN) == ["2", "true"]


@pytest.mark.parametrize("name", sorted(path.name for path in DATA.glob("describe-*.txt")))
def test_lines_that_a_page_has_broken_between_labels_are_whole_again(name):
    """As a book prints them: each label of a line but the topic's on a line of its own, indented."""
    text = (DATA / name).read_text("utf-8-sig").replace(":\t", ": \t")
    labels = r"(?:Configs|(?<!ing )Replicas|Isr|ReplicationFactor|(?<!Known)Elr|Adding Replicas):"
    broken = re.sub(rf"[ \t]+(?={labels})", "\n    ", text)
    whole, found = described(text, "f"), described(broken, "f")
    assert found.topics.keys() == whole.topics.keys() and broken.count("\n") > text.count("\n")
    for topic, other in zip(whole.topics.values(), found.topics.values(), strict=True):
        assert {key: each.value for key, each in topic.configs.items()} == {k: v.value for k, v in other.configs.items()}
        stands = [[(each.replicas, each.isr, each.elr) for each in one.partitions.values()] for one in (topic, other)]
        assert stands[0] == stands[1]


@pytest.mark.parametrize("name", sorted(path.name for path in DATA.glob("describe-*.txt")))
def test_tabs_and_blanks_read_alike(name):
    text = (DATA / name).read_text("utf-8-sig")
    blanks = text.replace(":\t", ": \t").replace("\t", "    ")
    assert described(blanks, "f") == described(text, "f")


def test_utf16_as_a_windows_shell_writes_it(given):
    text = (DATA / "describe-3.9.txt").read_text()
    shown = [each.topics for each in read_cluster(describe=given("d", text.encode("utf-16")), kafka_version="3.7")]
    assert shown == [("orders",), ("clicks (partition 0)",), ("clicks (partition 1)",), ("audit",)]


def test_commas_inside_values_belong_to_the_value():
    found = split_configs("cleanup.policy=compact,delete,min.insync.replicas=2,x=,leader.throttled=0:1,1:2", "f")
    shown = {key: each.value for key, each in found.items()}
    assert shown == {
        "cleanup.policy": "compact,delete",
        "min.insync.replicas": "2",
        "x": "",
        "leader.throttled": "0:1,1:2",
    }
    assert split_configs("", "f") == {}


def test_partition_ranges():
    assert ranges([7, 0, 1, 2, 9, 10]) == "0-2,7,9-10"


def test_topic_configs_with_synonyms_give_the_effective_value():
    found = described((DATA / "configs-topics-3.9.txt").read_text(), "c")
    assert {key: each.value for key, each in found.configs["orders"].items()} == {
        "cleanup.policy": "compact,delete",
        "min.insync.replicas": "2",
    }
    assert found.configs["clicks"] == {}


def test_configs_of_zookeeper_times():
    logs, state = read_cluster(configs=DATA / "configs-zookeeper.txt", kafka_version="1.0")
    assert values(logs, "min.insync.replicas", "flush.messages") == ["2", "1"]
    assert values(state, "min.insync.replicas", "flush.messages") == ["1", "1"]
    assert logs.settings["replication.factor"] == Setting("3", "no file shows it", Origin.ASSUMED)
    assert assumed(logs)[1:] == [
        "the replication factor is assumed to be 3, for no file shows it; give --describe FILE, or --set replication.factor=..."
    ]


def test_racks_of_the_replicas_come_from_the_brokers():
    found = read_cluster(describe=DATA / "describe-3.9.txt", configs=DATA / "configs-brokers-3.9.txt", kafka_version="3.9")
    assert [values(each, "broker.rack") for each in found] == [["eu-a,eu-a,eu-b"]] * 4
    assert KEYS["broker.rack"].parse(*stated(found[0])["broker.rack"]) == ("eu-a", "eu-a", "eu-b")
    assert all("broker.rack" not in each.settings for each in read_cluster(describe=DATA / "describe-4.1-elr.txt"))


def test_entities_of_other_kinds_are_passed_over():
    other = (
        "Quota configs for the default user-principal are min.insync.replicas=5\n"
        "SCRAM credential configs for user-principal 'bob' are SCRAM-SHA-256=iterations=4096\n"
        "Default configs for broker-loggers in the cluster are:\n  min.insync.replicas=5 sensitive=false synonyms={}\n"
        "Dynamic configs for client-metric m are:\n  min.insync.replicas=5 sensitive=false synonyms={}\n"
    )
    assert described(other, "c") == Described()
    both = described(other + CLUSTER + other, "c")
    assert {key: each.value for key, each in both.cluster.items()} == {"min.insync.replicas": "3"}


LONG_LINES = [
    "configs for " * 60_000,
    "Dynamic configs for topic " + "a are" * 60_000,
    "All configs for topic t are:\n  min.insync.replicas=" + " sensitive=true synonyms={" * 30_000,
    "Topic: t\tReplicationFactor: 3\tConfigs: " + "a," * 200_000,
    "Topic: t ReplicationFactor: 3 Configs: " + " " * 300_000 + "x",
    "Topic: x" + " Aa" * 100_000,
    "a\\\n" * 60_000,
    "\\" * 300_000,
]


@pytest.mark.parametrize("text", LONG_LINES, ids=lambda text: text[:12])
def test_no_line_is_long_enough_to_stall_a_reader(given, text):
    path = given("f", text)
    started = time.process_time()
    for option in OPTIONS:
        with contextlib.suppress(InputError):
            read_cluster(**{option: path})
    assert time.process_time() - started < 3


# Precedence

TOPIC = (
    "Topic: t\tPartitionCount: 1\tReplicationFactor: 3\tConfigs: {}\n\tTopic: t\tPartition: 0\tReplicas: 1,2,3\tIsr: 1,2,3\n"
)
BROKER = "Dynamic configs for broker {} are:\n  min.insync.replicas={} sensitive=false synonyms={{}}\n"
CLUSTER = "Default configs for brokers in the cluster are:\n  min.insync.replicas=3 sensitive=false synonyms={}\n"


def test_the_topic_then_brokers_then_cluster_then_file_then_default(given):
    topic = given("d", TOPIC.format("min.insync.replicas=1"))
    plain = given("p", TOPIC.format("retention.ms=1"))
    broker, cluster = given("b", BROKER.format(1, 2) + CLUSTER), given("c", CLUSTER)
    server = given("s", "min.insync.replicas=2\n")
    key = "min.insync.replicas"
    assert stated(one(describe=topic, configs=broker, server_properties=server))[key] == ("1", "d line 1")
    assert stated(one(describe=plain, configs=broker, server_properties=server))[key] == ("2", "b line 2")
    assert stated(one(describe=plain, configs=cluster, server_properties=server))[key] == ("3", "c line 2")
    assert stated(one(describe=plain, server_properties=server))[key] == ("2", "s line 1")
    assert one(describe=plain, kafka_version="2.0").settings[key] == Setting(
        "1", "the least safe, for what brokers set is not shown", Origin.ASSUMED
    )


def test_where_brokers_differ_the_least_safe_value_decides(given):
    found = one(describe=given("d", TOPIC.format("")), configs=given("b", BROKER.format(1, 3) + BROKER.format(2, 2)))
    assert stated(found)["min.insync.replicas"] == ("2", "b line 4")
    assert warned(found) == [
        "brokers differ in min.insync.replicas: taken as 2, the least safe of them (b line 4); set it alike on every broker"
    ]


def test_a_topic_that_describe_and_configs_show_differently_is_refused(given):
    described = given("d", TOPIC.format("min.insync.replicas=1"))
    configs = given("c", "Dynamic configs for topic t are:\n  min.insync.replicas=2 sensitive=false synonyms={}\n")
    with pytest.raises(InputError) as caught:
        read_cluster(describe=described, configs=configs)
    assert str(caught.value) == (
        "min.insync.replicas of topic 't' is '1' in d line 1 and '2' in c line 2; describe both again at the same time"
    )


def test_a_server_file_that_the_described_cluster_cannot_be_using_is_pointed_out(given):
    described = given("d", TOPIC.format("").replace("Topic: t\tPartitionC", "Topic: t\tTopicId: x\tPartitionC"))
    found = one(describe=described, server_properties=given("s", "min.insync.replicas=2\n"))
    assert warned(found) == [
        "min.insync.replicas=2 is not what the description of topic 't' shows (s line 1); "
        "the cluster that printed it may not use this file; describe the cluster that does"
    ]


def test_min_insync_replicas_above_the_replication_factor_is_pointed_out(given):
    described = given("d", TOPIC.format("min.insync.replicas=4"))
    start, end = "min.insync.replicas 4 is above the replication factor 3: ", " (d line 1); lower it, or add replicas"
    assert warned(one(describe=described, kafka_version="3.6")) == [start + "no acks=all write succeeds" + end]
    assert warned(one(describe=described, kafka_version="3.7")) == [start + "Kafka 3.7 and later lower it to that" + end]
    several = "".join(TOPIC.format("min.insync.replicas=4").replace("Topic: t", f"Topic: t{number}") for number in range(3))
    (found,) = read_cluster(describe=given("several", several), kafka_version="3.6")
    assert warned(found) == [f"{start}no acks=all write succeeds (several line 1 and 2 more); lower it, or add replicas"]


def test_a_broker_file_alone_speaks_for_the_topics_it_would_create():
    found = one(server_properties=DATA / "server.properties")
    assert found.topics == ()
    assert found.settings["replication.factor"].value == "3"
    assert where(found, "min.insync.replicas") == "server.properties line 7"
    assert where(found, UNCLEAN) == "server.properties line 9"
    assert values(found, "min.insync.replicas", UNCLEAN, "flush.messages") == ["2", "false", "default"]


# The properties format; the expected values are what java.util.Properties (Java 17) makes of the same lines


@pytest.mark.parametrize(
    ("line", "key", "value"),
    [
        ("acks=all", "acks", "all"),
        ("acks : all", "acks", "all"),
        ("  acks\tall", "acks", "all"),
        ("acks all ", "acks", "all "),
        ("acks", "acks", ""),
        ("acks = = x", "acks", "= x"),
        (r"a\=b\:c\ d=e", "a=b:c d", "e"),
        (r"p=C:\\kafka\\x", "p", r"C:\kafka\x"),
        (r"p=\q\t\u00e9", "p", "q\té"),
        ("a=1,\\\n   2", "a", "1,2"),
        ("a=1\\\\\nb=2", "a", "1\\"),
        ("a=1\\", "a", "1"),
        ("a=1\\\n# not a comment", "a", "1# not a comment"),
        ("a=1 # not a comment", "a", "1 # not a comment"),
        ("a=1\ra=2\r\na=3", "a", "3"),
        ("=x", "", "x"),
        ("\\\n\\\n\na=1", "a", "1"),
        ("\\\n# a=2\na=1", "a", "1"),
    ],
)
def test_properties(line, key, value):
    assert parse_properties(line, "f")[key].value == value


def test_comments_and_blank_lines_are_no_settings():
    assert parse_properties("# a=1\n\n   ! b=2\n \t\n\\", "f") == {}


def test_latin_1_bytes_are_text_in_a_properties_file(given):
    found = one(producer_properties=given("p", b"client.id=caf\xe9\nacks=1\n"), kafka_version="3.9")
    assert stated(found)["acks"] == ("1", "p line 2")


# Versions and the producer's rules


@pytest.mark.parametrize(
    ("version", "acks", "idempotence", "unclean", "elr"),
    [
        ("0.8", "1", "false", "true", "false"),
        ("0.10.2", "1", "false", "true", "false"),
        ("0.11", "1", "false", "false", "false"),
        ("2.8", "1", "false", "false", "false"),
        ("3.0.0", "all", "false", "false", "false"),
        ("3.0.1", "all", "true", "false", "false"),
        ("3.1", "all", "false", "false", "false"),
        ("3.1.1", "all", "true", "false", "false"),
        ("3.2", "all", "true", "false", "false"),
        ("4.0", "all", "true", "false", "false"),
        ("4.1", "all", "true", "false", "true"),
    ],
)
def test_defaults_by_version(version, acks, idempotence, unclean, elr):
    found = list_defaults(parse_version(version))
    assert [found[key].value for key in ("acks", "enable.idempotence", UNCLEAN, ELR)] == [acks, idempotence, unclean, elr]
    assert found["min.insync.replicas"].value == "1"
    assert all(KEYS[key].parse(each.value, each.where) is not None for key, each in found.items())


@pytest.mark.parametrize(
    ("version", "lines", "acks", "idempotence", "warnings"),
    [
        (
            "3.9",
            "acks=1",
            "1",
            "false",
            ["enable.idempotence is not set and does not go with acks=1 (p line 1): the producer drops it"],
        ),
        (
            "3.9",
            "acks=1\nenable.idempotence=true",
            "1",
            "true",
            ["Kafka refuses to start a producer with idempotence (p line 2) and acks=1 (p line 1); set one of them otherwise"],
        ),
        ("3.9", "acks=1\nenable.idempotence=false", "1", "false", []),
        ("2.8", "enable.idempotence=true", "all", "true", []),
        ("2.8", "transactional.id=x", "all", "true", []),
        ("2.8", "client.id=x", "1", "false", []),
        (
            "3.9",
            "retries=0",
            "all",
            "false",
            ["enable.idempotence is not set and does not go with retries=0 (p line 1): the producer drops it"],
        ),
        (
            "3.9",
            "max.in.flight.requests.per.connection=6",
            "all",
            "false",
            [
                "enable.idempotence is not set and does not go with max.in.flight.requests.per.connection=6 (p line 1): "
                "the producer drops it"
            ],
        ),
        (
            "4.0",
            "max.in.flight.requests.per.connection=6",
            "all",
            "true",
            [
                "Kafka refuses to start a producer with idempotence (on by default) and "
                "max.in.flight.requests.per.connection=6 (p line 1); set one of them otherwise"
            ],
        ),
        (
            "3.9",
            "transactional.id=x\nenable.idempotence=false",
            "all",
            "false",
            [
                "Kafka refuses to start a producer with transactional.id and no idempotence (p line 1); "
                "remove enable.idempotence=false"
            ],
        ),
        ("0.10.2", "enable.idempotence=true\nacks=-1", "all", "false", []),
    ],
)
def test_the_producer_that_results(given, version, lines, acks, idempotence, warnings):
    found = one(producer_properties=given("p", lines), kafka_version=version)
    assert values(found, "acks", "enable.idempotence") == [acks, idempotence]
    assert warned(found) == warnings


def test_automatic_commits_are_pointed_out(given):
    (warning,) = warned(one(consumer_properties=given("c", "enable.auto.commit = true")))
    assert warning == (
        "enable.auto.commit=true commits what was polled: it is after-processing only where every record of a poll is "
        "processed first (c line 1); otherwise use --set consumer.commit=before-processing"
    )
    assert warned(one(consumer_properties=given("c", "enable.auto.commit=false"))) == []


# Errors: the value, the place and the remedy, on one line

LINE = "\tTopic: t\tPartition: {}\tLeader: 1\tReplicas: {}\tIsr: {}\n"
HEAD = "Topic: t\tPartitionCount: 1\tReplicationFactor: 3\tConfigs: {}\n"

GIVE = "give what kafka-topics.sh --bootstrap-server HOST:PORT --describe prints"
OTHERS = " (neverlost explain describe)"

ERRORS = [
    (
        "server_properties",
        "min.insync.replicas=0",
        "bad value '0' for min.insync.replicas in f line 1: use a whole number from 1 to 7",
    ),
    (
        "server_properties",
        "#\nmin.insync.replicas=two",
        "bad value 'two' for min.insync.replicas in f line 2: use a whole number from 1 to 7",
    ),
    (
        "server_properties",
        "min.insync.replicas=2 # for safety",
        "bad value '2 # for safety' for min.insync.replicas in f line 1: use a whole number from 1 to 7",
    ),
    (
        "server_properties",
        "min.insync.replicas",
        "bad value '' for min.insync.replicas in f line 1: use a whole number from 1 to 7",
    ),
    (
        "server_properties",
        "default.replication.factor=-1",
        "bad value '-1' for default.replication.factor in f line 1: use a whole number from 1 to 7",
    ),
    (
        "server_properties",
        "unclean.leader.election.enable=yes",
        "bad value 'yes' for unclean.leader.election.enable in f line 1: use true or false",
    ),
    (
        "server_properties",
        "log.flush.interval.messages=0",
        "bad value '0' for log.flush.interval.messages in f line 1: use a whole number of at least 1",
    ),
    ("server_properties", "a=\\u12g4", "malformed escape '\\\\u12g4' in f line 1: use four hexadecimal digits"),
    ("producer_properties", "acks=7", "bad value '7' for acks in f line 1: use all, -1, 0 or 1"),
    ("producer_properties", "enable.idempotence=1", "bad value '1' for enable.idempotence in f line 1: use true or false"),
    ("producer_properties", "retries=many", "bad value 'many' for retries in f line 1: use a whole number of at least 0"),
    ("consumer_properties", "enable.auto.commit=on", "bad value 'on' for enable.auto.commit in f line 1: use true or false"),
    (
        "producer_properties",
        "acks=\0",
        "--producer-properties 'f' is not text: it has a control character at 5; give a text file",
    ),
    ("describe", "", "f is empty; give what kafka-topics.sh --bootstrap-server HOST:PORT --describe prints"),
    (
        "describe",
        "\n$ kafka-topics.sh --describe\n",
        "f has no known format (it begins '$ kafka-topics.sh --describe'); " + GIVE + OTHERS,
    ),
    ("describe", b"\x89PNG\r\n", "--describe 'f' is not text: byte 0 is not utf-8; save it as UTF-8"),
    (
        "describe",
        "Error while executing topic command : late",
        "f has no known format (it begins 'Error while executing topic...'); " + GIVE + OTHERS,
    ),
    (
        "describe",
        TOPIC.format("min.insync.replicas=0"),
        "bad value '0' for min.insync.replicas in f line 1: use a whole number from 1 to 7",
    ),
    (
        "describe",
        HEAD.format("min.insync.replicas"),
        "bad value 'min.insync.replicas' for Configs in f line 1: use key=value,key=value",
    ),
    (
        "describe",
        HEAD.format("").replace("3", "x"),
        "bad value 'x' for ReplicationFactor in f line 1: use a whole number from 1 to 7",
    ),
    (
        "describe",
        HEAD.format("") + "\tTopic: t\tPartition: 0\tLeader: 1\tReplicas: 1,2,3\tIsr: 1,7\n",
        "broker 7 is in the ISR of a partition in f line 2, and not among its replicas 1,2,3; describe again",
    ),
    (
        "describe",
        HEAD.format("") + "\tTopic: t\tPartition: 0\tLeader: 1\tReplicas: 1,2,3\tIsr: 1,2\tElr: 2,3\n",
        "broker 2 is in the ISR and in the ELR of a partition in f line 2; describe again",
    ),
    ("describe", "Topic: t", "topic 't' in f line 1 has no ReplicationFactor; give the whole output of --describe"),
    ("describe", HEAD.format("") * 2, "topic 't' in f line 2 is described twice; remove one of them"),
    (
        "describe",
        HEAD.format("min.insync.replicas=2,min.insync.replicas=1"),
        "'min.insync.replicas' stands twice in Configs in f line 1; keep one of them",
    ),
    (
        "describe",
        HEAD.format("").replace("Count: 1", "Count: 12") + "\tTopic: t\tPartition: 0\tLeader: 1\tReplicas: 1,2,3\tIsr: 1\n",
        "topic 't' in f line 1 has PartitionCount '12', and 1 of them described; give the whole output of --describe",
    ),
    (
        "describe",
        LINE.format(0, 1, 1),
        "partition of topic 't' in f line 1 comes before its topic line; "
        "use kafka-topics.sh --describe without options that leave lines out",
    ),
    (
        "describe",
        HEAD.format("") + LINE.format(0, "1,2", 1) * 2,
        "partition 0 of topic 't' in f line 3 is described twice; remove one",
    ),
    ("describe", HEAD.format("") + LINE.format("x", 1, 1), "bad value 'x' for Partition in f line 2: use a partition number"),
    (
        "describe",
        HEAD.format("") + LINE.format(0, "1,b", 1),
        "bad value '1,b' for Replicas in f line 2: use broker ids such as 1,2,3",
    ),
    (
        "describe",
        HEAD.format("") + LINE.format(0, "", 1),
        "bad value '' for Replicas in f line 2: use broker ids such as 1,2,3",
    ),
    (
        "describe",
        HEAD.format("") + LINE.format(0, "1,1", 1),
        "bad value '1,1' for Replicas in f line 2: a broker is named twice",
    ),
    (
        "describe",
        HEAD.format("").replace("Count: 1", "Count: 2") + LINE.format(0, "1,2,3", 1) + LINE.format(1, "1,2,3,4,5,6,7,8", 1),
        "bad value '8' for Replicas in f line 3: use a whole number from 1 to 7",
    ),
    (
        "describe",
        HEAD.format("").replace("Factor: 3", "Factor: 5") + LINE.format(0, "1,2,3", 1),
        "topic 't' has ReplicationFactor 5 in f line 1, and 3 replicas in f line 2; describe again",
    ),
    *(
        (
            "describe",
            HEAD.format("") + LINE.format(0, "1,2,3", "1,2,3").partition(cut)[0],
            "f line 2 is cut off in the middle: it has no brokers after Isr; describe again",
        )
        for cut in ("\tIsr:", "r: 1,2,3\n", " 1,2,3\n")
    ),
    (
        "describe",
        HEAD.format("") + LINE.format(0, "1,2,3", "2,3"),
        "broker 1 leads in f line 2 and is not in the ISR there ('2,3'), which Kafka never does; describe again",
    ),
    (
        "describe",
        HEAD.format(""),
        "topic 't' in f line 1 is described without its partitions; "
        "use kafka-topics.sh --describe without options that leave lines out",
    ),
    (
        "describe",
        HEAD.format("") + LINE.format(0, "1", "1\tAdding Replicas: 1"),
        "bad value '1' for Adding Replicas in f line 2: it names every replica; describe again",
    ),
    ("configs", "", "f is empty; give what kafka-topics.sh --bootstrap-server HOST:PORT --describe prints"),
    (
        "describe",
        HEAD.format("") + "Error: late",
        "f line 2 is not what kafka-topics.sh --describe prints: 'Error: late'; remove the line",
    ),
    (
        "configs",
        "  a=b\nDynamic configs for topic t are:",
        "f line 1 is not what kafka-configs.sh --describe prints: 'a=b'; remove the line",
    ),
    (
        "configs",
        "All configs for topic t are:\n  min.insync.replicas=0 sensitive=false synonyms={}",
        "bad value '0' for min.insync.replicas in f line 2: use a whole number from 1 to 7",
    ),
    (
        "configs",
        "Default configs for brokers in the cluster are:\n  unclean.leader.election.enable=maybe sensitive=false synonyms={}",
        "bad value 'maybe' for unclean.leader.election.enable in f line 2: use true or false",
    ),
]


@pytest.mark.parametrize(("option", "content", "message"), ERRORS)
def test_errors(given, option, content, message):
    with pytest.raises(InputError) as caught:
        read_cluster(**{option: given("f", content)})
    assert str(caught.value) == message


@pytest.mark.parametrize("option", ["describe", "configs", "server_properties", "producer_properties", "consumer_properties"])
def test_what_is_no_readable_file(option, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    flag = "--" + option.replace("_", "-")
    Path("folder").mkdir()
    with open("big", "wb") as file:
        file.truncate(LARGEST_FILE + 1)
    # A socket cannot be opened by anyone, the superuser included, whom permissions do not stop.
    listening = socket.socket(socket.AF_UNIX)
    listening.bind("socket")
    reasons = {
        "folder": f"{flag} 'folder' is a directory; name a file",
        "none": f"cannot read {flag} 'none': No such file or directory",
        "socket": f"cannot read {flag} 'socket': {os.strerror(6)}",
        "big": f"{flag} 'big' is larger than 64 MiB, more than is read; give a part of it",
        "nul\0": f"cannot read {flag} 'nul\\x00': embedded null byte",
    }
    with listening:
        for name, message in reasons.items():
            with pytest.raises(InputError) as caught:
                read_cluster(**{option: name})
            assert str(caught.value) == message


@pytest.mark.parametrize(
    ("text", "remedy"),
    [
        ("3", "use a version such as 3.9 or 3.0.1"),
        ("", "use a version such as 3.9 or 3.0.1"),
        ("3.x", "use a version such as 3.9 or 3.0.1"),
    ],
)
def test_versions_that_kafka_never_had(text, remedy):
    with pytest.raises(InputError) as caught:
        read_cluster(kafka_version=text)
    assert str(caught.value) == f"bad value {text!r} for --kafka-version: {remedy}"


@pytest.mark.parametrize(
    ("text", "near"),
    [
        ("0.7", "0.8.0"),
        ("0.8.3", "0.8.2"),
        ("0.12", "0.11.0"),
        ("2.9", "2.8"),
        ("2.8.3", "2.8.2"),
        ("3.10", "3.9"),
        ("3.3.2.1", "3.3.2"),
        ("4.5", "4.4"),
        ("5.9", "4.4"),
    ],
)
def test_releases_that_do_not_exist(text, near):
    with pytest.raises(InputError) as caught:
        read_cluster(kafka_version=text)
    assert str(caught.value).startswith(f"there is no Kafka {text} (--kafka-version); did you mean {near!r}? releases go from")


@pytest.mark.parametrize(("text", "carried"), [("5.5", "2.5"), ("6.2.1", "2.8"), ("7.6.0", "3.6"), ("8.1", "4.1")])
def test_a_version_of_confluent_platform_is_named_by_its_kafka(text, carried):
    known = rf"is Kafka {carried}: give {carried}\.0, or {carried} if yours has the fixes of {carried}\.\d$"
    with pytest.raises(InputError, match=known):
        read_cluster(kafka_version=text)


def test_eligible_leader_replicas_are_no_part_of_older_versions():
    with pytest.raises(InputError, match=r"line 2 lists eligible leader replicas \(Elr\), which Kafka 3.9 does not have"):
        read_cluster(describe=DATA / "describe-4.1-elr.txt", kafka_version="3.9")


def test_files_that_contradict_each_other_about_eligible_leader_replicas_are_refused():
    files = [DATA / "describe-4.1-elr.txt", DATA / "formats" / "features-4.1-upgraded.txt"]
    with pytest.raises(InputError, match=r"elr.txt line 2 lists .*, and they are off in .*upgraded.txt line 1; desc"):
        read_cluster(*files, kafka_version="4.1")
    lower, full = read_cluster(*files, kafka_version="4.1", given=[ELR])
    assert (lower.topics, full.topics) == (("payments (partition 0)",), ("payments (partition 1)",))


@pytest.mark.parametrize("text", ["0.8", "0.8.2", "0.8.2.2", "0.10.2.2", "0.11", "1.1.1", "2.8.2", "3.0", "3.9.7", "4.4"])
def test_releases_that_exist(text):
    assert parse_version(text) == tuple(map(int, text.split(".")))


# Anything at all in a file is a configuration or one clear line

PIECES = [
    b"\t",
    b"\n",
    b"\r",
    b":",
    b"=",
    b",",
    b"\\",
    b"\\u",
    b"\\u00",
    b"#",
    b"\x00",
    b"\xff",
    b"\xfe\xff",
    b"\xef\xbb\xbf",
    b"{",
    b"}",
    b"Topic: ",
    b"\tPartition: ",
    b"ReplicationFactor: ",
    b"Configs: ",
    b"min.insync.replicas=",
    b"acks=",
    b" are:",
    b"-1",
    b"0",
    b"99999999999999999999",
    b"\xd9\xa3",
    b"\xc3\xa9",
    b"Default configs for brokers in the cluster are:",
    b"N/A",
    b"'",
    b"null",
]
OPTIONS = ("describe", "configs", "server_properties", "producer_properties", "consumer_properties")


def own_option(path: Path) -> str:
    """The option that a sample is meant for: few mutations of it are refused."""
    if path.parent.name == "clients" or path.stem == "producer":
        return "producer_properties"
    named = {"server": "server_properties", "consumer": "consumer_properties", "configs": "configs"}
    return named.get(path.stem.partition("-")[0], "describe")


@pytest.mark.parametrize("apart", ["\t", " "], ids=["tabs", "blanks"])
def test_partitions_that_stand_alike_are_read_as_they_would_be_one_by_one(apart):
    """A label that nothing reads makes every line different, so that no line is read like another."""
    head = apart.join(["Topic: {}", "PartitionCount: 4", "ReplicationFactor: 3", "Configs: min.insync.replicas=2"])
    parts = ["Topic: {}", "Partition: {}", "Leader: {}", "Replicas: 1,2,3", "Isr: {}"]
    stands = [("1", "1,2,3"), ("1", "1,2,3"), ("none", ""), ("2", "2,1")]
    lines = [
        line
        for topic in ("a", "b")
        for line in (
            head.format(topic),
            *(apart.join(parts).format(topic, number, *each) for number, each in enumerate(stands)),
        )
    ]
    different = [line if "Configs" in line else f"{line}{apart}Offline: {number}" for number, line in enumerate(lines)]
    found, one_by_one = (described("\n".join(each), "f").topics for each in (lines, different))
    assert found == one_by_one and found["b"].partitions[3].isr == (2, 1) and found["b"].partitions[0].where == "f line 7"
    with pytest.raises(InputError, match="partition 1 of topic 'a' in f line 3 is described twice; remove one"):
        described("\n".join([lines[0], lines[2], lines[2]]), "f")
    with pytest.raises(InputError, match="partition of topic 'b' in f line 4 comes before its topic line"):
        described("\n".join([*lines[:3], lines[6]]), "f")


def write(path: Path, content: bytes) -> Path:
    path.write_bytes(content)
    return path


def mutated(content: bytes, other: bytes, dice: random.Random) -> bytes:
    """A file after one to eight random edits, mostly one: bytes changed, cut, doubled, swapped in from another file."""
    for _ in range(dice.choice((1, 1, 1, 1, 1, 2, 8))):
        start = dice.randint(0, len(content))
        end = min(len(content), start + dice.choice((0, 1, 2, 8, 64)))
        middle = dice.choice(
            (
                b"",
                dice.choice(PIECES),
                bytes([dice.randrange(256)]),
                content[start:end] * 2,
                other[dice.randint(0, len(other)) :][: dice.choice((4, 40, 400))],
            )
        )
        content = content[:start] + middle + content[end:]
    return content


def test_two_thousand_mutated_files_raise_nothing_but_input_errors(tmp_path):
    dice = random.Random(20250302)
    paths = sorted(DATA.rglob("*.*"))
    originals = [path.read_bytes() for path in paths]
    path = tmp_path / "mutated"
    outcomes = {"read": 0, "refused": 0}
    for number in range(2000):
        write(path, mutated(originals[number % len(originals)], dice.choice(originals), dice))
        for option in (own_option(paths[number % len(paths)]), dice.choice(OPTIONS)):
            try:
                found = read_cluster(**{option: path}, kafka_version=dice.choice((None, "0.10", "2.8", "4.1")))
            except InputError as error:
                outcomes["refused"] += 1
                assert "\n" not in str(error)
                assert len(str(error)) < 800
            else:
                outcomes["read"] += 1
                for configuration in found:
                    assert all(KEYS[key].parse(*each) is not None for key, each in stated(configuration).items() if key in KEYS)
    assert min(outcomes.values()) > 1000, outcomes


TOML = b"""model = "kraft"
[topic]
replication.factor = 3
min.insync.replicas = 2
"unclean.leader.election.enable" = false
[producer]
acks = "all"
[faults]
crash = 1
lossy_crash = 1
[bounds]
records = 1
"""


def test_two_thousand_mutated_toml_files_raise_nothing_but_input_errors(tmp_path):
    dice = random.Random(20250303)
    assert choose(read_toml(write(tmp_path / "whole", TOML))).configuration["min.insync.replicas"] == 2
    outcomes = {"read": 0, "refused": 0}
    for _ in range(2000):
        path = write(tmp_path / "mutated", mutated(TOML, TOML, dice))
        try:
            choose(read_toml(path))
        except InputError as error:
            outcomes["refused"] += 1
            assert len(str(error).splitlines()) == 1
        else:
            outcomes["read"] += 1
    assert min(outcomes.values()) > 10


# The command line


def check(*arguments: object) -> subprocess.CompletedProcess[str]:
    return neverlost("check", *map(str, arguments))


FAULTS = ("--set", "faults.lossy_crash=1", "--set", "faults.isr_shrink=2", "--set", "bounds.records=1")


def test_check_gives_a_verdict_for_each_distinct_configuration():
    found = check("--describe", DATA / "describe-3.9.txt", "--set", "model=kraft", *FAULTS, "--json", "-")
    assert [line.split(" (")[0] for line in found.stderr.splitlines()] == [
        "neverlost: warning: no producer file is given: assuming acks=all",
        "neverlost: warning: topic 'clicks' is offline now",
        "neverlost: warning: clicks-1",
    ]
    cells = json.loads(found.stdout)["cells"]
    assert [each["topics"] for each in cells] == [["orders"], ["clicks (partition 0)"], ["clicks (partition 1)"], ["audit"]]
    assert [(each["config"]["min.insync.replicas"], each["config"][OUTSIDE]) for each in cells] == [
        (2, 0),
        (1, 0),
        (1, 3),
        (2, 1),
    ]
    assert found.returncode == 12


def test_a_partition_that_is_worn_needs_one_slow_follower_less():
    """As designed: with the known defects of 3.9 one slow follower and one stop lose a record from a full ISR, too."""
    faults = (
        "--set",
        "faults.lossy_crash=1",
        "--set",
        "faults.isr_shrink=1",
        "--set",
        "bounds.records=1",
        "--set",
        "defects=fixed",
    )
    found = check(
        "--describe",
        DATA / "describe-3.9.txt",
        "--kafka-version",
        "3.9",
        *faults,
        "--property",
        "acked-never-lost",
        "--json",
        "-",
    )
    verdicts = {cell["topics"][0]: cell["properties"][0]["verdict"] for cell in json.loads(found.stdout)["cells"]}
    clicks = {"clicks (partition 0)": "holds", "clicks (partition 1)": "inconclusive"}
    assert verdicts == {"orders": "holds", **clicks, "audit": "violated"}


def test_check_lets_set_win_over_files_and_says_what_the_model_does_not_read(given):
    path = given("p", "acks=1\nenable.idempotence=false\n")
    quiet = ("--set", "model=kraft", "--set", "faults.crash=0", "--set", "bounds.records=1", "--set", "replication.factor=1")
    found = check("--producer-properties", Path(path).resolve(), *quiet, "--set", "acks=all", "--json", "-")
    assert found.returncode == 0
    (cell,) = json.loads(found.stdout).get("cells", [json.loads(found.stdout)])
    assert (cell["config"]["acks"], cell["config"]["replication.factor"]) == ("all", 1)
    assert found.stderr == ""
    classic = ("--set", "model=kip-320", "--set", "bounds.records=1", "--set", "replication.factor=1")
    found = check("--producer-properties", Path(path).resolve(), *classic, "--json", "-")
    assert f"warning: enable.idempotence=false is not read by model kip-320 ({Path(path).resolve()} line 2)\n" in found.stderr


def test_check_shows_one_line_for_a_bad_file(given):
    path = Path(given("s", "min.insync.replicas=0\n")).resolve()
    found = check("--server-properties", path, "--set", "model=kraft")
    assert (found.returncode, found.stdout) == (64, "")
    assert found.stderr == (
        f"neverlost: bad value '0' for min.insync.replicas in {path} line 1: use a whole number from 1 to 7\n"
    )
