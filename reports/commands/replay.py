"""`neverlost replay`: re-execute a counterexample on the ints interpreter."""

from __future__ import annotations

from typing import Annotated

import typer

import neverlost
from neverlost.reports.command_line import options


def replay(
    trace: Annotated[str, typer.Argument(metavar="TRACE", help="a saved counterexample (.itf.json), or what TLC printed")],
    tla: Annotated[
        str | None, typer.Option("--tla", metavar="DIR", help="the directory of neverlost export (default: that of TRACE)")
    ] = None,
    json: options.JsonTarget = None,
    quiet: options.Quiet = False,
) -> int:
    """Run `neverlost replay`; return 12 for a confirmed counterexample of the model as it is (13 if its property is not about
    safety), 0 for one of a model with guard clauses switched off."""
    from neverlost.model.sentences import weakness
    from neverlost.reports.output import exit_status
    from neverlost.reports.output.output import Output
    from neverlost.reports.terminal import results as terminal
    from neverlost.reports.terminal.counterexample import show_timeline
    from neverlost.reports.wording.merged_rows import pluralize
    from neverlost.specs.property import RECOVERY, SAFETY

    output = Output(json, quiet=quiet)
    result = neverlost.replay(trace, tla=tla)
    output.deliver(result.document)
    if output.is_read:
        found, console = result.counterexample, terminal.console()
        if found.system.disabled:
            console.print(weakness(found.system) + "a counterexample of that mutant only", style="bold yellow")
        if found.timeline is not None:
            show_timeline(console, found.timeline)
        if found.broken.kind == RECOVERY:
            terminal.show_trap(console, found.system, found.trace)
        confirmed = f"{pluralize(len(found.trace.steps), 'step')} of {result.model}, each confirmed"
        console.print(f"replayed: {confirmed}; {found.broken.name} is violated in the last state")
    if result.counterexample.system.disabled:
        return exit_status.HOLDS
    return exit_status.VIOLATED if result.counterexample.broken.kind == SAFETY else exit_status.UNAVAILABLE
