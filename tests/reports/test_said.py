"""Every printed sentence is true: questions drawn by a seed, each line of the screen read from the English by a parser that was
written by hand, and checked against fresh searches of exactly what it says."""

from __future__ import annotations

import re
from pathlib import Path
from random import Random

import pytest

import neverlost
from neverlost.reports.wording import sentences
from tests.support.said import Reader, draw, run

SEED = 20261125
DRAWN = [draw(Random(f"{SEED}-{number}")) for number in range(300)]


def judge(number: int) -> int:
    """Check every line that a question prints; return how many statements were checked."""
    status, lines = run(DRAWN[number].arguments)
    assert status in (0, 12, 13), (DRAWN[number].arguments, lines)
    reader = Reader(DRAWN[number])
    reader.read(lines)
    if any(key.startswith("faults.") for key, _ in DRAWN[number].settings):
        found = neverlost.check(dict(DRAWN[number].settings), properties=DRAWN[number].names, workers=1)
        for line in found.cite().splitlines():
            reader.citation(line)
    return reader.checked


@pytest.mark.parametrize("number", [*range(9), *range(10, 13), 14])
def test_what_is_printed_is_so(number: int) -> None:
    assert judge(number) > 0


@pytest.mark.slow
@pytest.mark.parametrize("number", [9, 13, *range(15, 300)])
def test_what_is_printed_is_so_in_many_more(number: int) -> None:
    assert judge(number) > 0


@pytest.mark.parametrize(
    ("one", "other"),
    [
        pytest.param("broken", "safe up to", marks=pytest.mark.slow),
        ("cited holds", "cited open"),
        ("violated", "holds"),
        ("safe whatever else", "broken"),
    ],
)
def test_two_templates_that_are_swapped_are_seen(monkeypatch: pytest.MonkeyPatch, one: str, other: str) -> None:
    """A sentence that says what another means is false, or lacks words: some of the thirty questions shows it."""
    swapped = dict(sentences.TEMPLATES)
    swapped[one], swapped[other] = swapped[other], swapped[one]
    monkeypatch.setattr(sentences, "TEMPLATES", swapped)
    with pytest.raises((AssertionError, KeyError)):
        for number in range(30):
            judge(number)


MATRIX = """
kafka.version = "3.9"
replication.factor = 2
bounds.records = 1
defects = "fixed"
min.insync.replicas = [1, 2]
acks = ["1", "all"]
faults.crash = [0, 1, 2]
properties = ["acked-never-lost", "stays-writable"]
"""
FAILS = {"loses acknowledged records": "acked-never-lost", "stops accepting writes": "stays-writable"}


def test_what_a_sweep_says_is_so(tmp_path: Path) -> None:
    """Of each setting what it survives and what breaks it: how many stops there are, and how many are impaired at once."""
    (tmp_path / "matrix.toml").write_text(MATRIX)
    found, checked = neverlost.sweep(tmp_path / "matrix.toml", workers=1).document, 0
    base = {"kafka.version": "3.9", "replication.factor": 2, "bounds.records": 1, "defects": "fixed"}
    for row in found["fault_tolerance"]:
        setting = tuple((base | row["setting"]).items())
        for part in row["says"].split("; "):
            if part.startswith("survives any "):
                for budget in part.removeprefix("survives any ").removesuffix(", the most that was tried").split(", or any "):
                    asked = dict((*setting, ("faults.crash", int(budget.split()[0]))))
                    for name in FAILS.values():
                        assert neverlost.check(asked, properties=[name], workers=1).verdict == "holds", (row, part)
                        checked += 1
                continue
            said = re.fullmatch(r"(.+?) after (\d) stops? of (?:a broker|brokers)(?: \((\d) impaired at once\))?", part)
            assert said is not None, part
            limits = dict((*setting, ("faults.crash", int(said[2])), ("faults.at_once", int(said[3] or 1))))
            for failure in said[1].split(" and "):
                assert neverlost.check(limits, properties=[FAILS[failure]], workers=1).verdict == "violated", (row, part)
                checked += 1
    assert checked >= 6


FLUSHED = """
kafka.version = "3.9"
replication.factor = 3
min.insync.replicas = 2
bounds.records = 1
acks = ["1", "all"]
flush.messages = ["default", "1"]
faults.lossy_crash = ["any"]
properties = ["acked-never-lost"]
"""


def test_flushing_makes_one_acknowledgement_no_safe_setting(tmp_path: Path) -> None:
    """The leader has the record on its disk, loses power before a follower fetched it, and another broker is elected."""
    (tmp_path / "matrix.toml").write_text(FLUSHED)
    found = neverlost.sweep(tmp_path / "matrix.toml", workers=1).document
    said = {row["setting"]["flush.messages"]: row["says"] for row in found["fault_tolerance"] if row["setting"]["acks"] == "1"}
    assert said["default"] == "loses acknowledged records after 1 lossy crash" and "survives" not in said["1"]
    assert not any("acks=1" in each for each in found["boundary"][0]["maximal_safe"])


def test_the_stops_that_availability_speaks_of_are_not_all_at_once(tmp_path: Path) -> None:
    """Three replicas, a minimum of two: a record is lost after three stops, of which no three are at once."""
    (tmp_path / "matrix.toml").write_text(
        'kafka.version = "3.9"\nreplication.factor = 3\nmin.insync.replicas = 2\nbounds.records = 1\n'
        'faults.crash = [0, 1, 2, 3]\nproperties = ["acked-never-lost"]\n'
    )
    (row,) = neverlost.sweep(tmp_path / "matrix.toml", workers=1).document["fault_tolerance"]
    said = re.search(r"loses acknowledged records after 3 stops of brokers \((\d) impaired at once\)", row["says"])
    assert said is not None and int(said[1]) < 3
