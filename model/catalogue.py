"""All models by name, found by listing `model/versions/`."""

from __future__ import annotations

import importlib
import pkgutil
from functools import cache

from neverlost.model.kernel import Model


@cache
def models() -> dict[str, Model]:
    """Every model, by the name the command line uses."""
    import neverlost.model.versions as folder

    found = [importlib.import_module(f"{folder.__name__}.{each.name}").MODEL for each in pkgutil.iter_modules(folder.__path__)]
    return {each.name: each for each in sorted(found, key=lambda each: each.name)}
