"""`neverlost replay`: re-execute a counterexample on the ints interpreter."""

from __future__ import annotations

from typing import Annotated

import typer

import neverlost
from neverlost.reports import options


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("replay", help="Re-execute a counterexample on the defining interpreter.")(replay)


def replay(
    trace: Annotated[str, typer.Argument(metavar="TRACE.itf.json", help="a saved counterexample")],
    json: options.JsonTarget = None,
    quiet: options.Quiet = False,
) -> int:
    """Run the command; returns 0 when every step and the violation were confirmed."""
    from neverlost.reports import exit_status
    from neverlost.reports.documents.merged_rows import many
    from neverlost.reports.output import Output
    from neverlost.reports.terminal import results as terminal
    from neverlost.reports.terminal.counterexample import show_timeline
    from neverlost.specs.property import RECOVERY

    output = Output(json, quiet=quiet)
    result = neverlost.replay(trace)
    output.deliver(result.document)
    if output.is_read:
        found, console = result.counterexample, terminal.console()
        if found.timeline is not None:
            show_timeline(console, found.timeline)
        if found.broken.kind == RECOVERY:
            terminal.show_trap(console, found.system, found.trace)
        confirmed = f"{many(len(found.trace.steps), 'step')} of {result.model}, each confirmed"
        console.print(f"replayed: {confirmed}; {found.broken.name} is violated in the last state")
    return exit_status.HOLDS
