"""Answers that the atlas has: a question is looked up by the identifier of its canonical form."""

from __future__ import annotations

from collections.abc import Sequence

from neverlost.checker.atlas.table import Atlas
from neverlost.checker.digest import question_id
from neverlost.checker.outcome import Verdict
from neverlost.model.kernel import Configuration, Model
from neverlost.specs.common_settings import ANSWERED
from neverlost.specs.configuration.canonical import canonical
from neverlost.specs.property import Property, properties


def question(model: Model, configuration: Configuration) -> Configuration:
    """The configuration that stands in the atlas for all that mean the same."""
    return canonical(model, configuration, [properties()[name] for name in ANSWERED])


def answers(
    atlas: Atlas, model: Model, configuration: Configuration, asked: Sequence[Property]
) -> list[tuple[Verdict, int | None]] | None:
    """The verdict on each property with the steps of a shortest counterexample; None unless the atlas has them all."""
    found = question(model, configuration)
    known = [atlas.find(question_id(model, found, [each.name])) for each in asked]
    return None if None in known else [each for each in known if each is not None]
