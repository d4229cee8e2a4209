"""Hand-written lemmas, one file per family of models, each exporting `THEORY`; found by listing this folder."""

from __future__ import annotations

import importlib
import pkgutil
from functools import cache

from neverlost.model.system import System
from neverlost.specs.lemma import Lemma, Theory


@cache
def theories() -> tuple[Theory, ...]:
    """Return every theory, from the files of this folder."""
    return tuple(importlib.import_module(f"{__name__}.{each.name}").THEORY for each in pkgutil.iter_modules(__path__))


def find_lemmas(system: System, goal: str | None = None) -> tuple[Lemma, ...]:
    """Return the lemmas of the first theory that covers a system; none where no theory does.

    With a property as `goal` these are the lemmas for every property and those for this one alone; without, all.
    """
    covering = (
        theory for theory in theories() if system.model.name in theory.models and all(map(theory.covers, system.configurations))
    )
    found = next(covering, None)
    return tuple(each for each in found.lemmas if goal is None or each.only_for in (None, goal)) if found else ()
