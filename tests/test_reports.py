"""Rules equal their matrix and break when a cell is flipped; reports and gate files say what the result says."""

from __future__ import annotations

import json
import random
import re
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from checker.rule import Atom, Place, prove, smallest_rule
from checker.sweep import Sweep
from reports import gate, sweeping
from reports.boundary import Boundary
from reports.matrix import Matrix
from reports.page import report_data, write_reports
from tests.test_sweep import found


@pytest.fixture(scope="module")
def result() -> tuple[Matrix, Sweep, dict[str, Any]]:
    matrix, sweep = found()
    return matrix, sweep, sweeping.document(matrix, sweep, "memory", True)


ROWS = [
    {"size": size, "minimum": minimum, "lost": lost, "kind": kind, "version": Place(version, ("0.9", "1.0")[version])}
    for size in (1, 2, 3)
    for minimum in (1, 2, 3)
    for lost in (0, 1, 2)
    for kind in ("one", "all", True)
    for version in (0, 1)
]


@pytest.mark.parametrize(
    ("truth", "text"),
    [
        (lambda row: row["lost"] >= row["minimum"], "lost >= minimum"),
        (lambda row: row["kind"] == "one" or row["lost"] == 2, "lost >= 2 or kind = one"),
        (lambda row: row["version"] < 1 and row["size"] > 1, "size >= 2 and version <= 0.9"),
        (lambda row: False, "never"),
        (lambda row: True, "always"),
    ],
)
def test_known_rules_are_found_and_proved(truth: Any, text: str) -> None:
    rule = smallest_rule(ROWS, [truth(row) for row in ROWS])
    assert str(rule) == text and rule.proved and rule.smallest
    assert all(rule.holds(row) == truth(row) for row in ROWS)


def test_a_rule_equals_any_matrix() -> None:
    for seed in range(4):
        chance = random.Random(seed)
        rows = ROWS[:: 1 + seed]
        marks = [chance.random() < 0.3 for _ in rows]
        rule = smallest_rule(rows, marks)
        assert rule.proved and [rule.holds(row) for row in rows] == marks


def test_one_flipped_cell_refutes_the_rule(result: tuple[Matrix, Sweep, dict[str, Any]]) -> None:
    matrix, sweep, _ = result
    boundary = Boundary(matrix, sweep, 0)
    rule, cells = boundary.rule()
    marks = [each == "violated" for each in boundary.verdicts]
    assert rule.proved and cells == 72
    for flipped in range(0, cells, 7):
        other = [mark != (number == flipped) for number, mark in enumerate(marks)]
        assert not prove(rule.terms, boundary.rows, other)
    assert not prove([*rule.terms, (Atom("acks", "=", "all"),)], boundary.rows, marks)


def test_edges_tolerance_and_siblings(result: tuple[Matrix, Sweep, dict[str, Any]]) -> None:
    _, _, document = result
    (boundary,) = document["boundary"]
    assert boundary["property"] == "acked-never-lost" and boundary["maximal_safe"] and boundary["minimal_unsafe"]
    lines = {json.dumps(each["setting"]): each["says"] for each in boundary["fault_tolerance"]}
    assert len(lines) == 24 and any(says.startswith("violated at 0") for says in lines.values())
    for cell in document["cells"]:
        for each in cell["properties"]:
            if "sibling" in each:
                other = next(one for one in document["cells"] if one["id"] == each["sibling"]["id"])
                assert other["verdict"] == "holds"
                changed = {key for key in cell["cell"] if cell["cell"][key] != other["cell"][key]}
                assert changed == set(each["sibling"]["changed"]) and not any(key.startswith("faults.") for key in changed)
                assert 0 < each["sibling"]["parts"]["step"] <= each["steps"]


def test_the_page_is_self_contained_and_complete(result: tuple[Matrix, Sweep, dict[str, Any]], tmp_path: Path) -> None:
    matrix, sweep, _ = result
    traces = sweeping.save_traces(sweep, str(tmp_path))
    document = sweeping.document(matrix, sweep, "memory", True, traces)
    write_reports(tmp_path, document)
    page = (tmp_path / "report.html").read_text()
    assert not re.search(r"""(?:src|href)\s*=\s*["'](?!data:)|@import|url\(|https?://""", page)
    packed = re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.DOTALL)
    assert packed is not None
    data = json.loads(packed[1])
    assert [each["verdict"] for each in data["cells"]] == [each["verdict"] for each in document["cells"]]
    for cell, shown in zip(document["cells"], data["cells"], strict=True):
        for each, entry in zip(cell["properties"], shown["properties"], strict=True):
            assert cell["id"] in entry["says"] and each["verdict"] in {entry["verdict"]}
            if each["verdict"] == "violated":
                story = data["stories"][entry["story"]]
                assert len(story["frames"]) == each["steps"] + 1 and any(lane["lost"] for lane in story["frames"][-1]["lanes"])
    assert len(data["stories"]) < len([each for each in document["cells"] if each["verdict"] == "violated"])
    markdown = (tmp_path / "report.md").read_text()
    assert document["boundary"][0]["rule"]["violated_iff"] in markdown and document["id"] in markdown


def test_text_from_a_matrix_cannot_leave_its_place(result: tuple[Matrix, Sweep, dict[str, Any]], tmp_path: Path) -> None:
    _, _, document = result
    hostile = document | {"matrix": document["matrix"] | {"name": "</script><script>alert(1)</script>", "says": "<b>x"}}
    write_reports(tmp_path, hostile)
    page = (tmp_path / "report.html").read_text()
    assert "<script>alert" not in page and "<b>x" not in page
    assert report_data(tmp_path, hostile)["title"] in json.loads(page.split('id="data">')[1].split("</script>")[0])["title"]


def test_junit_counts_and_names(result: tuple[Matrix, Sweep, dict[str, Any]]) -> None:
    _, _, document = result
    suite = ElementTree.fromstring(gate.junit(document, None))[0]
    cases = suite.findall("testcase")
    assert len(cases) == int(suite.get("tests", "")) == 72
    assert len(suite.findall("testcase/failure")) == int(suite.get("failures", "")) == document["verdicts"]["violated"]
    assert len({case.get("name") for case in cases}) == 72
    baseline = json.loads(json.dumps(document))
    baseline["cells"][5]["properties"][0]["verdict"] = "inconclusive"
    gone = baseline["cells"].pop(7)
    changed = sweeping.changes(baseline, document)
    assert [each["is"] for each in changed] == [document["cells"][5]["verdict"], gone["verdict"]]
    suite = ElementTree.fromstring(gate.junit(document, changed))[0]
    failed = [case.get("name") for case in suite.findall("testcase") if case.find("failure") is not None]
    assert failed == [sweeping.cell_name(document["cells"][5]), sweeping.cell_name(document["cells"][7])]


def test_sarif_has_what_its_schema_demands(result: tuple[Matrix, Sweep, dict[str, Any]]) -> None:
    _, _, document = result
    (run,) = gate.sarif(document, None)["runs"]
    rules = run["tool"]["driver"]["rules"]
    assert len(run["results"]) == document["verdicts"]["violated"]
    root = Path(__file__).parent.parent
    for each in run["results"]:
        assert rules[each["ruleIndex"]]["id"] == each["ruleId"] and each["level"] in ("none", "note", "warning", "error")
        (location,) = each["locations"]
        place = location["physicalLocation"]
        lines = (root / place["artifactLocation"]["uri"]).read_text().splitlines()
        assert "def acked_never_lost" in lines[place["region"]["startLine"] - 1]
        assert each["message"]["text"]
    assert "No verdict changed." in gate.summary(document, [])
