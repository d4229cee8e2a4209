"""`neverlost verify`: check an evidence bundle again, offline."""

from __future__ import annotations

from typing import Annotated

import typer

from reports import options


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("verify", help="Check an evidence bundle again: digests, ids, traces, counts.")(verify)


def verify(
    bundle: Annotated[str, typer.Argument(metavar="BUNDLE", help="the --out directory of check or sweep")],
    full: Annotated[bool, typer.Option("--full", help="explore everything again, however large")] = False,
    json: options.JsonTarget = None,
) -> int:
    """Run the command; returns 0 when everything was confirmed."""
    from reports import bundle as bundles
    from reports import run, terminal

    request = run.Request(json=json)
    run.prepare(request)
    confirmed = bundles.verify(bundle, full)
    run.deliver({"schema": "neverlost.verify/1", "bundle": bundle, "verified": True, "confirmed": confirmed}, request)
    if json != "-":
        out = terminal.console()
        for each in confirmed:
            out.print(f"confirmed: {each}")
        out.print("[bold green]verified[/bold green]")
    return 0
