"""A function of a model as it is written, except that it calls others in place of some, however deep."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from types import CodeType, FunctionType
from typing import Any

from neverlost.model.kernel import ModelError, at

PACKAGE, KERNEL = "neverlost.", at.__module__


def call_otherwise(
    function: Callable[..., Any],
    instead: Mapping[Any, Callable[..., Any]],
    builtins: Mapping[str, Any] | None = None,
    *,
    is_deep: bool = False,
) -> Callable[..., Any]:
    """Return a copy of a function that calls others in place of some, as do copies of the project's functions that it calls.

    `instead` gives the function that is called in place of another, and `builtins` what a name of Python's own stands for.
    Functions of the kernel are not copied.  If `is_deep`, those that `instead` gives are copied in this way too.
    Errors: `ModelError` for what is no function.
    """
    known, read = ({}, dict(instead)) if is_deep else (dict(instead), {})
    return _Copies(known, dict(builtins or {}), read).copy(function)


class _Copies:
    def __init__(
        self, known: dict[Any, Callable[..., Any]], builtins: dict[str, Any], read: dict[Any, Callable[..., Any]]
    ) -> None:
        self._known, self._builtins, self._read = known, builtins, read

    def copy(self, called: Callable[..., Any]) -> Callable[..., Any]:
        if called in self._known:
            return self._known[called]
        function = self._read.get(called, called)
        if not isinstance(function, FunctionType):
            raise ModelError(f"{function!r} is no function that could be read otherwise")
        scope: dict[str, Any] = {}
        made = FunctionType(function.__code__, scope, function.__name__, None, function.__closure__)
        self._known[called] = made
        made.__defaults__ = tuple(self._copy_if_ours(each) for each in function.__defaults__ or ()) or None
        made.__kwdefaults__ = function.__kwdefaults__
        scope |= function.__globals__ | self._builtins
        for name in set(_list_names(function.__code__)) & function.__globals__.keys() - self._builtins.keys():
            scope[name] = self._copy_if_ours(function.__globals__[name])
        return made

    def _copy_if_ours(self, value: Any) -> Any:
        """Return a copy of a function of the project, or what stands for it; anything else, the kernel too, as it is."""
        is_ours = isinstance(value, FunctionType) and value.__module__.startswith(PACKAGE) and value.__module__ != KERNEL
        return self.copy(value) if is_ours else value


def _list_names(code: CodeType) -> Iterator[str]:
    """Yield the names that a function and those inside it look up."""
    yield from code.co_names
    for each in code.co_consts:
        if isinstance(each, CodeType):
            yield from _list_names(each)
