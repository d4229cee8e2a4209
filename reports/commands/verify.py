"""`neverlost verify`: check an evidence bundle again, offline."""

from __future__ import annotations

from typing import Annotated

import typer

import neverlost
from neverlost.reports import options


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("verify", help="Check an evidence bundle again: digests, ids, traces, verdicts, counts, reports.")(verify)


def verify(
    bundle: Annotated[str, typer.Argument(metavar="BUNDLE", help="the --out directory of check or sweep")],
    full: Annotated[bool, typer.Option("--full", help="explore everything again, however large")] = False,
    json: options.JsonTarget = None,
    quiet: options.Quiet = False,
) -> int:
    """Run the command; 0 when everything was confirmed, 20 when something was not checked."""
    from rich.text import Text

    from neverlost.reports import exit_status
    from neverlost.reports.output import Output
    from neverlost.reports.terminal import results as terminal

    output = Output(json, quiet=quiet)
    found = neverlost.verify(bundle, full=full)
    output.deliver(found.document, lines=lambda document: [document["verdict"].upper()])
    if output.is_read:
        out = terminal.console()
        for each in found.confirmed:
            out.print(Text(f"confirmed: {each}"))
        for each in found.unchecked:
            out.print(Text(f"NOT CHECKED: {each}", "bold yellow"))
        if found.as_sealed:
            out.print(Text(f"as sealed, nothing to derive it from: {', '.join(found.as_sealed)}, times and memory", "dim"))
        out.print(Text(found.verdict.upper(), "bold green" if found.verified else "bold yellow"))
    return exit_status.HOLDS if found.verified else exit_status.INCONCLUSIVE
