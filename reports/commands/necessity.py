"""`neverlost necessity`: switch off each guard clause and each mechanism in turn and say what breaks."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from reports import options

if TYPE_CHECKING:
    from checker.necessity import Judgement
    from reports.necessity import Examined

SECONDS_EACH = 120.0
"""How long one part may take in one profile before it counts as undecided."""


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("necessity", help="Switch off each guard clause and each mechanism in turn.")(necessity)


def necessity(
    config: options.ConfigFile = None,
    settings: options.Settings = None,
    properties: options.Properties = None,
    only: Annotated[
        list[str] | None, typer.Option("--only", metavar="TEXT", help="parts whose name has this text (repeatable)")
    ] = None,
    workers: options.Workers = None,
    out: options.OutDirectory = None,
    json: options.JsonTarget = None,
    time_limit: options.TimeLimit = None,
    each_limit: Annotated[
        float, typer.Option("--each-limit", metavar="SECONDS", help="give a part up, undecided, after this long")
    ] = SECONDS_EACH,
) -> int:
    """Run the command; with a model alone, its published profiles are used; returns the exit status."""
    from reports import necessity as page
    from reports import run
    from reports.files import write_text

    request = run.Request.of(locals())
    request.options()
    run.prepare(request)
    with _Told() as told:
        found = page.examine(config, settings or [], properties, only or [], workers, time_limit, each_limit, told)
    run.deliver(page.document(found), run.Request(json=json))
    if out is not None:
        write_text(Path(out) / f"necessity-{found.model}.md", page.markdown(found))
    if json != "-":
        _show(found)
    return page.exit_status(found)


class _Told:
    """Progress on a terminal's stderr."""

    def __init__(self) -> None:
        from rich.console import Console
        from rich.progress import Progress

        err = Console(stderr=True, highlight=False)
        self._bar = Progress(console=err, transient=True, disable=not err.is_terminal)
        self._task = self._bar.add_task("profiles", total=None)

    def __enter__(self) -> _Told:
        self._bar.start()
        return self

    def __exit__(self, *_: Any) -> None:
        self._bar.stop()

    def expect(self, total: int) -> None:
        """How many parts there are."""
        self._bar.update(self._task, total=total)

    def __call__(self, judgement: Judgement) -> None:
        self._bar.update(self._task, advance=1, description=judgement.variant.name)


def _show(found: Examined) -> None:
    from rich.table import Table
    from rich.text import Text

    from reports import necessity as page
    from reports import terminal

    out = terminal.console()
    for line in page.scope(found):
        out.print(Text(line, "dim"))
    styles = {"needed": "green", "structural": "green", "undecided": "yellow"}
    table = Table("part", "without it", "counterexample or reason")
    for each in found.judgements:
        reason = page.detail(found, each)
        style = styles.get(str(each.need), "cyan" if reason else "bold red")
        table.add_row(each.variant.name, Text(str(each.need), style), reason or Text("NOT EXPLAINED", "bold red"))
    out.print(table)
    out.print(page.summary(found))
