"""`neverlost export`: a bound model as a TLA+ module that TLC checks."""

from __future__ import annotations

from typing import Annotated

import typer

import neverlost
from neverlost.reports.command_line import options


def export(
    tla: Annotated[str, typer.Option("--tla", metavar="MODEL", help="the model: see neverlost models")],
    out: Annotated[str, typer.Option("--out", metavar="DIR", help="where MODEL.tla and MODEL.cfg are written")],
    settings: options.Settings = None,
    properties: Annotated[
        list[str] | None,
        typer.Option("--property", metavar="NAME", help="make this property an invariant (repeatable; default: guarantees)"),
    ] = None,
    json: options.JsonTarget = None,
    quiet: options.Quiet = False,
) -> int:
    """Run `neverlost export`, which writes a TLA+ module, and return the exit status, 0."""
    from neverlost.reports.output import exit_status
    from neverlost.reports.output.output import Output

    output = Output(json, out, quiet)
    result = neverlost.export_tla(tla, settings, out=out, properties=properties)
    output.deliver(result.document, lines=lambda document: document["files"])
    if output.is_read:
        for file in result.files:
            typer.echo(f"wrote {file}")
        for name in result.document["not_exported"]:
            typer.echo(f"{name} is no invariant (it asks what stays possible), so TLC is not asked about it")
        for notice in result.document["notices"]:
            typer.echo(notice)
    return exit_status.HOLDS
