"""Where functions and classes are written, as syntax trees, and which names a scope binds."""

from __future__ import annotations

import ast
import linecache
import sys
from collections.abc import Iterator
from functools import cache
from types import FunctionType
from typing import Any

FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
_ELSEWHERE = (ast.Global, ast.Nonlocal)
_SCOPES = (*FUNCTIONS, *COMPREHENSIONS, ast.ClassDef)

SKIPPED = frozenset({"annotation", "returns", "type_comment", "type_params", "ctx", "kind"})
"""Fields of nodes that change nothing in what is done."""

Scopes = tuple[frozenset[str], ...]
"""The names that are bound in each scope that is seen from a place."""


class _ClassNames(frozenset[str]):
    """What a class binds: it is not seen from the functions in it."""


@cache
def _parse_module(file: str, module: str) -> ast.Module:
    """Return a module's syntax tree; without statements where the source is not to be had."""
    found = sys.modules.get(module)
    return ast.parse("".join(linecache.getlines(file, vars(found) if found else None)))


def find_definitions(function: FunctionType) -> list[Any]:
    """Return the nodes at which a function may be written: one, unless several on a line cannot be distinguished.

    Without a source there is none.
    """
    line, name = function.__code__.co_firstlineno, function.__code__.co_name
    if name == "<lambda>":
        return _find_lambdas(function)
    return [each for each in _find_around(function) if getattr(each, "name", None) == name and _find_first_line(each) == line]


def _find_lambdas(function: FunctionType) -> list[Any]:
    """Return, of the lambdas that begin on the function's line, the innermost that contain what the code was made of."""
    code = function.__code__
    spans = [each for each in code.co_positions() if None not in each and each[3] != each[2]]
    start = min(((each[0] or 0, each[2] or 0) for each in spans), default=(code.co_firstlineno, 0))
    end = max(((each[1] or 0, each[3] or 0) for each in spans), default=start)
    found = [each for each in _find_around(function) if isinstance(each, ast.Lambda) and each.lineno == code.co_firstlineno]
    around = [each for each in found if _get_begin(each.body) <= start and end <= _get_end(each.body)] or found
    innermost = max((_get_begin(each.body) for each in around), default=None)
    return [each for each in around if _get_begin(each.body) == innermost]


def _find_around(function: FunctionType) -> list[Any]:
    """Return the nodes of all functions in the module's top-level statement in which a function begins; only the statement if
    it is the function itself; an empty list if no statement is found."""
    line, name = function.__code__.co_firstlineno, function.__code__.co_name
    for statement in _parse_module(function.__code__.co_filename, function.__globals__["__name__"]).body:
        if line == _find_first_line(statement) and getattr(statement, "name", None) == name:
            return [statement]
        if _find_first_line(statement) <= line <= (statement.end_lineno or statement.lineno):
            return [each for each in ast.walk(statement) if isinstance(each, FUNCTIONS)]
    return []


def find_class(found: type) -> ast.ClassDef | None:
    """Return the node at which a class is written; None where that, or the source, is not found."""
    module = sys.modules[found.__module__]
    body: list[ast.stmt] = _parse_module(module.__file__ or "", module.__name__).body
    node = None
    for name in found.__qualname__.split("."):
        if name != "<locals>":
            node = next((each for each in body if isinstance(each, ast.ClassDef | ast.FunctionDef) and each.name == name), None)
            body = node.body if node is not None else []
    return node if isinstance(node, ast.ClassDef) else None


def _find_first_line(node: Any) -> int:
    """Return the line on which a definition begins, its decorators included."""
    lines: list[int] = [node.lineno, *(each.lineno for each in getattr(node, "decorator_list", ()))]
    return min(lines)


def _get_begin(node: Any) -> tuple[int, int]:
    return node.lineno, node.col_offset


def _get_end(node: Any) -> tuple[int, int]:
    return node.end_lineno, node.end_col_offset


def extend_scopes(scope: ast.AST, scopes: Scopes) -> Scopes:
    """Return the scopes that are seen from inside a scope: those around it that are no classes, and its own names."""
    names = _find_bound(scope)
    outer = tuple(each for each in scopes if not isinstance(each, _ClassNames))
    return (*outer, _ClassNames(names) if isinstance(scope, ast.ClassDef) else names)


def _find_bound(scope: ast.AST) -> frozenset[str]:
    """Return the names that a scope binds itself: parameters, and what it assigns, imports or defines; none declared global."""
    found: set[str] = set()
    declared: set[str] = set()
    waiting = [*_list_children(scope)]
    while waiting:
        node = waiting.pop()
        found |= _find_bound_by(node)
        if isinstance(node, _ELSEWHERE):
            declared |= set(node.names)
        elif isinstance(node, COMPREHENSIONS):
            found |= {each.target.id for each in ast.walk(node) if isinstance(each, ast.NamedExpr)}
        elif not isinstance(node, _SCOPES):
            waiting += _list_children(node)
    return frozenset(found - declared)


def _find_bound_by(node: ast.AST) -> set[str]:
    if isinstance(node, ast.Name):
        return set() if isinstance(node.ctx, ast.Load) else {node.id}
    if isinstance(node, ast.arg):
        return {node.arg}
    if isinstance(node, ast.alias):
        return {(node.asname or node.name).partition(".")[0]}
    name = getattr(node, "name", None) or getattr(node, "rest", None)
    return {name} if isinstance(name, str) else set()


def _list_children(node: ast.AST) -> Iterator[ast.AST]:
    for name in node._fields:
        value = None if name in SKIPPED else getattr(node, name, None)
        if isinstance(value, list):
            yield from (each for each in value if isinstance(each, ast.AST))
        elif isinstance(value, ast.AST):
            yield value
