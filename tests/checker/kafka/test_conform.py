"""Kafka's own classes as the judge: the cases, the comparison, what it says of bad input, and that it can fail."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from neverlost.checker.kafka.conform.cases import cases
from neverlost.checker.kafka.conform.java import kafka
from neverlost.checker.kafka.conform.partition_change_builder import EVENTS
from neverlost.checker.kafka.conform.run import PARTS
from neverlost.model.interpreters.ints import successors
from neverlost.model.system import System, bind
from neverlost.specs.configuration.choose import choose, read_settings
from tests.support.program import interrupted, neverlost

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
        (["--kafka-version", "4.3", "--free", "--workers", "2"], "--workers is for comparisons"),
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
@pytest.mark.parametrize("ending", ["SIGINT", "SIGTERM"])
def test_an_interrupted_run_keeps_what_was_compared(ending: str, tmp_path: Path) -> None:
    result, out = tmp_path / "found.json", tmp_path / "out"
    asked = ("--part", "builder", "--part", "entry-points", "--workers=1", "--out", str(out), "--json", str(result))
    done = interrupted(ending, "conform", "--kafka-version", "4.3", "--short", *asked)
    assert (done.returncode, done.stderr) == (20, "")
    found = json.loads(result.read_text())
    assert [each["part"] for each in found["parts"]] == ["builder"] and found["parts"][0]["cases"] > 50
    assert found["verdict"] == "inconclusive" and set(found["left"].values()) == {"interrupted"}
    assert "entry-points: " in found["left"] and len(found["left"]) == 4
    assert "not compared: entry-points: : interrupted" in (out / "conform-4.3.1.md").read_text()


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


def test_the_jars_of_a_checkout_are_those_that_gradle_built(tmp_path: Path) -> None:
    built, libraries = tmp_path / "core/build/libs", tmp_path / "core/build/dependant-libs-2.13.16"
    for place in (built, libraries):
        place.mkdir(parents=True)
    assert kafka.built_jars(tmp_path) == ()
    for name in ("kafka_2.13-9.9.9.jar", "kafka_2.13-9.9.9-test.jar"):
        (built / name).touch()
    (libraries / "scala.jar").touch()
    assert [each.name for each in kafka.built_jars(tmp_path)] == ["scala.jar", "kafka_2.13-9.9.9.jar"]
