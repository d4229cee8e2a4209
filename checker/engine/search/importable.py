"""Models and properties that another process can import, by module and name."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from neverlost.model.kernel import Model
from neverlost.specs.property import Property

Place = tuple[str, str]
"""A module, and the name of a value in it."""


@dataclass(frozen=True)
class Homes:
    """Where a model and its properties are defined."""

    model: Place
    properties: tuple[Place, ...]

    def load(self) -> tuple[Model, list[Property]]:
        """Import the model and its properties, and return them.

        Errors: `ImportError` or `AttributeError` where this machine has no such module, or another one.
        """
        model: Model = _import_home(self.model)
        return model, [_import_home(each) for each in self.properties]


def find_homes(model: Model, asked: Sequence[Property]) -> Homes | None:
    """Return where another process finds a model and properties; None where one is a global of no module but the main one."""
    home, *homes = [_find_home(each) for each in (model, *asked)]
    known = tuple(each for each in homes if each is not None)
    return Homes(home, known) if home is not None and len(known) == len(homes) else None


def _find_home(value: object) -> Place | None:
    modules = [(name, vars(module)) for name, module in [*sys.modules.items()] if hasattr(module, "__dict__")]
    found = ((module, name) for module, names in modules for name, held in [*names.items()] if held is value)
    return min((each for each in found if each[0] not in ("__main__", "__mp_main__")), default=None)


def _import_home(place: Place) -> Any:
    module, name = place
    return getattr(importlib.import_module(module), name)
