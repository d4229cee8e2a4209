"""`neverlost reproduce`: try a counterexample on a real Kafka cluster."""

from __future__ import annotations

from typing import Annotated

import typer

from neverlost.reports.command_line import options

KafkaHome = Annotated[
    str | None, typer.Option("--kafka-home", metavar="DIR", help="a Kafka distribution (a folder with libs/)")
]
KafkaVersion = Annotated[
    str | None, typer.Option("--kafka-version", metavar="X.Y", help="fetch this Kafka with Maven, once, into the cache")
]


def reproduce(
    trace: Annotated[str, typer.Argument(metavar="TRACE.itf.json", help="a saved counterexample")],
    kafka_version: KafkaVersion = None,
    kafka_home: KafkaHome = None,
    settings: options.Settings = None,
    times: Annotated[int, typer.Option("--times", metavar="N", help="try it so often, with a topic for each try")] = 1,
    controllers: Annotated[int, typer.Option("--controllers", metavar="1|3", help="how many controllers")] = 1,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="print the plan as shell and Kafka tool commands; start nothing")
    ] = False,
    trust_maven: options.TrustMaven = False,
    out: options.OutDirectory = None,
    json: options.JsonTarget = None,
    quiet: options.Quiet = False,
) -> int:
    """Run `neverlost reproduce`; return 0 if every try reproduced the counterexample (or the plan is only printed), 21 if one
    did not, 20 if the cluster could not be run."""
    from neverlost.reports.output.output import Output
    from neverlost.reports.questions.reproduce import tries
    from neverlost.reports.questions.reproduce.script import render_script
    from neverlost.reports.terminal import results as terminal
    from neverlost.specs.errors import InputError

    output = Output(json, out, quiet)
    question = tries.plan_reproduction(trace, settings or [])
    if dry_run:
        print(render_script(question.plan), end="")
        return 0
    if controllers not in (1, 3):
        raise InputError(f"bad value '{controllers}' for --controllers: use 1 or 3")
    if not 1 <= times <= 100:
        raise InputError(f"bad value '{times}' for --times: use a number from 1 to 100")
    out_console = terminal.console()
    where = tries.KafkaTarget(kafka_home, kafka_version, controllers, trust_maven)
    return tries.try_on_cluster(question, where, times, output, lambda line: out_console.print(line, markup=False))
