"""CONTRIBUTING promises one file for most additions: a toy of each kind is added to a copy, works, and its files counted."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.support.program import ROOT

ROOMS = ("model", "specs", "checker", "reports")
SMALL = ("--set", "replication.factor=2", "--set", "bounds.records=1")


class Copy:
    """The sources laid out as they are installed, with what was changed in them."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.touched = folder / "neverlost", set[str]()
        left_out = shutil.ignore_patterns("__pycache__", "published", "decisions", "api")
        for room in ROOMS:
            shutil.copytree(ROOT / room, self.folder / room, ignore=left_out)
        shutil.copytree(ROOT / "reports" / "api", self.folder, dirs_exist_ok=True, ignore=shutil.ignore_patterns("__pycache__"))

    def new(self, place: str, text: str) -> None:
        """A file that was not there."""
        assert not (self.folder / place).exists()
        (self.folder / place).write_text(text)
        self.touched.add(place)

    def change(self, place: str, old: str, new: str) -> None:
        """One place in a file, said otherwise."""
        text = (self.folder / place).read_text()
        assert text.count(old) == 1, f"{old!r} in {place}"
        (self.folder / place).write_text(text.replace(old, new))
        self.touched.add(place)

    def run(self, *arguments: str, statuses: tuple[int, ...] = (0,)) -> str:
        """What the changed program prints."""
        environment = os.environ | {"PYTHONPATH": str(self.folder.parent), "NO_COLOR": "1"}
        command = [sys.executable, "-m", "neverlost", *arguments]
        done = subprocess.run(command, cwd=self.folder.parent, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode in statuses, done.stderr
        return done.stdout

    def document(self, *arguments: str, statuses: tuple[int, ...] = (0,)) -> dict[str, Any]:
        """Its document."""
        found: dict[str, Any] = json.loads(self.run(*arguments, "--json", "-", statuses=statuses))
        return found


@pytest.fixture
def copy(tmp_path: Path) -> Copy:
    return Copy(tmp_path)


def test_a_format_is_one_file(copy: Copy) -> None:
    code = 'FILE = "toy.txt"\n\n\ndef render(sweep):\n    return f"{len(sweep.document[\'cells\'])} cells\\n"\n'
    copy.new("reports/ci/formats/toy.py", code)
    (copy.folder.parent / "toy.toml").write_text(
        'model = "kip-320"\n"replication.factor" = "1..2"\nproperties = ["weak-isr"]\n'
    )
    copy.run("sweep", "toy.toml", "--out", "out")
    assert (copy.folder.parent / "out" / "toy.txt").read_text() == "2 cells\n"
    assert len(copy.touched) == 1


def test_a_property_is_one_file(copy: Copy) -> None:
    copy.new(
        "specs/properties/toy.py",
        "from neverlost.specs.property import Property\n\n"
        "PROPERTY = Property(\n    name='toy',\n    says='broker 1 leads',\n    condition=lambda k, s: s.leader == 0,\n"
        "    needs=('leader', 'is_fenced'),\n    violated_by='kraft',\n)\n",
    )
    found = copy.document(
        "check", "--set", "model=kraft", *SMALL, "--set", "faults.leader_move=1", "--property", "toy", statuses=(12,)
    )
    assert [(each["name"], each["verdict"], each["steps"]) for each in found["properties"]] == [("toy", "violated", 1)]
    assert len(copy.touched) == 1


def test_a_version_is_one_file(copy: Copy) -> None:
    copy.new(
        "model/versions/toy.py",
        "from dataclasses import replace\n\nfrom neverlost.model.versions.kip320 import MODEL as KIP_320\n\n"
        "MODEL = replace(KIP_320, name='toy', summary='a toy')\n",
    )
    assert copy.document("explore", "toy", "--set", "replication.factor=2")["states"]["distinct"] == 5973
    assert "toy" in [each["name"] for each in copy.document("models")["models"]]
    assert len(copy.touched) == 1


def test_a_mechanism_is_its_declaration_and_its_clause(copy: Copy) -> None:
    copy.change(
        "model/kraft/mechanisms.py",
        "MECHANISMS: tuple[Mechanism, ...] = (\n",
        "MECHANISMS: tuple[Mechanism, ...] = (\n    Mechanism('toy-rule', (0, 8), 'a toy', 'the operator moves no leader'),\n",
    )
    copy.change(
        "model/kraft/controller/operator.py",
        '    yield "another broker", s.leader != elected\n',
        '    yield "another broker", s.leader != elected\n    yield "toy", k.not_(s.toy_rule)\n',
    )
    keys = ("explore", "kraft", *SMALL, "--set", "faults.leader_move=1", "--set")
    on, off = (copy.document(*keys, f"mechanism.toy-rule={each}") for each in ("on", "off"))
    assert "controller_move_leader" not in on["fired"] and off["fired"]["controller_move_leader"] > 0
    assert "toy-rule (0.8; a toy): the operator moves no leader" in copy.run("models")
    assert len(copy.touched) == 2


def test_a_fault_is_its_declaration_and_its_action(copy: Copy) -> None:
    copy.change(
        "model/kraft/faults.py",
        "FAULTS = (\n",
        "TOY = Fault('toy', 'toy', 'toys', 'a toy may break', impairs=NOTHING)\n\nFAULTS = (\n    TOY,\n",
    )
    action = (
        '@action(consumer="consumer", says="the consumer forgets its position", fault="toy")\n'
        "def consumer_forget(k: Primitives, s: View, consumer: int) -> Clauses:\n"
        '    """A toy."""\n    yield from may_strike(k, s, TOY)\n    strike(s, TOY)\n    s.consumer_position = 0\n\n\n'
    )
    place = "model/kraft/consumer.py"
    copy.change(place, "CONSUMER_ACTIONS = (", action + "CONSUMER_ACTIONS = (consumer_forget, ")
    copy.change(place, "import CONSUMER_CRASH\n", "import CONSUMER_CRASH, TOY\n")
    found = copy.document("check", "--set", "model=kraft", *SMALL, "--set", "faults.consumer_crash=1", "--set", "faults.toy=1")
    assert found["config"]["faults.toy"] == 1 and found["fired"]["consumer_forget"] > 0
    assert "faults.toy" in copy.run("models")
    (copy.folder.parent / "toy.toml").write_text(
        'model = "kraft"\n"replication.factor" = 2\n"bounds.records" = 1\n"faults.consumer_crash" = 1\n"faults.toy" = "0..1"\n'
        'properties = ["acked-never-lost"]\n'
    )
    assert "survives any 1 toy" in copy.run("sweep", "toy.toml")
    assert len(copy.touched) == 2
