"""Where the parts of a model are put to the test, and why some of them are kept although nothing needs them.

One TOML file for each model in `specs/necessity/`: `[[profile]]` tables, cheapest first, and `[explained]`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from importlib.resources import as_file, files
from pathlib import Path
from typing import Any

from neverlost.specs.cases.case import read_document
from neverlost.specs.configuration.input import TableReader
from neverlost.specs.errors import InputError


@dataclass(frozen=True)
class NecessityPlan:
    """Profiles (name and keys) of a model, the properties to keep beyond its guarantees, and explanations by part.

    A part is `ACTION: CLAUSE`.  One explanation may be for every clause (`ACTION: *`), or every action (`*: CLAUSE`).
    """

    model: str
    profiles: tuple[tuple[str, Mapping[str, Any]], ...]
    properties: tuple[str, ...]
    explained: Mapping[str, str]

    def explain(self, parts: Iterable[str]) -> dict[str, str]:
        """Return the explanation by part: its own, else its action's, else its clause's; a part without one is left out."""
        words = ((part, *part.partition(": ")[::2]) for part in parts)
        named = [(part, (f"*: {clause}", f"{action}: *", part)) for part, action, clause in words]
        return {part: self.explained[each] for part, names in named for each in names if each in self.explained}


def read_plan(path: Path) -> NecessityPlan:
    """Return the plan of one file.  Errors: `InputError` for anything that is not a plan."""
    document = read_document(path, "necessity plan")
    names: dict[str, Mapping[str, Any]] = {}
    for number, table in enumerate(document.tables("profile"), 1):
        reader = TableReader(table, f"profile {number} of {document.where}")
        name, keys = reader.text("name"), reader.flat("config")
        reader.end()
        if name in names:
            raise InputError(f"two profiles named {name!r} in {document.where}: rename one")
        names[name] = keys
    explained = document.flat("explained")
    for part, reason in explained.items():
        if not isinstance(reason, str) or not reason.strip():
            raise InputError(f"bad value {reason!r} for {part!r} in [explained] of {document.where}: write the reason")
    found = NecessityPlan(path.stem, tuple(names.items()), document.texts("properties"), explained)
    document.end()
    if not found.profiles:
        raise InputError(f"{document.where} has no profile: add a [[profile]]")
    return found


def find_plan(model: str) -> NecessityPlan | None:
    with as_file(files("neverlost.specs") / "necessity") as folder:
        path = Path(folder) / f"{model}.toml"
        return read_plan(path) if path.is_file() else None
