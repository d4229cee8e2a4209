"""Make published pages again: `python -m tests.tools.publish [PAGE ...]`; without names all, cheap ones first.

A page that was made with the models, properties and inputs of now is left alone, so the command goes on where it was stopped;
`--again` makes it anew.  What was made when, of which commit and in how many seconds stands in `reports/published/README.md`.
"""

from __future__ import annotations

import argparse
import json
import re
import shlex
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import neverlost
from tests.tools.publish.pages import FIGURES, PAGES, PUBLISHED, RECORDED, ROOT, Page

COMMAND, PYTHON = [sys.executable, "-m", "neverlost"], [sys.executable, "-m"]
VERDICTS = (0, 12, 13, 22)
"""Exit statuses of a command that decided what was asked."""

OLD = 21
"""The exit status of `--check` where something is older than what it depends on."""

TRACE = re.compile(r"^`neverlost check (?P<asked>[^\n`]*)`\n\n```text\n(?P<trace>.*?)\n```$", re.MULTILINE | re.DOTALL)
"""A question of a page, and the counterexample that it has."""


def make(page: Page) -> None:
    """Run the command of a page and keep what it makes."""
    if not page.command:
        page.path.write_text(with_traces(page.path.read_text()))
        return
    with tempfile.TemporaryDirectory() as out:
        words = shlex.split(page.command.format(out=out))
        ran = COMMAND if words[0] == "neverlost" else PYTHON
        done = subprocess.run([*ran, *words[1 if ran is COMMAND else 2 :]], cwd=ROOT, stdout=subprocess.PIPE, text=True)
        if done.returncode not in VERDICTS:
            raise SystemExit(f"{page.name}: {page.command!r} ended with {done.returncode}")
        if page.writes:
            return
        made = Path(out, page.makes).read_text() if page.makes else done.stdout
        for each in page.beside:
            (PUBLISHED / each).write_text(Path(out, each).read_text())
    page.path.write_text(made)


def with_traces(text: str) -> str:
    """A page whose counterexamples are those that its questions have now, a line for each step."""
    return TRACE.sub(lambda found: f"`neverlost check {found['asked']}`\n\n```text\n{_trace(found['asked'])}\n```", text)


def _trace(asked: str) -> str:
    words = shlex.split(asked)
    settings = dict(words[at + 1].split("=", 1) for at, each in enumerate(words) if each == "--set")
    (broken,) = [words[at + 1] for at, each in enumerate(words) if each == "--property"]
    found = neverlost.check(settings, properties=[broken], advise=False)
    if found.trace is None:
        raise SystemExit(f"{broken} is {found.verdict} now: neverlost check {asked}")
    lines = [f"{number:2}  {says}" for number, says in enumerate(found.trace.says) if number]
    shown = found.trace.counterexample.timeline
    return "\n".join([*lines, shown.verdict_line] if shown else lines)


def known() -> dict[str, dict[str, Any]]:
    """What was made when, by page."""
    path = PUBLISHED / "made.json"
    return json.loads(path.read_text()) if path.exists() else {}


def keep(page: Page, seconds: int | str = "") -> None:
    """Write down that a page is of now, for this command and for readers."""
    made = known() | {page.name: {"made_of": page.made_of(), "commit": last_commit(), "seconds": seconds}}
    (PUBLISHED / "made.json").write_text(json.dumps(made, indent=1, sort_keys=True) + "\n")
    (PUBLISHED / "README.md").write_text("\n".join(index(made)) + "\n")


def older_than(page: Page, made: dict[str, dict[str, Any]]) -> list[str]:
    """What a page depends on that has changed since it was made; "not made yet" if it never was."""
    if page.name not in made or not page.path.exists():
        return ["not made yet"]
    was, now = made[page.name]["made_of"], page.made_of()
    return sorted(name for name in was.keys() | now.keys() if was.get(name) != now.get(name))


def index(made: dict[str, dict[str, Any]]) -> Iterator[str]:
    """The folder's first page."""
    yield "# Published results\n"
    yield "`python -m tests.tools.publish PAGE` makes a page again, without names all of this table; `--check` names what is"
    yield "older than the models, properties and files that it is made of; seconds are of two cores that other work shared.\n"
    yield "| page | what it is | made by | commit | seconds |"
    yield "| --- | --- | --- | --- | --- |"
    for page in PAGES:
        at = made.get(page.name, {})
        command = page.command.replace(" --out {out}", "") or "`neverlost check` of each question"
        shown = command if command.startswith("`") else f"`{command}`"
        named = f"[{page.name}]({page.name})" if page.path.exists() else page.name
        yield f"| {named} | {page.says} | {shown} | {at.get('commit', 'not made yet')} | {at.get('seconds', '')} |"
    yield "\nBeside them:\n"
    for name, says in RECORDED.items():
        yield f"- [{name}]({name}): {says}"


def last_commit() -> str:
    """The last commit that touched the models."""
    command = ["git", "log", "-1", "--format=%h", "--", "model"]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout.strip()


def check(pages: Sequence[Page]) -> int:
    """Name each page that is older than what it depends on."""
    made, status = known(), 0
    for page in pages:
        if old := older_than(page, made):
            shown = ", ".join(old[:MOST]) + (f" and {len(old) - MOST} more" if len(old) > MOST else "")
            print(f"{page.name}: {shown if page.name not in made else f'older than {shown}'}")
            status = OLD
    return status


MOST = 6
"""How many of the things that have changed are named."""


def main() -> int:
    """Make the pages that were asked for, or say which are old."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("pages", nargs="*", metavar="PAGE", help="names of pages, with or without what follows the dot")
    parser.add_argument("--again", action="store_true", help="also pages that are up to date")
    parser.add_argument("--check", action="store_true", help="make nothing, and name what is old")
    parser.add_argument("--measured", action="append", default=[], metavar="NAME", help="a figure of the guide is of now")
    given = parser.parse_args()
    figures = {each.name: each for each in FIGURES}
    names = {name: each for each in PAGES for name in (each.name, each.path.stem)} | {each.name: each for each in PAGES}
    for wanted, there in ((given.pages, names), (given.measured, figures)):
        if unknown := [each for each in wanted if each not in there]:
            parser.error(f"unknown page {unknown[0]!r}; there are {', '.join(there)}")
    if given.check:
        return check([names[each] for each in given.pages] or [*PAGES, *FIGURES])
    for name in given.measured:
        keep(figures[name])
    for page in [] if given.measured else [names[each] for each in given.pages] or PAGES:
        if not older_than(page, known()) and not given.again:
            print(f"{page.name}: up to date", flush=True)
            continue
        started = time.monotonic()
        make(page)
        seconds = round(time.monotonic() - started)
        keep(page, seconds)
        print(f"{page.name}: made in {seconds} s", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
