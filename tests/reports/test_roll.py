"""`neverlost roll`: what each stop does, the order, what comes first; and (`-m kafka`) a cluster that does as it says."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import neverlost as package
from neverlost.checker.engine.outcome import Verdict
from neverlost.checker.kafka.cluster import faults
from neverlost.checker.kafka.cluster.cluster import Cluster, cluster
from neverlost.checker.kafka.cluster.jars import find_kafka
from neverlost.checker.kafka.cluster.look import look_at_cluster
from neverlost.checker.questions.roll import rolling_restart
from neverlost.checker.questions.roll.rolling_restart import OFFLINE
from neverlost.checker.questions.tolerance.cell_words import ACCEPTED, LOST, OK, STOPS, UNDECIDED
from neverlost.checker.questions.tolerance.tolerance import SEARCH, CellVerdict
from neverlost.reports.questions.roll.document import is_unknown
from tests.support.program import neverlost

DESCRIBED = """\
Topic: orders\tTopicId: a\tPartitionCount: 3\tReplicationFactor: 2\tConfigs: min.insync.replicas=1
\tTopic: orders\tPartition: 0\tLeader: 101\tReplicas: 101,102\tIsr: 101
\tTopic: orders\tPartition: 1\tLeader: 103\tReplicas: 103,104\tIsr: 103,104
\tTopic: orders\tPartition: 2\tLeader: 102\tReplicas: 102,103\tIsr: 102,103
Topic: strict\tTopicId: b\tPartitionCount: 1\tReplicationFactor: 2\tConfigs: min.insync.replicas=2
\tTopic: strict\tPartition: 0\tLeader: 105\tReplicas: 105,106\tIsr: 105,106
Topic: gone\tTopicId: c\tPartitionCount: 1\tReplicationFactor: 2\tConfigs: min.insync.replicas=1
\tTopic: gone\tPartition: 0\tLeader: none\tReplicas: 107,106\tIsr: 107
"""

TWO = "".join(DESCRIBED.splitlines(keepends=True)[4:])
"""The topics of one partition each."""

WAIT = "after each, wait until all replicas are in the ISR again"
ACCEPT = "accept that writes stop meanwhile (--accept TOPIC), or add a replica"


def roll(tmp_path: Path, *more: str, topics: str = DESCRIBED) -> Any:
    described = tmp_path / "topics.txt"
    described.write_text(topics)
    return neverlost(
        "roll",
        "--describe",
        str(described),
        "--kafka-version",
        "3.9",
        "--set",
        "metadata.version=3.9-IV0",
        "--set",
        "defects=fixed",
        *more,
    )


def test_what_each_stop_does_and_the_order(tmp_path: Path) -> None:
    """The last member of an ISR, a topic without a spare replica and an offline partition forbid a stop."""
    done = roll(tmp_path, "--at-a-time", "2")
    assert done.returncode == 13, done.stderr
    first, *lines = [each for each in done.stdout.splitlines() if not each.startswith("settings")]
    assert first == "No go for all: 3 of 7 brokers may be stopped now."
    found = {line.split()[1]: line for line in lines if line.startswith("broker")}
    assert list(found) == ["101", "105", "106", "107"]
    assert found["101"].startswith("broker 101 must not be stopped: writes stop on orders-0.")
    assert all("writes stop on strict-0" in found[each] for each in ("105", "106"))
    assert all(
        "offline already (restart it only where neverlost rescue asks for it) on gone-0" in found[each]
        for each in ("106", "107")
    )
    caveats = [each for each in lines if each.startswith(("assumed: ", "not decided: ", "warning: "))]
    assert lines[4 : -len(caveats)] == [
        f"Restart 2 at a time: 102 and 104, then 103; {WAIT}.",
        "1. Before a restart of 106 or 107, gone-0: offline; neverlost rescue says whom to bring back or to elect.",
        "2. Before a restart of 101, orders-0: wait until 102 is in the ISR again.",
        "3. Before a restart of 105 or 106, strict-0: stopping any broker takes a replica that is needed (RF 2, min ISR 2): "
        f"{ACCEPT}, or lower min ISR, after which fewer copies are sure.",
        "The guide (reports/guide/roll.md) says what to do if a replica stays away, or a reassignment does not end.",
        f"Once all of that is done, restart 2 at a time: 101 and 103, then 102 and 104, then 105 and 106, then 107; {WAIT}.",
        "Wait until kafka-topics.sh --bootstrap-server HOST:PORT --describe lists none with "
        "--under-replicated-partitions or --unavailable-partitions. "
        "It is assumed that nothing which was sent before a stop is still on its way.",
        "Not known: whether a broker is a controller too, and if a majority of the controllers is left: "
        "give what kafka-metadata-quorum.sh describe --replication prints with --describe.",
        "While a broker is down, another that loses data may lose records on orders (3 partitions), strict-0.",
        "While a broker is down, another that is killed or is cut off stops writes on orders (3 partitions), strict-0.",
        "Stop no broker while another is failing or slow. "
        "Preferred elections: the one that controllers hold by themselves after a broker returns is part of this answer. "
        "Run no kafka-leader-election.sh --election-type PREFERRED while a replica is out of an ISR.",
    ]
    said = {line.partition(" (")[0] for line in caveats}
    assert {"assumed: acks=all", "assumed: enable.idempotence=true", "not decided: gone-0"} <= said
    assert "assumed: no producer file is given: assuming acks=all" in said
    assert "assumed: a power loss undoes no truncation, as with one ordered journal" in said


def test_a_stop_that_is_a_no_already_is_not_called_unknown() -> None:
    beside = {OK: ["a-0"], ACCEPTED: ["b-0"], UNDECIDED: ["c-0"]}
    assert is_unknown({"now": beside}) and not is_unknown({"now": {OK: ["a-0"]}})
    assert not any(is_unknown({"now": beside | {bad: ["d-0"]}}) for bad in (STOPS, OFFLINE, f"{LOST}, 9 steps"))


@pytest.mark.parametrize("verdict", [Verdict.HOLDS, Verdict.VIOLATED, Verdict.INCONCLUSIVE])
@pytest.mark.parametrize("at_a_time", [1, 2, 4])
def test_all_questions_are_decided_together_and_each_that_is_asked_about_is_there(
    at_a_time: int, verdict: Verdict, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One call decides whatever the document needs, and hardly anything else; it names configurations while it goes on."""
    calls, named = list[int](), list[str]()
    made, needed = set[Any](), set[Any]()

    def decide(cells: Any, properties: Any, *given: Any) -> Any:
        calls.append(len(cells))
        for number in range(len(cells) + 1):
            given[-1](range(number))
        return [tuple(CellVerdict(each, verdict, 3, SEARCH) for each in properties) for _ in cells]

    def ask(said: Any, chosen: Any, stop: Any, is_whole: bool = False) -> str:
        made.update(said._words)
        needed.add((id(chosen), is_whole, stop))
        return original(said, chosen, stop, is_whole)

    original = rolling_restart.StopVerdicts.of
    monkeypatch.setattr(rolling_restart, "decided", decide)
    monkeypatch.setattr(rolling_restart.StopVerdicts, "of", ask)
    described = tmp_path / "topics.txt"
    described.write_text(DESCRIBED)
    found = package.roll(
        {"metadata.version": "3.9-IV0", "acks": "all"},
        files={"describe": [str(described)]},
        kafka_version="3.9",
        at_a_time=at_a_time,
        progress=lambda said: named.append(said.note),
    )
    assert calls[0] == len(made) and found.verdict == "violated"
    assert len(calls) == 1 + (verdict is Verdict.VIOLATED), "only what is lost as released is asked about as designed"
    asked = {key[0] for key in made}
    assert len(named) == len(set(named)) == len(asked) - 1 > 1, "the partition without a leader is not said to be decided"
    if at_a_time == 1 and verdict is Verdict.HOLDS:
        more = made - needed
        assert len({key[0] for key in more}) == 1, "all is needed but what is asked of the partition without a leader"


def test_a_stop_of_writes_may_be_accepted_and_a_loss_may_not(tmp_path: Path) -> None:
    """The same brokers may be stopped but for what was not accepted, and none beside a partition that is offline; each
    configuration is named while the rest is decided."""
    done = roll(tmp_path, "--accept", "strict", "--accept", "gone", "--json", str(tmp_path / "roll.json"))
    assert done.returncode == 13 and done.stdout.startswith("No go for all: 4 of 7 brokers may be stopped now, one at a time.")
    assert (
        "broker 101 must not be stopped: writes stop on orders-0." in done.stdout
        and "strict-0" not in done.stdout.split("While")[0]
    )
    assert "decided: strict" in done.stderr.splitlines()
    assert "decided: strict" not in roll(tmp_path, "--quiet", topics=TWO).stderr
    brokers = json.loads((tmp_path / "roll.json").read_text())["brokers"]
    assert brokers["106"]["now"] == {"interrupted as accepted": ["strict-0"], "offline already": ["gone-0"]}
    assert brokers["106"]["may_be_stopped"] is False and brokers["104"]["may_be_stopped"] is True
    assert roll(tmp_path, "--accept", "strict", "--accept", "gone", "--accept", "orders").returncode == 13
    without = DESCRIBED[: DESCRIBED.index("Topic: gone")]
    assert roll(tmp_path, "--accept", "strict", "--accept", "orders", topics=without).returncode == 0
    risky = roll(tmp_path, "--accept", "orders", "--set", "acks=1")
    assert risky.returncode == 12 and "can lose an acknowledged record with or without this stop" in risky.stdout
    wrong = roll(tmp_path, "--accept", "order")
    assert wrong.returncode == 64 and "unknown topic 'order' in --accept; did you mean 'orders'?" in wrong.stderr


@pytest.mark.parametrize(
    ("replicas", "acks", "says", "status"),
    [
        ("101,102", "1", "a stop can lose a record with acks=1, even when all are in sync: use acks=all.", 12),
        ("101,102", "0", "a stop can lose a record with acks=0, even when all are in sync: use acks=all.", 12),
        (
            "101",
            "all",
            f"stopping any broker takes a replica that is needed (RF 1, min ISR 1): {ACCEPT}.",
            13,
        ),
    ],
)
def test_what_comes_first_is_about_the_cause(tmp_path: Path, replicas: str, acks: str, says: str, status: int) -> None:
    """A min ISR of 1 cannot be lowered, and one more replica does not help a producer that does not wait for it."""
    factor = replicas.count(",") + 1
    (tmp_path / "topics.txt").write_text(
        f"Topic: orders\tPartitionCount: 1\tReplicationFactor: {factor}\tConfigs: min.insync.replicas=1\n"
        f"\tTopic: orders\tPartition: 0\tLeader: 101\tReplicas: {replicas}\tIsr: {replicas}\n"
    )
    done = neverlost(
        "roll",
        "--describe",
        str(tmp_path / "topics.txt"),
        "--kafka-version",
        "3.9",
        "--set",
        f"acks={acks}",
        "--set",
        "defects=fixed",
    )
    lines = [each for each in done.stdout.splitlines() if not each.startswith(("assumed: ", "settings"))]
    assert done.returncode == status and f"1. Before any restart, orders-0: {says}" in lines


def test_go_has_its_condition(tmp_path: Path) -> None:
    """Two replicas, min ISR 1: while one is down, the other has the only copy."""
    (tmp_path / "topics.txt").write_text(
        "Topic: orders\tPartitionCount: 1\tReplicationFactor: 2\tConfigs: min.insync.replicas=1\n"
        "\tTopic: orders\tPartition: 0\tLeader: 101\tReplicas: 101,102\tIsr: 101,102\n"
    )
    given = ("--kafka-version", "3.9", "--set", "acks=all", "--set", "defects=fixed", "--set", "metadata.version=3.9-IV0")
    done = neverlost("roll", "--describe", str(tmp_path / "topics.txt"), *given)
    assert done.returncode == 0
    go, *others = done.stdout.splitlines()
    assert (
        go == "Go: any one of the 2 brokers may be stopped now. What one more failure may lose while it is down stands below."
    )
    assert any(each.startswith("While a broker is down, another that loses data") for each in others)


def test_limits_of_faults_and_of_brokers_are_refused(tmp_path: Path) -> None:
    done = roll(tmp_path, "--set", "faults.crash=1")
    assert done.returncode == 64 and "roll asks about stops itself" in done.stderr
    done = roll(tmp_path, "--at-a-time", "0")
    assert (done.returncode, done.stderr) == (64, "neverlost: bad value '0' for --at-a-time: use a number from 1 to 9\n")
    assert roll(tmp_path, "--set", "model=kip-320").returncode == 64


def test_a_topic_without_its_partitions_is_not_said_to_be_fine(tmp_path: Path) -> None:
    (tmp_path / "heads.txt").write_text(DESCRIBED + "Topic: unseen\tPartitionCount: 2\tReplicationFactor: 2\tConfigs: \n")
    done = neverlost(
        "roll",
        "--describe",
        str(tmp_path / "heads.txt"),
        "--kafka-version",
        "3.9",
        "--set",
        "metadata.version=3.9-IV0",
        "--set",
        "acks=all",
    )
    assert (done.returncode, done.stdout) == (64, "") and done.stderr.endswith(
        "is described without its partitions; use kafka-topics.sh --describe without options that leave lines out\n"
    )


@pytest.fixture(scope="module", params=["4.3", "3.9"])
def kafka(request: pytest.FixtureRequest) -> Iterator[Cluster]:
    """A topic with all replicas in sync, and one whose other replica is down."""
    with cluster(find_kafka(version=request.param), brokers=3) as found:
        found.create_topic("whole", [1, 2], {"min.insync.replicas": "1"})
        found.create_topic("thin", [2, 3], {"min.insync.replicas": "1"})
        faults.crash(found, 3)
        for _ in range(3):  # it is listed still, and refuses
            assert [each["id"] for each in look_at_cluster(found.address(1), {})["brokers"]][:2] == [1, 2]
        found.wait(lambda: found.partition("thin").isr == (2,), "broker 3 to leave the ISR", 180)
        yield found


@pytest.mark.kafka
def test_a_cluster_does_as_roll_says(kafka: Cluster) -> None:
    done = neverlost("roll", "--bootstrap-server", kafka.address(1), "--set", "acks=all", "--json", "-", timeout=300)
    assert done.returncode == 13, done.stderr
    brokers = json.loads(done.stdout)["brokers"]
    assert {each: one["may_be_stopped"] for each, one in brokers.items()} == {"1": True, "3": True, "2": False}, done.stderr
    assert brokers["2"]["now"]["writes stop"] == ["thin-0"]
    faults.stop(kafka, 1)
    assert kafka.produce("whole", b"m1").is_acknowledged and kafka.produce("thin", b"m2").is_acknowledged
    faults.start(kafka, 1)
    kafka.wait(lambda: set(kafka.partition("whole").isr) == {1, 2}, "broker 1 to be in sync", 180)
    faults.stop(kafka, 2)
    assert kafka.produce("whole", b"m3").is_acknowledged
    assert not kafka.produce("thin", b"m4", seconds=15).is_acknowledged
