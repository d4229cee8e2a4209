"""The page about a partition without a leader: a section for what to do, and one for each candidate."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from neverlost.reports.page.tables import Section, TableCell, TableReport
from neverlost.reports.questions.rescue.document import SCHEMA


def _rescue(document: Mapping[str, Any]) -> Iterable[Section]:
    yield Section("What to do", lines=[f"{each['says']} {' && '.join(each['run'])}".strip() for each in document["do"]])
    for each in document["candidates"]:
        kind = "holds" if each["loses_nothing"] else "violated" if each["problem"] is None else "inconclusive"
        headline, *more = each["sentences"]
        yield Section(f"Broker {each['broker']}", verdict=TableCell(headline, kind), lines=more)
    yield Section("What this rests on", lines=document["rests_on"])


def _answer(document: Mapping[str, Any]) -> list[str]:
    return [f"{document['partition']} has no leader. {document['headline']}", *document["why"]]


REPORT = TableReport(SCHEMA, "a partition without a leader", "What each election loses, from files.", _rescue, _answer)
