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
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

import neverlost
from neverlost.checker.engine.digest import model_digest, property_digest
from neverlost.model.protocols import models
from neverlost.specs.configuration.choose import choose
from neverlost.specs.properties import properties

ROOT = Path(__file__).resolve().parents[3]
PUBLISHED = ROOT / "reports" / "published"
COMMAND, PYTHON = [sys.executable, "-m", "neverlost"], [sys.executable, "-m"]
VERDICTS = (0, 12, 13)
"""Exit statuses of a command that decided what was asked."""

STANDING = "kafka.version=3.9 min.insync.replicas=2 faults.isr_shrink=2 faults.lossy_crash=1 bounds.records=1"
TRACE = re.compile(r"^`neverlost check (?P<asked>[^\n`]*)`\n\n```text\n(?P<trace>.*?)\n```$", re.MULTILINE | re.DOTALL)
"""A question of a page, and the counterexample that it has."""


@dataclass(frozen=True)
class Page:
    """A file of `reports/published`: the command that makes it, where the command leaves it, and what else it is made of.

    `command` is run by the shell's rules, with `{out}` for a folder; `makes` is the file in that folder, `beside` are pictures
    in it that the page shows.  A page without a command is prose, in which the counterexamples are found again.  `about` are
    the models and properties that it speaks of, all of them where it does not say.
    """

    name: str
    says: str
    command: str = ""
    makes: str = ""
    inputs: tuple[str, ...] = ()
    beside: tuple[str, ...] = ()
    about: tuple[str, ...] = ()

    @property
    def path(self) -> Path:
        """The page."""
        return PUBLISHED / self.name

    def stamp(self) -> str:
        """What it is made of, as far as a verdict depends on it."""
        names = self.about or {*models(), *properties()}
        made_of = [model_digest(each) for name, each in sorted(models().items()) if name in names]
        made_of += [property_digest(each) for name, each in sorted(properties().items()) if name in names]
        files = [path for each in self.inputs for path in sorted(ROOT.glob(each))]
        made_of += [self.command, *(path.read_text() for path in files)]
        return sha256("\n".join(made_of).encode()).hexdigest()[:16]

    def make(self) -> None:
        """Run the command and keep the page."""
        if not self.command:
            self.path.write_text(with_traces(self.path.read_text()))
            return
        with tempfile.TemporaryDirectory() as out:
            words = shlex.split(self.command.format(out=out))
            ran = COMMAND if words[0] == "neverlost" else PYTHON
            done = subprocess.run([*ran, *words[1 if ran is COMMAND else 2 :]], cwd=ROOT, stdout=subprocess.PIPE, text=True)
            if done.returncode not in VERDICTS:
                raise SystemExit(f"{self.name}: {self.command!r} ended with {done.returncode}")
            made = Path(out, self.makes).read_text() if self.makes else done.stdout
            for each in self.beside:
                (PUBLISHED / each).write_text(Path(out, each).read_text())
        self.path.write_text(made)


def _sweep(name: str, says: str, *more: str, page: str = "") -> Page:
    command = " ".join(["neverlost sweep", name, *more, "--out {out}"])
    place = f"specs/matrices/{name}.toml"
    matrix = tomllib.loads((ROOT / place).read_text())
    of_versions = [choose({"kafka.version": (each, place)}).model.name for each in matrix.get("kafka", {}).get("version", ())]
    about = (*matrix.get("model", of_versions), *matrix["properties"])
    return Page(f"{page or name}.md", says, command, "report.md", (place,), about=about)


def _necessity(model: str) -> Page:
    command = f"neverlost necessity --set model={model} --out {{out}}"
    name = f"necessity-{model}.md"
    return Page(
        name,
        f"what each guard clause and mechanism of {model} is for",
        command,
        name,
        (f"specs/necessity/{model}.toml",),
    )


RATES = ("checker/questions/nines/default_rates.toml", "tests/tools/publish/one-room.toml")
SETTINGS = "tests/tools/publish/nines.toml"

PAGES = (
    Page(
        "last-replica-standing.svg",
        "the counterexample of the first page",
        "neverlost check "
        + " ".join(f"--set {each}" for each in STANDING.split())
        + " --property acked-never-lost --out {out}",
        "acked-never-lost.svg",
    ),
    _sweep("isr-vs-majority", "ISR and ELR, as shipped and as designed, beside a majority quorum"),
    _sweep("stretched", "two or three sites: min ISR, ELR and where the ISR may shrink to, as designed"),
    Page(
        "atlas-coverage.json",
        "how many of the common questions the atlas decides, by chapter, and how many it does not",
        "neverlost atlas show --json {out}/atlas-coverage.json",
        "atlas-coverage.json",
    ),
    Page("open-questions.md", "questions without a public report, decided; prose in which the counterexamples are found again"),
    _sweep("versions", "Kafka 0.10 to 4.1: what each version repaired"),
    _necessity("kip-320"),
    _sweep("durability", "which settings keep acknowledged records through lossy crashes, as shipped"),
    _sweep("durability", "the same, as designed", "--set defects=fixed", page="durability-designed"),
    Page(
        "claims.md",
        "sentences about Kafka, checked",
        "neverlost claims --out {out}",
        "report.md",
        ("specs/claims/*.toml", "specs/scenarios/*.toml"),
    ),
    Page(
        "nines.md",
        "how likely a loss is: settings times rates, as a picture too, with what is assumed",
        f"neverlost nines --matrix {SETTINGS} {' '.join(f'--rates {each}' for each in RATES)} --out {{out}}",
        "report.md",
        (SETTINGS, *RATES),
        beside=("nines.svg",),
    ),
    Page(
        "proofs.md",
        "what is proved by induction: models, properties, numbers of replicas, faults; and what cvc5 and ethos confirm",
        "python -m tests.tools.publish.proofs",
        inputs=("specs/lemmas/*.py", "tests/tools/publish/proofs.py"),
    ),
    Page(
        "seams.md",
        "the controllers' quorum, transactions, and what each known bug loses",
        "python -m tests.tools.publish.seams",
    ),
    Page(
        "rediscovery.md",
        "which of Kafka's own fixes the models would have found",
        "python -m tests.tools.publish.rediscovery --out {out}",
        "rediscovery.md",
        ("tests/tools/publish/rediscovery.toml",),
    ),
    _necessity("kraft-elr"),
)
"""Every page that a command makes from the models alone, cheap ones first."""

RECORDED = {
    "conform/": "Kafka's own classes and the model, and searches of the classes alone, by `neverlost conform`",
    "reproductions/": "counterexamples on real brokers, by `python -m tests.tools.publish.reproductions`",
    "bundles/": "an evidence bundle of each kind: `neverlost verify reports/published/bundles/NAME`",
    "observed-runs.md": "seeded fault runs of real clusters, by `python -m tests.tools.publish.observed_runs`",
    "proofs.json": "the answers of `proofs.md`, with what each depends on",
    "made.json": "what `python -m tests.tools.publish` made, when and of what",
    "draft-reports.md": "findings for the Kafka project, written by hand",
}
"""What is published beside them: records of real clusters, and prose."""


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


def keep(made: dict[str, dict[str, Any]]) -> None:
    """Write down what was made, for this command and for readers."""
    (PUBLISHED / "made.json").write_text(json.dumps(made, indent=1, sort_keys=True) + "\n")
    (PUBLISHED / "README.md").write_text("\n".join(index(made)) + "\n")


def index(made: dict[str, dict[str, Any]]) -> Iterator[str]:
    """The folder's first page."""
    yield "# Published results\n"
    yield "`python -m tests.tools.publish PAGE` makes a page again, without names all of this table."
    yield "A page speaks of the models as of the commit beside it; the seconds are of two cores that other work shared.\n"
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


def main() -> int:
    """Make the pages that were asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("pages", nargs="*", metavar="PAGE", help="names of pages, with or without what follows the dot")
    parser.add_argument("--again", action="store_true", help="also pages that are up to date")
    parser.add_argument("--list", action="store_true", help="only say which pages are up to date")
    given = parser.parse_args()
    names = {each.name: each for each in PAGES} | {each.path.stem: each for each in PAGES}
    if unknown := [each for each in given.pages if each not in names]:
        parser.error(f"unknown page {unknown[0]!r}; there are {', '.join(each.path.stem for each in PAGES)}")
    for page in [names[each] for each in given.pages] or PAGES:
        made, stamp = known(), page.stamp()
        is_made = page.path.exists() and made.get(page.name, {}).get("stamp") == stamp
        if given.list or (is_made and not given.again):
            print(f"{page.name}: {'up to date' if is_made else 'to be made again'}", flush=True)
            continue
        started = time.monotonic()
        page.make()
        seconds = round(time.monotonic() - started)
        keep(known() | {page.name: {"stamp": stamp, "commit": last_commit(), "seconds": seconds}})
        print(f"{page.name}: made in {seconds} s", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
