"""Many topics on one screen: groups with the same answer, the worst first, and changes that were decided."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import neverlost
from neverlost.checker.engine.engines.explore import explore
from neverlost.checker.engine.outcome import Outcome, Verdict
from neverlost.checker.questions.atlas import lookup
from neverlost.checker.questions.sweep.sweep import again
from neverlost.checker.questions.tolerance.tolerance import CellVerdict
from neverlost.reports.documents.topic_groups import brief_settings, group_by_answer
from neverlost.reports.questions.check import advice, api
from neverlost.reports.questions.check.advice import Advisor, Remedy
from neverlost.reports.questions.tolerance import document as describe
from neverlost.reports.questions.verify.verify import verify_bundle
from neverlost.reports.results.results import States
from neverlost.reports.terminal.topic_groups import _count_topics
from neverlost.specs.configuration.choose import Chosen, choose
from neverlost.specs.inputs import remedies
from neverlost.specs.properties import properties
from neverlost.specs.property import Property
from tests.support.program import DATA
from tests.support.program import neverlost as run

TOPICS = """Topic: orders\tTopicId: a\tPartitionCount: 1\tReplicationFactor: 3\tConfigs: min.insync.replicas=2
\tTopic: orders\tPartition: 0\tLeader: 1\tReplicas: 1,2,3\tIsr: 1,2,3
Topic: clicks\tTopicId: b\tPartitionCount: 1\tReplicationFactor: 2\tConfigs: unclean.leader.election.enable=true
\tTopic: clicks\tPartition: 0\tLeader: 1\tReplicas: 1,2\tIsr: 1,2
Topic: views\tTopicId: c\tPartitionCount: 1\tReplicationFactor: 2\tConfigs: unclean.leader.election.enable=true
\tTopic: views\tPartition: 0\tLeader: 1\tReplicas: 1,2\tIsr: 1,2
Topic: audit\tTopicId: d\tPartitionCount: 1\tReplicationFactor: 1\tConfigs: min.insync.replicas=1
\tTopic: audit\tPartition: 0\tLeader: 1\tReplicas: 1\tIsr: 1
"""
LEVEL = {"metadata.version": "3.9-IV0"}
ASKED = {"faults.lossy_crash": 1, "faults.isr_shrink": 1, "bounds.records": 1, "defects": "fixed", "acks": "all"}
PLAIN = [part for key, value in ASKED.items() for part in ("--set", f"{key}={value}")]
NAMED = ["--kafka-version", "3.9", "--set", "metadata.version=3.9-IV0", "--property", "acked-never-lost"]


@pytest.mark.parametrize(
    ("racks", "says"),
    [("a,b,c", ""), ("", ""), ("a,b,a", "2 of 3 replicas in one rack"), ("a,a,a", "3 of 3 replicas in one rack")],
)
def test_racks_that_replicas_share_are_named_in_headings(racks: str, says: str) -> None:
    """Two topics of one setting differ in nothing else, and one loses a record where the other does not."""
    given = {"kafka.version": ("3.9", ""), **({"broker.rack": (racks, "")} if racks else {})}
    configuration = choose(given).configuration
    for heading in (brief_settings({"config": configuration}), describe.setting(configuration, "3.9", ["orders"])):
        assert ("in one rack" in heading) == bool(says) and says in heading


def test_an_older_metadata_version_has_the_known_bugs_of_its_kafka() -> None:
    """Or these would not be looked for, and it would be said that no change helps."""
    older = choose({"kafka.version": ("3.9", "--set"), "metadata.version": ("3.4-IV0", "--set")})
    assert older.release is None
    assert {"returning-leader", "late-record-forgets-request"} <= {each.name for each in remedies.defects_in(older)}


@pytest.fixture(scope="module")
def topics(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("described") / "topics.txt"
    path.write_text(TOPICS)
    return path


@pytest.fixture(scope="module")
def result(topics: Path) -> dict[str, Any]:
    found = neverlost.check(ASKED | LEVEL, describe=topics, kafka_version="3.9", properties=["acked-never-lost"], workers=1)
    return dict(found.document)


def test_a_change_with_too_many_states_is_undecided_wherever_it_is_searched(
    topics: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not after some seconds, which are others where the bundle is verified."""
    monkeypatch.setattr(api, "MOST_STATES", 20)
    given = ASKED | LEVEL
    found = neverlost.check(given, describe=topics, kafka_version="3.9", properties=["acked-never-lost"], out=tmp_path / "out")
    assert any(each["remedy"]["undecided"] for each in found.document["cells"] if "remedy" in each)
    assert verify_bundle(str(tmp_path / "out")).is_complete


def test_topics_with_the_same_answer_are_a_group_and_the_worst_comes_first(result: dict[str, Any], topics: Path) -> None:
    found = group_by_answer(result)
    assert [(each.verdict, each.topics) for each in found] == [
        ("violated", ["audit"]),
        ("violated", ["clicks", "views"]),
        ("holds", ["orders"]),
    ]
    assert found[0].cause.startswith("acked-never-lost: ") and found[-1].cause == found[-1].change == ""
    assert {name: where for cell in result["cells"] for name, where in cell["places"].items()} == {
        name: f"{topics} line {line}" for name, line in (("orders", 1), ("clicks", 3), ("views", 5), ("audit", 7))
    }


def test_an_advised_change_holds_when_it_is_asked_about(result: dict[str, Any]) -> None:
    """The whole question again, with the change, gives the id that the advice names and the verdict that it promises."""
    for each in group_by_answer(result):
        if each.verdict == "holds":
            assert each.remedy is None
            continue
        assert each.remedy is not None and each.remedy["changes"] and each.remedy["commands"]
        config = dict(each.cells[0]["config"]) | dict(each.cells[0]["bounds"]) | dict(each.remedy["changes"])
        given = {key: value for key, value in config.items() if value != ""} | {"model": each.cells[0]["model"]}
        again = neverlost.check(given, properties=["acked-never-lost"], workers=1)
        assert (again.id, again.verdict) == (each.remedy["id"], "holds")


def test_a_change_never_makes_a_setting_less_safe_and_the_smallest_is_tried_first() -> None:
    chosen = choose({"kafka.version": ("4.1", ""), "min.insync.replicas": ("1", ""), "acks": ("1", "")})
    found = remedies.candidates(chosen)
    costs = [("flush.messages" in each, len(each), remedies.cost(each, 3)) for each in found]
    assert costs == sorted(costs) and found[0] == {"acks": "all"}
    assert {key for each in found for key in each} == {"acks", "min.insync.replicas", "flush.messages"}
    assert not any(each.get("min.insync.replicas") == "1" for each in found)


def test_a_counterexample_at_hand_is_run_again_before_a_change_is_searched(monkeypatch: pytest.MonkeyPatch) -> None:
    """A change that it breaks as well is not searched, and the advice is the same."""
    unclean = {"replication.factor": 2, "min.insync.replicas": 1, "unclean.leader.election.enable": "true"}
    chosen = choose({key: (value, "--set") for key, value in {"kafka.version": "3.9", **unclean, **ASKED}.items()})
    asked = [properties()["acked-never-lost"]]
    found = explore(chosen.system, asked)
    (broken,) = [each for each in found.findings if each.trace is not None]

    def advise() -> tuple[Remedy, list[Chosen]]:
        searched: list[Chosen] = []

        def decide(one: Chosen, names: Sequence[Property]) -> Outcome:
            searched.append(one)
            return explore(one.system, names)

        holds = [CellVerdict(asked[0], Verdict.HOLDS, None, "search")]
        return Advisor(decide, lambda *_: holds, lambda _: None).remedy(chosen, asked, found), searched

    remedy, searched = advise()
    assert broken.trace is not None and remedy.changes
    assert not [one for one in searched if again(chosen.system, broken.trace, one.system, broken.property) is not None]
    monkeypatch.setattr(advice, "again", lambda *_: None)
    without, every = advise()
    assert (without.changes, without.tried) == (remedy.changes, remedy.tried) and len(searched) < len(every)


def test_no_advice_leaves_a_loss_beside_the_asked_faults(result: dict[str, Any]) -> None:
    """Decided afresh, without the advisor: one broker loses data while another is out, or one is out alone, as designed.  With
    two replicas and a minimum of two an unclean election would lose the record that only the broker that is out has."""
    for each in group_by_answer(result)[:-1]:
        assert each.remedy is not None
        cell = each.cells[0]
        config = {key: value for key, value in cell["config"].items() if value != "" and not key.startswith("faults.")}
        given = config | {"bounds.records": 1, "model": cell["model"]} | dict(each.remedy["changes"])
        for faults in ({"faults.data_loss": "any:1", "faults.out": "any:1"}, {"faults.out": "any:1"}):
            assert neverlost.check(given | faults, properties=["acked-never-lost"], workers=1).verdict == "holds", each.topics


CLUSTER = {"kafka.version": "3.9", "metadata.version": "3.9-IV0", "replication.factor": 3, "min.insync.replicas": 2}


@pytest.mark.parametrize(
    ("given", "name", "changes"),
    [
        ({"enable.idempotence": "false", "faults.producer_retry": 1}, "exactly-once", {"enable.idempotence": "true"}),
        (
            {"consumer.commit": "before-processing", "faults.consumer_crash": 1},
            "at-least-once",
            {"consumer.commit": "after-processing"},
        ),
        (
            {"consumer.commit": "after-processing", "faults.consumer_crash": 1},
            "at-most-once",
            {"consumer.commit": "before-processing"},
        ),
        ({"acks": "1", "faults.lossy_crash": 1}, "acked-never-lost", {"acks": "all"}),
    ],
)
def test_the_setting_that_matters_is_advised_alone(given: dict[str, Any], name: str, changes: dict[str, str]) -> None:
    """KIP-98 for idempotence; a consumer that commits first skips what it did not process, one that commits last repeats it."""
    found = neverlost.check(CLUSTER | given, properties=[name], advise=True, workers=1).document
    assert found["remedy"]["changes"] == changes and found["remedy"]["request"].startswith("Set ")


@pytest.mark.slow
def test_flushing_alone_is_no_advice_for_one_acknowledgement() -> None:
    """With acks=1 a record is on the leader's disk alone: one broker that stops loses it, flushed or not."""
    faults = {"acks": "1", "faults.lossy_crash": 1, "faults.isr_shrink": 2}
    remedy = neverlost.check(CLUSTER | faults, properties=["acked-never-lost"], advise=True, workers=1).document["remedy"]
    assert remedy["changes"]["acks"] == "all"


def test_gains_and_costs_are_those_of_the_tables() -> None:
    """Of three replicas with a minimum of one writes stop when all are out; with a minimum of two, when two are."""
    given = CLUSTER | {"min.insync.replicas": 1, "defects": "fixed", "faults.data_loss": "any:1", "faults.isr_shrink": "any:2"}
    asked: dict[str, Any] = {"properties": ["acked-never-lost"], "advise": True, "workers": 1}
    remedy = neverlost.check(given | {"bounds.records": 1}, **asked).document["remedy"]
    assert remedy["changes"]["min.insync.replicas"] == "2"
    assert remedy["drawbacks"][0] == "writes stop with 2 brokers out instead of 3"
    assert remedy["gains"] == "by design no record is lost with 1 broker that loses data and 2 others out"


def test_what_a_file_declares_is_changed_there() -> None:
    found = neverlost.check(
        ASKED | LEVEL,
        describe=DATA / "kafka" / "formats" / "strimzi-topics.yaml",
        kafka_version="3.9",
        properties=["acked-never-lost"],
        topics=["Clicks"],
        workers=1,
    )
    (command, *_) = found.configurations[0].document["remedy"]["commands"]
    assert command["where"].endswith("strimzi-topics.yaml line 16") or " line " in command["where"]
    assert ": " in command["line"] and "kafka-configs" not in command["line"]


def test_the_screen_has_a_line_for_each_group_and_the_commands(topics: Path) -> None:
    done = run("check", "--describe", str(topics), *NAMED, *PLAIN)
    lines = done.stdout.splitlines()
    assert done.returncode == 12
    as_they_come = [line.split()[1] for line in done.stderr.splitlines() if line.startswith(("VIOLATED", "HOLDS"))]
    assert as_they_come == ["audit", "clicks,", "orders"]
    assert [line.split()[:2] for line in lines[1:] if line.startswith(("VIOLATED", "HOLDS"))] == [
        ["VIOLATED", "1"],
        ["VIOLATED", "2"],
        ["HOLDS", "1"],
    ]
    assert "clicks, views: Set replication.factor=3 (now 2) (verified, as Kafka is designed)." in done.stdout
    assert (
        "Set replication.factor=3 (now 1) (verified, as Kafka is designed)." in done.stdout
        and "Costs: partitions have to be" in done.stdout
    )
    assert "flush.messages" not in done.stdout
    assert "step by step" in [line for line in lines if not line.startswith("assumed: ")][-1]
    calm = run(
        "check", "--describe", str(topics), *NAMED, "--set", "faults.crash=0", "--set", "bounds.records=1", "--set", "acks=all"
    )
    assert calm.returncode == 0 and "nothing may fail here (every faults.* is 0)" in calm.stdout
    one = run("check", "--describe", str(topics), *NAMED, *PLAIN, "--topic", "clicks")
    assert "initial state" in one.stdout and "lost: m1" in one.stdout and "kafka-reassign-partitions.sh" in one.stdout
    unlimited = run("check", "--describe", str(topics), "--format", "csv")
    assert (unlimited.returncode, unlimited.stdout) == (64, "") and "--format csv is about one search" in unlimited.stderr
    wrong = run("check", "--describe", str(topics), *NAMED, "--topic", "click")
    assert (wrong.returncode, wrong.stderr.splitlines()[-1][:71]) == (
        64,
        "neverlost: unknown topic 'click' in --topic; did you mean 'clicks'? ava",
    )


def test_what_the_atlas_knows_to_hold_is_not_searched_for(
    topics: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Of several configurations; what loses is searched for, to show how, and one configuration alone always is."""
    asked: dict[str, Any] = {"faults.out": "any:1", "bounds.records": 1, "defects": "fixed", "acks": "all"} | LEVEL
    about: dict[str, Any] = {"describe": topics, "kafka_version": "3.9", "properties": ["acked-never-lost"], "workers": 1}
    order = list[str]()
    found = neverlost.check(
        asked, **about, out=tmp_path / "b", decided=lambda each, outcome: order.append(f"{outcome.engine} {each.subjects[0]}")
    )
    assert [each.split()[0] for each in order] == sorted(each.split()[0] for each in order) and order[0].startswith("atlas ")
    by_atlas = {each.topics[0]: each for each in found.configurations if each.document["engine"] == "atlas"}
    assert by_atlas and all(each.verdict == "holds" and each.states == States(0, 0, 0, 0) for each in by_atlas.values())
    for name in by_atlas:
        alone = neverlost.check(asked, **about, topics=[name])
        assert (alone.verdict, alone.configurations[0].document["engine"]) == ("holds", "memory")
        assert alone.configurations[0].document["id"] == by_atlas[name].document["id"]
    monkeypatch.setattr(lookup, "shipped", lambda: None)
    searched = neverlost.check(asked, **about)
    assert [each.verdict for each in searched.configurations] == [each.verdict for each in found.configurations]
    assert "the atlas" in (tmp_path / "b" / "ledger.json").read_text()
    done = run("verify", str(tmp_path / "b"))
    assert done.returncode == 0, done.stdout + done.stderr
    assert "as the atlas has it" in (tmp_path / "b" / "report.html").read_text()


def test_what_would_stop_the_writes_at_once_is_not_advised(tmp_path: Path) -> None:
    """With one replica of three in the ISR a min ISR of 3 (or 2) refuses every write; the replicas have to come back."""
    (tmp_path / "topics.txt").write_text(
        TOPICS.partition("Topic: clicks")[0].replace("=2", "=1").replace("Isr: 1,2,3", "Isr: 1")
    )
    asked = ASKED | LEVEL | {"faults.isr_shrink": 0}
    found = neverlost.check(asked, describe=tmp_path / "topics.txt", kafka_version="3.9", properties=["acked-never-lost"])
    (group,) = group_by_answer(found.document)
    assert group.verdict == "violated" and group.change == "every replica in the ISR", group.remedy
    assert [each["line"].partition("  #")[0] for each in group.commands] == [
        "kafka-topics.sh --bootstrap-server HOST:PORT --describe --under-replicated-partitions"
    ]
    (chosen,) = (each.chosen for each in found.configurations)
    assert not remedies.is_possible(chosen, {"min.insync.replicas": "2"})
    assert remedies.is_possible(chosen, {"min.insync.replicas": "2", "start.outside_isr": "0"})


def test_a_topic_is_in_part_in_a_row_only_if_another_row_has_the_rest() -> None:
    """Parts that stand differently and have one answer are the whole topic."""
    held = ["orders", "stock (partitions 0-2)", "stock (partition 3)", "sessions (partitions 1-2)"]
    found: Any = [SimpleNamespace(topics=held), SimpleNamespace(topics=["sessions (partition 0)"])]
    assert [_count_topics(each.topics, found) for each in found] == ["3 (1 in part)", "1 (1 in part)"]


def test_the_topics_that_violate_something_are_counted_once(tmp_path: Path) -> None:
    """A topic whose partitions stand differently is one topic, with the worst verdict of its parts; screen and page agree."""
    described = tmp_path / "topics.txt"
    described.write_text(
        "Topic: a\tPartitionCount: 2\tReplicationFactor: 3\tConfigs: min.insync.replicas=2\n"
        "\tTopic: a\tPartition: 0\tLeader: 1\tReplicas: 1,2,3\tIsr: 1,2,3\n"
        "\tTopic: a\tPartition: 1\tLeader: 1\tReplicas: 1,2,3\tIsr: 1\n"
        "Topic: b\tPartitionCount: 1\tReplicationFactor: 3\tConfigs: min.insync.replicas=2\n"
        "\tTopic: b\tPartition: 0\tLeader: 1\tReplicas: 1,2,3\tIsr: 1,2,3\n"
    )
    given = ["--describe", str(described), "--kafka-version", "3.9", "--set", "acks=all", "--out", str(tmp_path / "out")]
    done = run("tolerance", *given, "--at-least", "data_loss=any:1 defects=fixed")
    assert done.returncode == 12 and done.stdout.startswith("1 of 2 topics violates what was asked.\n")
    assert (
        "<h1>1 of 2 topics violates what was asked; the worst, a (partition 1)"
        in (tmp_path / "out" / "report.html").read_text()
    )
