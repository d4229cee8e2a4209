"""`neverlost prove`: decide with Z3, by bounded model checking or by induction."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from neverlost.reports import options

if TYPE_CHECKING:
    from neverlost.model.system import System
    from neverlost.reports.request import Request
    from neverlost.specs.configuration.choose import Given
    from neverlost.specs.property import Property

Method = Annotated[str, typer.Option("--method", metavar="bmc|induction", help="how to decide")]
Depth = Annotated[int, typer.Option("--depth", metavar="N", help="bmc: look for counterexamples of up to N steps")]
Free = Annotated[
    list[str] | None,
    typer.Option("--free", metavar="KEY[=A,B]", help="bmc: find all its unsafe values (repeatable)", show_default=False),
]
Unbounded = Annotated[bool, typer.Option("--unbounded", help="induction: for any number of epochs and records")]
Without = Annotated[
    list[str] | None,
    typer.Option("--without", metavar="ACTION:CLAUSE", help="switch off a guard clause (repeatable)", show_default=False),
]
Mine = Annotated[bool, typer.Option("--mine", help="induction: find the lemmas in small reachable sets")]


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("prove", help="Decide with Z3: bounded search, induction, or which configurations are unsafe.")(prove)


def prove(
    config: options.ConfigFile = None,
    settings: options.Settings = None,
    method: Method = "bmc",
    depth: Depth = 12,
    properties: options.Properties = None,
    free: Free = None,
    unbounded: Unbounded = False,
    mine: Mine = False,
    without: Without = None,
    workers: options.Workers = None,
    out: options.OutDirectory = None,
    json: options.JsonTarget = None,
    time_limit: options.TimeLimit = None,
    memory_limit: options.MemoryLimit = None,
) -> int:
    """Run the command; returns the exit status."""
    from neverlost.reports import request as run
    from neverlost.reports.documents import proofs
    from neverlost.specs.configuration import choose as reading

    request = run.Request.of(locals())
    proofs.require_sense(method, depth, bool(free), unbounded, mine)
    run.prepare(request)
    given = reading.read_given(config, settings or [])
    if method == "induction":
        return _induction(given, without or [], properties, unbounded, mine, request)
    return _bounded(given, free or [], without or [], properties, depth, request)


def _asked(system: System, names: list[str] | None) -> list[Property]:
    from neverlost.reports import request as run
    from neverlost.specs.errors import InputError
    from neverlost.specs.property import RECOVERY

    asked = run.chosen_properties(system.model, names)
    run.require_fields(system, asked)
    for each in asked:
        if each.kind == RECOVERY:
            raise InputError(f"property {each.name!r} is about what can still happen, which no proof here decides; use check")
    return asked


def _bounded(given: Given, free: list[str], without: list[str], names: list[str] | None, depth: int, request: Request) -> int:
    from neverlost.checker.prove import bounded_search as bmc
    from neverlost.reports import exit_status
    from neverlost.reports import request as run
    from neverlost.reports.documents import proofs
    from neverlost.reports.options import memory_size

    system, keys = proofs.free_cells(given, free)
    system = proofs.weakened(system, without)
    memory = memory_size(request.memory_limit)
    found = bmc.check(system, _asked(system, names), depth, request.time_limit, request.workers or 2, memory)
    document = proofs.bounded_document(found, keys)
    if request.out is not None:
        document = proofs.save(document, [], found, request.out)
    run.deliver(document, request)
    if request.json != "-":
        proofs.show_bounded(found, keys)
    return exit_status.of_outcomes([found.outcome])


def _induction(given: Given, without: list[str], names: list[str] | None, unbounded: bool, mine: bool, request: Request) -> int:
    from neverlost.model.system import bind
    from neverlost.reports import exit_status
    from neverlost.reports import request as run
    from neverlost.reports.documents import proofs
    from neverlost.specs.configuration import choose as configuration

    chosen = configuration.choose(given)
    system = proofs.weakened(bind(chosen.model, chosen.configuration), without)
    found = proofs.inductions(system, _asked(system, names), unbounded, mine, request)
    document = proofs.induction_document(found)
    if request.out is not None:
        document = proofs.save(document, found, None, request.out)
    run.deliver(document, request)
    if request.json != "-":
        proofs.show_proofs(found)
    return exit_status.of_outcomes([each.outcome for each in found])
