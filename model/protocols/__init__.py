"""One file per protocol version; each exports `MODEL` and holds only its difference."""

from __future__ import annotations

import importlib
import pkgutil
from functools import cache

from neverlost.model.kernel import Model


@cache
def models() -> dict[str, Model]:
    """Return every model, by the name that the command line uses."""
    found = [importlib.import_module(f"{__name__}.{each.name}").MODEL for each in pkgutil.iter_modules(__path__)]
    return {each.name: each for each in sorted(found, key=lambda each: each.name)}


def model_named(name: str) -> Model:
    """Return the model that the command line calls so, without importing those that it does not build on."""
    file = name.replace("kip-", "kip").replace("-", "_").replace(".", "_")
    found: Model = importlib.import_module(f"{__name__}.{file}").MODEL
    return found
