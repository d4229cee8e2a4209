"""The one error that a user's input can cause, and the one line that it shows."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


class InputError(Exception):
    """Bad usage or bad input.  The message quotes the wrong value, and says where it stands and what to do."""


def describe_misreading(problem: Exception) -> str:
    """Return, as text, why a document of another shape could not be read: what it lacks (`KeyError`), else the exception."""
    return f"it lacks {problem}" if isinstance(problem, KeyError) else f"{type(problem).__name__}: {problem}"


MOST_NAMES = 20
"""How many names an error lists."""

LONGEST_NAME = 60
"""How much of a user's own name an error repeats."""

EXPLAINED = ("key", "property", "fault", "model")
"""The kinds of names that `neverlost explain` lists."""


def unknown(what: str, given: str, available: Iterable[str], where: str = "") -> InputError:
    """Return an error for a name that does not exist: it suggests a similar one, if any, and lists names as `listed` does."""
    names = sorted(available)
    near = nearest(given, names)
    hint = f"; did you mean {near!r}?" if near else ";"
    place = f" in {where}" if where else ""
    shown = given if len(given) <= LONGEST_NAME else f"{given[:LONGEST_NAME]}..."
    return InputError(f"unknown {what} {shown!r}{place}{hint} {listed(names, what in EXPLAINED)}")


def nearest(given: str, names: Iterable[str]) -> str | None:
    """Return the name that was probably meant; None if none is similar."""
    return next(iter(difflib.get_close_matches(given, names, n=1, cutoff=0.4)), None)


def listed(names: Iterable[str], are_explained: bool = True, before: str = "available: ") -> str:
    """Return `before` and the names, as text; of more than 20, the first 20 and how many more are left.  But if
    `are_explained`, more than 20 are not named: the text is only that `neverlost explain` lists all."""
    every = list(names)
    more = len(every) - MOST_NAMES
    if more <= 0:
        return f"{before}{', '.join(every)}"
    return "neverlost explain lists all" if are_explained else f"{before}{', '.join(every[:MOST_NAMES])} and {more} more"


def quote(text: str, limit: int = 60) -> str:
    """Return a text from a file in quotes, with escapes for what is not printable.  A text of more than `limit` characters is
    cut first, so that it has `limit` with the `...` at its end."""
    return repr(text if len(text) <= limit else text[: limit - 3] + "...")
