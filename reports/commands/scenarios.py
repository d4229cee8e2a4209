"""`neverlost scenarios`: decide the corpus of known scenarios and compare with the expected verdicts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any, Unpack

import typer

from neverlost.reports.command_line import options
from neverlost.reports.request.keywords import Corpus

if TYPE_CHECKING:
    from neverlost.checker.questions.corpus.decided_cases import CaseResult
    from neverlost.specs.cases.scenario import Scenario

SCHEMA = "neverlost.scenarios/1"


def scenarios(
    ids: Annotated[list[str] | None, typer.Argument(metavar="[ID]...", show_default=False)] = None,
    slow: Annotated[bool, typer.Option("--slow/--fast", help="with or without the cases that take more than 20 s")] = True,
    out: options.OutDirectory = None,
    json: options.JsonTarget = None,
    quiet: options.Quiet = False,
    **search: Unpack[Corpus],
) -> int:
    """Run `neverlost scenarios`; return 21 unless all verdicts are as expected, else 20 if a case is undecided, else 0."""
    from neverlost.checker.questions.corpus.decided_cases import judge
    from neverlost.checker.questions.search_questions import ExecutionTarget
    from neverlost.reports.output.output import Output
    from neverlost.reports.questions.corpus import document as cases
    from neverlost.reports.request.run_options import RunOptions
    from neverlost.reports.terminal.progress import PartsProgress
    from neverlost.specs.cases.scenario import choose_scenarios

    output, request = Output(json, out, quiet), RunOptions(**search)
    means = ExecutionTarget(request.engine, request.master, request.options().spark_conf)
    asked = choose_scenarios(ids or [])
    wanted = {f"{each.id}/{case.name}": case for each in asked for case in each.cases if slow or not case.slow}
    with PartsProgress(total=len(wanted)) as progress:
        judged = judge(wanted, request.workers, seconds=request.time_limit, notify=progress, means=means)
    found = list(judged.values())
    if out is not None:
        cases.save_traces(found, out)
    output.deliver(_document(asked, judged), lines=_verdict_lines)
    if output.is_read:
        _show(asked, judged)
    is_expected = all(each.is_expected for each in found if each.is_decided)
    return cases.exit_status(found, is_expected)


def _verdict_lines(document: Mapping[str, Any]) -> list[str]:
    from neverlost.reports.output.output import verdict_line

    return [verdict_line(each["verdict"], each["case"]) for one in document["scenarios"] for each in one["cases"]]


def _document(asked: list[Scenario], judged: dict[str, CaseResult]) -> dict[str, Any]:
    import neverlost
    from neverlost.reports.questions.corpus.document import document

    found = judged.values()
    return {
        "schema": SCHEMA,
        "version": neverlost.__version__,
        "counts": _counts(asked, judged),
        "seconds": round(sum(each.answer.seconds for each in found), 3),
        "scenarios": [
            {
                "id": each.id,
                "group": each.group,
                "title": each.title,
                "source": each.source,
                "marks": each.marks,
                "versions": each.versions,
                "outside": each.outside or None,
                "correction": each.correction or None,
                "cases": [
                    document(judged[f"{each.id}/{case.name}"]) for case in each.cases if f"{each.id}/{case.name}" in judged
                ],
            }
            for each in asked
        ],
    }


def _counts(asked: list[Scenario], judged: dict[str, CaseResult]) -> dict[str, int]:
    found = list(judged.values())
    return {
        "scenarios": len(asked),
        "with_cases": sum(bool(each.cases) for each in asked),
        "outside": sum(bool(each.outside) for each in asked),
        "corrected": sum(bool(each.correction) for each in asked),
        "cases": len(found),
        "as_expected": sum(each.is_expected for each in found),
        "different": sum(each.is_decided and not each.is_expected for each in found),
        "undecided": sum(not each.is_decided for each in found),
    }


def _show(asked: list[Scenario], judged: dict[str, CaseResult]) -> None:
    from rich.table import Table
    from rich.text import Text

    from neverlost.reports.terminal import results as terminal
    from neverlost.specs.cases.scenario import GROUPS

    out = terminal.console()
    for group, meaning in GROUPS.items():
        members = [each for each in asked if each.group == group]
        if not members:
            continue
        table = Table(
            "scenario", "case", "property", "expected", "found", "s", title=f"{group}: {meaning}", title_justify="left"
        )
        for scenario in members:
            if scenario.outside:
                table.add_row(scenario.id, Text("outside the models", "dim"), "", "", Text(scenario.outside, "dim"), "")
            for case in scenario.cases:
                one = judged.get(f"{scenario.id}/{case.name}")
                if one is not None:
                    expected = case.expected + (f" in {case.steps}" if case.steps else "")
                    seconds = f"{one.answer.seconds:.1f}"
                    table.add_row(scenario.id, case.name, case.property, expected, _found_cell(one), seconds)
        out.print(table)
    for each in asked:
        if each.correction:
            out.print(Text(f"corrected: {each.id}: {each.correction}", "yellow"))
    counts = _counts(asked, judged)
    out.print(
        f"{counts['scenarios']} scenarios, {counts['with_cases']} with cases, {counts['outside']} outside the models; "
        f"{counts['cases']} cases: {counts['as_expected']} as expected, {counts['different']} different, "
        f"{counts['undecided']} undecided; {counts['corrected']} expectations corrected"
    )


def _found_cell(one: CaseResult) -> Any:
    """Return the found verdict as coloured text for a table: green if it is the expected one, yellow if undecided, else red."""
    from rich.text import Text

    from neverlost.reports.questions.corpus.document import found_text

    style = "yellow" if not one.is_decided else ("green" if one.is_expected else "bold red")
    mark = "" if one.is_expected or not one.is_decided else "DIFFERENT: "
    return Text(mark + found_text(one), style)
