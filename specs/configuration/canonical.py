"""Configurations that mean the same: a key that changes nothing that anyone reads is at its default.

Many keys do not matter to a question: the mechanisms of reassignments where nothing is reassigned, the order of a consumer's
commits without a consumer.  Which frozen fields matter is not declared but seen: every step and every condition is read
once by an interpreter that notes the names of the fields.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from neverlost.model.interpreters.ints import Ints
from neverlost.model.interpreters.noting import NotingView, read_by_steps
from neverlost.model.kernel import Configuration, Model, Sizes
from neverlost.model.system import System
from neverlost.specs.configuration.keys import KEYS, MECHANISM
from neverlost.specs.property import Property

_known: dict[tuple[str, int, Sizes, tuple[str, ...]], frozenset[str]] = {}


def fields_read(system: System, asked: Iterable[Property]) -> frozenset[str]:
    """The names of the fields that a step, what follows each step, or a condition reads."""
    properties = tuple(asked)
    key = (system.model.name, id(system.model), system.sizes, tuple(each.name for each in properties))
    if key not in _known:
        noted = read_by_steps(system, system.steps)
        if system.model.normalise is not None:
            system.model.normalise(Ints, NotingView(system, noted))
        for each in properties:
            each.condition(Ints, NotingView(system, noted))
        _known[key] = frozenset(noted)
    return _known[key]


def frozen_values(model: Model, configuration: Configuration, read: frozenset[str]) -> dict[str, int]:
    """The frozen fields that are read, with their values."""
    return {name: value(configuration) for name, value in model.frozen.items() if name in read}


def layout(model: Model, configuration: Configuration) -> tuple[Any, ...]:
    """What else decides the reachable states: the fields that change, and where a search begins."""
    moving = [(each.name, each.low, each.high, each.axes) for each in model.fields(configuration) if not each.frozen]
    return moving, list(model.initial(configuration))


def default_of(model: Model, key: str) -> Any:
    """The value that a model assumes for a key that is not given."""
    return model.defaults[key] if key.startswith(MECHANISM) else model.defaults.get(key, KEYS[key].default)


def departures(model: Model, configuration: Configuration) -> dict[str, Any]:
    """The keys that are not at their defaults."""
    return {key: value for key, value in configuration.items() if value != default_of(model, key)}


def canonical(model: Model, configuration: Configuration, read: frozenset[str]) -> dict[str, Any]:
    """The configuration with every key at its default that may be there without a difference to what reads these fields."""
    values, sizes = frozen_values(model, configuration, read), model.sizes(configuration)
    laid_out = layout(model, configuration)
    defaults = {key: default_of(model, key) for key in departures(model, configuration)}

    def is_free(key: str) -> bool:
        other = {**configuration, key: defaults[key]}
        return frozen_values(model, other, read) == values and model.sizes(other) == sizes

    def is_same(other: Configuration) -> bool:
        is_alike = frozen_values(model, other, read) == values and model.sizes(other) == sizes
        return is_alike and layout(model, other) == laid_out and model.contradiction(other) is None

    free = {key: value for key, value in defaults.items() if is_free(key)}
    if is_same({**configuration, **free}):
        return {**configuration, **free}
    found = dict(configuration)
    for key, value in free.items():
        if is_same({**found, key: value}):
            found[key] = value
    return found
