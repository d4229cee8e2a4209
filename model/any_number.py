"""The value of a limit without a total: any number of faults, with few impaired at once; and how a configuration writes it."""

from __future__ import annotations

import re
from dataclasses import dataclass

_LIMIT = re.compile("[0-9]|any|any:[1-9](,[0-9]){0,8}|any:[a-z_]+", re.ASCII)


@dataclass(frozen=True)
class AnyNumber:
    """A limit on a kind of fault: any number in all, but they impair at most `at_once` brokers at the same time (None: any).

    `beside`: how many it may impair while 0, 1, 2, ... brokers have lost data, the first being `at_once` (empty: no such list).
    `counts_as`: the name of another kind, whose limit each strike spends.
    """

    at_once: int | None = None
    beside: tuple[int, ...] = ()
    counts_as: str | None = None

    def __str__(self) -> str:
        if self.counts_as:
            return f"any:{self.counts_as}"
        return "any" if self.at_once is None else "any:" + ",".join(map(str, self.beside or (self.at_once,)))


def parse_limit(text: str) -> int | AnyNumber | None:
    """Return the total (0 to 9) or the `AnyNumber` (`any`, `any:2`, `any:3,1,0`, `any:KIND`) that a text gives; else None."""
    kind, _, many = text.partition(":")
    if not _LIMIT.fullmatch(text):
        return None
    if not many:
        return AnyNumber() if kind == "any" else int(kind)
    if not many[0].isdigit():
        return AnyNumber(counts_as=many)
    first, *others = map(int, many.split(","))
    return AnyNumber(first, (first, *others) if others else ())
