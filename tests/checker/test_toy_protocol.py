"""The engine knows no protocol: where none of the package can be imported, every engine decides a toy one, and counts alike."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.house.test_rooms import ROOT, edges
from tests.support.two_phase_commit import counted

ENGINE = (
    "checker/engine/reached_states_system.py",
    "checker/engine/source_definitions.py",
    "checker/engine/digest.py",
    "checker/engine/kept_digests.py",
    "checker/engine/disk",
    "checker/engine/engines",
    "checker/engine/evidence",
    "checker/engine/host",
    "checker/engine/semantic_digest.py",
    "checker/engine/compiled",
    "checker/engine/outcome.py",
    "checker/engine/proof",
    "checker/engine/search",
    "checker/engine/spark",
    "checker/engine/storage",
    "model/interpreters",
    "model/kernel.py",
    "model/system.py",
)
"""What explores, proves and counts."""

BELOW = (
    "model/any_number.py",
    "model/plain.py",
    "specs/errors.py",
    "specs/lemma.py",
    "specs/property.py",
)
"""What the engine stands on: kinds of values, none of which belongs to a protocol."""

HOOK = """
import sys

ALLOWED = {allowed}

class Blocked:
    def find_spec(self, name, path=None, target=None):
        is_allowed = any(f"{{each}}.".startswith(f"{{name}}.") or f"{{name}}.".startswith(f"{{each}}.") for each in ALLOWED)
        if name.partition(".")[0] == "neverlost" and not is_allowed:
            raise ImportError(f"{{name}} is no part of the engine")

sys.meta_path.insert(0, Blocked())
"""
"""What Python runs first in every process of the program, workers of every kind too."""

STATES = counted(5)


def without_protocols(place: Path, what: str) -> dict[str, Any]:
    """What the program says where only the engine can be imported."""
    allowed = [f"neverlost.{each.removesuffix('.py').replace('/', '.')}" for each in ENGINE + BELOW]
    (place / "sitecustomize.py").write_text(HOOK.format(allowed=allowed))
    environment = os.environ | {"PYTHONPATH": f"{place}{os.pathsep}{ROOT}", "XDG_CACHE_HOME": str(place / "cache")}
    command = [sys.executable, "-m", "tests.support.without_protocols", what, str(place)]
    done = subprocess.run(command, cwd=place, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def test_the_count_by_hand_is_the_published_one() -> None:
    """Of Lamport's module TwoPhase with three participants."""
    assert counted(3) == 288


def test_every_engine_decides_a_protocol_of_its_own(tmp_path: Path) -> None:
    found = without_protocols(tmp_path, "here")
    assert found.pop("ints") == [STATES]
    orbits, *rest = found.pop("compiled orbits")
    assert orbits < STATES and rest == [STATES, "holds"]
    for name in ("columns", "compiled", "on disk"):
        assert found.pop(name) == [STATES, None, "holds"], name
    assert found == {
        "rounds": True,  # compiled code was really used
        "counterexample": 5,  # two prepare, two votes are received, the manager commits
        "bounded": [["violated", 5], ["inconclusive", None]],
        "proofs": ["holds", "inconclusive"],  # with every lemma, and with the first one only
    }


@pytest.mark.slow
def test_spark_decides_it_too(tmp_path: Path) -> None:
    found = without_protocols(tmp_path, "spark")
    assert found == {"spark": [STATES, None, "holds"]}


@pytest.mark.parametrize("name", ["kraft", "versions", "properties", "configuration"])
def test_what_is_blocked_cannot_be_imported(tmp_path: Path, name: str) -> None:
    """Or the tests above would say nothing."""
    room = "model" if name in ("kraft", "versions") else "specs"
    (tmp_path / "sitecustomize.py").write_text(HOOK.format(allowed=["neverlost.model.kernel", "neverlost.specs.property"]))
    environment = os.environ | {"PYTHONPATH": f"{tmp_path}{os.pathsep}{ROOT}"}
    program = f"import neverlost.model.kernel, neverlost.specs.property, neverlost.{room}.{name}"
    done = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=False)
    assert done.stderr.endswith(f"neverlost.{room}.{name} is no part of the engine\n")


def test_whatever_the_engine_imports_belongs_to_no_protocol() -> None:
    """All that is reached from its files, imports inside functions too."""
    reached: set[Path] = set()
    waiting = [path for path in edges() if any(path.is_relative_to(ROOT / each) for each in ENGINE)]
    assert len(waiting) > 60
    while waiting:
        path = waiting.pop()
        reached.add(path)
        waiting += edges()[path] - reached
    others = {str(path.relative_to(ROOT)) for path in reached if not any(path.is_relative_to(ROOT / each) for each in ENGINE)}
    assert {each for each in others if not each.endswith("__init__.py")} == {*BELOW}
    assert all(not edges()[ROOT / each] for each in others if each.endswith("__init__.py"))
