"""`neverlost roll`: which brokers may be stopped now, and in which order."""

from __future__ import annotations

from typing import Annotated, Unpack

import typer

from neverlost.keywords import SearchingCluster
from neverlost.reports import options


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("roll", help="Which brokers may be stopped now, in which order, and what one more fault would do.")(
        options.spelled_out(roll)
    )


def roll(
    settings: options.Settings = None,
    kafka_version: options.KafkaVersion = None,
    at_a_time: Annotated[int, typer.Option("--at-a-time", metavar="N", help="how many brokers to restart together")] = 1,
    out: options.OutDirectory = None,
    json: options.JsonTarget = None,
    quiet: options.Quiet = False,
    **given: Unpack[SearchingCluster],
) -> int:
    """Run the command; returns the exit status: 12 where a stop alone can lose a record, 13 where one stops writes."""
    from neverlost import rolls
    from neverlost.reports import exit_status
    from neverlost.reports.documents.roll import lines
    from neverlost.reports.documents.tolerance import LOST, OK, UNDECIDED
    from neverlost.reports.output import Output
    from neverlost.reports.terminal.progress import LiveProgress

    output = Output(json, out, quiet)
    files, search = options.files_of(given)
    with LiveProgress() as progress:
        found = rolls.roll(
            settings, files=files, kafka_version=kafka_version, at_a_time=at_a_time, out=out, progress=progress, **search
        )
    output.deliver(found.document, is_saved=True, lines=lines)
    if output.is_read:
        for line in lines(found.document):
            typer.echo(line)
    says = {each for broker in found.brokers.values() for each in broker["now"]}
    if any(each.startswith(LOST) for each in says):
        return exit_status.VIOLATED
    if says <= {OK, UNDECIDED}:
        return exit_status.INCONCLUSIVE if UNDECIDED in says else exit_status.HOLDS
    return exit_status.UNAVAILABLE
