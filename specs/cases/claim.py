"""Sentences about Kafka from its documentation and books, each with the cases that decide whether it is true.

One TOML file for each source in `specs/claims/`.  A claim has a kind, which says how it is decided, and cases in roles:

- a *guarantee* (something is always so): it holds in `shows`; `breaks` violate it within the sentence's premises;
- a *possibility* (something can happen): `shows` are witnesses, which violate the property; `breaks` hold, so there is none;
- a *necessity* (something is needed): pairs, violated `without` it and holding `with` it;
- a *comparison* (one thing is better): pairs too, `without` the worse and `with` the better;
- a *definition* (a word, or what is so by construction): as a guarantee, of an invariant that checks the construction.

The two of a pair ask one property and differ in the keys `differs` only.  `limits` are what the sentence *silently* depends
on: outside them it is not so.  `premises` are settings that it states: every case keeps them, limits too.  The verdict follows
from what is found, never from the file; a case that does not play its role makes a claim different from what is expected.

What decides is a protocol that some version has, whole; only the proposed acks=min.insync.replicas is decided with the rules
it proposes.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import as_file, files
from pathlib import Path
from typing import Any

from neverlost.specs.cases.case import Case, read_document
from neverlost.specs.cases.scenario import scenarios
from neverlost.specs.configuration import choose as configuration_of
from neverlost.specs.configuration import keys
from neverlost.specs.configuration.input import TableReader
from neverlost.specs.errors import InputError, unknown

POSSIBILITY, NECESSITY, COMPARISON = "possibility", "necessity", "comparison"
KINDS = ("guarantee", POSSIBILITY, NECESSITY, COMPARISON, "definition")
PAIRED = (NECESSITY, COMPARISON)
HOLDS, ONLY_IF, VIOLATED, OUTSIDE = "holds", "only-if", "violated", "outside"
SHOWS, BREAKS, LIMITS, WITH, WITHOUT = ROLES = ("shows", "breaks", "limits", "with", "without")
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
    roles: Mapping[str, tuple[str, ...]]
    differs: tuple[str, ...] = ()
    premises: Mapping[str, Any] = field(default_factory=dict)
    outside: str = ""

    @property
    def cases(self) -> tuple[str, ...]:
        return tuple(name for names in self.roles.values() for name in names)

    @property
    def tests(self) -> tuple[str, ...]:
        """The names of the cases in every role but `limits`."""
        return tuple(name for role, names in self.roles.items() if role != LIMITS for name in names)

    @property
    def limits(self) -> tuple[str, ...]:
        return self.roles.get(LIMITS, ())

    def role_of(self, case: str) -> str:
        return next(role for role, names in self.roles.items() if case in names)

    def wanted(self, role: str) -> str:
        """Return the verdict, `holds` or `violated`, that a case in this role must have for the claim to be as it says."""
        claimed, refuted = ("violated", "holds") if self.kind == POSSIBILITY else ("holds", "violated")
        return {SHOWS: claimed, WITH: "holds", WITHOUT: "violated"}.get(role, refuted)

    def misplayed(self, found: Mapping[str, str]) -> list[str]:
        """Return the names of the claim's cases whose verdict in `found` is not the one that their role must have."""
        return [name for role, names in self.roles.items() for name in names if found[name] != self.wanted(role)]

    def verdict(self, found: Mapping[str, str]) -> str:
        """Return the claim's verdict, by the verdict that was `found` for each of its cases: `holds`, `only-if` (so, but not
        in a case of `limits`), `violated`, or `outside` where the models do not cover the claim."""
        if self.outside:
            return OUTSIDE
        within = self.roles.get(SHOWS, ()) + self.roles.get(BREAKS, ())
        if self.kind in PAIRED:
            is_so = not [name for name in self.misplayed(found) if self.role_of(name) in (WITH, WITHOUT)]
        elif self.kind == POSSIBILITY:
            is_so = any(found[name] == "violated" for name in within)
        else:
            is_so = all(found[name] == "holds" for name in within)
        if not is_so:
            return VIOLATED
        return ONLY_IF if any(found[name] == self.wanted(LIMITS) for name in self.limits) else HOLDS


@dataclass(frozen=True)
class Source:
    """A document and its claims."""

    id: str
    title: str
    claims: tuple[Claim, ...]


def list_cases() -> dict[str, Case]:
    return {f"{scenario.id}/{case.name}": case for scenario in scenarios().values() for case in scenario.cases}


def read_source(path: Path) -> Source:
    """Return the document that a file of claims is about, with these.  Errors: `InputError` for what is no list of claims."""
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
        kind=table.choice("kind", KINDS),
        expected=table.choice("expected", VERDICTS),
        roles={role: names for role in ROLES if (names := table.texts(role))},
        differs=table.texts("differs"),
        premises=table.flat("premises"),
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
        raise InputError(f"{table.where} needs either cases, or the reason why it is outside the models (expected = 'outside')")
    _require_roles(found, known, table.where)
    _require_premises(found, known, table.where)
    return found


def _require_roles(claim: Claim, known: Mapping[str, Case], where: str) -> None:
    """Check a claim's roles.  Errors: `InputError` for a role that its kind does not have, for both `shows` and `breaks` in a
    possibility, for a case in two roles, and where `with` and `without` do not make pairs."""
    fit = (WITH, WITHOUT, LIMITS) if claim.kind in PAIRED else (SHOWS, BREAKS, LIMITS)
    for role in claim.roles:
        if role not in fit:
            raise InputError(f"{role} in {where}: a {claim.kind} has {', '.join(fit)}")
    if len(set(claim.cases)) < len(claim.cases):
        raise InputError(f"a case of {where} has two roles: leave one of them out")
    if claim.kind == POSSIBILITY and claim.roles.get(SHOWS) and claim.roles.get(BREAKS):
        raise InputError(f"shows and breaks in {where}: one witness decides a possibility; what does not show it is a limit")
    pairs = claim.roles.get(WITHOUT, ()), claim.roles.get(WITH, ())
    if len(pairs[0]) != len(pairs[1]) or bool(claim.differs) != bool(pairs[0]):
        raise InputError(
            f"{where} needs as many cases with as without, and differs: the keys in which the two of a pair differ"
        )
    for names in zip(*pairs, strict=True):
        one, other = (known[name] for name in names)
        differing = {key for key in one.keys.keys() | other.keys.keys() if one.keys.get(key) != other.keys.get(key)}
        if one.property != other.property or not differing or not differing <= set(claim.differs):
            raise InputError(
                f"{names[0]} and {names[1]} of {where} are no pair: take one property, and settings that differ in "
                f"{', '.join(claim.differs)} only"
            )


def _require_premises(claim: Claim, known: Mapping[str, Case], where: str) -> None:
    """Errors: `InputError` for a case whose configuration, defaults included, has not what the sentence states.  No case in the
    role `limits` needs to have the key at all."""
    for name in claim.cases:
        configuration = _chosen(json.dumps(dict(known[name].keys)))
        for key, premise in claim.premises.items():
            if key not in configuration and claim.role_of(name) == LIMITS:
                continue  # of another model: beyond what the sentence states in any case
            value = str(keys.shown(configuration.get(key, "")))
            if not _keeps(value, premise):
                raise InputError(
                    f"{name} of {where} has {key}={value}, but the sentence states {key}={premise}: take another case"
                )


@cache
def _chosen(text: str) -> Mapping[str, Any]:
    """Return the whole configuration of a case's keys (JSON text), defaults included."""
    return configuration_of.choose({key: (value, "a case") for key, value in json.loads(text).items()}).configuration


def _keeps(value: str, premise: Any) -> bool:
    """Return True if a value is the premise (upper or lower case), one of its list, or in its range: `2..`, `..1`, `0..1`."""
    if isinstance(premise, list):
        return any(_keeps(value, each) for each in premise)
    text = {True: "true", False: "false"}.get(premise, str(premise)) if isinstance(premise, bool) else str(premise)
    low, dots, high = text.partition("..")
    if dots:
        return value.isdigit() and int(low or 0) <= int(value) <= int(high or value)
    return value.lower() == text.lower()


@cache
def sources() -> dict[str, Source]:
    with as_file(files("neverlost.specs") / "claims") as folder:
        return {path.stem: read_source(path) for path in sorted(folder.glob("*.toml"))}


def choose_claims(ids: list[str]) -> list[Claim]:
    """Return the claims of the named documents, the named claims, or all.  Errors: `InputError` for an unknown name."""
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
