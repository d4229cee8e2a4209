"""A power loss where every record is flushed loses nothing and stops the broker: every command answers as for a kill."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from neverlost.specs.configuration.choose import choose, read_settings
from neverlost.specs.inputs import remedies
from tests.support.program import neverlost as program

FLUSHED = ["kafka.version=3.9", "min.insync.replicas=2", "bounds.records=1", "flush.messages=1"]
ACKED = ["--property", "acked-never-lost"]
DESCRIBED = (
    "Topic: t\tTopicId: a\tPartitionCount: 1\tReplicationFactor: 2\tConfigs: min.insync.replicas=1,flush.messages=1\n"
    "\tTopic: t\tPartition: 0\tLeader: 1\tReplicas: 1,2\tIsr: 1,2\n"
)


def options(*settings: str) -> list[str]:
    return [part for each in settings for part in ("--set", each)]


@pytest.mark.parametrize("limit", ["any", "1", "any:1"])
@pytest.mark.parametrize("kind", ["lossy_crash", "data_loss"])
def test_what_only_the_leader_has_is_lost_with_its_power(kind: str, limit: str) -> None:
    """The leader fails before any follower has fetched, its record on its disk: as with faults.crash=1."""
    given = options(*FLUSHED, "acks=1", f"faults.{kind}={limit}", "faults.kill=0", "mechanism.offline-log-not-recreated=on")
    done = program("check", *given, *ACKED)
    assert done.returncode == 12, done.stdout + done.stderr
    if kind == "lossy_crash":
        assert "broker 1 loses power; nothing of its log is lost" in done.stdout and "Assumed" not in done.stdout


@pytest.mark.parametrize(
    ("settings", "name"),
    [
        ([*FLUSHED, "faults.lossy_crash=3"], "stays-writable"),
        (["model=majority", "flush.messages=1", "faults.lossy_crash=3"], "quorum-stays-writable"),
    ],
)
def test_brokers_without_power_take_no_writes(settings: list[str], name: str) -> None:
    assert program("check", *options(*settings), "--property", name, "--quiet").returncode == 13


@pytest.mark.parametrize(
    "limits",
    [
        ["faults.lossy_crash=1", "faults.crash=1"],
        ["faults.lossy_crash=any:1", "faults.kill=2"],
        ["faults.data_loss=1"],
        ["faults.data_loss=any:1", "faults.kill=1"],
        ["faults.data_loss=any:1", "faults.out=any:2,1", "faults.kill=any:out"],
    ],
)
def test_power_losses_are_asked_as_they_were_given(limits: list[str]) -> None:
    """A power loss that takes nothing is a step of the model, whatever else is limited."""
    found = choose(read_settings([*FLUSHED, *limits]))
    for key, value in (each.split("=") for each in limits):
        assert str(found.configuration[key]) == value


def test_a_described_topic_is_answered_without_an_assumption(tmp_path: Path) -> None:
    (tmp_path / "topics.txt").write_text(DESCRIBED)
    given = ["--describe", str(tmp_path / "topics.txt"), "--kafka-version", "3.9", "--no-advise", "--json", "-"]
    done = program("check", *given, *options("acks=1", "faults.lossy_crash=1", "metadata.version=3.9-IV0"), *ACKED)
    (cell,) = json.loads(done.stdout)["cells"]
    assert done.returncode == 12 and not any("power" in each["says"] for each in cell["notices"])
    roll = program("roll", *given[:4], "--set", "acks=all", "--set", "defects=fixed")
    assert "is killed or is cut off stops writes on t-0" in roll.stdout


def test_a_table_counts_a_broker_without_power_with_those_that_lose_data() -> None:
    settings = ["kafka.version=3.9", "replication.factor=1", "flush.messages=1", "defects=fixed"]
    done = program("tolerance", *options(*settings))
    assert "a broker that loses power keeps them, but stops, and counts as one that loses data." in done.stdout
    assert program("tolerance", *options(*settings), "--also", "kill=1").returncode == 13, "a kill stops the one replica"


def test_a_sweep_has_acks_1_no_safer_for_the_flush(tmp_path: Path) -> None:
    (tmp_path / "m.toml").write_text(
        'kafka.version = "3.9"\nproperties = ["acked-never-lost"]\n'
        '[topic]\nreplication.factor = 2\nmin.insync.replicas = [1, 2]\nflush.messages = ["default", "1"]\n'
        '[producer]\nacks = ["1", "all"]\n[cluster]\ndefects = "fixed"\n'
        "[faults]\nlossy_crash = 1\nisr_shrink = 1\n[bounds]\nrecords = 1\n"
    )
    done = program("sweep", str(tmp_path / "m.toml"), "--json", "-")
    cells = [(each["cell"], each["verdict"]) for each in json.loads(done.stdout)["cells"]]
    assert len(cells) == 8 and {verdict for cell, verdict in cells if cell["acks"] == "1"} == {"violated"}
    assert {verdict for cell, verdict in cells if (cell["acks"], cell["flush.messages"]) == ("all", "1")} == {"holds"}
    assert all("faults.kill" not in cell for cell, _ in cells)


@pytest.mark.slow
def test_a_proof_finds_it_too() -> None:
    given = options("model=kraft", "replication.factor=2", "bounds.records=1", "acks=1", "faults.lossy_crash=1")
    assert program("prove", *given, "--depth", "4", *ACKED, "--quiet").returncode == 12


def test_a_plan_may_flush_beside_power_losses(tmp_path: Path) -> None:
    (tmp_path / "plan.toml").write_text(
        'kafka.version = "3.9"\n[topic]\nreplication.factor = 2\n[faults]\nlossy_crash = "any"\n'
        '[[step]]\nflush.messages = "1"\n'
    )
    done = program("roll", "--plan", str(tmp_path / "plan.toml"))
    assert done.returncode == 12 and "loses power and the records from offset 0 on" in done.stdout


def changes(**settings: str) -> list[remedies.Changes]:
    given: dict[str, Any] = {"kafka.version": ("3.9", ""), "replication.factor": ("3", "")}
    return remedies.candidates(choose(given | {key: (value, "") for key, value in settings.items()}))


def test_to_flush_each_record_is_advised_last_and_with_acks_all_only() -> None:
    for acks in ("0", "1", "all"):
        every = changes(acks=acks)
        flushing = [each for each in every if "flush.messages" in each]
        assert flushing and every[-len(flushing) :] == flushing
        assert {each.get("acks", acks) for each in flushing} == {"all"}
    given = {"kafka.version": ("0.8", ""), "acks": ("min.insync.replicas", "")}
    assert not [each for each in remedies.candidates(choose(given)) if "flush.messages" in each]


def test_no_advice_for_acks_1_leaves_it_at_that(tmp_path: Path) -> None:
    (tmp_path / "topics.txt").write_text(DESCRIBED.replace(",flush.messages=1", ""))
    (tmp_path / "p").write_text("acks=1\n")
    limits = options("faults.lossy_crash=1", "faults.isr_shrink=1")
    given = ["--describe", str(tmp_path / "topics.txt"), "--producer-properties", str(tmp_path / "p"), "--kafka-version", "3.9"]
    done = program("check", *given, *limits, *ACKED, "--json", "-")
    assert done.returncode == 12
    changed = json.loads(done.stdout)["cells"][0]["remedy"]["changes"]
    assert "flush.messages" not in changed or changed.get("acks") == "all"
