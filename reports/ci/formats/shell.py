"""A shell script with the commands that make the advised changes; a change of a file is a comment with its place."""

from __future__ import annotations

from neverlost.reports.ci.verdicts.gate_verdict import GateResult
from neverlost.reports.documents.answers import Group, group_by_answer, remedy_lines
from neverlost.reports.wording.merged_rows import pluralize

FILE = "changes.sh"


def render(result: GateResult) -> str:
    """Return the script: commands by group of topics, the worst first; only decided changes are in it, and none of a sweep."""
    found = [] if result.is_sweep else [each for each in group_by_answer(result.document) if each.commands]
    lines = [line for each in found for line in ("", *_group(each))]
    head = ["#!/bin/sh", "# set HOST:PORT first; every change was verified: with it, what was asked holds", "set -eu"]
    return "\n".join([*head, *lines]) + "\n"


def _group(group: Group) -> list[str]:
    """Return the comments and commands of a group; a line break in a topic's name cannot end a comment."""
    first = remedy_lines(group.remedy)[0] if group.remedy else group.change
    said = f"# {pluralize(len(group.topics), 'topic')}: {first}"
    return [" ".join(said.split()), *(_line(each["where"], each["line"]) for each in group.commands)]


def _line(where: str, line: str) -> str:
    return " ".join(f"# {where}: {line}".split()) if where else line
