"""`neverlost sweep`: a verdict per cell of a configuration matrix."""

from __future__ import annotations

from typing import Annotated

import typer

from neverlost.reports import options

SweepSymmetry = Annotated[
    bool | None,
    typer.Option("--symmetry/--no-symmetry", help="one state of each orbit (default: as the matrix says)"),
]


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("sweep", help="A verdict per cell of a configuration matrix.")(sweep)


def sweep(
    matrix: Annotated[str, typer.Argument(metavar="MATRIX.toml", help="a matrix, or the name of a shipped one")],
    settings: options.Settings = None,
    properties: options.Properties = None,
    engine: options.Engine = "memory",
    symmetry: SweepSymmetry = None,
    workers: options.Workers = None,
    out: options.OutDirectory = None,
    json: options.JsonTarget = None,
    time_limit: options.TimeLimit = None,
    memory_limit: options.MemoryLimit = None,
    baseline: Annotated[
        str | None,
        typer.Option("--baseline", metavar="FILE", help="JSON of an earlier sweep; exit 21 if verdicts differ"),
    ] = None,
    master: options.Master = None,
    spark_conf: options.SparkConf = None,
    forecast: options.Forecasting = None,
) -> int:
    """Run the command; returns the exit status."""
    from neverlost.checker.campaign.sweep import Sweeper
    from neverlost.model.system import bind
    from neverlost.reports import exit_status
    from neverlost.reports import request as run
    from neverlost.reports.bundle import seal as bundle
    from neverlost.reports.ci import gate
    from neverlost.reports.documents import forecast as forecasting
    from neverlost.reports.documents import sweep as sweeping
    from neverlost.reports.terminal import results as terminal
    from neverlost.specs.configuration import choose as configuration
    from neverlost.specs.configuration.keys import GROWING
    from neverlost.specs.configuration.matrix import read_matrix
    from neverlost.specs.errors import InputError

    found = read_matrix(matrix, configuration.read_settings(settings or ()))
    reduced = bool(found.symmetry) if symmetry is None else symmetry
    request = run.Request.of(locals() | {"symmetry": reduced})
    run.prepare(request)
    expected = sweeping.read_baseline(baseline) if baseline else None
    asked = run.chosen_properties(found.cells[0].model, properties or found.properties)
    for each in found.cells:
        system = bind(each.model, each.configuration)
        run.require_fields(system, asked)
        if reduced and each.model.symmetric(each.configuration) is False:
            raise InputError(f"--symmetry cannot be used with {each.model.name} in every cell of {matrix!r}: replicas differ")
    with terminal.LiveProgress() as progress:
        cells = [(each.model, each.configuration) for each in found.cells]
        sweeper = Sweeper(cells, asked, request.options(), GROWING, engine, progress)
        if forecast:
            return forecasting.only_sweep(sweeper, found.name, request)
        cost = forecasting.before_sweep(sweeper, request)
        swept = sweeper.run()
    traces = sweeping.save_traces(swept, out) if out is not None else {}
    document = sweeping.document(found, swept, engine, reduced, traces)
    document |= cost
    changed = sweeping.changes(expected, document) if expected is not None else []
    if expected is not None:
        document["changes"] = changed
    run.deliver(document, request)
    if out is not None:
        bundle.seal(out, document, swept.cells)
    gate.announce(document)
    if json != "-":
        console = terminal.console()
        sweeping.show(console, document)
        forecasting.show_afterwards(console, cost, sum(each.counts.distinct for each in swept.searches), False)
        sweeping.show_boundary(console, document)
        sweeping.show_tolerance(console, document)
        if expected is not None:
            sweeping.show_changes(console, changed)
        if out is not None:
            terminal.show_bundle(console, out)
    if changed:
        return exit_status.UNEXPECTED
    return exit_status.INCONCLUSIVE if document["verdicts"]["inconclusive"] else exit_status.HOLDS
