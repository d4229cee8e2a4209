"""A behaviour that TLC printed of an exported module, read back and re-executed on the ints interpreter."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from neverlost.checker.engine.outcome import Behaviour, breaks
from neverlost.model.interpreters.tla import identifier, operator_name, variable_fields
from neverlost.model.system import System
from neverlost.reports.counterexample.itf import re_execute, read_state, system_of
from neverlost.specs.configuration.input import read_json, read_text
from neverlost.specs.errors import InputError
from neverlost.specs.properties import properties
from neverlost.specs.property import Property

QUESTION = "question.json"
"""The file beside an exported module that says which model and configuration it is."""
BEGINS = "TLC2 Version"
VIOLATED = re.compile(r"^Error: Invariant (\w+) is violated", re.MULTILINE)
STATE = re.compile(r"^State (\d+): <(\w+)[^>\n]*>\n((?:(?!State \d+:).+\n)+)", re.MULTILINE)
TOKEN = re.compile(r"\s*(TRUE|FALSE|-?\d+|<<|>>|:>|@@|[(),])")


def is_tlc_output(path: Path) -> bool:
    """Return True if a file begins with the words with which TLC begins its output."""
    with path.open("rb") as file:
        return file.read(len(BEGINS)) == BEGINS.encode()


def read_tlc(path: Path, folder: Path) -> tuple[System, Property, Behaviour]:
    """Read the first counterexample in TLC's output about the module that was exported to `folder`, re-execute it, and return
    its system, property and behaviour.  Errors: `InputError` where there is none or no such module, for a state that the model
    does not lead to, and where the last state does not break the invariant."""
    where, text = str(path), read_text(path)
    if not (folder / QUESTION).is_file():
        raise InputError(f"{str(folder)!r} has no {QUESTION}: give the directory of neverlost export with --tla DIR")
    system = system_of(read_json(folder / QUESTION), str(folder / QUESTION))
    named = {identifier(name): each for name, each in properties().items()}
    violated = VIOLATED.search(text)
    if violated is None or violated[1] not in named:
        raise InputError(f"{where!r} has no violated invariant of ours; TLC prints `Error: Invariant NAME is violated`")
    entries = [*_behaviour(text[violated.end() :])]
    if not entries:
        raise InputError(f"{where!r} has no states after the violated invariant; run TLC without -noTE")
    known = system.nested(system.initial_states()[0][1])
    constants = {name: value for name, value in known.items() if name not in variable_fields(system)}
    labels = {operator_name(step): step.label for step in system.steps}
    states = [read_state(system, constants | _values(block, where), number, where) for number, (_, block) in enumerate(entries)]
    steps = [labels.get(operator, operator) for operator, _ in entries[1:]]
    behaviour = Behaviour(tuple(states), re_execute(system, states, steps, where))
    broken = named[violated[1]]
    if not breaks(system, states[-1], broken):
        raise InputError(f"{where!r} ends in a state that does not break {broken.name}")
    return system, broken, behaviour


def _behaviour(text: str) -> Iterator[tuple[str, str]]:
    """Yield the operator and the text of the variables of each state of the first behaviour in a text."""
    for number, found in enumerate(STATE.finditer(text), start=1):
        if int(found[1]) != number:
            return
        yield found[2], found[3]


def _values(block: str, where: str) -> dict[str, Any]:
    """Return the values of a state's variables, by name, from the text that TLC prints of it."""
    return {name: _value(text, where) for name, text in re.findall(r"^/\\ (\w+) = ((?:.*\n?(?!/\\))*)", block, re.MULTILINE)}


def _value(text: str, where: str) -> Any:
    """Return the value of a text: a flag, a number, or of a function from 0, 1, ... a list; `InputError` for any other text."""
    tokens, end = [], 0
    while found := TOKEN.match(text, end):
        tokens.append(found[1])
        end = found.end()
    if text[end:].strip() or not tokens:
        raise InputError(f"{where!r} has the value {text.strip()[:60]!r}, which no exported module has")
    rest = iter(tokens)
    try:
        return _parse(next(rest), rest)
    except (StopIteration, ValueError):
        raise InputError(f"{where!r} has the value {text.strip()[:60]!r}, which no exported module has") from None


def _parse(token: str, rest: Iterator[str]) -> Any:
    if token in ("TRUE", "FALSE"):
        return token == "TRUE"
    if token != "(":
        return int(token)
    found: list[Any] = []
    while token != ")":
        if int(next(rest)) != len(found) or next(rest) != ":>":
            raise ValueError(token)
        value = _parse(next(rest), rest)
        found.append(value)
        token = next(rest)
        if token not in (")", "@@"):
            raise ValueError(token)
    return found
