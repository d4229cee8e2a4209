"""Results at a terminal: verdicts, scope, counts, where settings come from."""

from __future__ import annotations

import shlex
import sys
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from rich.console import Console, ConsoleOptions, RenderableType
from rich.padding import Padding
from rich.segment import Segment
from rich.text import Text

from neverlost.checker.engine.host.visible import visible
from neverlost.checker.engine.outcome import Behaviour, Outcome, Verdict
from neverlost.checker.questions.coverage import Coverage, cover, list_possible_actions, list_single
from neverlost.model.kernel import Configuration
from neverlost.model.system import System
from neverlost.reports.request.inputs import KafkaFilesWarning
from neverlost.reports.wording import provenance
from neverlost.reports.wording.merged_rows import pluralize
from neverlost.reports.wording.sentences import say_limits, say_never, say_verdict
from neverlost.specs.configuration.choose import Chosen, broker_names
from neverlost.specs.configuration.keys import MECHANISM, is_without_faults, shown
from neverlost.specs.defects import DEFECTS, FIXES
from neverlost.specs.property import RECOVERY
from neverlost.specs.setting import Sources

STYLES = {Verdict.HOLDS: "bold green", Verdict.VIOLATED: "bold red", Verdict.INCONCLUSIVE: "bold yellow"}


class Visible(Console):
    """A console that prints control characters visibly, since names come from files that others wrote."""

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        """Yield the segments of a renderable with control characters in texts escaped; rich's own control segments are kept."""
        for each in super().render(renderable, options):
            yield each if each.control else Segment(visible(each.text), each.style)


NOTHING_FAILS = (
    "nothing may fail here (every faults.* is 0); say what may, such as --set faults.lossy_crash=1, or ask neverlost tolerance"
)


def console() -> Console:
    """Return a console on stdout; without colour if it is not a terminal or NO_COLOR is set."""
    return Visible(highlight=False, soft_wrap=not sys.stdout.isatty(), width=None if sys.stdout.isatty() else 160)


@contextmanager
def shown_once(is_read: bool) -> Iterator[None]:
    """In this block suppress warnings about the input if `is_read`: an answer that people read has them beside its verdicts."""
    with warnings.catch_warnings():
        if is_read:
            warnings.simplefilter("ignore", KafkaFilesWarning)
        yield


def show_below(out: Console, text: Text) -> None:
    """Print a text indented below its subject; in one line if the output is not a terminal."""
    out.print(Padding(text, (0, 0, 0, 2)) if not out.soft_wrap else Text.assemble("  ", text))


def show_outcome(out: Console, outcome: Outcome, number: int = 0, chosen: Chosen | None = None) -> None:
    """Print the verdicts on configuration `number` of an outcome, with its scope and what never happened in its search."""
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
        faults = None if finding.trace is None else finding.trace.faults(outcome.system)
        line.append(f"{say_verdict(finding.property, finding.verdict, faults)}{say_limits(faults or {}, configuration)}")
        if finding.trace is not None:
            line.append(f" ({pluralize(len(finding.trace.steps), 'step')})", "dim")
        out.print(line)
        if finding.verdict is Verdict.HOLDS and (never := list_single(outcome.system, finding.property)):
            out.print(Text(f"VACUOUS: {finding.property.name}: {say_never(never)}", "bold yellow"))
        if finding.trace is not None and finding.property.kind == RECOVERY:
            show_trap(out, outcome.system, finding.trace)
    if outcome.findings and is_without_faults(configuration):
        out.print(Text(NOTHING_FAILS, "yellow"))
    if outcome.findings and not outcome.engine.startswith("z3"):
        show_coverage(out, cover(outcome, number), outcome.system)


def show_coverage(out: Console, found: Coverage, system: System) -> None:
    """Print which allowed faults never struck or were not seen yet, and how many actions never happened."""
    if found.faults:
        out.print(Text(f"VACUOUS: {say_never(found.faults)}", "bold yellow"))
    parts = [f"not seen yet: {', '.join(found.open)}"] if found.open else []
    if found.actions is not None:
        every = list_possible_actions(system)
        parts += [f"{len(found.actions)} of {len(every)} actions never happened (--json lists them)"] if found.actions else []
    if parts:
        out.print(Text("; ".join(parts), "dim"))


def _show_brokers(out: Console, chosen: Chosen) -> None:
    """Print which real brokers the brokers of the counterexamples stand for."""
    placed = list(chosen.brokers.items())
    if not placed or (len(placed) == 1 and broker_names(chosen.brokers)):
        return
    if broker_names(chosen.brokers):
        out.print(Text(f"brokers are those of {placed[0][0]}, one of {len(placed)} partitions", "dim"))
        return
    more = f"; and so on, for {len(placed)} partitions" if len(placed) > 3 else ""
    shown = "; ".join(f"{','.join(brokers)} of {name}" for name, brokers in placed[:3])
    out.print(Text(f"brokers 1, 2, ... stand for {shown}{more}", "dim"))


def show_trap(out: Console, system: System, trace: Behaviour) -> None:
    """Print how many states can still follow after a counterexample to recovery, without a further fault, and how that ends."""
    from neverlost.checker.engine.search.graph.recovery import describe_trap

    found = describe_trap(system, trace.states[-1])
    ends = ", ".join(str(size) for size in sorted(set(found.ends)))
    out.print(
        Text(
            f"             from its last state {found.states:,} states can be reached without a further fault, none of them as"
            f" wanted; that ends in {len(found.ends)} components of {ends} states",
            style="dim",
        )
    )


def summary(configuration: Configuration, release: str | None = None) -> str:
    """Return a configuration as text, but for empty values and faults of 0; if `release` is None also the mechanisms that are
    off and the known bugs."""
    settings = {name: value for name, value in configuration.items() if not name.startswith(MECHANISM)}
    parts = [
        f"{name}={str(value).lower() if isinstance(value, bool) else shown(value)}"
        for name, value in settings.items()
        if shown(value) != "" and not (name.startswith(("faults.", "start.")) and value == 0)
    ]
    off = [name for name, value in configuration.items() if name.startswith(MECHANISM) and not value and release is None]
    bugs = [each.name for each in DEFECTS if each.mechanism.key in off]
    other = [name.removeprefix(MECHANISM) for name in off if name not in FIXES]
    text = " ".join(parts) + (f" without {', '.join(other)}" if other else "")
    return text + (f", with the bugs {', '.join(bugs)}" if bugs else "")


def show_settings(out: Console, settings: Sources, of: str = "settings") -> None:
    """Print where the values come from, in a line."""
    said = ", ".join(f"{each['key']}={each['value']} ({each['source']})" for each in provenance.sources({"settings": settings}))
    if said:
        out.print(Text(f"{of}: {said}", "dim"))


def show_input(out: Console, cell: Mapping[str, Any]) -> None:
    """Print where the values come from, and the notices about the input; nothing without notices and values from files."""
    if not provenance.has_files(cell):
        return
    show_settings(out, cell["settings"])
    for each in provenance.notices(cell):
        out.print(Text(f"{each['kind']}: {each['says']}", "yellow" if each["matters"] else "dim"))


def show_counts(out: Console, outcome: Outcome, topics: Sequence[str] = ()) -> None:
    """Print how much was covered, and why no more; of described topics only the latter."""
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
    if not topics:
        out.print(Text(text, style="dim"))
    if outcome.reason:
        out.print(Text(f"inconclusive: {outcome.reason}", style="bold yellow"))


def show_bundle(out: Console, directory: str) -> None:
    """Print where the reports are, and how to check them."""
    place = shlex.quote(directory)
    files = f"{place}/report.html and report.md (with sentences to cite)"
    out.print(Text(f"wrote {files}; neverlost verify {place} checks all of it again", "dim"))
