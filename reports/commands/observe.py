"""`neverlost observe`: match what was seen of a real partition against the model."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from neverlost.reports.command_line import options
from neverlost.specs.errors import InputError


def observe(
    history: Annotated[str | None, typer.Argument(metavar="[HISTORY.jsonl]", help="a history", show_default=False)] = None,
    settings: options.Settings = None,
    kafka_version: Annotated[str | None, typer.Option(metavar="X.Y", help="the Kafka version")] = None,
    metadata_log: Annotated[
        list[str] | None, typer.Option(metavar="FILE", help="a segment or snapshot of __cluster_metadata-0 (repeatable)")
    ] = None,
    clients: Annotated[
        list[str] | None, typer.Option(metavar="FILE", help="JSON lines of what producers and consumers saw (repeatable)")
    ] = None,
    topic: Annotated[str | None, typer.Option(metavar="NAME", help="the topic in those files")] = None,
    partition: Annotated[int, typer.Option(metavar="N", help="the partition in those files")] = 0,
    losses: Annotated[bool, typer.Option("--losses/--no-losses", help="say what could have been lost at each moment")] = True,
    out: options.OutDirectory = None,
    redact: options.Redact = False,
    time_limit: options.TimeLimit = None,
    json: options.JsonTarget = None,
    quiet: options.Quiet = False,
) -> int:
    """Run `neverlost observe`; return 0 if the model explains what was seen, 21 if not, 20 if that is not known.  Errors:
    `InputError` unless exactly one kind of input, a history or files, is named."""
    import neverlost
    from neverlost.reports.output import exit_status
    from neverlost.reports.output.output import Output
    from neverlost.reports.questions.observe import screen
    from neverlost.reports.terminal import results as terminal
    from neverlost.reports.terminal.progress import Steps

    output = Output(json, out, quiet)
    files = {"metadata_log": metadata_log or [], "clients": clients or []}
    if (history is not None) == any(files.values()):
        raise InputError("say what to observe: HISTORY.jsonl, or files such as --metadata-log FILE")
    asked: dict[str, Any] = {"history": history, "settings": settings, "kafka_version": kafka_version, **files}
    asked |= {"topic": topic, "partition": partition} if any(files.values()) else {}
    asked |= {"losses": losses, "out": out, "redact": redact, "time_limit": time_limit}
    with Steps() as progress:
        found = neverlost.observe(**asked, progress=progress)
    output.deliver(found.document, is_saved=True, lines=screen.verdict_lines)
    if output.is_read:
        screen.show(terminal.console(), found.judgement, list(found.moments))
    statuses = {"explained": exit_status.HOLDS, "refused": exit_status.UNEXPECTED, "inconclusive": exit_status.INCONCLUSIVE}
    return exit_status.INCONCLUSIVE if found.judgement.unsaid else statuses[found.verdict]
