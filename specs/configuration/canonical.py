"""Configurations that mean the same: a key that changes nothing that anyone reads is at its default.

Many keys do not matter to a question: the mechanisms of reassignments where nothing is reassigned, the order of a consumer's
commits without a consumer.  Which frozen fields matter is not declared but seen: every step and every condition is read
once by an interpreter that notes the names of the fields.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Set
from typing import Any

from neverlost.model.interpreters.ints import Ints
from neverlost.model.interpreters.tracing import NotingView, read_by_steps
from neverlost.model.kernel import Configuration, Model, Sizes
from neverlost.model.system import System
from neverlost.specs.configuration.keys import KEYS, MECHANISM
from neverlost.specs.property import Property

_known: dict[tuple[int, Sizes, tuple[str, ...]], tuple[Model, frozenset[str]]] = {}
"""The fields that were asked for, with the model that is kept alive with them."""

_made: dict[tuple[int, Callable[..., Any]], tuple[Model, dict[tuple[str, ...], dict[tuple[Any, ...], Any]]]] = {}
"""What a model's function returned, by the keys that it read and their values.  The model is kept, so no other has its id."""


def sizes_of(model: Model, configuration: Configuration) -> Sizes:
    """Return a model's sizes in a configuration; they are worked out once, and kept."""
    found: Sizes = _make(model, model.sizes, configuration)[0]
    return found


def list_fields_read(system: System, asked: Iterable[Property]) -> frozenset[str]:
    """Return the names of the fields that a step, `normalise` or a property reads; arrays assigned to count as read."""
    properties = tuple(asked)
    key = (id(system.model), system.sizes, tuple(each.name for each in properties))
    if key not in _known:
        noted = read_by_steps(system, system.steps)
        if system.model.normalise is not None:
            system.model.normalise(Ints, NotingView(system, noted))
        for each in properties:
            each.condition(Ints, NotingView(system, noted))
        _known[key] = system.model, frozenset(noted)
    return _known[key][1]


def layout(model: Model, configuration: Configuration) -> tuple[Any, ...]:
    """Return what decides the reachable states beside the fields read: the fields that change, and the initial states."""
    moving = [(each.name, each.low, each.high, each.axes) for each in model.fields(configuration) if not each.frozen]
    return moving, list(model.initial(configuration))


def find_default(model: Model, key: str) -> Any:
    """Return the value that a model assumes for a key that is not given.  Errors: `KeyError` for a key that nobody knows."""
    return model.defaults[key] if key.startswith(MECHANISM) else model.defaults.get(key, KEYS[key].default)


def list_departures(model: Model, configuration: Configuration) -> dict[str, Any]:
    """Return the keys whose values differ from their defaults, with these values."""
    return {key: value for key, value in configuration.items() if value != find_default(model, key)}


class _Noting(Mapping[str, Any]):
    """A configuration that notes which of its keys are read, all if it is iterated: changing another changes no result."""

    def __init__(self, configuration: Configuration) -> None:
        self._given, self.noted = configuration, set[str]()

    def __getitem__(self, key: str) -> Any:
        self.noted.add(key)
        return self._given[key]

    def __iter__(self) -> Iterator[str]:
        self.noted.update(self._given)
        return iter(self._given)

    def __len__(self) -> int:
        return len(self._given)


def _make(model: Model, function: Callable[..., Any], given: Configuration) -> tuple[Any, Iterable[str]]:
    """Return what a model's function, or `layout`, makes of a configuration, and the keys that it read; it is kept."""
    _, known = _made.setdefault((id(model), function), (model, {}))
    for keys, values in known.items():
        read = tuple(given.get(each, ...) for each in keys)
        if read in values:
            return values[read], keys
    noting = _Noting(given)
    value = function(model, noting) if function is layout else function(noting)
    known.setdefault(keys := tuple(noting.noted), {})[tuple(given.get(each, ...) for each in keys)] = value
    return value, keys


def canonical(model: Model, configuration: Configuration, read: frozenset[str]) -> dict[str, Any]:
    """Return the configuration with each key at its default where that changes no frozen field in `read`, no size, no initial
    state and no range of a field, and contradicts no other key."""
    made_of = [value for name, value in model.frozen.items() if name in read] + [model.sizes]
    made = [(each, *_make(model, each, configuration)) for each in made_of]
    defaults = {key: find_default(model, key) for key in list_departures(model, configuration)}

    def is_alike(other: Configuration, changed: Set[str]) -> bool:
        return all(_make(model, each, other)[0] == value for each, value, keys in made if not changed.isdisjoint(keys))

    def is_same(other: Configuration) -> bool:
        moving, before = (_make(model, layout, each)[0] for each in (other, configuration))
        return moving == before and _make(model, model.contradiction, other)[0] is None

    free = {key: value for key, value in defaults.items() if is_alike({**configuration, key: value}, {key})}
    if is_alike(every := {**configuration, **free}, free.keys()) and is_same(every):
        return every
    found = dict(configuration)
    for key, value in free.items():
        if is_alike(one := {**found, key: value}, free.keys()) and is_same(one):
            found = one
    return found
