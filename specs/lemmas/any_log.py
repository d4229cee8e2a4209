"""Why KIP-320 keeps a committed record in logs of any length: the lemmas of `fenced`, with offsets quantified over.

Six speak about no offset and are the same.  Of the others two say at once what there goes from one offset to the next: epochs
never fall *anywhere* in a log, and logs that share an entry share *everything* before it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from neverlost.model.classic.log import same_entry
from neverlost.model.kernel import Value, for_some, implies
from neverlost.specs.lemma import Theory, as_lemma, each_of
from neverlost.specs.lemmas import fenced
from neverlost.specs.lemmas.fenced import _survives_since, each_pair, each_replica, leads


def each_offset(k: Any, s: Any, body: Callable[[Any], list[Value]]) -> list[Value]:
    """Return what is said of every offset."""
    return each_of(k, s, "offset", body)


@as_lemma(fenced.log_shape.says, fenced.log_shape.why)
def log_shape(k: Any, s: Any) -> list[Value]:
    def of_replica(r: Any) -> list[Value]:
        def at_offset(o: Any) -> list[Value]:
            used = s.log_end_offset[r] > o
            was_produced = k.all_of(s.log_record[r][o] <= s.next_record, s.log_record[r][o] >= 1)

            def below(p: Any) -> list[Value]:
                return [implies(k, k.all_of(used, p < o), s.log_epoch[r][p] <= s.log_epoch[r][o])]

            return [
                implies(k, used, was_produced),
                implies(k, used, s.log_epoch[r][o] <= s.leader_epoch[r]),
                *each_offset(k, s, below),
            ]

        return [s.high_watermark[r] <= s.log_end_offset[r], *each_offset(k, s, at_offset)]

    return each_replica(k, s, of_replica)


@as_lemma(fenced.follower_is_prefix.says, fenced.follower_is_prefix.why)
def follower_is_prefix(k: Any, s: Any) -> list[Value]:
    def of_pair(leader: Any, f: Any) -> list[Value]:
        follows = k.all_of(leads(s, leader), s.leader_epoch[f] == s.leader_epoch[leader])

        def at_offset(o: Any) -> list[Value]:
            return [implies(k, k.all_of(follows, s.log_end_offset[f] > o), same_entry(k, s, f, leader, o))]

        return [implies(k, follows, s.log_end_offset[f] <= s.log_end_offset[leader]), *each_offset(k, s, at_offset)]

    return each_pair(k, s, of_pair)


@as_lemma("two logs that share an entry share every one before it", fenced.logs_match.why)
def logs_match(k: Any, s: Any) -> list[Value]:
    def of_pair(one: Any, other: Any) -> list[Value]:
        def at_offset(o: Any) -> list[Value]:
            def below(p: Any) -> list[Value]:
                shared = k.all_of(p < o, same_entry(k, s, one, other, o))
                return [implies(k, shared, same_entry(k, s, one, other, p))]

            return each_offset(k, s, below)

        return each_offset(k, s, at_offset)

    return each_pair(k, s, of_pair)


@as_lemma(fenced.current_epoch_watermark.says, fenced.current_epoch_watermark.why)
def current_epoch_watermark(k: Any, s: Any) -> list[Value]:
    def of_pair(leader: Any, f: Any) -> list[Value]:
        follows = k.all_of(leads(s, leader), s.leader_epoch[f] == s.leader_epoch[leader])

        def at_offset(o: Any) -> list[Value]:
            new = k.all_of(follows, s.high_watermark[f] > o, s.log_epoch[f][o] == s.leader_epoch[f])
            return [implies(k, new, s.high_watermark[leader] > o)]

        return each_offset(k, s, at_offset)

    return each_pair(k, s, of_pair)


@as_lemma(fenced.committed_survives.says, fenced.committed_survives.why)
def committed_survives(k: Any, s: Any) -> list[Value]:
    def of_replica(r: Any) -> list[Value]:
        def at_offset(o: Any) -> list[Value]:
            since = for_some(k, s, "epoch", lambda c: _survives_since(k, s, r, o, c))
            return [implies(k, s.high_watermark[r] > o, since)]

        return each_offset(k, s, at_offset)

    return each_replica(k, s, of_replica)


ANYWHERE = (log_shape, follower_is_prefix, logs_match, current_epoch_watermark, committed_survives)
_by_name = {each.name: each for each in ANYWHERE}

THEORY = Theory(
    models=("kip-320 with any log",), lemmas=tuple(_by_name.get(each.name, each) for each in fenced.THEORY.lemmas)
)
