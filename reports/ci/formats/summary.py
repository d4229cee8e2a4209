"""Markdown for the page of a job."""

from __future__ import annotations

from neverlost.reports.ci.judged import JudgedSweep

FILE = "summary.md"


def render(sweep: JudgedSweep) -> str:
    """Counts, where safe ends, and what changed against the baseline."""
    counts, cells = sweep.document["verdicts"], sweep.document["cells"]
    known = ", ".join(dict.fromkeys(cell["model"] for cell in cells))
    lines = [
        f"## neverlost sweep: {sweep.name}",
        "",
        f"{len(cells)} cells ({known}): {counts['holds']} hold, {counts['violated']} violated, "
        f"{counts['inconclusive']} inconclusive.",
        "",
    ]
    lines += [f"- `{each['property']}` is violated iff {each['rule']['violated_iff']}" for each in sweep.document["boundary"]]
    if sweep.changes is not None:
        lines += ["", "### Against the baseline", "", *_changes(sweep)]
    return "\n".join(lines) + "\n"


def _changes(sweep: JudgedSweep) -> list[str]:
    if not sweep.changes:
        return ["No verdict changed."]
    rows = [f"| {each['cell']} | {each['property']} | {each['was']} | {each['is']} |" for each in sweep.changes]
    return ["| cell | property | was | is |", "| --- | --- | --- | --- |", *rows]
