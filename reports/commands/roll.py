"""`neverlost roll`: which broker may be stopped now."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Unpack

import typer

from neverlost.keywords import SearchingCluster
from neverlost.reports import options


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("roll", help="Which broker may be stopped now, and what one more data loss would do.")(
        options.spelled_out(roll)
    )


def roll(
    settings: options.Settings = None,
    kafka_version: options.KafkaVersion = None,
    json: options.JsonTarget = None,
    quiet: options.Quiet = False,
    **given: Unpack[SearchingCluster],
) -> int:
    """Run the command; returns the exit status: 12 where a stop alone can lose a record, 13 where one stops writes."""
    from neverlost import rolls
    from neverlost.reports import exit_status
    from neverlost.reports.documents.tolerance import LOST, OK, UNDECIDED
    from neverlost.reports.output import Output
    from neverlost.reports.terminal.progress import LiveProgress

    output = Output(json, None, quiet)
    files, search = options.files_of(given)
    with LiveProgress() as progress:
        found = rolls.roll(settings, files=files, kafka_version=kafka_version, progress=progress, **search)
    output.deliver(found.document, lines=lines)
    if output.is_read:
        for line in lines(found.document):
            typer.echo(line)
    says = {each for broker in found.brokers.values() for each in broker["now"]}
    if any(each.startswith(LOST) for each in says):
        return exit_status.VIOLATED
    if says <= {OK, UNDECIDED}:
        return exit_status.INCONCLUSIVE if UNDECIDED in says else exit_status.HOLDS
    return exit_status.UNAVAILABLE


def lines(document: Mapping[str, Any]) -> Iterable[str]:
    """A line for each broker, those that may be stopped first."""
    for broker, each in document["brokers"].items():
        wrong = [f"{says} on {_named(names)}" for says, names in each["now"].items() if says != "ok"]
        worse = [f"{says} on {_named(names)}" for says, names in each["then"].items() if says != "ok"]
        stop = "may be stopped" if not wrong else "must not be stopped: " + "; ".join(wrong)
        then = "; ".join(worse) if worse else "nothing is lost"
        yield f"broker {broker} {stop}. If another then loses data: {then}."


def _named(partitions: list[str], most: int = 3) -> str:
    left = len(partitions) - most
    return ", ".join(partitions[:most]) + (f" and {left} more" if left > 0 else "")
