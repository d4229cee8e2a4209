"""The rooms: imports go one way, third parties stay in the files that are about them, words stay in their rooms."""

from __future__ import annotations

import ast
import re
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
ROOMS = ("model", "specs", "checker", "reports")
THIRD_PARTY = {
    "numpy": ("model/columns.py", "checker/*"),
    "z3": (
        "model/terms.py",
        "model/open_terms.py",
        "checker/open_reading.py",
        "checker/bmc.py",
        "checker/induction*.py",
        "checker/mining*.py",
        "checker/certificate.py",
        "checker/obligations.py",
        "checker/rule.py",
    ),
    "pyspark": ("checker/spark*.py",),
    "pyarrow": ("checker/storage.py", "checker/store*.py", "checker/spark*.py", "checker/dataset*.py"),
    "networkx": ("checker/state_graph.py", "reports/graph.py"),
    "rich": ("reports/*", "reports/commands/*", "reports/observed/*"),
    "typer": ("reports/*", "reports/commands/*"),
    "confluent_kafka": ("reports/cluster/clients.py",),
    "jinja2": ("reports/*", "reports/commands/*"),
}
SOURCES = sorted(path for room in ROOMS for path in (ROOT / room).rglob("*.py"))


def imported(path: Path) -> set[str]:
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {each.name.split(".")[0] for each in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found.add(node.module.split(".")[0])
    return found


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(ROOT)))
def test_imports_go_one_way(path: Path) -> None:
    place = path.relative_to(ROOT)
    room = ROOMS.index(place.parts[0])
    names = imported(path)
    assert not names & set(ROOMS[room + 1 :]), "a room imports only those before it"
    for name in names - set(ROOMS) - set(sys.stdlib_module_names):
        allowed = THIRD_PARTY.get(name)
        if allowed is None:
            assert place.parts[0] in ("checker", "reports"), f"{name} in {place}"
        else:
            assert any(place.match(pattern) for pattern in allowed), f"{name} in {place}"


def test_protocol_words_stay_out_of_the_checker_and_search_words_out_of_the_model() -> None:
    protocol = re.compile(r"\b(isr|leader|leader_epoch|high_watermark|acks)\b", re.IGNORECASE)
    searching = re.compile(r"\b(frontier|visited|fingerprint)\b", re.IGNORECASE)
    for path in SOURCES:
        room = path.relative_to(ROOT).parts[0]
        if room == "checker":
            assert not protocol.search(path.read_text()), path
        if room == "model":
            assert not searching.search(path.read_text()), path
