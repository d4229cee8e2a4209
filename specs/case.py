"""A case: one question with the answer that is expected, as scenarios and claims write it in TOML.

Files are read strictly: an unknown key, a missing one or a value of the wrong kind is an error with its place.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from specs.errors import InputError, unknown
from specs.property import properties

VERDICTS = ("holds", "violated")

Table = Mapping[str, Any]


@dataclass(frozen=True)
class Case:
    """One configuration, one property, one expected verdict.

    `keys` are keys of the contract as given (`model` and `kafka.version` among them).  `steps` is the length of the
    shortest counterexample, `because` why the verdict is expected, `interleaving` the known way to it.  `slow` cases take
    more than about 20 seconds.
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


class Reader:
    """A TOML table that is read key by key; what nobody asked for is an error."""

    def __init__(self, table: Any, where: str) -> None:
        if not isinstance(table, dict):
            raise InputError(f"bad value {table!r} in {where}: use a table")
        self._left, self.where = dict(table), where
        self._known: list[str] = []

    def text(self, key: str, default: str | None = None) -> str:
        """A text; required when it has no default, and never empty."""
        found = self._take(key, str, default)
        if not found.strip() and found != default:
            raise InputError(f"empty {key} in {self.where}: write a text")
        return " ".join(str(found).split())

    def number(self, key: str) -> int | None:
        """A whole number, or None where it is not given."""
        found = self._take(key, int, 0)
        if isinstance(found, bool) or not 0 <= found < 1000:
            raise InputError(f"bad value {found!r} for {key} in {self.where}: use a whole number below 1000")
        return int(found) or None

    def flag(self, key: str) -> bool:
        """True or false; false where it is not given."""
        return bool(self._take(key, bool, False))

    def choice(self, key: str, choices: tuple[str, ...], default: str | None = None) -> str:
        """One of some texts."""
        found = self.text(key, default)
        if found not in choices:
            raise unknown(key, found, choices, self.where)
        return found

    def texts(self, key: str) -> tuple[str, ...]:
        """A list of texts; empty where it is not given."""
        found = self._take(key, list, [])
        if not all(isinstance(each, str) and each.strip() for each in found):
            raise InputError(f"bad value {found!r} for {key} in {self.where}: use a list of texts")
        return tuple(found)

    def tables(self, key: str) -> list[Any]:
        """An array of tables; empty where it is not given."""
        return list(self._take(key, list, []))

    def flat(self, key: str) -> dict[str, Any]:
        """A table whose keys stand for themselves; TOML reads a bare `min.insync.replicas` as three tables."""
        return dict(_flat(self._take(key, dict, {})))

    def end(self) -> None:
        """Errors: `InputError` for a key that nobody asked for."""
        for key in self._left:
            raise unknown("key", key, self._known, self.where)

    def _take(self, key: str, kind: type, default: Any) -> Any:
        self._known.append(key)
        if key not in self._left:
            if default is None:
                raise InputError(f"{key} is missing in {self.where}: add {key} = ...")
            return default
        found = self._left.pop(key)
        if not isinstance(found, kind):
            raise InputError(f"bad value {found!r} for {key} in {self.where}: use a {_KINDS[kind]}")
        return found


_KINDS = {str: "text", int: "whole number", bool: "true or false", list: "list", dict: "table"}


def _flat(table: Table) -> Iterator[tuple[str, Any]]:
    for name, value in table.items():
        if isinstance(value, dict):
            yield from ((f"{name}.{rest}", each) for rest, each in _flat(value))
        else:
            yield name, value


def read_document(path: Path, what: str) -> Reader:
    """A TOML file as a table to read.

    Errors: `InputError` for a file that is missing, not UTF-8 or malformed.
    """
    try:
        return Reader(tomllib.loads(path.read_text(encoding="utf-8")), f"{what} {path.name}")
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError, RecursionError) as problem:
        raise InputError(f"cannot read {what} {str(path)!r}: {problem}") from None


def read_cases(document: Reader) -> tuple[Case, ...]:
    """The `[[case]]` tables of a document.

    Errors: `InputError` for anything that is not a case, and for two cases of one name.
    """
    found: list[Case] = []
    for number, table in enumerate(document.tables("case"), 1):
        found.append(_case(Reader(table, f"case {number} of {document.where}")))
        if found[-1].name in {each.name for each in found[:-1]}:
            raise InputError(f"two cases named {found[-1].name!r} in {document.where}: rename one")
    return tuple(found)


def _case(table: Reader) -> Case:
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
        disabled=tuple(_clause(each, table.where) for each in table.texts("disabled")),
    )
    table.end()
    if found.steps and found.expected == "holds":
        raise InputError(f"steps in {found.where}: only a violated case has steps; remove it")
    if not {"model", "kafka.version"} & found.keys.keys():
        raise InputError(f"no model in {found.where}: add model or kafka.version to its config")
    return found


def _clause(text: str, where: str) -> tuple[str, str]:
    action, colon, clause = text.partition(": ")
    if not colon:
        raise InputError(f"bad value {text!r} for disabled in {where}: write 'action: clause'")
    return action, clause
