"""`neverlost check`: explore one configuration (or those of a cluster's files) and decide its properties."""

from __future__ import annotations

import sys
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any, Unpack

import typer

import neverlost
from neverlost.reports.command_line import options
from neverlost.reports.request.keywords import CheckingCluster

if TYPE_CHECKING:
    from rich.console import Console

    from neverlost.checker.engine.outcome import Outcome
    from neverlost.reports.terminal.progress import LiveProgress
    from neverlost.specs.configuration.choose import Chosen


def check(
    config: options.ConfigFile = None,
    settings: options.Settings = None,
    properties: options.Properties = None,
    out: options.OutDirectory = None,
    redact: options.Redact = False,
    json: options.JsonTarget = None,
    quiet: options.Quiet = False,
    format: Annotated[
        str, typer.Option("--format", metavar="text|json|csv|github|markdown|junit|sarif|shell", help="how to print the answer")
    ] = "text",
    kafka_version: options.KafkaVersion = None,
    topic: options.Topics = None,
    advise: Annotated[
        bool | None,
        typer.Option("--advise/--no-advise", help="look for the smallest change that helps (default: for described topics)"),
    ] = None,
    agree: Annotated[bool, typer.Option("--agree", help="ask every other way to the verdict that is at hand")] = False,
    **given: Unpack[CheckingCluster],
) -> int:
    """Run `neverlost check`; return the exit status.  Without limits of faults print tolerance tables, if the model has any."""
    from neverlost.reports.output import exit_status
    from neverlost.reports.output.gate import announce
    from neverlost.reports.output.output import Output
    from neverlost.reports.questions.tolerance import screen as tolerance_screen
    from neverlost.reports.terminal import results as terminal
    from neverlost.reports.terminal.progress import LiveProgress
    from neverlost.specs.errors import InputError

    output = Output(json, out, quiet, format)
    files, search = options.take_cluster_files(given)
    if tolerance_screen.is_table_wanted(config, settings, search):
        if format not in ("text", "json"):
            raise InputError(
                f"--format {format} is about one search: limit faults, such as --set faults.lossy_crash=1; "
                "without limits check answers what tolerance does, as text or json"
            )
        asked: dict[str, Any] = {
            "config": config,
            "kafka_version": options.require_one_version(kafka_version),
            "properties": properties,
            "topics": topic,
            "files": files,
        }
        return tolerance_screen.show_tables(output, None, settings=settings, **asked, **search)
    with LiveProgress() as progress, terminal.shown_once(output.is_read):
        result = neverlost.check(
            settings,
            config=config,
            kafka_version=options.require_one_version(kafka_version),
            properties=properties,
            out=out,
            redact=redact,
            agree=agree,
            topics=topic,
            advise=advise,
            progress=progress,
            decided=partial(show_decided, progress) if output.is_read else None,
            **files,
            **search,
        )
    output.deliver(result.document, is_saved=True)
    announce(result.document)
    if output.is_read:
        show(result)
        if out is not None:
            terminal.show_bundle(terminal.console(), out)
            if len(result.configurations) == 1:
                terminal.console().print(f"to cite: {result.cite().splitlines()[0]}", markup=False)
    output.end(result.document)
    if any(way["agrees"] is False for one in result.configurations for way in one.document.get("agreement", ())):
        return exit_status.ENGINES_DISAGREE
    return exit_status.of_outcomes(each.outcome for each in result.configurations if each.outcome is not None)


def show_decided(progress: LiveProgress, chosen: Chosen, outcome: Outcome) -> None:
    """Print one of several verdicts as soon as it is known; at a terminal only its topics, since a table with all follows."""
    from neverlost.reports.documents.topic_groups import list_topics
    from neverlost.reports.output.output import verdict_line

    name = (list_topics(chosen.subjects) + chosen.differs).strip()
    is_on_screen = sys.stdout.isatty() and sys.stderr.isatty()  # where its verdict comes with the table
    progress.line(f"decided: {name}" if is_on_screen else verdict_line(str(outcome.verdict), name))


def show(result: neverlost.Result) -> None:
    """Print a result: of several configurations the groups of topics with the same answer; of a single one, or of the worst if
    all are about the same topics, the verdicts, the shortest counterexample, what to change, and what was covered."""
    from neverlost.reports.documents.topic_groups import badness
    from neverlost.reports.terminal import results as terminal
    from neverlost.reports.terminal import topic_groups
    from neverlost.specs.inputs.remedies import topic_of

    console = terminal.console()
    found = [each for each in result.configurations if each.outcome is not None]
    if len(found) > 1:
        topic_groups.show_groups(console, result.document)
    if len({frozenset(map(topic_of, each.topics)) for each in found}) == 1:
        _show_one(console, min(found, key=lambda each: badness(each.document)))


def _show_one(console: Console, found: neverlost.Result) -> None:
    from neverlost.reports.documents.topic_groups import group_by_answer
    from neverlost.reports.terminal import results as terminal
    from neverlost.reports.terminal import topic_groups
    from neverlost.reports.terminal.counterexample import show_timeline

    if found.outcome is None:
        return
    terminal.show_outcome(console, found.outcome, chosen=found.chosen)
    terminal.show_input(console, found.document)
    if found.trace is not None and found.trace.counterexample.timeline is not None:
        show_timeline(console, found.trace.counterexample.timeline)
    topic_groups.show_remedy(console, group_by_answer(found.document)[0])
    terminal.show_counts(console, found.outcome, found.topics)
    for way in found.document.get("agreement", ()):
        word = {True: "agrees", False: "DISAGREES", None: "not asked"}[way["agrees"]]
        console.print(f"{word:12} {way['way']}: {way['says']}", style="dim" if way["agrees"] is not False else "bold red")
