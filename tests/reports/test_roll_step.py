"""The next step of a roller: may this one broker be restarted now."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

import neverlost
from neverlost.checker.questions.roll import rolling_restart
from neverlost.specs.errors import InputError
from tests.support.program import DATA
from tests.support.program import neverlost as program

KNOWN = (
    "--kafka-version",
    "4.1",
    "--set",
    "acks=all",
    "--set",
    "metadata.version=4.1-IV1",
    "--set",
    "eligible.leader.replicas=true",
)
QUORUM = DATA / "kafka" / "formats" / "quorum-replication-3.9.txt"
"""Three controllers, 1 to 3, all of which follow."""


def described(folder: Path, min_isr: int = 2, isr: str = "1,2,3", moves: str = "") -> str:
    """A topic of three replicas, led by broker 1."""
    replicas = "1,2,3,4" if moves else "1,2,3"
    (folder / "topics.txt").write_text(
        "Topic: orders\tTopicId: abcdefghijklmnopqrstuv\tPartitionCount: 1\tReplicationFactor: 3\t"
        f"Configs: min.insync.replicas={min_isr}\n"
        f"\tTopic: orders\tPartition: 0\tLeader: 1\tReplicas: {replicas}\tIsr: {isr}{moves}\n"
    )
    return str(folder / "topics.txt")


def asked(topics: str, *more: str, broker: str = "2") -> tuple[int, dict[str, Any]]:
    """The exit status and the answer about one broker."""
    done = program("roll", "--describe", topics, *KNOWN, "--broker", broker, *more, "--json", "-")
    found: dict[str, Any] = json.loads(done.stdout)["step"]
    return done.returncode, found


def test_a_broker_of_a_partition_in_sync_is_allowed_with_the_margin(tmp_path: Path) -> None:
    status, found = asked(described(tmp_path))
    assert (status, found["says"], found["reasons"], found["is_controller"]) == (0, "allow", [], None)
    assert found["margin"] == {"until_writes_stop": 1, "until_loss": 1} and "controller" in found["not_known"][0]
    pod = program("roll", "--describe", described(tmp_path), *KNOWN, "--pod", "my-cluster-kafka-2", "--json", "-")
    assert json.loads(pod.stdout)["step"] == found


@pytest.mark.parametrize(
    ("given", "broker", "says", "do", "status"),
    [
        ({"min_isr": 3}, "2", "deny", "or add a replica, or lower min ISR", 13),
        ({"isr": "1,2"}, "2", "wait-for", "wait until 3 is in the ISR again", 12),
        ({"isr": "1,2"}, "3", "allow", "", 0),
        ({"moves": "\tAdding Replicas: 4\tRemoving Replicas: 3"}, "2", "wait-for", "reassignment", None),
    ],
)
def test_what_stands_in_the_way(
    given: dict[str, Any], broker: str, says: str, do: str, status: int | None, tmp_path: Path
) -> None:
    code, found = asked(described(tmp_path, **given), broker=broker)
    assert found["says"] == says and any(do in each["do"] for each in found["reasons"]) == bool(do), found
    assert code == status if status is not None else code != 0


def test_a_loss_by_known_bugs_is_marked_and_as_designed_there_is_none(tmp_path: Path) -> None:
    """A stop, the return and the election of the preferred leader: as designed nothing is lost beside a replica out of sync."""
    told = [
        program("roll", "--describe", described(tmp_path, isr="1,2"), *KNOWN, "--set", f"defects={each}", "--broker", "2")
        for each in ("shipped", "fixed")
    ]
    marked = "orders-0: LOST (by known bugs of this release, not as Kafka is designed); wait until 3 is in the ISR again."
    assert marked in told[0].stdout and "orders-0: LOST" not in told[1].stdout and "LOST (by" not in told[1].stdout


def test_a_combined_node_is_allowed_only_if_a_majority_of_the_controllers_is_left(tmp_path: Path) -> None:
    topics, properties = described(tmp_path), tmp_path / "server.properties"
    properties.write_text("process.roles=broker,controller\n")
    _, unknown = asked(topics, "--server-properties", str(properties))
    assert (unknown["says"], unknown["reasons"][0]["verdict"]) == ("deny", "not decided")
    _, known = asked(topics, "--describe", str(QUORUM))
    assert (known["says"], known["is_controller"], known["not_known"]) == ("allow", True, [])
    (tmp_path / "quorum.txt").write_text("".join(line for line in QUORUM.open() if not line.startswith("1 ")))
    _, short = asked(topics, "--describe", str(tmp_path / "quorum.txt"))
    assert short["says"] != "allow" and short["reasons"][0]["verdict"] == "no controller leads", short


def test_the_order_of_all_brokers_leaves_a_majority_of_the_controllers(tmp_path: Path) -> None:
    """Without the row of controller 1, of two voters the one that leads and the one that follows are both needed."""
    topics, short = described(tmp_path), tmp_path / "quorum.txt"
    short.write_text("".join(line for line in QUORUM.open() if not line.startswith("1 ")))
    without, whole, two = (
        program("roll", "--describe", topics, *KNOWN, "--set", "defects=fixed", *more)
        for more in ((), ("--describe", str(QUORUM)), ("--describe", str(short)))
    )
    assert without.returncode == whole.returncode == 0 and two.returncode == 13
    assert "Not known: whether a broker is a controller too" in without.stdout and "Not known" not in whole.stdout
    both = "The controllers are 1, 2, 3: a restart of 1 or 2 or 3 takes a vote, which this answer counts."
    assert both in whole.stdout.splitlines() and "The controllers are" not in without.stdout
    apart = tmp_path / "apart.txt"
    apart.write_text(re.sub(r"^([123])(?=\s)", r"10\1", QUORUM.read_text(), flags=re.MULTILINE))
    others = program("roll", "--describe", topics, *KNOWN, "--set", "defects=fixed", "--describe", str(apart))
    assert "The controllers are 101, 102, 103: no broker here is one." in others.stdout, others.stderr
    assert two.stdout.startswith("No go for all: 1 of 3 brokers may be stopped now.\n"), two.stdout
    assert all(
        f"broker {each} must not be stopped: no majority of the controllers would be left." in two.stdout for each in (2, 3)
    )
    assert "the controller quorum: 2 controllers vote, and no majority of them would be left: add voters first." in two.stdout
    together = program("roll", "--describe", topics, *KNOWN, "--describe", str(QUORUM), "--at-a-time", "2", "--json", "-")
    assert all(len(group) == 1 for group in json.loads(together.stdout)["order"])


def test_writes_that_are_refused_before_a_stop_do_not_stop_by_it(tmp_path: Path) -> None:
    done = program("roll", "--describe", described(tmp_path, isr="1"), *KNOWN, "--set", "defects=fixed")
    said = [line for line in done.stdout.splitlines() if "must not be stopped" in line]
    assert said and not any("writes stop on" in line for line in said), done.stdout
    assert any("writes are refused already on orders-0" in line for line in said)


def test_what_the_shipped_answers_lack_is_never_allowed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rolling_restart, "shipped", lambda: None)
    rolling_restart._look_up.cache_clear()
    found = neverlost.roll({"acks": "all"}, describe=described(tmp_path), kafka_version="3.9", broker=2)
    rolling_restart._look_up.cache_clear()
    assert found.document["step"]["says"] == "deny" and found.verdict != "holds"


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("--broker", "7"), "broker 7 has no replica in what is described; the brokers there are 1, 2, 3"),
        (("--pod", "kafka"), "bad value 'kafka' for --pod: its name has to end in the broker's id, such as kafka-2"),
        (("--broker", "1", "--pod", "kafka-1"), "--broker 1 and --pod 'kafka-1' name the broker twice: leave one out"),
    ],
)
def test_a_broker_that_is_none_is_refused(words: tuple[str, ...], says: str, tmp_path: Path) -> None:
    done = program("roll", "--describe", described(tmp_path), *KNOWN, *words)
    assert done.returncode == 64 and says in done.stderr and not done.stdout
    with pytest.raises(InputError, match="broker 7"):
        neverlost.roll({"acks": "all"}, describe=described(tmp_path), kafka_version="4.1", broker=7)
