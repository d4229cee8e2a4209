"""The pages of `reports/published`, and the figures of the guide: how each is made, and what it depends on.

A page depends on the meaning of the models and properties of its questions, on its data files and on its command.  Records of
real brokers depend on no model: they say what Kafka did.
"""

from __future__ import annotations

import re
import shlex
import tomllib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cache, partial
from hashlib import sha256
from pathlib import Path

from neverlost.checker.engine.digest import model_digest, property_digest
from neverlost.checker.questions.atlas.index import ANSWERED
from neverlost.model.protocols import models
from neverlost.specs.cases.claim import list_cases
from neverlost.specs.cases.necessity_plan import read_plan
from neverlost.specs.configuration.choose import choose_each, read_settings
from neverlost.specs.configuration.matrix import read_matrix
from neverlost.specs.configuration.version_defaults import RELEASES
from neverlost.specs.properties import properties
from tests.tools.publish import proofs, seams

ROOT = Path(__file__).resolve().parents[3]
PUBLISHED = ROOT / "reports" / "published"

Names = Iterable[str]


@dataclass(frozen=True)
class Page:
    """A page: the command that makes it, where the command leaves it, and what else it is made of.

    `command` is run by the shell's rules, with `{out}` for a folder; `makes` is the file in that folder, `beside` are pictures
    in it that the page shows.  A command that `writes` puts everything in its place by itself.  A page without a command is
    prose, in which the counterexamples are found again.  `about` are the models and properties that it speaks of.  A figure of
    the guide `is_measured`: its command prints what somebody compares with the page.
    """

    name: str
    says: str
    command: str = ""
    makes: str = ""
    inputs: tuple[str, ...] = ()
    beside: tuple[str, ...] = ()
    about: Callable[[], Names] = tuple
    writes: bool = False
    is_measured: bool = False

    @property
    def path(self) -> Path:
        """The page."""
        return ROOT / "reports" / self.name if self.is_measured else PUBLISHED / self.name

    def made_of(self) -> dict[str, str]:
        """What it depends on, by name, with a digest of each."""
        found = {each: digests()[each] for each in sorted({*self.about()})}
        for file in (path for each in self.inputs for path in sorted(ROOT.glob(each))):
            found[str(file.relative_to(ROOT))] = short(file.read_text())
        return found | ({"command": short(self.command)} if self.command else {})


@cache
def digests() -> dict[str, str]:
    """The meaning of every model and property, shortened."""
    of_models = {name: short(model_digest(each)) for name, each in models().items()}
    return of_models | {name: short(property_digest(each)) for name, each in properties().items()}


def short(text: str) -> str:
    """The beginning of a text's digest."""
    return sha256(text.encode()).hexdigest()[:16]


def about(*names: str) -> Callable[[], Names]:
    """Models and properties by name."""
    return lambda: names


def about_questions(*asked: str) -> Iterator[str]:
    """The models and properties of `check` commands, or of settings."""
    for text in asked:
        words = shlex.split(text)
        given = [each for each in words if "=" in each and not each.startswith("-")]
        models_of = [each.model for each in choose_each(read_settings(given))]
        named = [each for each in words if each in properties()]
        yield from (each.name for each in models_of)
        yield from named or [name for each in models_of for name in each.guarantees]


def about_page(name: str) -> Iterator[str]:
    """The models and properties of the questions that stand on a page of prose."""
    return about_questions(*re.findall(r"^`neverlost check ([^\n`]*)`$", (PUBLISHED / name).read_text(), re.MULTILINE))


def about_cases() -> Iterator[str]:
    """The models and properties of all cases of the corpus."""
    for each in list_cases().values():
        yield from (one.model.name for one in choose_each(read_settings(each.keys)))
        yield each.property


def about_matrix(place: str) -> Iterator[str]:
    """The models and properties of a matrix."""
    found = read_matrix(str(ROOT / place), {})
    yield from {each.model.name for each in found.cells}
    yield from found.properties


def about_plan(model: str) -> Iterator[str]:
    """A model, with its guarantees and the properties of its plan."""
    yield from (model, *models()[model].guarantees, *read_plan(ROOT / f"specs/necessity/{model}.toml").properties)


def _sweep(name: str, says: str, *more: str, page: str = "", inputs: tuple[str, ...] = ()) -> Page:
    command = " ".join(["neverlost sweep", name, *more, "--out {out}"])
    place = f"specs/matrices/{name}.toml"
    return Page(f"{page or name}.md", says, command, "report.md", (place, *inputs), about=partial(about_matrix, place))


def _necessity(model: str) -> Page:
    command = f"neverlost necessity --set model={model} --out {{out}}"
    name, plan = f"necessity-{model}.md", f"specs/necessity/{model}.toml"
    says = f"what each guard clause and mechanism of {model} is for"
    return Page(name, says, command, name, (plan,), about=partial(about_plan, model))


def _conform(version: str) -> Page:
    command, name = f"neverlost conform --kafka-version {version} --out {{out}}", f"conform-{_newest_patch(version)}.md"
    says = f"Kafka {version}'s own classes and the models"
    return Page(f"conform/{name}", says, command, name, about=about(*MODERN, "kraft-quorum", "transactions"))


def _newest_patch(version: str) -> str:
    line = tuple(map(int, version.split(".")))
    return f"{version}.{RELEASES[line]}"


def _measured(name: str, says: str, command: str, *of_models: str) -> Page:
    return Page(f"guide/{name}", says, command, about=about(*of_models), is_measured=True)


MODERN = ("kraft", "kraft-elr")
TLC = {each["model"] for each in tomllib.loads((ROOT / "tests/data/tlc_counts.toml").read_text())["count"]}
STANDING = "kafka.version=3.9 min.insync.replicas=2 faults.isr_shrink=2 faults.lossy_crash=1 bounds.records=1"
RATES = ("checker/questions/nines/default_rates.toml", "tests/tools/publish/one-room.toml")
SETTINGS = "tests/tools/publish/nines.toml"
REPAIRS = ("model/kraft/mechanisms.toml", "specs/patch_releases.py", "specs/configuration/version_defaults.toml")
"""Which release has which mechanism and which default."""

PAGES = (
    Page(
        "last-replica-standing.svg",
        "the counterexample of the first page",
        "neverlost check "
        + " ".join(f"--set {each}" for each in STANDING.split())
        + " --property acked-never-lost --out {out}",
        "acked-never-lost.svg",
        about=about("kraft", "acked-never-lost"),
    ),
    _sweep("isr-vs-majority", "ISR and ELR, as shipped and as designed, beside a majority quorum"),
    _sweep("stretched", "two or three sites: min ISR, ELR and where the ISR may shrink to, as designed"),
    Page(
        "atlas-coverage.json",
        "how many of the common questions the atlas decides, by chapter, and how many it does not",
        "python -m tests.tools.atlas count --out {out}",
        "atlas-coverage.json",
        ("checker/questions/atlas/atlas.index.sha256",),
        about=about(*MODERN, *ANSWERED),
    ),
    Page(
        "open-questions.md",
        "questions without a public report, decided; prose in which the counterexamples are found again",
        about=partial(about_page, "open-questions.md"),
    ),
    _sweep("versions", "Kafka 0.10 to 4.4: what each version repaired", inputs=REPAIRS),
    _necessity("kip-320"),
    _sweep("durability", "which settings keep acknowledged records through lossy crashes, as shipped"),
    _sweep("durability", "the same, as designed", "--set defects=fixed", page="durability-designed"),
    Page(
        "claims.md",
        "sentences about Kafka, checked",
        "neverlost claims --out {out}",
        "report.md",
        ("specs/claims/*.toml", "specs/scenarios/*.toml", *REPAIRS),
        about=about_cases,
    ),
    Page(
        "nines.md",
        "how likely a loss is: settings times rates, as a picture too, with what is assumed",
        f"neverlost nines --matrix {SETTINGS} {' '.join(f'--rates {each}' for each in RATES)} --out {{out}}",
        "report.md",
        (SETTINGS, *RATES),
        beside=("bounds.svg",),
        about=about(*MODERN, "acked-never-lost", "stays-writable"),
    ),
    Page(
        "proofs.md",
        "what is proved by induction: models, properties, numbers of replicas, faults; and what cvc5 and ethos confirm",
        "python -m tests.tools.publish.proofs",
        inputs=("specs/lemmas/*.py", "tests/tools/publish/proofs.py"),
        about=lambda: (name for row in proofs.rows() for name in (row.model, row.goal)),
    ),
    Page(
        "seams.md",
        "the controllers' quorum, transactions, and what each known bug loses",
        "python -m tests.tools.publish.seams",
        inputs=("tests/tools/publish/seams.py",),
        about=lambda: about_questions(*seams.WHOLE, *(f"{settings} {broken}" for _, settings, broken in seams.BUGS)),
    ),
    Page(
        "rediscovery.md",
        "which of Kafka's own fixes the models would have found",
        "python -m tests.tools.publish.rediscovery --out {out}",
        "rediscovery.md",
        ("tests/tools/publish/rediscovery.toml", *REPAIRS),
        about=about(*MODERN, *models()["kraft"].guarantees, "acked-on-min-isr", "no-global-loss"),
    ),
    _necessity("kraft-elr"),
    Page(
        "cutoff.md",
        "how far a search has to go until nothing new can matter: two to five replicas, one to three records",
        "python -m tests.tools.publish.cutoff",
        inputs=("tests/tools/publish/cutoff.py",),
        about=about(*MODERN),
    ),
    Page(
        "bundles",
        "an evidence bundle of each kind: `neverlost verify reports/published/bundles/NAME`",
        "python -m tests.tools.publish.bundles",
        inputs=("specs/lemmas/*.py", "specs/configuration/*.py", "specs/inputs/**/*.py"),
        about=about(*MODERN, "kip-320", "truncate-to-hw", "acked-never-lost", "committed-never-lost", "weak-isr", "strong-isr"),
        writes=True,
    ),
    *(_conform(each) for each in ("3.9", "4.1", "4.3", "4.4")),
    Page(
        "rests-on.md",
        "what each verdict rests on: TLC, other solvers, Kafka's classes, Kafka's brokers",
        "python -m tests.tools.publish.rests_on",
        inputs=(
            "reports/published/conform/conform-*.md",
            "reports/published/proofs.json",
            "reports/published/reproductions/*/tries.json",
            "tests/data/tlc_counts.toml",
            "specs/scenarios/*.toml",
        ),
    ),
)
"""Every page that a command makes, cheap ones first, those that need Java last."""

FIGURES = (
    _measured(
        "figures.md", "states, seconds and bytes of searches", "python -m tests.tools.bench.modern", "kip-320", "kraft-elr"
    ),
    _measured("tlc.md", "counts that TLC made too", "python -m tests.support.tlc", *TLC),
    _measured(
        "conform.md", "walks and what they could not explain", "neverlost conform --walks 300 --kafka-version 4.3", *MODERN
    ),
    Page(
        "published/conform/too-strict.md",
        "guards that are too strict, and what sees each",
        "python -m tests.tools.too_strict --state-dir too-strict --page reports/published/conform/too-strict.md",
        about=about(*MODERN),
        is_measured=True,
    ),
    _measured("tolerance.md", "what the shipped answers cover", "python -m tests.tools.atlas count", *MODERN),
)
"""Pages of the guide with figures that depend on a model: somebody runs the command, and compares."""

RECORDED = {
    "conform/": "what the pages of `neverlost conform` compare, and searches of Kafka's classes alone",
    "reproductions/": "counterexamples on real brokers, by `python -m tests.tools.publish.reproductions`",
    "rescue-read.md": "five incidents, as a reader who had not seen the tool acted on them",
    "observed-runs.md": "seeded fault runs of real clusters, by `python -m tests.tools.publish.observed_runs`",
    "proofs.json": "the answers of `proofs.md`, with what each depends on",
    "made.json": "what `python -m tests.tools.publish` made, when and of what",
    "draft-reports.md": "findings for the Kafka project, written by hand",
}
"""What is published beside them: records of real clusters, and prose."""
