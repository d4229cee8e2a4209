"""`neverlost verify`: check an evidence bundle again, offline."""

from __future__ import annotations

from typing import Annotated

import typer

import neverlost
from neverlost.reports.command_line import options


def verify(
    bundle: Annotated[str, typer.Argument(metavar="BUNDLE", help="the --out directory of a command")],
    full: Annotated[bool, typer.Option("--full", help="search everything again, however long it takes")] = False,
    seed: Annotated[int | None, typer.Option("--seed", metavar="N", help="of a large sweep: draws the cells")] = None,
    json: options.JsonTarget = None,
    quiet: options.Quiet = False,
) -> int:
    """Run `neverlost verify`; return 0 if all was confirmed, 20 if a part was not checked; `InputError` for a wrong bundle."""
    from rich.text import Text

    from neverlost.reports.output import exit_status
    from neverlost.reports.output.output import Output
    from neverlost.reports.terminal import results as terminal

    output = Output(json, quiet=quiet)
    found = neverlost.verify(bundle, full=full, seed=seed)
    output.deliver(found.document, lines=lambda document: [document["verdict"].upper()])
    if output.is_read:
        out = terminal.console()
        for each in found.confirmed:
            out.print(Text(f"confirmed: {each}"))
        for place in found.open:
            out.print(Text(f"{place.status.upper()}: {place.says}", "bold yellow"))
        out.print(Text(found.verdict.upper(), "bold green" if found.verified else "bold yellow"))
    return exit_status.HOLDS if found.verified else exit_status.INCONCLUSIVE
