"""How often a fault may strike: so many in all, any number, or any number with few brokers impaired at once.

A limit is no part of the protocol: its clauses begin with `bound:`.  A total is a counter in the state.  The others are read
from the state, so that the space closes and a verdict speaks about every number of faults.  What it is for a broker to be
*impaired* is the model's (`is_impaired` of its sizes).  With
`faults.at_once=N` a fault strikes only if at most N brokers are impaired afterwards, by any kind; with `any:N` only if at
most N are impaired that this kind has struck.  So a broker that is impaired already may be struck again.

A ghost flag for each broker remembers which limited kind has struck it; it is cleared when the broker is unimpaired.  A broker
that has lost data counts as one that lost data until then, and not also as one that is only out.

`faults.out=any:3,1,0` limits those that are out by how many have lost data at the same time: at most 3 while none has, 1 while
one has, and 0 while two have.  So one question speaks about several rectangles of the tolerance table together.
`faults.kill=any:data_loss` lets a fault strike as often as the limit of another kind allows: each strike counts as one of
those.  A kind that is weaker than an allowed one needs no limit of its own to strike: a power loss may take nothing, which is
what a kill does, and counts as a power loss then.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from neverlost.model.any_number import AnyNumber, parse_limit
from neverlost.model.faults import BY_NAME, DATA_LOSS, FAULTS, KILL, LOSSY_CRASH, NOTHING, OUT, Fault
from neverlost.model.kernel import Clauses, Configuration, Field, Primitives, Value, count, flag, number
from neverlost.model.system import View

MOST = 9
"""The largest total, and the largest number of brokers at once."""

AT_ONCE = "faults.at_once"
"""The key that limits how many brokers are impaired at once by faults of any kind."""

NO_LIMIT = 0
"""Its value where there is no such limit."""

_NAMES = frozenset(each.name for each in FAULTS)


def parsed(text: str) -> int | AnyNumber | None:
    """Return the limit that `2`, `any`, `any:2`, `any:3,1,0` or `any:data_loss` stands for; None for other texts and kinds."""
    limit = parse_limit(text)
    is_unknown = isinstance(limit, AnyNumber) and limit.counts_as is not None and limit.counts_as not in _NAMES
    return None if is_unknown else limit


def encoded(limit: int | AnyNumber) -> int:
    """Return a number that grows with what a limit allows: a total; 10 + N for `any:N`, `any:N,M`; 20 for `any`, `any:KIND`."""
    if isinstance(limit, int):
        return limit
    return 2 * MOST + 2 if limit.at_once is None else MOST + 1 + limit.at_once


def limit_of(fault: Fault) -> Callable[[Configuration], int]:
    """Return a function that gives a fault's limit under a configuration, as `encoded` writes it."""
    return lambda configuration: encoded(configuration[fault.key])


def is_counted(configuration: Configuration, fault: Fault) -> bool:
    """Return True if a fault's limit is a total (0 too), or is not given."""
    return isinstance(configuration.get(fault.key, 0), int)


def payer(configuration: Mapping[str, Any], fault: Fault) -> Fault:
    """Return the fault whose limit a fault spends: the one it counts as; else an allowed one standing for it; else itself."""
    limit = configuration.get(fault.key)
    if isinstance(limit, AnyNumber) and limit.counts_as:
        return next(each for each in FAULTS if each.name == limit.counts_as)
    whole = (each for each in FAULTS if fault.name in each.of and configuration.get(each.key))
    return next(whole, fault)


def can_happen(configuration: Configuration, fault: Fault) -> bool:
    """Return True if a configuration allows a fault at all: the limit that it spends, perhaps another fault's, is not 0."""
    return bool(configuration.get(payer(configuration, fault).key))


def is_harmless_loss_a_step(configuration: Configuration) -> bool:
    """Return True if a power loss that takes nothing is a step of its own, False if a kill does the same and costs no more.

    A kill does if it has no limit, or that of power losses, or counts as out and a `faults.out` such as `any:3,1,0` allows more
    brokers out for each one fewer that has lost data.
    """
    kill, power = payer(configuration, KILL), payer(configuration, LOSSY_CRASH)
    out = _beside(configuration)
    is_out = kill is OUT and power is DATA_LOSS and bool(out) and all(fewer > more for fewer, more in pairwise(out))
    is_free = configuration.get(kill.key) == AnyNumber()
    return not (is_free or kill is power or is_out)


@dataclass(frozen=True)
class Limits:
    """What the limits of a configuration put into the state: a part of its sizes.

    `payers`: faults that spend another's limit, each with that one; `counted`: those with a total; `marked`: those whose
    victims have a flag; `beside`: how many may be out while 0, 1, 2, ... have lost data (empty: not said).
    `has_at_once`: whether `faults.at_once` is given; `harmless_losses`: whether a power loss that takes nothing is a step.
    """

    payers: tuple[tuple[str, str], ...]
    counted: frozenset[str]
    marked: tuple[str, ...]
    has_at_once: bool
    beside: tuple[int, ...] = ()
    harmless_losses: bool = False


def limits_of(configuration: Configuration, faults: Sequence[Fault]) -> Limits:
    """Return which of these faults share another's limit, have a total, or mark their victims under a configuration."""
    payers = ((each.name, payer(configuration, each).name) for each in faults)
    uncounted = (each for each in faults if not is_counted(configuration, each))
    marked = (each for each in uncounted if each.is_of_one_rack or configuration[each.key].at_once is not None)
    return Limits(
        payers=tuple((name, other) for name, other in payers if name != other),
        counted=frozenset(each.name for each in faults if is_counted(configuration, each)),
        marked=tuple(each.name for each in marked),
        has_at_once=configuration.get(AT_ONCE, NO_LIMIT) != NO_LIMIT,
        beside=_beside(configuration),
        harmless_losses=is_harmless_loss_a_step(configuration),
    )


def _beside(configuration: Configuration) -> tuple[int, ...]:
    out = configuration.get(OUT.key)
    return out.beside if isinstance(out, AnyNumber) else ()


def contradiction(configuration: Configuration) -> str | None:
    """Return in a sentence the first thing that is wrong with a configuration's limits together; None if nothing is."""
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
        if isinstance(limit, AnyNumber) and limit.counts_as and not _is_limited(configuration, each, limit.counts_as):
            what = f"faults.{limit.counts_as} is not any:N for faults that strike the same"
            return f"{each.key}={limit}: {what}, so use any or any:N"
        if isinstance(limit, AnyNumber) and limit.beside and each is not OUT:
            return f"{each.key}={limit}: only {OUT.key} is limited by how many have lost data; use any:{limit.at_once}"
    return _uneven(_beside(configuration), configuration.get(DATA_LOSS.key))


def _is_limited(configuration: Configuration, fault: Fault, other: str) -> bool:
    """Return True if a fault may count as `other`: the limit of `other` is `any:N`, and both impair brokers, or both racks."""
    kind = next(each for each in FAULTS if each.name == other)
    limit = configuration.get(kind.key)
    return isinstance(limit, AnyNumber) and limit.at_once is not None and kind.impairs == fault.impairs


def _uneven(beside: tuple[int, ...], losing: int | AnyNumber | None) -> str | None:
    """Return what is wrong: the numbers of a `faults.out` like `any:3,1,0` grow, or N + 1 of them stand beside a
    `faults.data_loss` other than `any:N`; None if nothing is, or there is no such `faults.out`."""
    if list(beside) != sorted(beside, reverse=True):
        return f"{OUT.key}=any:{','.join(map(str, beside))}: more brokers that lose data cannot allow more others out"
    if beside and losing != AnyNumber(len(beside) - 1):
        return (
            f"{OUT.key} speaks about 0 to {len(beside) - 1} brokers that lose data: give {DATA_LOSS.key}=any:{len(beside) - 1}"
        )
    return None


def limit_fields(configuration: Configuration, faults: Sequence[Fault]) -> tuple[Field, ...]:
    """Return the fields that limits need: frozen, each fault's limit and `at_once`; each one's counter; marks of victims."""
    limits = limits_of(configuration, faults)
    highest = {each.name: configuration[each.key] if each.name in limits.counted else 0 for each in faults}
    return (
        *[number(each.limit, 0, 2 * MOST + 2, frozen=True) for each in faults],
        number("at_once", 0, 2 * MOST, frozen=True),
        *[number(each.left, 0, highest[each.name]) for each in faults],
        *[flag(each.struck, "replica") for each in faults if each.name in limits.marked],
    )


def left(configuration: Configuration, faults: Sequence[Fault]) -> dict[str, int]:
    """Return by the name of its counter's field how many of each fault with a total are left when a search begins: all."""
    return {each.left: configuration[each.key] for each in faults if is_counted(configuration, each)}


def victims(k: Primitives, s: View, fault: Fault, paid: Fault | None, brokers: Sequence[int]) -> list[Value]:
    """Return for each broker whether a kind's limit counts it.

    It does if the kind has struck the broker, impaired since, or if `paid` is the kind and the broker is one of `brokers`.
    For `OUT` a broker that has lost data does not count, where `faults.data_loss` is `any:N`.
    """
    struck = [True if fault is paid and each in brokers else flag for each, flag in enumerate(getattr(s, fault.struck))]
    if fault is not OUT or DATA_LOSS.name not in s.sizes.limits.marked:
        return struck
    lost = victims(k, s, DATA_LOSS, paid, brokers)
    return [k.all_of(one, k.not_(other)) for one, other in zip(struck, lost, strict=True)]


def _payer(s: View, fault: Fault) -> Fault:
    return BY_NAME[dict(s.sizes.limits.payers).get(fault.name, fault.name)]


def fault_enabled(k: Primitives, s: View, fault: Fault, *brokers: int) -> Clauses:
    """Clauses: the limits allow one more `fault`, which would impair these brokers."""
    paid, limits = _payer(s, fault), s.sizes.limits
    if paid.name in limits.counted:
        yield f"bound: one more {paid.one}", getattr(s, paid.left) > 0
    if paid.name in limits.marked:
        suffering = victims(k, s, paid, paid, brokers)
        yield f"bound: so many {paid.many} at once", count(k, suffering) + MOST + 1 <= getattr(s, paid.limit)
        if paid.is_of_one_rack:
            elsewhere = [each for broker, each in enumerate(suffering) if s.sizes.racks[broker] != s.sizes.racks[brokers[0]]]
            yield "bound: one rack at a time", k.not_(k.any_of(False, *elsewhere))
    if limits.beside and paid in (OUT, DATA_LOSS):
        out, lost = (count(k, victims(k, s, each, paid, brokers)) for each in (OUT, DATA_LOSS))
        allowed = [k.all_of(lost == many, out <= most) for many, most in enumerate(limits.beside)]
        yield "bound: so many brokers out beside those that lose data", k.any_of(*allowed)
    if limits.has_at_once and brokers:
        impaired = [s.sizes.is_impaired(k, s, each) for each in range(s.sizes["replica"])]
        after = [True if each in brokers else flag for each, flag in enumerate(impaired)]
        yield "bound: so many brokers impaired at once", count(k, after) <= s.at_once


def harmless_loss_enabled(s: View) -> Clauses:
    """Clauses: where kills and power losses have each a total, a power loss that takes nothing needs that no kill is left."""
    limits = s.sizes.limits
    if limits.counted >= {KILL.name, _payer(s, LOSSY_CRASH).name} and _payer(s, KILL) is KILL:
        yield f"bound: no {KILL.one} is left", getattr(s, KILL.left) == 0


def record_fault(s: View, fault: Fault, *brokers: int) -> None:
    """Effect: the kind that pays for a fault has one fewer left if it is counted, and marks these brokers if it is marked."""
    paid = _payer(s, fault)
    if paid.name in s.sizes.limits.counted:
        setattr(s, paid.left, getattr(s, paid.left) - 1)
    if paid.name in s.sizes.limits.marked:
        for each in brokers:
            getattr(s, paid.struck)[each] = True


def settle(k: Primitives, s: View) -> None:
    """Effect, after every step: clear all marks of the brokers that are not impaired: they are no victims any more."""
    marked = [each for each in FAULTS if each.name in s.sizes.limits.marked]
    for broker in range(s.sizes["replica"]) if marked else ():
        impaired = s.sizes.is_impaired(k, s, broker)
        for each in marked:
            struck = getattr(s, each.struck)
            struck[broker] = k.all_of(struck[broker], impaired)
