"""Delivers a command's answer: the document of `--json`, and what people read at a terminal."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from neverlost.checker.engine.host.visible import visible
from neverlost.checker.engine.host.whole_files import as_json, writable_directory, write_text
from neverlost.reports.wording.provenance import assumed_lines, list_caveats
from neverlost.specs.errors import InputError, unknown

FORMATS = ("text", "json", "csv", "github", "markdown", "junit", "sarif", "shell")
"""How an answer is printed: for people, for programs, for spreadsheets, for the pages of a job."""

PROMETHEUS = "prometheus"
"""A format of tables alone."""


def verdict_lines(document: Mapping[str, Any]) -> list[str]:
    """Return a line for each verdict of a result: verdict, property, configuration if there are several, what is vacuous."""
    cells = document.get("cells", [document])
    return [
        verdict_line(each["verdict"], each["name"] + (f" ({_subject(cell)})" if len(cells) > 1 else "")) + _vacuous(cell, each)
        for cell in cells
        for each in cell["properties"]
    ]


def verdict_line(verdict: str | None, name: str) -> str:
    """Return a line of a verdict, in capitals, and its subject; the verdict None is UNDECIDED."""
    return f"{(verdict or 'undecided').upper():12} {name}"


def _vacuous(cell: Mapping[str, Any], entry: Mapping[str, Any]) -> str:
    """Return a note, to append to a verdict's line, on what `list_unstruck` has for it; empty without any."""
    from neverlost.reports.documents.topic_groups import list_unstruck
    from neverlost.reports.wording.sentences import say_never

    never = say_never(list_unstruck(cell, entry))
    return f" (VACUOUS: {never})" if never else ""


def _subject(cell: Mapping[str, Any]) -> str:
    named = ", ".join(cell.get("topics", ())) or " ".join(f"{name}={value}" for name, value in cell.get("cell", {}).items())
    differs = cell.get("differs", "")
    return named + differs if named else differs.strip(" ()") or str(cell.get("id"))


@dataclass(frozen=True)
class Output:
    """The output options of a command: `json` is a file, or `-` for the document on stdout and nothing else there; `out` a
    directory for files.  Errors: `InputError`, when it is made, for a place that cannot be written, a format not in `formats`,
    or `--show` (`shows`) with `--quiet`."""

    json: str | None = None
    out: str | None = None
    quiet: bool = False
    format: str = "text"
    formats: tuple[str, ...] = FORMATS
    shows: bool = False

    def __post_init__(self) -> None:
        if self.shows and self.quiet:
            raise InputError("--show prints a counterexample and --quiet the verdicts alone: leave one of them out")
        if self.format not in self.formats:
            raise unknown("format", self.format, self.formats, "--format")
        if self.out is not None:
            writable_directory(self.out)
        if self.json in (None, "-"):
            return
        target = Path(str(self.json))
        if target.is_dir():
            raise InputError(f"{str(target)!r} is a directory; name a file for --json")
        if not target.parent.is_dir():
            raise InputError(f"cannot write {str(target)!r}: directory {str(target.parent)!r} does not exist")

    @property
    def is_read(self) -> bool:
        """True if the whole answer is to be printed for people: as text, not `--quiet`, and stdout is not for the document."""
        return self.json != "-" and not self.quiet and self.format == "text"

    def deliver(
        self,
        document: Mapping[str, Any],
        is_saved: bool = False,
        lines: Callable[[Any], Iterable[str]] = verdict_lines,
        render: Callable[[Any], str] | None = None,
    ) -> None:
        """Write the document to the `--json` target and, unless it `is_saved` already, into `out`.  Print it in any format but
        text, which the caller prints; with `--quiet` print `lines` and assumed values instead, and caveats on stderr."""
        if self.json == "-" or self.format == "json":
            sys.stdout.write(as_json(document))
        elif render is not None:
            sys.stdout.write(render(document))
        elif self.format != "text":
            from neverlost.reports.output.gate import render_as

            sys.stdout.write(render_as(self.format, document, self.out))
        if self.json not in (None, "-"):
            write_text(str(self.json), as_json(document))
        if self.out is not None and not is_saved:
            write_text(Path(self.out) / "result.json", as_json(document))
        if self.quiet and self.json != "-" and self.format == "text":
            sys.stdout.writelines(f"{line}\n" for line in (*lines(document), *assumed_lines(document)))
            sys.stderr.writelines(f"{line}\n" for line in list_caveats(document))

    def end(self, document: Mapping[str, Any]) -> None:
        """Print what the answer assumes, as its last lines, if the answer is printed for people; else nothing."""
        if self.is_read:
            sys.stdout.writelines(f"{visible(line)}\n" for line in assumed_lines(document))
