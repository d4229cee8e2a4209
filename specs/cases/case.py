"""A case: one question with the answer that is expected, as scenarios and claims write it in TOML.

Files are read strictly: an unknown key, a missing one or a value of the wrong kind is an error with its place.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from neverlost.specs.configuration.input import TableReader
from neverlost.specs.errors import InputError
from neverlost.specs.properties import properties

VERDICTS = ("holds", "violated")


@dataclass(frozen=True)
class Case:
    """One configuration, one property, one expected verdict: `holds` or `violated`.

    `keys` are the configuration keys that the file gives, without defaults; `model` or `kafka.version` is always one of them.
    `steps` is the length of the shortest counterexample, None if not stated, `because` why the verdict is expected,
    `interleaving` the known steps of a counterexample.  `slow` cases take more than about 20 seconds.  `disabled` are pairs
    (action, clause): this guard clause of the action is left out of the model.
    """

    name: str
    keys: Mapping[str, Any]
    property: str
    expected: str
    where: str
    steps: int | None = None
    because: str = ""
    interleaving: tuple[str, ...] = ()
    slow: bool = False
    disabled: tuple[tuple[str, str], ...] = field(default=())


def read_document(path: Path, what: str) -> TableReader:
    """Return a reader of a TOML file's top table; messages call the file `what`, such as `scenario`.
    Errors: `InputError` for a file that is missing, not UTF-8 or malformed."""
    try:
        return TableReader(tomllib.loads(path.read_text(encoding="utf-8")), f"{what} {path.name}")
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError, RecursionError) as problem:
        raise InputError(f"cannot read {what} {str(path)!r}: {problem}") from None


def read_cases(document: TableReader) -> tuple[Case, ...]:
    """Return the `[[case]]` tables of a document as cases; none if it has no such table.
    Errors: `InputError` for anything that is not a case, and for two cases of one name."""
    found: list[Case] = []
    for number, table in enumerate(document.tables("case"), 1):
        found.append(_parse_case(TableReader(table, f"case {number} of {document.where}")))
        if found[-1].name in {each.name for each in found[:-1]}:
            raise InputError(f"two cases named {found[-1].name!r} in {document.where}: rename one")
    return tuple(found)


def _parse_case(table: TableReader) -> Case:
    name = table.text("name")
    table.where = f"case {name!r} of {table.where.partition(' of ')[2]}"
    found = Case(
        name=name,
        keys=table.flat("config"),
        property=table.choice("property", tuple(properties())),
        expected=table.choice("expected", VERDICTS),
        where=table.where,
        steps=table.number("steps"),
        because=table.text("because", ""),
        interleaving=table.texts("interleaving"),
        slow=table.flag("slow"),
        disabled=tuple(_parse_clause(each, table.where) for each in table.texts("disabled")),
    )
    table.end()
    if found.steps and found.expected == "holds":
        raise InputError(f"steps in {found.where}: only a violated case has steps; remove it")
    if not {"model", "kafka.version"} & found.keys.keys():
        raise InputError(f"no model in {found.where}: add model or kafka.version to its config")
    return found


def _parse_clause(text: str, where: str) -> tuple[str, str]:
    action, colon, clause = text.partition(": ")
    if not colon:
        raise InputError(f"bad value {text!r} for disabled in {where}: write 'action: clause'")
    return action, clause
