"""Decided cases of the corpus as rows, documents and traces, for both `scenarios` and `claims`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from neverlost.checker.engine.host.whole_files import as_json, write_text
from neverlost.checker.questions.corpus.decided_cases import CaseResult
from neverlost.checker.questions.search_questions import finding_of
from neverlost.reports.counterexample.itf import to_itf
from neverlost.reports.output.exit_status import of_expectations
from neverlost.reports.wording.merged_rows import faults_text, pluralize
from neverlost.specs.configuration.keys import shown


def found_text(one: CaseResult) -> str:
    """Return the verdict that was found, with the length of a counterexample and its faults; or why a case is undecided."""
    if not one.is_decided:
        return f"undecided: {one.answer.problem}"
    if one.answer.trace is None:
        return str(one.answer.verdict)
    return f"{one.answer.verdict} in {pluralize(one.answer.steps or 0, 'step')} ({faults_text(one.faults)})"


def document(one: CaseResult) -> dict[str, Any]:
    """Return a case with its result, decided or not, for `--json`."""
    system = one.question.system
    return {
        "case": one.name,
        "model": system.model.name,
        "config": {name: shown(value) for name, value in system.configurations[0].items()},
        "disabled": [f"{action}: {clause}" for action, clause in sorted(system.disabled)],
        "property": one.case.property,
        "expected": one.case.expected,
        "expected_steps": one.case.steps,
        "verdict": str(one.answer.verdict),
        "as_expected": one.is_expected,
        "steps": one.answer.steps,
        "faults": one.faults,
        "reason": one.answer.problem,
        "distinct": one.answer.distinct,
        "depth": one.answer.depth,
        "never_happened": one.never_happened,
        "seconds": round(one.answer.seconds, 3),
    }


def save_traces(judged: Sequence[CaseResult], directory: str) -> None:
    """Write every counterexample as a trace file that `replay` reads."""
    for each in judged:
        finding = finding_of(each.question, each.answer)
        if finding is not None:
            text = as_json(to_itf(each.question.system, finding))
            write_text(Path(directory) / f"{each.name.replace('/', '-')}.itf.json", text)


def exit_status(judged: Sequence[CaseResult], is_expected: bool) -> int:
    """Return 21 unless everything `is_expected`, else 20 if a case is undecided, else 0."""
    return of_expectations(is_expected, all(each.is_decided for each in judged))
