"""`neverlost atlas build`: the answers to common questions, decided once."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Annotated

import typer

from neverlost.reports import options


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("atlas", help="Decide the questions of the atlas and write its table: atlas build.")(atlas)


def atlas(
    action: Annotated[str, typer.Argument(metavar="build", help="what to do")],
    state_dir: Annotated[str, typer.Option("--state-dir", metavar="DIR", help="keep finished units here, and go on from them")],
    out: Annotated[str, typer.Option("--out", metavar="FILE", help="the table, as Parquet")],
    chapters: Annotated[
        list[int] | None, typer.Option("--chapter", metavar="N", help="only this chapter (repeatable; default: all)")
    ] = None,
    share: Annotated[str, typer.Option("--share", metavar="K/N", help="only the K-th of every N units")] = "1/1",
    json: options.JsonTarget = None,
    quiet: options.Quiet = False,
    workers: Annotated[int | None, options.SHARED["workers"][0]] = None,
    time_limit: Annotated[float | None, options.SHARED["time_limit"][0]] = None,
    master: Annotated[str | None, options.SHARED["master"][0]] = None,
    spark_conf: Annotated[list[str] | None, options.SHARED["spark_conf"][0]] = None,
) -> int:
    """Run the command; returns the exit status."""
    from neverlost import atlases
    from neverlost.reports import exit_status
    from neverlost.reports.output import Output
    from neverlost.specs.errors import InputError

    if action != "build":
        raise InputError(f"bad value {action!r} for atlas: write atlas build")
    output = Output(json, None, quiet)
    found = atlases.build_atlas(
        out,
        state_dir,
        chapters=chapters,
        share=share,
        workers=workers,
        time_limit=time_limit,
        master=master,
        spark_conf=spark_conf,
        report=None if quiet else _report,
    )
    output.deliver(found.document, lines=lambda document: [_summary(document)])
    if output.is_read:
        typer.echo(_summary(found.document))
    for each in found.failures:
        typer.echo(f"neverlost: not decided: unit {each}", err=True)
    return exit_status.INCONCLUSIVE if found.failures else exit_status.HOLDS


def _report(done: int, of: int) -> None:
    print(f"{done} of {of} units", file=sys.stderr, flush=True)


def _summary(document: Mapping[str, object]) -> str:
    return f"{document['answers']} answers, {document['decided']} decided, {document['undecided']} undecided"
