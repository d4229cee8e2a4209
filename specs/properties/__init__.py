"""What must hold: every `Property` in the files of this folder."""

from __future__ import annotations

import importlib
import pkgutil
from functools import cache

from neverlost.model.kernel import Model
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
