"""Would the models have found Kafka's own fixes?  `python -m tests.tools.publish.rediscovery --out reports/published`.

Each fix of `rediscovery.toml` is taken out of the newest rules, and one grid of configurations, the same for all, is searched
for a property that breaks there and holds with the fix.  No property and no configuration is named for a fix.  `--short`
searches a part of the grid, which is what CI runs; `--only ID` examines single fixes.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations_with_replacement, groupby, product
from pathlib import Path
from typing import Any

from neverlost.checker.engine.host.whole_files import write_text
from neverlost.checker.questions.necessity.necessity import Need, Profile, Variant, VariantVerdict, judged, profiles
from neverlost.checker.questions.search_questions import SearchQuestion
from neverlost.model.system import System, bind
from neverlost.reports.wording.sentences import fault_words, sorted_faults
from neverlost.specs.cases.case import read_document
from neverlost.specs.configuration.choose import choose
from neverlost.specs.configuration.input import TableReader
from neverlost.specs.defects import FIXES
from neverlost.specs.properties import properties
from neverlost.specs.property import Property

PLAN = Path(__file__).with_suffix(".toml")
SECONDS_EACH = 300.0
SHORT = 2
"""How many replicas, and how many faults together, the short form tries."""

Keys = Mapping[str, Any]


@dataclass(frozen=True)
class Fix:
    """One fix: what its report names, and either the keys that take it out or what the models would need to show it."""

    id: str
    fixed: str
    merged: str
    names: str
    off: Keys
    missing: str


@dataclass(frozen=True)
class Plan:
    """The fixes, the configurations in which each is looked for (fewest faults first), and the properties beyond guarantees."""

    fixes: tuple[Fix, ...]
    grid: tuple[Keys, ...]
    properties: tuple[str, ...]


def read_plan(path: Path = PLAN) -> Plan:
    """The plan of a data file.

    Errors: `InputError` for anything that is not a plan.
    """
    document = read_document(path, "rediscovery plan")
    models, asked = document.texts("models"), document.texts("properties")
    base = dict.fromkeys(FIXES, "on") | document.flat("base")
    parts = [TableReader(each, f"grid {number} of {document.where}") for number, each in enumerate(document.tables("grid"), 1)]
    cells = [cell for part in parts for cell in _cells(part, models, base)]
    fixes = [
        _fix(TableReader(each, f"fix {number} of {document.where}")) for number, each in enumerate(document.tables("fix"), 1)
    ]
    document.end()
    return Plan(tuple(fixes), tuple(sorted(cells, key=_faults)), asked)


def _fix(table: TableReader) -> Fix:
    texts = {each: table.text(each) for each in ("id", "fixed", "merged", "names")}
    found = Fix(**texts, off=table.flat("off"), missing=table.text("missing", ""))
    table.end()
    return found


def _cells(part: TableReader, models: Sequence[str], base: Keys) -> Iterator[Keys]:
    shapes, kinds, always = part.texts("shapes"), part.texts("kinds"), part.texts("with")
    most = part.number("together") or 0
    part.end()
    chosen = [each for number in range(most + 1) for each in combinations_with_replacement(kinds, number)]
    for faults, shape, model in product(chosen, shapes, models):
        replicas, min_isr, records = map(int, shape.split())
        sizes = {"replication.factor": replicas, "min.insync.replicas": min_isr, "bounds.records": records}
        limits = {f"faults.{kind}": (*faults, *always).count(kind) for kind in dict.fromkeys((*faults, *always))}
        yield {**base, "eligible.leader.replicas": model == "kraft-elr", **sizes, **limits}


def _faults(keys: Keys) -> int:
    return sum(int(count) for key, count in keys.items() if key.startswith("faults."))


def shortened(plan: Plan) -> Plan:
    """The plan with the part of its grid that CI has time for."""
    few = [each for each in plan.grid if each["replication.factor"] <= SHORT and _faults(each) <= SHORT]
    return Plan(plan.fixes, tuple(few), plan.properties)


def system_of(keys: Keys) -> System:
    """The system of one configuration."""
    chosen = choose({key: (value, PLAN.name) for key, value in keys.items()})
    return bind(chosen.model, chosen.configuration)


def standard(plan: Plan) -> list[Property]:
    """What is asked everywhere: the guarantees of the models and the plan's own."""
    guaranteed = [name for keys in plan.grid[:1] for name in system_of(keys).model.guarantees]
    return [properties()[name] for name in dict.fromkeys((*guaranteed, *plan.properties))]


def variant_of(fix: Fix, plan: Plan, kept: Sequence[Profile]) -> Variant:
    """The grid without a fix; a configuration in which nothing holds anyway is left out."""
    left = [(number, profile.question.properties) for number, profile in enumerate(kept) if profile.question.properties]
    return Variant(
        "fix", fix.id, tuple((n, SearchQuestion(system_of({**plan.grid[n], **fix.off}), asked)) for n, asked in left)
    )


def rediscovered(plan: Plan, workers: int | None) -> list[tuple[Fix, VariantVerdict | None]]:
    """Each fix with what switching it off does; None for one that the models cannot show yet.  What is found with few faults is
    not looked for with more."""
    found: dict[str, VariantVerdict] = {}
    before = 0
    for faults, cells in groupby(plan.grid, _faults):
        part = replace(plan, grid=tuple(cells))
        left = [each for each in plan.fixes if each.off and not is_found(found.get(each.id))]
        if left:
            kept = profiles([(str(number), system_of(keys)) for number, keys in enumerate(part.grid)], standard(plan), workers)
            _note(f"{len(kept)} configurations with {faults} faults and every fix explored")
            variants = [variant_of(each, part, kept) for each in left]
            for fix, each in zip(left, judged(kept, variants, workers, seconds_each=SECONDS_EACH), strict=True):
                known = found.get(fix.id)
                if known is None or RANK.index(each.need) < RANK.index(known.need):
                    found[fix.id] = replace(each, profile=None if each.profile is None else before + each.profile)
                _note(f"{fix.id}: {each.need}")
        before += len(part.grid)
    return [(each, found.get(each.id)) for each in plan.fixes]


RANK = (Need.NEEDED, Need.STRUCTURAL, Need.UNDECIDED, Need.UNNEEDED, Need.IDLE)
"""What several configurations say together is the first of these that one of them says."""


def _note(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def is_found(judgement: VariantVerdict | None) -> bool:
    """Whether a property broke that holds with the fix."""
    return judgement is not None and judgement.need is Need.NEEDED


def page(plan: Plan, found: Sequence[tuple[Fix, VariantVerdict | None]]) -> str:
    """The published page."""
    shown = sum(is_found(judgement) for _, judgement in found)
    able, every = sum(bool(fix.off) for fix in plan.fixes), len(plan.fixes)
    lines = [
        "# Kafka's own fixes, found again",
        "",
        f"{every} fixes of 2021 to 2026 whose report names a loss. The models have the rule of {able}; without it {shown} of",
        f"these are found: {shown} of {able} within the models, {shown} of {every} in all. One grid of {len(plan.grid)}",
        "configurations for every fix, and one list of properties; none is named for a fix. Made by",
        "`python -m tests.tools.publish.rediscovery`;",
        "the list is [rediscovery.toml](../../tests/tools/publish/rediscovery.toml).",
        "",
        "| fix | fixed in | what its report names | without it | where |",
        "| --- | --- | --- | --- | --- |",
    ]
    lines += ["| " + " | ".join(_row(plan, fix, judgement)) + " |" for fix, judgement in found]
    return "\n".join(lines) + "\n"


def _row(plan: Plan, fix: Fix, judgement: VariantVerdict | None) -> tuple[str, ...]:
    named = fix.id, fix.fixed, fix.names
    if judgement is None:
        return *named, "outside the models", f"needs {fix.missing}"
    if judgement.profile is None or judgement.answer is None or not is_found(judgement):
        return *named, f"**not found** ({judgement.need})", "nowhere on the grid"
    return *named, f"{judgement.answer.broken} violated in {judgement.answer.steps} steps", _place(plan.grid[judgement.profile])


def _place(keys: Keys) -> str:
    model = "kraft-elr" if keys["eligible.leader.replicas"] else "kraft"
    sizes = f"RF {keys['replication.factor']}, min ISR {keys['min.insync.replicas']}, records {keys['bounds.records']}"
    faults = sorted_faults({key: int(value) for key, value in keys.items() if key.startswith("faults.")})
    return f"{model}, {sizes}, {fault_words(faults)}"


def main() -> int:
    """Run the campaign; 0 when 90% of the fixes are found."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, help="write rediscovery.md there")
    parser.add_argument("--short", action="store_true", help="the part of the grid that CI has time for")
    parser.add_argument("--only", action="append", default=[], metavar="ID", help="examine this fix (repeatable)")
    parser.add_argument("--workers", type=int)
    given = parser.parse_args()
    plan = shortened(read_plan()) if given.short else read_plan()
    if given.only:
        plan = Plan(tuple(each for each in plan.fixes if each.id in given.only), plan.grid, plan.properties)
    found = rediscovered(plan, given.workers)
    text = page(plan, found)
    print(text)
    if given.out is not None:
        write_text(given.out / "rediscovery.md", text)
    return 0 if 10 * sum(is_found(judgement) for _, judgement in found) >= 9 * len(found) else 21


if __name__ == "__main__":
    sys.exit(main())
