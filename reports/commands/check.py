"""`neverlost check`: explore one configuration (or those of a cluster's files) and decide its properties."""

from __future__ import annotations

from typing import Annotated, Any, Unpack

import typer

import neverlost
from neverlost.keywords import Checking
from neverlost.reports import options


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("check", help="Explore one configuration and decide its properties.")(options.spelled_out(check))


def check(
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
    certificate: Annotated[
        bool, typer.Option("--certificate", help="with --out: add the reachable states, for verify to walk through")
    ] = False,
    **search: Unpack[Checking],
) -> int:
    """Run the command; returns the exit status."""
    from neverlost.reports import exit_status
    from neverlost.reports.output import Output
    from neverlost.reports.terminal import results as terminal
    from neverlost.reports.terminal.progress import LiveProgress

    output = Output(json, out, quiet)
    files: dict[str, Any] = {
        "describe": describe or None,
        "configs": configs or None,
        "server_properties": server_properties,
        "controller_properties": controller_properties,
        "producer_properties": producer_properties,
        "consumer_properties": consumer_properties,
    }
    if search.get("forecast"):
        from neverlost.checks import configurations
        from neverlost.reports.commands.forecasting import foretell

        return foretell(configurations(settings, config, kafka_version, **files), output, **search)
    with LiveProgress() as progress:
        result = neverlost.check(
            settings,
            config=config,
            kafka_version=kafka_version,
            properties=properties,
            out=out,
            certificate=certificate,
            progress=progress,
            **files,
            **search,
        )
    output.deliver(result.document, is_saved=True)
    if output.is_read:
        show(result)
        if out is not None:
            terminal.show_bundle(terminal.console(), out)
    return exit_status.of_outcomes(each.outcome for each in result.configurations if each.outcome is not None)


def show(result: neverlost.Result) -> None:
    """The verdicts, the shortest counterexample of each configuration, and what was covered."""
    from neverlost.reports.terminal import forecast
    from neverlost.reports.terminal import results as terminal
    from neverlost.reports.terminal.counterexample import show_timeline

    console = terminal.console()
    for each in result.configurations:
        if each.outcome is None:
            continue
        terminal.show_outcome(console, each.outcome, chosen=each.chosen)
        terminal.show_input(console, each.document)
        if each.trace is not None and each.trace.counterexample.timeline is not None:
            show_timeline(console, each.trace.counterexample.timeline)
        terminal.show_counts(console, each.outcome)
        forecast.show_afterwards(console, each.document)
