"""Every setting that an answer prints stands where the generator of its input wrote it, whoever reads the files."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import neverlost
from neverlost.reports.questions.nines.api import nines
from neverlost.reports.questions.roll.api import roll
from neverlost.specs.setting import Sources
from tests.support.drawn_inputs import DrawnInput, drawn
from tests.support.program import neverlost as program

ASK: dict[str, Any] = {
    "check": neverlost.check,
    "tolerance": neverlost.tolerance,
    "roll": roll,
    "nines": nines,
    "sweep": neverlost.sweep,
}


def printed(document: dict[str, Any]) -> Iterator[tuple[str, Sources]]:
    """What a document prints of settings, by whom they are about."""
    shared = document.get("sources", {})
    if "tolerance" in document:
        yield from shared.items()
    elif "nines" in document:
        yield from ((label, each["sources"]) for label, each in document["nines"].items())
    elif "brokers" in document and "differ" in document:
        yield from ((label, {**shared, **each}) for label, each in document["differ"].items() or [("", {})])
    else:
        for cell in document.get("cells", [document]):
            yield ", ".join(cell.get("topics", ())), cell.get("settings") or {**shared, **cell["sources"]}


def wrong(given: DrawnInput, document: dict[str, Any]) -> Iterator[str]:
    """The settings that do not stand where they were written."""
    for label, found in printed(document):
        topics = re.findall(r"\bt\d\b", label) or [each for each in given.truth if each]
        stated = {key: each["value"] for key, each in found.items()}
        assert {"kafka.version", "acks", "replication.factor", "bounds.records"} <= stated.keys(), "too little is printed"
        for key, each in found.items():
            places = given.places(topics, key, stated)
            where = re.sub(r"( and \d+ other topics?|; given to \d+ topics? by files)$", "", each["where"])
            if (each["value"], where) not in places:
                yield f"{given.command}, {label}: {key}={each['value']} in {each['where']}, where {places} was written"


@pytest.mark.parametrize("seed", [pytest.param(seed, marks=[pytest.mark.slow] * (seed >= 12)) for seed in range(60)])
def test_every_setting_stands_where_it_was_written(seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    given = drawn(seed, tmp_path)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        document = ASK[given.command](**given.arguments, time_limit=0.1).document
    found = list(wrong(given, document))
    assert not found, "\n".join([str(given.arguments), *found])


TOPICS = """Topic: t1\tTopicId: AAAAAAAAAAAAAAAAAAAAAA\tPartitionCount: 1\tReplicationFactor: 3\tConfigs: min.insync.replicas=2
\tTopic: t1\tPartition: 0\tLeader: 1\tReplicas: 1,2,3\tIsr: 1,2,3
"""
GIVEN = ("--describe", "topics.txt", "--producer-properties", "librdkafka.conf", "--kafka-version", "3.9")


@pytest.mark.parametrize("command", ["tolerance", "roll", "nines"])
def test_text_and_page_name_the_line_to_edit(command: str, tmp_path: Path) -> None:
    (tmp_path / "topics.txt").write_text(TOPICS)
    (tmp_path / "librdkafka.conf").write_text("bootstrap.servers=b:9092\nrequest.required.acks=1\n")
    done = program(command, *GIVEN, "--set", "metadata.version=3.9-IV0", "--out", "out", cwd=tmp_path)
    said = done.stdout.replace("\n", " ")
    for each in (
        "acks=1 (librdkafka.conf line 2)",
        "replication.factor=3 (topics.txt line 2)",
        "min.insync.replicas=2 (topics.txt",
    ):
        assert each in said, done.stdout
    page = (tmp_path / "out" / "report.html").read_text()
    assert "librdkafka.conf line 2" in page and page.count("a change") == (command != "roll")
    if command == "tolerance":
        assert "  acks=all    in librdkafka.conf line 2" in done.stdout.splitlines()


def test_a_sweep_names_the_lines_of_its_matrix(tmp_path: Path) -> None:
    (tmp_path / "m.toml").write_text(
        'kafka.version = "3.9"\nproperties = ["acked-never-lost"]\n[topic]\nreplication.factor = 2\n'
        'min.insync.replicas = [1, 2]\n[[pair]]\nacks = "all"\n'
    )
    done = program("sweep", "m.toml", "--set", "bounds.records=1", "--out", "out", cwd=tmp_path)
    said = done.stdout.replace("\n", " ")
    assert "acks=all (m.toml line 7)" in said and "bounds.records=1 (--set)" in said, done.stdout
    assert "varied: min.insync.replicas (m.toml line 5)" in said
    assert "m.toml line 5" in (tmp_path / "out" / "report.html").read_text()
