"""`neverlost nines`: how likely it is in a year that an acknowledged record is lost."""

from __future__ import annotations

from typing import Annotated, Unpack

import typer

from neverlost.reports.command_line import options
from neverlost.reports.request.keywords import SearchingCluster


def nines(
    config: options.ConfigFile = None,
    settings: options.Settings = None,
    out: options.OutDirectory = None,
    json: options.JsonTarget = None,
    quiet: options.Quiet = False,
    kafka_version: options.KafkaVersion = None,
    topic: options.Topics = None,
    matrix: Annotated[
        str | None, typer.Option("--matrix", metavar="MATRIX.toml", help="every cell of a matrix, or the name of a shipped one")
    ] = None,
    rates: Annotated[
        list[str] | None,
        typer.Option("--rates", metavar="FILE", help="rates and durations in TOML, in place of the shipped ones (repeatable)"),
    ] = None,
    compare: Annotated[
        list[str] | None,
        typer.Option("--compare", metavar="'KEY=VALUE ...'", help="how many times as high the bound then is (repeatable)"),
    ] = None,
    show: Annotated[bool, typer.Option("--show", help="the counterexample behind the most frequent way to a loss")] = False,
    again: Annotated[bool, typer.Option("--again", help="search, whatever the atlas knows")] = False,
    **given: Unpack[SearchingCluster],
) -> int:
    """Run `neverlost nines` and return the exit status: 12 if a record is lost while no broker is impaired (never for a
    matrix), else 20 if something was not decided, else 0."""
    from neverlost.reports.output import exit_status
    from neverlost.reports.output.output import Output
    from neverlost.reports.questions.nines import api, screen
    from neverlost.reports.terminal import results as terminal
    from neverlost.reports.terminal.progress import LiveProgress

    output = Output(json, out, quiet, shows=show)
    files, search = options.take_cluster_files(given)
    with LiveProgress() as progress:
        result = api.nines(
            settings,
            config=config,
            files=files,
            topics=topic,
            matrix=matrix,
            compare=compare or (),
            again=again,
            kafka_version=options.require_one_version(kafka_version),
            rates_files=rates,
            out=out,
            progress=progress,
            **search,
        )
    output.deliver(result.document, is_saved=True, lines=screen.lines)
    if output.is_read:
        screen.show(terminal.console(), result, with_loss=show)
    output.end(result.document)
    if matrix is None and any(each["verdict"] == "violated" for each in result.nines.values()):
        return exit_status.VIOLATED
    return exit_status.INCONCLUSIVE if result.verdict == "inconclusive" else exit_status.HOLDS
