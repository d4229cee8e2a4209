"""`neverlost atlas`: what the shipped answers to common questions cover; `build` decides them, `count` counts them."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from typing import Annotated, Any

import typer

from neverlost.reports.command_line import options


def register(app: typer.Typer) -> None:
    app.command("atlas", help="What the shipped answers cover: atlas show. Decide them: build; count them: count.")(atlas)


def atlas(
    action: Annotated[str, typer.Argument(metavar="show|build|count", help="what to do")] = "show",
    state_dir: Annotated[
        str | None, typer.Option("--state-dir", metavar="DIR", help="build: keep finished units here, and go on from them")
    ] = None,
    out: Annotated[
        str | None, typer.Option("--out", metavar="FILE", help="build: the table, as Parquet; count: the counts")
    ] = None,
    chapters: Annotated[
        list[int] | None, typer.Option("--chapter", metavar="N", help="only this chapter (repeatable; default: all)")
    ] = None,
    share: Annotated[str, typer.Option("--share", metavar="K/N", help="only the K-th of every N units")] = "1/1",
    json: options.JsonTarget = None,
    quiet: options.Quiet = False,
    workers: Annotated[int | None, options.SHARED["workers"][0]] = None,
) -> int:
    """Run `neverlost atlas` and return the exit status."""
    from neverlost.reports.output import exit_status
    from neverlost.reports.output.output import Output
    from neverlost.reports.questions.atlas import api
    from neverlost.specs.errors import InputError

    output = Output(json, None, quiet)
    if action == "count" and out is None:
        raise InputError("atlas count needs --out FILE")
    if action in ("show", "count"):
        coverage = api.atlas_coverage() if out is None or action == "show" else api.count_atlas(out)
        output.deliver(coverage.document, lines=lambda document: list(_covered(document))[-1:])
        if output.is_read:
            typer.echo("\n".join(_covered(coverage.document)))
        return exit_status.HOLDS
    if action != "build":
        raise InputError(f"bad value {action!r} for atlas: write atlas show, atlas build or atlas count")
    if state_dir is None or out is None:
        raise InputError("atlas build needs --state-dir DIR and --out FILE")
    found = api.build_atlas(
        out,
        state_dir,
        chapters=chapters,
        share=share,
        workers=workers,
        report=None if quiet else _report,
    )
    output.deliver(found.document, lines=lambda document: [_summary(document)])
    if output.is_read:
        typer.echo(_summary(found.document))
    for each in found.failures:
        typer.echo(f"neverlost: not decided: unit {each}", err=True)
    return exit_status.INCONCLUSIVE if found.failures else exit_status.HOLDS


def _covered(document: Mapping[str, Any]) -> Iterator[str]:
    """Yield a line for each chapter, and one for all."""
    if not document["is_of_these_models"]:
        yield "The shipped answers are about models of another meaning: none of them counts."
    if not document["chapters"]:
        yield f"{document['all']['decided']:,} decided; how many are not was not counted: neverlost atlas count --out FILE"
        return
    for each in (*document["chapters"], {"name": "in all", **document["all"]}):
        share = 100 * each["undecided"] / each["questions"]
        yield f"{each['name']}: {each['questions']:,} questions, {each['decided']:,} decided, {share:.0f} % not decided"


def _report(done: int, of: int) -> None:
    print(f"{done} of {of} units", file=sys.stderr, flush=True)


def _summary(document: Mapping[str, object]) -> str:
    return f"{document['answers']} questions decided"
