"""The answer about described topics: counts, groups by danger with one remedy each, and the bugs of the release."""

from __future__ import annotations

import json
import re
from io import StringIO
from pathlib import Path

import pytest
from rich.console import Console

import neverlost
from neverlost.checker.questions.tolerance.fault_budget import FaultBudget
from neverlost.reports.questions.tolerance import document as describe
from neverlost.reports.questions.tolerance.overview import (
    DESIGNED,
    Answers,
    DangerLevel,
    Overview,
    TopicGroup,
    entries_of,
    overview,
)
from neverlost.reports.questions.tolerance.screen import show_overview
from neverlost.specs.defects import DEFECTS
from tests.support.program import neverlost as program

REPRODUCTIONS = Path(__file__).parents[2] / "reports" / "published" / "reproductions"

TOPICS = (
    ("orders", "1,2,3", "1,2,3", "min.insync.replicas=2"),
    ("logs", "1,2,3", "1,2,3", "min.insync.replicas=1"),
    ("metrics", "1", "1", ""),
    ("stock", "1,2,3", "1", "min.insync.replicas=2"),
    ("flushed", "1,2,3", "1,2,3", "min.insync.replicas=2,flush.messages=1"),
)


@pytest.fixture(scope="module")
def described(tmp_path_factory: pytest.TempPathFactory) -> str:
    file = tmp_path_factory.mktemp("overview") / "topics.txt"
    lines = []
    for name, replicas, isr, configs in TOPICS:
        factor = replicas.count(",") + 1
        lines.append(f"Topic: {name}\tTopicId: {'A' * 22}\tPartitionCount: 1\tReplicationFactor: {factor}\tConfigs: {configs}")
        lines.append(f"\tTopic: {name}\tPartition: 0\tLeader: 1\tReplicas: {replicas}\tIsr: {isr}")
    file.write_text("\n".join(lines) + "\n")
    return str(file)


GIVEN = (
    "--kafka-version",
    "4.3",
    "--set",
    "acks=all",
    "--set",
    "eligible.leader.replicas=true",
    "--set",
    "metadata.version=4.3-IV0",
)


def test_one_screen_says_what_to_do_first(described: str) -> None:
    done = program("tolerance", "--describe", described, *GIVEN, "--set", "defects=fixed")
    lines = done.stdout.splitlines()
    assert lines[0] == (
        "5 topics, Kafka 4.3 (given), acks=all (given), as designed: "
        "2 lose records when one disk dies (1 always, stock as it stands now); 3 are safe with one broker lost and one slow; "
        "1 has partitions that are offline, refuse writes or hang by their last replica now."
    )
    assert lines[1] == "The bugs of the release are left out (defects=fixed)."
    titles = ["Now", "Lost with 1 broker", "Lost only with 3 brokers or more"]
    assert [each for each in lines if re.match(r"Now|Lost|Not", each)] == titles
    assert lines[lines.index("Now") + 1].startswith("  stock-0 (in sync on broker 1 alone): refuses acks=all writes")
    gains = "Gains: by design no record is lost with 1 broker that loses data."
    assert any(each.startswith(f"    Set replication.factor=3 (now 1). {gains} Costs: ") for each in lines)
    logs = "RF 3, min ISR 1, acks=all, ELR; lost with 1 broker that loses data and 2 others out"
    assert f"  logs: {logs}. Set min.insync.replicas=2 (now 1)" in lines
    assert not re.search(r"\d+ (steps|distinct|states)|spots|\[\d,\d\]", done.stdout) and len(lines) <= 25
    assert not done.stderr and all(lines.count(each) == 1 for each in lines if each)


@pytest.mark.parametrize(("version", "is_capped"), [("3.6", False), ("3.9", True)])
def test_a_minimum_above_the_replicas_is_no_safety(version: str, is_capped: bool, tmp_path: Path) -> None:
    """Where the minimum is not capped by the replicas no acks=all write succeeds, so that none can be lost."""
    (tmp_path / "topics.txt").write_text(
        "Topic: t\tPartitionCount: 1\tReplicationFactor: 1\tConfigs: min.insync.replicas=2\n"
        "\tTopic: t\tPartition: 0\tLeader: 1\tReplicas: 1\tIsr: 1\n"
    )
    found = neverlost.tolerance({"acks": "all"}, kafka_version=version, files={"describe": tmp_path / "topics.txt"})
    answer = overview(found.document)
    assert ("refuse writes" in answer.headline[0]) != is_capped
    assert all(level.kind != "holds" for level in answer.levels)


def test_what_is_safe_is_a_line_a_group_and_a_command_stands_once() -> None:
    safe = tuple(
        TopicGroup((f"t{each}",), "RF 3", "lost with 3 brokers", f"Set a={each} (now 0). Gains: much.") for each in range(9)
    )
    two = tuple(TopicGroup((name,), "RF 1", "lost", "Set b=3.", ({"line": "reassign", "where": ""},)) for name in ("u", "v"))
    answer = Overview(("2 topics.",), (DangerLevel("Lost", "violated", two), DangerLevel("Later", "holds", safe)))
    out = Console(file=StringIO(), width=80)
    show_overview(out, answer)
    lines = out.file.getvalue().splitlines()
    of_two = ["Lost", "  u: RF 1; lost", "    Set b=3.", "    reassign", "  v: RF 1; lost", "    Set b=3."]
    of_safe = [f"  t{each}: RF 3; lost with 3 brokers. Set a={each} (now 0)" for each in range(6)]
    assert lines == ["2 topics.", "", *of_two, "Later", *of_safe, "  and 3 more groups"]


def test_a_topic_that_flushes_is_lost_with_what_loses_its_directories(described: str) -> None:
    """The cells in which a flushed topic loses power have kills beside them; the page and the screen have those cells, too."""
    found = neverlost.tolerance(
        {"acks": "all", "defects": "fixed", "eligible.leader.replicas": "true", "metadata.version": "4.3-IV0"},
        files={"describe": described},
        kafka_version="4.3",
        topics=["flushed"],
    )
    (rows,), (table,) = found.tolerance.values(), [each.table for each in found.subjects]
    entries = entries_of(rows, DESIGNED)
    assert entries.keys() == table.entries.keys()
    assert {spot: describe.answer_in(entries, spot)[0] for spot in entries} == {
        spot: describe.cell_answer(table, spot)[0] for spot in table.entries
    }
    assert Answers(entries).least_lost == [FaultBudget(2, 1), FaultBudget(3, 0)]


def test_bugs_of_the_release_stand_in_one_block(described: str) -> None:
    done = program("tolerance", "--describe", described, *GIVEN, "--topic", "orders", "--json", "-")
    answer = overview(json.loads(done.stdout))
    assert answer.headline[0].endswith("as designed: 1 is safe with one broker lost and one slow.")
    assert re.fullmatch(
        r"As released, with the \d known bugs of Kafka 4\.3 that apply here \(it has \d+\), which stand below: "
        r"0 are safe with one broker lost and one slow; "
        r"1 can lose a record with fewer brokers than as designed\.",
        answer.headline[1],
    )
    bugs = {each.name: " ".join(each.lines) for each in answer.bugs}
    assert "seen on real brokers: 5 of 5 on 3.9.2, 5 of 5 on 4.3.1" in bugs["returning-leader"]
    assert all(
        words in bugs["unregistered-fetch-skips-epoch"] for words in ("in 3.5 to 4.4", "not reported", "published tries")
    )
    assert answer.with_bugs == (
        "Because of them 1 topic can lose a record with 1 broker out and none that loses data: orders "
        "(--topic orders --show 0,1 shows how).",
    )


def test_what_a_defect_says_of_real_brokers_is_in_the_published_tries() -> None:
    for defect in DEFECTS:
        for each in defect.seen:
            document = json.loads((REPRODUCTIONS / each.case / "tries.json").read_text())
            tries = document.get("tries", [document])
            assert {one["kafka"] for one in tries} == {each.kafka}, each.case
            assert (sum(one["reproduced"] for one in tries), len(tries)) == (each.reproduced, each.tries), each.case
    tried = {each.case for defect in DEFECTS for each in defect.seen}
    assert {"late-record-4.3", "removed-replica-in-elr-4.3", "taken-out-directory-4.3"} <= tried


@pytest.mark.parametrize(
    ("name", "least"),
    [
        pytest.param("late-record-forgets-request", FaultBudget(0, 1), marks=pytest.mark.slow),
        ("unregistered-fetch-skips-epoch", FaultBudget(1, 0)),
        pytest.param("missing-directory-stays-eligible", FaultBudget(1, 2), marks=pytest.mark.slow),
        ("returning-leader", FaultBudget(2, 1)),
    ],
)
def test_what_a_bug_needs_by_itself_is_decided(name: str, least: FaultBudget) -> None:
    """With every other bug mended; the leader that returns adds nothing unless leaders move without a failure."""
    settings = {"kafka.version": "4.3", "min.insync.replicas": 2, "eligible.leader.replicas": "true", "defects": "shipped"}
    mended = {each.mechanism.key: "on" for each in DEFECTS if each.name != name and each.is_in("4.3")}
    found = neverlost.tolerance(settings | mended)
    (table,) = [each.table for each in found.subjects]
    assert Answers(table.entries).least_lost[0] == least and next(each for each in DEFECTS if each.name == name).needs


PAIRS = """\
Topic: pair\tPartitionCount: 1\tReplicationFactor: 2\tConfigs: min.insync.replicas=1,unclean.leader.election.enable=false
\tTopic: pair\tPartition: 0\tLeader: 1\tReplicas: 1,2\tIsr: 1,2
Topic: twin\tPartitionCount: 1\tReplicationFactor: 2\tConfigs: min.insync.replicas=1,unclean.leader.election.enable=false
\tTopic: twin\tPartition: 0\tLeader: 1\tReplicas: 1,2\tIsr: 1,2
Topic: unclean\tPartitionCount: 1\tReplicationFactor: 2\tConfigs: min.insync.replicas=1,unclean.leader.election.enable=true
\tTopic: unclean\tPartition: 0\tLeader: 1\tReplicas: 1,2\tIsr: 1,2
Topic: alone\tPartitionCount: 1\tReplicationFactor: 1\tConfigs: min.insync.replicas=1,unclean.leader.election.enable=false
\tTopic: alone\tPartition: 0\tLeader: 1\tReplicas: 1\tIsr: 1
"""


MORE = "Set replication.factor=3 (now {})"


def test_the_screen_and_its_gate_advise_the_same_and_quiet_prints_no_more(tmp_path: Path) -> None:
    """Each mends what the headline warns of, by the same change for each topic; and quiet prints fewer lines and characters."""
    (tmp_path / "topics.txt").write_text(PAIRS)
    asked = ("tolerance", "--describe", str(tmp_path / "topics.txt"), *GIVEN)
    screen, quiet, gate = (
        program(*asked, *more) for more in ((), ("--quiet",), ("--at-least", "data_loss=any:1 out=any:1 defects=fixed"))
    )
    advised = re.findall(r"^  (\S.*?): RF .*\n    (Set .*?)\. Gains", screen.stdout, re.M)
    mended = re.findall(r"^(\S.*?): (Set .*?) \(verified, as Kafka is designed\)\.$", gate.stdout, re.M)
    found = [{name: change for names, change in each for name in names.split(", ")} for each in (advised, mended)]
    assert found[0] == found[1] == {"alone": MORE.format(1), **dict.fromkeys(("pair", "twin", "unclean"), MORE.format(2))}
    assert len(quiet.stdout) < len(screen.stdout) and 0 < len(quiet.stdout.splitlines()) < len(screen.stdout.splitlines())
    assert all(each in quiet.stdout for each in ("4 topics, Kafka 4.3 (given)", "Lost with 1 broker: alone", "pair"))


def test_the_settings_of_a_group_say_in_how_many_other_topics_they_stand(tmp_path: Path) -> None:
    (tmp_path / "topics.txt").write_text(PAIRS)
    given = {"acks": "all", "metadata.version": "3.9-IV0"}
    found = neverlost.tolerance(given, kafka_version="3.9", files={"describe": tmp_path / "topics.txt"}).document
    where = {key: each["where"].rpartition("/")[2] for key, each in found["sources"]["pair, twin"].items()}
    assert where["replication.factor"] == "topics.txt line 2 and 1 other topic"
    assert where["min.insync.replicas"] == "topics.txt line 1 and 1 other topic"
    alone = {key: each["where"].rpartition("/")[2] for key, each in found["sources"]["alone"].items()}
    assert alone["min.insync.replicas"] == "topics.txt line 7" and "other" not in where["acks"]
