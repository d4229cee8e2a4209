"""One look at a running cluster: what it makes of answers, and (`-m kafka`) the same answers as from Kafka's own tools."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterator, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from neverlost.checker.kafka.cluster.cluster import Cluster, cluster
from neverlost.checker.kafka.cluster.jars import find_kafka
from neverlost.checker.kafka.cluster.look import convert_settings
from neverlost.specs.errors import InputError
from neverlost.specs.inputs.effective_settings import read_cluster
from neverlost.specs.inputs.recognise import described
from neverlost.specs.setting import NoticeKind, of_kind
from tests.support import certificates
from tests.support.program import DATA, neverlost

SAID = (NoticeKind.WARNING, NoticeKind.ASSUMED)

KINDS: dict[str, tuple[Sequence[int], dict[str, str]]] = {
    "orders": ([1, 2, 3], {"min.insync.replicas": "2"}),
    "audit": ([2, 1, 3], {}),
    "clicks": ([1, 2], {"unclean.leader.election.enable": "true", "flush.messages": "1"}),
    "cache": ([1], {"min.insync.replicas": "1"}),
    "ledger": ([2, 1], {"flush.messages": "1", "min.insync.replicas": "2"}),
}
COPIES = 10
CHANGED = 3
"""Copies to which the commands that are advised are applied: a tool of Kafka takes seconds to start."""

ASKED = ("faults.lossy_crash=1", "faults.isr_shrink=1", "bounds.records=1", "acks=all", "defects=fixed")
QUESTION = [part for each in ASKED for part in ("--set", each)] + ["--property", "acked-never-lost"]
TOOLS = {
    "kafka-topics.sh": "org.apache.kafka.tools.TopicCommand",
    "kafka-configs.sh": "kafka.admin.ConfigCommand",
    "kafka-features.sh": "org.apache.kafka.tools.FeatureCommand",
    "kafka-acls.sh": "org.apache.kafka.tools.AclCommand",
}
OLDER_TOOLS = {"kafka-acls.sh": "kafka.admin.AclCommand"}
"""What runs a script before 4.0."""

LISTENERS = {"SASL": "SASL_SSL", "TLS": "SSL"}
PLAIN = "org.apache.kafka.common.security.plain.PlainLoginModule required"


def seen(**more: Any) -> dict[str, Any]:
    """A look at a small cluster of 4.3."""
    found: dict[str, Any] = json.loads((DATA / "kafka" / "formats" / "running-cluster.json").read_text())
    return found | more


def read(tmp_path: Path, document: dict[str, Any]) -> Any:
    path = tmp_path / "seen.json"
    path.write_text(json.dumps(document))
    (found,) = read_cluster(describe=path, given=("acks",))
    return found


def test_a_look_gives_settings_with_their_places_and_the_version(tmp_path: Path) -> None:
    found = read(tmp_path, seen())
    least, elr = (found.settings[key] for key in ("min.insync.replicas", "eligible.leader.replicas"))
    assert (least.value, least.where) == ("1", "k:9092, broker 1")
    assert [each.says for each in of_kind(found.notices, *SAID)] == [
        "brokers differ in min.insync.replicas: taken as 1, the least safe of them"
    ]
    assert (elr.value, elr.where) == ("true", "k:9092, features")
    assert found.settings["kafka.version"].value == "4.3" and found.places["orders"].where == "k:9092, topic orders"
    assert found.settings["metadata.version"].value == "4.3-IV0"
    unlisted = read(tmp_path, seen(brokers=seen()["brokers"][:2]))
    assert "broker 3 shows no settings" in [each.says for each in of_kind(unlisted.notices, *SAID)]
    raised = {"metadata.version": {"finalized": 8, "supported": 30}}
    with pytest.raises(InputError, match="lists eligible leader replicas"):
        read(tmp_path, seen(features=raised))
    topics = seen()["topics"]
    topics[0]["partitions"][0]["elr"] = []
    assert read(tmp_path, seen(features=raised, topics=topics)).settings["metadata.version"].value == "3.4-IV0"
    changed = seen()
    changed["topics"][0]["partitions"][0]["isr"] = ["x"]
    with pytest.raises(InputError, match="bad value 'x' for isr in k:9092, topic orders, partition 0: use broker ids"):
        described(json.dumps(changed), "seen.json")


def test_a_connection_is_configured_as_kafka_s_tools_are() -> None:
    jaas = 'org.apache.kafka.common.security.plain.PlainLoginModule required username="u" password="p w";'
    assert convert_settings({"security.protocol": "SASL_SSL", "sasl.mechanism": "PLAIN", "sasl.jaas.config": jaas}, "c") == {
        "security_protocol": "SASL_SSL",
        "sasl_mechanism": "PLAIN",
        "sasl_plain_username": "u",
        "sasl_plain_password": "p w",
    }
    pem = {"security.protocol": "SSL", "ssl.truststore.type": "PEM", "ssl.truststore.location": "ca.pem"}
    assert convert_settings(pem, "c") == {"security_protocol": "SSL", "ssl_cafile": "ca.pem"}
    assert convert_settings({"ssl.endpoint.identification.algorithm": ""}, "c") == {"ssl_check_hostname": False}
    with pytest.raises(InputError, match=r"ssl\.truststore\.location in c is a JKS file; only PEM is read here: name the"):
        convert_settings({"ssl.truststore.location": "t.jks"}, "c")


def test_a_cluster_that_is_not_there_is_one_line() -> None:
    done = neverlost("check", "--bootstrap-server", "127.0.0.1:1", *QUESTION)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (64, "", 1), done.stderr
    reason = (
        "cannot look at the cluster at '127.0.0.1:1': " if find_spec("kafka") else "--bootstrap-server needs a Kafka client"
    )
    assert done.stderr.startswith(f"neverlost: {reason}")
    alone = neverlost("check", "--command-config", "client.properties")
    assert alone.stderr == "neverlost: --command-config goes with --bootstrap-server HOST:PORT\n" and alone.returncode == 64


@pytest.fixture(scope="module")
def secrets(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the certificates of an authority, of the brokers and of an auditor."""
    folder = tmp_path_factory.mktemp("secrets")
    certificates.authority(folder)
    for name in ("broker", "auditor"):
        certificates.signed(folder, name)
    return folder


def security(secrets: Path) -> dict[str, str]:
    """Brokers that show themselves by certificate, ask for a password or a certificate, and allow what the ACLs do."""
    users = 'user_auditor="sesame" user_stranger="unknown"'
    shown = {
        f"listener.name.{name.lower()}.{key}": value
        for name in LISTENERS
        for key, value in (
            ("ssl.keystore.type", "PEM"),
            ("ssl.keystore.location", str(secrets / "broker.pem")),
            ("ssl.truststore.type", "PEM"),
            ("ssl.truststore.location", str(secrets / certificates.AUTHORITY)),
        )
    }
    return shown | {
        "listener.name.tls.ssl.client.auth": "required",
        "listener.name.sasl.sasl.enabled.mechanisms": "PLAIN",
        "listener.name.sasl.plain.sasl.jaas.config": f"{PLAIN} {users};",
        "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
        "super.users": "User:ANONYMOUS",
    }


@pytest.fixture(scope="module", params=["4.3", "3.9"])
def kafka(request: pytest.FixtureRequest, secrets: Path) -> Iterator[Cluster]:
    """Fifty topics of mixed settings, and one broker down."""
    home = find_kafka(version=request.param)
    with cluster(home, brokers=3, settings=security(secrets), further_listeners=LISTENERS) as found:
        for number in range(COPIES):
            for name, (replicas, configs) in KINDS.items():
                found.admin.create_topic(f"{name}-{number}", list(replicas), configs)
        found.wait(lambda: found.metadata.partition(f"ledger-{COPIES - 1}") is not None, "the last topic", 60)
        found.brokers[3].process.kill()
        found.wait(lambda: not found.is_unfenced(3), "broker 3 to be fenced", 60)
        yield found


def tool(kafka: Cluster, command: str) -> str:
    """What one of Kafka's own tools prints, as its line says; its log, which the scripts send elsewhere, is left out."""
    name, *arguments = shlex.split(command.replace("HOST:PORT", kafka.address(1)))
    tools = TOOLS if kafka.home.minor >= (4, 0) else TOOLS | OLDER_TOOLS
    said = kafka.java.run(tools[name], *arguments).splitlines(keepends=True)
    return "".join(line for line in said if line.startswith(("Topic: ", "\tTopic: ", "Feature: ")))


def answers(*arguments: str) -> dict[str, tuple[str, int | None, str]]:
    """By topic the verdict, the steps of its counterexample, and what to change."""
    done = neverlost("check", *arguments, *QUESTION, "--json", "-", timeout=600)
    assert done.returncode in (0, 12), done.stderr
    document = json.loads(done.stdout)
    cells = document.get("cells", [document])
    return {
        topic: (cell["verdict"], cell["properties"][0].get("steps"), (cell.get("remedy") or {}).get("says", ""))
        for cell in cells
        for topic in cell["topics"]
    }


PLACES = ("where", "how")


def unordered(value: Any) -> Any:
    """A document in whatever order its lists were made, without the places at which it was read and the kinds of these."""
    if isinstance(value, dict):
        return {", ".join(sorted(key.split(", "))): unordered(each) for key, each in value.items() if key not in PLACES}
    return sorted(json.dumps(unordered(each), sort_keys=True) for each in value) if isinstance(value, list) else value


GUIDE = (Path(__file__).resolve().parents[3] / "reports" / "guide" / "inputs.md").read_text()


def audited(kafka: Cluster, secrets: Path, tmp_path: Path) -> list[dict[str, tuple[str, int | None, str]]]:
    """The answers for an auditor with a password, and with a certificate, who may do what the guide says; and that others
    are refused in one line."""
    (documented,) = re.findall(r"^(kafka-acls\.sh .*\\\n.*)$", GUIDE, re.MULTILINE)
    for principal in ("User:auditor", "User:CN=auditor"):
        tool(kafka, documented.replace("\\\n", " ").replace("User:auditor", principal))
    trusting = f"ssl.truststore.type=PEM\nssl.truststore.location={secrets / certificates.AUTHORITY}\n"
    sasl = f"{trusting}security.protocol=SASL_SSL\nsasl.mechanism=PLAIN\n"
    written = {
        "password": sasl + f'sasl.jaas.config={PLAIN} username="auditor" password="sesame";\n',
        "wrong": sasl + f'sasl.jaas.config={PLAIN} username="auditor" password="wrong";\n',
        "stranger": sasl + f'sasl.jaas.config={PLAIN} username="stranger" password="unknown";\n',
        "certificate": f"{trusting}security.protocol=SSL\nssl.keystore.type=PEM\nssl.keystore.location={secrets}/auditor.pem\n",
        "untrusted": "security.protocol=SSL\n",
    }
    for name, text in written.items():
        (tmp_path / f"{name}.properties").write_text(text)

    def asked(name: str) -> list[str]:
        listener = "TLS" if name in ("certificate", "untrusted") else "SASL"
        return ["--bootstrap-server", kafka.address(1, listener), "--command-config", str(tmp_path / f"{name}.properties")]

    for name, says in REFUSED.items():
        done = neverlost("check", *asked(name), *QUESTION, timeout=120)
        assert (done.returncode, done.stdout, done.stderr.count("\n")) == (64, "", 1), (name, done.stderr)
        assert says in done.stderr, (name, done.stderr)
    return [answers(*asked("password")), answers(*asked("certificate"))]


REFUSED = {"wrong": "cannot look at", "stranger": "DESCRIBE on topics is missing", "untrusted": "certificate verify failed"}
"""By file of settings what the one line says."""


@pytest.mark.kafka
def test_a_cluster_by_its_server_and_by_files_and_after_what_was_advised(kafka: Cluster, secrets: Path, tmp_path: Path) -> None:
    printed = {
        "topics.txt": tool(kafka, "kafka-topics.sh --bootstrap-server HOST:PORT --describe"),
        "features.txt": tool(kafka, "kafka-features.sh --bootstrap-server HOST:PORT describe"),
    }
    files: list[str] = ["--kafka-version", ".".join(map(str, kafka.home.minor))]
    for name, text in printed.items():
        (tmp_path / name).write_text(text)
        files += ["--describe", str(tmp_path / name)]
    server = ["--bootstrap-server", kafka.address(1), "--out", str(tmp_path / "evidence")]
    by_server, by_files = answers(*server), answers(*files)
    by_password, by_certificate = audited(kafka, secrets, tmp_path)
    assert by_server == by_files == by_password == by_certificate and len(by_server) == COPIES * len(KINDS)
    assert {verdict for verdict, _, _ in by_server.values()} == {"holds", "violated"}
    by_look, by_file = (neverlost("roll", *way, "--set", "acks=all", "--json", "-", timeout=600) for way in (server[:2], files))
    assert by_look.returncode == by_file.returncode == 12, by_look.stderr  # a late record of an ISR change, while 3 comes back
    rolled, rolled_by_files = (unordered(json.loads(each.stdout)) for each in (by_look, by_file))
    said = ({json.loads(each)["says"] for each in one.pop("notices")} for one in (rolled, rolled_by_files))
    assert next(said) - next(said) == {"broker 3 shows no settings"}
    for part in rolled.keys() | rolled_by_files.keys():
        assert rolled.get(part) == rolled_by_files.get(part), part
    page = (tmp_path / "evidence" / "report.html").read_text()
    assert all(f"{name}-{number}" in page for name in KINDS for number in range(COPIES))
    document = json.loads((tmp_path / "evidence" / "result.json").read_text())
    promised: set[str] = set()
    out: set[str] = set()
    for cell in document["cells"]:
        if list((cell.get("remedy") or {}).get("changes", ())) == ["start.outside_isr"]:
            out |= set(cell["topics"])
        commands = [each["line"] for each in (cell.get("remedy") or {}).get("commands", ())]
        if commands and all(each.startswith("kafka-configs.sh") for each in commands):
            changed = [name for name in cell["topics"] if int(name.rpartition("-")[2]) < CHANGED]
            promised |= set(changed)
            for line in dict.fromkeys(each for each in commands if {*changed} & {*each.split()}):
                tool(kafka, line)
    assert promised and out
    again = answers("--bootstrap-server", kafka.address(1))
    assert {again[name][0] for name in promised} == {"holds"}
    assert {name: again[name] for name in again if name not in promised} == {
        name: by_server[name] for name in by_server if name not in promised
    }
    kafka.brokers[3].process.start()
    kafka.wait(lambda: all(len(kafka.partition(name).isr) == 3 for name in out), "every replica to be in the ISR again", 120)
    back = answers("--bootstrap-server", kafka.address(1))
    assert {back[name][0] for name in out | promised} == {"holds"}
