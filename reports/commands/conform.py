"""`neverlost conform`: the model's transitions against Kafka's own classes of a version."""

from __future__ import annotations

import os
from typing import Annotated

import typer

from neverlost.reports import options


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("conform", help="Hold the model's transitions against Kafka's own classes.")(conform)


def conform(
    kafka_version: Annotated[str | None, typer.Option(metavar="X.Y", help="the Kafka version")] = None,
    classpath: Annotated[str | None, typer.Option(metavar="DIR", help="a folder of Kafka's jars: your own build")] = None,
    settings: options.Settings = None,
    part: Annotated[list[str] | None, typer.Option("--part", metavar="NAME", help="compare only this (repeatable)")] = None,
    short: Annotated[bool, typer.Option("--short", help="under a minute: few configurations")] = False,
    baseline: Annotated[str | None, typer.Option(metavar="FILE", help="fail only on differences that it has not")] = None,
    trust_maven: Annotated[bool, typer.Option("--trust-maven", help="take jars whose checksums are not known")] = False,
    workers: options.Workers = None,
    out: options.OutDirectory = None,
    json: options.JsonTarget = None,
    time_limit: options.TimeLimit = None,
) -> int:
    """Run the command; returns the exit status."""
    from neverlost.checker.kafka.conform import kafka as judges
    from neverlost.checker.kafka.conform import run as comparing
    from neverlost.reports import request as run
    from neverlost.reports.documents import conform as page
    from neverlost.reports.terminal import results as terminal
    from neverlost.specs.errors import InputError, unknown

    request = run.Request.of(locals())
    run.prepare(request)
    if (kafka_version is None) == (classpath is None):
        raise InputError("say which Kafka: either --kafka-version X.Y or --classpath DIR")
    for name in part or ():
        if name not in comparing.PARTS:
            raise unknown("part", name, comparing.PARTS, "--part")
    known = page.baseline(baseline)
    kafka = judges.of_folder(classpath) if classpath else judges.of_version(str(kafka_version), trust_maven)
    given = " ".join(settings) if settings else None
    todo = comparing.jobs(kafka, part or list(comparing.PARTS), short, given)
    with terminal.PartsProgress() as told:
        told.expect(len(todo))

        def progress(name: str, so_far: comparing.Report) -> None:
            told(page.rate(name, so_far))

        found = comparing.compare(kafka, todo, workers or os.cpu_count() or 1, time_limit, progress)
    document = page.document(found, known)
    run.deliver(document, request)
    if out is not None:
        page.write(out, document)
    if json != "-":
        page.show(terminal.console(), document)
    return page.exit_status(document)
