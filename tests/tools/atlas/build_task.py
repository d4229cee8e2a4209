"""The work of the atlas in parts that share a search: what a part asks, and deciding it, here or on an executor."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from neverlost.checker.engine.digest import question_digest
from neverlost.checker.engine.outcome import EngineError, Finding
from neverlost.checker.questions.atlas.lookup import question
from neverlost.checker.questions.by_lemmas import by_induction
from neverlost.checker.questions.question_id import question_id
from neverlost.checker.questions.sweep.sweep import bounds_of, kind
from neverlost.model.kernel import Configuration, Model
from neverlost.model.plain import plain, restored
from neverlost.model.protocols import models
from neverlost.model.system import bind
from neverlost.specs.configuration.canonical import list_departures
from neverlost.specs.lemmas import find_lemmas
from neverlost.specs.properties import properties
from neverlost.specs.property import Property
from tests.tools.atlas.common_settings import INDUCTION, NO_RETURN, SEARCH, Chapter
from tests.tools.atlas.decision_procedures import by_search, without_recovery_actions
from tests.tools.atlas.table import AnswerRow

Plain = Mapping[str, Any]


@dataclass(frozen=True)
class Unit:
    """Questions that share a search: configurations of one model, as JSON has them, and the properties asked of each.

    What a search of more than `most_states` would decide is not decided, and has a row that says so; 0 is no limit.  `how` is
    one of the ways of `common_settings.py`.
    """

    model: str
    digest: str
    configurations: tuple[Plain, ...]
    properties: tuple[str, ...]
    most_states: int = 0
    how: str = SEARCH

    @property
    def text(self) -> str:
        """The unit as JSON, without what is as usual."""
        usual = {"most_states": 0, "how": SEARCH}
        given = {name: value for name, value in asdict(self).items() if value != usual.get(name)}
        return json.dumps(given, sort_keys=True)

    @property
    def name(self) -> str:
        """The unit's name: equal for equal questions about models of equal meaning."""
        return hashlib.sha256(self.text.encode()).hexdigest()[:16]


def unit_of(text: str) -> Unit:
    given = json.loads(text)
    return Unit(**given | {name: tuple(given[name]) for name in ("configurations", "properties")})


def units(chapters: Iterable[Chapter]) -> Iterator[Unit]:
    """Return every question of some chapters once, grouped into units that share a search."""
    known: set[tuple[str, str]] = set()
    for chapter in chapters:
        asked = [properties()[name] for name in chapter.asked]
        waiting: dict[Any, list[Configuration]] = {}
        for chosen, limits in chapter.questions():
            found = question(chosen.model, dict(chosen.configuration) | dict(limits))
            key = (chosen.model.name, json.dumps([plain(found), *chapter.asked], sort_keys=True))
            if key in known:
                continue
            known.add(key)
            if not is_asked(chapter, chosen.model, found):
                continue
            system = bind(chosen.model, found)
            lemmas = find_lemmas(system) if chapter.how == INDUCTION else ()
            group = waiting.setdefault((chosen.model.name, kind(system), bounds_of(system), lemmas), [])
            group.append(found)
            if len(group) == chapter.together:
                yield _unit(chosen.model, group, asked, chapter)
                group.clear()
        for (name, *_), group in waiting.items():
            if group:
                yield _unit(models()[name], group, asked, chapter)


def is_asked(chapter: Chapter, model: Model, found: Configuration) -> bool:
    """Return True if a chapter decides this question: a proof is tried only where lemmas were written for it."""
    return chapter.how != INDUCTION or bool(find_lemmas(bind(model, found)))


def _unit(model: Model, group: Iterable[Configuration], asked: Iterable[Property], chapter: Chapter) -> Unit:
    names, digest = tuple(each.name for each in asked), question_digest(model, asked)
    return Unit(model.name, digest, tuple(map(plain, group)), names, chapter.most_states, chapter.how)


CUT_SHORT = ""
"""What stands for the rows of a unit whose search was cut short: a question that nothing decided has no row."""


def decide(text: str) -> str:
    """Answer the questions of a unit, given as JSON; the rows, as JSON, or `CUT_SHORT` where memory or disk ended the search.

    Errors: `EngineError` where this machine's models mean something else.
    """
    unit = unit_of(text)
    model, asked = models()[unit.model], [properties()[name] for name in unit.properties]
    if question_digest(model, asked) != unit.digest:
        raise EngineError(f"{unit.model} means something else where the atlas was planned; install the same neverlost")
    configurations = [restored(each) for each in unit.configurations]
    if unit.how == INDUCTION:
        found = by_induction(model, configurations, asked)
    elif unit.how == NO_RETURN:
        found = without_recovery_actions(model, configurations, asked)
    else:
        found = by_search(model, configurations, asked, unit.most_states)
    if found is None:
        return CUT_SHORT
    return as_text(_row(model, configurations[each.configuration], each) for each in found)


def _row(model: Model, configuration: Configuration, found: Finding) -> AnswerRow:
    return AnswerRow(
        model=model.name,
        question=json.dumps(plain(list_departures(model, configuration)), sort_keys=True, separators=(",", ":")),
        property=found.property.name,
        id=question_id(model, configuration, [found.property.name]),
        verdict=str(found.verdict),
        steps=len(found.trace.steps) if found.trace is not None else None,
    )


def as_text(rows: Iterable[AnswerRow]) -> str:
    return json.dumps([asdict(each) for each in rows])


def rows_of(text: str) -> list[AnswerRow]:
    return [AnswerRow(**each) for each in json.loads(text)]
