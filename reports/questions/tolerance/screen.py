"""A tolerance at a terminal: the table, its boundaries in sentences, and a counterexample on request."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.text import Text

from neverlost.checker.engine.outcome import Verdict
from neverlost.checker.questions.tolerance.cell_words import BROKEN, GO_ON, LOST, OK, STOPS, UNDECIDED
from neverlost.checker.questions.tolerance.fault_budget import AXES, FaultBudget
from neverlost.reports.questions.tolerance import document as describe
from neverlost.reports.terminal.results import show_settings
from neverlost.reports.wording import provenance
from neverlost.reports.wording.merged_rows import name_some, pluralize
from neverlost.specs.errors import InputError
from neverlost.specs.inputs import remedies
from neverlost.specs.setting import Notice, sources

if TYPE_CHECKING:
    from neverlost.reports.output.output import Output
    from neverlost.reports.questions.tolerance.api import ToleranceResult, ToleranceSubject
    from neverlost.reports.questions.tolerance.overview import Overview

STYLES = ((LOST, "bold red"), (BROKEN, "bold red"), (STOPS, "yellow"), (UNDECIDED, "magenta"), (OK, "green"), (GO_ON, "green"))

MOST_NAMED = 4
"""Topics named in a heading."""

MOST_GROUPS = 6
"""Groups listed that are safe with any two brokers."""

MOST_COMMANDS = 4
"""Commands of one advice; of one group among many the first."""


def parse_cell(text: str | None) -> FaultBudget | None:
    """Parse `1,2` as a cell of the table: 1 broker loses data while 2 others are out; None for None.
    Errors: `InputError` for anything else."""
    if text is None:
        return None
    parts = text.split(",")
    if len(parts) != 2 or not all(each.isascii() and each.isdigit() and len(each) == 1 for each in parts):
        raise InputError(f"bad value {text!r} for --show: write how many lose data and how many others are out, such as 1,2")
    return FaultBudget(*map(int, parts))


def show(out: Console, result: ToleranceResult, spot: FaultBudget | None, with_tables: bool = True) -> None:
    """Print one screen about described topics, the worst first; then (`with_tables`), or without topics, each table, with the
    counterexample of the cell `spot` if it is given.  Of a table as shipped that is the same as designed, only that is said."""
    if describe.get_main(result.subjects[0].table) is not None and any(each.chosen.subjects for each in result.subjects):
        from neverlost.reports.questions.tolerance.overview import overview

        show_overview(out, overview(result.document))
        if not with_tables:
            out.print(Text("--topic NAME shows a topic's table; --out DIR has a page with every group and command.", "dim"))
            return
        out.print()
    before: ToleranceSubject | None = None
    for each in result.subjects:
        designed, before = before, each
        if describe.variant(each.chosen.configuration) == "as shipped" and designed is not None:
            defects = [f"{one.name} ({one.report})" for one in describe.defects_that_matter(each.table, each.chosen)]
            if describe.is_same(designed.table, each.table):
                out.print(Text(f"Released it has {pluralize(len(defects), 'known bug')}, and the table is the same."))
                _show_notices(out, each, [*designed.chosen.notices])
                out.print()
                continue
            release = f"Kafka {each.chosen.release}" if each.chosen.release else "this Kafka"
            out.print(Text(f"Released {release} has bugs that change this table: {', '.join(defects)}:", "yellow"))
        _show_subject(out, each)
        if spot is not None:
            _show_spot(out, each, spot)
        out.print()


def show_overview(out: Console, answer: Overview) -> None:
    """Print the answer about described topics: the headline, the groups by danger, the bugs of the release."""
    for line in answer.headline:
        out.print(Text(line, "bold"))
    out.print()
    told: set[str] = set()
    for level in answer.levels:
        out.print(Text(level.title, LEVELS[level.kind]))
        for group in level.groups if level.kind != "holds" else level.groups[:MOST_GROUPS]:
            about = f"  {name_some(group.topics, MOST_NAMED)}: {'; '.join(filter(None, [group.settings, group.says]))}"
            if level.kind == "holds":
                out.print(Text(f"{about}. {group.remedy.partition('. ')[0]}".rstrip(". ")))
                continue
            out.print(Text(about))
            if group.remedy:
                out.print(Text(f"    {group.remedy}", "bold"))
            for command in (each for each in group.commands[:1] if each["line"] not in told):
                told.add(command["line"])
                more = f"  # and {len(group.commands) - 1} more" if len(group.commands) > 1 else ""
                where = f"    in {command['where']}" if command["where"] else ""
                out.print(Text(f"    {command['line']}{more}{where}"), soft_wrap=True)
        if level.kind == "holds" and len(level.groups) > MOST_GROUPS:
            out.print(Text(f"  and {pluralize(len(level.groups) - MOST_GROUPS, 'more group')}", "dim"))
    if answer.bugs:
        out.print()
        out.print(Text(f"{answer.bugs_title} (neverlost explain NAME says what goes wrong)", "bold yellow"))
    for bug in answer.bugs:
        out.print(Text(f"  {bug.name}: {'; '.join(bug.lines)}"))
    for line in answer.with_bugs:
        out.print(Text(f"  {line}", "yellow"))
    if answer.notices:
        out.print()
    for line in answer.notices:
        out.print(Text(line, "yellow"))


LEVELS = {"violated": "bold red", "inconclusive": "bold yellow", "holds": "bold green"}


def _show_subject(out: Console, subject: ToleranceSubject) -> None:
    chosen, found = subject.chosen, subject.table
    out.print(Text(describe.heading(chosen.configuration, chosen.release, _named(subject)), "bold"))
    power = describe.power(found)
    if power is not None:
        out.print(_coloured(power))
    for one in describe.list_aspects(found):
        for line in [*filter(None, [describe.title(one)]), *describe.table_lines(one)]:
            out.print(_coloured(line))
    has_variants = "defects" in chosen.configuration
    if has_variants:
        out.print(Text(f"{describe.variant(chosen.configuration).capitalize()}:"))
    for sentence in describe.sentences(found):
        out.print(Text("  " * has_variants + sentence))
    for name, other in subject.beside.items():
        out.print(_coloured("  " * has_variants + describe.changes(name, found, other)))
    _show_advice(out, subject)
    if provenance.has_files({"settings": sources(chosen.settings)}):
        show_settings(out, sources(chosen.settings))
    _show_notices(out, subject)
    for assumption in [*describe.assumptions(found), describe.source(found)]:
        out.print(Text(assumption, "dim"))


def _show_notices(out: Console, subject: ToleranceSubject, shown: Sequence[Notice] = ()) -> None:
    for notice in (each for each in subject.chosen.notices if each not in shown):
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
    for number, line in enumerate(describe.advice(changes, subject.table, after).lines()):
        out.print(Text(f"  {line}" if number else line, "" if number else "bold"))
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
        where = f"{spot.losing},{spot.out} {describe.variant(subject.chosen.configuration)}"
        out.print(Text(f"{where}: nothing that is asked is violated there, so there is no counterexample", "yellow"))
    else:
        from neverlost.reports.counterexample.timeline import timeline
        from neverlost.reports.terminal.counterexample import show_timeline

        show_timeline(out, timeline(*found))


def lines(document: Mapping[str, Any]) -> Iterable[str]:
    """Yield for `--quiet`, of several groups of topics, the headline and who is at which danger; else all sentences."""
    if len(document["tolerance"]) > 1 and any(document["topics"].values()):
        from neverlost.reports.questions.tolerance.overview import overview

        answer = overview(document)
        yield from answer.headline
        for level in answer.levels:
            yield f"{level.title}: {name_some([name for each in level.groups for name in each.topics], MOST_NAMED)}"
        return
    yield from (f"{subject}: {sentence}" for subject, says in document["says"].items() for sentence in says)


def is_table_wanted(config: str | None, settings: list[str] | None, only_searched: Mapping[str, Any]) -> bool:
    """Return True if a table should answer a `check`: no fault is limited, no option is for a search, the model has tables."""
    from neverlost.model.protocols import models
    from neverlost.specs.configuration.choose import read_given

    given = read_given(config, settings)
    name = str(given["model"][0]) if "model" in given else "kraft"
    has_faults = any(key.startswith("faults.") for key in given)
    is_plain = not any(only_searched.get(each) for each in OF_ONE_SEARCH)
    return is_plain and not has_faults and name in models() and all(key in models()[name].keys for key in AXES)


OF_ONE_SEARCH = ("state_dir", "resume", "keep_going")
"""Options of `check` that make sense for a single search."""


def show_tables(output: Output, spot: FaultBudget | None, **asked: Any) -> int:
    """Decide the tables and show them; return the exit status: 12 or 13 where a record is lost, or writes stop, without any
    fault, 20 where something is not decided, else 0."""
    from neverlost.reports.output import exit_status
    from neverlost.reports.output.output import PROMETHEUS
    from neverlost.reports.questions.tolerance import api
    from neverlost.reports.terminal import results as terminal
    from neverlost.reports.terminal.progress import LiveProgress

    console, progress = terminal.console(), LiveProgress()

    def decided(group: Sequence[ToleranceSubject], of: int) -> None:
        """Print the name of a group as soon as it is decided, if there are several."""
        if of > 1 and output.is_read and sys.stderr.isatty():
            progress.line(f"decided: {name_some(group[0].chosen.subjects, MOST_NAMED)}")

    with progress, terminal.shown_once(output.is_read):
        result = api.tolerance(out=output.out, progress=progress, decided=decided, **asked)
        document = result.document
    if output.format == PROMETHEUS:
        from neverlost.reports.questions.tolerance import prometheus

        output.deliver(document, True, lines, prometheus.render)
    else:
        output.deliver(document, True, lines)
    if output.is_read:
        is_asked = spot is not None or any(asked.get(each) for each in ("topics", "beside", "also"))
        show(console, result, spot, is_asked or len(result.tolerance) == 1)
    output.end(document)
    calm = [each for one in result.subjects for each in one.table.entries[FaultBudget(0, 0)]]
    without_faults = exit_status.of_verdicts(calm)
    is_open = without_faults == exit_status.HOLDS and result.verdict == "inconclusive"
    if is_open or (without_faults != exit_status.VIOLATED and Verdict.INCONCLUSIVE in [each.verdict for each in calm]):
        return exit_status.INCONCLUSIVE
    return without_faults
