"""What an operator met who knew the README alone: counts that add up, sources that are right, one statement of one fact."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import neverlost
from neverlost.checker.questions.tolerance.cell_words import LOST, SAFE, UNDECIDED
from neverlost.checker.questions.tolerance.fault_budget import FaultBudget
from neverlost.reports.documents.topic_groups import list_topics
from neverlost.reports.output import exit_status
from neverlost.reports.page.render import cite
from neverlost.reports.questions.explain.glossary import find_word
from neverlost.reports.questions.roll.document import WITHOUT_STOP
from neverlost.reports.questions.roll.document import lines as roll_lines
from neverlost.reports.questions.tolerance.overview import Answers, entries_of, overview
from neverlost.specs.configuration.choose import read_given
from neverlost.specs.defects import DEFECTS
from tests.support.program import neverlost as program

LEVELS = (("eligible.leader.replicas.version", 0, 1, 1), ("metadata.version", "3.3-IV3", "4.1-IV1", "4.1-IV1"))
FEATURES = "".join(
    f"Feature: {name}\tSupportedMinVersion: {least}\tSupportedMaxVersion: {most}\tFinalizedVersionLevel: {level}\tEpoch: 9\n"
    for name, least, most, level in LEVELS
)
ID, MINIMUM = "A" * 22, "min.insync.replicas=2"
CLUSTER = (
    ("orders", 3, MINIMUM, ("Leader: 1\tReplicas: 1,2,3\tIsr: 1,2,3",)),
    ("metrics", 1, "", ("Leader: 2\tReplicas: 2\tIsr: 2",)),
    ("pairs", 2, "", ("Leader: 1\tReplicas: 1,2\tIsr: 1,2",)),
    (
        "commands",
        3,
        MINIMUM,
        ("Leader: 1\tReplicas: 1,2,3\tIsr: 1,2,3", "Leader: 3\tReplicas: 3,4,5\tIsr: 3"),
    ),
    ("accounts", 3, MINIMUM, ("Leader: 5\tReplicas: 5,6,1\tIsr: 5\tElr: 6\tLastKnownElr: ",)),
)
"""Topics with their replication factor and partitions: one of RF 1, one of two replicas of which one suffices, and one with a
partition on its last replica; the ELR of another keeps what its last member of the ISR loses."""

ALWAYS_BY_DISK, NOW_BY_DISK, ALWAYS_BY_PAIR = {"metrics"}, {"commands"}, {"metrics", "pairs"}


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[str]]:
    place = tmp_path_factory.mktemp("operator")
    said = []
    for name, factor, configs, partitions in CLUSTER:
        said.append(
            f"Topic: {name}\tTopicId: {ID}\tPartitionCount: {len(partitions)}\tReplicationFactor: {factor}\tConfigs: {configs}"
        )
        said += [f"\tTopic: {name}\tPartition: {number}\t{each}" for number, each in enumerate(partitions)]
    (place / "topics.txt").write_text("\n".join(said) + "\n")
    (place / "features.txt").write_text(FEATURES)
    return {"describe": [str(place / "topics.txt"), str(place / "features.txt")]}


GIVEN = {"acks": "all"}


@pytest.fixture(scope="module")
def answer(files: dict[str, list[str]]) -> neverlost.ToleranceResult:
    return neverlost.tolerance(GIVEN, kafka_version="4.1", files=files)


def test_the_counts_of_the_headline_add_up_to_the_topics(answer: neverlost.ToleranceResult) -> None:
    """The figures are those of the cluster as it was written down above, and the groups below name the same topics."""
    first = overview(answer.document).headline[0]
    disk, (now,) = ALWAYS_BY_DISK | NOW_BY_DISK, NOW_BY_DISK
    assert f"{len(disk)} lose records when one disk dies (1 always, {now} as it stands now); " in first
    pair = ALWAYS_BY_PAIR | NOW_BY_DISK
    both = "lose records when one broker loses data and another is slow"
    assert f"{len(pair)} {both} ({len(disk)} of them counted before; 2 always, {now} as it stands now); " in first
    assert f"{len(CLUSTER) - len(pair)} are safe with one broker lost and one slow; 2 have partitions that" in first
    said = [each for level in overview(answer.document).levels for each in level.groups]
    lost = {name for each in said if "lost with 1 broker that loses data" in each.says for name in each.topics}
    assert {re.split(r"-\d| \(", name)[0] for name in lost if "data and" not in name} >= disk - {"pairs"}


def test_the_gate_names_the_topics_that_the_headline_counts(files: dict[str, list[str]]) -> None:
    limits = {"faults.data_loss": "any:1", "faults.out": "any:1", "defects": "fixed", "bounds.records": "1"}
    found = neverlost.check({**GIVEN, **limits}, kafka_version="4.1", properties=["acked-never-lost"], advise=False, **files)
    violated = {name.partition(" (")[0] for each in found.configurations if each.verdict == "violated" for name in each.topics}
    assert violated == ALWAYS_BY_PAIR | NOW_BY_DISK


def test_a_partition_that_a_short_search_decides_is_decided_among_many(answer: neverlost.ToleranceResult) -> None:
    """One broker in the ISR and one in the ELR: both have to lose their data."""
    says = Answers(entries_of(answer.tolerance["accounts"], "as designed")).says
    assert UNDECIDED not in says.values() and says[FaultBudget(2, 0)] == LOST
    assert all(says[spot] in SAFE for spot in (FaultBudget(1, 0), FaultBudget(1, 1)))
    now = next(each for each in overview(answer.document).levels if each.title == "Now")
    assert "lost with 2 brokers that lose data together (accounts-0)" in now.groups[0].says


def test_settings_are_cited_where_the_topics_that_were_asked_about_have_them(files: dict[str, list[str]]) -> None:
    found = neverlost.tolerance(GIVEN | {"defects": "fixed"}, kafka_version="4.1", files=files, topics=["commands"])
    lines = Path(files["describe"][0]).read_text().splitlines()
    header = next(number for number, each in enumerate(lines, 1) if each.startswith("Topic: commands"))
    where = {key: one["where"] for key, one in found.document["sources"]["commands (partition 0)"].items()}
    topics, features = files["describe"]
    assert where["min.insync.replicas"] == f"{topics} line {header}"
    assert where["replication.factor"] == f"{topics} line {header + 1}"
    assert where["eligible.leader.replicas"] == f"{features} line 1", "a partition that lists an ELR is no setting"


def test_a_topic_in_two_parts_counts_once() -> None:
    topics = ["a", "b (partitions 0-1)", "c", "b (partition 2)", "d"]
    assert list_topics(topics, 2) == "a, b (partitions 0-1) and 2 more"


def test_the_known_bugs_are_one_statement(answer: neverlost.ToleranceResult) -> None:
    found = overview(answer.document)
    apply, every = map(int, re.findall(r"(?:the|has) (\d+)", found.headline[1]))
    assert apply == len(found.bugs) and every == sum(each.is_in("4.1") for each in DEFECTS) >= apply


def test_a_gain_that_is_decided_as_designed_says_so(answer: neverlost.ToleranceResult) -> None:
    gains = [each["gains"] for each in answer.document["advice"].values()]
    assert gains and all(each.startswith("by design no record is lost") for each in gains)


@pytest.mark.slow
def test_no_cell_is_open_beside_cells_that_lose_more_easily() -> None:
    """Four replicas as shipped: a search of a second or two finds how one broker that loses data is enough."""
    found = neverlost.tolerance({"kafka.version": "3.9", "replication.factor": 4, "min.insync.replicas": 2, "acks": "all"})
    (rows,) = found.tolerance.values()
    says = Answers(entries_of(rows, "as shipped")).says
    assert UNDECIDED not in says.values() and says[FaultBudget(1, 0)] == LOST
    (row,) = [each for each in found.subjects[1].table.entries[FaultBudget(1, 0)] if each.property.name == "acked-never-lost"]
    assert row.trace is not None, "it is no verdict without a behaviour"


def test_a_key_with_its_table_is_the_key_without(tmp_path: Path) -> None:
    """As TOML files write them; a key of another table is none."""
    with_tables = {"topic.replication.factor": "2", "cluster.eligible.leader.replicas": "true", "producer.acks": "all"}
    texts = [f"{key}={value}" for key, value in with_tables.items()]
    without = {key.partition(".")[2]: value for key, value in with_tables.items()}
    assert {key: value for key, (value, _) in read_given(None, texts).items()} == without
    assert {key: value for key, (value, _) in read_given(None, with_tables).items()} == without
    assert program("tolerance", "--set", "producer.replication.factor=3").returncode == 64


def test_a_citation_says_that_the_checkout_had_changes() -> None:
    found = neverlost.check({"kafka.version": "3.9", "eligible.leader.replicas": "false"}, properties=["acked-never-lost"])
    about = {**found.document, "commit": "0123456789abcdef" * 2 + "01234567-dirty"}
    said = cite(about, about["properties"][0], about)
    assert "(commit 0123456789ab, with changes not committed)" in said and "dirty" not in said


def test_the_sentence_to_cite_is_on_the_screen(tmp_path: Path) -> None:
    out = tmp_path / "evidence"
    done = program(
        "check",
        "--set",
        "kafka.version=3.9",
        "--set",
        "faults.lossy_crash=1",
        "--property",
        "acked-never-lost",
        "--out",
        str(out),
    )
    (line,) = [each for each in done.stdout.splitlines() if each.startswith("to cite: ")]
    assert line.removeprefix("to cite: ") in (out / "report.md").read_text().replace("\\", "")


MOVED = "Leader: 1\tReplicas: 1,2,3,4\tIsr: 1,2,3\tAdding Replicas: 4\tRemoving Replicas: 3"


EARLY = "; a preferred election before that can lose a record"


def test_a_roll_marks_what_bugs_do_and_says_when_to_go_on(files: dict[str, list[str]], tmp_path: Path) -> None:
    """As designed the stop of a last replica loses nothing; each order says what to wait for."""
    (tmp_path / "topics.txt").write_text(
        f"Topic: commands\tTopicId: {ID}\tPartitionCount: 1\tReplicationFactor: 3\tConfigs: {MINIMUM}\n"
        "\tTopic: commands\tPartition: 0\tLeader: 3\tReplicas: 3,4,5\tIsr: 3\n"
    )
    given = [str(tmp_path / "topics.txt"), files["describe"][1]]
    released, designed = (
        neverlost.roll(GIVEN | more, files={"describe": given}, kafka_version="4.1") for more in ({}, {"defects": "fixed"})
    )
    said = list(roll_lines(released.document))
    lost = [each for each in designed.brokers["3"]["now"] if each.startswith(LOST)]
    assert not lost and released.document["by_bugs"] == ["commands-0"]
    bug = "a preferred election can lose an acknowledged record with or without this stop (by known bugs of this release"
    assert any(bug in each for each in said) and not any(WITHOUT_STOP[LOST] in each for each in roll_lines(designed.document))
    assert any(each.startswith("Once all of that is done") and each.endswith("replicas are in the ISR again.") for each in said)
    assert designed.document["by_bugs"] == []
    first = [found.document["first"][0]["do"] for found in (released, designed)]
    assert first == [f"wait until 4 and 5 are in the ISR again{early}" for early in (EARLY, "")]


def test_a_reassignment_is_in_the_advice(files: dict[str, list[str]], tmp_path: Path) -> None:
    """Where its state is not decided the table says what holds once it is done."""
    (tmp_path / "topics.txt").write_text(
        f"Topic: moved\tTopicId: {ID}\tPartitionCount: 1\tReplicationFactor: 3\tConfigs: {MINIMUM}\n"
        f"\tTopic: moved\tPartition: 0\t{MOVED}\n"
    )
    given = {"describe": [str(tmp_path / "topics.txt"), files["describe"][1]]}
    found = neverlost.tolerance(GIVEN | {"defects": "fixed"}, kafka_version="4.1", files=given)
    (advice,) = found.document["advice"].values()
    assert advice["says"].startswith("First let the reassignment finish. Gains: by design no record is lost")
    assert "kafka-reassign-partitions.sh" in advice["commands"][0]["line"]
    done = (tmp_path / "done.txt").write_text(
        (tmp_path / "topics.txt").read_text().replace("1,2,3,4\tIsr: 1,2,3", "1,2,4\tIsr: 1,2,4").partition("\tAdding")[0]
        + "\n"
    )
    assert done
    settled = {"describe": [str(tmp_path / "done.txt"), files["describe"][1]]}
    after = neverlost.tolerance(GIVEN | {"defects": "fixed"}, kafka_version="4.1", files=settled).tables[0]
    says = Answers(after.entries).says
    assert all(says[each] in SAFE for each in (FaultBudget(0, 1), FaultBudget(1, 0), FaultBudget(1, 1)))


def test_the_words_for_verdicts_have_the_exit_statuses_of_the_program() -> None:
    status = {name: dict(find_word(name).more)["exit status"] for name in ("holds", "violated", "inconclusive")}
    assert status["holds"] == str(exit_status.HOLDS) and status["inconclusive"] == str(exit_status.INCONCLUSIVE)
    assert re.findall(r"\d+", status["violated"]) == [str(exit_status.VIOLATED), str(exit_status.UNAVAILABLE)]
