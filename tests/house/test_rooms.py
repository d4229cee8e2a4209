"""The rooms: imports go one way, third parties stay in the files that are about them, words stay in their rooms."""

from __future__ import annotations

import ast
import re
import sys
from functools import cache
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
        "checker/engine/proof",
        "checker/questions/sweep/boundary_rule.py",
    ),
    "pyspark": ("checker/engine/spark",),
    "pyarrow": (
        "checker/engine/storage",
        "checker/engine/disk",
        "checker/engine/spark",
        "reports/results/table.py",
    ),
    "networkx": ("checker/engine/search/graph/state_graph.py", "reports/page/state_graph.py"),
    "yaml": ("specs/inputs/syntax/documents.py",),
    "rich": ("reports",),
    "typer": ("reports/program.py", "reports/command_line", "reports/commands"),
    "jpype": ("checker/kafka/conform/java/jvm.py",),
    "confluent_kafka": ("checker/kafka/cluster/clients.py",),
    "kafka": ("checker/kafka/cluster/look.py",),
    "google_crc32c": ("checker/kafka",),
    "jinja2": ("reports/page",),
    "pandas": ("reports/results/table.py",),
}
"""The files and folders that may import a third party."""

REGISTRIES = ("properties", "commands", "protocols", "lemmas", "formats")
"""One file for each entry."""

OURS = re.compile(rf"neverlost\.({'|'.join(ROOMS)})(\.[a-z_0-9]+)*\.?")

SOURCES = sorted(path for room in ROOMS for path in (ROOT / room).rglob("*.py"))


def imported(path: Path) -> set[str]:
    """The full names of the modules that a file imports, in functions too, and of those of ours that it has in a text.

    A module that is imported by a text is in it whole, or by a prefix such as that of `f"neverlost.reports.commands.{name}"`.
    """
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {each.name for each in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found |= {f"{node.module}.{each.name}" for each in node.names}
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and OURS.fullmatch(node.value):
            found.add(node.value.rstrip("."))
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


@cache
def edges() -> dict[Path, set[Path]]:
    """The files of ours that each file imports; of a package, its `__init__.py`."""
    modules = {".".join(("neverlost", *path.relative_to(ROOT).with_suffix("").parts)): path for path in SOURCES}
    known = {name.removesuffix(".__init__"): path for name, path in modules.items()}
    names = {path: {each if each in known else each.rpartition(".")[0] for each in imported(path)} for path in SOURCES}
    return {path: {known[each] for each in found & known.keys()} for path, found in names.items()}


def knots(graph: nx.DiGraph) -> list[list[str]]:
    """What imports each other, in a circle of two or more."""
    return [sorted(map(str, each)) for each in nx.strongly_connected_components(graph) if len(each) > 1]


def test_no_import_goes_round_in_a_circle() -> None:
    assert knots(nx.DiGraph(edges())) == []


@pytest.mark.parametrize("room", ROOMS)
def test_no_folder_imports_one_that_imports_it(room: str) -> None:
    """Folders with their own files only: what a file of one imports is above it nowhere."""
    folders = nx.DiGraph()
    for path, others in edges().items():
        here = path.parent.relative_to(ROOT)
        there = {each.parent.relative_to(ROOT) for each in others}
        folders.add_edges_from((here, each) for each in there if here.parts[0] == each.parts[0] == room and each != here)
    assert len(folders) > 5 and knots(folders) == []


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


def word(alternatives: str) -> re.Pattern[str]:
    """One of some words, also in a name that `_` joins of several."""
    return re.compile(f"(?<![a-z0-9])({alternatives})(?![a-z0-9])", re.IGNORECASE)


def test_protocol_words_stay_out_of_the_engine_and_search_words_out_of_the_model() -> None:
    protocol, searching = word("isr|leader|high_watermark|acks"), word("frontier|visited|fingerprint")
    assert protocol.search("leader_ask_to_expand_isr") and protocol.search("the ISR") and not protocol.search("misread")
    for path in SOURCES:
        room = path.relative_to(ROOT).parts[0]
        if path.is_relative_to(ROOT / "checker" / "engine"):
            assert not protocol.search(path.read_text()), path
        if room == "model":
            assert not searching.search(path.read_text()), path
