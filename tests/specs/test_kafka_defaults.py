"""Every version's default is Kafka's: the table was read from the classes of that version, and the readers agree with it."""

from __future__ import annotations

import subprocess
import tomllib
from pathlib import Path

import pytest

from neverlost.specs.configuration.choose import choose
from neverlost.specs.configuration.keys import KEYS
from neverlost.specs.configuration.version_defaults import OF_TOPICS_AND_PRODUCERS, list_defaults, parse_version
from neverlost.specs.errors import InputError
from neverlost.specs.inputs.chosen import chosen_configurations
from neverlost.specs.inputs.clients.producer import producer
from neverlost.specs.inputs.effective_settings import read_cluster
from neverlost.specs.setting import NoticeKind, Origin, Setting, Settings

ROOT = Path(__file__).resolve().parents[2]
TABLE = tomllib.loads((ROOT / "tests/data/kafka/producer-defaults.toml").read_text())
VERSIONS = list(TABLE["results"])
DECLARED_ONLY = ("3.0.0", "3.1.0")
"""KAFKA-13598: these declare idempotence, but KafkaProducer does it only where the user set it."""
MAVEN = "org.apache.maven.plugins:maven-dependency-plugin:3.6.1:copy"


def written(case: str) -> Settings:
    pairs = [pair.split("=") for pair in case.split(",") if pair]
    return {key: Setting(value, "p") for key, value in pairs}


def resulting(version: str, case: str) -> str:
    """What the readers make of a case, in the words of the table."""
    known = parse_version(version)
    try:
        found = producer(written(case), known, list_defaults(known))
    except InputError:
        return "refused"
    if any("refuses to start" in each.says for each in found.notices):
        return "refused"
    return f"{'-1' if found.acks.value == 'all' else found.acks.value} {found.idempotence.value}"


@pytest.mark.parametrize("version", VERSIONS)
def test_the_acks_that_a_version_takes_when_nothing_is_set(version):
    acks, declared = TABLE["results"][version][0].split()
    found = list_defaults(parse_version(version))
    assert found["acks"].value == {"-1": "all"}.get(acks, acks)
    expected = "false" if declared == "null" or version in DECLARED_ONLY else declared
    assert found["enable.idempotence"].value == expected


@pytest.mark.parametrize("version", [each for each in VERSIONS if parse_version(each) >= (2, 8) and each not in DECLARED_ONLY])
@pytest.mark.parametrize("number", range(len(TABLE["cases"])), ids=[each or "nothing" for each in TABLE["cases"]])
def test_a_producer_results_as_in_its_own_classes(version, number):
    assert resulting(version, TABLE["cases"][number]) == TABLE["results"][version][number]


@pytest.mark.kafka
@pytest.mark.parametrize("version", VERSIONS)
def test_the_table_is_what_the_classes_say(version, tmp_path):
    for artifact in (f"org.apache.kafka:kafka-clients:{version}", "org.slf4j:slf4j-api:1.7.36"):
        subprocess.run(["mvn", "-q", "-B", MAVEN, f"-Dartifact={artifact}", f"-DoutputDirectory={tmp_path}"], check=True)
    reader = ROOT / "tests/support/ProducerSettings.java"
    shown = subprocess.run(
        ["java", "-cp", f"{tmp_path}/*", reader, *TABLE["cases"]], capture_output=True, text=True, check=True
    )
    assert shown.stdout.splitlines() == TABLE["results"][version]


# The defaults of a version are the same, whatever else is given


@pytest.mark.parametrize("version", ["0.8", "0.10.2", "0.11", "2.8", "3.0", "3.0.1", "3.9"])
def test_a_version_means_the_same_with_and_without_files(tmp_path, version):
    server = tmp_path / "server.properties"
    server.write_text("node.id=1\n")
    given = {"kafka.version": (version, "--set"), "replication.factor": ("3", "--set")}
    (described,) = read_cluster(server_properties=server, kafka_version=version, given=("metadata.version",))
    alone, with_file = choose(given), choose(given, offered=described.settings)
    assert alone.configuration == with_file.configuration
    for key in OF_TOPICS_AND_PRODUCERS:
        value = list_defaults(parse_version(version))[key].value
        assert alone.configuration[key] == KEYS[key].parse(value, "table")


@pytest.mark.parametrize("text", ["3.10", "2.9", "4.9", "0.7"])
def test_a_version_that_does_not_exist_is_an_error_wherever_it_is_named(text):
    with pytest.raises(InputError, match=rf"there is no Kafka {text} \(kafka.version in --set\); did you mean"):
        choose({"kafka.version": (text, "--set")})


# Every setting of a question says where it comes from

DEAD_IS_FENCED = "a broker that is down is fenced before its leader finds it too slow"
"""What a question without slow followers takes for granted of Kafka as shipped."""


def test_every_setting_of_a_configuration_says_where_it_comes_from():
    data = ROOT / "tests/data/kafka"
    files = {"describe": data / "describe-3.9.txt", "producer_properties": data / "clients" / "spring.yaml"}
    given = {
        "metadata.version": ("3.9-IV0", "--set"),
        "faults.crash": ("1", "--set"),
        "bounds.records": (1, "[bounds] of c.toml"),
    }
    found, warnings = chosen_configurations(given, files, "3.9")
    orders = found[0]
    assert orders.settings.keys() == orders.configuration.keys() | {"kafka.version", "metadata.version"}
    where = {key: (each.value, each.where.replace(f"{data}/", ""), str(each.how)) for key, each in orders.settings.items()}
    assert where["min.insync.replicas"] == ("2", "describe-3.9.txt line 1", "file")
    assert where["acks"] == ("all", "clients/spring.yaml line 9", "file")
    assert where["unclean.leader.election.enable"] == ("false", "Kafka 3.9's default", "default")
    assert where["faults.crash"] == ("1", "--set", "flag")
    assert where["bounds.records"] == ("1", "[bounds] of c.toml", "file")
    assert where["faults.fence"] == ("0", "the default of neverlost", "default")
    assert where["mechanism.strict-high-watermark"] == ("true", "Kafka 3.9", "default")
    assert [each.kind for each in orders.notices] == [*[NoticeKind.ASSUMED] * 2, *[NoticeKind.NOT_MODELLED] * 2]
    newest = "Kafka 3.9 is its newest patch, which has more fixes than 3.9.0; if it is 3.9.0, give --kafka-version 3.9.0"
    assert [each.partition(" (")[0] for each in warnings] == [
        newest,
        DEAD_IS_FENCED,
        "topic 'clicks' is offline now",
        "clicks-1",
    ]
    assert all(
        KEYS[key].parse(each.value, "x") == orders.configuration[key] for key, each in orders.settings.items() if key in KEYS
    )


@pytest.mark.parametrize(
    ("version", "defects", "older"),
    [
        ("3.9", "shipped", "3.9.0"),
        ("3.5", "shipped", "3.5.0 and 3.5.1"),
        ("3.9.2", "shipped", ""),
        ("3.9", "fixed", ""),
        ("4.3", "shipped", ""),
    ],
)
def test_a_line_of_releases_is_said_to_be_its_newest_patch(version: str, defects: str, older: str) -> None:
    found = choose({"kafka.version": (version, "--set"), "defects": (defects, "--set")})
    said = [each.says for each in found.notices if "newest patch" in each.says]
    assert said == ([f"Kafka {version} is its newest patch, which has more fixes than {older}"] if older else [])


def test_a_model_that_is_named_keeps_its_own_defaults_and_says_so():
    (found,), _ = chosen_configurations({"model": ("kraft", "--set"), "acks": ("1", "--set")}, {})
    assert (found.settings["acks"].value, found.settings["acks"].how) == ("1", Origin.FLAG)
    assert {each.how for key, each in found.settings.items() if key != "acks"} == {Origin.DEFAULT}


@pytest.mark.parametrize(("acks", "expected"), [("1", "false"), ("0", "false"), ("all", "true"), ("-1", "true")])
def test_acks_that_are_set_drop_idempotence_that_is_not(acks: str, expected: str) -> None:
    """As the producer does (`ProducerConfig.postProcessAndValidateIdempotenceConfigs`)."""
    found = choose({"kafka.version": ("3.9", "--set"), "acks": (acks, "--set")})
    assert found.settings["enable.idempotence"].value == expected
    assert not any("refuses" in each.says for each in found.notices)


def test_a_producer_that_kafka_refuses_is_named() -> None:
    asked = {"kafka.version": "3.9", "acks": "1", "enable.idempotence": "true"}
    found = choose({key: (value, "--set") for key, value in asked.items()})
    assert found.notices[0].says == "Kafka refuses to start a producer with enable.idempotence=true and acks=1"
