"""`neverlost replay`: re-execute a counterexample on the ints interpreter."""

from __future__ import annotations

from typing import Annotated

import typer

from neverlost.reports import options


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("replay", help="Re-execute a counterexample on the defining interpreter.")(replay)


def replay(
    trace: Annotated[str, typer.Argument(metavar="TRACE.itf.json", help="a saved counterexample")],
    json: options.JsonTarget = None,
) -> int:
    """Run the command; returns 0 when every step and the violation were confirmed."""
    from neverlost.reports import request as run
    from neverlost.reports.counterexample import itf
    from neverlost.reports.counterexample.timeline import timeline
    from neverlost.reports.documents.merged_rows import many
    from neverlost.reports.documents.result import SCHEMA
    from neverlost.reports.terminal import results as terminal
    from neverlost.specs.property import RECOVERY

    request = run.Request(json=json)
    run.prepare(request)
    system, broken, found = itf.read_itf(trace)
    steps = len(found.steps)
    entry = {"name": broken.name, "verdict": "violated", "steps": steps, "faults": found.faults(system), "trace": trace}
    run.deliver({"schema": SCHEMA, "model": system.model.name, "replayed": True, "properties": [entry]}, request)
    if json != "-":
        out = terminal.console()
        if system.model.portrait is not None:
            terminal.show_timeline(out, timeline(system, broken, found))
        if broken.kind == RECOVERY:
            terminal.show_trap(out, system, found)
        confirmed = f"{many(steps, 'step')} of {system.model.name}, each confirmed"
        out.print(f"replayed: {confirmed}; {broken.name} is violated in the last state")
    return 0
