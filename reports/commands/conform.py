"""`neverlost conform`: the model's transitions against Kafka's own classes of a version."""

from __future__ import annotations

import os
import re
import sys
from dataclasses import astuple, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Unpack

import typer

from neverlost.reports.command_line import options
from neverlost.reports.request.keywords import EffortKeywords

if TYPE_CHECKING:
    from neverlost.checker.engine.spark.jobs_here_or_there import WorkerTarget
    from neverlost.checker.kafka.conform.exploration.explored_group import Bounds
    from neverlost.checker.kafka.conform.java.kafka import Kafka
    from neverlost.reports.output.output import Output
    from neverlost.reports.request.run_options import RunOptions


def register(app: typer.Typer) -> None:
    app.command("conform", help="Hold the model's transitions against Kafka's own classes.")(
        options.with_shared_options(conform)
    )


@dataclass(frozen=True)
class KafkaOptions:
    """Which Kafka's classes are compared with the model."""

    kafka_version: Annotated[str | None, typer.Option(metavar="X.Y", help="the Kafka version")] = None
    classpath: Annotated[str | None, typer.Option(metavar="DIR", help="a folder of Kafka's jars: your own build")] = None


@dataclass(frozen=True)
class CommitOptions:
    """Which commits of the checkout in the working directory are compared with each other."""

    git: Annotated[str | None, typer.Option("--git", metavar="REF", help="a commit of Kafka's checkout here")] = None
    base: Annotated[str | None, typer.Option("--base", metavar="REF", help="what --git is held against")] = None


@dataclass(frozen=True)
class CaseOptions:
    """Which cases are compared, and with which earlier result."""

    changed: Annotated[
        str | None, typer.Option("--changed", metavar="FILES", help="compare only what these files concern (-: standard input)")
    ] = None
    settings: options.Settings = None
    part: Annotated[list[str] | None, typer.Option("--part", metavar="NAME", help="compare only this (repeatable)")] = None
    short: Annotated[bool, typer.Option("--short", help="under a minute: few configurations")] = False
    baseline: Annotated[str | None, typer.Option(metavar="FILE", help="fail only on differences that it has not")] = None


@dataclass(frozen=True)
class VersionOptions:
    """Which two versions of Kafka are compared with each other."""

    between: Annotated[
        tuple[str, str] | None, typer.Option("--between", metavar="X.Y X.Y", help="what changed from one version to another")
    ] = None


@dataclass(frozen=True)
class WalkOptions:
    """How many random walks of Kafka's own brokers the model has to explain."""

    walks: Annotated[
        int | None, typer.Option("--walks", metavar="N", help="N random walks of three of Kafka's brokers, and nothing else")
    ] = None
    seed: Annotated[int | None, typer.Option("--seed", metavar="S", help="--walks: where their numbers come from (1)")] = None
    state_dir: Annotated[
        str | None, typer.Option("--state-dir", metavar="DIR", help="--walks, --free: keep what is done here, and go on")
    ] = None


@dataclass(frozen=True)
class ExplorationOptions:
    """Whether Kafka's classes are explored without the model, and how far."""

    free: Annotated[bool, typer.Option("--free", help="explore Kafka's classes themselves, with no model")] = False
    fix: Annotated[list[str] | None, typer.Option("--fix", metavar="NAME", help="--free: a stand-in fix: equal-epoch")] = None
    depth: Annotated[int | None, typer.Option("--depth", metavar="N", help="--free: at most so many events")] = None
    states: Annotated[int | None, typer.Option("--states", metavar="N", help="--free: at most so many states")] = None


def conform(
    which: KafkaOptions,
    commits: CommitOptions,
    cases: CaseOptions,
    versions: VersionOptions,
    exploration: ExplorationOptions,
    walking: WalkOptions,
    trust_maven: options.TrustMaven = False,
    out: options.OutDirectory = None,
    json: options.JsonTarget = None,
    quiet: options.Quiet = False,
    master: Annotated[str | None, options.SHARED["master"][0]] = None,
    spark_conf: Annotated[list[str] | None, options.SHARED["spark_conf"][0]] = None,
    **search: Unpack[EffortKeywords],
) -> int:
    """Run `neverlost conform` in one of its six ways, and return the exit status."""
    from neverlost.checker.kafka.conform.java.kafka import kafka_of_folder, kafka_of_version
    from neverlost.reports.output.output import Output
    from neverlost.reports.questions.conform import document
    from neverlost.reports.request.run_options import RunOptions
    from neverlost.specs.errors import InputError

    output, request = Output(json, out, quiet), RunOptions(**search, master=master, spark_conf=spark_conf)
    is_about_one_kafka = any([*astuple(which), cases.settings, cases.part, cases.baseline, exploration.free, *astuple(walking)])
    if versions.between is not None:
        if is_about_one_kafka:
            raise InputError("--between goes with --short, --trust-maven and where results go only")
        old, new = (kafka_of_version(each, trust_maven) for each in versions.between)
        return _compare_versions(old, new, cases.short, request, output)
    if commits != CommitOptions():
        if is_about_one_kafka or cases.changed or commits.git is None or commits.base is None:
            raise InputError("--git REF and --base REF go together, with --short and where results go, and with nothing else")
        return _compare_commits(commits.git, commits.base, cases.short, request, output)
    if (which.kafka_version is None) == (which.classpath is None):
        raise InputError("say which Kafka: either --kafka-version X.Y or --classpath DIR")
    if exploration.free and (master is not None or request.workers is not None):
        raise InputError("--master and --workers are for comparisons: --free is one search, in this process")
    if not exploration.free and exploration != ExplorationOptions():
        raise InputError("--fix, --depth and --states go with --free")
    if walking != WalkOptions() and not (exploration.free and walking == WalkOptions(state_dir=walking.state_dir)):
        _check_walks(walking, cases, exploration)
    parts = _choose_parts(cases)
    if not parts:
        return _report_unconcerned(output)
    known = document.read_baseline(cases.baseline)
    bounds = document.read_bounds(cases.settings or [], exploration.fix or []) if exploration.free else None
    kafka = kafka_of_folder(which.classpath) if which.classpath else kafka_of_version(str(which.kafka_version), trust_maven)
    if bounds is not None:
        return _explore_classes(kafka, bounds, exploration, walking.state_dir, request, output)
    return _compare_with_model(kafka, parts, cases, walking, known, request, output)


def _check_walks(walking: WalkOptions, cases: CaseOptions, exploration: ExplorationOptions) -> None:
    """Refuse options that do not go with `--walks`, and numbers that are none.  Errors: `InputError`."""
    from neverlost.specs.errors import InputError

    if walking.walks is None:
        raise InputError("--seed and --state-dir go with --walks N, and --state-dir with --free")
    if exploration.free or cases.settings or cases.part or cases.changed or cases.short:
        raise InputError("--walks goes with --kafka-version or --classpath, --baseline, and where results go only")
    if walking.walks < 1:
        raise InputError(f"bad value {walking.walks} for --walks: use 1 or more")


def _choose_parts(cases: CaseOptions) -> list[str]:
    """Return the parts to compare: the named ones, or all; of these only the ones that `--changed` files concern."""
    from neverlost.checker.kafka.conform.java import sources
    from neverlost.checker.kafka.conform.run import PARTS
    from neverlost.specs.errors import unknown

    for name in cases.part or ():
        if name not in PARTS:
            raise unknown("part", name, PARTS, "--part")
    parts = cases.part or list(PARTS)
    if cases.changed is None:
        return parts
    return sources.concerned_parts(sys.stdin if cases.changed == "-" else re.split(r"[\s,]+", cases.changed), parts)


def _compare_with_model(
    kafka: Kafka,
    parts: list[str],
    cases: CaseOptions,
    walking: WalkOptions,
    known: frozenset[str] | None,
    request: RunOptions,
    output: Output,
) -> int:
    """Compare the model with the classes of one Kafka, and write the result."""
    from neverlost.checker.engine.host import processes
    from neverlost.checker.kafka.conform.run import ConformReport, plan_jobs, run_jobs, run_walks
    from neverlost.checker.kafka.conform.walk.walks import SEED
    from neverlost.reports.questions.conform import document
    from neverlost.reports.terminal.progress import PartsProgress
    from neverlost.reports.terminal.results import console
    from neverlost.specs.errors import InputError

    with PartsProgress() as progress:

        def show_progress(name: str, so_far: ConformReport) -> None:
            progress.expect(len(so_far.left) + 1)
            progress(document.comparison_progress(name, so_far))

        if walking.walks is not None:
            seed = SEED if walking.seed is None else walking.seed
            found = run_walks(kafka, walking.walks, seed, walking.state_dir, _worker_target(request), show_progress)
        else:
            todo = plan_jobs(kafka, parts, cases.short, " ".join(cases.settings) if cases.settings else None)
            found = run_jobs(kafka, todo, _worker_target(request), show_progress)
    if found.left and not found.tallies and processes.INTERRUPTED not in found.left.values():
        raise InputError(f"nothing can be compared: {next(iter(found.left.values()))}")
    result = document.comparison_document(found, known)
    output.deliver(result, lines=document.verdict_lines)
    if output.out is not None:
        document.write_comparison(output.out, result)
    if output.is_read:
        document.show_comparison(console(), result)
    return document.comparison_status(result)


def _report_unconcerned(output: Output) -> int:
    """Report that no part of the comparison concerns a changed file; this needs no Java."""
    from neverlost.reports.questions.conform import document

    result = document.unconcerned_document()
    output.deliver(result, lines=document.verdict_lines)
    if output.is_read:
        print(result["reason"])
    return document.comparison_status(result)


def _worker_target(request: RunOptions) -> WorkerTarget:
    from neverlost.checker.engine.spark.jobs_here_or_there import WorkerTarget

    conf = request.options().spark_conf
    return WorkerTarget(request.workers or os.cpu_count() or 1, request.time_limit, request.master, conf)


def _compare_commits(ref: str, base: str, short: bool, request: RunOptions, output: Output) -> int:
    """Compare the classes before and after a branch of the checkout in the working directory, as Gradle builds them."""
    from neverlost.checker.kafka.conform.java import sources
    from neverlost.checker.kafka.conform.java.kafka import kafka_of_folder
    from neverlost.checker.kafka.conform.run import PARTS

    checkout = Path.cwd()
    if not sources.concerned_parts(sources.changed_files(checkout, base, ref), list(PARTS)):
        return _report_unconcerned(output)
    with sources.build_commit(checkout, base) as old, sources.build_commit(checkout, ref) as new:
        return _compare_versions(kafka_of_folder(str(old)), kafka_of_folder(str(new)), short, request, output)


def _compare_versions(old: Kafka, new: Kafka, short: bool, request: RunOptions, output: Output) -> int:
    """Compare the classes of two Kafka versions; a difference is a result here, not a failure."""
    from neverlost.checker.kafka.conform.run import compare_versions
    from neverlost.reports.questions.conform import document
    from neverlost.reports.terminal.progress import PartsProgress
    from neverlost.reports.terminal.results import console

    with PartsProgress() as progress:
        found = compare_versions(old, new, short, _worker_target(request), progress)
    result = document.versions_document(found)
    output.deliver(result, lines=document.verdict_lines)
    if output.is_read:
        document.show_versions(console(), result)
    return document.versions_status(result)


def _explore_classes(
    kafka: Kafka, bounds: Bounds, given: ExplorationOptions, state_dir: str | None, request: RunOptions, output: Output
) -> int:
    """Explore Kafka's classes without the model; a loss is a violation (12), not a difference."""
    from neverlost.checker.engine.host import locks
    from neverlost.checker.kafka.conform.exploration.explore_classes import ExplorationLimits, explore_classes
    from neverlost.reports.questions.conform import document
    from neverlost.reports.terminal.progress import PartsProgress
    from neverlost.reports.terminal.results import console

    limits = ExplorationLimits(given.depth, given.states, request.time_limit)
    with PartsProgress() as progress, locks.hold_lock(state_dir):
        found = explore_classes(kafka, bounds, limits, state_dir, lambda now: progress(document.exploration_progress(now)))
    result = document.exploration_document(found)
    output.deliver(result, lines=document.verdict_lines)
    if output.is_read:
        document.show_exploration(console(), found)
    return document.exploration_status(found)
