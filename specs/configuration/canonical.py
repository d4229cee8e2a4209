"""Configurations that mean the same: a key that changes nothing that anyone reads is at its default.

Many keys do not matter to a question: the mechanisms of reassignments where nothing is reassigned, the order of a consumer's
commits without a consumer.  Which frozen fields matter is not declared but seen: every step and every condition is read
once by an interpreter that notes the names of the fields.  Protocol functions cannot branch on state values, so one reading
finds them all.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from neverlost.model.interpreters.ints import Ints, IntsView
from neverlost.model.kernel import Configuration, Model, Sizes
from neverlost.model.system import System, bind
from neverlost.specs.configuration.keys import KEYS, MECHANISM
from neverlost.specs.property import Property


class _NotingView(IntsView):
    """A view that notes which fields are read."""

    __slots__ = ("noted",)
    noted: set[str]

    def __init__(self, system: System, noted: set[str]) -> None:
        super().__init__(system, tuple(slot.low for slot in system.slots))
        object.__setattr__(self, "noted", noted)

    def __getattr__(self, name: str) -> Any:
        self.noted.add(name)
        return super().__getattr__(name)


_known: dict[tuple[str, int, Sizes, tuple[str, ...]], frozenset[str]] = {}


def fields_read(system: System, asked: Iterable[Property]) -> frozenset[str]:
    """The names of the fields that a step, what follows each step, or a condition reads."""
    properties = tuple(asked)
    key = (system.model.name, id(system.model), system.sizes, tuple(each.name for each in properties))
    if key not in _known:
        noted: set[str] = set()
        for step in system.steps:
            for _ in step.run(Ints, _NotingView(system, noted)):
                pass
        if system.model.normalise is not None:
            system.model.normalise(Ints, _NotingView(system, noted))
        for each in properties:
            each.condition(Ints, _NotingView(system, noted))
        _known[key] = frozenset(noted)
    return _known[key]


def behaviour(model: Model, configuration: Configuration, read: frozenset[str]) -> tuple[Any, ...]:
    """What decides the reachable states as far as they matter: sizes, fields, the frozen values that are read, beginnings."""
    declared = tuple(model.fields(configuration))
    moving = tuple((each.name, each.low, each.high, each.axes) for each in declared if not each.frozen)
    frozen = tuple(
        (each.name, model.frozen[each.name](configuration)) for each in declared if each.frozen and each.name in read
    )
    return model.sizes(configuration), moving, frozen, repr(list(model.initial(configuration)))


def canonical(model: Model, configuration: Configuration, asked: Iterable[Property]) -> dict[str, Any]:
    """The configuration with every key at its default that may be there without a difference, one after the other."""
    read = fields_read(bind(model, configuration), asked)
    found = dict(configuration)
    mine = behaviour(model, found, read)
    for key, value in configuration.items():
        default = model.defaults.get(key, KEYS[key].default if not key.startswith(MECHANISM) else None)
        if value == default or default is None or model.contradiction(found | {key: default}) is not None:
            continue
        if behaviour(model, found | {key: default}, read) == mine:
            found[key] = default
    return found
