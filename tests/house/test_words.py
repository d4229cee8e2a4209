"""The field's words: the glossary's terms are used, private words are not, and a class name is defined once."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
ROOMS = ("model", "specs", "checker", "reports")
SOURCES = {path: path.read_text(encoding="utf-8") for room in ROOMS for path in sorted((ROOT / room).rglob("*.py"))}

PRIVATE = {
    "GaveOut|given_out": "ResourceExhausted, classify_exhaustion",
    "Spot|spots": "FaultBudget, fault_budgets",
    "Scene|Lane": "ClusterSnapshot, BrokerView",
    "goes_on|asks_a_stranger|nowhere": "is_not_elected, last_known_leader_unassigned, no_brokers",
    "may_strike|strike": "fault_enabled, record_fault",
    "Looked|EverySize|Closed|Open": "ReachabilityCheck, ParametricEncoding, BoundedEncoding, UnboundedEncoding",
    "Pieces|Member|Share": "Arena, Worker, Shard",
    "Judge|Judged|Judgement": "an oracle, a case result, a gate verdict or a history verdict",
    "Holds|Saved|Seen|Found|Asked": "what it is: traffic blocks, a saved counterexample, an observation, a result, a query",
}
"""Names that only this project used, and what the field calls the thing."""


def names(text: str) -> set[str]:
    """The names of a module's classes and functions."""
    kinds = (ast.ClassDef, ast.FunctionDef)
    return {each.name for each in ast.walk(ast.parse(text)) if isinstance(each, kinds)}


def test_private_words_are_no_names() -> None:
    wrong = [
        f"{path.relative_to(ROOT)}: {name}; say {instead}"
        for path, text in SOURCES.items()
        for name in names(text)
        for words, instead in PRIVATE.items()
        if re.fullmatch(words, name)
    ]
    assert not wrong, "\n" + "\n".join(wrong)


def test_a_class_name_is_defined_once() -> None:
    places = defaultdict(list)
    for path, text in SOURCES.items():
        for each in ast.walk(ast.parse(text)):
            if isinstance(each, ast.ClassDef):
                places[each.name].append(str(path.relative_to(ROOT)))
    assert {name: found for name, found in places.items() if len(found) > 1} == {}


def test_the_glossary_s_terms_are_used() -> None:
    glossary = (ROOT / "reports" / "guide" / "glossary.md").read_text(encoding="utf-8")
    terms = re.findall(r"^\| ([a-z][^|]*) \| [^|]+ \|$", glossary, re.MULTILINE)
    pages = (each.read_text(encoding="utf-8") for each in (ROOT / "reports").rglob("[!g]*.md"))
    written = "\n".join([*SOURCES.values(), *pages])
    squeezed = re.sub(r"[_\s]+", " ", re.sub(r"(?<=[a-z])(?=[A-Z])", " ", written)).lower()
    missing = [each for term in terms if term != "term" for each in term.split(", ") if each.split()[-1] not in squeezed]
    assert len(terms) > 20 and missing == []
