"""`neverlost conform`: the model's transitions against Kafka's own classes of a version."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Unpack

import typer

from neverlost.reports.command_line import options
from neverlost.reports.request.keywords import EffortKeywords

if TYPE_CHECKING:
    from neverlost.checker.kafka.conform.exploration.explored_group import Bounds
    from neverlost.checker.kafka.conform.java.kafka import Kafka
    from neverlost.reports.output.output import Output
    from neverlost.reports.request.run_options import RunOptions


@dataclass(frozen=True)
class KafkaOptions:
    """The options that say which Kafka's classes are taken: those of a version, or those in a folder."""

    kafka_version: Annotated[str | None, typer.Option(metavar="X.Y", help="the Kafka version")] = None
    classpath: Annotated[str | None, typer.Option(metavar="DIR", help="a folder of Kafka's jars: your own build")] = None


@dataclass(frozen=True)
class CaseOptions:
    """The options that say which cases are compared: with which settings, which parts, and whether only few (`short`)."""

    settings: options.Settings = None
    part: Annotated[list[str] | None, typer.Option("--part", metavar="NAME", help="compare only this (repeatable)")] = None
    short: Annotated[bool, typer.Option("--short", help="under a minute: few configurations")] = False


@dataclass(frozen=True)
class WalkOptions:
    """The options of random walks of Kafka's own brokers, which the model has to explain: how many, and from which seed."""

    walks: Annotated[
        int | None, typer.Option("--walks", metavar="N", help="N random walks of three of Kafka's brokers, and nothing else")
    ] = None
    seed: Annotated[int | None, typer.Option("--seed", metavar="S", help="--walks: where their numbers come from (1)")] = None
    state_dir: Annotated[
        str | None, typer.Option("--state-dir", metavar="DIR", help="--walks, --free: keep what is done here, and go on")
    ] = None


@dataclass(frozen=True)
class ExplorationOptions:
    """The options that say whether Kafka's classes are explored without the model, with which fixes, and how far."""

    free: Annotated[bool, typer.Option("--free", help="explore Kafka's classes themselves, with no model")] = False
    fix: Annotated[list[str] | None, typer.Option("--fix", metavar="NAME", help="--free: a stand-in fix: equal-epoch")] = None
    depth: Annotated[int | None, typer.Option("--depth", metavar="N", help="--free: at most so many events")] = None
    states: Annotated[int | None, typer.Option("--states", metavar="N", help="--free: at most so many states")] = None


def conform(
    which: KafkaOptions,
    cases: CaseOptions,
    exploration: ExplorationOptions,
    walking: WalkOptions,
    trust_maven: options.TrustMaven = False,
    out: options.OutDirectory = None,
    json: options.JsonTarget = None,
    quiet: options.Quiet = False,
    **search: Unpack[EffortKeywords],
) -> int:
    """Run `neverlost conform` in one of its three ways; return the exit status.  Errors: `InputError` for a mix of them."""
    from neverlost.checker.kafka.conform.java.kafka import kafka_of_folder, kafka_of_version
    from neverlost.reports.output.output import Output
    from neverlost.reports.questions.conform import document
    from neverlost.reports.request.run_options import RunOptions
    from neverlost.specs.errors import InputError

    output, request = Output(json, out, quiet), RunOptions(**search)
    if (which.kafka_version is None) == (which.classpath is None):
        raise InputError("say which Kafka: either --kafka-version X.Y or --classpath DIR")
    if exploration.free and request.workers is not None:
        raise InputError("--workers is for comparisons: --free is one search, in this process")
    if not exploration.free and exploration != ExplorationOptions():
        raise InputError("--fix, --depth and --states go with --free")
    if walking != WalkOptions() and not (exploration.free and walking == WalkOptions(state_dir=walking.state_dir)):
        _check_walks(walking, cases, exploration)
    parts = _choose_parts(cases.part)
    bounds = document.read_bounds(cases.settings or [], exploration.fix or []) if exploration.free else None
    kafka = kafka_of_folder(which.classpath) if which.classpath else kafka_of_version(str(which.kafka_version), trust_maven)
    if bounds is not None:
        return _explore_classes(kafka, bounds, exploration, walking.state_dir, request, output)
    return _compare_with_model(kafka, parts, cases, walking, request, output)


def _check_walks(walking: WalkOptions, cases: CaseOptions, exploration: ExplorationOptions) -> None:
    """Raise `InputError` for options that do not go with `--walks`, those that need it, and fewer than one walk."""
    from neverlost.specs.errors import InputError

    if walking.walks is None:
        raise InputError("--seed and --state-dir go with --walks N, and --state-dir with --free")
    if exploration.free or cases.settings or cases.part or cases.short:
        raise InputError("--walks goes with --kafka-version or --classpath, and where results go only")
    if walking.walks < 1:
        raise InputError(f"bad value {walking.walks} for --walks: use 1 or more")


def _choose_parts(named: list[str] | None) -> list[str]:
    """Return the named parts, or all if none is named.  Errors: `InputError` for an unknown one."""
    from neverlost.checker.kafka.conform.run import PARTS
    from neverlost.specs.errors import unknown

    for name in named or ():
        if name not in PARTS:
            raise unknown("part", name, PARTS, "--part")
    return named or list(PARTS)


def _compare_with_model(
    kafka: Kafka, parts: list[str], cases: CaseOptions, walking: WalkOptions, request: RunOptions, output: Output
) -> int:
    """Compare Kafka's classes with the model, write and show the result, return the exit status (22: they differ).  Errors:
    `InputError` if nothing can be compared."""
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

        limits = (request.workers or os.cpu_count() or 1, request.time_limit)
        if walking.walks is not None:
            seed = SEED if walking.seed is None else walking.seed
            found = run_walks(kafka, walking.walks, seed, walking.state_dir, limits, show_progress)
        else:
            todo = plan_jobs(kafka, parts, cases.short, " ".join(cases.settings) if cases.settings else None)
            found = run_jobs(kafka, todo, limits, show_progress)
    if found.left and not found.tallies and processes.INTERRUPTED not in found.left.values():
        raise InputError(f"nothing can be compared: {next(iter(found.left.values()))}")
    result = document.comparison_document(found)
    output.deliver(result, lines=document.verdict_lines)
    if output.out is not None:
        document.write_comparison(output.out, result)
    if output.is_read:
        document.show_comparison(console(), result)
    return document.STATUSES[result["verdict"]]


def _explore_classes(
    kafka: Kafka, bounds: Bounds, given: ExplorationOptions, state_dir: str | None, request: RunOptions, output: Output
) -> int:
    """Explore Kafka's classes without the model, write what is found and return the exit status (12: a broken property)."""
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
    if output.out is not None and found.steps:
        document.write_exploration(output.out, found)
    if output.is_read:
        document.show_exploration(console(), found)
    return document.STATUSES[found.verdict]
