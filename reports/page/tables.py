"""`report.md` and `report.html` of a tolerance and of a rolling restart, and `report.html` of bounds: tables, their sentences
to be cited, what to change, and where the settings come from.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from neverlost.checker.campaign.tolerance import CellVerdict
from neverlost.checker.machine.whole_files import write_text
from neverlost.checker.outcome import Verdict
from neverlost.reports.documents import nines, provenance, roll
from neverlost.reports.documents import tolerance as describe
from neverlost.reports.documents.answers import brief
from neverlost.reports.documents.answers import named as listed
from neverlost.reports.page.drawing import STYLE, inside
from neverlost.reports.page.nines import plot
from neverlost.reports.page.templating import for_markdown, for_pages
from neverlost.specs.properties import properties
from neverlost.specs.property import SAFETY
from neverlost.specs.setting import NoticeKind
from neverlost.specs.spot import AXES, FaultBudget

DERIVED = "Nothing in this report was measured: all of it follows from question.json, and neverlost verify derives it again."

KINDS = {describe.OK: "holds", describe.STOPS: "inconclusive", describe.UNDECIDED: "inconclusive", describe.LOST: "violated"}
"""How a page colours what a spot says."""

SPOTS = "A row: so many brokers lose data at once. A column: while so many others are slow, fenced or shut down."
BROKERS = "The brokers one at a time: what a stop does now, and what it does if another broker then suffers something further."


YEARLY = (
    "An upper bound of the probability that an acknowledged record is lost in a year: of leaving the region of faults in which"
    " a search decided that nothing is lost, at rates that are ranges."
)


@dataclass(frozen=True)
class TableCell:
    """A text, and how it is coloured."""

    says: str
    kind: str = ""


@dataclass(frozen=True)
class Table:
    """A table with a heading for each column; the first cell of a row is its heading.

    One with `has_sentences` becomes a list on a phone.
    """

    name: str
    head: Sequence[str]
    rows: Sequence[Sequence[TableCell]]
    lines: Sequence[str] = ()
    has_sentences: bool = False


@dataclass(frozen=True)
class Section:
    """What is said of some topics, or of a cluster; `verdict` says it in a few words, `picture` is SVG."""

    name: str
    about: str = ""
    verdict: TableCell = TableCell("")
    lines: Sequence[str] = ()
    picture: str = ""
    names: Sequence[str] = ()
    tables: Sequence[Table] = ()
    change: str = ""
    commands: Sequence[Mapping[str, str]] = ()
    notices: Sequence[Mapping[str, Any]] = ()
    settings: Sequence[Mapping[str, str]] = ()


def write_tables(document: Mapping[str, Any], place: Path) -> list[Path]:
    """Both reports, where the document is one of these; returns what was written."""
    made = SECTIONS.get(str(document.get("schema")))
    if made is None:
        return []
    title, says, sections = made[0], made[1], list(made[2](document))
    general = [each for each in sections[0].notices if all(each in one.notices for one in sections)]
    about = f"neverlost {document['version']}, question {document['question'].removeprefix('sha256:')[:16]}"
    data = {
        "title": title,
        "chart_style": STYLE if any(one.picture for one in sections) else "",
        "says": says,
        "about": about,
        "notices": [*general, *_assumed(document)],
        "sections": [replace(one, notices=[each for each in one.notices if each not in general]) for one in sections],
        "derived": f"{DERIVED} To cite a sentence, add: [{about}].",
    }
    page, text = place / "report.html", place / "report.md"
    write_text(page, for_pages().get_template("tables.html").render(**data))
    if document["schema"] == nines.SCHEMA:  # whose text is its own, with its picture in a file
        return [page]
    write_text(text, for_markdown().get_template("tables.md").render(**data))
    return [text, page]


def _assumed(document: Mapping[str, Any]) -> list[dict[str, Any]]:
    """What the answer assumes, shown as notices are."""
    return [
        {"kind": NoticeKind.ASSUMED, "matters": True, "says": f"{key}={value}"} for key, value in document["assumed"].items()
    ]


def _tolerance(document: Mapping[str, Any]) -> Iterable[Section]:
    """A section for each group of topics that mean the same, the worst first."""
    for name, rows in sorted(document["tolerance"].items(), key=lambda each: -_how_many_lost(each[1])):
        variants = {each: f"{name} {each}" for each in ("as designed", "as shipped") if f"{name} {each}" in document["says"]}
        about = document["settings"][next(iter(variants.values()))]
        release = about["kafka.version"]
        advice, topics = document["advice"].get(name, {}), document["topics"][name]
        cell = {"settings": document["sources"][name], "notices": document["notices"][name]}
        yield Section(
            (listed(topics) + name.removeprefix(", ".join(topics))) if topics else name,
            brief(about) + (f", Kafka {release}" if release else ""),
            names=topics,
            tables=[_spots(each, rows, document["says"][key]) for each, key in variants.items()],
            change=advice.get("says", ""),
            commands=advice.get("commands", ()),
            notices=provenance.notices(cell),
            settings=provenance.sources(cell),
        )


def _how_many_lost(rows: Sequence[Mapping[str, Any]]) -> int:
    """At how many spots, of both variants, a record can be lost."""
    lost = (each for each in rows if each["verdict"] == Verdict.VIOLATED and properties()[each["property"]].kind == SAFETY)
    return len({(each["defects"], each["losing"], each["out"]) for each in lost})


def _spots(variant: str, rows: Sequence[Mapping[str, Any]], says: Sequence[str]) -> Table:
    """The table of a variant; what other faults change is said below it."""
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
    says, steps = describe.answered(found, spot)
    return TableCell(describe.in_words(says, steps), KINDS[says])


def _roll(document: Mapping[str, Any]) -> Iterable[Section]:
    """One section: a row for each broker, those that may be stopped first."""
    head = ["broker", "stopped", *(f"then another {words}" for words in roll.FURTHER.values())]
    rows = [
        [
            TableCell(broker),
            _stop(each["now"], "may be stopped"),
            *(_stop(each["then"][name], describe.OK) for name in roll.FURTHER),
        ]
        for broker, each in document["brokers"].items()
    ]
    cell = {"settings": document["sources"], "notices": document["notices"]}
    yield Section(
        "Brokers",
        verdict=TableCell(roll.verdict(document), str(document["verdict"])),
        lines=list(roll.order(document)),
        tables=[Table("which brokers may be stopped", head, rows, has_sentences=True)],
        notices=provenance.notices(cell),
        settings=provenance.sources(cell),
    )


def _stop(says: dict[str, list[str]], otherwise: str) -> TableCell:
    """What a stop does to which partitions, coloured as the worst of it."""
    kinds = [KINDS.get(each.partition(",")[0], "violated") for each in says]
    worst = next((kind for kind in ("violated", "inconclusive") if kind in kinds), "holds")
    return TableCell(roll.unless_ok(says) or otherwise, worst)


def _nines(document: Mapping[str, Any]) -> Iterable[Section]:
    """The ranges of all configurations, what leads to a loss in each, what is assumed, and the rates."""
    rates, found = list(document["rates"]), document["nines"].values()
    head = ["settings", *rates, "writes refused in a year", "as shipped"]
    says = (
        (each["label"], *(nines.cell(each, name) for name in rates), nines.refused(each), nines.shipped_words(each) or "-")
        for each in found
    )
    rows = [[*map(TableCell, each)] for each in says]
    yield Section("Bounds", picture=inside(plot(document)), tables=[Table("bounds", head, rows, has_sentences=True)])
    for each in found:
        notices = provenance.notices({"settings": {}, "notices": each["notices"]})
        yield Section(f"What leads to a loss: {each['label']}", lines=nines.sentences(each), notices=notices)
    for name, used in document["rates"].items():
        rows = [
            [*map(TableCell, (nines.says(episode), nines.often(each), nines.lasts(each), each["source"].replace("`", "")))]
            for episode, each in used.items()
            if "rate" in each
        ]
        table = Table(name, ["episode", "a year", "lasts", "source"], rows, has_sentences=True)
        yield Section(f"Rates: {name}", tables=[table])
    yield Section("What is assumed", lines=document["assumptions"])


SECTIONS = {
    "neverlost.tolerance/1": ("what a configuration survives", SPOTS, _tolerance),
    "neverlost.roll/1": ("which brokers may be stopped", BROKERS, _roll),
    nines.SCHEMA: ("how likely a loss is", YEARLY, _nines),
}
"""By the schema of a document: the title of its reports, what their tables are, and their sections."""
