"""A sweep for continuous integration: JUnit, SARIF and a job summary."""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from reports.files import as_json, write_text
from reports.page import sentence
from reports.sweeping import cell_name
from specs.property import properties

SARIF_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
ROOT = Path(__file__).parent.parent


def write_gate(folder: Path, document: Mapping[str, Any]) -> None:
    """`junit.xml`, `results.sarif` and `summary.md` beside a sweep's result."""
    changed = document.get("changes")
    write_text(folder / "junit.xml", junit(document, changed))
    write_text(folder / "results.sarif", as_json(sarif(document, changed)))
    write_text(folder / "summary.md", summary(document, changed))


def _unexpected(changed: Sequence[Mapping[str, Any]] | None) -> dict[tuple[str, str], Mapping[str, Any]]:
    return {(each["cell"], each["property"]): each for each in changed or ()}


def junit(document: Mapping[str, Any], changed: Sequence[Mapping[str, Any]] | None) -> str:
    """A case per cell and property.  With a baseline a case fails where the verdict changed, without one where it is
    violated; what is undecided is skipped."""
    unexpected = _unexpected(changed)
    suite = ElementTree.Element("testsuite", name=document["matrix"]["name"], time=str(document["seconds"]))
    counts = {"tests": 0, "failures": 0, "errors": 0, "skipped": 0}
    for cell in document["cells"]:
        for each in cell["properties"]:
            counts["tests"] += 1
            case = ElementTree.SubElement(
                suite, "testcase", classname=f"{document['matrix']['name']}.{each['name']}", name=cell_name(cell), time="0"
            )
            change = unexpected.get((cell_name(cell), each["name"]))
            says = sentence(cell, each, document)
            if change is not None:
                counts["failures"] += 1
                message = f"was {change['was']}, is {change['is']}"
                ElementTree.SubElement(case, "failure", message=message, type="changed").text = says
            elif changed is None and each["verdict"] == "violated":
                counts["failures"] += 1
                ElementTree.SubElement(case, "failure", message=says, type="violated").text = says
            elif each["verdict"] == "inconclusive":
                counts["skipped"] += 1
                ElementTree.SubElement(case, "skipped", message=says)
    for gone in _gone(document, changed):
        counts["tests"] += 1
        counts["failures"] += 1
        case = ElementTree.SubElement(
            suite, "testcase", classname=f"{document['matrix']['name']}.{gone['property']}", name=gone["cell"], time="0"
        )
        ElementTree.SubElement(case, "failure", message=f"was {gone['was']}, is no longer in the matrix", type="changed")
    for name, value in counts.items():
        suite.set(name, str(value))
    root = ElementTree.Element("testsuites")
    root.append(suite)
    ElementTree.indent(root)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ElementTree.tostring(root, encoding="unicode") + "\n"


def _gone(document: Mapping[str, Any], changed: Sequence[Mapping[str, Any]] | None) -> list[Mapping[str, Any]]:
    here = {(cell_name(cell), each["name"]) for cell in document["cells"] for each in cell["properties"]}
    return [each for each in changed or () if (each["cell"], each["property"]) not in here]


def _place(each: Mapping[str, Any]) -> tuple[str, int]:
    """Where the property that is broken is written: file and line of its condition."""
    condition = properties()[each["name"]].condition
    found = Path(inspect.getsourcefile(condition) or "").resolve()
    line = inspect.getsourcelines(condition)[1]
    return found.relative_to(ROOT).as_posix(), max(line, 1)


def sarif(document: Mapping[str, Any], changed: Sequence[Mapping[str, Any]] | None) -> dict[str, Any]:
    """A result per violated cell and property, at the source line of what is violated; unexpected ones are errors."""
    unexpected = _unexpected(changed)
    names = list(dict.fromkeys(each["name"] for cell in document["cells"] for each in cell["properties"]))
    results = []
    for cell in document["cells"]:
        for each in cell["properties"]:
            change = unexpected.get((cell_name(cell), each["name"]))
            if each["verdict"] != "violated" and change is None:
                continue
            path, line = _place(each)
            level = "error" if change is not None or changed is None else "note"
            results.append(
                {
                    "ruleId": each["name"],
                    "ruleIndex": names.index(each["name"]),
                    "level": level,
                    "message": {"text": sentence(cell, each, document)},
                    "locations": [{"physicalLocation": {"artifactLocation": {"uri": path}, "region": {"startLine": line}}}],
                    "partialFingerprints": {"neverlost/v1": f"{cell['id']}:{each['name']}"},
                }
            )
    rules = [{"id": name, "shortDescription": {"text": properties()[name].says}} for name in names]
    driver = {"name": "neverlost", "version": document["version"], "rules": rules}
    return {"$schema": SARIF_SCHEMA, "version": "2.1.0", "runs": [{"tool": {"driver": driver}, "results": results}]}


def summary(document: Mapping[str, Any], changed: Sequence[Mapping[str, Any]] | None) -> str:
    """What a job's page shows."""
    counts = document["verdicts"]
    known = ", ".join(dict.fromkeys(cell["model"] for cell in document["cells"]))
    lines = [
        f"## neverlost sweep: {document['matrix']['name']}",
        "",
        f"{len(document['cells'])} cells ({known}): {counts['holds']} hold, {counts['violated']} violated, "
        f"{counts['inconclusive']} inconclusive.",
        "",
    ]
    for each in document["boundary"]:
        lines += [f"- `{each['property']}` is violated iff {each['rule']['violated_iff']}"]
    if changed is not None:
        lines += ["", "### Against the baseline", ""]
        lines += ["No verdict changed."] if not changed else ["| cell | property | was | is |", "| --- | --- | --- | --- |"]
        lines += [f"| {each['cell']} | {each['property']} | {each['was']} | {each['is']} |" for each in changed]
    return "\n".join(lines) + "\n"
