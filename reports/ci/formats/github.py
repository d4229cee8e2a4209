"""GitHub's workflow commands: an annotation at the line of the user's file for each topic that is violated or undecided.
GitHub shows ten errors of a step, so with more topics there is one annotation for all that have the same answer."""

from __future__ import annotations

from neverlost.reports.ci.verdicts.gate_verdict import GateResult, GateVerdict, SourceLine
from neverlost.reports.documents.topic_groups import list_topics

FILE = "annotations.log"
MOST = 10
LEVELS = {"violated": "error", "inconclusive": "warning"}


def render(result: GateResult) -> str:
    """Return GitHub's annotations, one a line: for each violated or undecided verdict and topic or, if these are more than
    `MOST`, for each verdict with all its topics.  With a baseline each changed verdict has one, and no other."""
    shown = [each for each in result.verdicts if each.verdict in LEVELS or each.change is not None]
    if result.changes is not None:
        shown = [each for each in shown if each.change is not None]
    is_few = sum(len(each.subjects) for each in shown) <= MOST
    return "".join(
        f"{_command(each, list_topics([subject] if is_few else each.subjects), each.places.get(subject))}\n"
        for each in shown
        for subject in (each.subjects if is_few else each.subjects[:1])
    )


def _command(each: GateVerdict, subject: str, place: SourceLine | None) -> str:
    where = f"file={_property(place.file)},line={place.number}," if place else ""
    title = f"title={_property(f'{each.about}: {each.verdict} for {subject}')}"
    return f"::{LEVELS.get(each.verdict, 'error')} {where}{title}::{_text(each.message)}"


def _text(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _text(text).replace(":", "%3A").replace(",", "%2C")
