"""Every format that describes a cluster: recognised by content, read to the same facts, and refused in one line."""

from __future__ import annotations

import io
import json
import random
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from neverlost.specs.configuration.input import _piped, read_bytes
from neverlost.specs.configuration.keys import KEYS
from neverlost.specs.errors import InputError
from neverlost.specs.inputs.effective_settings import ClusterConfiguration
from neverlost.specs.inputs.effective_settings import read_cluster as every_configuration
from neverlost.specs.inputs.recognise import described, readers
from neverlost.specs.setting import NoticeKind, Origin, of_kind
from tests.support.stated import stated

DATA = Path(__file__).resolve().parents[1] / "data" / "kafka"
FORMATS = DATA / "formats"
LEAST, UNCLEAN, ELR = "min.insync.replicas", "unclean.leader.election.enable", "eligible.leader.replicas"

READER_OF = {
    "describe-0.10.txt": "kafka_topics",
    "describe-3.9.txt": "kafka_topics",
    "describe-4.1-elr.txt": "kafka_topics",
    "describe-pasted.txt": "kafka_topics",
    "configs-brokers-3.9.txt": "kafka_configs",
    "configs-topics-3.9.txt": "kafka_configs",
    "configs-zookeeper.txt": "kafka_configs",
    "features-3.9-pasted.txt": "kafka_features",
    "features-4.1-on.txt": "kafka_features",
    "features-4.1-upgraded.txt": "kafka_features",
    "quorum-status-3.9.txt": "kafka_metadata_quorum",
    "quorum-status-one-voter.txt": "kafka_metadata_quorum",
    "quorum-replication-3.9.txt": "kafka_metadata_quorum",
    "strimzi-topics.yaml": "strimzi",
    "strimzi-kafka.yaml": "strimzi",
    "strimzi-list.json": "strimzi",
    "terraform-show.json": "terraform",
    "kcat.json": "admin_json",
    "kafkajs.json": "admin_json",
    "admin-client.json": "admin_json",
    "rest-topics.json": "admin_json",
    "running-cluster.json": "running_cluster",
}


def read_cluster(*files: Any, given: Sequence[str] = (), **options: Any) -> list[ClusterConfiguration]:
    """What files say of a cluster whose metadata version is given elsewhere."""
    return every_configuration(*files, given=(*given, "metadata.version"), **options)


def sample(name: str) -> Path:
    return FORMATS / name if (FORMATS / name).exists() else DATA / name


def said(configuration: ClusterConfiguration, *kinds: NoticeKind) -> list[str]:
    return [str(each).replace(f"{FORMATS}/", "") for each in of_kind(configuration.notices, *kinds)]


def test_every_sample_is_listed_and_every_reader_has_one():
    assert {each.name for each in FORMATS.iterdir()} <= READER_OF.keys()
    assert set(READER_OF.values()) == readers().keys()


@pytest.mark.parametrize("name", sorted(READER_OF))
def test_a_format_is_recognised_by_its_content_alone(name, monkeypatch):
    text = sample(name).read_text("utf-8-sig")
    read = []
    for module, reader in readers().items():
        original = reader.read
        monkeypatch.setattr(reader, "read", lambda document, m=module, r=original: read.append(m) or r(document))
    described(text, "f")
    assert set(read) == {READER_OF[name]}
    matching = [
        name for name, each in readers().items() if hasattr(each, "LINE") and any(map(each.LINE.match, text.split("\n")))
    ]
    assert len(matching) <= 1


def facts(name: str, version: str | None = "3.9") -> dict[str, tuple[str, ...]]:
    """Replication factor, min ISR and where the second was said, by topic."""
    found = {}
    has_elr = name == "admin-client.json"
    for each in read_cluster(describe=sample(name), kafka_version="4.1" if has_elr else version):
        least = each.settings[LEAST]
        for topic in each.topics:
            found[topic] = (each.settings["replication.factor"].value, least.value, str(least.how))
    return found


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        (
            "strimzi-topics.yaml",
            {"orders": ("3", "2", "file"), "Clicks": ("2", "1", "assumed"), "audit": ("2", "1", "assumed")},
        ),
        ("strimzi-list.json", {"orders": ("3", "2", "file")}),
        (
            "terraform-show.json",
            {"orders": ("3", "1", "file"), "events": ("3", "2", "default"), "clicks": ("2", "1", "assumed")},
        ),
        ("kcat.json", {"orders (partition 0)": ("3", "1", "assumed"), "orders (partition 1)": ("3", "1", "assumed")}),
        ("kafkajs.json", {"orders": ("3", "1", "assumed")}),
        ("rest-topics.json", {"orders": ("3", "1", "assumed")}),
        ("admin-client.json", {"orders": ("3", "2", "file")}),
    ],
)
def test_topics_of_every_format(name, expected):
    assert facts(name) == expected


def test_where_partitions_stand_is_read_from_json_too():
    (found,) = read_cluster(describe=sample("admin-client.json"), kafka_version="4.1")
    assert stated(found)["start.outside_isr"] == ("1", f"{FORMATS}/admin-client.json at [0].partitions[0]")
    assert found.settings[ELR].value == "true"
    first, second = read_cluster(describe=sample("kcat.json"), kafka_version="3.9")
    assert first.settings["start.outside_isr"].value == "1"
    assert "start.outside_isr" not in second.settings
    assert said(second, NoticeKind.WARNING) == [
        "the description of topic 'orders' has no configuration (kcat.json at topics[0]); "
        "give what kafka-configs.sh prints too",
        "topic 'orders' is offline now (partition 1) (kcat.json at topics[0].partitions[1])",
    ]


def test_aliases_of_yaml_stand_for_what_they_name():
    first, second = read_cluster(describe=sample("strimzi-topics.yaml"), kafka_version="3.9")
    assert stated(first)["replication.factor"] == ("3", f"{FORMATS}/strimzi-topics.yaml line 9")
    assert second.topics == ("Clicks", "audit")
    assert stated(second)[UNCLEAN] == ("true", f"{FORMATS}/strimzi-topics.yaml line 23")


def test_a_cluster_of_strimzi_brings_its_brokers_settings_and_its_version():
    on, off = read_cluster(describe=[sample("strimzi-kafka.yaml"), sample("strimzi-topics.yaml")])[:2]
    assert (on.topics, off.topics) == (("orders",), ("orders",))
    clicks = read_cluster(describe=[sample("strimzi-kafka.yaml"), sample("strimzi-topics.yaml")])[2]
    assert stated(clicks)[LEAST] == ("2", f"{FORMATS}/strimzi-kafka.yaml line 19")
    assert clicks.settings["acks"].where == "Kafka 4.1.0's default; no producer is shown"


# Eligible leader replicas: on, off, or not known


@pytest.mark.parametrize(
    ("version", "files", "values"),
    [
        ("3.9", [], [("false", Origin.DEFAULT)]),
        ("4.0", [], [("false", Origin.DEFAULT)]),
        ("4.1", [], [("true", Origin.ASSUMED), ("false", Origin.ASSUMED)]),
        ("4.4", [], [("true", Origin.ASSUMED), ("false", Origin.ASSUMED)]),
        ("4.1", ["features-4.1-on.txt"], [("true", Origin.FILE)]),
        (None, ["features-4.1-on.txt"], [("true", Origin.FILE)]),
        ("4.1", ["features-4.1-upgraded.txt"], [("false", Origin.FILE)]),
        ("3.9", ["features-3.9-pasted.txt"], [("false", Origin.FILE)]),
        (None, [], [("false", Origin.DEFAULT), ("true", Origin.ASSUMED), ("false", Origin.ASSUMED)]),
    ],
)
def test_eligible_leader_replicas_are_on_off_or_both_are_answered(version, files, values):
    found = read_cluster(describe=[sample("strimzi-list.json"), *map(sample, files)], kafka_version=version)
    assert [(each.settings[ELR].value, each.settings[ELR].how) for each in found] == values
    unknown = [each for each in said(found[-1], NoticeKind.ASSUMED) if "eligible" in each]
    assert unknown == (
        [
            "whether eligible leader replicas are on is not known: both are answered; give what kafka-features.sh describe "
            "prints with --describe, or --set eligible.leader.replicas=true or false"
        ]
        if len(values) > 1
        else []
    )


def test_a_version_that_is_given_is_not_said_to_be_assumed_from_the_metadata_version():
    files = [sample("describe-3.9.txt"), sample("features-3.9-pasted.txt")]
    given, assumed = (read_cluster(describe=files, kafka_version=version)[0] for version in ("4.0", None))
    assert "kafka.version" not in given.settings
    setting = assumed.settings["kafka.version"]
    assert (setting.value, setting.how) == ("3.9", Origin.ASSUMED) and "oldest that has metadata.version 3.9" in setting.where


def test_what_the_user_sets_is_not_assumed():
    (found,) = read_cluster(describe=sample("describe-3.9.txt"), kafka_version="4.4", given=(ELR, "acks"))[:1]
    assert said(found, NoticeKind.ASSUMED) == []


# The controllers


def test_few_controllers_and_a_missing_leader_are_pointed_out():
    (found,) = read_cluster(describe=[sample("kafkajs.json"), sample("quorum-status-one-voter.txt")], kafka_version="3.9")
    assert [each.partition(":")[0] for each in said(found, NoticeKind.WARNING)[:2]] == [
        "no controller leads now",
        "1 controller vote",
    ]
    for name in ("quorum-status-3.9.txt", "quorum-replication-3.9.txt"):
        assert described(sample(name).read_text(), "f").notices == []


@pytest.mark.parametrize(
    ("server", "controller", "value", "differs"),
    [
        ("min.insync.replicas=2", "min.insync.replicas=2", "2", False),
        ("min.insync.replicas=2", "min.insync.replicas=1", "1", True),
        ("min.insync.replicas=2", "node.id=1", "1", True),
        ("node.id=1", "min.insync.replicas=2", "1", True),
        (None, "min.insync.replicas=2", "2", False),
    ],
)
def test_the_controller_decides_with_its_own_file(tmp_path, server, controller, value, differs):
    files = {}
    for option, text in (("server_properties", server), ("controller_properties", controller)):
        if text:
            files[option] = tmp_path / option
            files[option].write_text(text)
    (found,) = read_cluster(**files, kafka_version="3.9")
    assert found.settings[LEAST].value == value
    warnings = [each for each in of_kind(found.notices, NoticeKind.WARNING) if "differ" in each.says]
    assert bool(warnings) == differs
    if differs:
        assert warnings[0].says.startswith("brokers and controllers differ in min.insync.replicas: ")
        assert warnings[0].says.endswith("; taken as 1, the less safe")
        assert "kafka-configs.sh" in warnings[0].remedy
        assert str(tmp_path) in warnings[0].where


def test_a_value_of_the_topic_or_of_the_whole_cluster_settles_what_static_files_differ_in(tmp_path):
    server, controller = tmp_path / "s", tmp_path / "c"
    server.write_text("min.insync.replicas=2")
    controller.write_text("min.insync.replicas=1")
    (found,) = read_cluster(
        describe=sample("strimzi-list.json"), server_properties=server, controller_properties=controller, kafka_version="3.9"
    )
    assert found.settings[LEAST].value == "2"
    assert not [each for each in found.notices if "differ" in each.says]


# Versions that cannot both be


@pytest.mark.parametrize(
    ("names", "version", "message"),
    [
        (
            ["strimzi-kafka.yaml"],
            "4.0",
            "Kafka is 4.0 in --kafka-version and 4.1.0 in F/strimzi-kafka.yaml line 9; give the version that runs",
        ),
        (
            ["features-4.1-on.txt"],
            "3.9",
            "Kafka 3.9 (--kafka-version) has no metadata.version 4.1-IV1 (F/features-4.1-on.txt line 4); "
            "give the version that runs",
        ),
        (
            ["strimzi-kafka.yaml", "features-4.1-upgraded.txt"],
            None,
            "metadata.version is '4.1-IV1' in F/strimzi-kafka.yaml line 10 and '3.9-IV0' in "
            "F/features-4.1-upgraded.txt line 2; describe both again at the same time",
        ),
    ],
)
def test_versions_that_disagree_are_an_error(names, version, message):
    with pytest.raises(InputError) as caught:
        read_cluster(describe=[sample(name) for name in names], kafka_version=version)
    assert str(caught.value).replace(str(FORMATS), "F") == message


# Standard input


def test_standard_input_is_kept_whatever_limit_it_was_read_with(monkeypatch):
    _piped.clear()
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"12345678")))
    with pytest.raises(InputError, match="larger than"):
        read_bytes("-", largest=3)
    assert [read_bytes("-", largest=each) for each in (8, 9)] == [b"12345678"] * 2
    _piped.clear()


def test_a_dash_is_standard_input_once(monkeypatch):
    text = sample("describe-3.9.txt").read_bytes()
    _piped.clear()
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text)))
    assert stated(read_cluster(describe="-", kafka_version="3.9")[0])[LEAST] == ("2", "standard input line 1")
    _piped.clear()
    with pytest.raises(InputError) as caught:
        read_cluster(describe="-", server_properties="-")
    assert str(caught.value) == (
        "standard input (-) is given to --describe and --server-properties, but can be read once; name a file"
    )


# What is not taken, and what is malformed

DESCRIBE = "give what kafka-topics.sh --bootstrap-server HOST:PORT --describe prints"
NOT_TAKEN = [
    (
        "Metadata for all topics (from broker 1: b1:9092/1):\n 3 brokers:\n",
        "kcat -L in its text form",
        "give what kcat -L -J prints",
    ),
    ("GROUP  TOPIC  PARTITION  CURRENT-OFFSET  LOG-END-OFFSET\ng t 0 1 1\n", "kafka-consumer-groups.sh --describe", DESCRIBE),
    ("b1:9092 (id: 1 rack: null isFenced: false) -> (\n", "kafka-broker-api-versions.sh", DESCRIBE),
    ("Querying brokers for log directories information\n{}\n", "kafka-log-dirs.sh --describe", DESCRIBE),
    ("Dumping /var/t-0/00000000000000000000.log\nStarting offset: 0\n", "kafka-dump-log.sh", DESCRIBE),
    ("Status of partition reassignment:\n", "kafka-reassign-partitions.sh --verify", DESCRIBE),
    ('Current partition replica assignment\n{"version":1,"partitions":[]}\n', "a plan of reassignments", DESCRIBE),
    (
        '{"version":1,"partitions":[{"topic":"t","partition":0,"replicas":[1,2]}]}\n',
        "a plan of reassignments",
        DESCRIBE,
    ),
    ('resource "kafka_topic" "t" {\n}\n', "a file of Terraform's language", "give what terraform show -json prints"),
    ("acks=all\n", "the settings of a producer", "give it with --producer-properties"),
    ("broker.id=1\n", "the settings of a broker", "give it with --server-properties"),
    ("<!DOCTYPE html>\n", "a page or an XML document", DESCRIBE),
    (
        "services:\n  kafka:\n    image: apache/kafka\n",
        "a Docker Compose file",
        "give the broker's settings with --server-properties",
    ),
]


@pytest.mark.parametrize(("content", "what", "remedy"), NOT_TAKEN)
def test_a_format_that_is_not_taken_is_named_with_what_to_give(content, what, remedy):
    with pytest.raises(InputError) as caught:
        described(content, "f")
    assert str(caught.value) == f"f is {what}, which does not describe a cluster here; {remedy}"


def test_packed_files_are_named(tmp_path):
    path = tmp_path / "f"
    path.write_bytes(b"\x1f\x8b\x08\x00")
    with pytest.raises(InputError, match="is a gzip file; unpack it and give the text"):
        read_cluster(describe=path)


RANGE = "use a whole number from 1 to 7"
TOPIC = "apiVersion: kafka.strimzi.io/v1\nkind: KafkaTopic\nmetadata:\n  name: t\nspec:\n  replicas: {}\n  config:\n    {}\n"
MALFORMED = [
    (
        TOPIC.format(3, "min.insync.replica: 2"),
        "unknown topic setting 'min.insync.replica' in f line 8; did you mean 'min.insync.replicas'?",
    ),
    (
        TOPIC.format(3, "min.insync.replicas: two"),
        "bad value 'two' for min.insync.replicas in f line 8: use a whole number from 1 to 7",
    ),
    (
        TOPIC.format(99999999999999999999, "a: 1"),
        "bad value '99999999999999999999' for ReplicationFactor in f line 6: use a whole number from 1 to 7",
    ),
    (
        TOPIC.format(3, "min.insync.replicas: [2]"),
        "unknown topic setting 'min.insync.replicas[0]' in f line 8; did you mean 'min.insync.replicas'?",
    ),
    (TOPIC.format(3, "a: 1").replace("name: t", "x: t"), "f line 4 has no topic name: write a text or a number"),
    (
        '{"format_version":"1","terraform_version":"1","values":{"root_module":{}}}',
        "f has no kafka_topic or confluent_kafka_topic; give the file that has the topics",
    ),
    (
        '{"topics":[{"topic":"t","partitions":[{"partition":0,"leader":1,"replicas":[{"id":1},{"id":1}]}]}]}',
        "bad value '1,1' for replicas in f at topics[0].partitions[0]: a broker is named twice",
    ),
    (
        '{"topics":[{"topic":"t","partitions":[{"partition":1e99,"leader":1,"replicas":[{"id":1}]}]}]}',
        "bad value '1e99' for partition in f at topics[0].partitions[0]: use a partition number",
    ),
    (
        '{"topics":[{"topic":"t","partitions":[{}]}]}',
        "f at topics[0].partitions[0] has no partition number; write partition: NUMBER",
    ),
    (
        "Feature: metadata.version\tx\n",
        "f line 1 is not what kafka-features.sh describe prints: 'Feature: metadata.version\\tx'; remove the line",
    ),
    (
        "Feature: eligible.leader.replicas.version\tFinalizedVersionLevel: on\n",
        "bad value 'on' for the level of eligible.leader.replicas.version in f line 1: use a number",
    ),
    ("LeaderId: 1\nnonsense\n", "f line 2 is not what kafka-metadata-quorum.sh describe prints: 'nonsense'; remove the line"),
    (
        "LeaderId: 1\nCurrentVoters: [12345678901]\n",
        "bad value '[12345678901]' for voters in f line 2: use broker ids such as 1,2,3",
    ),
    (
        '{"schema":"neverlost.cluster/1","server":"s","topics":[{"name":"t","partitions":['
        '{"partition":0,"leader":1,"replicas":[1],"isr":[1]}]}]}',
        "s, topic t, partition 0 has no adding; describe again",
    ),
    (
        '{"topics":[{"topic":"t","partitions":[{"partition":0,"replicas":{"\\u2028":1}}]}]}',
        "f at topics[0].partitions[0].replicas should be a list",
    ),
    (
        '{"format_version":"1","terraform_version":"1","values":{"root_module":{"resources":[{"type":"kafka_topic",'
        '"address":"a","values":{"replication_factor":3,"config":{"min.insync\\n.replicas":"2"}}}]}}}',
        r"unknown topic setting 'min.insync\n.replicas' in "
        r"f at values.root_module.resources[0].values.config.'min.insync\n.replicas'; did you mean 'min.insync.replicas'?",
    ),
]


@pytest.mark.parametrize(("content", "message"), MALFORMED)
def test_malformed_descriptions_are_one_line_with_the_place(tmp_path, monkeypatch, content, message):
    monkeypatch.chdir(tmp_path)
    Path("f").write_text(content)
    with pytest.raises(InputError) as caught:
        read_cluster(describe="f", kafka_version="3.9")
    assert str(caught.value) == message


# Anything at all is a configuration or one line

MARKS = [
    "\t",
    "\n",
    ":",
    "=",
    ",",
    "{",
    "}",
    "[",
    "]",
    '"',
    "'",
    "&a",
    "*a",
    "<<: *a",
    "!!int",
    "- ",
    "---\n",
    "\x00",
    "\u2028",
]
WORDS = ["null", "true", "-1", "1e999", "9" * 5000, "é", "${x}", "Topic: ", "config:", '"replicas"', "(id: 1 rack: "]
PIECES = st.sampled_from([*MARKS, *WORDS, "[" * 300, "{" * 300]) | st.just("") | st.text(max_size=3)
ORIGINALS = sorted(each.read_text("utf-8-sig") for each in [*FORMATS.iterdir(), *(DATA / "clients").iterdir()])
EDITS = st.lists(st.tuples(st.floats(0, 1), st.integers(0, 40), PIECES), min_size=1, max_size=5)


def mutated(text: str, edits: list[tuple[float, int, str]]) -> str:
    """A text after some edits: at a place, so many characters replaced by a piece."""
    for place, length, piece in edits:
        start = int(place * len(text))
        text = text[:start] + piece + text[start + length :]
    return text


@settings(max_examples=400, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(original=st.sampled_from(ORIGINALS), edits=EDITS, version=st.sampled_from([None, "0.10", "2.8", "4.1"]))
@pytest.mark.parametrize("option", ["describe", "producer_properties", "consumer_properties", "server_properties"])
def test_a_mutated_file_is_a_configuration_or_one_line(tmp_path, option, original, edits, version):
    path = tmp_path / "mutated"
    path.write_text(mutated(original, edits), encoding="utf-8", errors="replace")
    try:
        found = read_cluster(**{option: path}, kafka_version=version)
    except InputError as problem:
        assert len(str(problem).splitlines()) == 1
    else:
        for each in found:
            assert all(KEYS[key].parse(*value) is not None for key, value in stated(each).items() if key in KEYS)
            assert all(setting.where or setting.how != Origin.FILE for setting in each.settings.values())
            assert each.notices or each.settings["acks"].how == Origin.FILE


def test_a_large_cluster_as_json_is_read_in_one_pass():
    dice = random.Random(7)
    partitions = [
        {"partition": number, "leader": replicas[0], "replicas": [{"id": each} for each in replicas]}
        for number, replicas in enumerate(dice.sample(range(6), 3) for _ in range(12))
    ]

    text = json.dumps({"topics": [{"topic": f"t{number}", "partitions": partitions} for number in range(300)]})
    assert len(described(text, "f").topics) == 300
