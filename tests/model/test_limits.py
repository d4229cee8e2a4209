"""Limits of faults: the spaces close, totals and `any` agree, and no fault strikes beyond its limit."""

from __future__ import annotations

import random
from typing import Any

import pytest

from neverlost.checker.engine.engines.explore import explore
from neverlost.checker.engine.outcome import Outcome, Verdict
from neverlost.checker.engine.proof import bounded_search
from neverlost.checker.engine.search.options import Options
from neverlost.model.any_number import AnyNumber
from neverlost.model.interpreters import ints
from neverlost.model.kernel import NO_REPLICA
from neverlost.model.limits import encoded, parsed
from neverlost.model.system import State, System
from neverlost.specs.errors import InputError
from neverlost.specs.lemmas import find_lemmas
from neverlost.specs.properties import properties
from tests.support.modern import system

FIXED: dict[str, Any] = {"defects": "fixed"}
ACKED = properties()["acked-never-lost"]


def test_values() -> None:
    assert [parsed(each) for each in ("0", "9", "any", "any:2")] == [0, 9, AnyNumber(), AnyNumber(2)]
    assert [parsed(each) for each in ("10", "-1", "any:0", "any:x", "ANY", "any:", "\u0662", "some:1", "any:10")] == [None] * 9
    assert [str(AnyNumber()), str(AnyNumber(3)), str(parsed("any:3,1,0"))] == ["any", "any:3", "any:3,1,0"]
    grown = [encoded(each) for each in (0, 9, AnyNumber(1), AnyNumber(9), AnyNumber())]
    assert grown == sorted(set(grown))


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"crash": 1, "kill": 1}, "faults.crash stands for faults.kill too: give one of them"),
        ({"data_loss": "any", "disk_loss": 1}, "faults.data_loss stands for faults.disk_loss too: give one of them"),
        ({"out": "any:1", "crash": 1}, "faults.crash stands for faults.out too: give one of them"),
        ({"leader_move": "any:1"}, "faults.leader_move=any:1: it impairs no broker, so use a number or any"),
        (
            {"data_loss": "any:1,1"},
            "faults.data_loss=any:1,1: only faults.out is limited by how many have lost data; use any:1",
        ),
        ({"out": "any:1,2", "data_loss": "any:1"}, "more brokers that lose data cannot allow more others out"),
        (
            {"out": "any:2,1", "data_loss": "any"},
            "faults.out speaks about 0 to 1 brokers that lose data: give faults.data_loss=any:1",
        ),
        ({"rack_down": 1}, "faults.rack_down=1: it strikes the brokers of a rack one by one, so use any or any:N"),
        ({"rack_cut": "any", "out": "any"}, "faults.out stands for faults.rack_cut too: give one of them"),
        ({"kill": "any:data_loss"}, "faults.kill=any:data_loss: faults.data_loss is not any:N for faults that strike the same"),
        (
            {"crash": "any:0"},
            "bad value 'any:0' for faults.crash in test: use a whole number from 0 to 9 (in all), any, or any:N",
        ),
    ],
)
def test_what_makes_no_sense(given: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError) as problem:
        system("kraft", **given)
    assert message in str(problem.value)


def found(bound: System) -> tuple[Verdict, int, int]:
    """The verdict on acked-never-lost, the steps of the counterexample, and how many states there are."""
    outcome = explore(bound, [ACKED], Options(workers=1))
    (finding,) = outcome.findings
    return finding.verdict, len(finding.trace.steps) if finding.trace else 0, outcome.counts.distinct


def test_any_number_of_slow_followers_and_crashes_is_a_finite_space() -> None:
    """The count of a program that left the budgets out of the model instead (design, section 8)."""
    verdict, _, distinct = found(system("kraft-elr", isr_shrink="any", crash="any", **FIXED))
    assert (verdict, distinct) == (Verdict.HOLDS, 87_570)


def test_any_number_of_reassignments_is_a_finite_space() -> None:
    """A reassignment replaces the one that is under way, so nothing but a total of them would grow."""
    given = {"rf": 1, "min_isr": 1, "records": 1, "reassign": "any", **FIXED}
    verdict, _, distinct = found(system("kraft", **given))
    assert verdict is Verdict.HOLDS and distinct < 10_000


@pytest.mark.parametrize(("of_racks", "one_by_one"), [("rack_down", "clean_stop"), ("rack_cut", "fence")])
def test_a_rack_is_out_as_its_brokers_are(of_racks: str, one_by_one: str) -> None:
    """With one rack for all they may all be out; with one for each, one at a time."""
    given = {"rf": 2, "min_isr": 1, "isr_shrink": "any", **FIXED}
    for racks, limit in (("a,a", "any:2"), ("a,b", "any:1")):
        alone = found(system("kraft-elr", **given, **{one_by_one: limit}))
        assert found(system("kraft-elr", **given, racks=racks, **{of_racks: "any"})) == alone, racks


@pytest.mark.parametrize(("min_isr", "steps"), [(1, 10), (2, 11)])
def test_one_record_is_not_always_enough(min_isr: int, steps: int) -> None:
    """Logs that diverge at an offset need two records; 2.8 as shipped is where that matters (decision 056)."""
    given = {"rf": 2, "min_isr": min_isr, "out": "any:1"}
    assert found(system("2.8", **given, records=1))[0] is Verdict.HOLDS
    assert found(system("2.8", **given, records=2))[:2] == (Verdict.VIOLATED, steps)


LOSERS = [
    ("kraft", 1, 1, Verdict.VIOLATED),
    ("kraft", 2, 1, Verdict.VIOLATED),
    ("kraft", 3, 1, Verdict.VIOLATED),
    ("kraft-elr", 1, 1, Verdict.VIOLATED),
    ("kraft-elr", 2, 2, Verdict.VIOLATED),
]
"""How many brokers have to lose data at once, while others are out, before a record is lost; the cells that hold are slow."""


@pytest.mark.parametrize(("model", "min_isr", "losers", "expected"), LOSERS)
def test_data_losers_at_once(model: str, min_isr: int, losers: int, expected: Verdict) -> None:
    verdict, _, _ = found(system(model, min_isr=min_isr, data_loss=f"any:{losers}", out="any", **FIXED))
    assert verdict is expected


@pytest.mark.slow
@pytest.mark.parametrize(("min_isr", "losers"), [(2, 1), (3, 2)])
def test_data_losers_that_elr_survives(min_isr: int, losers: int) -> None:
    verdict, _, _ = found(system("kraft-elr", min_isr=min_isr, data_loss=f"any:{losers}", out="any", **FIXED))
    assert verdict is Verdict.HOLDS


STOPS = {"kill": "any", "leader_move": "any", "flush": "1"}


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"at_once": 1}, Verdict.HOLDS),
        ({"at_once": 3}, Verdict.HOLDS),
        ({"at_once": 1, "disk_loss": "any"}, Verdict.VIOLATED),
    ],
)
def test_a_majority_survives_stops_but_not_one_member_that_votes_after_it_was_wiped(given: Any, expected: Verdict) -> None:
    """Raft never lets a member forget what it has voted for and stored; a wiped one that returns under its old id has."""
    assert found(system("majority", min_isr=None, **STOPS, **given))[0] is expected


KINDS = ("crash", "lossy_crash", "disk_loss", "isr_shrink", "fence", "leader_move")
VERSIONS = ("kraft", "kraft-elr", "0.9", "1.0", "2.6", "3.2")
"""Models and versions of which each has its own fields: 1.0 compares leader epochs."""


def drawn(seed: int) -> tuple[str, dict[str, Any]]:
    """A configuration whose faults have no number, small enough to be decided at once."""
    chance = random.Random(seed)
    model = chance.choice(VERSIONS)
    kinds = chance.sample(KINDS, chance.randint(1, 2))
    given: dict[str, Any] = dict.fromkeys(kinds, "any")
    given |= {"rf": 2, "min_isr": chance.randint(1, 2), "acks": chance.choice(["1", "all"]), "unclean": chance.random() < 0.3}
    if chance.random() < 0.5:
        given["at_once"] = chance.randint(1, 2)
    return model, given | (FIXED if chance.random() < 0.5 else {})


def check_totals_agree(seed: int) -> None:
    """`any` is violated iff some total is; the shortest counterexample is as long under the total of its own faults."""
    model, given = drawn(seed)
    bound = system(model, **given)
    outcome = explore(bound, [ACKED], Options(workers=1))
    (finding,) = outcome.findings
    kinds = [each for each in KINDS if each in given]
    if finding.trace is None:
        assert finding.verdict is Verdict.HOLDS
        assert found(system(model, **given | dict.fromkeys(kinds, 2)))[0] is Verdict.HOLDS, (model, given)
        return
    spent = finding.trace.faults(bound)
    totals = {each: spent.get(each, 0) for each in kinds}
    assert found(system(model, **given | totals))[:2] == (Verdict.VIOLATED, len(finding.trace.steps)), (model, given, spent)


@pytest.mark.parametrize("seed", range(12))
def test_totals_and_any_agree(seed: int) -> None:
    check_totals_agree(seed)


@pytest.mark.slow
@pytest.mark.parametrize("first", range(12, 200, 20))
def test_totals_and_any_and_engines_agree_on_many(first: int) -> None:
    """Each seed is printed (`-s`), so that one that disagrees is found at once."""
    for seed in range(first, min(first + 20, 200)):
        print(f"seed {seed}: {drawn(seed)}", flush=True)
        check_totals_agree(seed)
        check_engines_agree(seed)


def check_engines_agree(seed: int) -> tuple[System, Outcome]:
    """Machine code, columns, and one state of each orbit: the same verdict, and counterexamples of the same length."""
    model, given = drawn(seed)
    bound = system(model, **given)
    by_columns = explore(bound, [ACKED], Options(workers=1, machine_code=False))
    others = [explore(bound, [ACKED], Options(workers=1))]
    others += [explore(bound, [ACKED], Options(workers=1, symmetry=True))]
    for each in others:
        assert each.verdict is by_columns.verdict, (model, given)
        assert lengths(each) == lengths(by_columns), (model, given)
    return bound, by_columns


def lengths(outcome: Outcome) -> list[int | None]:
    """The steps of each counterexample."""
    return [len(each.trace.steps) if each.trace else None for each in outcome.findings]


def check_solver_agrees(seed: int, depth: int) -> None:
    """Z3 finds a shortest counterexample of up to so many steps where the search does."""
    bound, searched = check_engines_agree(seed)
    near = [None if steps is None or steps > depth else steps for steps in lengths(searched)]
    assert lengths(bounded_search.check(bound, [ACKED], depth, lemmas=find_lemmas(bound)).outcome) == near, drawn(seed)


def test_engines_agree() -> None:
    for seed in range(4):
        check_engines_agree(seed)


@pytest.mark.slow
@pytest.mark.parametrize("first", range(0, 20, 5))
def test_engines_and_the_solver_agree_on_many(first: int) -> None:
    for seed in range(first, first + 5):
        check_solver_agrees(seed, depth=12)


def impaired(bound: System, state: State) -> set[int]:
    """The impaired brokers, read off the nested values without the model's help."""
    values = bound.nested(state)
    leader = values["leader"]
    out = {each for each, runs in enumerate(values["is_running"]) if not runs or values["is_fenced"][each]}
    out |= {each for each, inside in enumerate(values["isr"]) if not inside}
    if (
        leader != NO_REPLICA
        and values["pending"][leader] != NO_REPLICA
        and values["leader_isr"][leader][values["pending"][leader]]
    ):
        out.add(values["pending"][leader])
    return out


@pytest.mark.parametrize("limit", [1, 2])
def test_no_fault_strikes_beyond_the_limit(limit: int) -> None:
    kinds = dict.fromkeys(("kill", "data_loss", "out", "leader_move"), "any")
    bound = system("kraft-elr", **kinds, at_once=limit)
    chance, struck = random.Random(limit), 0
    state = bound.initial_states()[0][1]
    for _ in range(4000):
        steps = list(bound.steps)
        chance.shuffle(steps)
        step, after = next((each, found) for each in steps if (found := ints.take(bound, state, each)) is not None)
        if step.action.fault not in (None, "leader_move"):
            struck += 1
            assert len(impaired(bound, after)) <= limit, step.label
        state = after
    assert struck > 100, "the walk would prove nothing"


@pytest.mark.parametrize(
    ("rectangle", "steps"),
    [({"data_loss": "any:1", "out": "any:1"}, "any:1,1"), ({"data_loss": "any:2", "out": "any:2"}, "any:2,1,0")],
)
def test_limits_of_those_out_beside_those_that_lose_data(rectangle: dict[str, Any], steps: str) -> None:
    """A rectangle of the table as one step is that rectangle; so is what two replicas cannot leave."""
    assert found(system("kraft", rf=2, **rectangle)) == found(system("kraft", rf=2, **rectangle | {"out": steps}))


def test_a_kill_that_counts_as_a_data_loss_spends_its_limit() -> None:
    """One broker at once, killed or with data lost: as many states as where a data loss may take nothing, and fewer than with
    kills beside it."""
    losing = {"rf": 2, "data_loss": "any:1", **FIXED}
    spaces = [found(system("kraft-elr", **losing, **kills))[2] for kills in ({}, {"kill": "any:data_loss"}, {"kill": "any"})]
    assert spaces[0] == spaces[1] < spaces[2]


def test_no_fault_strikes_beyond_what_may_be_out_beside_those_that_lose_data() -> None:
    bound, allowed = system("kraft-elr", data_loss="any:2", out="any:3,1,0"), (3, 1, 0)
    chance, seen = random.Random(5), set()
    state = first = bound.initial_states()[0][1]
    for number in range(1500):
        state = state if number % 30 else first
        steps = list(bound.steps)
        chance.shuffle(steps)
        step, state = next((each, found) for each in steps if (found := ints.take(bound, state, each)) is not None)
        values = bound.nested(state)
        lost = {each for each, is_set in enumerate(values["ghost_struck_by_data_loss"]) if is_set}
        out = {each for each, is_set in enumerate(values["ghost_struck_by_out"]) if is_set} - lost
        assert len(out) <= allowed[len(lost)], step.label
        seen.add((len(lost), len(out)))
    assert seen >= {(0, 0), (0, 1), (0, 2), (1, 0), (1, 1), (2, 0)}


def test_marks_are_forgotten_when_a_broker_is_unimpaired() -> None:
    bound = system("kraft-elr", data_loss="any:1", out="any:1")
    state, chance = bound.initial_states()[0][1], random.Random(7)
    marked = 0
    for _ in range(1500):
        values = bound.nested(state)
        for flags in (values["ghost_struck_by_data_loss"], values["ghost_struck_by_out"]):
            marks = {each for each, is_set in enumerate(flags) if is_set}
            assert marks <= impaired(bound, state)
            marked += len(marks)
        steps = list(bound.steps)
        chance.shuffle(steps)
        state = next(found for each in steps if (found := ints.take(bound, state, each)) is not None)
    assert marked > 100
