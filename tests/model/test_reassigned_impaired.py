"""Who counts as impaired while a partition is reassigned, and under which definition one unimpaired replica is enough."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import pytest

from neverlost.checker.engine.engines.explore import explore
from neverlost.checker.engine.search.options import Options
from neverlost.model.kernel import Configuration, Primitives, Value
from neverlost.model.kraft import sizes as of_kraft
from neverlost.model.kraft.sizes import KraftSizes, sizes_of
from neverlost.model.system import View, bind
from neverlost.specs.configuration.choose import choose_each, read_settings
from neverlost.specs.properties import properties

ASKED = ("acked-never-lost", "committed-never-lost")


def is_outside(k: Primitives, s: View, broker: int) -> Value:
    """Whether a broker is down, fenced, out of the ISR, or about to be removed from it."""
    removed = [
        k.all_of(s.leader == each, s.pending[each] == broker, s.leader_isr[each][broker]) for each in range(s.sizes.replica)
    ]
    return k.any_of(k.not_(s.is_running[broker]), s.is_fenced[broker], k.not_(s.isr[broker]), *removed)


@dataclass(frozen=True)
class WithAdded(KraftSizes):
    """A replica that is being added counts until it is in the ISR, as every other one."""

    @staticmethod
    def is_impaired(k: Primitives, s: View, broker: int) -> Value:  # type: ignore[override]
        return k.all_of(s.is_replica[broker], is_outside(k, s, broker))


@dataclass(frozen=True)
class AllButOne(KraftSizes):
    """Whoever is no replica counts too, so that a limit of all brokers but one leaves one unimpaired replica."""

    @staticmethod
    def is_impaired(k: Primitives, s: View, broker: int) -> Value:  # type: ignore[override]
        return k.any_of(k.not_(s.is_replica[broker]), is_outside(k, s, broker))


def lengths(model: str, min_isr: int, at_once: int, sizes: Callable[[Configuration], KraftSizes]) -> list[int | None]:
    """The steps of the shortest loss of two replicas with one reassignment, for each property; None where nothing is lost."""
    given = {"replication.factor": 2, "min.insync.replicas": min_isr, "defects": "fixed", "bounds.records": 1}
    given |= {"faults.data_loss": "any", "faults.out": "any", "faults.reassign": 1, "faults.at_once": at_once}
    (chosen,) = choose_each(read_settings([f"model={model}", *(f"{key}={value}" for key, value in given.items())]))
    system = bind(replace(chosen.model, name=f"{model}-otherwise", sizes=sizes), chosen.configuration)
    outcome = explore(system, [properties()[each] for each in ASKED], Options(workers=1))
    assert outcome.reason is None
    return [None if each.trace is None else len(each.trace.steps) for each in outcome.findings]


@pytest.mark.slow
@pytest.mark.parametrize(("model", "steps"), [("kraft", 15), ("kraft-elr", 16)])
def test_all_but_one_loses_unless_a_replica_that_is_added_counts(model: str, steps: int) -> None:
    """Decision 105.  Two replicas, min.insync.replicas=2; a limit of one impaired broker, or of all brokers but one."""
    assert lengths(model, 2, 1, of_kraft.sizes) == [steps] * 2
    assert lengths(model, 2, 2, lambda each: sizes_of(each, AllButOne)) == [steps] * 2
    assert lengths(model, 2, 1, lambda each: sizes_of(each, WithAdded)) == [None] * 2


@pytest.mark.slow
@pytest.mark.parametrize("model", ["kraft", "kraft-elr"])
def test_a_reassignment_to_one_replica_leaves_nobody_to_be_unimpaired(model: str) -> None:
    """A limit of one broker is no longer a limit of all but one."""
    assert lengths(model, 1, 1, lambda each: sizes_of(each, WithAdded)) == [7, 7]
