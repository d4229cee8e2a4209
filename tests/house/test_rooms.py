"""The rooms: imports go one way, third parties stay in the files that are about them, words stay in their rooms."""

from __future__ import annotations

import ast
import re
import sys
from pathlib import Path

import networkx as nx
import pytest

ROOT = Path(__file__).resolve().parents[2]
ROOMS = ("model", "specs", "checker", "reports")
THIRD_PARTY = {
    "numpy": ("model/interpreters/columns.py", "model/interpreters/machine_code.py", "checker"),
    "llvmlite": ("model/interpreters/llvm.py",),
    "z3": (
        "model/interpreters/terms.py",
        "model/interpreters/unbounded_terms.py",
        "model/interpreters/quantified_terms.py",
        "checker/prove",
        "checker/campaign/boundary_rule.py",
    ),
    "pyspark": ("checker/spark",),
    "pyarrow": ("checker/storage", "checker/disk", "checker/spark", "checker/atlas", "reports/api/table.py"),
    "networkx": ("checker/search/graph/state_graph.py", "reports/page/state_graph.py"),
    "yaml": ("specs/kafka_files/documents.py",),
    "hcl2": ("specs/kafka_files/formats/terraform.py",),
    "lark": ("specs/kafka_files/formats/terraform.py",),
    "rich": ("reports",),
    "typer": ("reports/program.py", "reports/options.py", "reports/commands"),
    "jpype": ("checker/kafka/conform/classes/jvm.py",),
    "confluent_kafka": ("checker/kafka/cluster/clients.py",),
    "kafka": ("checker/kafka/cluster/look.py",),
    "google_crc32c": ("checker/kafka",),
    "jinja2": ("reports/page",),
    "pandas": ("reports/api/table.py",),
}
"""The files and folders that may import a third party."""

REGISTRIES = ("properties", "commands", "versions", "lemmas", "formats", "documents", "api", "specs")
"""One file for each entry; in `specs` itself, for each kind of specification."""

SOURCES = sorted(path for room in ROOMS for path in (ROOT / room).rglob("*.py"))


def imported(path: Path) -> set[str]:
    """The full names of the modules that a file imports."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {each.name for each in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found |= {f"{node.module}.{each.name}" for each in node.names}
    return found


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(ROOT)))
def test_imports_go_one_way(path: Path) -> None:
    place = path.relative_to(ROOT)
    room = ROOMS.index(place.parts[0])
    for name in imported(path):
        top, _, rest = name.partition(".")
        if top == "neverlost":
            other = rest.split(".")[0] if rest.split(".")[0] in ROOMS else "reports"  # a name of the interface
            assert other not in ROOMS[room + 1 :], f"{name} in {place}: a room imports only those before it"
        elif top not in sys.stdlib_module_names:
            allowed = THIRD_PARTY.get(top, ("checker", "reports"))
            assert any(place.is_relative_to(each) for each in allowed), f"{name} in {place}"


def modules() -> dict[str, Path]:
    return {".".join(("neverlost", *path.relative_to(ROOT).with_suffix("").parts)): path for path in SOURCES}


def test_no_import_goes_round_in_a_circle() -> None:
    graph = nx.DiGraph()
    known = modules()
    for module, path in known.items():
        for name in imported(path):
            target = name if name in known else name.rpartition(".")[0]
            if target in known:
                graph.add_edge(module, target)
    assert list(nx.simple_cycles(graph)) == []


def test_every_folder_is_a_room_and_no_room_is_full() -> None:
    for folder in sorted({path.parent for path in SOURCES}):
        files = [path for path in SOURCES if path.parent == folder and path.name != "__init__.py"]
        assert len(files) <= 13 or folder.name in REGISTRIES, f"{folder.relative_to(ROOT)} has {len(files)} files"
        assert ast.get_docstring(ast.parse((folder / "__init__.py").read_text())), (
            f"{folder.relative_to(ROOT)} says what it holds"
        )


def test_the_package_is_links_to_the_rooms() -> None:
    """So a module is called `neverlost.` and its path, and every tool that reads Python finds it there."""
    package = ROOT / ".package" / "neverlost"
    links = {each.name: str(each.readlink()) for each in package.iterdir() if each.is_symlink()}
    assert links == {room: f"../../{room}" for room in ROOMS}
    assert {each.name for each in package.iterdir() if each.is_file()} == {"__init__.py", "__main__.py", "py.typed"}


def test_protocol_words_stay_out_of_the_checker_and_search_words_out_of_the_model() -> None:
    protocol = re.compile(r"\b(isr|leader|leader_epoch|high_watermark|acks)\b", re.IGNORECASE)
    searching = re.compile(r"\b(frontier|visited|fingerprint)\b", re.IGNORECASE)
    for path in SOURCES:
        room = path.relative_to(ROOT).parts[0]
        if room == "checker" and "kafka" not in path.relative_to(ROOT).parts:
            assert not protocol.search(path.read_text()), path
        if room == "model":
            assert not searching.search(path.read_text()), path
