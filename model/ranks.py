"""Numbers of which only the order matters, such as terms and leader epochs, as ranks: so that they do not grow for ever."""

from __future__ import annotations

from collections.abc import Sequence

from neverlost.model.kernel import Primitives, Value, count


def ranks(k: Primitives, values: Sequence[Value], highest: int) -> list[Value]:
    """Return the rank of each value among 0 and all of them: equal values have equal ranks, and a larger one has a larger one.

    Units: `highest` is the largest number that a value can be.
    """
    named = [True if each == 0 else k.any_of(*[value == each for value in values]) for each in range(highest)]
    return [count(k, [k.all_of(is_named, value > each) for each, is_named in enumerate(named)]) for value in values]
