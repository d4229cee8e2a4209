"""Results for people at a terminal: verdicts, counts, the counterexample as lanes, and progress."""

from __future__ import annotations

import shlex
import sys
import time
from typing import Any, Self

from rich.console import Console
from rich.progress import BarColumn, Progress, ProgressColumn, TextColumn
from rich.table import Table
from rich.text import Text

from neverlost.checker.outcome import Outcome, Trace, Verdict
from neverlost.checker.search.options import Progress as SearchProgress
from neverlost.model.kernel import Configuration
from neverlost.model.scene import Lane
from neverlost.model.system import System
from neverlost.reports.counterexample.timeline import Frame, Timeline, isr_text, missing
from neverlost.reports.documents.merged_rows import many, spent
from neverlost.specs.configuration.choose import Chosen
from neverlost.specs.configuration.keys import MECHANISM, is_without_faults, shown
from neverlost.specs.property import RECOVERY

STYLES = {Verdict.HOLDS: "bold green", Verdict.VIOLATED: "bold red", Verdict.INCONCLUSIVE: "bold yellow"}


def console() -> Console:
    """Results go to stdout; no colour where there is no terminal or NO_COLOR is set."""
    return Console(highlight=False, soft_wrap=not sys.stdout.isatty(), width=None if sys.stdout.isatty() else 160)


def show_outcome(out: Console, outcome: Outcome, number: int = 0, chosen: Chosen | None = None) -> None:
    """The verdict on one configuration with its scope."""
    configuration = outcome.system.configurations[number]
    named, release = outcome.system.model.name, chosen.release if chosen else None
    if chosen is not None and chosen.subjects:
        out.print(Text("topics: " + ", ".join(chosen.subjects), style="bold"))
    out.print(Text(f"{f'Kafka {release} ({named})' if release else named}: {summary(configuration, release)}", style="dim"))
    for finding in outcome.findings:
        if finding.configuration != number:
            continue
        line = Text()
        line.append(f"{finding.verdict.upper():12}", STYLES[finding.verdict])
        line.append(f" {finding.property.name}: ", "bold")
        line.append(_says(finding.verdict, finding.property.says))
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


def _says(verdict: Verdict, says: str) -> str:
    return {Verdict.HOLDS: says, Verdict.VIOLATED: f"not always: {says}", Verdict.INCONCLUSIVE: f"undecided: {says}"}[verdict]


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
        text += f"; the orbits hold {outcome.orbit_states:,} states, whoever leads first"
    if counts.left:
        text += f"; {counts.left:,} not expanded"
    out.print(Text(text, style="dim"))
    if outcome.reason:
        out.print(Text(f"inconclusive: {outcome.reason}", style="bold yellow"))


def show_timeline(out: Console, shown_timeline: Timeline) -> None:
    """A counterexample, one line per broker and step; what changed is bold, the lost record red."""
    lost = shown_timeline.lost
    for frame in shown_timeline.frames:
        is_last = frame is shown_timeline.frames[-1]
        head = Text(f"{frame.number:3}  ", "bold")
        head.append(frame.says, "bold yellow" if frame.is_fault else "bold")
        out.print(head)
        table = Table(box=None, show_header=False, padding=(0, 1, 0, 1))
        for _ in range(7):
            table.add_column(no_wrap=True)
        for lane, changed in zip(frame.scene.lanes, frame.changed, strict=True):
            table.add_row(*_lane(lane, frame, changed, lost, is_last))
        table.add_row(*_controller(frame))
        out.print(table)
    out.print(Text(shown_timeline.verdict_line, "bold red"))


def _lane(lane: Lane, frame: Frame, changed: frozenset[str], lost: frozenset[int], is_last: bool) -> list[Text]:
    def cell(text: str, part: str) -> Text:
        return Text(text, "bold cyan" if part in changed else "")

    log = Text("[")
    for offset, (record, epoch) in enumerate(lane.log):
        log.append(" " if offset else "")
        style = "bold red" if record in lost else ("bold cyan" if "log" in changed else "")
        log.append(f"m{record}" + ("" if epoch is None else f"(e{epoch})"), style)
    log.append("]")
    if is_last:
        for record in missing(lane, frame, lost):
            log.append(f"  lost: m{record}", "bold red reverse")
    return [
        Text(f"     broker {lane.broker + 1}"),
        cell(lane.role, "role"),
        cell("" if lane.epoch is None else f"e{lane.epoch}", "epoch"),
        log,
        cell(f"LEO={lane.log_end_offset}", "log"),
        cell("" if lane.high_watermark is None else f"HW={lane.high_watermark}", "HW"),
        cell(" ".join([*([] if lane.isr is None else [f"ISR={isr_text(lane.isr)}"]), *lane.notes]), "ISR"),
    ]


def _controller(frame: Frame) -> list[Text]:
    scene = frame.scene
    style = "bold cyan" if frame.controller_changed else ""
    leader = "no leader" if scene.leader is None else f"leader {scene.leader + 1}"
    epoch = "" if scene.epoch is None else f"e{scene.epoch}"
    detail = " ".join([f"ISR={isr_text(scene.isr)}", *scene.notes])
    return [Text("     controller"), Text(leader, style), Text(epoch, style), Text(detail, style), Text(), Text(), Text()]


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
