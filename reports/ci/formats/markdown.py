"""Markdown for the summary page of a CI job."""

from __future__ import annotations

from neverlost.reports.ci.verdicts.gate_verdict import GateResult
from neverlost.reports.documents.topic_groups import Group, general_notices, group_by_answer, list_topics, remedy_lines
from neverlost.reports.wording.merged_rows import value_text, where_violated
from neverlost.reports.wording.provenance import assumed_lines, notice_sentence
from neverlost.specs.configuration.keys import is_without_faults

FILE = "summary.md"
MOST_COMMANDS = 24


def render(result: GateResult) -> str:
    """Return Markdown text: for a sweep, the counts, the rules for the violated cells, and what changed against the baseline;
    for a check, a row for each answer and the commands of the changes; for both, notices and what is assumed."""
    return _sweep(result) if result.is_sweep else _check(result)


def _check(result: GateResult) -> str:
    rows = [
        f"| {each.verdict} | {len(each.topics) or len(each.cells)} | {_cell(list_topics(each.topics) or each.settings)} | "
        f"{_cell(each.settings)} | {_cell(each.cause)} | {_cell(_change(each))} |"
        for each in group_by_answer(result.document)
    ]
    head = ["| verdict | topics | which | settings | how | change |", "| --- | --- | --- | --- | --- | --- |"]
    is_quiet = all(is_without_faults(each["config"]) for each in result.cells)
    warned = ["", "**Nothing may fail here**: every `faults.*` is 0."] if is_quiet else []
    noticed = [f"- {each['kind']}: {notice_sentence(each)}" for each in general_notices(result.document)]
    noticed += [f"- {_cell(line)}" for line in assumed_lines(result.document)]
    commands = [
        command["line"] for each in group_by_answer(result.document) for command in each.commands if not command["where"]
    ]
    more = [f"# and {len(commands) - MOST_COMMANDS} more, in changes.sh"] if len(commands) > MOST_COMMANDS else []
    shell = ["", "```sh", *commands[:MOST_COMMANDS], *more, "```"] if commands else []
    return "\n".join(["## neverlost check", *warned, "", *head, *rows, *shell, *(["", *noticed] if noticed else [])]) + "\n"


def _change(group: Group) -> str:
    if group.remedy is None:
        return ""
    return " ".join(remedy_lines(group.remedy))


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


def _sweep(sweep: GateResult) -> str:
    counts, cells = sweep.document["verdicts"], sweep.document["cells"]
    known = ", ".join(dict.fromkeys(cell["model"] for cell in cells))
    lines = [
        f"## neverlost sweep: {sweep.name}",
        "",
        f"{len(cells)} cells ({known}): {counts['holds']} hold, {counts['violated']} violated, "
        f"{counts['inconclusive']} inconclusive.",
        "",
    ]
    lines += [f"- `{each['property']}` is violated {where_violated(each['rule'])}" for each in sweep.document["boundary"]]
    lines += [f"- {each['kind']}: {notice_sentence(each)}" for each in general_notices(sweep.document)]
    lines += [f"- {_cell(line)}" for line in assumed_lines(sweep.document)]
    if sweep.changes is not None:
        lines += ["", "### Against the baseline", "", *_changes(sweep)]
    return "\n".join(lines) + "\n"


def _changes(sweep: GateResult) -> list[str]:
    if not sweep.changes:
        return ["No verdict changed."]
    rows = [
        f"| {each['cell']} | {each['property']} | {value_text(each['was'])} | {value_text(each['is'])} |"
        for each in sweep.changes
    ]
    asked = dict.fromkeys(each["question"] for each in sweep.changes if each.get("question"))
    rows += ["", *(f"Not comparable: the question changed ({each}); write a new baseline." for each in asked)] if asked else []
    return ["| cell | property | was | is |", "| --- | --- | --- | --- |", *rows]
