"""Numbers of which only the order matters, such as terms and leader epochs, as ranks: so that they do not grow for ever."""

from __future__ import annotations

from collections.abc import Sequence

from neverlost.model.kernel import Primitives, Value, count


def ranks(k: Primitives, values: Sequence[Value], highest: int) -> list[Value]:
    """Return the rank of each value: how many different numbers among 0 and all the values are smaller (so 0 has rank 0).

    Units: `highest` is the largest number that a value can be.
    """
    named = [True if each == 0 else k.any_of(*[value == each for value in values]) for each in range(highest)]
    return [count(k, [k.all_of(is_named, value > each) for each, is_named in enumerate(named)]) for value in values]
