"""`neverlost tolerance`: which faults a configuration survives, whatever their number."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Unpack

import typer

from neverlost.reports.command_line import options
from neverlost.reports.request.keywords import SearchingCluster

if TYPE_CHECKING:
    from neverlost.reports.output.output import Output


def tolerance(
    config: options.ConfigFile = None,
    settings: options.Settings = None,
    properties: options.Properties = None,
    out: options.OutDirectory = None,
    json: options.JsonTarget = None,
    quiet: options.Quiet = False,
    kafka_version: options.KafkaVersion = None,
    topic: options.Topics = None,
    also: Annotated[
        list[str] | None,
        typer.Option("--also", metavar="FAULT=LIMIT", help="allow another fault everywhere, such as kill=any (repeatable)"),
    ] = None,
    beside: Annotated[
        str | None, typer.Option("--with", metavar="FAULT,…", help="what any number of another fault changes: kill,leader_move")
    ] = None,
    again: Annotated[bool, typer.Option("--again", help="decide afresh what the atlas knows")] = False,
    at_least: Annotated[
        str | None,
        typer.Option(
            "--at-least", metavar="LIMITS", help="exit 12 where a record can be lost within these: 'data_loss=any:1 out=any'"
        ),
    ] = None,
    format: Annotated[
        str, typer.Option("--format", metavar="FORMAT", help="text, json or prometheus (gauges for its textfile collector)")
    ] = "text",
    show: Annotated[
        str | None, typer.Option("--show", metavar="LOSE,OUT", help="the counterexample of a cell of the table, such as 1,2")
    ] = None,
    **given: Unpack[SearchingCluster],
) -> int:
    """Run `neverlost tolerance` and return the exit status; `InputError` for options that do not fit together."""
    from neverlost.reports.output.output import PROMETHEUS, Output
    from neverlost.reports.questions.tolerance import screen
    from neverlost.specs.errors import InputError

    if format == PROMETHEUS and (at_least is not None or json == "-"):
        raise InputError("--format prometheus prints gauges of whole tables: leave --at-least and --json - out")
    output = Output(json, out, quiet, format, ("text", "json", PROMETHEUS), show is not None)
    files, search = options.take_cluster_files(given)
    if at_least is not None:
        asked = {
            "config": config,
            "kafka_version": options.require_one_version(kafka_version),
            "properties": properties,
            "topics": topic,
        } | files
        return _gate(at_least, settings, output, **asked, **search)
    return screen.show_tables(
        output,
        screen.parse_cell(show),
        settings=settings,
        config=config,
        kafka_version=options.require_one_version(kafka_version),
        properties=properties,
        also=also,
        beside=[each.strip() for each in beside.split(",")] if beside else None,
        again=again,
        topics=topic,
        files=files,
        **search,
    )


GATE = ("acked-never-lost", "committed-never-lost")
"""What `--at-least` asks for unless properties are named."""


def _gate(at_least: str, settings: list[str] | None, output: Output, **asked: Any) -> int:
    """Decide whether the `--at-least` limits are survived; return 0 if so, 12 (safety) or 13 (others) if not, 20 if unknown."""
    import neverlost
    from neverlost.reports.commands.check import show
    from neverlost.reports.output import exit_status
    from neverlost.reports.output.gate import announce
    from neverlost.reports.questions.tolerance.api import RECORDS
    from neverlost.reports.terminal.results import shown_once
    from neverlost.specs.configuration.choose import read_given

    asked["properties"] = asked["properties"] or GATE
    records = [] if RECORDS in read_given(asked["config"], settings) else [f"{RECORDS}=1"]
    with shown_once(output.is_read):
        result = neverlost.check([*(settings or ()), *records, *limits_of(at_least)], out=output.out, **asked)
    output.deliver(result.document, is_saved=True)
    announce(result.document)
    if output.is_read:
        show(result)
    output.end(result.document)
    return exit_status.of_outcomes(each.outcome for each in result.configurations if each.outcome is not None)


def limits_of(text: str) -> list[str]:
    """Return limits such as `crash=any lossy_crash=any:1 at_once=2` as settings, `faults.crash=any` and so on.  Errors:
    `InputError` for words that are not NAME=VALUE, and where no kind of fault is named."""
    from neverlost.specs.errors import InputError

    parts = [each.partition("=") for each in text.split()]
    for name, equals, value in parts:
        if not name or not equals or not value:
            raise InputError(f"bad value {text!r} for --at-least: write limits of faults, such as 'data_loss=any:1 out=any'")
    if not [name for name, _, _ in parts if name not in ("at_once", "defects")]:
        raise InputError(f"--at-least {text!r} names no kind of fault: add one, such as data_loss=any")
    return [f"{name}={value}" if name == "defects" else f"faults.{name}={value}" for name, _, value in parts]
