"""`neverlost explore`: enumerate the reachable states and count them."""

from __future__ import annotations

from functools import partial
from typing import Annotated

import typer

from neverlost.reports import options


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("explore", help="Enumerate the reachable states of a model; checks nothing, prints counts.")(explore)


def explore(
    model: Annotated[str, typer.Argument(metavar="MODEL", help="a model's name: see neverlost models")],
    settings: options.Settings = None,
    engine: options.Engine = "memory",
    symmetry: options.SymmetryFlag = False,
    workers: options.Workers = None,
    out: options.OutDirectory = None,
    json: options.JsonTarget = None,
    time_limit: options.TimeLimit = None,
    memory_limit: options.MemoryLimit = None,
    state_dir: options.StateDirectory = None,
    resume: options.Resume = False,
    master: options.Master = None,
    spark_conf: options.SparkConf = None,
    export: options.ExportDirectory = None,
    graph: Annotated[
        str | None,
        typer.Option("--graph", metavar="DIR", help="write the state graph here: GraphML, DOT, SVG if it is small"),
    ] = None,
    properties: Annotated[
        list[str] | None,
        typer.Option("--property", metavar="NAME", help="with --graph: mark the states that break it (default: guarantees)"),
    ] = None,
    forecast: options.Forecasting = None,
) -> int:
    """Run the command; returns the exit status."""
    from neverlost.checker.machine.whole_files import writable_directory
    from neverlost.model.system import bind
    from neverlost.reports import exit_status
    from neverlost.reports import request as run
    from neverlost.reports.documents import forecast as forecasting
    from neverlost.reports.documents import result
    from neverlost.reports.export import kept_levels
    from neverlost.reports.page.state_graph import write_graph
    from neverlost.reports.terminal import results as terminal
    from neverlost.specs.configuration import choose as configuration
    from neverlost.specs.errors import InputError

    request = run.Request.of(locals())
    run.prepare(request)
    if properties and graph is None:
        raise InputError("explore checks nothing: use --property with --graph DIR, or neverlost check")
    chosen = configuration.choose(configuration.read_settings(settings or ()), model)
    system = bind(chosen.model, chosen.configuration)
    asked = run.chosen_properties(chosen.model, properties) if graph is not None else []
    run.require_fields(system, asked if properties else [])
    if graph is not None:
        writable_directory(graph)
    if forecast:
        return forecasting.only([chosen], request)
    with kept_levels(request, export) as (keeping, write):
        outcome, cost = forecasting.search(system, (), keeping)
        write(outcome)
    run.deliver(result.document(outcome) | cost, request)
    if json != "-":
        out_console = terminal.console()
        terminal.show_outcome(out_console, outcome)
        terminal.show_counts(out_console, outcome)
        forecasting.show_afterwards(out_console, cost, outcome.counts.distinct, bool(outcome.counts.left or outcome.reason))
    if graph is not None and not outcome.reason:
        told = partial(typer.echo, err=True)
        for line in write_graph(system, asked, outcome.counts.distinct, symmetry, graph, told):
            typer.echo(line, err=json == "-")
    return exit_status.INCONCLUSIVE if outcome.reason else exit_status.HOLDS
