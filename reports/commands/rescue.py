"""`neverlost rescue`: a partition without a leader."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from neverlost.reports.command_line import options
from neverlost.specs.errors import InputError


def rescue(
    folder: Annotated[
        str | None,
        typer.Argument(metavar="[FOLDER]", help="what --script gathered: broker-1, broker-2, ...", show_default=False),
    ] = None,
    describe: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="what kafka-topics.sh --describe prints now (default: the newest of FOLDER)"),
    ] = None,
    topic: Annotated[
        str | None, typer.Option(metavar="NAME", help="the topic, where several partitions have no leader")
    ] = None,
    partition: Annotated[int | None, typer.Option(metavar="N", help="the partition, likewise")] = None,
    replicas: Annotated[
        list[str] | None, typer.Option("--replica", metavar="BROKER=FOLDER", help="the files of one replica (repeatable)")
    ] = None,
    went: Annotated[
        list[str] | None,
        typer.Option(
            metavar="BROKER=HOW",
            help="up, clean, killed, power, disk-gone (its directory is lost or has failed), cut-off or unknown (repeatable)",
        ),
    ] = None,
    settings: options.Settings = None,
    script: Annotated[bool, typer.Option("--script", help="print a script that gathers the files on a broker")] = False,
    out: options.OutDirectory = None,
    json: options.JsonTarget = None,
    quiet: options.Quiet = False,
) -> int:
    """Run `neverlost rescue` and return the exit status: 0 if waiting or an election loses nothing that was acknowledged, 12 if
    every election may lose some, 20 if a log has to be read to know.  With `--script` print the script alone."""
    from neverlost.reports.output import exit_status

    if script:
        from neverlost.reports.questions.rescue import document

        sent = Path(document.__file__).with_name("gather.sh").read_text(encoding="utf-8")
        typer.echo(sent, nl=False)
        return exit_status.HOLDS
    from neverlost.checker.engine.host.visible import visible
    from neverlost.checker.questions.rescue.offline_partition import UNKNOWN
    from neverlost.reports.output.output import Output
    from neverlost.reports.questions.rescue import api
    from neverlost.reports.questions.rescue.document import lines, verdict

    output = Output(json, out, quiet)
    gathered, shown = _find_gathered(folder) if folder is not None else ([], None)
    described = describe or shown
    found = api.rescue(
        settings,
        files={"describe": [described] if described else []},
        topic=topic,
        partition=partition,
        replicas=[*gathered, *(replicas or [])],
        went=went or [],
        out=out,
    )
    output.deliver(found.document, is_saved=True, lines=verdict)
    if output.is_read:
        for line in lines(found.document):
            typer.echo(visible(line))
    output.end(found.document)
    if found.says == UNKNOWN:
        return exit_status.INCONCLUSIVE
    return exit_status.HOLDS if found.loses_nothing else exit_status.VIOLATED


def _find_gathered(folder: str) -> tuple[list[str], str | None]:
    """Return replicas' folders as `--replica` takes them (`InputError` for none), and the newest description or None."""
    every = sorted(each for each in Path(folder).glob("broker-*") if each.is_dir())
    if not every:
        raise InputError(f"no folder broker-N in {folder!r}: gather them with the script that neverlost rescue --script prints")
    shown = sorted(
        (each / "describe.txt" for each in every if (each / "describe.txt").is_file()), key=lambda each: each.stat().st_mtime
    )
    return [f"{each.name.removeprefix('broker-')}={each}" for each in every], str(shown[-1]) if shown else None
