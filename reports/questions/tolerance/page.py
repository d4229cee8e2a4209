"""The page of a tolerance: a section with its tables for each group of topics."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from neverlost.checker.questions.tolerance.cell_words import UNDECIDED, answer_in
from neverlost.checker.questions.tolerance.fault_budget import FaultBudget
from neverlost.checker.questions.tolerance.tolerance import CellVerdict
from neverlost.reports.documents.topic_groups import brief_settings
from neverlost.reports.documents.topic_groups import list_topics as listed
from neverlost.reports.page.tables import Section, Table, TableCell, TableReport
from neverlost.reports.questions.tolerance import document as describe
from neverlost.reports.questions.tolerance.overview import DESIGNED, SHIPPED, Overview, entries_of, overview
from neverlost.reports.wording import provenance
from neverlost.reports.wording.merged_rows import pluralize
from neverlost.reports.wording.table_words import KINDS
from neverlost.specs.inputs.remedies import topic_of
from neverlost.specs.properties import properties

SPOTS = "Rows: how many brokers lose data at once. Columns: how many others are slow, cut off or stopped meanwhile."


def _tolerance(document: Mapping[str, Any]) -> Iterable[Section]:
    """Yield what to do first and the bugs of the release, for described topics; then a section for each group of topics that
    mean the same, the worst first."""
    entries = {
        name: next(iter(_aspects(rows, _variants(document, name)[0]).values())) for name, rows in document["tolerance"].items()
    }
    if any(document["topics"].values()) and is_about_records(document):
        yield from _first_sections(overview(document))
    for name, rows in sorted(document["tolerance"].items(), key=lambda each: _order(document, each[0], entries[each[0]])):
        variants = {each: f"{name} {each}" for each in _variants(document, name)}
        about = document["settings"][next(iter(variants.values()))]
        advice, topics = document["advice"].get(name, {}), document["topics"][name]
        cell = {"settings": document["sources"][name], "notices": document["notices"][name]}
        yield Section(
            (listed(topics) + name.removeprefix(", ".join(topics))) if topics else name,
            brief_settings(about),
            names=topics,
            tables=[
                one for each, key in variants.items() for one in _variant_tables(each, rows, document["says"][key], topics)
            ],
            change=advice.get("says", ""),
            commands=advice.get("commands", ()),
            notices=provenance.notices(cell),
            settings=provenance.sources(cell),
        )


def _variants(document: Mapping[str, Any], name: str) -> list[str]:
    """Return the variants (as designed, as shipped) of which there are tables about a group of topics."""
    return [each for each in (DESIGNED, SHIPPED) if f"{name} {each}" in document["says"]]


def _order(document: Mapping[str, Any], name: str, entries: Mapping[FaultBudget, Sequence[CellVerdict]]) -> tuple[Any, ...]:
    """Return a sort key: partitions in danger now first, then the fewest brokers to a loss."""
    return all(each["is"] == describe.BEHIND for each in document["now"][name]), describe.danger(entries)


def _first_sections(answer: Overview) -> Iterable[Section]:
    groups = [
        [TableCell(level.title, level.kind), *map(TableCell, (listed(each.topics), each.settings, each.says, each.remedy))]
        for level in answer.levels
        for each in level.groups
    ]
    head = ["danger", "topics", "settings", "a record is", "what to do"]
    yield Section("What to do first", tables=[Table("groups by danger", head, groups, has_sentences=True)])
    if answer.bugs:
        bugs = [[TableCell(bug.name), TableCell(bug.says), TableCell("; ".join(bug.lines))] for bug in answer.bugs]
        table = Table("bugs", ["bug", "what goes wrong", "how it is known"], bugs, has_sentences=True)
        yield Section(answer.bugs_title, lines=answer.with_bugs, tables=[table])


def _aspects(rows: Sequence[Mapping[str, Any]], variant: str) -> dict[str, Mapping[FaultBudget, Sequence[CellVerdict]]]:
    """Return the tables of a variant by what they are about: lost records and writes together, any other property alone."""
    names = list(dict.fromkeys(each["property"] for each in rows))
    others = [name for name in names if name not in describe.OF_TABLES]
    main = {"": entries_of(rows, variant)} if len(others) < len(names) else {}
    return main | {name: entries_of(rows, variant, (name,)) for name in others}


def is_about_records(document: Mapping[str, Any]) -> bool:
    """Return True if lost records or writes that stop were asked about, which the overview of topics speaks of."""
    return any(each["property"] in describe.OF_TABLES for rows in document["tolerance"].values() for each in rows)


def _variant_tables(
    variant: str, rows: Sequence[Mapping[str, Any]], says: Sequence[str], topics: Sequence[str]
) -> Iterable[Table]:
    """Yield the tables of a variant; the sentences about all of them are written below the last."""
    every = _aspects(rows, variant)
    for name, found in every.items():
        about = f"{variant}, {name}: {properties()[name].says}" if name else variant
        yield _variant_table(about, found, says if name == list(every)[-1] else (), topics)


def _variant_table(
    name: str, found: Mapping[FaultBudget, Sequence[CellVerdict]], says: Sequence[str], topics: Sequence[str]
) -> Table:
    most = max(spot.losing for spot in found)
    return Table(
        name,
        ["lose data", *(f"{out} out" for out in range(most + 1))],
        [
            [TableCell(str(losing)), *(_spot(found, FaultBudget(losing, out), topics) for out in range(most + 1))]
            for losing in range(most + 1)
        ],
        says,
    )


def _spot(found: Mapping[FaultBudget, Sequence[CellVerdict]], spot: FaultBudget, topics: Sequence[str]) -> TableCell:
    if spot not in found:
        return TableCell("-")
    says, steps = answer_in(found, spot)
    if steps is None or says == UNDECIDED:
        return TableCell(says, KINDS[says])
    topic = f"--topic {topic_of(topics[0])} " if topics else ""
    show = f"the same command with {topic}--show {spot.losing},{spot.out} prints them"
    return TableCell(says, KINDS[says], f"{pluralize(steps, 'step')}; {show}")


def _answer(document: Mapping[str, Any]) -> Sequence[str]:
    """Return the answer in sentences: the headline of counts, or the first sentence of the table."""
    if any(document["topics"].values()) and is_about_records(document):
        first, *more = overview(document).headline
        return [*first.split("; "), *more]
    return [next(iter(document["says"].values()))[0]]


REPORT = TableReport("neverlost.tolerance/1", "what a configuration survives", SPOTS, _tolerance, _answer)
