"""The page of a rolling restart: a row for each broker."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from neverlost.reports.page.tables import Section, Table, TableCell, TableReport
from neverlost.reports.questions.roll import document as roll_document
from neverlost.reports.questions.roll.step import step_lines
from neverlost.reports.wording import provenance
from neverlost.reports.wording.table_words import KINDS

BROKERS = "The brokers one at a time: what a stop does now."


def _roll(document: Mapping[str, Any]) -> Iterable[Section]:
    """Yield a section with a row for each broker, those that may be stopped first; then those of settings that differ."""
    head = ["broker", "stopped now"]
    rows = [[TableCell(broker), _stop(each["now"], document)] for broker, each in document["brokers"].items()]
    cell = {"settings": document["sources"], "notices": document["notices"]}
    yield Section(
        "Brokers",
        lines=list(roll_document.meanwhile(document)),
        tables=[Table("which brokers may be stopped", head, rows, has_sentences=True)],
        notices=provenance.notices(cell),
        settings=provenance.sources(cell),
    )
    for label, own in document["differ"].items():
        yield Section(label, settings=provenance.sources({"settings": own}))


def _stop(says: dict[str, list[str]], document: Mapping[str, Any]) -> TableCell:
    """Return the cell for what a stop does to which partitions, coloured by the worst of it."""
    kinds = [KINDS.get(each.partition(",")[0], "violated") for each in says]
    worst = next((kind for kind in ("violated", "inconclusive") if kind in kinds), "holds")
    return TableCell(roll_document.describe_stop(says, document) or "may be stopped", worst)


def _answer(document: Mapping[str, Any]) -> list[str]:
    if "step" in document:
        return list(step_lines(document["step"], document["by_bugs"]))
    return [roll_document.verdict(document), *roll_document.order(document)]


REPORT = TableReport("neverlost.roll/1", "which brokers may be stopped", BROKERS, _roll, _answer)
