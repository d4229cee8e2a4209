"""Functions of the engine and the laboratory are verbs: none is called by a participle alone, or begins with one."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
ROOMS = (ROOT / "checker" / "engine", ROOT / "checker" / "kafka")
ELSEWHERE = ROOT / "checker" / "kafka" / "conform"

WORDS = "asked chosen done drawn found given held kept known left lost made said seen sent shown taken told"
IRREGULAR = frozenset(re.findall(r"\w+", WORDS))
VERBS = frozenset({"embed", "exceed", "feed", "need", "proceed", "seed"})
CALLED_ELSEWHERE = {"undecided"}
"""What other rooms call so."""


def functions(tree: ast.Module) -> Iterator[ast.FunctionDef]:
    """Yield functions and methods that are no properties: a property is a value, and has a noun."""
    for scope in ast.walk(tree):
        for each in scope.body if isinstance(scope, ast.Module | ast.ClassDef) else []:
            if isinstance(each, ast.FunctionDef) and not any("property" in ast.unparse(one) for one in each.decorator_list):
                yield each


def is_participle(name: str) -> bool:
    first = name.strip("_").partition("_")[0]
    return first in IRREGULAR or (first.endswith("ed") and first not in VERBS)


def test_no_function_is_named_by_a_participle() -> None:
    files = [each for room in ROOMS for each in room.rglob("*.py") if not each.is_relative_to(ELSEWHERE)]
    wrong = [
        f"{file.relative_to(ROOT)}: {each.name}"
        for file in files
        for each in functions(ast.parse(file.read_text(encoding="utf-8")))
        if is_participle(each.name) and each.name not in CALLED_ELSEWHERE
    ]
    assert len(files) > 100 and wrong == []


@pytest.mark.parametrize("name", ["described", "_found", "known_epochs", "allowed_memory", "kept"])
def test_participles_are_recognised(name: str) -> None:
    assert is_participle(name)


@pytest.mark.parametrize("name", ["describe", "find_known_epochs", "_feed", "is_allowed", "read_log"])
def test_verbs_are_none(name: str) -> None:
    assert not is_participle(name)
