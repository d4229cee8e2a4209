"""SARIF for the code scanning tab: a result per violated cell and property, at the line of the user's own file that it is
about, with every step as a code flow there.  Where the step and the property are written in the model is their logical
location, and the physical one if the result is about no file."""

from __future__ import annotations

import inspect
from itertools import islice
from pathlib import Path
from typing import Any
from urllib.parse import quote

from neverlost.checker.engine.host.whole_files import as_json
from neverlost.model.kernel import Action
from neverlost.model.protocols import models
from neverlost.reports.ci.verdicts.gate_verdict import GateResult, GateVerdict, SourceLine
from neverlost.specs.configuration.input import read_json
from neverlost.specs.properties import properties
from neverlost.specs.property import Property

FILE = "results.sarif"
SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
ROOT = Path(__file__).resolve().parents[3]
BASE = "NEVERLOST"
MOST_PLACES = 100
"""Lines of one result: code scanning shows no more."""

Location = dict[str, Any]
Sentences = list[tuple[Action, str]]
"""The actions of a trace's steps, with what each did."""


def render(result: GateResult) -> str:
    """Return the SARIF log as JSON text."""
    return as_json(log(result))


def log(result: GateResult) -> dict[str, Any]:
    """Return the SARIF log: each violation is an error; with a baseline a changed verdict is, another violation a note."""
    names = list(dict.fromkeys(each.about for each in result.verdicts))
    shown = [each for each in result.verdicts if each.verdict == "violated" or each.change is not None]
    run = {
        "tool": {
            "driver": {"name": "neverlost", "version": result.version, "rules": [_rule(properties()[name]) for name in names]}
        },
        "originalUriBaseIds": {BASE: {"description": {"text": "neverlost's own source: the model and the properties"}}},
        "results": [_result(result, each, names.index(each.about)) for each in shown],
    }
    return {"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}


def _rule(about: Property) -> dict[str, Any]:
    """Return the SARIF rule of a property: what it means, and what to do, as code scanning shows it beside a finding."""
    text = (
        f"{about.says[0].upper()}{about.says[1:]}. A finding means that there is a behaviour, within the faults that were "
        "allowed, after which this is false; its steps are the code flow. Change a setting that the message advises, or ask "
        f"`neverlost explain {about.name}`."
    )
    return {
        "id": about.name,
        "shortDescription": {"text": about.says},
        "fullDescription": {"text": text},
        "help": {"text": text, "markdown": f"**{about.name}** ({about.kind})\n\n{text}"},
        "defaultConfiguration": {"level": "error"},
        "properties": {"tags": ["kafka", about.kind], "precision": "very-high"},
    }


def _result(result: GateResult, each: GateVerdict, rule: int) -> dict[str, Any]:
    own = [_own_line(subject, line) for subject, line in islice(each.places.items(), MOST_PLACES)]
    broken = properties()[each.about]
    path, line = inspect.getsourcefile(broken.condition) or "", inspect.getsourcelines(broken.condition)[1]
    about = [_location(path, line, broken.says)]
    found: dict[str, Any] = {
        "ruleId": each.about,
        "ruleIndex": rule,
        "level": "error" if each.change is not None or result.changes is None else "note",
        "message": {"text": each.message},
        "locations": own[:1] or about,
        "partialFingerprints": {"neverlost/v1": f"{each.cell['id']}:{each.about}"},
    }
    if own:
        about = [_at(own[0], one) for one in about]
    if not each.entry.get("trace"):
        return found | ({"relatedLocations": [*own[1:], *about]} if own else {})
    steps = _steps(result.folder / each.entry["trace"])
    flow = [{"location": _location(*action.source, says)} for action, says in steps]
    comparison = (each.entry.get("sibling") or {}).get("comparison") or {}
    matter = find_decisive_step(steps, comparison.get("refused"))
    if own:
        flow = [{"location": _at(own[0], step["location"])} for step in flow]
    found["codeFlows"] = [{"threadFlows": [{"locations": flow}]}]
    if own:
        return found | {"relatedLocations": [*own[1:], _at(own[0], matter), *about]}
    return found | {"relatedLocations": about, "locations": [matter]}


def _own_line(subject: str, line: SourceLine) -> Location:
    """Return the location of a line of a user's file (relative if below the working directory); `subject` is its message."""
    path = Path(line.file)
    inside = path.relative_to(Path.cwd()) if path.is_absolute() and path.is_relative_to(Path.cwd()) else path
    uri = inside.as_uri() if inside.is_absolute() else quote(inside.as_posix())
    return {
        "physicalLocation": {"artifactLocation": {"uri": uri}, "region": {"startLine": line.number}},
        "message": {"text": subject},
    }


def _at(own: Location, written: Location) -> Location:
    """Return `own`, a line of a user's file, which code scanning can show, with the model's place `written` as logical one."""
    place = written["physicalLocation"]
    name = f"{place['artifactLocation']['uri']} line {place['region']['startLine']}"
    return {
        "physicalLocation": own["physicalLocation"],
        "logicalLocations": [{"fullyQualifiedName": name, "kind": "function"}],
        "message": written["message"],
    }


def _location(path: str, line: int, says: str) -> Location:
    found = Path(path).resolve().relative_to(ROOT).as_posix()
    return {
        "physicalLocation": {"artifactLocation": {"uri": found, "uriBaseId": BASE}, "region": {"startLine": max(line, 1)}},
        "message": {"text": says},
    }


def _steps(trace: Path) -> Sentences:
    document = read_json(trace)
    about = document["#meta"]["neverlost"]
    actions = {each.name: each for each in models()[about["model"]].actions}
    labels = [str(each["action"]).partition("(")[0] for each in document["states"]]
    return [(actions[label], says) for label, says in zip(labels[1:], about["says"][1:], strict=True)]


def find_decisive_step(steps: Sentences, refused: dict[str, Any] | None) -> Location:
    """Return the place of the clause by which the nearest safe cell refuses a step; else of the last step that is no fault."""
    if refused:
        action, says = steps[refused["step"] - 1]
        return _location(*locate_clause(action, refused["clause"]), f"{says}; a safe configuration refuses it")
    action, says = next((one for one in reversed(steps) if one[0].fault is None), steps[-1])
    return _location(*action.source, says)


def locate_clause(action: Action, clause: str) -> tuple[str, int]:
    """Return file and line where a guard clause is written: in the action's body, or on the only line of all the model's files
    with it; the place of the action if neither is found, or several."""
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
