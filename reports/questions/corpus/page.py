"""The claims as a Markdown page: every sentence with its verdict, and links to the cases that decided it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from neverlost.specs.cases.claim import sources

WORDS = {"holds": "holds", "only-if": "only if", "violated": "**violated**", "outside": "outside the models"}
ROLE_WORDS = {"shows": "shown by", "breaks": "broken by", "limits": "limited by", "with": "with", "without": "without"}
PLACE = "../../specs"
"""Where the cases are, from `reports/published/`."""


def claims_page(document: Mapping[str, Any]) -> str:
    counts = document["counts"]
    lines = [
        "# Sentences about Kafka, checked",
        "",
        f"{counts['claims']} claims: {counts['holds']} hold, {counts['only-if']} hold only under conditions that they leave "
        f"out, {counts['violated']} are violated, {counts['outside']} are outside the models; {counts['undecided']} undecided, "
        f"{counts['different']} different from what is expected. Made by `neverlost claims --out DIR`, neverlost "
        f"{document['version']}; `neverlost claims ID` checks one again. Between quotation marks are a "
        "source's own words; the others are paraphrased. A guarantee is shown by searches that hold, a possibility by a "
        "witness, a necessity and a comparison by pairs of which one is violated and one holds, a definition by an invariant "
        "that checks what is so by construction.",
    ]
    by_source: dict[str, list[Mapping[str, Any]]] = {}
    for claim in document["claims"]:
        by_source.setdefault(claim["id"].partition("/")[0], []).append(claim)
    for name, claims in by_source.items():
        lines += ["", f"## {sources()[name].title}", "", f"[`{name}`]({PLACE}/claims/{name}.toml)", ""]
        lines += ["| claim | line | says | kind | verdict | what is true | decided by |", "|" + " --- |" * 7]
        lines += [_row(each) for each in claims]
    return "\n".join(lines) + "\n"


def claim_sentence(says: str, is_quoted: bool) -> str:
    """Return the sentence of a claim, in quotation marks if it is quoted word for word."""
    return f"\u201c{says}\u201d" if is_quoted else says


def _row(claim: Mapping[str, Any]) -> str:
    verdict = WORDS.get(str(claim["verdict"]), "undecided")
    if claim["verdict"] not in (claim["expected"], None):
        verdict += f" ({WORDS[claim['expected']]} was expected)"
    verdict += "".join(f"; {each}" for each in claim["misplayed"])
    decided = claim["outside"] or "; ".join(_cases(claim))
    cells = [
        claim["id"].partition("/")[2],
        claim["line"],
        claim_sentence(claim["says"], claim["quoted"]),
        claim["kind"],
        verdict,
        claim["truth"],
        decided,
    ]
    return "| " + " | ".join(str(each).replace("|", "\\|").replace("\n", " ") for each in cells) + " |"


def _cases(claim: Mapping[str, Any]) -> Iterator[str]:
    """Yield the premises, if there are any, then each case's role, link and verdict."""
    premises = ", ".join(f"{key}={value}" for key, value in claim["premises"].items())
    if premises:
        yield f"stated: {premises}"
    for each in [*claim["tests"], *claim["limits"]]:
        scenario, _, case = each["case"].partition("/")
        steps = f" in {each['steps']} steps" if each["steps"] else ""
        yield f"{ROLE_WORDS[each['role']]} [{scenario}/{case}]({PLACE}/scenarios/{scenario}.toml) {each['verdict']}{steps}"
