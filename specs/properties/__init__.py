"""What must hold: every `Property` in the files of this folder, and which of them are asked for."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterable, Sequence
from functools import cache

from neverlost.model.kernel import Model
from neverlost.model.system import System
from neverlost.specs.errors import InputError, unknown
from neverlost.specs.property import Property


@cache
def properties() -> dict[str, Property]:
    """Return every property by name, from the files of this folder."""
    files = [importlib.import_module(f"{__name__}.{each.name}") for each in pkgutil.iter_modules(__path__)]
    found = [value for file in files for value in vars(file).values() if isinstance(value, Property)]
    return {each.name: each for each in sorted(found, key=lambda each: each.name)}


def guarantees(model: Model) -> list[Property]:
    """Return the properties that a model's protocol is expected to keep."""
    return [properties()[name] for name in model.guarantees]


def choose_properties(model: Model, names: Iterable[str] | None) -> list[Property]:
    """Return the named properties, each once; the model's guarantees if none is named.  Errors: `InputError` for an unknown."""
    if not names:
        return guarantees(model)
    names, found = [names] if isinstance(names, str) else names, []
    for name in dict.fromkeys(names):
        if name not in properties():
            raise unknown("property", name, properties(), "--property")
        found.append(properties()[name])
    return found


def list_defined(system: System, names: Iterable[str]) -> list[str]:
    """Return the names of those of the named properties all of whose fields the system has."""
    return [name for name in names if set(properties()[name].needs) <= set(system.places)]


def require_fields(system: System, asked: Sequence[Property]) -> None:
    """Errors: `InputError` for a property that needs a field which the model does not have in this configuration."""
    for each in asked:
        lacking = [name for name in each.needs if name not in system.places]
        if lacking:
            raise InputError(
                f"property {each.name!r} is not defined for model {system.model.name!r} with this configuration "
                f"(it needs {', '.join(lacking)}); defined: {', '.join(list_defined(system, sorted(properties())))}"
            )
