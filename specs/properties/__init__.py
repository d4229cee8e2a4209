"""What must hold: one file per property, each exporting `PROPERTY`; found by listing this folder."""

from __future__ import annotations

import importlib
import pkgutil
from functools import cache

from neverlost.model.kernel import Model
from neverlost.specs.property import Property


@cache
def properties() -> dict[str, Property]:
    """Return every property by name, from the files of this folder."""
    found = [importlib.import_module(f"{__name__}.{each.name}").PROPERTY for each in pkgutil.iter_modules(__path__)]
    return {each.name: each for each in sorted(found, key=lambda each: each.name)}


def guarantees(model: Model) -> list[Property]:
    """Return the properties that a model's protocol is expected to keep."""
    return [properties()[name] for name in model.guarantees]
