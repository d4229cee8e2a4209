"""`neverlost tolerance`: what a configuration survives, whatever the number of faults."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any, Unpack

import typer

from neverlost.keywords import Searching
from neverlost.reports import options

if TYPE_CHECKING:
    from neverlost.reports.output import Output
    from neverlost.specs.spot import Spot


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("tolerance", help="What a configuration survives, whatever the number of faults.")(
        options.spelled_out(tolerance)
    )


def tolerance(
    config: options.ConfigFile = None,
    settings: options.Settings = None,
    properties: options.Properties = None,
    out: options.OutDirectory = None,
    json: options.JsonTarget = None,
    quiet: options.Quiet = False,
    describe: options.KafkaFiles = None,
    configs: options.KafkaFiles = None,
    server_properties: options.KafkaFile = None,
    controller_properties: options.KafkaFile = None,
    producer_properties: options.KafkaFile = None,
    consumer_properties: options.KafkaFile = None,
    kafka_version: options.KafkaVersion = None,
    also: Annotated[
        list[str] | None,
        typer.Option("--also", metavar="FAULT=LIMIT", help="allow another fault everywhere, such as kill=any (repeatable)"),
    ] = None,
    beside: Annotated[
        str | None,
        typer.Option("--with", metavar="FAULT,…", help="what any number of another fault changes: kill,leader_move"),
    ] = None,
    again: Annotated[bool, typer.Option("--again", help="decide afresh what the atlas knows")] = False,
    at_least: Annotated[
        str | None,
        typer.Option(
            "--at-least", metavar="LIMITS", help="exit 12 or 13 where these are not survived: 'data_loss=any:1 out=any'"
        ),
    ] = None,
    show: Annotated[
        str | None, typer.Option("--show", metavar="LOSE,OUT", help="the counterexample of a spot of the table, such as 1,2")
    ] = None,
    **search: Unpack[Searching],
) -> int:
    """Run the command; returns the exit status."""
    from neverlost.reports.output import Output
    from neverlost.reports.terminal.tolerance import spot_of

    output = Output(json, out, quiet)
    files = {
        "describe": describe or None,
        "configs": configs or None,
        "server_properties": server_properties,
        "controller_properties": controller_properties,
        "producer_properties": producer_properties,
        "consumer_properties": consumer_properties,
    }
    if at_least is not None:
        asked = {"config": config, "kafka_version": kafka_version, "properties": properties} | files
        return _gate(at_least, settings, output, **asked, **search)
    return answer(
        output,
        spot_of(show),
        settings=settings,
        config=config,
        kafka_version=kafka_version,
        properties=properties,
        also=also,
        beside=[each.strip() for each in beside.split(",")] if beside else None,
        again=again,
        files=files,
        **search,
    )


def is_asked(config: str | None, settings: list[str] | None, only_searched: Mapping[str, Any]) -> bool:
    """Whether a `check` asks what a configuration survives: no fault is limited, and nothing asks for one search."""
    from neverlost.model.catalogue import models
    from neverlost.specs.configuration.choose import read_given
    from neverlost.specs.spot import AXES

    given = read_given(config, settings)
    name = str(given["model"][0]) if "model" in given else "kraft"
    has_faults = any(key.startswith("faults.") for key in given)
    is_plain = not any(only_searched.get(each) for each in OF_ONE_SEARCH)
    return is_plain and not has_faults and name in models() and all(key in models()[name].keys for key in AXES)


OF_ONE_SEARCH = ("certificate", "state_dir", "resume", "keep_going", "forecast", "format")
"""Options of `check` that make sense for a single search."""


def answer(output: Output, spot: Spot | None, **asked: Any) -> int:
    """Find the tables and show them; returns the exit status."""
    from neverlost import tolerances
    from neverlost.reports import exit_status
    from neverlost.reports.terminal import results as terminal
    from neverlost.reports.terminal import tolerance as shown
    from neverlost.reports.terminal.progress import LiveProgress

    with LiveProgress() as progress:
        result = tolerances.tolerance(out=output.out, progress=progress, **asked)
    output.deliver(result.document, is_saved=True, lines=shown.lines)
    if output.is_read:
        shown.show(terminal.console(), result, spot)
    return exit_status.INCONCLUSIVE if result.verdict == "inconclusive" else exit_status.HOLDS


GATE = ("acked-never-lost", "committed-never-lost")
"""What `--at-least` asks for unless properties are named."""


def _gate(at_least: str, settings: list[str] | None, output: Output, **asked: Any) -> int:
    """Whether the limits are survived: 12 or 13 where not."""
    import neverlost
    from neverlost.reports import exit_status
    from neverlost.reports.commands.check import show
    from neverlost.specs.configuration.choose import read_given
    from neverlost.tolerances import RECORDS

    asked["properties"] = asked["properties"] or GATE
    records = [] if RECORDS in read_given(asked["config"], settings) else [f"{RECORDS}=1"]
    result = neverlost.check([*(settings or ()), *records, *limits_of(at_least)], **asked)
    output.deliver(result.document)
    if output.is_read:
        show(result)
    return exit_status.of_outcomes(each.outcome for each in result.configurations if each.outcome is not None)


def limits_of(text: str) -> list[str]:
    """`crash=any lossy_crash=any:1 at_once=2` as settings.

    Errors: `InputError` for what is no limit, and for `at_once` without a kind of fault.
    """
    from neverlost.specs.errors import InputError

    parts = [each.partition("=") for each in text.split()]
    for name, equals, value in parts:
        if not name or not equals or not value:
            raise InputError(f"bad value {text!r} for --at-least: write limits of faults, such as 'data_loss=any:1 out=any'")
    if not [name for name, _, _ in parts if name not in ("at_once", "defects")]:
        raise InputError(f"--at-least {text!r} names no kind of fault: add one, such as data_loss=any")
    return [f"{name}={value}" if name == "defects" else f"faults.{name}={value}" for name, _, value in parts]
