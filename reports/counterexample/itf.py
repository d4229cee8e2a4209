"""Counterexamples in the Informal Trace Format (ITF JSON), written and read back.  Source: the format of Apalache and Quint;
our metadata stand under `#meta`."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from neverlost.checker.engine.outcome import Behaviour, Finding, breaks, follow_steps
from neverlost.model.interpreters import ints
from neverlost.model.kernel import ModelError
from neverlost.model.protocols import models
from neverlost.model.sentences import INITIAL, sentences
from neverlost.model.system import State, System, bind
from neverlost.specs.configuration.choose import broker_names, choose
from neverlost.specs.configuration.input import read_json
from neverlost.specs.configuration.keys import shown
from neverlost.specs.errors import InputError, describe_misreading
from neverlost.specs.properties import properties
from neverlost.specs.property import Property

FORMAT = "neverlost.trace/1"
REMEDY = "make it again with neverlost check --out DIR"


Brokers = Mapping[str, tuple[str, ...]]
"""The user's brokers that replicas 0, 1, ... stand for, by partition."""


def to_itf(system: System, finding: Finding, brokers: Brokers | None = None) -> dict[str, Any]:
    """Return the ITF document of a counterexample.  Its states call replicas by the model's numbers, its sentences by the names
    in `brokers`.  Errors: `ValueError` for a finding without a trace."""
    trace = finding.trace
    if trace is None:
        raise ValueError("only a violated property has a trace")
    names = [each.name for each in system.fields if not each.frozen]
    constants = _configured(system)
    labels = [INITIAL, *(system.steps[number].label for number in trace.steps)]
    document: dict[str, Any] = {
        "#meta": {
            "format": "ITF",
            "format-description": "https://apalache-mc.org/docs/adr/015adr-trace.html",
            "neverlost": {
                **describe_system(system, finding.configuration),
                "constants": constants,
                "property": finding.property.name,
                "says": sentences(system, trace.states, trace.steps, broker_names(brokers or {})),
                **({"brokers": {name: list(each) for name, each in brokers.items()}} if brokers else {}),
            },
        },
        "params": list(constants),
        "vars": [*names, "action"],
        "states": [
            {"#meta": {"index": index}, "action": label} | {name: nested[name] for name in names}
            for index, (label, state) in enumerate(zip(labels, trace.states, strict=True))
            for nested in [system.nested(state)]
        ],
    }
    document["#meta"]["neverlost"]["checksum"] = checksum(document)
    return document


def describe_system(system: System, configuration: int = 0) -> dict[str, Any]:
    """Return a description of a system under its configuration of that number; `system_of` makes the system from it again."""
    return {
        "schema": FORMAT,
        "model": system.model.name,
        "config": {name: shown(value) for name, value in system.configurations[configuration].items()},
        "disabled": sorted(list(each) for each in system.disabled),
    }


def checksum(document: dict[str, Any]) -> str:
    """Return a digest of everything in a trace document except the field that holds this digest."""
    about = {name: value for name, value in document["#meta"]["neverlost"].items() if name != "checksum"}
    whole = document | {"#meta": document["#meta"] | {"neverlost": about}}
    return "sha256:" + hashlib.sha256(json.dumps(whole, sort_keys=True).encode()).hexdigest()


def read_itf(path: Path | str) -> tuple[System, Property, Behaviour, Brokers]:
    """Read a saved counterexample and re-execute it on the ints interpreter; return its system, property and behaviour, and the
    user's brokers.  A configuration key that the model has gained since has its default.  Errors: `InputError` with the state
    and the problem: another value than the step leads to, a step that is not enabled, a first state that is not initial, a
    last state that does not break the property, a document that is no trace, or was changed since."""
    document = read_json(path)
    try:
        about = document["#meta"]["neverlost"]
        system = system_of(about, str(path))
        broken = properties()[about["property"]]
        entries = document["states"]
        _require_this_layout(document["vars"], system, str(path))
        configured = _configured(system)
        states = [read_state(system, configured | entry, number, str(path)) for number, entry in enumerate(entries)]
        labels = [entry["action"] for entry in entries[1:]]
    except (KeyError, TypeError, AttributeError, ValueError, IndexError, ModelError) as problem:
        raise InputError(f"{str(path)!r} is not a trace of ours: {describe_misreading(problem)}") from None
    if not states:
        raise InputError(f"{str(path)!r} has no states")
    steps = re_execute(system, states, labels, str(path))
    if not breaks(system, states[-1], broken):
        raise InputError(f"{str(path)!r} ends in a state that does not break {broken.name}")
    if about.get("checksum") != checksum(document):
        raise InputError(f"{str(path)!r} was changed since it was written: its checksum does not match")
    return system, broken, Behaviour(tuple(states), steps), _brokers(system, about.get("brokers", {}), str(path))


def _brokers(system: System, listed: Any, where: str) -> Brokers:
    """Return the user's brokers by partition.  Errors: `InputError` for what are no lists of ids, or more ids than replicas."""
    most = system.sizes["replica"]
    is_map = isinstance(listed, dict) and all(isinstance(each, list) and len(each) <= most for each in listed.values())
    if not is_map or not all(isinstance(each, str) and each.isdigit() for ids in listed.values() for each in ids):
        raise InputError(f"brokers of {where!r} are not lists of broker ids, at most {most}, by partition")
    return {name: tuple(each) for name, each in listed.items()}


def system_of(about: dict[str, Any], where: str) -> System:
    """Return the system that a document describes.  Errors: `InputError` for another schema, or unknown or bad settings."""
    if about.get("schema") != FORMAT:
        raise InputError(f"{where!r} has schema {about.get('schema')!r}; this version reads {FORMAT!r}")
    given = {str(name): (value, where) for name, value in about["config"].items()}
    chosen = choose(given, str(about["model"]))
    disabled = [(str(action), str(clause)) for action, clause in about["disabled"]]
    return bind(models()[chosen.model.name], chosen.configuration, disabled=disabled)


def _require_this_layout(names: list[str], system: System, where: str) -> None:
    """Raise `InputError` for a trace whose states have other fields than the system: another version wrote it."""
    known = {each.name for each in system.fields}
    kept = {each.name for each in system.fields if not each.frozen}
    gone, new = sorted(set(names) - known - {"action"}), sorted(kept - set(names))
    if gone or new:
        lacks = f"lacks {', '.join(new)}" if new else f"has {', '.join(gone)}, which is no field of {system.model.name}"
        raise InputError(f"{where!r} was written by another version of neverlost (it {lacks}); {REMEDY}")


def _configured(system: System) -> dict[str, Any]:
    _, start = system.initial_states()[0]
    nested = system.nested(start)
    return {each.name: nested[each.name] for each in system.fields if each.frozen}


def read_state(system: System, entry: Mapping[str, Any], number: int, where: str) -> State:
    """Return the state with these values by field; `InputError` names a field that is missing or cannot have its value."""
    flat: list[int] = []
    for declared in system.fields:
        shape = system.places[declared.name][1]
        place = f"{declared.name} in state {number} of {where!r}"
        if declared.name not in entry:
            raise InputError(f"{place} is missing")
        _flatten(entry[declared.name], shape, declared.kind == "flag", flat, place)
    try:
        return system.checked(tuple(flat))
    except ModelError as problem:
        raise InputError(f"state {number} of {where!r}: {problem}") from None


def _flatten(value: Any, shape: tuple[int, ...], is_flag: bool, flat: list[int], where: str) -> None:
    if not shape:
        if isinstance(value, bool) != is_flag or not isinstance(value, int):
            raise InputError(f"{where} is {value!r}, not a {'flag' if is_flag else 'number'}")
        flat.append(int(value))
        return
    if not isinstance(value, list) or len(value) != shape[0]:
        raise InputError(f"{where} should be a list of {shape[0]}")
    for each in value:
        _flatten(each, shape[1:], is_flag, flat, where)


def re_execute(system: System, states: list[State], labels: list[Any], where: str) -> tuple[int, ...]:
    """Return the numbers of the steps, given by their labels, that lead through the states.  Errors: `InputError` with the
    first state that is not initial or not where its step leads, or the first step that is unknown or not possible."""
    starts = [start for _, start in system.initial_states()]
    if states[0] not in starts:
        nearest = min(starts, key=lambda start: sum(a != b for a, b in zip(start, states[0], strict=True)))
        differs = _difference(system, states[0], nearest, "the initial state")
        raise InputError(f"state 0 of {where!r} is not an initial state: {differs}")
    numbers = {step.label: number for number, step in enumerate(system.steps)}
    for index, label in enumerate(labels, start=1):
        if label not in numbers:
            raise InputError(f"state {index} of {where!r} has unknown action {label!r}; if another version wrote it, {REMEDY}")
    steps = [numbers[label] for label in labels]
    again = follow_steps(system, states[0], steps)
    for index, (found, expected) in enumerate(zip(states, again.states, strict=False)):
        if found != expected:
            raise InputError(f"state {index} of {where!r}: {_difference(system, found, expected, labels[index - 1])}")
    if len(again.steps) < len(steps):
        place = len(again.states)
        refused = ints.refusals(system, again.states[-1], system.steps[steps[place - 1]])
        raise InputError(f"state {place} of {where!r}: {labels[place - 1]} is refused by its guard ({', '.join(refused)})")
    return again.steps


def _difference(system: System, found: State, expected: State, label: str) -> str:
    for slot, value, right in zip(system.slots, found, expected, strict=True):
        if value != right:
            return f"{slot.name} is {value}, but {label} leads to {right}"
    return "no difference"
