"""CSV: a row for each topic (or configuration) and property, for spreadsheets."""

from __future__ import annotations

import csv
import io

from neverlost.reports.ci.verdicts.gate_verdict import GateResult
from neverlost.reports.documents.topic_groups import brief_settings
from neverlost.reports.wording.merged_rows import faults_text

FILE = "verdicts.csv"
COLUMNS = ("topic", "property", "verdict", "steps", "faults", "settings", "change", "place", "id", "assumed")


def render(result: GateResult) -> str:
    """Return CSV text, a row for each verdict and topic in the document's order; what looks like a formula begins with `'`."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(COLUMNS)
    for each in result.verdicts:
        faults = faults_text(each.entry["faults"]) if each.verdict == "violated" else ""
        remedy = each.cell.get("remedy") or {}
        for subject in each.subjects:
            place = each.places.get(subject)
            row = [subject, each.about, each.verdict, each.entry.get("steps") or "", faults, brief_settings(each.cell)]
            row += [remedy.get("says", "") if each.verdict == "violated" else ""]
            row += [f"{place.file}:{place.number}" if place else "", each.cell.get("id") or "", each.assumed]
            writer.writerow([f"'{text}" if str(text).startswith(("=", "+", "-", "@")) else text for text in row])
    return out.getvalue()
