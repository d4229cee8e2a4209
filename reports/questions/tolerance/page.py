"""The page of a tolerance: a section with its tables for each group of topics."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from neverlost.checker.engine.outcome import Verdict
from neverlost.checker.questions.tolerance.fault_budget import AXES, FaultBudget
from neverlost.checker.questions.tolerance.tolerance import CellVerdict
from neverlost.reports.documents.answers import brief_settings
from neverlost.reports.documents.answers import list_topics as listed
from neverlost.reports.page.tables import Section, Table, TableCell, TableReport
from neverlost.reports.questions.tolerance import document as describe
from neverlost.reports.wording import provenance
from neverlost.reports.wording.table_words import KINDS
from neverlost.specs.properties import properties
from neverlost.specs.property import SAFETY

SPOTS = "A row: so many brokers lose data at once. A column: while so many others are slow, fenced or shut down."


def _tolerance(document: Mapping[str, Any]) -> Iterable[Section]:
    """Yield a section for each group of topics that mean the same, the worst first."""
    for name, rows in sorted(document["tolerance"].items(), key=lambda each: -_count_losses(each[1])):
        variants = {each: f"{name} {each}" for each in ("as designed", "as shipped") if f"{name} {each}" in document["says"]}
        about = document["settings"][next(iter(variants.values()))]
        release = about["kafka.version"]
        advice, topics = document["advice"].get(name, {}), document["topics"][name]
        cell = {"settings": document["sources"][name], "notices": document["notices"][name]}
        yield Section(
            (listed(topics) + name.removeprefix(", ".join(topics))) if topics else name,
            brief_settings(about) + (f", Kafka {release}" if release else ""),
            names=topics,
            tables=[_variant_table(each, rows, document["says"][key]) for each, key in variants.items()],
            change=advice.get("says", ""),
            commands=advice.get("commands", ()),
            notices=provenance.notices(cell),
            settings=provenance.sources(cell),
        )


def _count_losses(rows: Sequence[Mapping[str, Any]]) -> int:
    """Count the cells, of both variants, in which a record can be lost."""
    lost = (each for each in rows if each["verdict"] == Verdict.VIOLATED and properties()[each["property"]].kind == SAFETY)
    return len({(each["defects"], each["losing"], each["out"]) for each in lost})


def _variant_table(variant: str, rows: Sequence[Mapping[str, Any]], says: Sequence[str]) -> Table:
    """Return the table of a variant; what other faults change is written below it."""
    mine = [each for each in rows if (each["defects"] == "fixed") == (variant == "as designed")]
    fewest = min(len(each["faults"].keys() - _axes()) for each in mine)
    found: dict[FaultBudget, list[CellVerdict]] = {}
    for each in mine:
        if len(each["faults"].keys() - _axes()) == fewest:
            entry = CellVerdict(properties()[each["property"]], Verdict(each["verdict"]), each["steps"], each["source"])
            found.setdefault(FaultBudget(each["losing"], each["out"]), []).append(entry)
    most = max(spot.losing for spot in found)
    return Table(
        variant,
        ["lose data", *(f"{out} out" for out in range(most + 1))],
        [
            [TableCell(str(losing)), *(_spot(found, FaultBudget(losing, out)) for out in range(most + 1))]
            for losing in range(most + 1)
        ],
        says,
    )


def _axes() -> set[str]:
    return {each.removeprefix("faults.") for each in AXES}


def _spot(found: Mapping[FaultBudget, Sequence[CellVerdict]], spot: FaultBudget) -> TableCell:
    if spot not in found:
        return TableCell("-")
    says, steps = describe.answer_in(found, spot)
    return TableCell(describe.answer_text(says, steps), KINDS[says])


REPORT = TableReport("neverlost.tolerance/1", "what a configuration survives", SPOTS, _tolerance)
