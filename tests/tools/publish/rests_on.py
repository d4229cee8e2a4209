"""What each published verdict rests on, gathered from what is published: `python -m tests.tools.publish.rests_on`.

Nothing here is typed by hand: counts are those of the pages, of the tries and of the table of TLC's counts.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from neverlost.model.protocols import models
from neverlost.specs.cases.claim import list_cases
from neverlost.specs.configuration.choose import choose_each, read_settings
from tests.tools.publish.reproductions import CASES, tries

ROOT = Path(__file__).resolve().parents[3]
PUBLISHED = ROOT / "reports" / "published"
NOTHING = "-"

COMPARED = {"transactions": ("transactions",), "quorum": ("kraft-quorum",)}
"""Which models a part of `conform` is about; the others are about these."""
MODERN = ("kraft", "kraft-elr")

AGREES = re.compile(r"^Kafka (?P<version>[\d.]+) and the model agree \((?P<calls>[\d,]+) calls", re.MULTILINE)
PART = re.compile(r"^\| (?P<part>[a-z-]+) \| [\d,]+ \| [\d,]+ \| [\d,]+ \| (?P<calls>[\d,]+) \| [\d,]+ \|$", re.MULTILINE)


def number(text: str) -> int:
    """A number as a page prints it."""
    return int(text.replace(",", ""))


def classes() -> dict[str, dict[str, int]]:
    """How many calls of Kafka's own classes agree with each model, by version; a page that does not agree is left out."""
    found: dict[str, dict[str, int]] = {}
    for page in sorted((PUBLISHED / "conform").glob("conform-*.md")):
        text = page.read_text()
        agrees = AGREES.search(text)
        for part in PART.finditer(text) if agrees else ():
            for model in COMPARED.get(part["part"], MODERN):
                of_version = found.setdefault(model, {})
                of_version[agrees["version"]] = of_version.get(agrees["version"], 0) + number(part["calls"])  # type: ignore[index]
    return found


def foreign_counts() -> dict[str, list[dict[str, Any]]]:
    """What TLC counted of each model's exported module."""
    found: dict[str, list[dict[str, Any]]] = {}
    for each in tomllib.loads((ROOT / "tests" / "data" / "tlc_counts.toml").read_text())["count"]:
        found.setdefault(each["model"], []).append(each)
    return found


def proofs() -> list[tuple[list[str], dict[str, Any]]]:
    """The proofs that closed: the cells of a row, and what was found."""
    found = json.loads((PUBLISHED / "proofs.json").read_text())
    rows = (([cell.strip() for cell in row.strip("| ").split(" | ")], each) for row, each in found.items())
    return [(cells, each) for cells, each in rows if each["verdict"] == "holds" and not each["open"]]


def second_solver(found: dict[str, Any]) -> str:
    """Who decided the obligations of a proof again, and how many of them."""
    second = found.get("second") or {}
    parts = [("cvc5", "cvc5"), ("z3", "z3 otherwise"), ("checked", "ethos, which is no solver")]
    return ", ".join(f"{words} {second[name]:,}" for name, words in parts if second.get(name)) or NOTHING


def on_brokers() -> dict[str, tuple[int, int]]:
    """Tries on running brokers that came out as expected, and all, by the model whose counterexample was followed."""
    found: dict[str, tuple[int, int]] = {}
    for case in CASES:
        path = PUBLISHED / "reproductions" / case.name / "tries.json"
        for each in tries(path) if path.exists() else ():
            expected, every = found.get(each["model"], (0, 0))
            found[each["model"]] = expected + case.is_expected(each), every + 1
    return found


def corpus() -> dict[str, int]:
    """How many cases with an expected verdict each model has."""
    found: dict[str, int] = {}
    for case in list_cases().values():
        for each in {one.model.name for one in choose_each(read_settings(case.keys))}:
            found[each] = found.get(each, 0) + 1
    return found


def by_model() -> Iterator[Iterable[str]]:
    """A row for each model that something outside has judged, or that the corpus asks about."""
    yield "model", "cases of the corpus", "TLC's counts, the largest", "proofs", "calls of Kafka's classes", "tries on brokers"
    of_classes, of_tlc, of_proofs, of_brokers, of_corpus = classes(), foreign_counts(), proofs(), on_brokers(), corpus()
    for name in models():
        counts = of_tlc.get(name, [])
        of_versions = of_classes.get(name, {})
        expected, every = of_brokers.get(name, (0, 0))
        proved = sum(cells[0] == name for cells, _ in of_proofs)
        row = (
            str(of_corpus.get(name, NOTHING)),
            f"{len(counts)}, {max(each['distinct'] for each in counts):,} states" if counts else NOTHING,
            str(proved or NOTHING),
            ", ".join(f"{version}: {calls:,}" for version, calls in of_versions.items()) or NOTHING,
            f"{expected} of {every}" if every else NOTHING,
        )
        if any(each != NOTHING for each in row):
            yield (f"`{name}`", *row)


def by_page() -> Iterator[Iterable[str]]:
    """A row for each published page whose verdicts depend on a model: what judged those models."""
    yield "page", "its models", "judged from outside"
    of_classes, of_tlc, of_brokers = classes(), foreign_counts(), on_brokers()
    for page, made in json.loads((PUBLISHED / "made.json").read_text()).items():
        asked = [name for name in models() if name in made["made_of"]]
        if not asked or page.startswith(("conform/", "guide/", "rests-on")):
            continue
        judges = {
            "TLC": [each for each in asked if each in of_tlc],
            "Kafka's classes": [each for each in asked if each in of_classes],
            "brokers": [each for each in asked if each in of_brokers],
        }
        without = [each for each in asked if not any(each in names for names in judges.values())]
        says = [f"{judge}: {', '.join(names)}" for judge, names in judges.items() if names]
        yield (
            f"[{page}]({page})",
            ", ".join(asked),
            "; ".join([*says, *([f"nobody: {', '.join(without)}"] if without else [])]),
        )


def by_proof() -> Iterator[Iterable[str]]:
    """A row for each proof: its obligations, and who decided them again."""
    yield "model", "property", "replicas", "bounds", "faults", "obligations", "decided again by"
    for cells, found in proofs():
        yield (*cells, f"{found['obligations']:,}", second_solver(found))


def table(rows: Iterable[Iterable[str]]) -> str:
    """Rows as Markdown; the first has the titles."""
    first, *rest = (list(each) for each in rows)
    return "\n".join(f"| {' | '.join(each)} |" for each in [first, ["---"] * len(first), *rest])


PAGE = """# What rests on what

Made by `python -m tests.tools.publish.rests_on` from the pages beside it; nothing is typed by hand.

Every published verdict is this tool's own search or proof. Every counterexample of it is taken again, step by step, by the
interpreter that defines the actions (`neverlost verify`), and the tests compare the searches on columns, in compiled code, on
disk and on Spark with that interpreter. So these agree by one definition of the actions. What follows is what judged that
definition from outside: TLC, which counts the exported module; solvers that decide a proof's obligations again; Kafka's own
classes; Kafka's brokers. A dash says that nobody did. A call that compares the ISR and its leader counts for `kraft` and for
`kraft-elr`, whose actions are the same.

## By model

{by_model}

## By page

A judge of a model has seen the settings that it was asked about, and not each one of a page.

{by_page}

## By proof

{by_proof}
"""


def main() -> None:
    """Print the page."""
    print(PAGE.format(by_model=table(by_model()), by_page=table(by_page()), by_proof=table(by_proof())), end="")


if __name__ == "__main__":
    main()
