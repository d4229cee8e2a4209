"""A model amid a change: each step, and each condition, may read a setting as it was before or as it will be.

While a setting is rolled out it is not known which node has it already.  So every action comes once for each way to read what
it reads of the settings that change, independently of each other and of the steps before.  Whatever nodes of two versions or
with two configuration files do, in whatever order they are changed, is among that.  Within one step a setting is read once.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import wraps
from itertools import product
from typing import Any

from neverlost.model.interpreters.tracing import read_by_steps
from neverlost.model.kernel import Action, Clauses, Model, Primitives, Value
from neverlost.model.system import System, View

Settings = Mapping[str, Sequence[int]]
"""The values that frozen fields may be read with."""


class _Overlaid:
    """A view in which some frozen fields have other values; assignments go to the view below."""

    __slots__ = ("_given", "_view")

    def __init__(self, view: Any, given: Mapping[str, Value]) -> None:
        object.__setattr__(self, "_view", view)
        object.__setattr__(self, "_given", given)

    def __getattr__(self, name: str) -> Any:
        return self._given[name] if name in self._given else getattr(self._view, name)

    def __setattr__(self, name: str, value: Value) -> None:
        setattr(self._view, name, value)


def mix_versions(system: System, settings: Settings) -> Model:
    """Return the system's model with each action once for every combination of values of those settings that it reads."""
    read = {
        action.name: read_by_steps(system, (each for each in system.steps if each.action is action)) & settings.keys()
        for action in system.model.actions
    }
    flags = {each.name for each in system.fields if each.kind == "flag"}
    actions = [
        _make_readings(action, {name: bool(value) if name in flags else value for name, value in way.items()})
        for action in system.model.actions
        for way in list_assignments({name: settings[name] for name in sorted(read[action.name])})
    ]
    return replace(system.model, actions=tuple(actions))


def list_assignments(settings: Settings) -> list[dict[str, int]]:
    """Return every combination of the settings' values, each as a dict by setting."""
    return [dict(zip(settings, values, strict=True)) for values in product(*settings.values())]


def _make_readings(action: Action, given: Mapping[str, Value]) -> Action:
    """Return the action with the values of `given` in place of what the state says of these settings."""
    inner = action.body

    @wraps(inner)
    def body(k: Primitives, s: View, **arguments: int) -> Clauses:
        yield from inner(k, _Overlaid(s, given), **arguments)

    return replace(action, body=body) if given else action


def require_all_assignments(condition: Callable[[Any, Any], Value], settings: Settings) -> Callable[[Any, Any], Value]:
    """Return a condition that is true where the given one is true under every combination of the settings' values."""

    def always(k: Any, s: Any) -> Value:
        return k.all_of(*[condition(k, _Overlaid(s, given)) for given in list_assignments(settings)])

    return always
