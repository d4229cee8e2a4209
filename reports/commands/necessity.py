"""`neverlost necessity`: switch off each guard clause and each mechanism in turn and report what breaks."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Unpack

import typer

from neverlost.reports.command_line import options
from neverlost.reports.request.keywords import EffortKeywords

if TYPE_CHECKING:
    from neverlost.checker.questions.necessity.examined_model import Examined

SECONDS_EACH = 120.0
"""How long one part may take in one profile before it counts as undecided."""


def necessity(
    config: options.ConfigFile = None,
    settings: options.Settings = None,
    properties: options.Properties = None,
    only: Annotated[
        list[str] | None, typer.Option("--only", metavar="TEXT", help="parts whose name has this text (repeatable)")
    ] = None,
    out: options.OutDirectory = None,
    json: options.JsonTarget = None,
    quiet: options.Quiet = False,
    each_limit: Annotated[
        float, typer.Option("--each-limit", metavar="SECONDS", help="give a part up, undecided, after this long")
    ] = SECONDS_EACH,
    **search: Unpack[EffortKeywords],
) -> int:
    """Run `neverlost necessity` and return the exit status; if only a model is named, its published profiles are used."""
    from neverlost.checker.engine.host.whole_files import write_text
    from neverlost.checker.questions.necessity.examined_model import Budget, examine
    from neverlost.reports.output.output import Output
    from neverlost.reports.questions.necessity import document
    from neverlost.reports.request.run_options import RunOptions
    from neverlost.reports.terminal.progress import PartsProgress

    output, request = Output(json, out, quiet), RunOptions(**search)
    with PartsProgress() as progress:
        budget = Budget(request.workers, request.time_limit, each_limit)
        found = examine(config, settings or [], properties, only or [], budget, progress)
    command = _command(config, settings or [], properties or [], only or [])
    output.deliver(document.document(found, command), is_saved=True, lines=document.verdict_lines)
    if out is not None:
        write_text(Path(out) / f"necessity-{found.model}.md", document.markdown(found, command))
    if output.is_read:
        _show(found)
    return document.exit_status(found)


def _command(config: str | None, settings: list[str], properties: list[str], only: list[str]) -> str:
    given = (("--set", settings), ("--property", properties), ("--only", only))
    options = [word for option, values in given for each in values for word in (option, each)]
    return shlex.join(["neverlost", "necessity", *([config] if config else []), *options])


def _show(found: Examined) -> None:
    from rich.table import Table
    from rich.text import Text

    from neverlost.reports.questions.necessity import document
    from neverlost.reports.terminal import results as terminal

    out = terminal.console()
    for line in document.scope(found):
        out.print(Text(line, "dim"))
    styles = {"needed": "green", "structural": "green", "undecided": "yellow"}
    table = Table("part", "without it", "counterexample or reason")
    for each in found.judgements:
        reason = document.detail(found, each)
        style = styles.get(str(each.need), "cyan")
        table.add_row(each.variant.name, Text(str(each.need), style), reason or Text("no reason is recorded", "dim"))
    out.print(table)
    out.print(document.summary(found))
