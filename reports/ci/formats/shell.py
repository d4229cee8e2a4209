"""A shell script with the commands that make the advised changes; a change of a file is a comment with its place."""

from __future__ import annotations

from neverlost.reports.ci.verdicts.gate_verdict import GateResult
from neverlost.reports.documents.topic_groups import Group, group_by_answer, remedy_lines
from neverlost.reports.wording.merged_rows import pluralize

FILE = "changes.sh"


def render(result: GateResult) -> str:
    """Return a shell script with the commands of changes that help, by group of topics, the worst first; of a sweep none."""
    found = [] if result.is_sweep else [each for each in group_by_answer(result.document) if each.commands]
    lines = [line for each in found for line in ("", *_group(each))]
    head = ["#!/bin/sh", "# set HOST:PORT first; every change was verified: with it, what was asked holds", "set -eu"]
    return "\n".join([*head, *lines]) + "\n"


def _group(group: Group) -> list[str]:
    """Return the lines of a group: a comment, then its commands; line breaks in names become spaces, so they end no comment."""
    first = remedy_lines(group.remedy)[0] if group.remedy else group.change
    said = f"# {pluralize(len(group.topics), 'topic')}: {first}"
    return [" ".join(said.split()), *(_line(each["where"], each["line"]) for each in group.commands)]


def _line(where: str, line: str) -> str:
    return " ".join(f"# {where}: {line}".split()) if where else line
