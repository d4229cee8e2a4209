"""Answers that the atlas has: a question is looked up by the identifier of its canonical form."""

from __future__ import annotations

from collections.abc import Sequence

from neverlost.checker.engine.outcome import Counts, Finding, Outcome, Verdict
from neverlost.checker.questions.atlas.index import ANSWERED, Answer, Atlas, shipped
from neverlost.checker.questions.question_id import question_ids
from neverlost.checker.questions.tolerance.tolerance import Known
from neverlost.model.kernel import Configuration, Model
from neverlost.model.system import System, bind
from neverlost.specs.configuration.canonical import canonical, list_fields_read, sizes_of
from neverlost.specs.properties import list_defined, properties
from neverlost.specs.property import Property

ENGINE = "atlas"
"""What an outcome that was looked up names as its engine."""

_known: dict[tuple[str, tuple[object, ...]], Configuration] = {}
"""Canonical forms that were asked for."""


def question(model: Model, configuration: Configuration) -> Configuration:
    """Return a configuration's canonical form: the atlas has one answer for all configurations that mean the same."""
    key = model.name, tuple(configuration.items())
    if key not in _known:
        _known[key] = canonical(model, configuration, read_by_questions(model, configuration))
    return _known[key]


def read_by_questions(model: Model, configuration: Configuration) -> frozenset[str]:
    """Return the frozen fields that a step or a property depends on: from the index if it has these sizes, else evaluated."""
    atlas = shipped()
    known = atlas.read_by(model, sizes_of(model, configuration)) if atlas is not None else None
    return read_afresh(model, configuration) if known is None else known


def read_afresh(model: Model, configuration: Configuration) -> frozenset[str]:
    """Return the frozen fields that a step or a property depends on, not from the index, but by evaluating all of them."""
    system = bind(model, configuration)
    noted = list_fields_read(system, [properties()[name] for name in list_defined(system, ANSWERED)])
    return noted & model.frozen.keys()


def answers(atlas: Atlas, model: Model, configuration: Configuration, asked: Sequence[Property]) -> list[Answer] | None:
    """Return the answer about each property; None unless the atlas has them all."""
    if atlas.read_by(model, sizes_of(model, configuration)) is None:
        return None
    found = question(model, configuration)
    known = [atlas.find(each) for each in question_ids(model, found, [[each.name] for each in asked])]
    return None if None in known else [each for each in known if each is not None]


def find_known(atlas: Atlas | None) -> Known | None:
    """Return a function that looks answers up in an atlas; None without an atlas."""
    return None if atlas is None else lambda *one: answers(atlas, *one)


def outcome(system: System, asked: Sequence[Property]) -> Outcome | None:
    """Return the shipped atlas's verdicts on a system's first configuration, without traces; None unless it decides all."""
    atlas, configuration = shipped(), system.configurations[0]
    found = answers(atlas, system.model, configuration, asked) if atlas is not None else None
    if found is None or any(verdict is Verdict.INCONCLUSIVE for verdict, _ in found):
        return None
    findings = tuple(Finding(each, 0, verdict) for each, (verdict, _) in zip(asked, found, strict=True))
    return Outcome(system, findings, Counts(), 0.0, engine=ENGINE)
