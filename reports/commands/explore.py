"""`neverlost explore`: enumerate the reachable states and count them."""

from __future__ import annotations

from functools import partial
from typing import Annotated, Any, Unpack

import typer

import neverlost
from neverlost.reports.command_line import options
from neverlost.reports.request.keywords import Resumable


def explore(
    model: Annotated[str, typer.Argument(metavar="MODEL", help="a model's name: see neverlost models")],
    settings: options.Settings = None,
    out: options.OutDirectory = None,
    json: options.JsonTarget = None,
    quiet: options.Quiet = False,
    export: Annotated[str | None, typer.Option("--export", metavar="DIR", help="write the states here, as Parquet")] = None,
    graph: Annotated[
        str | None, typer.Option("--graph", metavar="DIR", help="write the state graph here, as GraphML and DOT")
    ] = None,
    properties: Annotated[
        list[str] | None,
        typer.Option("--property", metavar="NAME", help="with --graph: mark the states that break it (default: guarantees)"),
    ] = None,
    **search: Unpack[Resumable],
) -> int:
    """Run `neverlost explore`; return 0 if all states were found, else 20; `InputError` for options that do not fit."""
    from neverlost.checker.engine.host.whole_files import writable_directory
    from neverlost.reports.output import exit_status
    from neverlost.reports.output.output import Output
    from neverlost.reports.terminal import results as terminal
    from neverlost.reports.terminal.progress import LiveProgress
    from neverlost.specs.configuration.choose import choose, read_settings
    from neverlost.specs.errors import InputError

    output = Output(json, out, quiet)
    if properties and graph is None:
        raise InputError("explore checks nothing: use --property with --graph DIR, or neverlost check")
    chosen = choose(read_settings(settings), model)
    if graph is not None:
        from neverlost.reports.page.state_graph import marked_properties

        marked_properties(chosen, properties)
        writable_directory(graph)
    with LiveProgress() as progress:
        result = neverlost.explore(model, settings, out=out, export=export, progress=progress, **search)
    output.deliver(result.document, is_saved=True, lines=_counts)
    if output.is_read and result.outcome is not None:
        console = terminal.console()
        terminal.show_outcome(console, result.outcome)
        terminal.show_counts(console, result.outcome)
    if graph is not None and not result.reason:
        for line in result.write_graph(graph, properties, partial(typer.echo, err=True)):
            typer.echo(line, err=json == "-" or quiet)
    return exit_status.INCONCLUSIVE if result.reason else exit_status.HOLDS


def _counts(document: dict[str, Any]) -> list[str]:
    """Return a list of the one line that `--quiet` prints: whether all states were found, and how many."""
    states = document["states"]
    return [f"{'INCOMPLETE' if document['reason'] else 'COMPLETE':12} {states['distinct']} distinct, depth {states['depth']}"]
