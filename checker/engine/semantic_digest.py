"""What values, functions and classes mean, as one text: equal texts, equal behaviour.

The meaning of a function is its syntax tree without comments, docstrings, annotations and positions, together with the meaning
of every function, class and constant that it reaches: through globals, closures, defaults and the attributes of modules.  So a
comment, a moved file and a renamed module or helper change nothing, and a changed guard, constant or default does.  Names of
actions, parameters, fields and guard clauses are meaning: configurations, traces and stored levels refer to them.

What Python itself and other distributions do is known by name only.  A value that no rule is about is an error: nothing that
could matter is left out in silence.
"""

from __future__ import annotations

import ast
import builtins
import importlib
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import fields, is_dataclass
from enum import Enum
from functools import partial
from types import BuiltinFunctionType, CodeType, FunctionType, MethodType, ModuleType
from typing import Any

from neverlost.checker.engine.source_definitions import (
    COMPREHENSIONS,
    FUNCTIONS,
    SKIPPED,
    Scopes,
    extend_scopes,
    find_class,
    find_definitions,
)

TEXTS = frozenset({"says", "one", "many", "words", "help", "summary", "source", "why", "failure"})
"""Attributes of declarations that only people read."""

IGNORED_ATTRIBUTES = (
    frozenset({"portrait", "guarantees", "contradiction", "can_be_left_out", "violated_by", "compares", "since", "until"})
    | TEXTS
)
"""Attributes that decide neither a reachable state nor what is asked of it: pictures, what is asked when nothing is said, which
steps a quick search leaves out, which version has a mechanism (a configuration names every one), and which configurations are
refused."""

_NAMES, _IMPORTS = (ast.Name, ast.Attribute), (ast.Import, ast.ImportFrom)
_REACHED = (type, FunctionType, BuiltinFunctionType, ModuleType)
_LITERALS = frozenset({str, bytes, int, float, complex, bool, type(None), type(Ellipsis)})

Resolve = Callable[[str], Any]
"""Returns what a name that is not local stands for, or `_UNBOUND`."""

_UNBOUND = object()
"""Stands for a name that means nothing yet."""


def describe_meaning(*values: Any) -> str:
    """Return values as text, with each function and class of ours in full once, then as a number; of others the name alone.

    Errors: `TypeError` for a value whose meaning cannot be determined.
    """
    found = _Meaning()
    for each in values:
        found.add(each)
    return "\n".join(found.tokens)


class _Meaning:
    def __init__(self) -> None:
        self.tokens: list[str] = []
        self._numbers: dict[int, int] = {}
        self._inside: set[int] = set()

    def add(self, value: Any) -> None:
        if isinstance(value, Enum):
            self._add_reached(type(value))
            self._say("member", value.name)
        elif type(value) in _LITERALS:
            self._say(type(value).__name__, repr(value))
        elif isinstance(value, _REACHED):
            self._add_reached(value)
        elif hasattr(value, "__wrapped__"):
            self._say("wrapped", type(value).__name__)
            self.add(value.__wrapped__)
        else:
            self._add_composed(value)

    def _say(self, *tokens: str) -> None:
        self.tokens += tokens

    def _add_composed(self, value: Any) -> None:
        if id(value) in self._inside:
            raise TypeError(f"a {type(value).__name__} that a model reaches contains itself")
        self._inside.add(id(value))
        self._say("(", type(value).__name__)
        for each in _list_parts(value):
            self.add(each)
        self._say(")")
        self._inside.discard(id(value))

    def _add_reached(self, value: Any) -> None:
        """Add a function or class: whole where it is met first, after that by its number; one that is not ours by its name."""
        if not _is_ours(value):
            self._say("foreign", f"{getattr(value, '__module__', None)}.{getattr(value, '__qualname__', value.__name__)}")
        elif id(value) in self._numbers:
            self._say("again", str(self._numbers[id(value)]))
        else:
            self._numbers[id(value)] = len(self._numbers)
            self._add_whole(value)

    def _add_whole(self, value: Any) -> None:
        if isinstance(value, FunctionType):
            self._function(value)
        elif isinstance(value, type):
            self._class(value)
        else:
            raise TypeError(f"a model uses the module {value.__name__} as a value; import what it needs from there")

    def _function(self, function: FunctionType) -> None:
        """Add a function: its defaults as values, then each definition that may be its own, or without one its byte code."""
        self._say("function")
        self.add(function.__defaults__)
        self.add(function.__kwdefaults__)
        places = find_definitions(function)
        for each in places:
            self._parameters(each.args)
            self._body(_list_statements(each), partial(_resolve_in_function, function), extend_scopes(each, ()))
        if not places:
            self._code(function.__code__)

    def _code(self, code: CodeType) -> None:
        """Add a function without a source: its byte code, which is another one in another Python."""
        self._say("code", code.co_code.hex(), *code.co_names, *code.co_varnames)
        for each in code.co_consts:
            if isinstance(each, CodeType):
                self._code(each)
            else:
                self.add(each)

    def _class(self, found: type) -> None:
        """Add a class: its bases, decorators and options, and its body without declarations of ignored attributes."""
        node, resolve = find_class(found), partial(_resolve_in_module, vars(sys.modules[found.__module__]))
        if node is None:
            raise TypeError(f"the source of class {found.__qualname__} is not to be had")
        self._say("class", str(len(found.__bases__)), str(len(node.decorator_list)))
        for base in found.__bases__:
            self.add(base)
        for each in (*node.decorator_list, *node.keywords):
            self._node(each, resolve, ())
        self._body([each for each in node.body if not _is_aside(each)], resolve, extend_scopes(node, ()))

    def _parameters(self, given: ast.arguments) -> None:
        """Add names and kinds of parameters, without defaults."""
        for kind in ("posonlyargs", "args", "kwonlyargs"):
            self._say(*(f"{kind} {each.arg}" for each in getattr(given, kind)))
        for kind in ("vararg", "kwarg"):
            self._say(*(f"{kind} {each.arg}" for each in [getattr(given, kind)] if each is not None))

    def _body(self, body: Iterable[ast.AST], resolve: Resolve, scopes: Scopes) -> None:
        """Add statements except those that are only a constant: docstrings, of attributes too."""
        for each in body:
            if not (isinstance(each, ast.Expr) and isinstance(each.value, ast.Constant)):
                self._node(each, resolve, scopes)

    def _node(self, node: ast.AST, resolve: Resolve, scopes: Scopes) -> None:
        self._say("<" + type(node).__name__)
        if isinstance(node, _NAMES):
            self._name(node, resolve, scopes)
        elif isinstance(node, FUNCTIONS):
            self._add_nested(node, resolve, scopes)
        elif isinstance(node, COMPREHENSIONS):
            self._comprehension(node, resolve, scopes)
        elif isinstance(node, _IMPORTS):
            self._import(node)
        else:
            inner = extend_scopes(node, scopes) if isinstance(node, ast.ClassDef) else scopes
            for name in node._fields:
                if name not in SKIPPED:
                    self._part(name, getattr(node, name, None), resolve, inner)
        self._say(">")

    def _part(self, name: str, value: Any, resolve: Resolve, scopes: Scopes) -> None:
        """Add a field of a node; what is empty is left out, because versions of Python differ in what they leave out."""
        if value is None or value == []:
            return
        self._say(name)
        if name == "body" and isinstance(value, list):
            self._body(value, resolve, scopes)
            return
        for each in value if isinstance(value, list) else [value]:
            if isinstance(each, ast.AST):
                self._node(each, resolve, scopes)
            else:
                self.add(each)

    def _add_nested(self, node: Any, resolve: Resolve, scopes: Scopes) -> None:
        """Add a function inside another one or inside a class: decorators and defaults are read outside it."""
        for each in (*getattr(node, "decorator_list", ()), *node.args.defaults, *node.args.kw_defaults):
            self._part("outside", each, resolve, scopes)
        self._say(getattr(node, "name", ""))
        self._parameters(node.args)
        self._body(_list_statements(node), resolve, extend_scopes(node, scopes))

    def _comprehension(self, node: Any, resolve: Resolve, scopes: Scopes) -> None:
        """Add a comprehension; its first iterable is read outside it."""
        inner = extend_scopes(node, scopes)
        for number, each in enumerate(node.generators):
            self._part("in", each.iter, resolve, inner if number else scopes)
            self._part("for", each.target, resolve, inner)
            self._part("if", each.ifs, resolve, inner)
        for name in ("key", "value", "elt"):
            self._part(name, getattr(node, name, None), resolve, inner)

    def _import(self, node: ast.Import | ast.ImportFrom) -> None:
        if isinstance(node, ast.Import) or node.level or node.module is None:
            raise TypeError("a function of a model imports a module; import names from it, by its full name")
        for each in node.names:
            self._say(each.asname or each.name)
            self.add(getattr(importlib.import_module(node.module), each.name))

    def _name(self, node: ast.expr, resolve: Resolve, scopes: Scopes) -> None:
        """Add a name: a local one as itself, any other as the value that it names, a module's attribute as its value."""
        path: list[str] = []
        while isinstance(node, ast.Attribute):
            path.insert(0, node.attr)
            node = node.value
        if not isinstance(node, ast.Name):
            self._node(node, resolve, scopes)
        elif any(node.id in each for each in scopes):
            self._say("local", node.id)
        else:
            self._global(node.id, path, resolve)
        self._say(*(f".{each}" for each in path))

    def _global(self, name: str, path: list[str], resolve: Resolve) -> None:
        found = resolve(name)
        while isinstance(found, ModuleType) and path:
            found = getattr(found, path.pop(0))
        if found is _UNBOUND:
            self._say("unbound", name)
        else:
            self.add(found)


def _is_aside(node: ast.AST) -> bool:
    """Return True if a statement of a class declares, with an annotation, an attribute of `IGNORED_ATTRIBUTES`."""
    return isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and node.target.id in IGNORED_ATTRIBUTES


def _list_statements(node: Any) -> list[ast.AST]:
    """Return the body of a function; that of a lambda is its expression."""
    return node.body if isinstance(node.body, list) else [node.body]


def _resolve_in_function(function: FunctionType, name: str) -> Any:
    """Return what a name means inside a function; `_UNBOUND` for an unknown name, or an outer function's unset variable."""
    if name in function.__code__.co_freevars:
        try:
            return (function.__closure__ or ())[function.__code__.co_freevars.index(name)].cell_contents
        except ValueError:
            return _UNBOUND
    return _resolve_in_module(function.__globals__, name)


def _resolve_in_module(names: Mapping[str, Any], name: str) -> Any:
    return names.get(name, getattr(builtins, name, _UNBOUND))


def _list_parts(value: Any) -> Iterator[Any]:
    """Yield what a value is made of, first its class if that is ours.  Errors: `TypeError` for a kind that no rule is about."""
    if _is_ours(type(value)):
        yield type(value)
    if isinstance(value, Mapping):
        yield from (part for pair in value.items() for part in pair)
    elif isinstance(value, Set):
        yield from sorted(value, key=describe_meaning)
    elif isinstance(value, Sequence):
        yield from value
    elif is_dataclass(value):
        yield from (
            part
            for each in fields(value)
            if each.name not in IGNORED_ATTRIBUTES
            for part in (each.name, getattr(value, each.name))
        )
    elif isinstance(value, MethodType):
        yield from (value.__func__, value.__self__)
    elif isinstance(value, partial):
        yield from (value.func, value.args, value.keywords)
    else:
        raise TypeError(f"a model reaches a {type(value).__name__}, whose meaning cannot be determined")


def _is_ours(value: Any) -> bool:
    """Return True if a value is from here or from the author of a model elsewhere, not from Python or a distribution."""
    module = value.__name__ if isinstance(value, ModuleType) else value.__module__
    top = str(module).partition(".")[0]
    if top == "neverlost":
        return True
    file = getattr(sys.modules.get(str(module)), "__file__", None) or ""
    return top not in sys.stdlib_module_names and "site-packages" not in file and not isinstance(value, BuiltinFunctionType)
