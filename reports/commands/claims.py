"""`neverlost claims`: sentences of Kafka's documentation and books, each decided by the cases that it names."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any, Unpack

import typer

from neverlost.reports.command_line import options
from neverlost.reports.request.keywords import EffortKeywords

if TYPE_CHECKING:
    from neverlost.checker.questions.corpus.decided_cases import CaseResult
    from neverlost.specs.cases.claim import Claim

SCHEMA = "neverlost.claims/1"


def claims(
    ids: Annotated[
        list[str] | None, typer.Argument(metavar="[ID]...", help="documents or claims (default: all)", show_default=False)
    ] = None,
    out: options.OutDirectory = None,
    json: options.JsonTarget = None,
    quiet: options.Quiet = False,
    **search: Unpack[EffortKeywords],
) -> int:
    """Run `neverlost claims`; return 21 unless all verdicts are as expected, else 20 if a case is undecided, else 0."""
    from pathlib import Path

    from neverlost.checker.engine.host.whole_files import write_text
    from neverlost.checker.questions.corpus.decided_cases import judge
    from neverlost.reports.output.output import Output
    from neverlost.reports.questions.corpus import document as cases
    from neverlost.reports.questions.corpus.page import claims_page
    from neverlost.reports.request.run_options import RunOptions
    from neverlost.reports.terminal.progress import PartsProgress
    from neverlost.specs.cases.claim import choose_claims, list_cases

    output, request = Output(json, out, quiet), RunOptions(**search)
    asked = choose_claims(ids or [])
    known = list_cases()
    wanted = {name: known[name] for each in asked for name in each.cases}
    with PartsProgress(total=len(wanted)) as progress:
        judged = judge(wanted, request.workers, seconds=request.time_limit, notify=progress)
    if out is not None:
        cases.save_traces(list(judged.values()), out)
    document = _document(asked, judged)
    output.deliver(document, lines=_verdict_lines)
    if out is not None:
        write_text(Path(out) / "report.md", claims_page(document))
    if output.is_read:
        _show(asked, judged)
    is_expected = all(_is_expected(each, judged) for each in asked)
    return cases.exit_status(list(judged.values()), is_expected)


def _verdict_lines(document: Mapping[str, Any]) -> list[str]:
    from neverlost.reports.output.output import verdict_line

    return [verdict_line(each["verdict"], each["id"]) for each in document["claims"]]


def _verdict(claim: Claim, judged: dict[str, CaseResult]) -> str | None:
    """Return the verdict on a claim; None if one of its cases is undecided."""
    own = [judged[name] for name in claim.cases]
    if not all(each.is_decided for each in own):
        return None
    return claim.verdict({each.name: str(each.answer.verdict) for each in own})


def _is_expected(claim: Claim, judged: dict[str, CaseResult]) -> bool:
    """Return True if a claim is undecided, or its verdict is the expected one and nothing is wrong with its cases."""
    verdict = _verdict(claim, judged)
    return verdict is None or (verdict == claim.expected and not _misplayed(claim, judged))


def _misplayed(claim: Claim, judged: dict[str, CaseResult]) -> list[str]:
    """Return what is wrong with the cases if all are decided: another verdict than the role needs, or nothing happened."""
    found = {name: str(judged[name].answer.verdict) for name in claim.cases}
    if not all(judged[name].is_decided for name in claim.cases):
        return []
    wrong = [f"{name} is {found[name]}, no case that {claim.role_of(name)}" for name in claim.misplayed(found)]
    return wrong + [f"{name} holds, but {each}" for name in claim.cases for each in judged[name].never_happened]


def _deciding(claim: Claim, judged: dict[str, CaseResult]) -> str:
    """Return as text the cases that decide a claim, with their verdicts: those that break it; if it has none, those that show
    it (or are compared) and its limits.  What is wrong with its cases follows."""
    from neverlost.reports.questions.corpus.document import found_text

    order = ("breaks",) if claim.roles.get("breaks") else ("shows", "without", "with", "limits")
    deciding = [name for role in order for name in claim.roles.get(role, ())]
    return "; ".join([*(f"{name}: {found_text(judged[name])}" for name in deciding), *_misplayed(claim, judged)])


def _document(asked: list[Claim], judged: dict[str, CaseResult]) -> dict[str, Any]:
    import neverlost
    from neverlost.reports.questions.corpus.document import document

    return {
        "schema": SCHEMA,
        "version": neverlost.__version__,
        "counts": _counts(asked, judged),
        "claims": [
            {
                "id": each.id,
                "line": each.line,
                "says": each.says,
                "quoted": each.is_quoted,
                "truth": each.truth,
                "kind": each.kind,
                "expected": each.expected,
                "verdict": _verdict(each, judged),
                "outside": each.outside or None,
                "premises": dict(each.premises),
                "differs": list(each.differs),
                "misplayed": _misplayed(each, judged),
                "tests": [document(judged[name]) | {"role": each.role_of(name)} for name in each.tests],
                "limits": [document(judged[name]) | {"role": "limits"} for name in each.limits],
            }
            for each in asked
        ],
    }


def _counts(asked: list[Claim], judged: dict[str, CaseResult]) -> dict[str, int]:
    found = [_verdict(each, judged) for each in asked]
    listed = {f"{verdict}": found.count(verdict) for verdict in ("holds", "only-if", "violated", "outside")}
    different = sum(not _is_expected(each, judged) for each in asked)
    return {"claims": len(asked), **listed, "different": different, "undecided": found.count(None)}


def _show(asked: list[Claim], judged: dict[str, CaseResult]) -> None:
    from rich.table import Table
    from rich.text import Text

    from neverlost.reports.questions.corpus.page import claim_sentence
    from neverlost.reports.terminal import results as terminal
    from neverlost.specs.cases.claim import sources

    out = terminal.console()
    styles = {"holds": "green", "only-if": "yellow", "violated": "red", "outside": "dim"}
    for source in sources().values():
        members = [each for each in asked if each.id.partition("/")[0] == source.id]
        if not members:
            continue
        table = Table("line", "claim", "kind", "verdict", "truth", title_justify="left")
        table.add_column("decided by", overflow="fold")
        table.title = f"{source.id}: {source.title}"
        for each in members:
            verdict = _verdict(each, judged)
            text = Text(str(verdict or "undecided"), styles.get(str(verdict), "yellow"))
            if not _is_expected(each, judged):
                text.append(f" (DIFFERENT: {each.expected} expected)", "bold red")
            table.add_row(
                each.line,
                Text(claim_sentence(each.says, each.is_quoted)),
                each.kind,
                text,
                Text(each.truth),
                Text(each.outside or _deciding(each, judged), "dim"),
            )
        out.print(table)
    counts = _counts(asked, judged)
    out.print(
        f"{counts['claims']} claims: {counts['holds']} hold, {counts['only-if']} hold only under conditions that they "
        f"leave out, {counts['violated']} are violated, {counts['outside']} are outside the models; "
        f"{counts['different']} different from what is expected, {counts['undecided']} undecided; {len(judged)} cases"
    )
