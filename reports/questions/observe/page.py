"""The page of an observed partition: the answer, what is not explained, and what could have been lost when."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from neverlost.reports.page.tables import Section, Table, TableCell, TableReport
from neverlost.reports.questions.observe.document import MEANING, SCHEMA
from neverlost.reports.wording.merged_rows import settings_text
from neverlost.specs.configuration.keys import MECHANISM

HEADLINES = {
    "explained": "The model explains what was seen of {name}.",
    "refused": "The model does not explain what was seen of {name}.",
    "inconclusive": "Not decided: whether the model explains what was seen of {name}.",
}


def _answer(document: Mapping[str, Any]) -> list[str]:
    found = document["intervals"]
    could = [each for each in found if any(one["lost_by"] or one["may_be_lost"] for one in each["acknowledged"])]
    said = [HEADLINES[document["verdict"]].format(name=f"{document['topic']}-{document['partition']}")]
    if document["reason"]:
        said.append(f"The reason is: {document['reason']}.")
    if document["unsaid"]:
        said.append(f"What could have been lost is not said: {document['unsaid']}.")
    if found:
        said.append(f"One further fault could have lost acknowledged records in {len(could)} of {len(found)} intervals.")
    return said


def _observe(document: Mapping[str, Any]) -> Iterable[Section]:
    if refusal := document["refusal"]:
        seen = [[TableCell(f"{each['at']:.3f}"), TableCell(each["says"]), TableCell(each["place"])] for each in refusal["seen"]]
        allowed = [f"Explained there would have been: {each}." for each in refusal["allowed"] or ("nothing of the kind",)]
        head = ["time", "what was seen", "where it is written"]
        yield Section("The first observation that is not explained", lines=allowed, tables=[Table("seen", head, seen)])
    shown = {key: value for key, value in document["config"].items() if not key.startswith(MECHANISM) and value != ""}
    counts = f"{document['observations']} observations, {document['offsets']} offsets in {document['offset_groups']} groups"
    yield Section("What was looked at", lines=[f"{counts}.", f"Settings: {settings_text(shown)}."])
    head = ["seconds", "event", "leader", "ISR", "ELR", "acknowledged offsets", "one further fault that loses"]
    rows = [_row(each, one) for each in document["intervals"] for one in each["acknowledged"] or (None,)]
    if rows:
        yield Section(
            "What could have been lost, between one event and the next",
            tables=[Table("intervals", head, rows, has_sentences=True)],
        )


def _row(interval: Mapping[str, Any], exposure: Mapping[str, Any] | None) -> list[TableCell]:
    own = [
        f"{interval['since']:.1f} to {interval['until']:.1f}",
        interval["event"],
        "none" if interval["leader"] < 0 else str(interval["leader"]),
    ]
    own += [",".join(map(str, interval[name])) or "empty" for name in ("isr", "elr")]
    if exposure is None:
        return [TableCell(each) for each in (*own, "none", "none")]
    loses = "none needed: may be lost" if exposure["may_be_lost"] else ", ".join(exposure["lost_by"]) or "none"
    kind = "holds" if loses == "none" else "violated"
    return [*(TableCell(each) for each in (*own, exposure["offsets"])), TableCell(loses, kind)]


REPORT = TableReport(SCHEMA, "what was seen of a partition", f"Explained means: {MEANING}.", _observe, _answer)
