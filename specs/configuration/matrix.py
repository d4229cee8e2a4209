"""A configuration matrix: a TOML file in which a key may have many values, and the cells that it spans.

A value may be a list, a range such as `"1..5"`, or both.  `[[pair]]` tables are alternatives whose keys go together,
`[[exclude]]` tables drop the cells that they match.  `properties`, `symmetry` and `says` are about the whole matrix.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from importlib.resources import files
from itertools import product
from pathlib import Path
from typing import Any

from neverlost.specs.configuration import keys
from neverlost.specs.configuration.choose import PREFIXED, TABLES, VERSION, Chosen, Given, choose_each
from neverlost.specs.configuration.input import find_lines, flatten, is_there, parse_toml, read_text
from neverlost.specs.configuration.version_defaults import ELR, FIRST_WITH_ELR, parse_version
from neverlost.specs.defects import FIXES
from neverlost.specs.errors import InputError, unknown

MOST_CELLS = 20_000
PLAIN = ("says", "properties", "symmetry")
SPECIAL = ("model", "kafka.version")
RANGE = re.compile(r"(\d{1,4})\.\.(\d{1,4})")


@dataclass(frozen=True)
class MatrixCell(Chosen):
    """One configuration of a matrix.  `coordinates` are the values of all its keys, model and version included; the values of
    the keys that vary in the matrix name the cell."""

    coordinates: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Matrix:
    """A matrix with its cells; `varying` are the keys with more than one value, but for those that only follow from others."""

    name: str
    says: str
    cells: tuple[MatrixCell, ...]
    varying: tuple[str, ...]
    properties: tuple[str, ...]
    symmetry: bool | None
    file: str = ""
    lines: Mapping[str, int] = field(default_factory=dict)
    """The user's file, and the line of each key in it; empty for a shipped matrix."""


def shipped() -> dict[str, str]:
    """Return the text of every shipped matrix by name."""
    folder = files("neverlost.specs") / "matrices"
    found = {each.name.removesuffix(".toml"): each for each in folder.iterdir() if each.name.endswith(".toml")}
    return {name: found[name].read_text(encoding="utf-8") for name in sorted(found)}


def read_matrix(target: str, given: Given | None = None) -> Matrix:
    """Return the matrix of a file, or a shipped one by name; `given` keys (`--set`) replace those of the matrix.

    Errors: `InputError` for malformed TOML, unknown keys and values, and a matrix without cells or with too many.
    """
    path = Path(target)
    if target != "-" and path.suffix == "" and not is_there(path):
        known = shipped()
        if target not in known:
            raise unknown("matrix", target, known, "the command line (a shipped name or a TOML file)")
        return parse_matrix(target, known[target], f"shipped matrix {target}", given or {})
    text = read_text(path)
    return replace(parse_matrix(path.stem, text, str(path), given or {}), file=str(path), lines=find_lines(text))


def as_toml(matrix: Mapping[str, Any]) -> str:
    """Return a matrix, a dictionary, as TOML.  Errors: `InputError` for values but texts, numbers, booleans and their lists."""
    tables = {name: list(matrix.get(name) or ()) for name in ("pair", "exclude")}
    rest = {key: value for key, value in matrix.items() if key not in tables}
    lines = _assignments(rest)
    for name, every in tables.items():
        for each in every:
            lines += ["", f"[[{name}]]", *_assignments(each)]
    return "\n".join([*lines, ""])


def _assignments(values: Any) -> list[str]:
    if not isinstance(values, Mapping):
        raise InputError(f"bad value {values!r} in a matrix: write a dictionary of keys with their values")
    plain = {str(key): list(each) if isinstance(each, tuple | range) else each for key, each in values.items()}
    for key, each in plain.items():
        if not all(isinstance(one, str | int | float | bool) for one in (each if isinstance(each, list) else [each])):
            raise InputError(f"bad value {each!r} for {key} in a matrix: write a text, a number, true or false, or a list")
    return [f"{json.dumps(key)} = {json.dumps(each, ensure_ascii=False)}" for key, each in plain.items()]


def parse_matrix(name: str, text: str, where: str, given: Given) -> Matrix:
    document = parse_toml(text, where)
    plain = {key: document.pop(key) for key in PLAIN if key in document}
    excluded = [_parse_keys(each, where) for each in _parse_tables(document, "exclude", where)]
    paired = [_parse_keys(each, where) for each in _parse_tables(document, "pair", where)]
    axes = {key: _expand_values(key, raw, where) for key, raw in _parse_keys(document, where).items()}
    axes |= {key: [value] for key, (value, _) in given.items()}
    for key in axes:
        if any(key in each for each in paired):
            raise InputError(f"{key} in {where} stands both by itself and in [[pair]]; give it once")
    for alternative in paired:
        for key, value in alternative.items():
            if isinstance(value, list):
                raise InputError(f"{key} in [[pair]] of {where} is a list; a pair has one value per key")
    count = max(len(paired), 1)
    for values in axes.values():
        count *= len(values)
    if count > MOST_CELLS:
        raise InputError(f"{where} spans {count:,} cells; {MOST_CELLS:,} is the most: split it or drop values")
    cells = _make_cells(
        axes,
        paired or [{}],
        excluded,
        where,
        _find_places(text, where, axes, paired) | {(None, key): place for key, (_, place) in given.items()},
    )
    if not cells:
        raise InputError(f"{where} has no cells: every combination is excluded")
    return Matrix(
        name,
        str(plain.get("says", name)),
        cells,
        _list_varying(cells, any("model" in each for each in (axes, *paired))),
        _parse_names(plain, where),
        _parse_flag(plain, "symmetry", where),
    )


def _parse_names(plain: Mapping[str, Any], where: str) -> tuple[str, ...]:
    names = plain.get("properties", [])
    if not isinstance(names, list) or not all(isinstance(each, str) for each in names):
        raise InputError(f"properties in {where} should be a list of names")
    return tuple(names)


def _parse_flag(plain: Mapping[str, Any], name: str, where: str) -> bool | None:
    if name in plain and not isinstance(plain[name], bool):
        raise InputError(f"bad value {plain[name]!r} for {name} in {where}: use true or false")
    return plain.get(name)


def _parse_tables(document: dict[str, Any], name: str, where: str) -> list[dict[str, Any]]:
    found = document.pop(name, [])
    if not isinstance(found, list) or not all(isinstance(each, dict) for each in found):
        raise InputError(f"{name} in {where} should be written as [[{name}]] tables")
    return found


def _parse_keys(document: Mapping[str, Any], where: str) -> dict[str, Any]:
    """Return raw values by full key name, from tables or from dotted names.  Errors: `InputError` for an unknown key; names
    that begin with `mechanism.` pass unchecked."""
    found: dict[str, Any] = {}
    for name, value in document.items():
        if name in TABLES and name not in PREFIXED and isinstance(value, dict):
            found |= dict(flatten(value))
        elif isinstance(value, dict):
            found |= {f"{name}.{key}": each for key, each in flatten(value)}
        else:
            found[name] = value
    for name in found:
        if name not in SPECIAL:
            keys.key_of(name, where) if not name.startswith(keys.MECHANISM) else None
    return found


def _expand_values(name: str, raw: Any, where: str) -> list[Any]:
    """Return every value of a key as a list, with ranges expanded.  Errors: `InputError` for no values and an empty range."""
    found: list[Any] = []
    for each in raw if isinstance(raw, list) else [raw]:
        match = RANGE.fullmatch(each.strip()) if isinstance(each, str) else None
        if match is None:
            found.append(each)
        elif int(match[1]) > int(match[2]):
            raise InputError(f"bad range {each!r} for {name} in {where}: it is empty")
        else:
            found += range(int(match[1]), int(match[2]) + 1)
    if not found:
        raise InputError(f"{name} in {where} has no values")
    return found


def _parse_value(name: str, raw: Any, where: str) -> Any:
    if name in SPECIAL:
        return str(raw)
    return keys.key_of(name, where, (name,) if name.startswith(keys.MECHANISM) else None).parse(raw, where)


def _make_cells(
    axes: Mapping[str, list[Any]],
    paired: list[dict[str, Any]],
    excluded: list[dict[str, Any]],
    where: str,
    places: Mapping[tuple[int | None, str], str],
) -> tuple[MatrixCell, ...]:
    drops = [
        {key: {_parse_value(key, each, where) for each in _expand_values(key, raw, where)} for key, raw in one.items()}
        for one in excluded
    ]
    found: list[MatrixCell] = []
    seen = set()
    for number, alternative in enumerate(paired, 1):
        for values in product(*axes.values()):
            raw = dict(zip(axes, values, strict=True)) | alternative
            parsed = {key: _parse_value(key, value, where) for key, value in raw.items()}
            if any(all(key in parsed and parsed[key] in allowed for key, allowed in drop.items()) for drop in drops):
                continue
            given = _drop_elr(
                {key: (value, places.get((number, key), places.get((None, key), where))) for key, value in raw.items()}
            )
            for chosen in choose_each(given):
                version = parsed.get(VERSION)
                identity = (chosen.model.name, tuple(chosen.configuration.items()), version)
                if identity in seen:
                    continue
                seen.add(identity)
                every = {"model": chosen.model.name, **chosen.configuration, **parsed}
                every |= {ELR: chosen.configuration[ELR]} if ELR in chosen.configuration else {}
                found.append(MatrixCell(**vars(chosen), coordinates=every))
    return tuple(found)


def _find_places(
    text: str, where: str, axes: Iterable[str], paired: Iterable[Iterable[str]]
) -> dict[tuple[int | None, str], str]:
    """Return the place, "FILE line N", of each key that has a line, by its pair's number (None: in no [[pair]]) and name."""
    lines = find_lines(text)
    names: dict[tuple[int | None, str], tuple[str, ...]] = {
        (None, key): (f"{keys.KEYS[key].table}.{key}" if key in keys.KEYS else key, key) for key in axes
    }
    names |= {(number, key): (f"pair[{number}].{key}",) for number, each in enumerate(paired, 1) for key in each}
    return {
        place: f"{where} line {line}"
        for place, spelled in names.items()
        if (line := next((lines[each] for each in spelled if each in lines), None))
    }


def _drop_elr(given: Given) -> Given:
    """Return a cell's keys without ELR if its Kafka version has none, whatever the matrix says of later versions."""
    if VERSION not in given or ELR not in given:
        return given
    text, where = given[VERSION]
    is_before = parse_version(str(text), f"{VERSION} in {where}") < FIRST_WITH_ELR
    return {key: each for key, each in given.items() if key != ELR or not is_before}


def _list_varying(cells: Iterable[MatrixCell], names_model: bool) -> tuple[str, ...]:
    """Return the keys with more than one value in these cells, without those that only follow from others: mechanisms and, if
    it does, ELR from the version; fixes from `defects`; ELR from the model if the matrix names models, else `model` itself."""
    cells = list(cells)
    names = list(dict.fromkeys(name for each in cells for name in each.coordinates))
    varying = [name for name in names if len({str(each.coordinates[name]) for each in cells if name in each.coordinates}) > 1]
    implied = {ELR if names_model else "model"}
    if VERSION in varying:
        by_version = {(each.coordinates[VERSION], each.coordinates.get(ELR)) for each in cells}
        implied |= {ELR} if len(by_version) == len({version for version, _ in by_version}) else set()
        implied |= {name for name in varying if name.startswith(keys.MECHANISM)}
    varying = [name for name in varying if name not in implied]
    if "defects" in varying:
        varying = [name for name in varying if name not in FIXES]
    order = [name for name in (*SPECIAL, *keys.KEYS) if name in varying]
    return tuple(order + [name for name in varying if name not in order])
