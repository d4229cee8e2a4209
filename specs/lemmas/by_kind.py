"""Why no committed record is lost while limits by kind leave one broker unimpaired: for any number of faults.

With `any:N` a kind strikes only where at most N brokers are impaired afterwards that it has struck.  Who stops, is fenced or
is out of the ISR was struck by one of these kinds (`who-is-out-was-struck`), so where the N are fewer than the replicas
together, one broker always stays in the ISR.  From there on the argument is that of `unimpaired`.

`one-member-stays` follows from these two: the proof closes without it, in the same time.  It stays, to have that theory whole.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from neverlost.model.any_number import AnyNumber
from neverlost.model.faults import BY_NAME, FAULTS, NOTHING
from neverlost.model.kernel import Configuration, Value, implies
from neverlost.model.kraft.mechanisms import is_on
from neverlost.model.kraft.state import everyone
from neverlost.model.limits import can_happen, payer, victims
from neverlost.specs.counts import are_few
from neverlost.specs.lemma import Theory, as_lemma
from neverlost.specs.lemmas import unimpaired
from neverlost.specs.lemmas.kraft_elr import is_active
from neverlost.specs.lemmas.unimpaired import knows_all


def covers(configuration: Configuration) -> bool:
    """Return True if every kind of fault that impairs and may happen has `any:N`, these N together are fewer than the replicas,
    the mechanisms are on, all replicas begin in the ISR, and none is reassigned."""
    if not all(is_on(configuration, each) for each in unimpaired.NEEDED) or configuration["faults.reassign"]:
        return False
    kinds = {payer(configuration, each).key for each in FAULTS if each.impairs != NOTHING and can_happen(configuration, each)}
    most = at_once(configuration, kinds)
    return bool(most and most < configuration["replication.factor"] and not configuration["start.outside_isr"])


def at_once(configuration: Configuration, kinds: Collection[str]) -> int | None:
    """Return how many brokers these limits allow at once together: the sum of N in `any:N`; None where one is no `any:N`."""
    most = 0
    for limit in (configuration[each] for each in kinds):
        if not isinstance(limit, AnyNumber) or limit.at_once is None:
            return None
        most += limit.at_once
    return most


def is_out(k: Any, s: Any, broker: int) -> Value:
    """Return True if a broker is down, fenced, outside the ISR, or the controller would commit a request to remove it."""
    removed = [k.all_of(knows_all(k, s, each), s.pending[each] == broker, s.leader_isr[each][broker]) for each in everyone(s)]
    return k.any_of(k.not_(s.is_running[broker]), s.is_fenced[broker], k.not_(s.isr[broker]), *removed)


@as_lemma(
    "who is down, fenced, out of the ISR or about to leave it is marked by a limited kind of fault",
    "only a fault takes a broker out, and its mark stays until the broker is unimpaired",
)
def who_is_out_was_struck(k: Any, s: Any) -> list[Value]:
    marks = [getattr(s, BY_NAME[each].struck) for each in s.sizes.limits.marked]
    return [implies(k, is_out(k, s, r), k.any_of(False, *[each[r] for each in marks])) for r in everyone(s)]


@as_lemma(
    "of each limited kind, no more brokers are marked than its limit allows at once",
    "a kind strikes only then, and a broker that loses data too counts as one that lost data",
)
def few_were_struck(k: Any, s: Any) -> list[Value]:
    kinds = [BY_NAME[each] for each in s.sizes.limits.marked]
    return [are_few(k, s, victims(k, s, each, None, ()), each) for each in kinds]


@as_lemma(
    "the elected leader, once it applied its leadership, is in the ISR that it knows",
    "it takes the ISR from the controller, which elects from it, and asks only for others to be removed",
    only_for="stays-writable",
)
def leader_counts_itself(k: Any, s: Any) -> list[Value]:
    return [implies(k, is_active(k, s, r), s.leader_isr[r][r]) for r in everyone(s)]


THEORY = Theory(
    models=unimpaired.THEORY.models,
    covers=covers,
    lemmas=(who_is_out_was_struck, few_were_struck, *unimpaired.THEORY.lemmas, leader_counts_itself),
)
