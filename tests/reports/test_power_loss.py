"""A power loss where every record is flushed loses nothing and stops the broker: every command answers as for a kill."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import neverlost
from neverlost.checker.questions.atlas import lookup
from neverlost.checker.questions.atlas.index import shipped
from neverlost.checker.questions.tolerance.fault_budget import FaultBudget, fault_budgets
from neverlost.checker.questions.tolerance.tolerance import Tolerance
from neverlost.specs.configuration.choose import choose, read_settings
from neverlost.specs.errors import InputError
from neverlost.specs.inputs import remedies
from neverlost.specs.properties import properties
from tests.support.program import neverlost as program

FLUSHED = ["kafka.version=3.9", "min.insync.replicas=2", "bounds.records=1", "flush.messages=1"]
ACKED = ["--property", "acked-never-lost"]
DESCRIBED = (
    "Topic: t\tTopicId: a\tPartitionCount: 1\tReplicationFactor: 2\tConfigs: min.insync.replicas=1,flush.messages=1\n"
    "\tTopic: t\tPartition: 0\tLeader: 1\tReplicas: 1,2\tIsr: 1,2\n"
)
SAID = "a power loss with flush.messages=1 loses no record, but stops the broker: "


def options(*settings: str) -> list[str]:
    return [part for each in settings for part in ("--set", each)]


@pytest.mark.parametrize(("limit", "kills"), [("any", "any"), ("1", "1"), ("any:1", "any:1")])
def test_what_only_the_leader_has_is_lost_with_its_power(limit: str, kills: str) -> None:
    """The leader fails before any follower has fetched, its record on its disk: as with faults.crash=1."""
    done = program("check", *options(*FLUSHED, "acks=1", f"faults.lossy_crash={limit}"), *ACKED)
    assert done.returncode == 12, done.stdout + done.stderr
    assert f"{SAID}faults.lossy_crash={limit} is asked as faults.kill={kills}" in " ".join(done.stdout.split())
    assert "unclean shutdown of broker 1, log intact" in done.stdout


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
    ("limits", "instead"),
    [
        (["faults.lossy_crash=1", "faults.crash=1"], "leave it out, and count power losses in faults.crash too"),
        (["faults.lossy_crash=any:1", "faults.kill=2"], "leave it out, and count power losses in faults.kill too"),
        (["faults.data_loss=1"], "use faults.data_loss=any:N"),
        (["faults.data_loss=any:1", "faults.kill=1"], "use faults.kill=any"),
    ],
)
def test_limits_that_no_number_of_kills_stands_for_are_refused(limits: list[str], instead: str) -> None:
    with pytest.raises(InputError, match=f"{limits[0]} with flush.messages=1: .* counts as a kill; {instead}$"):
        choose(read_settings([*FLUSHED, *limits]))


@pytest.mark.parametrize(
    ("limits", "kill"),
    [
        (["faults.lossy_crash=2", "faults.kill=1"], "3"),
        (["faults.lossy_crash=2", "faults.crash=any"], "0"),
        (["faults.data_loss=any:1"], "any:data_loss"),
        (["faults.data_loss=any:1", "faults.out=any:2,1", "faults.kill=any:out"], "any:out"),
    ],
)
def test_as_many_brokers_are_killed_as_lose_power(limits: list[str], kill: str) -> None:
    found = choose(read_settings([*FLUSHED, *limits]))
    assert str(found.configuration["faults.kill"]) == kill
    stated = {key: (value, "again") for key, value in found.configuration.items() if value not in ("", ())}
    assert choose(stated, found.model.name).configuration == found.configuration


def test_a_described_topic_says_so_by_its_name(tmp_path: Path) -> None:
    (tmp_path / "topics.txt").write_text(DESCRIBED)
    given = ["--describe", str(tmp_path / "topics.txt"), "--kafka-version", "3.9", "--no-advise", "--json", "-"]
    done = program("check", *given, *options("acks=1", "faults.lossy_crash=1", "metadata.version=3.9-IV0"), *ACKED)
    (cell,) = json.loads(done.stdout)["cells"]
    (notice,) = [each for each in cell["notices"] if each["says"].startswith(SAID)]
    assert done.returncode == 12 and notice["topics"] == ["t"]
    roll = program("roll", *given[:4], "--set", "acks=all", "--set", "defects=fixed")
    assert "is killed or is cut off stops writes on t-0" in roll.stdout


def test_a_table_counts_a_broker_without_power_with_those_that_lose_data() -> None:
    settings = ["kafka.version=3.9", "replication.factor=1", "flush.messages=1", "defects=fixed"]
    (table,) = neverlost.tolerance([*settings, "acks=1"]).tables
    assert str(table.asked(FaultBudget(1, 0))["faults.kill"]) == "any:data_loss"
    done = program("tolerance", *options(*settings))
    assert "a broker that loses power keeps them, but stops, and counts as one that loses data." in done.stdout
    refused = program("tolerance", *options(*settings), "--also", "kill=1")
    assert refused.returncode == 64 and "use faults.kill=any" in refused.stderr


def test_the_atlas_serves_no_row_without_the_kills() -> None:
    """It has the rows of flushed topics that lose disks only; no table asks for those."""
    atlas, asked = shipped(), [properties()["acked-never-lost"]]
    found = choose(read_settings([*FLUSHED, "replication.factor=3", "defects=fixed"]))
    table = Tolerance(found.model, found.configuration, {}, {})
    assert atlas is not None and lookup.answers(atlas, found.model, table.asked(FaultBudget(0, 3)), asked) is not None
    for spot in (each for each in fault_budgets(3) if each.losing):
        assert lookup.answers(atlas, found.model, found.configuration | spot.limits, asked) is not None, "the row is there"
        assert lookup.answers(atlas, found.model, table.asked(spot), asked) is None, spot


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
    assert {cell["faults.kill"] for cell, _ in cells if cell["flush.messages"] == "1"} == {1}


@pytest.mark.slow
def test_a_proof_finds_it_too() -> None:
    given = options("model=kraft", "replication.factor=2", "bounds.records=1", "acks=1", "faults.lossy_crash=1")
    assert program("prove", *given, "--free", "flush.messages", "--depth", "4", *ACKED, "--quiet").returncode == 12


def test_a_plan_does_not_flush_beside_power_losses(tmp_path: Path) -> None:
    (tmp_path / "plan.toml").write_text(
        'kafka.version = "3.9"\n[topic]\nreplication.factor = 2\n[faults]\nlossy_crash = "any"\n'
        '[[step]]\nflush.messages = "1"\n'
    )
    done = program("roll", "--plan", str(tmp_path / "plan.toml"))
    assert done.returncode == 64 and "give faults.kill=any too" in done.stderr


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
