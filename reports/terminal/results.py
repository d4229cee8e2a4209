"""Results for people at a terminal: verdicts, counts, the counterexample as lanes, and progress."""

from __future__ import annotations

import shlex
import sys
import time
from typing import Any, Self

from rich.console import Console, JustifyMethod
from rich.progress import BarColumn, Progress, ProgressColumn, TextColumn
from rich.table import Table
from rich.text import Text

from neverlost.checker.outcome import Outcome, Trace, Verdict
from neverlost.checker.search.options import Progress as SearchProgress
from neverlost.model.kernel import Configuration
from neverlost.model.scene import Lane
from neverlost.model.sentences import records_named
from neverlost.model.system import System
from neverlost.reports.counterexample.timeline import Frame, Timeline
from neverlost.reports.documents.merged_rows import many, spent
from neverlost.specs.configuration.choose import Chosen, broker_names
from neverlost.specs.configuration.keys import MECHANISM, is_without_faults, shown
from neverlost.specs.property import RECOVERY

STYLES = {Verdict.HOLDS: "bold green", Verdict.VIOLATED: "bold red", Verdict.INCONCLUSIVE: "bold yellow"}

COLUMNS = 100
"""How wide a counterexample is at most."""


def console() -> Console:
    """Results go to stdout; no colour where there is no terminal or NO_COLOR is set."""
    return Console(highlight=False, soft_wrap=not sys.stdout.isatty(), width=None if sys.stdout.isatty() else 160)


def show_outcome(out: Console, outcome: Outcome, number: int = 0, chosen: Chosen | None = None) -> None:
    """The verdict on one configuration with its scope."""
    configuration = outcome.system.configurations[number]
    named, release = outcome.system.model.name, chosen.release if chosen else None
    if chosen is not None and chosen.subjects:
        out.print(Text("topics: " + ", ".join(chosen.subjects), style="bold"))
    if chosen is not None and any(finding.trace for finding in outcome.findings):
        _show_brokers(out, chosen)
    out.print(Text(f"{f'Kafka {release} ({named})' if release else named}: {summary(configuration, release)}", style="dim"))
    for finding in outcome.findings:
        if finding.configuration != number:
            continue
        line = Text()
        line.append(f"{finding.verdict.upper():12}", STYLES[finding.verdict])
        line.append(f" {finding.property.name}: ", "bold")
        line.append(finding.property.says)
        if finding.trace is not None:
            faults = spent(finding.trace.faults(outcome.system))
            line.append(f" ({many(len(finding.trace.steps), 'step')}; {faults})", "dim")
        out.print(line)
        if finding.trace is not None and finding.property.kind == RECOVERY:
            show_trap(out, outcome.system, finding.trace)
    if outcome.findings and is_without_faults(configuration):
        out.print(
            Text("nothing may fail here (every faults.* is 0); say what may, such as --set faults.lossy_crash=1", "yellow")
        )


def _show_brokers(out: Console, chosen: Chosen) -> None:
    """For which brokers those of the counterexamples stand."""
    placed = list(chosen.brokers.items())
    if not placed or (len(placed) == 1 and broker_names(chosen.brokers)):
        return
    if broker_names(chosen.brokers):
        out.print(Text(f"brokers are those of {placed[0][0]}, one of {len(placed)} partitions", "dim"))
        return
    more = f"; and so on, for {len(placed)} partitions" if len(placed) > 3 else ""
    shown = "; ".join(f"{','.join(brokers)} of {name}" for name, brokers in placed[:3])
    out.print(Text(f"brokers 1, 2, ... stand for {shown}{more}", "dim"))


def show_trap(out: Console, system: System, trace: Trace) -> None:
    """What is left after a counterexample to recovery."""
    from neverlost.checker.search.recovery import trap

    found = trap(system, trace.states[-1])
    ends = ", ".join(str(size) for size in sorted(set(found.ends)))
    out.print(
        Text(
            f"             from its last state {found.states:,} states can be reached without a further fault, none of them as"
            f" wanted; that ends in {len(found.ends)} components of {ends} states",
            style="dim",
        )
    )


def summary(configuration: Configuration, release: str | None = None) -> str:
    """A configuration in one line: faults that cannot happen and mechanisms that are on, or a release's, go without saying."""
    told = {name: value for name, value in configuration.items() if not name.startswith(MECHANISM)}
    parts = [
        f"{name}={str(value).lower() if isinstance(value, bool) else shown(value)}"
        for name, value in told.items()
        if shown(value) != "" and not (name.startswith(("faults.", "start.")) and value == 0)
    ]
    off = [name.removeprefix(MECHANISM) for name, value in configuration.items() if name.startswith(MECHANISM) and not value]
    return " ".join(parts) + (f" without {', '.join(off)}" if off and release is None else "")


def show_counts(out: Console, outcome: Outcome) -> None:
    """What was covered."""
    counts = outcome.counts
    rate = counts.generated / max(outcome.seconds, 1e-9)
    kind = "orbits" if outcome.symmetry else "states"
    text = (
        f"{counts.distinct:,} distinct {kind}, {counts.generated:,} generated, depth {counts.depth}"
        f", {outcome.seconds:.1f} s, {rate:,.0f}/s, exact identity"
    )
    if outcome.orbit_states is not None:
        text += f"; the orbits hold {outcome.orbit_states:,} states, over all initial leaders"
    if counts.left:
        text += f"; {counts.left:,} not expanded"
    out.print(Text(text, style="dim"))
    if outcome.reason:
        out.print(Text(f"inconclusive: {outcome.reason}", style="bold yellow"))


def show_timeline(out: Console, shown: Timeline) -> None:
    """A counterexample in at most 100 columns: the first and the last frame whole, between them a line per broker that
    changed.  What changed is bold, a lost record red where it is lost."""
    widths = _widths(shown)
    for frame in shown.frames:
        head = _table([3], "right")
        head.add_row(str(frame.number), frame.says, style="bold yellow" if frame.is_fault else "bold")
        out.print(head)
        is_whole = frame in (shown.frames[0], shown.last)
        lines = [_lane(shown, lane, frame) for lane in frame.scene.lanes if is_whole or frame.changed[lane.broker]]
        lines += [_controller(shown, frame)] if is_whole or frame.controller_changed else []
        if lines:
            out.print(_lines(lines, widths))
    out.print(Text(shown.verdict_line, "bold red"))


def _widths(shown: Timeline) -> list[int]:
    """How wide each column must be for every frame; the last one is wrapped in the room that is left."""
    lines = [[_controller(shown, each), *(_lane(shown, lane, each) for lane in each.scene.lanes)] for each in shown.frames]
    return [max(len(cells[column]) for frame in lines for cells in frame) for column in range(6)]


def _lines(lines: list[list[Text]], widths: list[int]) -> Table:
    """Lines with their columns where they are in every frame."""
    table = _table([3, *filter(None, widths)])
    for cells in lines:
        table.add_row("", *(cell for cell, width in zip(cells, [*widths, COLUMNS], strict=True) if width))
    return table


def _table(widths: list[int], justify: JustifyMethod = "left") -> Table:
    """Columns with a blank between them; the last one is wrapped in the room that is left."""
    table = Table(box=None, show_header=False, padding=(0, 1, 0, 0), pad_edge=False)
    for width in widths:
        table.add_column(width=width, no_wrap=True, justify=justify)
    table.add_column(width=COLUMNS - sum(widths) - len(widths), overflow="fold")
    return table


def _lane(shown: Timeline, lane: Lane, frame: Frame) -> list[Text]:
    """A broker: name, role, epoch, log, log end offset, high watermark, what it believes."""
    changed, lost = frame.changed[lane.broker], shown.lost_at(lane, frame)

    def cell(text: str, part: str) -> Text:
        return Text(text, "bold cyan" if part in changed else "")

    records = " ".join(f"m{record}" + ("" if epoch is None else f"(e{epoch})") for record, epoch in lane.log)
    log = cell(f"[{records}]", "log")
    log.append(f" lost: {records_named(lost)}" if lost else "", "bold red reverse")
    return [
        Text(f"broker {shown.name(lane)}"),
        cell(shown.role(lane), "role"),
        cell("" if lane.epoch is None else f"e{lane.epoch}", "epoch"),
        log,
        cell(f"LEO={lane.log_end_offset}", "log"),
        cell("" if lane.high_watermark is None else f"HW={lane.high_watermark}", "HW"),
        cell("; ".join(shown.beliefs(lane, frame)), "beliefs"),
    ]


def _controller(shown: Timeline, frame: Frame) -> list[Text]:
    """The controller, in the columns of the brokers."""
    style = "bold cyan" if frame.controller_changed else ""
    epoch, metadata = "" if frame.scene.epoch is None else f"e{frame.scene.epoch}", "; ".join(shown.metadata(frame))
    return [Text("controller"), *(Text(each, style) for each in (shown.leader(frame), epoch, "", "", "", metadata))]


def show_bundle(out: Console, directory: str) -> None:
    """Where the reports are, and how to check them."""
    place = shlex.quote(directory)
    out.print(Text(f"wrote {place}/report.html and report.md; neverlost verify {place} checks all of it again", "dim"))


class _Bar:
    """A bar on a terminal's stderr while something runs."""

    def __init__(self, *columns: ProgressColumn, total: int | None = None) -> None:
        err = Console(stderr=True, highlight=False)
        self._bar = Progress(*columns, console=err, transient=True, disable=not err.is_terminal)
        self._task = self._bar.add_task("starting", total=total)

    def __enter__(self) -> Self:
        self._bar.start()
        return self

    def __exit__(self, *_: Any) -> None:
        if not self._bar.disable:  # older versions of rich end with an empty line even so
            self._bar.stop()


class PartsProgress(_Bar):
    """Progress through parts, by name."""

    def expect(self, total: int) -> None:
        """How many parts there are."""
        self._bar.update(self._task, total=total)

    def __call__(self, name: str) -> None:
        """One part is done."""
        self._bar.update(self._task, advance=1, description=name)


class Steps(_Bar):
    """Progress by what is being done, and how much of it is."""

    def __call__(self, what: str, done: int = 0, total: int | None = None) -> None:
        self._bar.update(self._task, description=what, completed=done, total=total)


class LiveProgress(_Bar):
    """Progress while a search runs: level, counts with rates, frontier, memory, an estimate."""

    def __init__(self) -> None:
        super().__init__(TextColumn("{task.description}"), BarColumn(bar_width=20))
        self._widest = 0
        self._told = 0.0

    def __call__(self, progress: SearchProgress) -> None:
        """Show what is known now, at most ten times a second."""
        if progress.note:
            self._bar.console.print(progress.note)
        now = time.monotonic()
        if self._bar.disable or now - self._told < 0.1:
            return
        self._told = now
        self._widest = max(self._widest, progress.frontier)
        seconds = max(progress.seconds, 1e-9)
        text = (
            f"level {progress.level}  {progress.distinct:,} distinct ({progress.distinct / seconds:,.0f}/s)  "
            f"{progress.generated:,} generated ({progress.generated / seconds:,.0f}/s)  frontier {progress.frontier:,}  "
            f"{progress.memory_bytes / 1e9:.2f} GB  {self._estimate(progress)}"
        )
        self._bar.update(self._task, description=text)

    def _estimate(self, progress: SearchProgress) -> str:
        """Once the frontier shrinks, its mirror image is the rest; before that nothing honest can be said."""
        if progress.frontier < 0.7 * self._widest and progress.level > 5:
            left = progress.frontier * 2 / max(progress.distinct / max(progress.seconds, 1e-9), 1)
            return f"about {left:.0f} s left"
        return "growing"
