"""`neverlost conform`: the model's transitions against Kafka's own classes of a version."""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Unpack

import typer

from neverlost.reports.command_line import options
from neverlost.reports.request.keywords import EffortKeywords

if TYPE_CHECKING:
    from neverlost.checker.engine.spark.jobs_here_or_there import WorkerTarget
    from neverlost.checker.kafka.conform.exploration.world import Bounds
    from neverlost.checker.kafka.conform.java.kafka import Kafka
    from neverlost.reports.output.output import Output
    from neverlost.reports.request.run_options import RunOptions


def register(app: typer.Typer) -> None:
    app.command("conform", help="Hold the model's transitions against Kafka's own classes.")(
        options.with_shared_options(conform)
    )


def conform(
    kafka_version: Annotated[str | None, typer.Option(metavar="X.Y", help="the Kafka version")] = None,
    classpath: Annotated[str | None, typer.Option(metavar="DIR", help="a folder of Kafka's jars: your own build")] = None,
    git: Annotated[str | None, typer.Option("--git", metavar="REF", help="a commit of Kafka's checkout here")] = None,
    base: Annotated[str | None, typer.Option("--base", metavar="REF", help="what --git is held against")] = None,
    changed: Annotated[
        str | None, typer.Option("--changed", metavar="FILES", help="compare only what these files concern (-: standard input)")
    ] = None,
    settings: options.Settings = None,
    part: Annotated[list[str] | None, typer.Option("--part", metavar="NAME", help="compare only this (repeatable)")] = None,
    short: Annotated[bool, typer.Option("--short", help="under a minute: few configurations")] = False,
    baseline: Annotated[str | None, typer.Option(metavar="FILE", help="fail only on differences that it has not")] = None,
    between: Annotated[
        tuple[str, str] | None, typer.Option("--between", metavar="X.Y X.Y", help="what changed from one version to another")
    ] = None,
    free: Annotated[bool, typer.Option("--free", help="explore Kafka's classes themselves, with no model")] = False,
    fix: Annotated[list[str] | None, typer.Option("--fix", metavar="NAME", help="--free: a stand-in fix: equal-epoch")] = None,
    depth: Annotated[int | None, typer.Option("--depth", metavar="N", help="--free: at most so many events")] = None,
    trust_maven: options.TrustMaven = False,
    out: options.OutDirectory = None,
    json: options.JsonTarget = None,
    quiet: options.Quiet = False,
    master: Annotated[str | None, options.SHARED["master"][0]] = None,
    spark_conf: Annotated[list[str] | None, options.SHARED["spark_conf"][0]] = None,
    **search: Unpack[EffortKeywords],
) -> int:
    """Run `neverlost conform` and return the exit status."""
    from neverlost.checker.engine.host import processes
    from neverlost.checker.kafka.conform import run as comparing
    from neverlost.checker.kafka.conform.java import kafka as judges
    from neverlost.checker.kafka.conform.java import sources
    from neverlost.reports.output.output import Output
    from neverlost.reports.questions.conform import document as page
    from neverlost.reports.request.run_options import RunOptions
    from neverlost.reports.terminal import results as terminal
    from neverlost.reports.terminal.progress import PartsProgress
    from neverlost.specs.errors import InputError, unknown

    output, request = Output(json, out, quiet), RunOptions(**search, master=master, spark_conf=spark_conf)
    if between is not None:
        if kafka_version or classpath or settings or part or baseline or free:
            raise InputError("--between goes with --short, --trust-maven and where results go only")
        old, new = (judges.of_version(each, trust_maven) for each in between)
        return _between(old, new, short, request, output)
    if git is not None or base is not None:
        if kafka_version or classpath or settings or part or baseline or free or changed or git is None or base is None:
            raise InputError("--git REF and --base REF go together, with --short and where results go, and with nothing else")
        return _git(git, base, short, request, output)
    if (kafka_version is None) == (classpath is None):
        raise InputError("say which Kafka: either --kafka-version X.Y or --classpath DIR")
    if free and master is not None:
        raise InputError("--master is for comparisons: --free is one search, in this process")
    if not free and (fix or depth is not None):
        raise InputError("--fix and --depth go with --free")
    for name in part or ():
        if name not in comparing.PARTS:
            raise unknown("part", name, comparing.PARTS, "--part")
    asked = part or list(comparing.PARTS)
    if changed is not None:
        asked = sources.concerned(sys.stdin if changed == "-" else re.split(r"[\s,]+", changed), asked)
        if not asked:
            return _nothing_concerns(output)
    known = page.baseline(baseline)
    kafka = judges.of_folder(classpath) if classpath else judges.of_version(str(kafka_version), trust_maven)
    if free:
        return _free(kafka, page.bounds(settings or [], fix or []), depth, request, output)
    given = " ".join(settings) if settings else None
    todo = comparing.jobs(kafka, asked, short, given)
    with PartsProgress() as progress:
        progress.expect(len(todo))

        def compared(name: str, so_far: comparing.ConformReport) -> None:
            progress(page.rate(name, so_far))

        found = comparing.compare(kafka, todo, _where(request), compared)
    if found.left and not found.tallies and processes.INTERRUPTED not in found.left.values():
        raise InputError(f"nothing can be compared: {next(iter(found.left.values()))}")
    document = page.document(found, known)
    output.deliver(document, lines=page.verdict_lines)
    if out is not None:
        page.write(out, document)
    if output.is_read:
        page.show(terminal.console(), document)
    return page.exit_status(document)


def _nothing_concerns(output: Output) -> int:
    """Report that no part of the comparison concerns a changed file; this needs no Java."""
    from neverlost.reports.questions.conform import document as page

    document = page.unconcerned()
    output.deliver(document, lines=page.verdict_lines)
    if output.is_read:
        print(document["reason"])
    return page.exit_status(document)


def _where(request: RunOptions) -> WorkerTarget:
    from neverlost.checker.engine.spark.jobs_here_or_there import WorkerTarget

    conf = request.options().spark_conf
    return WorkerTarget(request.workers or os.cpu_count() or 1, request.time_limit, request.master, conf)


def _git(ref: str, base: str, short: bool, request: RunOptions, output: Output) -> int:
    """Compare what a branch of the checkout in the working directory changes, using the jars that Gradle builds of both
    commits."""
    from neverlost.checker.kafka.conform import run as comparing
    from neverlost.checker.kafka.conform.java import kafka as judges
    from neverlost.checker.kafka.conform.java import sources

    checkout = Path.cwd()
    if not sources.concerned(sources.changed_between(checkout, base, ref), list(comparing.PARTS)):
        return _nothing_concerns(output)
    with sources.built(checkout, base) as old, sources.built(checkout, ref) as new:
        return _between(judges.of_folder(str(old)), judges.of_folder(str(new)), short, request, output)


def _between(old: Kafka, new: Kafka, short: bool, request: RunOptions, output: Output) -> int:
    """Compare the classes of two Kafka versions; a difference is a result here, not a failure."""
    from neverlost.checker.kafka.conform import run as comparing
    from neverlost.reports.questions.conform import document as page
    from neverlost.reports.terminal import results as terminal
    from neverlost.reports.terminal.progress import PartsProgress

    with PartsProgress() as progress:
        found = comparing.between(old, new, short, _where(request), progress)
    document = page.between_document(found)
    output.deliver(document, lines=page.verdict_lines)
    if output.is_read:
        page.show_between(terminal.console(), document)
    return page.between_status(document)


def _free(kafka: Kafka, bounds: Bounds, depth: int | None, request: RunOptions, output: Output) -> int:
    """Explore Kafka's classes themselves; a loss is a violation (12), not a difference."""
    from neverlost.checker.kafka.conform.exploration.explore_classes import search
    from neverlost.reports.questions.conform import document as page
    from neverlost.reports.terminal import results as terminal
    from neverlost.reports.terminal.progress import PartsProgress

    with PartsProgress() as progress:
        workers = request.workers or os.cpu_count() or 1
        found = search(kafka, bounds, workers, depth, request.time_limit, lambda so_far: progress(page.free_rate(so_far)))
    document = page.free_document(found)
    output.deliver(document, lines=page.verdict_lines)
    if output.out is not None:
        page.write_free(output.out, document)
    if output.is_read:
        page.show_free(terminal.console(), found)
    return page.free_status(found)
