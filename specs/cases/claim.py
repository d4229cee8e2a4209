"""Sentences about Kafka from its documentation and books, each with the cases that decide whether it is true.

One TOML file for each source in `specs/claims/`.  A claim is a `guarantee` (something never happens) or a `possibility`
(something can happen).  Its `tests` are scenario cases within the conditions that its source states; its `limits` are cases
beyond them, which show what it silently depends on.  The verdict follows from what is found, never from the file.  What decides
is a protocol that some version has, whole; only the proposed acks=min.insync.replicas is decided with the rules it proposes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import as_file, files
from pathlib import Path

from neverlost.specs.cases.case import Case, read_document
from neverlost.specs.cases.scenario import scenarios
from neverlost.specs.configuration.input import TableReader
from neverlost.specs.errors import InputError, unknown

KINDS = ("guarantee", "possibility")
HOLDS, ONLY_IF, VIOLATED, OUTSIDE = "holds", "only-if", "violated", "outside"
VERDICTS = (HOLDS, ONLY_IF, VIOLATED, OUTSIDE)

LONGEST_QUOTE = 140
"""Characters of a sentence that a claim may quote; what is longer is paraphrased."""


@dataclass(frozen=True)
class Claim:
    """One sentence: where it stands, what it says, what is true, and the cases (by `scenario/case`) that decide it.

    `says` are the source's own words where `is_quoted`, else ours for them.
    """

    id: str
    line: str
    says: str
    is_quoted: bool
    truth: str
    kind: str
    expected: str
    tests: tuple[str, ...]
    limits: tuple[str, ...]
    outside: str = ""

    @property
    def cases(self) -> tuple[str, ...]:
        return self.tests + self.limits

    def verdict(self, found: Mapping[str, str]) -> str:
        """What the verdicts of the cases (by `scenario/case`) make of the claim: violated by a test, limited by a limit."""
        if self.outside:
            return OUTSIDE
        claimed = "holds" if self.kind == "guarantee" else "violated"
        if any(found[each] != claimed for each in self.tests):
            return VIOLATED
        return ONLY_IF if any(found[each] != claimed for each in self.limits) else HOLDS


@dataclass(frozen=True)
class Source:
    """A document and its claims."""

    id: str
    title: str
    claims: tuple[Claim, ...]


def list_cases() -> dict[str, Case]:
    return {f"{scenario.id}/{case.name}": case for scenario in scenarios().values() for case in scenario.cases}


def read_source(path: Path) -> Source:
    """Return the claims of one file.

    Errors: `InputError` for anything that is not a list of claims.
    """
    document = read_document(path, "claims")
    title = document.text("title")
    known = list_cases()
    found: list[Claim] = []
    for number, table in enumerate(document.tables("claim"), 1):
        found.append(_parse_claim(TableReader(table, f"claim {number} of {document.where}"), path.stem, known))
        if found[-1].id in {each.id for each in found[:-1]}:
            raise InputError(f"two claims {found[-1].id!r} in {document.where}: rename one")
    document.end()
    return Source(path.stem, title, tuple(found))


def _parse_claim(table: TableReader, source: str, known: Mapping[str, Case]) -> Claim:
    name = table.text("id")
    table.where = f"claim {name!r} of {table.where.partition(' of ')[2]}"
    quote, paraphrase = table.text("quote", ""), table.text("paraphrase", "")
    found = Claim(
        id=f"{source}/{name}",
        line=table.text("line"),
        says=quote or paraphrase,
        is_quoted=bool(quote),
        truth=table.text("truth"),
        kind=table.choice("kind", KINDS, "guarantee"),
        expected=table.choice("expected", VERDICTS),
        tests=table.texts("tests"),
        limits=table.texts("limits"),
        outside=table.text("outside", ""),
    )
    table.end()
    for each in found.cases:
        if each not in known:
            raise unknown("case", each, known, table.where)
    if bool(quote) == bool(paraphrase):
        raise InputError(f"{table.where} needs either a quote, in its source's words, or a paraphrase")
    if len(quote) > LONGEST_QUOTE:
        raise InputError(f"quote in {table.where} has {len(quote)} characters; quote at most {LONGEST_QUOTE}")
    if bool(found.tests) == bool(found.outside) or bool(found.outside) != (found.expected == OUTSIDE):
        raise InputError(f"{table.where} needs either tests, or the reason why it is outside the models (expected = 'outside')")
    return found


@cache
def sources() -> dict[str, Source]:
    with as_file(files("neverlost.specs") / "claims") as folder:
        return {path.stem: read_source(path) for path in sorted(folder.glob("*.toml"))}


def choose_claims(ids: list[str]) -> list[Claim]:
    """Return the claims of the named documents, the named claims, or all.

    Errors: `InputError` for a name that does not exist.
    """
    every = {claim.id: claim for source in sources().values() for claim in source.claims}
    if not ids:
        return list(every.values())
    found: dict[str, Claim] = {}
    for name in ids:
        if name in sources():
            found |= {claim.id: claim for claim in sources()[name].claims}
        elif name in every:
            found[name] = every[name]
        else:
            raise unknown("claim", name, [*sources(), *every])
    return list(found.values())
