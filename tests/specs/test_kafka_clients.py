"""Producers' and consumers' files in every dialect: the acks that results, where it comes from, and what is a typo."""

from __future__ import annotations

from pathlib import Path

import pytest

from neverlost.specs.errors import InputError
from neverlost.specs.inputs.clients.read import read_clients
from neverlost.specs.inputs.effective_settings import ClusterConfiguration, read_cluster
from neverlost.specs.inputs.syntax.known_keys import DECISIVE, known_to
from neverlost.specs.setting import NoticeKind, Origin, of_kind

ELR = "eligible.leader.replicas"
DATA = Path(__file__).resolve().parents[1] / "data" / "kafka" / "clients"


def one(**files: object) -> ClusterConfiguration:
    (found,) = read_cluster(**files)  # type: ignore[arg-type]
    return found


def said(configuration: ClusterConfiguration, kind: NoticeKind) -> list[str]:
    return [str(each).replace(f"{DATA}/", "") for each in of_kind(configuration.notices, kind)]


def shown(configuration: ClusterConfiguration, key: str) -> tuple[str, str, str]:
    found = configuration.settings[key]
    return found.value, found.where.replace(f"{DATA}/", ""), str(found.how)


def by(framework: str) -> tuple[str, str]:
    return f"{framework}'s default", "default"


DIALECTS = [
    ("librdkafka.properties", ("1", "librdkafka.properties line 3", "file"), ("false", *by("librdkafka"))),
    (
        "librdkafka.json",
        ("all", *by("librdkafka")),
        ("true", "librdkafka.json at enable.idempotence", "file"),
    ),
    ("spring.properties", ("1", "spring.properties line 3", "file"), ("false", "spring.properties line 5", "file")),
    ("spring.yaml", ("all", "spring.yaml line 9", "file"), ("false", "spring.yaml line 12", "file")),
    (
        "spring-cloud.yaml",
        ("1", *by("Spring Cloud Stream")),
        ("false", *by("Spring Cloud Stream")),
    ),
    (
        "quarkus.properties",
        ("1", *by("Quarkus (SmallRye)")),
        ("false", *by("Quarkus (SmallRye)")),
    ),
    (
        "connect-worker.properties",
        ("1", "connect-worker.properties line 7", "file"),
        ("false", *by("Kafka Connect")),
    ),
    (
        "connect-connector.json",
        ("1", "connect-connector.json at config.producer.override.acks", "file"),
        ("false", *by("Kafka Connect")),
    ),
    (
        "connect-defaults.properties",
        ("all", *by("Kafka Connect")),
        ("false", *by("Kafka Connect")),
    ),
    ("streams.properties", ("all", "streams.properties line 3", "file"), ("true", "streams.properties line 3", "file")),
    ("scala-0.8.properties", ("0", *by("the Scala producer")), None),
    ("own-application.properties", ("1", "own-application.properties line 2", "file"), None),
]


@pytest.mark.parametrize(("name", "acks", "idempotence"), DIALECTS, ids=[each[0] for each in DIALECTS])
def test_every_dialect_names_its_acks(name, acks, idempotence):
    found = one(producer_properties=DATA / name, kafka_version="3.9")
    assert shown(found, "acks") == acks
    if idempotence:
        assert shown(found, "enable.idempotence") == idempotence


@pytest.mark.parametrize("name", sorted(each.name for each in DATA.iterdir()))
@pytest.mark.parametrize("version", [None, "2.8", "4.4"])
def test_an_acks_that_no_file_sets_is_said_beside_the_verdict(name, version):
    found = one(producer_properties=DATA / name, kafka_version=version, given=(ELR,))
    is_said = any(each.startswith("acks") for each in said(found, NoticeKind.ASSUMED))
    assert is_said == (found.settings["acks"].how != Origin.FILE)


def test_without_a_producer_the_default_of_the_version_is_assumed_whatever_else_is_given(tmp_path):
    server = tmp_path / "server.properties"
    server.write_text("min.insync.replicas=2\n")
    described = tmp_path / "describe"
    described.write_text(
        "Topic: t\tTopicId: x\tPartitionCount: 1\tReplicationFactor: 3\tConfigs: \n"
        "\tTopic: t\tPartition: 0\tLeader: 1\tReplicas: 1,2,3\tIsr: 1,2,3\n"
    )
    for version, acks in (("2.8", "1"), ("3.0", "all"), ("4.4", "all")):
        for files in ({}, {"server_properties": server}, {"describe": described}):
            for found in read_cluster(kafka_version=version, **files):
                assert found.settings["acks"].value == acks
                assert found.settings["acks"].how == Origin.ASSUMED
                start = f"no producer file is given: assuming acks={acks} (Kafka {version}'s default)"
                assert said(found, NoticeKind.ASSUMED)[0].startswith(start)
        assert not [
            each
            for each in one(kafka_version=version, given=("acks", "eligible.leader.replicas")).notices
            if "acks" in each.says
        ]


def test_producers_that_differ_are_judged_by_the_least_safe():
    found = one(producer_properties=DATA / "quarkus.properties", kafka_version="3.9")
    assert said(found, NoticeKind.WARNING) == [
        "enable.idempotence is not set and does not go with acks=1 (Quarkus (SmallRye)'s default): the producer drops it",
        "the producers differ ('audit-out' in quarkus.properties: acks=all): 'orders-out' in quarkus.properties decides with "
        "acks=1, the least safe of them (Quarkus (SmallRye)'s default); give each its own file to judge it alone",
    ]


def test_what_is_read_and_not_modelled_is_listed():
    found = one(producer_properties=DATA / "spring.yaml", consumer_properties=DATA / "spring.yaml", kafka_version="3.9")
    assert [each.partition(":")[0] for each in said(found, NoticeKind.NOT_MODELLED)] == [
        "retries=0",
        "delivery.timeout.ms=30000",
        "isolation.level=read_committed",
        "auto.offset.reset=earliest",
    ]
    assert all("spring.yaml line" in each for each in said(found, NoticeKind.NOT_MODELLED))


def test_a_transaction_is_named_by_springs_prefix_for_it():
    found = one(producer_properties=DATA / "spring.properties", kafka_version="3.9")
    assert said(found, NoticeKind.WARNING) == [
        "Kafka refuses to start a producer with transactional.id and no idempotence (spring.properties line 4); "
        "remove enable.idempotence=false"
    ]


def test_keys_of_serializers_are_listed_as_ignored(tmp_path):
    path = tmp_path / "p"
    path.write_text("acks=all\nschema.registry.url=http://r\nauto.register.schemas=false\n")
    found = one(producer_properties=path, kafka_version="3.9")
    assert said(found, NoticeKind.IGNORED) == [
        f"2 keys that Kafka's producer does not know: 'schema.registry.url', 'auto.register.schemas' ({path} line 2)"
    ]


UNKNOWN = (
    "p has no setting that a Kafka producer knows (such as acks=...): known are the Java client's and librdkafka's names, "
    "and how Spring, Quarkus, Connect and Streams write them"
)


def unknown(key: str, place: str, meant: str) -> str:
    return f"unknown producer setting {key!r} in p {place}; did you mean {meant!r}?"


SPRING = "spring:\n  kafka:\n    producer:\n      "
GROWING = "a: &a [x]\nb: &b [*a, *a]\n" + "".join(
    f"{mine}: &{mine} [{', '.join(['*' + last] * 99)}]\n" for last, mine in zip("bcdefg", "cdefgh", strict=True)
)
TYPOS = [
    ("ack=1", unknown("ack", "line 1", "acks")),
    ("bootstrap.servers=b\nAcks=1", unknown("Acks", "line 2", "acks")),
    (
        "enable.idempotance=true",
        unknown("enable.idempotance", "line 1", "enable.idempotence"),
    ),
    (
        "enable_idempotence=true",
        unknown("enable_idempotence", "line 1", "enable.idempotence"),
    ),
    (
        "request.required.ack=1",
        unknown("request.required.ack", "line 1", "request.required.acks"),
    ),
    ("myapp.kafka.acks=1", unknown("myapp.kafka.acks", "line 1", "acks")),
    ("spring.kafka.producer.ack=1", unknown("ack", "line 1", "acks")),
    (
        "spring.kafka.producer.client-id=x\nspring.kafka.prodcuer.acks=1",
        "'spring.kafka.prodcuer.acks' in p line 2 is not read by Spring; write spring.kafka.producer.acks",
    ),
    (
        "offset.storage.topic=o\nproducer.linger.ms=1\nacks=1",
        "'acks' in p line 3 is not read by Kafka Connect; write producer.override.acks",
    ),
    (
        "mp.messaging.outgoing.o.linger.ms=1\nmp.messaging.outgoin.o.acks=all\nkafka.x.acks=1",
        unknown("x.acks", "line 3", "acks"),
    ),
    ("acks=all\nacks.=1", unknown("acks.", "line 2", "acks")),
    ("", UNKNOWN),
    ("# acks=1\n", UNKNOWN),
    ("nothing.that.is=known", UNKNOWN),
    ("group.id=g", "p has no setting of a producer but those of a consumer; give it with --consumer-properties"),
    (
        "request.required.acks=1\nkey.serializer=S",
        "'request.required.acks' in p line 1 is librdkafka's and 'key.serializer' in p line 2 the Java client's; "
        "give the file of one client",
    ),
    (
        "acks=1\nrequest.required.acks=all",
        "acks is '1' in p line 1 and 'all' in p line 2; keep one of them",
    ),
    ("acks=1\nproducer.acks=all", "acks is '1' in p line 1 and 'all' in p line 2; keep one of them"),
    ("acks=${ACKS:all}", "acks in p line 1 is the placeholder '${ACKS:all}'; write the value that is used"),
    ("acks=ALL", "bad value 'ALL' for acks in p line 1: use all, -1, 0 or 1"),
    ("request.required.acks=2", "bad value '2' for acks in p line 1: use all, -1, 0 or 1"),
    (
        "spring:\n  kafka:\n    producer:\n      acks: 1\n---\nspring:\n  kafka:\n    producer:\n      acks: all\n",
        "'spring.kafka.producer.acks' is '1' in p line 4 and 'all' in p line 9; give the document of the profile that runs",
    ),
    (
        "spring:\n  kafka:\n    producer:\n      acks: 1\n      acks: all\n",
        "'acks' stands twice in one table, in p line 4 and p line 5; keep one",
    ),
    (
        "spring:\n  kafka:\n    producer:\n      acks: !!python/name:os.system\n",
        "tag 'tag:yaml.org,2002:python/name:os.system' in p line 4 is not read; write the value without it",
    ),
    ("spring:\n  kafka: [\n", "p line 3 is not YAML: did not find expected node content"),
    ('{"acks": 1, "acks": "all"}', "'acks' stands twice in one object of p; keep one of them"),
    ('{"acks": [1]}', unknown("acks[0]", "at acks[0]", "acks")),
    ('{"acks": 1', "p is not JSON: Expecting ',' delimiter: line 1 column 11 (char 10)"),
    (
        "a: &a [x]\nb: &b [*a, *a]\n"
        + "\n".join(f"{c}: &{c} [{', '.join(['*' + p] * 99)}]" for p, c in zip("bcdefg", "cdefgh", strict=True)),
        None,
    ),
    ("[" * 100_000, "p is nested more than 64 levels deep; give the document of one tool"),
    ("a:\n" + " - " * 1 + "[" * 100, "p line 2 is nested more than 64 levels deep; give the document of one tool"),
]


@pytest.mark.parametrize(("content", "message"), TYPOS)
def test_typos_and_malformed_files_are_errors_with_one_suggestion(tmp_path, monkeypatch, content, message):
    monkeypatch.chdir(tmp_path)
    Path("p").write_text(content)
    with pytest.raises(InputError) as caught:
        read_cluster(producer_properties="p", kafka_version="3.9")
    if message is not None:
        assert str(caught.value) == message
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("role", ["producer", "consumer", "broker", "topic"])
def test_no_key_that_kafka_knows_is_taken_for_a_typo(tmp_path, role):
    assert set(DECISIVE[role]) <= known_to(role) | {"default.replication.factor"}
    if role in ("producer", "consumer"):
        for key in sorted(known_to(role) - known_to("broker") - set(DECISIVE[role])):
            path = tmp_path / "p"
            path.write_text(f"client.id=x\n{key}=1\n")
            if key != "enable.auto.commit" and "auto.commit" not in key:
                assert read_cluster(**{f"{role}_properties": path})


@pytest.mark.parametrize(
    ("content", "acks", "line"),
    [
        ("spring.kafka.producer.acks=all\nspring.kafka.producer.properties.acks=1\n", "1", 2),
        ("spring.kafka.producer.acks=0\nspring.kafka.properties.acks=all\n", "0", 1),
        (
            "spring.cloud.stream.kafka.binder.required-acks=1\n"
            "spring.cloud.stream.kafka.bindings.out.producer.configuration.acks=all\n",
            "all",
            2,
        ),
    ],
)
def test_a_setting_that_another_one_overrides_is_read(tmp_path, content, acks, line):
    """Spring Boot puts `properties` over its own keys; Cloud Stream a binding's configuration over the binder's."""
    (tmp_path / "client.properties").write_text(content)
    found = one(producer_properties=tmp_path / "client.properties", kafka_version="3.9")
    assert shown(found, "acks") == (acks, f"{tmp_path}/client.properties line {line}", "file")


def test_a_worker_of_defaults_writes_with_acks_all_and_without_idempotence(tmp_path):
    """Source: Connect's `Worker.baseProducerConfigs`."""
    worker = "bootstrap.servers=x:9092\ngroup.id=connect\noffset.storage.topic=o\nconfig.storage.topic=c\n"
    (tmp_path / "worker.properties").write_text(worker)
    found = one(producer_properties=tmp_path / "worker.properties", kafka_version="3.9")
    assert (found.settings["acks"].value, found.settings["enable.idempotence"].value) == ("all", "false")
    assert said(found, NoticeKind.ASSUMED)[0].startswith(f"acks is not set for {tmp_path}/worker.properties: taken as all")


def test_json_is_read_as_utf_8(tmp_path: Path) -> None:
    text = '{"connector.class": "x", "producer.override.acks": "1", "producer.override.schlüssel": "a"}'
    (tmp_path / "c.json").write_text(text, encoding="utf-8")
    (client,) = read_clients(tmp_path / "c.json", "producer")
    assert any("'schlüssel'" in str(each) for each in client.notices), client.notices
