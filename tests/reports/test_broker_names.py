"""Brokers have the user's names in every output; where topics share an answer, a map says what the numbers stand for."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from tests.support.program import neverlost

TOPIC = (
    "Topic: {name}\tTopicId: Xm3bVpA8QfO0yYw2l2cB3g\tPartitionCount: 1\tReplicationFactor: 3\tConfigs: min.insync.replicas=2\n"
    "\tTopic: {name}\tPartition: 0\tLeader: {leader}\tReplicas: {replicas}\tIsr: {replicas}\n"
)
ORDERS = TOPIC.format(name="orders", leader=105, replicas="101,105,104")
CLICKS = TOPIC.format(name="clicks", leader=202, replicas="202,101,203")
ASKED = (
    "--kafka-version",
    "3.9",
    "--set",
    "metadata.version=3.9-IV0",
    "--set",
    "faults.isr_shrink=2",
    "--set",
    "faults.lossy_crash=1",
    "--set",
    "bounds.records=1",
)
OUTPUTS = ("acked-never-lost.svg", "report.md", "report.html")


def checked(tmp_path: Path, text: str) -> str:
    (tmp_path / "topics.txt").write_text(text)
    done = neverlost(
        "check", "--describe", "topics.txt", *ASKED, "--property", "acked-never-lost", "--out", "out", cwd=tmp_path
    )
    assert done.returncode == 12, done.stderr
    return done.stdout


def saved(tmp_path: Path) -> dict[str, object]:
    found: dict[str, object] = json.loads((tmp_path / "out" / "acked-never-lost.itf.json").read_text())["#meta"]["neverlost"]
    return found


@pytest.fixture(scope="module")
def one_topic(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    folder = tmp_path_factory.mktemp("one")
    return folder, checked(folder, ORDERS)


def test_one_topic_s_brokers_have_their_names_in_every_output(one_topic: tuple[Path, str]) -> None:
    folder, shown = one_topic
    texts = [shown, *((folder / "out" / name).read_text() for name in OUTPUTS), str(saved(folder)["says"])]
    for text in texts:
        assert "leader 105 handles the fetch of 10" in text and not re.search(r"(leader|broker) [123]\b", text)
    assert saved(folder)["brokers"] == {"orders-0": ["105", "101", "104"]}


def test_a_saved_counterexample_keeps_the_names(one_topic: tuple[Path, str]) -> None:
    folder, _ = one_topic
    assert "leader 105 handles the fetch of 10" in neverlost("replay", "out/acked-never-lost.itf.json", cwd=folder).stdout
    assert neverlost("verify", "out", cwd=folder).stdout.endswith("VERIFIED\n")


def test_no_line_of_a_counterexample_is_wider_than_100_columns(one_topic: tuple[Path, str]) -> None:
    _, shown = one_topic
    lines = shown[shown.index("  0 initial state") : shown.index("violates acked-never-lost")].splitlines()
    assert len(lines) > 20 and max(map(len, lines)) <= 100


def test_several_topics_have_numbers_and_a_map(tmp_path: Path) -> None:
    shown = checked(tmp_path, ORDERS + CLICKS)
    assert "brokers 1, 2, ... stand for 105,101,104 of orders-0; 202,101,203 of clicks-0" in shown
    assert "leader 1 handles the fetch of 2" in shown
    both = {"orders-0": ["105", "101", "104"], "clicks-0": ["202", "101", "203"]}
    assert saved(tmp_path)["brokers"] == both
    (cell,) = json.loads((tmp_path / "out" / "result.json").read_text())["cells"]
    assert cell["brokers"] == both


def test_brokers_that_are_no_ids_are_refused(one_topic: tuple[Path, str]) -> None:
    folder, _ = one_topic
    document = json.loads((folder / "out" / "acked-never-lost.itf.json").read_text())
    document["#meta"]["neverlost"]["brokers"] = {"orders-0": ["<b>"]}
    (folder / "changed.itf.json").write_text(json.dumps(document))
    done = neverlost("replay", "changed.itf.json", cwd=folder)
    assert done.returncode == 64 and done.stderr.count("\n") == 1
