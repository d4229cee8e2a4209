"""How often a fault may strike: so many in all, any number, or any number with few brokers impaired at once.

A limit is no part of the protocol: its clauses begin with `bound:`.  A total is a counter in the state.  The others are read
from the state, so that the space closes and a verdict speaks about every number of faults.  What it is for a broker to be
*impaired* is the model's (`is_impaired` of its sizes).  With
`faults.at_once=N` a fault strikes only if at most N brokers are impaired afterwards, by any kind; with `any:N` only if at
most N are impaired that this kind has struck.  So a broker that is impaired already may be struck again.

A ghost flag for each broker remembers which limited kind has struck it; it is cleared when the broker is unimpaired.  A broker
that has lost data counts as one that lost data until then, and not also as one that is only out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from neverlost.model.kernel import Clauses, Configuration, Field, Primitives, Value, count, flag, number
from neverlost.model.kraft.faults import DATA_LOSS, FAULTS, NOTHING, OUT, Fault
from neverlost.model.system import View

MOST = 9
"""The largest total, and the largest number of brokers at once."""

AT_ONCE = "faults.at_once"
"""The key that limits how many brokers are impaired at once by faults of any kind."""

NO_LIMIT = 0
"""Its value where there is no such limit."""


@dataclass(frozen=True)
class AnyNumber:
    """Any number of faults, of which at most `at_once` brokers suffer at the same time (None: as many as there are)."""

    at_once: int | None = None

    def __str__(self) -> str:
        return "any" if self.at_once is None else f"any:{self.at_once}"


def parsed(text: str) -> int | AnyNumber | None:
    """`2`, `any` or `any:2`; None for anything else."""
    kind, colon, many = text.partition(":")
    if len(text) > 6 or not text.isascii():
        return None
    if not colon:
        return AnyNumber() if kind == "any" else int(kind) if kind.isdigit() and int(kind) <= MOST else None
    return AnyNumber(int(many)) if kind == "any" and many.isdigit() and 1 <= int(many) <= MOST else None


def encoded(limit: int | AnyNumber) -> int:
    """A limit as a number that grows with what it allows: totals from 0, then `any:N` from 11, then `any`."""
    if isinstance(limit, int):
        return limit
    return 2 * MOST + 2 if limit.at_once is None else MOST + 1 + limit.at_once


def limit_of(fault: Fault) -> Callable[[Configuration], int]:
    """What the frozen field of a fault's limit holds under a configuration."""
    return lambda configuration: encoded(configuration[fault.key])


def is_counted(configuration: Configuration, fault: Fault) -> bool:
    """Whether a fault's limit is a total."""
    return isinstance(configuration.get(fault.key, 0), int)


def payer(configuration: Mapping[str, Any], fault: Fault) -> Fault:
    """The fault whose limit a step spends: its own, or that of the kind that stands for several."""
    whole = (each for each in FAULTS if fault.name in each.of and configuration.get(each.key))
    return next(whole, fault)


def can_happen(configuration: Configuration, fault: Fault) -> bool:
    """Whether a configuration allows a fault at all."""
    return bool(configuration.get(payer(configuration, fault).key))


@dataclass(frozen=True)
class Limits:
    """What the limits of a configuration put into the state: a part of its sizes.

    `payers` names the fault that pays for another, `counted` those that are counted, `marked` those whose victims are.
    """

    payers: tuple[tuple[str, str], ...]
    counted: frozenset[str]
    marked: tuple[str, ...]
    has_at_once: bool


def limits_of(configuration: Configuration, faults: Sequence[Fault]) -> Limits:
    """The limits of the faults that a model knows."""
    payers = ((each.name, payer(configuration, each).name) for each in faults)
    uncounted = (each for each in faults if not is_counted(configuration, each))
    marked = (each for each in uncounted if each.is_of_one_rack or configuration[each.key].at_once is not None)
    return Limits(
        payers=tuple((name, other) for name, other in payers if name != other),
        counted=frozenset(each.name for each in faults if is_counted(configuration, each)),
        marked=tuple(each.name for each in marked),
        has_at_once=configuration.get(AT_ONCE, NO_LIMIT) != NO_LIMIT,
    )


def contradiction(configuration: Configuration) -> str | None:
    """What is wrong with the limits together, if anything."""
    for whole in (each for each in FAULTS if each.of and configuration.get(each.key)):
        for other in FAULTS:
            if other is not whole and configuration.get(other.key) and set(other.of or (other.name,)) & set(whole.of):
                return f"{whole.key} stands for {other.key} too: give one of them"
    for each in FAULTS:
        limit = configuration.get(each.key, 0)
        if isinstance(limit, AnyNumber) and limit.at_once is not None and each.impairs == NOTHING:
            return f"{each.key}={limit}: it impairs no broker, so use a number or any"
        if each.is_of_one_rack and limit and isinstance(limit, int):
            return f"{each.key}={limit}: it strikes the brokers of a rack one by one, so use any or any:N"
    return None


def limit_fields(configuration: Configuration, faults: Sequence[Fault]) -> tuple[Field, ...]:
    """The fields that limits need: frozen limits, counters, and marks."""
    limits = limits_of(configuration, faults)
    highest = {each.name: configuration[each.key] if each.name in limits.counted else 0 for each in faults}
    return (
        *[number(each.limit, 0, 2 * MOST + 2, frozen=True) for each in faults],
        number("at_once", 0, 2 * MOST, frozen=True),
        *[number(each.left, 0, highest[each.name]) for each in faults],
        *[flag(each.struck, "replica") for each in faults if each.name in limits.marked],
    )


def left(configuration: Configuration, faults: Sequence[Fault]) -> dict[str, int]:
    """The counters, as a search begins."""
    return {each.left: configuration[each.key] for each in faults if is_counted(configuration, each)}


def _with(k: Primitives, flags: Iterable[Value], brokers: Sequence[int]) -> Value:
    """How many flags are set, those of some brokers taken as set."""
    return count(k, [True if broker in brokers else each for broker, each in enumerate(flags)])


def _suffers(k: Primitives, s: View, fault: Fault, broker: int) -> Value:
    """Whether a broker counts for the limit of a kind: struck by it and impaired since."""
    struck = getattr(s, fault.struck)[broker]
    if fault is OUT and DATA_LOSS.name in s.sizes.limits.marked:
        return k.all_of(struck, k.not_(getattr(s, DATA_LOSS.struck)[broker]))
    return struck


def _payer(s: View, fault: Fault) -> Fault:
    name = dict(s.sizes.limits.payers).get(fault.name, fault.name)
    return next(each for each in FAULTS if each.name == name)


def may_strike(k: Primitives, s: View, fault: Fault, *brokers: int) -> Clauses:
    """Clauses: the limits allow one more, which would impair these brokers."""
    paid, limits = _payer(s, fault), s.sizes.limits
    if paid.name in limits.counted:
        yield f"bound: one more {paid.one}", getattr(s, paid.left) > 0
    if paid.name in limits.marked:
        suffering = [_suffers(k, s, paid, each) for each in range(s.sizes["replica"])]
        yield f"bound: so many {paid.many} at once", _with(k, suffering, brokers) + MOST + 1 <= getattr(s, paid.limit)
        if paid.is_of_one_rack:
            elsewhere = [each for broker, each in enumerate(suffering) if s.sizes.racks[broker] != s.sizes.racks[brokers[0]]]
            yield "bound: one rack at a time", k.not_(k.any_of(False, *elsewhere))
    if limits.has_at_once and brokers:
        impaired = [s.sizes.is_impaired(k, s, each) for each in range(s.sizes["replica"])]
        yield "bound: so many brokers impaired at once", _with(k, impaired, brokers) <= s.at_once


def strike(s: View, fault: Fault, *brokers: int) -> None:
    """Effect: one has happened, to these brokers."""
    paid = _payer(s, fault)
    if paid.name in s.sizes.limits.counted:
        setattr(s, paid.left, getattr(s, paid.left) - 1)
    if paid.name in s.sizes.limits.marked:
        for each in brokers:
            getattr(s, paid.struck)[each] = True


def settle(k: Primitives, s: View) -> None:
    """Effect, after every step: brokers that are unimpaired are no victims any more."""
    marked = [each for each in FAULTS if each.name in s.sizes.limits.marked]
    for broker in range(s.sizes["replica"]) if marked else ():
        impaired = s.sizes.is_impaired(k, s, broker)
        for each in marked:
            struck = getattr(s, each.struck)
            struck[broker] = k.all_of(struck[broker], impaired)
