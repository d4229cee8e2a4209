"""How much room the next levels will need, as far as the last ones say."""

from __future__ import annotations

from collections.abc import Sequence

HORIZON = 3
"""Levels ahead for which tables get room at once: each time, every state in them moves."""

GENEROUS = 1 << 31
"""Bytes; larger tables get room for one level only.  With a limit of memory, tables grow only when they are full."""


class Growth:
    """The sizes of the last levels; `parts` is by how much of all states a process has only a part of them."""

    def __init__(self, is_limited: bool, parts: int = 1) -> None:
        self.expected = (0, 0)
        self._is_limited, self._parts = is_limited, parts
        self._sizes: list[int] = []

    def add(self, size: int, table_bytes: int) -> None:
        """Note a level, and what is expected of the next one and of the next few."""
        self._sizes = [*self._sizes[-2:], size]
        soon, later = (each * self._parts for each in expected(self._sizes))
        self.expected = (0, 0) if self._is_limited else (soon, later if table_bytes < GENEROUS else soon)

    def forget(self) -> None:
        """Room was made for what is expected."""
        self.expected = (0, 0)


def expected(growth: Sequence[int]) -> tuple[int, int]:
    """About how many states the next level will bring, and the next few, from the sizes of the last three.

    It is for making room only; where it is wrong, tables grow when they are full.
    """
    if len(growth) < 3 or not all(growth):
        return 0, 0
    first, second, size = growth
    ratio = size / second
    change = min(1.0, ratio / (second / first))
    sizes = []
    for _ in range(HORIZON):
        ratio *= change
        size = int(size * ratio)
        sizes.append(size)
    return sizes[0], sum(sizes)
