"""The one error that a user's input can cause, and the one line that it shows."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


class InputError(Exception):
    """Bad usage or bad input: what is wrong with the value quoted, where, and what to do."""


def misread(problem: Exception) -> str:
    """Why a document of another shape could not be read."""
    return f"it lacks {problem}" if isinstance(problem, KeyError) else f"{type(problem).__name__}: {problem}"


def unknown(what: str, given: str, available: Iterable[str], where: str = "") -> InputError:
    """An error for a name that does not exist, with the nearest one that does."""
    names = sorted(available)
    near = difflib.get_close_matches(given, names, n=1, cutoff=0.4)
    hint = f"; did you mean {near[0]!r}?" if near else ";"
    place = f" in {where}" if where else ""
    return InputError(f"unknown {what} {given!r}{place}{hint} available: {', '.join(names)}")
