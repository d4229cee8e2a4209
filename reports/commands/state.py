"""`neverlost state`: one state of a partition, as a lecture's figure shows it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Annotated, Any, Unpack

import typer

from neverlost.reports.command_line import options
from neverlost.reports.request.keywords import Limited


def state(
    figure: Annotated[str, typer.Argument(metavar="STATE.toml", help="logs, ISR and leader: see reports/guide/state.md")],
    settings: options.Settings = None,
    properties: options.Properties = None,
    kafka_version: options.KafkaVersion = None,
    json: options.JsonTarget = None,
    quiet: options.Quiet = False,
    **search: Unpack[Limited],
) -> int:
    """Run `neverlost state` and return the exit status: 12 if a single fault can lose an acknowledged record, the state itself
    breaks a guarantee, or the search violates a property; else 20 if something is undecided, else 0.

    The search begins in the state, and there is one only with limits of faults (`--set faults.kill=2`).
    """
    import neverlost
    from neverlost.reports.output import exit_status
    from neverlost.reports.output.output import Output
    from neverlost.reports.questions.state.answer import answer_state
    from neverlost.reports.questions.state.document import SCHEMA, lines, shown_state
    from neverlost.reports.request.run_options import RunOptions
    from neverlost.specs.configuration.partition_state import read_figure

    output, request = Output(json, quiet=quiet), RunOptions(**search)
    read = read_figure(figure)
    answers = answer_state(read, settings, options.require_one_version(kafka_version), properties, request.options())
    document = {"schema": SCHEMA, "version": neverlost.__version__, "state": shown_state(read), "answers": answers}
    output.deliver(document, lines=_verdicts)
    if output.is_read:
        for line in lines(document):
            typer.echo(line)
    verdicts = {each["verdict"] for each in answers}
    if "violated" in verdicts:
        return exit_status.VIOLATED
    return exit_status.INCONCLUSIVE if "inconclusive" in verdicts else exit_status.HOLDS


def _verdicts(document: Mapping[str, Any]) -> Iterator[str]:
    from neverlost.reports.output.output import verdict_line

    for answer in document["answers"]:
        for each in answer["single_faults"]:
            lost = f": {', '.join(each['lost'])}" if each["lost"] else ""
            yield verdict_line(each["verdict"], f"{each['fault']} of broker {each['broker']}{lost}")
