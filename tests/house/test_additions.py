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

from neverlost.checker.kafka.history.history import format_history
from tests.support.histories import history, plain
from tests.support.program import ROOT

ROOMS = ("model", "specs", "checker", "reports")
SMALL = ("--set", "replication.factor=2", "--set", "bounds.records=1")


class Copy:
    """The sources laid out as they are installed, with what was changed in them."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.touched = folder / "neverlost", set[str]()
        left_out = shutil.ignore_patterns("__pycache__", "published", "decisions")
        for room in ROOMS:
            shutil.copytree(ROOT / room, self.folder / room, ignore=left_out)
        for file in (ROOT / ".package" / "neverlost").glob("*.py"):
            shutil.copy(file, self.folder)

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
        """What the changed program prints; its error where it must refuse."""
        environment = os.environ | {"PYTHONPATH": str(self.folder.parent), "NO_COLOR": "1"}
        command = [sys.executable, "-m", "neverlost", *arguments]
        done = subprocess.run(command, cwd=self.folder.parent, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode in statuses, done.stderr
        return done.stderr if 64 in statuses else done.stdout

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
        "model/protocols/toy.py",
        "from dataclasses import replace\n\nfrom neverlost.model.protocols.kip320 import MODEL as KIP_320\n\n"
        "MODEL = replace(KIP_320, name='toy', summary='a toy')\n",
    )
    assert copy.document("explore", "toy", "--set", "replication.factor=2")["states"]["distinct"] == 5973
    assert "toy" in [each["name"] for each in copy.document("models")["models"]]
    assert len(copy.touched) == 1


def test_a_mechanism_is_its_declaration_and_its_clause(copy: Copy) -> None:
    copy.change(
        "model/kraft/mechanisms.toml",
        "[partition-epoch-check]\n",
        '[toy-rule]\nsince = [0, 8]\nsource = "a toy"\nsays = "the operator moves no leader"\n\n[partition-epoch-check]\n',
    )
    copy.change(
        "model/kraft/controller/operator.py",
        '    yield "another broker", s.leader != leader\n',
        '    yield "another broker", s.leader != leader\n    yield "toy", k.not_(s.toy_rule)\n',
    )
    keys = ("explore", "kraft", *SMALL, "--set", "faults.leader_move=1", "--set")
    on, off = (copy.document(*keys, f"mechanism.toy-rule={each}") for each in ("on", "off"))
    assert "controller_move_leader" not in on["fired"] and off["fired"]["controller_move_leader"] > 0
    assert "toy-rule (0.8; a toy): the operator moves no leader" in copy.run("models")
    assert len(copy.touched) == 2


FIRE = """
[fire]
one = "fire"
many = "fires"
says = "a broker may burn down"
done = "lose-disk"
ends = "lost"
seen = "fire at {broker}"

[crash]
"""
BURN = '''@action(broker="replica", says="broker {broker} burns down", fault="fire")
def broker_burn(k: Primitives, s: View, broker: int) -> Clauses:
    """A toy."""
    yield from fault_enabled(k, s, BY_NAME["fire"], broker)
    yield "broker is running", s.is_running[broker]
    record_fault(s, BY_NAME["fire"], broker)
    truncate_to(k, s, broker, 0)
    stop(k, s, broker)


STOP_ACTIONS = (
    broker_burn,
'''


def test_a_fault_is_its_declaration_and_its_action(copy: Copy, tmp_path: Path) -> None:
    """And it is everywhere: keys, check, sweep, tolerance, a plan for a cluster, and what is said of a history."""
    copy.change("model/faults.toml", "[crash]\n", FIRE)
    copy.change("model/kraft/lifecycle/stops.py", "STOP_ACTIONS = (\n", BURN)
    copy.change("model/kraft/lifecycle/stops.py", "import CLEAN_STOP, ", "import BY_NAME, CLEAN_STOP, ")
    assert len(copy.touched) == 2
    acked, keys = ("--property", "acked-never-lost"), ("--set", "model=kraft", *SMALL, "--set", "acks=1")
    found = copy.document("check", *keys, "--set", "faults.fire=1", *acked, "--out", "out", statuses=(12,))
    assert found["properties"][0]["faults"] == {"fire": 1}
    plan = copy.run("reproduce", "out/acked-never-lost.itf.json", "--dry-run")
    assert "1 burns down" in plan and "kafka-storage.sh format" in plan
    (tmp_path / "toy.toml").write_text(
        'model = "kraft"\n"replication.factor" = 1\n"bounds.records" = 1\n"faults.fire" = "0..1"\n'
        'properties = ["single-leader-per-epoch"]\n'
    )
    assert "survives any 1 fire" in copy.run("sweep", "toy.toml")
    asked = ("--set", "model=kraft", "--set", "replication.factor=1", "--set", "defects=fixed", "--also", "fire=any", *acked)
    (rows,) = copy.document("tolerance", *asked, statuses=(12,))["tolerance"].values()
    assert {(each["faults"]["fire"], each["verdict"]) for each in rows} == {("any", "violated")}
    (tmp_path / "history.jsonl").write_text(format_history(history(plain())))
    intervals = copy.document("observe", "history.jsonl")["intervals"]
    lost_by = {reason for each in intervals for exposure in each["acknowledged"] for reason in exposure["lost_by"]}
    assert lost_by >= {"fire at 2", "disk loss of 2"}
