"""Models and properties that another process can import: the modules in which they stand, as `MODEL` and as `PROPERTY`."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Sequence
from dataclasses import dataclass

from neverlost.model.kernel import Model
from neverlost.specs.property import Property


@dataclass(frozen=True)
class Homes:
    """The modules in which a model and its properties are defined."""

    model: str
    properties: tuple[str, ...]

    def load(self) -> tuple[Model, list[Property]]:
        """Import them.

        Errors: `ImportError` or `AttributeError` where this machine has no such module, or another one.
        """
        model: Model = importlib.import_module(self.model).MODEL
        return model, [importlib.import_module(each).PROPERTY for each in self.properties]


def homes_of(model: Model, asked: Sequence[Property]) -> Homes | None:
    """Return where another process finds a model and properties; None where one of them was made while this process runs."""
    home, homes = _home_of(model, "MODEL"), [_home_of(each, "PROPERTY") for each in asked]
    known = tuple(each for each in homes if each is not None)
    return Homes(home, known) if home is not None and len(known) == len(homes) else None


def _home_of(value: object, variable: str) -> str | None:
    holding = (name for name, module in [*sys.modules.items()] if getattr(module, "__dict__", {}).get(variable) is value)
    return min((each for each in holding if each not in ("__main__", "__mp_main__")), default=None)
