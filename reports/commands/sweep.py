"""`neverlost sweep`: a verdict per cell of a configuration matrix."""

from __future__ import annotations

from typing import Annotated, Unpack

import typer

import neverlost
from neverlost.reports.command_line import options
from neverlost.reports.request.keywords import Searching


def sweep(
    matrix: Annotated[str, typer.Argument(metavar="MATRIX.toml", help="a matrix, or the name of a shipped one")],
    settings: options.Settings = None,
    properties: options.Properties = None,
    out: options.OutDirectory = None,
    redact: options.Redact = False,
    json: options.JsonTarget = None,
    quiet: options.Quiet = False,
    baseline: Annotated[
        str | None, typer.Option("--baseline", metavar="FILE", help="JSON of an earlier sweep; exit 21 if verdicts differ")
    ] = None,
    **search: Unpack[Searching],
) -> int:
    """Run `neverlost sweep`; return 21 if a verdict differs from the baseline's, else 20 if one is undecided, else 0."""
    from neverlost.reports.output import exit_status, gate
    from neverlost.reports.output.output import Output
    from neverlost.reports.terminal import results as terminal
    from neverlost.reports.terminal.progress import LiveProgress

    output = Output(json, out, quiet)
    with LiveProgress() as progress:
        result = neverlost.sweep(
            matrix, settings, properties=properties, baseline=baseline, out=out, redact=redact, progress=progress, **search
        )
    output.deliver(result.document, is_saved=True)
    gate.announce(result.document)
    if output.is_read:
        show(result)
        if out is not None:
            terminal.show_bundle(terminal.console(), out)
    output.end(result.document)
    return exit_status.of_expectations(not result.changes, not result.verdicts["inconclusive"])


def show(result: neverlost.SweepResult) -> None:
    """Print a sweep: its cells, the rules for the violated ones, what each setting survives, and what changed."""
    from neverlost.reports.questions.sweep import screen
    from neverlost.reports.terminal.results import console

    out, document = console(), result.document
    screen.show(out, document)
    screen.show_boundary(out, document)
    screen.show_tolerance(out, document)
    if result.changes is not None:
        screen.show_changes(out, result.changes)
