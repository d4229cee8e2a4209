"""Known scenarios of Kafka's durability: what happens, where it was reported, and the verdict to expect.

One TOML file each in `specs/scenarios/`, named after the scenario.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from importlib.resources import as_file, files
from pathlib import Path

from neverlost.specs.cases.case import Case, read_cases, read_document
from neverlost.specs.errors import InputError, unknown

GROUPS = {
    "A": "acknowledgement level and leader failure",
    "B": "log truncation and replication epochs",
    "C": "ISR and controller metadata",
    "D": "unflushed data, disks, racks",
    "E": "unclean leader election",
    "F": "eligible leader replicas",
    "G": "reassignment",
    "H": "producer sessions",
    "I": "consumers",
    "J": "tiered storage",
    "K": "the same mechanisms elsewhere",
}


@dataclass(frozen=True)
class Scenario:
    """One scenario with its cases, or the reason why the models leave it out.

    `marks` say what the evidence is: S source code, D documentation, R replayed by hand, H hypothesis, U unverified.
    `correction` is a change of the expectation, with its evidence.
    """

    id: str
    title: str
    group: str
    source: str
    marks: str
    versions: str
    cases: tuple[Case, ...]
    outside: str = ""
    correction: str = ""


def read_scenario(path: Path) -> Scenario:
    """Return the scenario of one file.  Errors: `InputError` for anything that is not a scenario."""
    document = read_document(path, "scenario")
    found = Scenario(
        id=path.stem,
        title=document.text("title"),
        group=document.choice("group", tuple(GROUPS)),
        source=document.text("source"),
        marks=document.text("marks"),
        versions=document.text("versions"),
        cases=read_cases(document),
        outside=document.text("outside", ""),
        correction=document.text("correction", ""),
    )
    document.end()
    if bool(found.cases) == bool(found.outside):
        raise InputError(f"{document.where} needs either cases or the reason why it is outside the models")
    return found


@cache
def scenarios() -> dict[str, Scenario]:
    """Return every scenario by id, in the order of groups."""
    with as_file(files("neverlost.specs") / "scenarios") as folder:
        found = [read_scenario(path) for path in sorted(folder.glob("*.toml"))]
    return {each.id: each for each in sorted(found, key=lambda each: (each.group, each.id))}


def choose_scenarios(ids: list[str]) -> list[Scenario]:
    """Return the named scenarios, or all.  Errors: `InputError` for an id that does not exist."""
    known = scenarios()
    for each in ids:
        if each not in known:
            raise unknown("scenario", each, known)
    return [known[each] for each in dict.fromkeys(ids)] if ids else list(known.values())
