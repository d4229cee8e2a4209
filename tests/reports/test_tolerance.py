"""`neverlost tolerance`: the table, its sentences, its rows, and the gate."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

import neverlost
from neverlost.checker.engine.engines.memory import MemorySearch
from neverlost.checker.engine.outcome import EngineError, Verdict
from neverlost.checker.questions.tolerance.cell_words import LOST, OK, STOPS
from neverlost.checker.questions.tolerance.fault_budget import FaultBudget, fault_budgets
from neverlost.reports.questions.tolerance import api
from neverlost.reports.questions.tolerance import document as describe
from neverlost.reports.questions.tolerance.api import ToleranceSubject
from neverlost.reports.wording.sentences import say
from tests.support.program import neverlost as program

PAIR: dict[str, Any] = {
    "kafka.version": "3.9",
    "replication.factor": 2,
    "min.insync.replicas": 1,
    "bounds.records": 1,
    "defects": "fixed",
}


@pytest.fixture(scope="module")
def pair() -> neverlost.ToleranceResult:
    return neverlost.tolerance(PAIR, workers=1, again=True)


def test_spots_are_all_ways_to_share_out_the_replicas() -> None:
    assert fault_budgets(2) == [
        FaultBudget(0, 0),
        FaultBudget(0, 1),
        FaultBudget(0, 2),
        FaultBudget(1, 0),
        FaultBudget(1, 1),
        FaultBudget(2, 0),
    ]


def test_two_replicas_with_a_minimum_of_one(pair: neverlost.ToleranceResult) -> None:
    """With one broker out the other is alone in the ISR, and a record that only it has goes with its unflushed data."""
    (table,) = [each.table for each in pair.subjects]
    says = {spot: describe.cell_answer(table, spot)[0] for spot in table.entries}
    assert says[FaultBudget(0, 1)] == "ok" and says[FaultBudget(0, 2)] == "writes stop"
    assert says[FaultBudget(1, 1)] == says[FaultBudget(2, 0)] == "LOST"
    assert describe.sentences(table)[0].startswith("No acknowledged record is lost while no broker loses data")


def test_more_faults_never_look_safer(pair: neverlost.ToleranceResult) -> None:
    (table,) = [each.table for each in pair.subjects]
    order = [OK, STOPS, LOST]
    grade = {spot: order.index(describe.cell_answer(table, spot)[0]) for spot in table.entries}
    assert all(
        grade[one] <= grade[other] for one in grade for other in grade if one.losing <= other.losing and one.out <= other.out
    )


def test_every_decided_question_is_a_row(pair: neverlost.ToleranceResult) -> None:
    rows = pair.document["tolerance"]["configuration"]
    assert len(rows) == 6 * 3 and len({row["id"] for row in rows}) == len(rows)
    lost = next(row for row in rows if (row["losing"], row["out"], row["property"]) == (1, 1, "acked-never-lost"))
    assert (
        lost["verdict"] == "violated"
        and lost["faults"] == {"data_loss": "any:1", "out": "any:1"}
        and lost["source"] == "search"
    )
    assert len(pair.rows()) == len(rows)


def test_the_atlas_says_what_a_search_finds(pair: neverlost.ToleranceResult) -> None:
    looked_up = neverlost.tolerance(PAIR, workers=1)
    rows = [[{**row, "source": ""} for row in each.rows() if "kill" not in row["faults"]] for each in (pair, looked_up)]
    assert [row for row in rows[1] if "leader_move" not in row["faults"]] == rows[0]


def test_equal_topics_are_one_group_with_what_to_change(tmp_path: Path) -> None:
    """Thirty topics of two settings; one of a topic's partitions is under-replicated."""
    lines = []
    for number in range(30):
        factor, isr = (1, "1") if number % 2 else (2, "1" if number == 4 else "1,2")
        replicas = ",".join(str(each) for each in range(1, factor + 1))
        lines.append(f"Topic: t{number}\tPartitionCount: 1\tReplicationFactor: {factor}\tConfigs: min.insync.replicas=1")
        lines.append(f"\tTopic: t{number}\tPartition: 0\tLeader: 1\tReplicas: {replicas}\tIsr: {isr}")
    described = tmp_path / "topics.txt"
    described.write_text("\n".join(lines) + "\n")
    done = program("tolerance", "--describe", str(described), "--kafka-version", "3.9", "--set", "metadata.version=3.9-IV0")
    assert done.returncode == 0, done.stderr
    shown = done.stdout.splitlines()
    assert shown[0] == (
        "30 topics, Kafka 3.9 (given), acks=all (assumed), as designed: "
        "1 loses records when one broker is slow, cut off or stopped (as it stands now); "
        "16 lose records when one disk dies (1 of them counted before; 15 always, t4 as it stands now); "
        "30 lose records when one broker loses data and another is slow "
        "(16 of them counted before; 29 always, t4 as it stands now); "
        "1 has partitions that are offline, refuse writes or hang by their last replica now."
    )
    found = neverlost.tolerance({"metadata.version": "3.9-IV0"}, files={"describe": described}, kafka_version="3.9")
    assert repr(found) == f"<ToleranceResult VIOLATED: {shown[0]}>", "not what the first of many topics survives"
    levels = [each for each in shown if each and not each.startswith(" ")]
    assert levels[2:5] == ["Now", "Lost with 1 broker", "Lost with 2 brokers"]
    stored = "what is stored is lost with 1 broker out and none that loses data"
    assert f"  t4-0 (in sync on broker 1 alone): accepts writes on its last replica; {stored}" in shown
    assert any(each.startswith("  t1, t3, t5, t7 and 11 more: RF 1, min ISR 1") for each in shown)
    assert any(
        each.startswith("    Set replication.factor=3 (now 1). Gains: by design no record is lost with 1 broker")
        for each in shown
    )
    assert not re.search(r"\d+ steps", done.stdout) and len(shown) <= 40


def test_groups_that_are_looked_up_come_first_and_the_worst_of_them_first(tmp_path: Path) -> None:
    kinds = (("flush.messages=1", 1), ("min.insync.replicas=2", 2), ("min.insync.replicas=1", 2))
    text = "".join(
        f"Topic: t{number}\tPartitionCount: 1\tReplicationFactor: {factor}\tConfigs: {configs}\n"
        f"\tTopic: t{number}\tPartition: 0\tLeader: 1\tReplicas: {'1,2'[: 2 * factor - 1]}\tIsr: {'1,2'[: 2 * factor - 1]}\n"
        for number, (configs, factor) in enumerate(kinds)
    )
    described = tmp_path / "topics.txt"
    described.write_text(text)
    seen: list[tuple[str, int, int]] = []

    def decided(group: Sequence[ToleranceSubject], of: int) -> None:
        lost = max(describe.count_losses(each.table) for each in group)
        seen.append((",".join(group[0].chosen.subjects), of, lost))

    found = neverlost.tolerance(
        {"metadata.version": "3.9-IV0"}, files={"describe": described}, kafka_version="3.9", workers=1, decided=decided
    )
    assert sorted(name for name, _, _ in seen) == ["t0", "t1", "t2"] and {of for _, of, _ in seen} == {3}
    assert [lost for _, _, lost in seen] == sorted((lost for _, _, lost in seen), reverse=True)
    assert set(found.document["tolerance"]) == {"t0", "t1", "t2"} and found.document["advice"]["t1"]["commands"]


OUTSIDE_THE_ISR = ("1,2,3", "1,2", "min.insync.replicas=2")
LARGE = ("1,2,3,4,5", "1,2,3,4,5", "min.insync.replicas=2,unclean.leader.election.enable=true")


@pytest.mark.parametrize(("groups", "first"), [(1, OUTSIDE_THE_ISR), (5, OUTSIDE_THE_ISR), (5, LARGE)])
def test_many_topics_share_the_states_of_those_that_take_long(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, groups: int, first: tuple[str, str, str]
) -> None:
    """One topic of RF 5 with a replica outside the ISR, or with unclean elections, has hundreds of millions of states; the
    screen ends all the same."""
    monkeypatch.setattr(api, "STATES_OF_DANGER", 100)
    others = (
        "min.insync.replicas=2",
        "min.insync.replicas=1",
        "min.insync.replicas=3",
        "min.insync.replicas=2,flush.messages=1",
    )
    kinds = [first, *(("1,2,3", "1,2,3", each) for each in others)]
    text = "".join(
        f"Topic: t{number}\tPartitionCount: 1\tReplicationFactor: {replicas.count(',') + 1}\tConfigs: {configs}\n"
        f"\tTopic: t{number}\tPartition: 0\tLeader: 1\tReplicas: {replicas}\tIsr: {isr}\n"
        for number, (replicas, isr, configs) in enumerate(kinds[:groups])
    )
    (tmp_path / "topics.txt").write_text(text)
    settings = {"metadata.version": "3.9-IV0", "defects": "fixed"}
    found = neverlost.tolerance(settings, files={"describe": tmp_path / "topics.txt"}, kafka_version="3.9", workers=1)
    verdicts = {name: {row["verdict"] for row in rows} for name, rows in found.document["tolerance"].items()}
    assert ("inconclusive" in verdicts.pop("t0")) == (groups > 1)
    assert all("inconclusive" not in each for each in verdicts.values())


def test_two_answers_about_the_same_topics_stand_apart(tmp_path: Path) -> None:
    described = tmp_path / "topics.txt"
    described.write_text(
        "Topic: t\tPartitionCount: 1\tReplicationFactor: 2\tConfigs: min.insync.replicas=2\n"
        "\tTopic: t\tPartition: 0\tLeader: 1\tReplicas: 1,2\tIsr: 1,2\n"
    )
    asked = {"files": {"describe": described}, "kafka_version": "4.1", "workers": 1}
    found = neverlost.tolerance({"metadata.version": "4.1-IV1"}, **asked, out=tmp_path / "out")
    labels = {f"t (eligible.leader.replicas={each})" for each in ("true", "false")}
    for part in ("tolerance", "topics", "sources", "notices"):
        assert set(found.document[part]) == labels, part
    for part in ("says", "settings", "smallest"):
        assert set(found.document[part]) == {f"{each} {how}" for each in labels for how in ("as designed", "as shipped")}, part
    for label, rows in found.document["tolerance"].items():
        config = found.document["settings"][f"{label} as shipped"]["config"]
        assert label == f"t (eligible.leader.replicas={str(config['eligible.leader.replicas']).lower()})"
        assert len({each["id"] for each in rows}) == len(rows)
    page = (tmp_path / "out" / "report.html").read_text()
    assert all(f"<h2>{each}</h2>" in page for each in labels)


def test_a_lost_cell_of_the_page_says_in_how_many_steps_and_how_to_see_them(tmp_path: Path) -> None:
    keys = {"kafka.version": "3.9", "replication.factor": 2, "min.insync.replicas": 1, "acks": "all", "defects": "fixed"}
    neverlost.tolerance(keys, out=tmp_path)
    page = (tmp_path / "report.html").read_text()
    opened = re.findall(r"LOST</summary>(\d+) steps; the same command with --show (\d),(\d) prints them", page)
    assert len(opened) == page.count(">LOST</summary>") >= 2
    for steps, losing, out in opened:
        limits = {"faults.data_loss": losing, "faults.out": out}
        faults = {key: f"any:{limit}" for key, limit in limits.items() if limit != "0"}
        names = ["acked-never-lost", "committed-never-lost"]
        found = [neverlost.check({**keys, "bounds.records": 1, **faults}, properties=[each], workers=1) for each in names]
        assert min(len(each.trace.steps) for each in found if each.trace is not None) == int(steps)


def asked(*more: str) -> list[str]:
    return ["tolerance", *[part for key, value in PAIR.items() for part in ("--set", f"{key}={value}")], *more]


def test_the_gate(tmp_path: Path) -> None:
    out = tmp_path / "evidence"
    assert program(*asked("--at-least", "data_loss=any:1 out=any", "--quiet", "--out", str(out))).returncode == 12
    assert {"results.sarif", "junit.xml", "report.html", "question.json"} <= {each.name for each in out.iterdir()}
    assert program(*asked("--at-least", "out=any")).returncode == 0


def test_the_gate_speaks_in_its_own_words(tmp_path: Path) -> None:
    """What was allowed at once, what only one of the topics has, and why another version is advised."""
    text = "".join(
        f"Topic: t{least}\tPartitionCount: 1\tReplicationFactor: 2\tConfigs: min.insync.replicas={least}\n"
        f"\tTopic: t{least}\tPartition: 0\tLeader: 1\tReplicas: 1,2\tIsr: 1,2\n"
        for least in (2, 1)
    )
    (tmp_path / "topics.txt").write_text(text)
    gate = ("tolerance", "--describe", str(tmp_path / "topics.txt"), "--kafka-version", "3.9", "--at-least", "out=any:1")
    both, one = (program(*gate, "--set", "acks=all", *more) for more in ((), ("--topic", "t1")))
    assert (both.returncode, one.returncode) == (12, 12) and not both.stderr
    words = " ".join(both.stdout.split())
    assert "after 2 outages of brokers, never more than 1 outage of a broker at once (" in one.stdout
    assert "some min ISR 2" in words and "some min ISR 1" in words and "other setting" not in words
    assert "Upgrade to Kafka 4.4 (the newest here; eligible.leader.replicas is there from 4.1), then set" in words


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (("--at-least", "at_once=1"), "--at-least 'at_once=1' names no kind of fault: add one, such as data_loss=any"),
        (("--at-least", "data_loss"), "bad value 'data_loss' for --at-least: write limits of faults, such as"),
        (("--set", "faults.crash=1"), "faults.crash is set: tolerance varies the faults itself; allow others with --also"),
        (("--with", "kil"), "unknown key 'faults.kil' in --with"),
        (("--also", "out=any"), "faults.out in --set: the table varies it; name another fault"),
        (("--show", "a,b"), "bad value 'a,b' for --show: write how many lose data and how many others are out, such as 1,2"),
    ],
)
def test_bad_input_is_one_line_and_64(more: tuple[str, ...], message: str) -> None:
    done = program(*asked(*more))
    assert done.returncode == 64 and done.stderr.startswith(f"neverlost: {message}") and done.stderr.count("\n") == 1


def test_a_table_at_a_terminal_and_as_json() -> None:
    done = program(*asked("--show", "1,1"))
    assert done.returncode == 0 and "x other brokers slow, cut off or stopped (across)" in done.stdout
    assert "acknowledged record m1 is lost" in done.stdout
    assert all(len(each) <= 128 or "kafka-" in each for each in done.stdout.splitlines())
    document = json.loads(program(*asked("--json", "-")).stdout)
    assert document["schema"] == "neverlost.tolerance/1" and set(document["tolerance"]) == {"configuration"}


def test_check_without_faults_answers_the_same() -> None:
    given = [part for key, value in PAIR.items() for part in ("--set", f"{key}={value}")]
    shown, found = program(*asked()), program("check", *given)
    assert (found.returncode, found.stdout) == (0, shown.stdout)
    assert program("check", *given, "--set", "faults.crash=0").stdout != shown.stdout


OF_THREE = ("--set", "kafka.version=3.9", "--set", "min.insync.replicas=2", "--set", "bounds.records=1")


@pytest.mark.parametrize("command", ["tolerance", "check"])
def test_a_table_of_writes_speaks_of_writes(command: str) -> None:
    """With three replicas and a minimum of two, writes stop once two are impaired; of records nothing was asked."""
    done = program(command, *OF_THREE, "--set", "defects=fixed", "--property", "stays-writable")
    assert done.returncode == 0 and "record is lost" not in done.stdout and "LOST" not in done.stdout
    assert "  writes go on  " in done.stdout and "  ok  " not in done.stdout
    says = [each.strip() for each in done.stdout.splitlines() if each.startswith("  Writes ") and "if " not in each]
    assert says == [
        "Writes do not stop with 1 broker out and none that loses data.",
        "Writes do not stop with 1 broker that loses data.",
        "Writes stop with 2 brokers out and none that loses data.",
        "Writes stop with 1 broker that loses data and 1 other out.",
        "Writes stop with 2 brokers that lose data together.",
    ]


def test_a_table_of_any_property_speaks_of_it_by_its_name_and_words(tmp_path: Path) -> None:
    """On the screen, on the page, in Markdown and in JSON; and what is sealed is what was asked."""
    given = [part for key, value in PAIR.items() for part in ("--set", f"{key}={value}")]
    done = program("tolerance", *given, "--property", "single-leader-per-epoch", "--out", str(tmp_path))
    holds = "single-leader-per-epoch holds while at most 2 brokers at a time lose data, however often and however many others"
    assert done.returncode == 0 and "LOST" not in done.stdout and "record is lost" not in done.stdout
    assert (
        "single-leader-per-epoch: brokers in one leader epoch have one leader, "
        "which believes that it leads as long as it is in that epoch itself" in done.stdout.splitlines()
    )
    for name in ("report.md", "report.html", "result.json"):
        text = (tmp_path / name).read_text()
        assert holds in text and "record is lost" not in text and "LOST" not in text, name
    assert program("verify", str(tmp_path)).returncode == 0


@pytest.mark.parametrize(
    ("more", "name", "sentence", "status"),
    [
        ({"min.insync.replicas": 2}, "isr-at-least-minimum", "isr-at-least-minimum can be violated with 1 broker out", 0),
        (
            {"min.insync.replicas": 1, "acks": "min.insync.replicas", "election.policy": "longest-log"},
            "acked-visible",
            "acked-visible can be violated with no fault.",
            12,
        ),
    ],
)
def test_what_is_not_a_loss_is_not_called_one(more: dict[str, Any], name: str, sentence: str, status: int) -> None:
    """An ISR below the minimum, or a record that is not visible yet: nothing is lost.  The status is that of no fault."""
    given = [part for key, value in (PAIR | more).items() for part in ("--set", f"{key}={value}")]
    done = program("check", *given, "--property", name)
    assert done.returncode == status and "LOST" not in done.stdout and "can be lost" not in done.stdout
    lines = done.stdout.splitlines()
    said = next(place for place, each in enumerate(lines) if each.startswith(f"  {sentence}"))
    assert "As designed:" in lines[:said]


def test_a_sentence_that_no_verdict_bears_out_cannot_be_made(pair: neverlost.ToleranceResult) -> None:
    (table,) = [each.table for each in pair.subjects]
    bad = dict.fromkeys(table.entries, Verdict.VIOLATED)
    with pytest.raises(EngineError, match="no verdict bears out"):
        say("safe whatever else", ["acked-never-lost"], Verdict.HOLDS, bad, [FaultBudget(0, 0)])


def test_records_alone_are_never_ok_where_all_members_are_stopped() -> None:
    """Nothing is lost where nothing runs; `ok` is said only where writes were asked about, and go on."""
    (subject,) = neverlost.tolerance({"model": "majority", "replication.factor": 3}, properties=["acked-never-lost"]).subjects
    table = subject.table
    assert describe.cell_answer(table, FaultBudget(0, 3)) == ("not lost", None)


ENOUGH = "Brokers that are slow, cut off or stopped are enough to lose a record: no disk has to fail."


def test_sentences_speak_of_the_records_that_were_asked_about() -> None:
    """With acks=1 an acknowledged record is lost where no committed one is."""
    given = PAIR | {"acks": "1"}
    acked, committed = (neverlost.tolerance(given, properties=[f"{each}-never-lost"]) for each in ("acked", "committed"))
    assert describe.sentences(acked.subjects[0].table)[0] == ENOUGH
    assert describe.sentences(committed.subjects[0].table)[0].startswith(
        "No committed record is lost while no broker loses data"
    )


@pytest.mark.parametrize("command", ["check", "tolerance", "nines", "prove"])
def test_a_loss_without_any_fault_is_a_violation(command: str) -> None:
    asked_for = ("--property", "acked-never-lost") if command != "nines" else ()
    given = ("--set", "kafka.version=3.9", "--set", "acks=0", "--set", "bounds.records=1", *asked_for, "--quiet")
    assert program(command, *given).returncode == 12


def test_commands_that_list_results_keep_0_for_a_certain_loss(tmp_path: Path) -> None:
    (tmp_path / "matrix.toml").write_text('kafka.version = "3.9"\nacks = ["0"]\nproperties = ["acked-never-lost"]\n')
    assert program("sweep", str(tmp_path / "matrix.toml"), "--quiet").returncode == 0


def test_what_is_looked_up_needs_no_search() -> None:
    """So that the answer is there in under a second: `/usr/bin/time -f %U neverlost tolerance --set kafka.version=4.3`."""
    code = (
        "import sys; from neverlost import tolerance\n"
        "found = tolerance({'kafka.version': '4.3', 'min.insync.replicas': 2})\n"
        "print({row['source'] for rows in found.tolerance.values() for row in rows})\n"
        "print([name for name in ('numpy', 'pandas', 'pyarrow', 'llvmlite', 'z3', 'networkx') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout.splitlines() == ["{'atlas'}", "[]"]


def test_the_program_imports_what_a_looked_up_answer_needs() -> None:
    command = [
        "-X",
        "importtime",
        "-m",
        "neverlost",
        "tolerance",
        "--set",
        "kafka.version=4.3",
        "--set",
        "min.insync.replicas=2",
    ]
    done = subprocess.run([sys.executable, *command], capture_output=True, text=True, check=True, timeout=60)
    imported = {each.rpartition("|")[2].strip() for each in done.stderr.splitlines()}
    needless = {"pydantic", "numpy", "multiprocessing", "neverlost.reports.page.tables"}
    needless |= {"neverlost.checker.engine.engines.explore", "neverlost.reports.questions.tolerance.overview"}
    assert "neverlost.checker.questions.atlas.lookup" in imported and imported.isdisjoint(needless)


def test_a_cluster_that_does_not_say_its_metadata_version_is_looked_up(tmp_path: Path) -> None:
    """Both answers: of clusters formatted at the newest, and of those that were upgraded and never raised it."""
    described = tmp_path / "topics.txt"
    head, row = (
        "Topic: t\tPartitionCount: 1\tReplicationFactor: 3\tConfigs: min.insync.replicas=2\n",
        "Leader: 1\tReplicas: 1,2,3",
    )
    described.write_text(f"{head}\tTopic: t\tPartition: 0\t{row}\tIsr: 1,2,3\n")
    found = neverlost.tolerance(files={"describe": described}, kafka_version="3.9")
    assert len(found.subjects) == 4 and {row["source"] for rows in found.tolerance.values() for row in rows} == {"atlas"}


@pytest.mark.parametrize("min_isr", [1, 2, 3, 4, 5])
def test_five_replicas_as_designed_are_looked_up(min_isr: int) -> None:
    """A record is lost where all are impaired and min.insync.replicas of them lose data; writes stop where fewer are left."""
    given = {"kafka.version": "4.3", "replication.factor": 5, "min.insync.replicas": min_isr, "defects": "fixed"}
    given |= {"eligible.leader.replicas": "true"}
    found = neverlost.tolerance(given)
    (designed,) = [each.table for each in found.subjects]
    assert found.verdict == "violated" and {each["source"] for rows in found.tolerance.values() for each in rows} == {"atlas"}
    for spot in designed.entries:
        impaired = spot.losing + spot.out
        safe = "ok" if 5 - impaired >= min_isr else "writes stop"
        assert describe.cell_answer(designed, spot)[0] == ("LOST" if impaired == 5 and spot.losing >= min_isr else safe), spot
    assert not any("Not decided" in each or each.endswith((": .", " .")) for each in describe.sentences(designed))


def test_as_designed_and_as_shipped() -> None:
    """The leader that returns (not reported) loses a record of two replicas without any data loss; as designed nothing does."""
    found = neverlost.tolerance({key: value for key, value in PAIR.items() if key != "defects"}, workers=1)
    (designed, shipped), chosen = (each.table for each in found.subjects), found.subjects[0].chosen
    assert (
        describe.cell_answer(designed, FaultBudget(0, 1))[0] == "ok"
        and describe.cell_answer(shipped, FaultBudget(0, 1))[0] == "LOST"
    )
    assert "returning-leader" in [each.name for each in describe.defects_that_matter(shipped, chosen)]
    assert describe.defects_that_matter(designed, chosen) == []


def test_the_smallest_losses() -> None:
    document = neverlost.tolerance(PAIR, workers=1).document
    smallest = document["smallest"]["configuration as designed"]
    plain = [each for each in smallest if not {"kill", "leader_move"} & each.keys()]
    assert [(each["data_loss"], each["out"], each["is_smallest"]) for each in plain] == [(1, 1, True), (2, 0, True)]


@pytest.mark.slow
@pytest.mark.parametrize(("version", "at_1_2"), [("3.9", "LOST"), ("4.3", "writes stop")])
def test_eligible_leader_replicas_make_the_difference(version: str, at_1_2: str) -> None:
    """Three replicas, a minimum of two: one broker loses data while two others are out."""
    given = PAIR | {"kafka.version": version, "replication.factor": 3, "min.insync.replicas": 2}
    given |= {"eligible.leader.replicas": "true"} if version == "4.3" else {}
    (table,) = [each.table for each in neverlost.tolerance(given).subjects]
    assert describe.cell_answer(table, FaultBudget(1, 2))[0] == at_1_2
    assert describe.cell_answer(table, FaultBudget(2, 1))[0] == "LOST"


def test_a_majority_loses_nothing_to_stops_and_something_to_one_lost_log() -> None:
    """Raft assumes that what a member has stored and voted for is never forgotten; flushed, a stop costs nothing."""
    found = neverlost.tolerance({"model": "majority", "replication.factor": 3})
    (table,) = [each.table for each in found.subjects]
    says = {(each.losing, each.out): describe.cell_answer(table, each)[0] for each in table.entries}
    assert {spot: says[spot] for spot in says if not spot[0]} == {
        (0, 0): "ok",
        (0, 1): "ok",
        (0, 2): "writes stop",
        (0, 3): "writes stop",
    }
    assert {says[spot] for spot in says if spot[0]} == {"LOST"}
    assert "however many others are slow or stopped." in describe.sentences(table)[0]
    assert {row["faults"]["crash"] for row in found.rows() if row["out"]} == {"any"}
    assert [row["at_once"] for row in found.rows() if (row["losing"], row["out"]) == (1, 1)] == [2, 2, 2]


def test_a_majority_says_that_it_is_not_kafka() -> None:
    done = program("tolerance", "--set", "model=majority", "--set", "replication.factor=3")
    assert done.stdout.splitlines()[0] == "this configuration: a majority quorum, not Kafka, RF 3, acks=all"
    assert [row.split("  ")[-1] for row in done.stdout.splitlines() if row.startswith("0 ")] == ["writes stop"]


def test_a_table_for_one_record_warns_where_logs_may_diverge() -> None:
    """Before 3.0 as shipped two records lose what one does not (decision 056)."""
    warned = {
        (version, records): [each.says for one in found.subjects for each in one.chosen.notices if "one record" in each.says]
        for version in ("2.8", "3.9")
        for records in ("1", "2")
        if (found := neverlost.tolerance({"kafka.version": version, "replication.factor": "1", "bounds.records": records}))
    }
    assert {key for key, said in warned.items() if said} == {("2.8", "1")}


def test_an_interrupt_ends_every_search(monkeypatch: pytest.MonkeyPatch) -> None:
    """As shipped, as designed and with kills there are several tables; one interrupt is enough for all of them."""
    begun: list[MemorySearch] = []

    def interrupted(search: MemorySearch) -> bool:
        begun.append(search)
        raise KeyboardInterrupt

    monkeypatch.setattr(MemorySearch, "_level", interrupted)
    found = neverlost.tolerance({"kafka.version": "4.0", "min.insync.replicas": "2"}, workers=1, again=True)
    assert len(begun) == 1 and len(found.subjects) == 2 and found.verdict == "inconclusive"
