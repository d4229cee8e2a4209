"""A sweep for continuous integration: JUnit, SARIF and a job summary."""

from __future__ import annotations

import inspect
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from neverlost.checker.machine.whole_files import as_json, write_text
from neverlost.model.catalogue import models
from neverlost.model.kernel import Action
from neverlost.reports.documents.sweep import cell_name
from neverlost.reports.page.render import sentence
from neverlost.specs.configuration.input import read_json
from neverlost.specs.errors import InputError
from neverlost.specs.property import properties

SARIF_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
ROOT = Path(__file__).resolve().parents[2]
BASE = "NEVERLOST"


def write_gate(folder: Path, document: Mapping[str, Any], place: Path) -> None:
    """`junit.xml`, `results.sarif` and `summary.md` of a sweep; `folder` has its traces."""
    changed = document.get("changes")
    write_text(place / "junit.xml", junit(document, changed))
    write_text(place / "results.sarif", as_json(sarif(document, changed, folder)))
    write_text(place / "summary.md", summary(document, changed))


def announce(document: Mapping[str, Any]) -> None:
    """Add the summary to the page of a GitHub job, where there is one.

    Errors: `InputError` where that file cannot be written.
    """
    target = os.environ.get("GITHUB_STEP_SUMMARY")
    if target:
        try:
            with open(target, "a", encoding="utf-8") as stream:
                stream.write(summary(document, document.get("changes")))
        except OSError as problem:
            raise InputError(f"cannot write GITHUB_STEP_SUMMARY {target!r}: {problem.strerror or problem}") from None


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


def _location(path: str, line: int, says: str) -> dict[str, Any]:
    found = Path(path).resolve().relative_to(ROOT).as_posix()
    return {
        "physicalLocation": {"artifactLocation": {"uri": found, "uriBaseId": BASE}, "region": {"startLine": max(line, 1)}},
        "message": {"text": says},
    }


def _condition(name: str) -> dict[str, Any]:
    """Where a property is written."""
    broken = properties()[name]
    return _location(inspect.getsourcefile(broken.condition) or "", inspect.getsourcelines(broken.condition)[1], broken.says)


def _steps(folder: Path, name: str) -> list[tuple[Action, str]]:
    """The actions of a trace's steps, with what each says."""
    document = read_json(folder / name)
    about = document["#meta"]["neverlost"]
    actions = {each.name: each for each in models()[about["model"]].actions}
    labels = [str(each["action"]).partition("(")[0] for each in document["states"]]
    return [(actions[label], says) for label, says in zip(labels[1:], about["says"][1:], strict=True)]


def _mattered(steps: list[tuple[Action, str]], each: Mapping[str, Any]) -> dict[str, Any]:
    """The step that the nearest safe cell refuses, at the clause that refuses it; else the last step that is no fault."""
    parting = (each.get("sibling") or {}).get("parts") or {}
    refused = parting.get("refused")
    if refused:
        action, says = steps[refused["step"] - 1]
        return _location(*clause_place(action, refused["clause"]), f"{says}; a safe configuration refuses it")
    action, says = next((one for one in reversed(steps) if one[0].fault is None), steps[-1])
    return _location(*action.source, says)


def clause_place(action: Action, clause: str) -> tuple[str, int]:
    """Where a guard clause is written: in the action's body, or on the only line of the model with it; else the action."""
    lines, first = inspect.getsourcelines(inspect.unwrap(action.body))
    path, start = action.source
    own = [(path, first + number) for number, line in enumerate(lines) if f'yield "{clause}"' in line]
    every = [
        (str(each), number)
        for each in sorted((ROOT / "model").rglob("*.py"))
        for number, line in enumerate(each.read_text(encoding="utf-8").splitlines(), start=1)
        if f'yield "{clause}"' in line
    ]
    return next((found[0] for found in (own, every) if len(found) == 1), (path, start))


def sarif(document: Mapping[str, Any], changed: Sequence[Mapping[str, Any]] | None, folder: Path) -> dict[str, Any]:
    """A result per violated cell and property, at the model's action that mattered, with every step as a code flow; the
    property is a related location, and the place of what is not violated.  Unexpected ones are errors."""
    unexpected = _unexpected(changed)
    names = list(dict.fromkeys(each["name"] for cell in document["cells"] for each in cell["properties"]))
    results = []
    for cell in document["cells"]:
        for each in cell["properties"]:
            change = unexpected.get((cell_name(cell), each["name"]))
            if each["verdict"] != "violated" and change is None:
                continue
            result = {
                "ruleId": each["name"],
                "ruleIndex": names.index(each["name"]),
                "level": "error" if change is not None or changed is None else "note",
                "message": {"text": sentence(cell, each, document)},
                "locations": [_condition(each["name"])],
                "partialFingerprints": {"neverlost/v1": f"{cell['id']}:{each['name']}"},
            }
            if each.get("trace"):
                steps = _steps(folder, each["trace"])
                flow = [{"location": _location(*action.source, says)} for action, says in steps]
                result["relatedLocations"] = result["locations"]
                result["locations"] = [_mattered(steps, each)]
                result["codeFlows"] = [{"threadFlows": [{"locations": flow}]}]
            results.append(result)
    rules = [{"id": name, "shortDescription": {"text": properties()[name].says}} for name in names]
    driver = {"name": "neverlost", "version": document["version"], "rules": rules}
    base = {BASE: {"description": {"text": "where neverlost's own source is: the model and the properties"}}}
    run = {"tool": {"driver": driver}, "originalUriBaseIds": base, "results": results}
    return {"$schema": SARIF_SCHEMA, "version": "2.1.0", "runs": [run]}


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
