"""Kafka's own classes as the judge: the cases, the comparison, what it says of bad input, and that it can fail."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from neverlost.checker.kafka.conform.cases import cases
from neverlost.checker.kafka.conform.java import kafka, sources
from neverlost.checker.kafka.conform.partition_change_builder import EVENTS
from neverlost.checker.kafka.conform.run import PARTS
from neverlost.model.interpreters.ints import successors
from neverlost.model.system import System, bind
from neverlost.specs.configuration.choose import choose, read_settings
from neverlost.specs.errors import InputError
from tests.support.program import document, interrupted, neverlost

TWO = "model=kraft-elr replication.factor=2 min.insync.replicas=2 bounds.records=1 faults.crash=1 faults.fence=1"


def system(text: str) -> System:
    chosen = choose(read_settings(text.split()))
    return bind(chosen.model, chosen.configuration)


def test_cases_are_those_of_the_defining_interpreter() -> None:
    """State by state, without projections or columns."""
    small = system(TWO)
    found, transitions = cases.find_cases(cases.search_reachable(small), dict.fromkeys(EVENTS))
    names = {name: index for index, name in enumerate(slot.name for slot in small.slots)}

    def known(state: tuple[int, ...]) -> tuple[object, ...]:
        fields = ("leader", "last_known_leader", "leader_knows", "isr[0]", "isr[1]", "elr[0]", "elr[1]")
        return tuple(state[names[each]] for each in (*fields, "is_fenced[0]", "is_fenced[1]"))

    def flat(each: cases.Knowledge) -> tuple[object, ...]:
        sets = (each.isr, each.elr, each.fenced)
        return (each.leader, each.last_known_leader, each.epochs, *(int(broker in one) for one in sets for broker in (0, 1)))

    seen, frontier, expected, count = set(), [state for _, state in small.initial_states()], set(), 0
    while frontier:
        state = frontier.pop()
        if state in seen:
            continue
        seen.add(state)
        answers: dict[tuple[object, ...], set[tuple[object, ...]]] = {}
        for step, after in successors(small, state):
            frontier.append(after)
            if step.action.name in EVENTS and step.action.name != "controller_alter_isr":
                count += 1
                event = tuple(item for item in step.arguments.items() if item[0] not in cases.ANSWERED)
                answers.setdefault((step.action.name, event), set()).add(known(after))
        expected |= {(*event, known(state), frozenset(after)) for event, after in answers.items()}
    others = [each for each in found if each.event != "controller_alter_isr"]
    assert {(each.event, each.arguments, flat(each.before), frozenset(map(flat, each.answers))) for each in others} == expected
    assert len(others) == len(expected) > 30 and count <= transitions


def test_every_supported_version_has_checksums_of_its_own_jars() -> None:
    known = kafka.supported_versions()
    assert {"3.9", "4.1", "4.3", "4.4"} <= set(known)
    assert all(len(digest) == 128 for digest in kafka.load_checksums().values())
    for patch in known.values():
        assert f"kafka-metadata-{patch}.jar" in kafka.load_checksums()


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ([], "say which Kafka: either --kafka-version X.Y or --classpath DIR"),
        (["--kafka-version", "4.3", "--classpath", "x"], "say which Kafka: either --kafka-version X.Y or --classpath DIR"),
        (["--kafka-version", "7.1"], "Kafka 7.1 has no checksums here"),
        (["--kafka-version", "x"], "bad value 'x' for --kafka-version"),
        (["--kafka-version", "4.3", "--part", "bilder"], "unknown part 'bilder' in --part; did you mean 'builder'?"),
        (["--kafka-version", "4.3", "--baseline", "/nowhere.json"], "/nowhere.json"),
        (["--kafka-version", "4.3", "--free", "--master", "local[2]"], "--master and --workers are for comparisons"),
        (["--kafka-version", "4.3", "--free", "--workers", "2"], "--master and --workers are for comparisons"),
    ],
)
def test_bad_input_is_one_line(arguments: list[str], says: str) -> None:
    done = neverlost("conform", *arguments)
    assert done.returncode == 64 and done.stdout == ""
    assert says in done.stderr and done.stderr.count("\n") == 1


def test_a_folder_without_kafka_is_named(tmp_path: Path) -> None:
    done = neverlost("conform", "--classpath", str(tmp_path))
    assert (done.returncode, done.stderr.count("\n")) == (64, 1) and f"{str(tmp_path)!r} has no kafka_2.13" in done.stderr


@pytest.mark.kafka
def test_the_short_form_compares_every_part(tmp_path: Path) -> None:
    done = neverlost("conform", "--kafka-version", "4.3", "--short", "--json", str(tmp_path / "found.json"), timeout=600)
    found = json.loads((tmp_path / "found.json").read_text())
    assert found["left"] == {} and found["kafka"] == "4.3.1"
    compared = {each["part"]: each["cases"] for each in found["parts"]}
    assert compared["builder"] > 1000 and compared["leader"] > 1000 and compared["random"] > 4000
    new = {each["case"].partition(" ISR=")[0] for each in found["differences"] if each["new"]}
    assert new <= {"record of the same partition epoch"}
    assert done.returncode == (22 if new else 0)


@pytest.mark.kafka
@pytest.mark.parametrize("version", ["3.3", "3.5", "3.7"])
def test_older_classes_are_asked_by_their_own_signatures(version: str, tmp_path: Path) -> None:
    """Every part runs, and what a version cannot be asked is named."""
    done = neverlost("conform", "--kafka-version", version, "--short", "--json", str(tmp_path / "found.json"), timeout=600)
    found = json.loads((tmp_path / "found.json").read_text())
    new = [each for each in found["differences"] if each["new"]]
    assert (done.returncode, found["left"], new[:3]) == (0, {}, [])
    compared = {each["part"]: each["cases"] for each in found["parts"]}
    assert set(compared) == set(PARTS) and compared["builder"] > 400 and compared["controller"] > 60
    assert compared["leader"] > 1000 and compared["random"] > 1000
    gaps = [gap for each in found["parts"] for gap in each["gaps"]]
    assert any(gap.startswith("fetches of fenced followers") for gap in gaps)
    assert any("CleanShutdownFileHandler" in gap for gap in gaps) == (version != "3.7")


@pytest.mark.kafka
def test_tasks_of_spark_compare_the_same() -> None:
    asked = ("conform", "--kafka-version", "4.3", "--short", "--part", "builder", "--part", "broker", "--part", "quorum")
    here, there = document(*asked), document(*asked, "--master", "local[2]")
    compared = [{each["part"]: each["cases"] for each in found["parts"]} for found in (here, there)]
    assert compared[0] == compared[1] and compared[0]["builder"] > 1000 and len(compared[0]) == 3
    assert here["verdict"] == there["verdict"] and there["left"] == {}


@pytest.mark.kafka
@pytest.mark.parametrize(
    ("ending", "where"), [("SIGINT", "--workers=1"), ("SIGTERM", "--workers=1"), ("SIGINT", "--master=local[1]")]
)
def test_an_interrupted_run_keeps_what_was_compared(ending: str, where: str, tmp_path: Path) -> None:
    result, out = tmp_path / "found.json", tmp_path / "out"
    asked = ("--part", "builder", "--part", "entry-points", where, "--out", str(out), "--json", str(result))
    done = interrupted(ending, "conform", "--kafka-version", "4.3", "--short", *asked)
    assert (done.returncode, done.stderr) == (20, "")
    found = json.loads(result.read_text())
    assert [each["part"] for each in found["parts"]] == ["builder"] and found["parts"][0]["cases"] > 50
    assert found["verdict"] == "inconclusive" and set(found["left"].values()) == {"interrupted"}
    assert "entry-points: " in found["left"] and len(found["left"]) == 4
    page, suite = ((out / f"conform-4.3.1.{kind}").read_text() for kind in ("md", "junit.xml"))
    assert "not compared: entry-points: : interrupted" in page and suite.count('<skipped message="interrupted"') == 4


@pytest.mark.kafka
def test_a_changed_jar_is_refused(tmp_path: Path) -> None:
    cache = tmp_path / "neverlost" / "classes-4.3.1" / "libs"
    cache.mkdir(parents=True)
    for jar in kafka.kafka_of_version("4.3").jars:
        (cache / jar.name).symlink_to(jar)
    changed = cache / "kafka-metadata-4.3.1.jar"
    content = changed.read_bytes()
    changed.unlink()
    changed.write_bytes(content + b"\0")
    with pytest.raises(kafka.InputError, match="has another SHA-512 than the released one"):
        kafka.kafka_of_version("4.3", environment={"XDG_CACHE_HOME": str(tmp_path), "PATH": "/usr/bin"})


@pytest.mark.parametrize(
    ("changed", "parts"),
    [
        ("core/src/main/scala/kafka/cluster/Partition.scala", ["entry-points", "leader", "random", "walks"]),
        (
            "./metadata/src/main/java/org/apache/kafka/controller/ReplicationControlManager.java",
            ["entry-points", "controller", "walks"],
        ),
        (
            "metadata/src/main/java/org/apache/kafka/controller/PartitionChangeBuilder.java",
            ["builder", "entry-points", "controller"],
        ),
        (
            "storage/src/main/java/org/apache/kafka/storage/internals/log/UnifiedLog.java",
            ["entry-points", "leader", "random", "transactions", "walks"],
        ),
        ("docs/upgrade.html clients/src/main/java/org/apache/kafka/clients/NetworkClient.java", []),
    ],
)
def test_a_change_concerns_the_parts_that_judge_its_files(changed: str, parts: list[str]) -> None:
    assert sources.concerned_parts(changed.split(), list(PARTS)) == parts
    assert set(sources.read_patterns()) == set(PARTS)


def test_a_change_that_concerns_no_part_is_an_answer() -> None:
    done = neverlost("conform", "--kafka-version", "4.3", "--changed", "docs/upgrade.html,README.md")
    assert (done.returncode, done.stdout.count("\n")) == (0, 1) and "nothing that changed is judged here" in done.stdout


def test_a_commit_is_built_in_a_folder_of_its_own(tmp_path: Path) -> None:
    def git(*arguments: str) -> None:
        subprocess.run(["git", "-C", str(tmp_path), "-c", "user.name=n", "-c", "user.email=e", *arguments], check=True)

    source = tmp_path / "core" / "src" / "main" / "scala" / "kafka" / "cluster" / "Partition.scala"
    source.parent.mkdir(parents=True)
    source.write_text("one")
    build = "mkdir -p core/build/libs && touch core/build/libs/kafka_2.13-9.9.9.jar core/build/libs/kafka_2.13-9.9.9-test.jar\n"
    (tmp_path / "gradlew").write_text(f"#!/bin/sh\n{build}")
    (tmp_path / "gradlew").chmod(0o755)
    git("init", "-q", "-b", "trunk")
    git("add", ".")
    git("commit", "-q", "-m", "one")
    git("checkout", "-q", "-b", "mine")
    source.write_text("two")
    git("commit", "-q", "-a", "-m", "two")
    assert sources.changed_files(tmp_path, "trunk", "mine") == [str(source.relative_to(tmp_path))]
    with sources.build_commit(tmp_path, "mine") as place:
        assert [each.name for each in sources.find_jars(place)] == ["kafka_2.13-9.9.9.jar"]
        assert (place / source.relative_to(tmp_path)).read_text() == "two"
    assert not place.exists() and sources.find_jars(tmp_path) == ()
    with (
        pytest.raises(InputError, match=r"git worktree in .*invalid reference: nowhere"),
        sources.build_commit(tmp_path, "nowhere"),
    ):
        pass
