"""`neverlost roll`: which brokers may be stopped now, and in which order."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Unpack

import typer

from neverlost.reports.command_line import options
from neverlost.reports.request.keywords import SearchingCluster

if TYPE_CHECKING:
    from neverlost.reports.output.output import Output
    from neverlost.reports.questions.roll.plan_api import PlanResult


def roll(
    settings: options.Settings = None,
    kafka_version: options.KafkaVersion = None,
    at_a_time: Annotated[int, typer.Option("--at-a-time", metavar="N", help="how many brokers to restart together")] = 1,
    broker: Annotated[
        int | None, typer.Option("--broker", metavar="N", help="only: may this one be restarted now (allow, deny, wait-for)")
    ] = None,
    pod: Annotated[
        str | None, typer.Option("--pod", metavar="NAME", help="as --broker, by a pod whose name ends in the broker's id")
    ] = None,
    accept: Annotated[
        list[str] | None, typer.Option("--accept", metavar="TOPIC", help="writes on it may stop meanwhile (repeatable)")
    ] = None,
    plan: Annotated[
        str | None, typer.Option("--plan", metavar="FILE.toml", help="instead: what each step of a plan loses or stops")
    ] = None,
    out: options.OutDirectory = None,
    json: options.JsonTarget = None,
    quiet: options.Quiet = False,
    **given: Unpack[SearchingCluster],
) -> int:
    """Run `neverlost roll`; return 12 if a stop alone may lose a record, 13 if it stops writes, 20 if undecided, else 0."""
    from neverlost.checker.engine.host.visible import visible
    from neverlost.checker.questions.tolerance.cell_words import ACCEPTED
    from neverlost.reports.output import exit_status
    from neverlost.reports.output.output import Output
    from neverlost.reports.questions.roll import api
    from neverlost.reports.questions.roll.document import MOST_LABELS, input_lines, lines
    from neverlost.reports.terminal.progress import LiveProgress
    from neverlost.reports.terminal.results import console, show_settings, shown_once
    from neverlost.specs.errors import InputError

    output = Output(json, out, quiet)
    files, search = options.take_cluster_files(given)
    if plan is not None:
        if any(files.values()) or kafka_version or broker is not None or pod is not None or accept:
            raise InputError(
                "--plan says itself where the cluster begins: leave out Kafka's files, --kafka-version, --broker and --accept"
            )
        return _plan(plan, settings, output, **search)
    with shown_once(output.is_read), LiveProgress() as progress:
        found = api.roll(
            settings,
            files=files,
            kafka_version=options.require_one_version(kafka_version),
            at_a_time=at_a_time,
            broker=broker,
            pod=pod,
            accept=accept,
            out=out,
            progress=progress if output.is_read else None,
            **search,
        )
    output.deliver(found.document, is_saved=True, lines=lines)
    if output.is_read:
        for line in (*lines(found.document), *input_lines(found.document)):
            typer.echo(visible(line))
        show_settings(console(), found.document["sources"])
        differ = found.document["differ"]
        for label, own in differ.items() if len(differ) <= MOST_LABELS else ():
            show_settings(console(), own, f"settings of {label}")
        if len(differ) > MOST_LABELS:
            typer.echo(f"settings of {len(differ)} groups of topics differ: --json FILE or --out DIR has each with its source")
    reasons = [] if found.step is None else [each["verdict"] for each in found.step["reasons"]]
    words = {word for each in found.brokers.values() for word in each["now"]} - {ACCEPTED}
    return exit_status.of_words([*words, *reasons])


def _plan(file: str, settings: list[str] | None, output: Output, **search: Any) -> int:
    """Decide the maintenance plan of a file, print it with the counterexample of its first loss, and return the exit status."""
    from neverlost.reports.output import exit_status
    from neverlost.reports.questions.roll import plan_api
    from neverlost.reports.questions.roll.plan_document import lines
    from neverlost.reports.terminal.progress import LiveProgress

    with LiveProgress() as progress:
        found = plan_api.plan(file, settings, out=output.out, progress=progress, **search)
    output.deliver(found.document, is_saved=True, lines=lines)
    if output.is_read:
        for line in lines(found.document):
            typer.echo(line)
        _show_loss(found)
    return exit_status.of_words(each[name] for each in found.phases for name in ("meanwhile", "done") if each.get(name))


def _show_loss(found: PlanResult) -> None:
    from rich.console import Console

    from neverlost.reports.terminal.counterexample import show_timeline

    loss = found.first_loss()
    if loss is not None:
        show_timeline(Console(), loss)
