"""`neverlost prove`: decide properties with Z3, by bounded model checking or by induction."""

from __future__ import annotations

from typing import Annotated, Unpack

import typer

import neverlost
from neverlost.reports.command_line import options
from neverlost.reports.request.keywords import Limited

Method = Annotated[str, typer.Option("--method", metavar="bmc|induction", help="how to decide")]
Depth = Annotated[int, typer.Option("--depth", metavar="N", help="bmc: look for counterexamples of up to N steps")]
Unbounded = Annotated[bool, typer.Option("--unbounded", help="induction: for any number of epochs and records")]
EveryRf = Annotated[bool, typer.Option("--every-rf", help="induction: for every replication factor; in any log without ELR")]
Without = Annotated[
    list[str] | None,
    typer.Option("--without", metavar="ACTION:CLAUSE", help="switch off a guard clause (repeatable)", show_default=False),
]


def prove(
    config: options.ConfigFile = None,
    settings: options.Settings = None,
    method: Method = "bmc",
    depth: Depth = 12,
    properties: options.Properties = None,
    unbounded: Unbounded = False,
    every_rf: EveryRf = False,
    without: Without = None,
    out: options.OutDirectory = None,
    redact: options.Redact = False,
    json: options.JsonTarget = None,
    quiet: options.Quiet = False,
    **search: Unpack[Limited],
) -> int:
    """Run `neverlost prove`; return 12 or 13 (no safety property) if one is violated, else 20 if one is undecided, else 0."""
    from neverlost.reports.output import exit_status
    from neverlost.reports.output.output import Output
    from neverlost.reports.questions.prove import screen
    from neverlost.reports.terminal.progress import ProofProgressBar

    output = Output(json, out, quiet)
    with ProofProgressBar() as progress:
        result = neverlost.prove(
            settings,
            config=config,
            method=method,
            depth=depth,
            properties=properties,
            unbounded=unbounded,
            every_rf=every_rf,
            without=without or (),
            out=out,
            redact=redact,
            progress=progress,
            **search,
        )
    output.deliver(result.document, is_saved=True)
    if output.is_read and result.bounded is not None:
        screen.show_bounded(result.bounded)
    elif output.is_read:
        screen.show_proofs(result.inductions)
    output.end(result.document)
    return exit_status.of_outcomes(result.outcomes)
