"""Faults are monotone: what a configuration allows, one with stronger faults or fewer flushes allows too.

Law A, proved: every step of the weaker configuration is one of the stronger, in every state, reachable or not.
Law B, searched: what is violated stays violated, in no more steps.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from neverlost.model import kernel
from neverlost.model.faults import RACK_LOSS
from neverlost.model.kernel import Clauses, Primitives
from neverlost.model.kraft.broker.log import EMPTY, truncate_to
from neverlost.model.kraft.lifecycle.stops import stop
from neverlost.model.kraft.state import everyone
from neverlost.model.limits import fault_enabled, record_fault
from neverlost.model.protocols import models
from neverlost.model.system import System, View, bind
from neverlost.specs.configuration.keys import configuration
from tests.support.grown import DRAWINGS, NUMBER, examine
from tests.support.laws import compare
from tests.support.modern import system

Given = dict[str, Any]
FIXED = {"defects": "fixed"}
KRAFT = {"rf": 2, "min_isr": 1, "records": 2} | FIXED
QUORUM = {"acks": None, "min_isr": None, "rf": 2, "bounds.max_leader_epoch": 1}
UNFLUSHED = {"off": "flush-before-fetch,flush-before-commit"}
MODELS: dict[str, Given] = {
    "kraft": KRAFT,
    "kraft-elr": KRAFT,
    "majority": {"rf": 3, "min_isr": None, "records": 2},
    "kraft-quorum": QUORUM,
    "kraft-composed": {"acks": None, "rf": 2, "min_isr": 1, "bounds.max_leader_epoch": 1},
}
"""Models whose faults have limits, each with what is small enough to prove."""

TRANSACTIONS = [name for name in models() if name.startswith("transactions")]
COUNTED_ONLY = [*TRANSACTIONS, "pull-raft"]
"""Models whose faults are counted, and none is stronger than another."""

KINDS = [
    ({"kill": 1}, {"lossy_crash": 1}),
    ({"kill": 1}, {"data_loss": 1}),
    ({"kill": 1}, {"crash": 1}),
    ({"lossy_crash": 1}, {"data_loss": 1}),
    ({"disk_loss": 1}, {"data_loss": 1}),
    ({"kill": "any"}, {"lossy_crash": "any"}),
    ({"kill": "any"}, {"data_loss": "any"}),
    ({"lossy_crash": "any"}, {"data_loss": "any"}),
    ({"disk_loss": "any"}, {"data_loss": "any"}),
    ({"kill": "any:1"}, {"lossy_crash": "any:1"}),
    ({"lossy_crash": "any:1"}, {"data_loss": "any:1"}),
    ({"kill": 1, "lossy_crash": 1}, {"lossy_crash": 2}),
    ({"kill": 1, "lossy_crash": 1, "disk_loss": 1}, {"data_loss": 3}),
]
"""One kind of fault beside a stronger one."""

NUMBERS = [
    ({"lossy_crash": 1}, {"lossy_crash": 2}),
    ({"lossy_crash": 1}, {"lossy_crash": 1, "kill": 1}),
    ({"lossy_crash": 1}, {"lossy_crash": 1, "crash": 1}),
    ({"lossy_crash": 1, "kill": 1}, {"lossy_crash": 1, "crash": 1}),
    ({"lossy_crash": 1, "kill": 1}, {"lossy_crash": 2, "kill": 2}),
    ({"lossy_crash": 1, "disk_loss": 1}, {"lossy_crash": 2, "disk_loss": 2}),
    ({"lossy_crash": "any"}, {"lossy_crash": "any", "kill": "any"}),
    ({"lossy_crash": "any", "kill": "any:1"}, {"lossy_crash": "any", "kill": "any"}),
    ({"lossy_crash": "any:1", "kill": "any:1"}, {"lossy_crash": "any:2", "kill": "any:1"}),
    ({"data_loss": "any:1"}, {"data_loss": "any:1", "kill": "any"}),
    ({"data_loss": "any:1"}, {"data_loss": "any:1", "kill": "any:data_loss"}),
    ({"data_loss": "any:1", "kill": "any:data_loss"}, {"data_loss": "any:1"}),
    ({"data_loss": "any:1", "faults.at_once": 1}, {"data_loss": "any:1", "faults.at_once": 2}),
    ({"lossy_crash": "any", "disk_loss": "any", "faults.at_once": 1}, {"lossy_crash": "any", "disk_loss": "any"}),
]
"""A limit beside a larger one."""

ONE_AND_TWO = (
    *("isr_shrink", "fence", "clean_stop", "leader_move", "unclean_election"),
    *("reassign", "producer_retry", "consumer_crash", "min_isr_change"),
)
RACKS = {"rf": 3, "racks": "a,a,b"}
OF_KRAFT = [
    *[({each: 1}, {each: 2}) for each in ONE_AND_TWO],
    ({"isr_shrink": 1, "fence": 1, "clean_stop": 1}, {"out": 3}),
    ({"isr_shrink": "any", "fence": "any", "clean_stop": "any"}, {"out": "any"}),
    ({"data_loss": "any:1", "out": "any:2,1"}, {"data_loss": "any:1", "out": "any:2,1", "kill": "any:out"}),
    (RACKS | {"rack_loss": 1}, RACKS | {"rack_loss": 2}),
    (RACKS | {"rack_loss": "any:1"}, RACKS | {"rack_loss": "any:2"}),
    (RACKS | {"rack_down": "any:1", "rack_cut": "any:1"}, RACKS | {"rack_down": "any", "rack_cut": "any:2"}),
    *[(RACKS | {"rack_loss": each, "flush": "1"}, RACKS | {"rack_loss": each}) for each in (1, "any")],
]
SHIPPED = [
    ({"lossy_crash": 1}, {"data_loss": 1}),
    ({"disk_loss": 1}, {"data_loss": 1}),
    ({"disk_loss": 1}, {"disk_loss": 2}),
    ({"disk_loss": 1, "off": "offline-log-not-recreated"}, {"data_loss": 1, "off": "offline-log-not-recreated"}),
    ({"lossy_crash": "any", "flush": "1"}, {"lossy_crash": "any"}),
    ({"request_copy": 1}, {"request_copy": 2}),
    ({"request_copy": "any"}, {"request_copy": "any", "kill": "any"}),
]
"""As Kafka ships: with a process that follows before it has registered, and directories that are lost on the way."""

FLUSHED = [({each: many, "flush": "1"}, {each: many}) for each in ("lossy_crash", "data_loss") for many in (1, "any")]
SNAPSHOTS = {"on": "snapshots", "off": "snapshot-forced"}
OF_QUORUM = [
    *[({each: many}, UNFLUSHED | {each: many}) for each in ("lossy_crash", "data_loss") for many in (1, "any")],
    (UNFLUSHED | {"kill": 1}, UNFLUSHED | {"lossy_crash": 1}),
    (SNAPSHOTS | {"lossy_crash": 1}, SNAPSHOTS | {"data_loss": 1}),
    (SNAPSHOTS | {"kill": 1}, SNAPSHOTS | {"lossy_crash": 1}),
]


def pairs(model: str) -> list[tuple[Given, Given]]:
    """A weaker and a stronger configuration, beside what the model begins with."""
    found = [*KINDS, *NUMBERS]
    found += FLUSHED if model in ("kraft", "kraft-elr", "majority") else OF_QUORUM
    if model == "majority":
        found += [({"leader_move": 1}, {"leader_move": 2}), ({"leader_move": "any"}, {"leader_move": "any", "kill": "any"})]
    if model in ("kraft", "kraft-elr"):
        found += OF_KRAFT + [(one | {"defects": "shipped"}, other | {"defects": "shipped"}) for one, other in SHIPPED]
    return found


NEVER = {"kraft": {"broker_lose_directory_cleanly"}}
"""Faults that a model never has: they are about eligible leader replicas."""

EVERY = [(model, *pair) for model in MODELS for pair in pairs(model)]
FAST = 9
"""One in so many is in the suite."""


def name(value: Any) -> str:
    """A configuration as the test's name."""
    return value if isinstance(value, str) else ",".join(f"{key}={each}" for key, each in value.items())


def check_law_a(model: str, weaker: Given, stronger: Given) -> set[str]:
    """Assert the law for two configurations; return the actions whose steps were compared."""
    found = compare(*[system(model, **(MODELS[model] | each)) for each in (weaker, stronger)])
    assert not found.wrong
    return found.actions


@pytest.mark.parametrize(("model", "weaker", "stronger"), EVERY[::FAST], ids=name)
def test_every_step_is_one_with_stronger_faults(model: str, weaker: Given, stronger: Given) -> None:
    assert check_law_a(model, weaker, stronger)


@pytest.mark.slow
@pytest.mark.parametrize("model", MODELS)
def test_every_fault_of_a_model_is_monotone(model: str) -> None:
    shown = set[str]().union(*(check_law_a(model, *pair) for pair in pairs(model)))
    assert shown == {each.name for each in models()[model].actions if each.fault} - NEVER.get(model, set())


@pytest.mark.parametrize(("weaker", "stronger"), [*KINDS[:4], *KINDS[5:8], NUMBERS[0], NUMBERS[6], *FLUSHED], ids=name)
def test_a_power_loss_that_undoes_a_truncation_is_monotone(weaker: Given, stronger: Given) -> None:
    compared = compare(*[system("kraft-unordered", **(KRAFT | each)) for each in (weaker, stronger)])
    assert not compared.wrong
    assert ("broker_lose_truncation" in compared.actions) == ("lossy_crash" in weaker and weaker.get("flush") != "1")


def counted(model: str, limits: Given) -> System:
    """A model whose faults are only counted."""
    found = models()[model]
    return bind(found, configuration(found, {f"faults.{key}": (value, "test") for key, value in limits.items()}))


@pytest.mark.parametrize("model", [COUNTED_ONLY[0], *[pytest.param(each, marks=pytest.mark.slow) for each in COUNTED_ONLY[1:]]])
def test_where_faults_are_counted_one_more_allows_no_less(model: str) -> None:
    kinds = [each.removeprefix("faults.") for each in models()[model].keys if each.startswith("faults.")]
    found = compare(*[counted(model, dict.fromkeys(kinds, many)) for many in (1, 2)])
    assert not found.wrong
    assert found.actions == {each.name for each in models()[model].actions if each.fault}


def first_lost(k: Primitives, s: View, broker: int, kept: int) -> Clauses:
    """The old clause: a power loss takes something."""
    yield "bound: something is lost", s.log_record[broker][kept] != EMPTY if kept < s.sizes.offset else False


def not_flushed(k: Primitives, s: View, broker: int, kept: int) -> Clauses:
    """The old clause: with every record flushed there is no power loss."""
    yield "records are not flushed one by one", k.not_(s.flushes_each_record)


def with_clause(model: str, name: str, clause: Any) -> kernel.Model:
    """A model with an old clause put back into an action."""
    (old,) = (each for each in models()[model].actions if each.name == name)

    def body(k: Primitives, s: View, broker: int, kept: int) -> Clauses:
        yield from clause(k, s, broker, kept)
        yield from old.body(k, s, broker, kept)

    return models()[model].differing("mutant", "an old clause", replacing={name: replace(old, body=body)})


@kernel.action(rack="rack", kept="offset", says="", fault="rack_loss")
def rack_lose_power(k: Primitives, s: View, rack: int, kept: int) -> Clauses:
    """The old action: one end for every log of the rack."""
    members = [each for each in everyone(s) if s.sizes.racks[each] == rack]
    yield from fault_enabled(k, s, RACK_LOSS, *members)
    yield "bound: a broker runs there", k.any_of(*[s.is_running[each] for each in members])
    record_fault(s, RACK_LOSS, *members)
    for each in members:
        lost = k.all_of(s.is_running[each], k.not_(s.flushes_each_record))
        truncate_to(k, s, each, k.ite(lost, kept, s.sizes.offset))
        stop(k, s, each)


def compared(mutant: kernel.Model, model: str, weaker: Given, stronger: Given) -> list[str]:
    """What is wrong with a mutant, of two configurations."""
    one, other = (system(model, **(MODELS[model] | each)) for each in (weaker, stronger))
    return compare(replace(one, model=mutant), replace(other, model=mutant)).wrong


@pytest.mark.parametrize("model", ["kraft", "kraft-elr", "majority"])
@pytest.mark.parametrize(
    ("clause", "weaker", "stronger", "says"),
    [
        (first_lost, {"kill": 1}, {"lossy_crash": 1}, "broker_crash_lossy: bound: something is lost"),
        (first_lost, {"kill": "any"}, {"data_loss": "any"}, "broker_crash_lossy: bound: something is lost"),
        (
            not_flushed,
            {"kill": 1, "flush": "1"},
            {"lossy_crash": 1, "flush": "1"},
            "broker_crash_lossy: records are not flushed one by one",
        ),
    ],
)
def test_an_old_clause_fails_by_its_name(model: str, clause: Any, weaker: Given, stronger: Given, says: str) -> None:
    wrong = compared(with_clause(model, "broker_crash_lossy", clause), model, weaker, stronger)
    assert wrong and all(each.startswith("broker_crash(") and says in each for each in wrong)


def test_the_quorums_old_clause_fails_by_its_name() -> None:
    mutant = with_clause("kraft-quorum", "controller_crash_lossy", first_lost)
    wrong = compared(mutant, "kraft-quorum", {"kill": 1}, {"lossy_crash": 1})
    assert wrong and all("controller_crash_lossy: bound: something is lost" in each for each in wrong)


def test_one_end_for_a_racks_logs_fails() -> None:
    mutant = models()["kraft"].differing("mutant", "one end for all", replacing={"rack_lose_power": rack_lose_power})
    flushed, other = RACKS | {"rack_loss": 1, "flush": "1"}, RACKS | {"rack_loss": 1}
    wrong = compared(mutant, "kraft", flushed, other)
    assert wrong and all(each.startswith("rack_lose_power(") and "no step has this effect" in each for each in wrong)


LAW_B = [*DRAWINGS, "transactions", "transactions-3.9"]


@pytest.mark.parametrize("model", [*DRAWINGS, *(pytest.param(each, marks=pytest.mark.slow) for each in LAW_B[len(DRAWINGS) :])])
def test_what_is_violated_stays_violated_in_no_more_steps(model: str) -> None:
    found = examine(model, pairs=8, most_states=4_000, seed=0)
    assert not found.wrong and found.violated


@pytest.mark.slow
@pytest.mark.parametrize("model", LAW_B)
def test_what_is_violated_stays_violated_of_300_pairs(model: str) -> None:
    found = examine(model, pairs=300, most_states=200_000, seed=1)
    print(f"{model}: {dict(found.pairs)}, violated in {found.violated}, slowest {found.slowest:.1f} s")
    assert not found.wrong and found.pairs[NUMBER] <= 75
