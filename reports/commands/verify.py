"""`neverlost verify`: check an evidence bundle again, offline."""

from __future__ import annotations

from typing import Annotated

import typer

from neverlost.reports import options


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("verify", help="Check an evidence bundle again: digests, ids, traces, verdicts, counts, reports.")(verify)


def verify(
    bundle: Annotated[str, typer.Argument(metavar="BUNDLE", help="the --out directory of check or sweep")],
    full: Annotated[bool, typer.Option("--full", help="explore everything again, however large")] = False,
    json: options.JsonTarget = None,
) -> int:
    """Run the command; 0 when everything was confirmed, 20 when something was not checked."""
    from rich.text import Text

    from neverlost.reports import exit_status
    from neverlost.reports import request as run
    from neverlost.reports.bundle import verify as verification
    from neverlost.reports.terminal import results as terminal

    request = run.Request(json=json)
    run.prepare(request)
    found = verification.verify(bundle, full)
    run.deliver(
        {
            "schema": "neverlost.verify/1",
            "bundle": bundle,
            "verdict": found.verdict,
            "verified": found.is_complete,
            "confirmed": found.confirmed,
            "unchecked": found.unchecked,
            "as_sealed": found.stated,
        },
        request,
    )
    if json != "-":
        out = terminal.console()
        for each in found.confirmed:
            out.print(Text(f"confirmed: {each}"))
        for each in found.unchecked:
            out.print(Text(f"NOT CHECKED: {each}", "bold yellow"))
        if found.stated:
            out.print(Text(f"as sealed, nothing to derive it from: {', '.join(found.stated)}, times and memory", "dim"))
        out.print(Text(found.verdict.upper(), "bold green" if found.is_complete else "bold yellow"))
    return exit_status.HOLDS if found.is_complete else exit_status.INCONCLUSIVE
