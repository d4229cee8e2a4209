"""Rules equal their matrix and break when a cell is flipped; reports and gate files say what the result says."""

from __future__ import annotations

import json
import random
import re
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import jsonschema
import pytest
import xmlschema

import neverlost
from neverlost.checker.questions.sweep.boundary_rule import Atom, OrderedLabel, prove, smallest_rule
from neverlost.checker.questions.sweep.sweep import Sweep
from neverlost.model.protocols import models
from neverlost.reports.bundle.seal import write_traces
from neverlost.reports.ci.formats import junit, markdown, sarif
from neverlost.reports.ci.verdicts.gate_verdict import GateResult
from neverlost.reports.documents import sweep_and_baseline as sweeping
from neverlost.reports.documents.boundary import Boundary
from neverlost.reports.output import gate
from neverlost.reports.page.render import report_data, write_reports
from neverlost.reports.questions.sweep.api import counterexamples
from neverlost.specs.configuration.matrix import Matrix, read_matrix
from neverlost.specs.errors import InputError
from neverlost.specs.properties import properties
from tests.checker.search.test_sweep import found

ROOT = Path(__file__).resolve().parents[2]
DATA = ROOT / "tests" / "data"


@pytest.fixture(scope="module")
def result() -> tuple[Matrix, Sweep, dict[str, Any]]:
    matrix, sweep = found()
    return matrix, sweep, sweeping.document(matrix, sweep, "memory", True)


ROWS = [
    {"size": size, "minimum": minimum, "lost": lost, "kind": kind, "version": OrderedLabel(version, ("0.9", "1.0")[version])}
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


LIMITS = """
properties = ["acked-never-lost"]
model = "kraft"
topic = { replication.factor = 2, min.insync.replicas = [1, 2] }
cluster = { defects = "fixed" }
faults = { out = [0, "any:1", "any"], data_loss = [0, "any:1", "any"] }
bounds = { records = 1 }
"""


def test_the_rule_of_faults_without_number_bounds_them_from_below_only(tmp_path: Path) -> None:
    """More faults are never safer: no rule says how many are too few, and none compares a fault with a setting."""
    (tmp_path / "limits.toml").write_text(LIMITS)
    found = neverlost.sweep(tmp_path / "limits.toml", out=tmp_path / "out", workers=1).document
    (boundary,) = found["boundary"]
    assert boundary["rule"]["proved"] and "faults.data_loss >= any:1" in boundary["rule"]["violated_iff"]
    assert not re.search(r"faults\.\w+ (<|=|!|>= min|> )", boundary["rule"]["violated_iff"])
    assert json.loads((tmp_path / "out" / "result.json").read_text())["fault_tolerance"] == found["fault_tolerance"]
    rows = [{"faults.crash": crash, "minimum": minimum} for crash in range(4) for minimum in (1, 2)]
    rule = smallest_rule(rows, [row["faults.crash"] >= row["minimum"] for row in rows])
    assert rule.proved and str(rule) == "faults.crash >= 2 or (faults.crash >= 1 and minimum <= 1)"


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


def test_a_rule_about_a_key_that_some_cells_do_not_have_is_proved() -> None:
    rows = [{"start.outside_isr": value} for value in (0, 2, None)]
    assert prove([(Atom("start.outside_isr", "!=", 2),)], rows, [True, False, True])
    assert not prove([(Atom("start.outside_isr", "!=", 2),)], rows, [True, False, False])


def test_beside_a_majority_min_isr_is_seen_for_what_it_is_for() -> None:
    """Two followers out of the ISR from the start: with min ISR 1 a record is accepted that one broker has, with 2 none is."""
    matrix = read_matrix("isr-vs-majority")
    assert "no Kafka" in matrix.says
    wanted = {"model": "kraft", "start.outside_isr": 2, "faults.lossy_crash": 1, "faults.crash": 0}
    found = {
        each.coordinates["min.insync.replicas"]: neverlost.check(each.configuration, properties=["acked-never-lost"]).verdict
        for each in matrix.cells
        if wanted.items() <= each.coordinates.items()
    }
    assert found == {1: "violated", 2: "holds"}


def test_edges_and_siblings(result: tuple[Matrix, Sweep, dict[str, Any]]) -> None:
    _, _, document = result
    (boundary,) = document["boundary"]
    assert boundary["property"] == "acked-never-lost" and boundary["maximal_safe"] and boundary["minimal_unsafe"]
    for cell in document["cells"]:
        for each in cell["properties"]:
            if "sibling" in each:
                other = next(one for one in document["cells"] if one["id"] == each["sibling"]["id"])
                assert other["verdict"] == "holds"
                changed = {key for key in cell["cell"] if cell["cell"][key] != other["cell"][key]}
                assert changed == set(each["sibling"]["changed"]) and not any(key.startswith("faults.") for key in changed)
                assert 0 < each["sibling"]["comparison"]["step"] <= each["steps"]


def save_traces(sweep: Sweep, folder: Path) -> dict[tuple[int, str], str]:
    """Every counterexample as a file, and the names."""
    known = counterexamples(sweep)
    write_traces(folder, dict(known.values()))
    return {place: name for place, (name, _) in known.items()}


def test_the_page_is_self_contained_and_complete(result: tuple[Matrix, Sweep, dict[str, Any]], tmp_path: Path) -> None:
    matrix, sweep, _ = result
    traces = save_traces(sweep, tmp_path)
    document = sweeping.document(matrix, sweep, "memory", True, traces)
    write_reports(tmp_path, document)
    page = (tmp_path / "report.html").read_text()
    assert not re.search(r"""(?:src|href)\s*=\s*["'](?!data:|#)|@import|url\((?!#)|https?://""", page)
    packed = re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.DOTALL)
    assert packed is not None
    data = json.loads(packed[1])
    assert [each["verdict"] for each in data["cells"]] == [each["verdict"] for each in document["cells"]]
    for cell, shown in zip(document["cells"], data["cells"], strict=True):
        for each, entry in zip(cell["properties"], shown["properties"], strict=True):
            assert cell["id"] in entry["says"] and each["verdict"] in {entry["verdict"]}
            if each["verdict"] == "violated":
                drawn = data["timelines"][entry["timeline"]]
                assert len(drawn["frames"]) == each["steps"] + 1
                assert any(lane["lost"] for lane in data["frames"][drawn["frames"][-1]]["lanes"])
                assert (entry.get("comparison") is not None) == ("sibling" in each)
    assert len(data["timelines"]) < len([each for each in document["cells"] if each["verdict"] == "violated"])
    markdown = (tmp_path / "report.md").read_text()
    assert all(term in markdown for term in document["boundary"][0]["rule"]["terms"]) and document["id"] in markdown
    assert "## Where a setting mattered" in markdown and "taken, too; nothing is lost" in markdown


def test_text_from_a_matrix_cannot_leave_its_place(result: tuple[Matrix, Sweep, dict[str, Any]], tmp_path: Path) -> None:
    _, _, document = result
    hostile = document | {"matrix": document["matrix"] | {"name": "</script><script>alert(1)</script>", "says": "<b>x"}}
    write_reports(tmp_path, hostile)
    page = (tmp_path / "report.html").read_text()
    assert "<script>alert" not in page and "<b>x" not in page
    assert report_data(tmp_path, hostile)["title"] in json.loads(page.split('id="data">')[1].split("</script>")[0])["title"]


def test_junit_counts_and_names(result: tuple[Matrix, Sweep, dict[str, Any]]) -> None:
    _, _, document = result
    suite = ElementTree.fromstring(junit.render(GateResult(document, Path())))[0]
    cases = suite.findall("testcase")
    assert len(cases) == int(suite.get("tests", "")) == 72
    assert len(suite.findall("testcase/failure")) == int(suite.get("failures", "")) == document["verdicts"]["violated"]
    assert len({case.get("name") for case in cases}) == 72
    baseline = json.loads(json.dumps(document))
    baseline["cells"][5]["properties"][0]["verdict"] = "inconclusive"
    gone = baseline["cells"].pop(7)
    changed = sweeping.changes(baseline, document)
    assert [each["is"] for each in changed] == [document["cells"][5]["verdict"], gone["verdict"]]
    other = json.loads(json.dumps(document))
    other["cells"][7]["config"]["faults.lossy_crash"] = 9
    (another,) = sweeping.changes(other, document)
    said = f"faults.lossy_crash 9 -> {document['cells'][7]['config']['faults.lossy_crash']}"
    assert another["question"] == said and another["was"] == another["is"] == document["cells"][7]["verdict"]
    assert said.replace(">", "&gt;") in junit.render(GateResult(document | {"changes": [another]}, Path()))
    assert f"Not comparable: the question changed ({said}); write a new baseline." in markdown.render(
        GateResult(document | {"changes": [another]}, Path())
    )
    suite = ElementTree.fromstring(junit.render(GateResult(document | {"changes": changed}, Path())))[0]
    failed = [case.get("name") for case in suite.findall("testcase") if case.find("failure") is not None]
    assert failed == [sweeping.cell_name(document["cells"][5]), sweeping.cell_name(document["cells"][7])]


@pytest.fixture(scope="module")
def saved(
    result: tuple[Matrix, Sweep, dict[str, Any]], tmp_path_factory: pytest.TempPathFactory
) -> tuple[dict[str, Any], Path]:
    matrix, sweep, _ = result
    folder = tmp_path_factory.mktemp("saved")
    return sweeping.document(matrix, sweep, "memory", True, save_traces(sweep, folder)), folder


def schema_errors(found: dict[str, Any]) -> list[str]:
    schema = json.loads((DATA / "sarif-2.1.0.schema.json").read_text())
    return [each.message for each in jsonschema.Draft4Validator(schema).iter_errors(found)]


@pytest.mark.parametrize("baseline", [False, True])
def test_gate_files_are_valid_by_their_schemas(saved: tuple[dict[str, Any], Path], baseline: bool) -> None:
    document, folder = saved
    changed = [] if baseline else None
    if changed is not None:
        cell = document["cells"][0]
        changed = [{"cell": sweeping.cell_name(cell), "property": "acked-never-lost", "was": "holds", "is": cell["verdict"]}]
        changed.append({"cell": "gone", "property": "acked-never-lost", "was": "holds", "is": None})
    judged = GateResult(document if changed is None else document | {"changes": changed}, folder)
    found = sarif.log(judged)
    assert schema_errors(found) == []
    found["runs"][0]["results"][0]["level"] = "fatal"
    assert schema_errors(found)
    schema = xmlschema.XMLSchema(str(DATA / "junit-10.xsd"))
    text = junit.render(judged)
    assert list(schema.iter_errors(text)) == []
    assert list(schema.iter_errors(text.replace("<testcase ", "<testcase verdict='x' ", 1)))


def test_sarif_points_at_the_model_s_action_and_at_the_property(saved: tuple[dict[str, Any], Path]) -> None:
    document, folder = saved
    (run,) = sarif.log(GateResult(document, folder))["runs"]
    rules = run["tool"]["driver"]["rules"]
    assert len(run["results"]) == document["verdicts"]["violated"]
    for each in run["results"]:
        assert rules[each["ruleIndex"]]["id"] == each["ruleId"] and each["message"]["text"]
        (location,), (related,) = each["locations"], each["relatedLocations"]
        assert source_line(related) == "@as_property(" and related["message"]["text"] == properties()["acked-never-lost"].says
        (flow,) = each["codeFlows"][0]["threadFlows"]
        assert all(re.match(r"@action|def ", source_line(step["location"])) for step in flow["locations"])
        uri = location["physicalLocation"]["artifactLocation"]["uri"]
        assert uri.startswith("model/") and location["message"]["text"]
        assert any(location["physicalLocation"] == step["location"]["physicalLocation"] for step in flow["locations"])


def source_line(location: dict[str, Any]) -> str:
    place = location["physicalLocation"]
    lines = (ROOT / place["artifactLocation"]["uri"]).read_text().splitlines()
    return lines[place["region"]["startLine"] - 1].strip()


def test_sarif_points_at_the_clause_that_a_safe_configuration_refuses() -> None:
    found = models()["kraft-elr"]
    action = next(each for each in found.actions if each.name == "controller_fence_dead")
    steps = [(found.actions[0], "first"), (action, "second")]
    location = sarif.find_decisive_step(steps, {"step": 2, "clause": "electable"})
    assert '"electable"' in source_line(location) and location["message"]["text"].startswith("second; ")
    own = sarif.locate_clause(models()["kip-320"].actions[0], "no such clause")
    assert own == models()["kip-320"].actions[0].source


def test_the_job_summary_is_added_to_the_page(
    saved: tuple[dict[str, Any], Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    document, _ = saved
    target = tmp_path / "summary.md"
    target.write_text("before\n")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(target))
    gate.announce(document | {"changes": []})
    assert target.read_text() == "before\n" + markdown.render(GateResult(document | {"changes": []}, Path()))
    assert "No verdict changed." in target.read_text()
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(tmp_path))
    with pytest.raises(InputError, match="cannot write GITHUB_STEP_SUMMARY"):
        gate.announce(document)


def test_every_format_of_the_gate_is_written(saved: tuple[dict[str, Any], Path], tmp_path: Path) -> None:
    document, folder = saved
    gate.write_gate(folder, document, tmp_path)
    written = {each.stem for each in Path(junit.__file__).parent.glob("*.py") if each.stem != "__init__"}
    assert written == {"csv", "github", "junit", "markdown", "sarif", "shell"} and len(gate.known_formats()) == len(written)
    assert {each.name for each in tmp_path.iterdir()} == set(gate.known_formats())
