"""`neverlost observe`: match what was seen of a real partition against the model; live, or from a user's files."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from neverlost.reports.command_line import options
from neverlost.specs.errors import InputError

if TYPE_CHECKING:
    from neverlost.checker.kafka.history.history import History
    from neverlost.reports.output.output import Output
    from neverlost.specs.configuration.choose import Given


def observe(
    history: Annotated[str | None, typer.Argument(metavar="[HISTORY.jsonl]", help="a history", show_default=False)] = None,
    settings: options.Settings = None,
    kafka_version: Annotated[str | None, typer.Option(metavar="X.Y", help="the Kafka version")] = None,
    kafka_home: Annotated[str | None, typer.Option(metavar="DIR", help="a live run: a folder with Kafka's libs")] = None,
    metadata_log: Annotated[
        list[str] | None,
        typer.Option(metavar="FILE", help="a segment or snapshot of __cluster_metadata-0 (repeatable)"),
    ] = None,
    clients: Annotated[
        list[str] | None, typer.Option(metavar="FILE", help="JSON lines of what producers and consumers saw (repeatable)")
    ] = None,
    topic: Annotated[str | None, typer.Option(metavar="NAME", help="the topic in those files")] = None,
    partition: Annotated[int, typer.Option(metavar="N", help="the partition in those files")] = 0,
    seed: Annotated[int | None, typer.Option(metavar="N", help="a live run: its seed")] = None,
    duration: Annotated[float, typer.Option(metavar="SECONDS", help="a live run: how long")] = 60.0,
    faults: Annotated[str | None, typer.Option(metavar="NAME,...", help="a live run: which faults")] = None,
    mechanisms: Annotated[
        bool, typer.Option("--mechanisms", help="ask again with each mechanism of the version switched off")
    ] = False,
    losses: Annotated[bool, typer.Option("--losses/--no-losses", help="say what could have been lost at each moment")] = True,
    trust_maven: options.TrustMaven = False,
    out: options.OutDirectory = None,
    redact: options.Redact = False,
    time_limit: options.TimeLimit = None,
    json: options.JsonTarget = None,
    quiet: options.Quiet = False,
) -> int:
    """Run `neverlost observe` and return the exit status."""
    from neverlost.reports.output.output import Output

    output = Output(json, out, quiet)
    files = {"metadata_log": metadata_log or [], "clients": clients or []}
    is_live = seed is not None or faults is not None or kafka_home is not None
    if sum((history is not None, any(files.values()), is_live)) != 1:
        raise InputError(
            "say what to observe: HISTORY.jsonl, or files such as --metadata-log FILE, or a live run with --seed N "
            "--kafka-version X.Y"
        )
    asked: dict[str, Any] = {"history": history, "settings": settings, "kafka_version": kafka_version, **files}
    asked |= {"topic": topic, "partition": partition} if any(files.values()) else {}
    asked |= {"mechanisms": mechanisms, "losses": losses, "out": out, "redact": redact, "time_limit": time_limit}
    if not is_live:
        return _judged(output, **asked)
    from neverlost.checker.kafka.history.history import format_history, write_history
    from neverlost.reports.questions.observe.api import HISTORY
    from neverlost.specs.configuration.input import known

    given = _given(settings or [], kafka_version)
    found = _live(seed or 0, duration, faults, (kafka_home, kafka_version, trust_maven), given)
    if out is not None:
        write_history(Path(out) / HISTORY, found)  # whatever is made of it, it is kept
    asked |= {"history": HISTORY, "settings": {name: value for name, (value, _) in given.items()}, "kafka_version": None}
    with known({HISTORY: format_history(found).encode()}):
        return _judged(output, **asked)


def _given(settings: list[str], version: str | None) -> Given:
    from neverlost.specs.configuration.choose import read_settings

    given = read_settings(settings)
    if version is not None:
        given.setdefault("kafka.version", (".".join(version.split(".")[:2]), "--kafka-version"))
    return given


def _live(seed: int, seconds: float, faults: str | None, where: tuple[str | None, str | None, bool], given: Given) -> History:
    """Record a run on a cluster of its own; `where` is the folder of a Kafka or its version, and whether unknown jars are
    trusted."""
    from neverlost.checker.kafka.cluster.jars import find_kafka
    from neverlost.checker.kafka.cluster.process import ClusterError
    from neverlost.checker.kafka.live import faults as misfortunes
    from neverlost.checker.kafka.live import live_run
    from neverlost.specs.configuration.keys import key_of

    if not 5 <= seconds <= 3600:
        raise InputError(f"bad value '{seconds:g}' for --duration: use 5 to 3600 seconds")
    keys: dict[str, Any] = {}
    for name, plan_name in (
        ("acks", "acks"),
        ("min.insync.replicas", "min_isr"),
        ("unclean.leader.election.enable", "unclean"),
    ):
        if name in given:
            keys[plan_name] = key_of(name, given[name][1]).parse(*given.pop(name))
    plan = live_run.LiveRunPlan(seed, seconds, misfortunes.parse_fault_names(faults) if faults else misfortunes.DEFAULT, **keys)
    home, version, trust = where
    if home is not None:
        given.pop("kafka.version", None)
    found = find_kafka(home, None if home is not None else version, trust=trust)
    try:
        return live_run.record_run(found, plan, lambda text: typer.echo(f"neverlost: {text}", err=True))
    except ClusterError as problem:
        raise InputError(f"the run was not finished: {problem}") from None


def _judged(output: Output, **asked: Any) -> int:
    import neverlost
    from neverlost.reports.output import exit_status
    from neverlost.reports.questions.observe import screen
    from neverlost.reports.terminal import results as terminal
    from neverlost.reports.terminal.progress import Steps

    with Steps() as progress:
        found = neverlost.observe(**asked, progress=progress)
    output.deliver(found.document, is_saved=True, lines=screen.verdict_lines)
    if output.is_read:
        screen.show(terminal.console(), found.judgement, list(found.moments), found.mechanisms)
    statuses = {"explained": exit_status.HOLDS, "refused": exit_status.UNEXPECTED, "inconclusive": exit_status.INCONCLUSIVE}
    return exit_status.INCONCLUSIVE if found.judgement.unsaid else statuses[found.verdict]
