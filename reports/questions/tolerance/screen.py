"""A tolerance at a terminal: the table, its boundaries in sentences, and a counterexample on request."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.text import Text

from neverlost.checker.questions.tolerance.fault_budget import AXES, FaultBudget
from neverlost.reports.counterexample.timeline import timeline
from neverlost.reports.questions.tolerance import document as describe
from neverlost.reports.terminal.counterexample import show_timeline
from neverlost.reports.terminal.results import show_settings
from neverlost.reports.wording import provenance
from neverlost.reports.wording.merged_rows import pluralize
from neverlost.reports.wording.table_words import LOST, OK, STOPS, UNDECIDED
from neverlost.specs.errors import InputError
from neverlost.specs.inputs import remedies
from neverlost.specs.setting import Notice, sources

if TYPE_CHECKING:
    from neverlost.reports.output.output import Output
    from neverlost.reports.questions.tolerance.api import ToleranceResult, ToleranceSubject

STYLES = ((LOST, "bold red"), (STOPS, "yellow"), (UNDECIDED, "magenta"), (OK, "green"))

MOST_NAMED = 4
"""Topics named in a heading."""

MOST_COMMANDS = 4
"""Commands of one advice."""

EXAMPLE = "1 broker at a time loses data and 2 others are out"
"""What `[1,2]` stands for."""

MOST_TABLES = 2
"""Groups of topics for which whole tables are shown."""


def parse_cell(text: str | None) -> FaultBudget | None:
    """Parse `1,2` as a cell of the table: 1 broker loses data while 2 others are out.  Errors: `InputError`
    for anything else."""
    if text is None:
        return None
    parts = text.split(",")
    if len(parts) != 2 or not all(each.isascii() and each.isdigit() and len(each) == 1 for each in parts):
        raise InputError(f"bad value {text!r} for --show: write how many lose data and how many others are out, such as 1,2")
    return FaultBudget(*map(int, parts))


def show(out: Console, result: ToleranceResult, spot: FaultBudget | None) -> None:
    """Print a table for each configuration, the worst in red; of many groups of topics, which were printed as they were
    decided, only the summary."""
    groups = {each.label for each in result.subjects}
    if len(groups) > MOST_TABLES:
        for notice in dict.fromkeys(f"{each.kind}: {each.says}" for one in result.subjects for each in one.chosen.notices):
            out.print(Text(notice, "yellow"))
        out.print(Text("--topic NAME shows the table of a topic; --json and --out have every command.", "dim"))
        return
    before: ToleranceSubject | None = None
    for each in result.subjects:
        designed, before = before, each
        if describe.variant(each.chosen.configuration) == "as shipped" and designed is not None:
            defects = describe.defects_read(each.table)
            if describe.is_same(designed.table, each.table):
                out.print(Text(f"As shipped: the same, with {pluralize(len(defects), 'known defect')}."))
                _show_notices(out, each, [*designed.chosen.notices])
                out.print()
                continue
            out.print(Text(f"As shipped it has known defects that make a difference; of {', '.join(defects)}:", "yellow"))
        _show_subject(out, each)
        if spot is not None:
            _show_spot(out, each, spot)
        out.print()


def _show_group(out: Console, group: Sequence[ToleranceSubject]) -> None:
    """Print one group of topics in short: in which cells it loses a record, and the change that helps most."""
    first = group[0].chosen
    out.print(Text(describe.setting(first.configuration, group[-1].chosen.release, _named(group[0])), "bold"))
    for each in group:
        out.print(_coloured(f"  {describe.variant(each.chosen.configuration)}: {describe.losses(each.table)}"))
        if each.proposed is not None:
            out.print(_coloured(f"  {describe.proposal(each.proposed[0], each.table, each.proposed[1])}"))
    _show_advice(out, group[0])


def _show_subject(out: Console, subject: ToleranceSubject) -> None:
    chosen, found = subject.chosen, subject.table
    out.print(Text(describe.heading(chosen.configuration, chosen.release, _named(subject)), "bold"))
    power = describe.power(found)
    if power is not None:
        out.print(_coloured(power))
    for line in describe.table_lines(found):
        out.print(_coloured(line))
    for sentence in describe.sentences(found):
        out.print(Text(sentence))
    for name, other in subject.beside.items():
        out.print(_coloured(describe.changes(name, found, other)))
    if subject.proposed is not None:
        changes, after = subject.proposed
        out.print(_coloured(describe.proposal(changes, found, after)))
    _show_advice(out, subject)
    if provenance.has_files({"settings": sources(chosen.settings)}):
        show_settings(out, sources(chosen.settings))
    _show_notices(out, subject)
    for assumption in [*describe.assumptions(chosen.configuration), describe.source(found)]:
        out.print(Text(assumption, "dim"))


def _show_notices(out: Console, subject: ToleranceSubject, shown: Sequence[Notice] = ()) -> None:
    for notice in subject.chosen.notices:
        if notice not in shown:
            out.print(Text(f"{notice.kind}: {notice}", "yellow"))


def _named(subject: ToleranceSubject) -> list[str]:
    """Return the first topics, and what distinguishes this configuration from others of the same topics."""
    topics = subject.chosen.subjects
    left = len(topics) - MOST_NAMED
    *names, last = [*topics[:MOST_NAMED], f"{left} more"] if left > 0 else topics or ["this configuration"]
    return [*names, last + subject.difference]


def _show_advice(out: Console, subject: ToleranceSubject) -> None:
    if subject.advice is None:
        return
    changes, after = subject.advice
    out.print(Text(describe.advice(changes, subject.table, after), "bold"))
    commands = remedies.commands(subject.chosen, changes)
    for command in commands[:MOST_COMMANDS]:
        out.print(Text(f"  {command.line}" + (f"    in {command.where}" if command.where else "")), soft_wrap=True)
    if len(commands) > MOST_COMMANDS:
        out.print(Text(f"  ... and {pluralize(len(commands) - MOST_COMMANDS, 'more command')}", "dim"))


def _coloured(line: str) -> Text:
    text = Text(line)
    for words, style in STYLES:
        text.highlight_words([words], style)
    return text


def _show_spot(out: Console, subject: ToleranceSubject, spot: FaultBudget) -> None:
    from neverlost.reports.questions.tolerance.api import counterexample

    found = counterexample(subject.table, spot)
    if found is None:
        out.print(Text(f"{spot.losing},{spot.out} has no counterexample", "yellow"))
    else:
        show_timeline(out, timeline(*found))


def lines(document: Mapping[str, Any]) -> Iterable[str]:
    """Yield the sentences about boundaries, for `--quiet`."""
    for subject, says in document["says"].items():
        *topics, last = subject.split(", ")
        shown = subject if len(topics) < MOST_NAMED else f"{', '.join(topics[:MOST_NAMED])}, … {last}"
        yield from (f"{shown}: {sentence}" for sentence in says)


def is_table_wanted(config: str | None, settings: list[str] | None, only_searched: Mapping[str, Any]) -> bool:
    """Whether a `check` should be answered by a tolerance table: no fault is limited, and no option asks for one search."""
    from neverlost.model.protocols import models
    from neverlost.specs.configuration.choose import read_given

    given = read_given(config, settings)
    name = str(given["model"][0]) if "model" in given else "kraft"
    has_faults = any(key.startswith("faults.") for key in given)
    is_plain = not any(only_searched.get(each) for each in OF_ONE_SEARCH)
    return is_plain and not has_faults and name in models() and all(key in models()[name].keys for key in AXES)


OF_ONE_SEARCH = ("certificate", "state_dir", "resume", "keep_going")
"""Options of `check` that make sense for a single search."""


def show_tables(
    output: Output,
    spot: FaultBudget | None,
    bounds_of: Callable[[ToleranceResult], Mapping[str, Any]] | None = None,
    show_bounds: Callable[[Console, Mapping[str, Any]], None] | None = None,
    **asked: Any,
) -> int:
    """Decide the tables and show them; `bounds_of` returns bounds of loss for each group of topics, `show_bounds` prints them.

    Returns the exit status: 12 or 13 where a record is lost, or writes stop, without any fault.
    """
    from neverlost.reports.output import exit_status
    from neverlost.reports.questions.tolerance import api
    from neverlost.reports.terminal import results as terminal
    from neverlost.reports.terminal.progress import LiveProgress

    console, progress = terminal.console(), LiveProgress()
    shown = 0

    def decided(group: Sequence[ToleranceSubject], of: int) -> None:
        """Of many groups each is shown as soon as it is decided."""
        nonlocal shown
        if of <= MOST_TABLES or not output.is_read:
            return
        with progress.aside():
            if not shown:
                console.print(Text(f"{of} groups of topics; [1,2]: a record can be lost while {EXAMPLE}\n", "dim"))
            _show_group(console, group)
            console.file.flush()
        shown += 1

    with progress:
        result = api.tolerance(out=output.out, progress=progress, decided=decided, **asked)
        document = {**result.document, **({"nines": bounds_of(result)} if bounds_of else {})}
    output.deliver(document, is_saved=bounds_of is None, lines=lines)
    if output.is_read:
        show(console, result, spot)
        if show_bounds is not None:
            show_bounds(console, document["nines"])
    output.end(document)
    without_faults = exit_status.of_words(describe.cell_answer(each.table, FaultBudget(0, 0))[0] for each in result.subjects)
    if without_faults == exit_status.HOLDS and result.verdict == "inconclusive":
        return exit_status.INCONCLUSIVE
    return without_faults
