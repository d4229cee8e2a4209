"""SARIF for the code scanning tab: a result per violated cell and property, at the line of the user's own file that it is
about, with every step as a code flow there, named by its action."""

from __future__ import annotations

from itertools import islice
from pathlib import Path
from typing import Any
from urllib.parse import quote

from neverlost.checker.engine.host.whole_files import as_json
from neverlost.reports.ci.verdicts.gate_verdict import GateResult, GateVerdict, SourceLine
from neverlost.specs.configuration.input import read_json
from neverlost.specs.properties import properties
from neverlost.specs.property import Property

FILE = "results.sarif"
SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
MOST_PLACES = 100
"""Lines of one result: code scanning shows no more."""

Location = dict[str, Any]


def render(result: GateResult) -> str:
    """Return the log as JSON text."""
    return as_json(log(result))


def log(result: GateResult) -> dict[str, Any]:
    """Return the SARIF log; an unexpected violation is an error."""
    names = list(dict.fromkeys(each.about for each in result.verdicts))
    shown = [each for each in result.verdicts if each.verdict == "violated" or each.change is not None]
    run = {
        "tool": {
            "driver": {"name": "neverlost", "version": result.version, "rules": [_rule(properties()[name]) for name in names]}
        },
        "results": [_result(result, each, names.index(each.about)) for each in shown],
    }
    return {"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}


def _rule(about: Property) -> dict[str, Any]:
    """Return a SARIF rule: what it means, and what to do, as code scanning shows it beside a finding."""
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
    found: dict[str, Any] = {
        "ruleId": each.about,
        "ruleIndex": rule,
        "level": "error" if each.change is not None or result.changes is None else "note",
        "message": {"text": each.message},
        "partialFingerprints": {"neverlost/v1": f"{each.cell['id']}:{each.about}"},
    }
    own = [_own_line(subject, line) for subject, line in islice(each.places.items(), MOST_PLACES)]
    if own:
        found |= {"locations": own[:1], "relatedLocations": own[1:]}
    if each.entry.get("trace"):
        steps = [own[0] | step if own else step for step in _steps(result.folder / each.entry["trace"])]
        found["codeFlows"] = [{"threadFlows": [{"locations": [{"location": step} for step in steps]}]}]
    return found


def _own_line(subject: str, line: SourceLine) -> Location:
    """Return the location of a line of the user's file, relative to the working directory."""
    path = Path(line.file)
    inside = path.relative_to(Path.cwd()) if path.is_absolute() and path.is_relative_to(Path.cwd()) else path
    uri = inside.as_uri() if inside.is_absolute() else quote(inside.as_posix())
    return {
        "physicalLocation": {"artifactLocation": {"uri": uri}, "region": {"startLine": line.number}},
        "message": {"text": subject},
    }


def _steps(trace: Path) -> list[Location]:
    """Return a location without a place for each step: its action, and what it did in words."""
    document = read_json(trace)
    labels = [str(each["action"]).partition("(")[0] for each in document["states"]]
    says = document["#meta"]["neverlost"]["says"]
    return [
        {"logicalLocations": [{"fullyQualifiedName": label, "kind": "function"}], "message": {"text": each}}
        for label, each in zip(labels[1:], says[1:], strict=True)
    ]
