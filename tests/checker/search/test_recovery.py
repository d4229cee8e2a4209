"""Recovery: every verdict, trap and shortest length agrees with a search done by hand on ints; what the commands do with it."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from neverlost.checker.engine.disk.on_disk_search import explore as explore_on_disk
from neverlost.checker.engine.engines.explore import explore
from neverlost.checker.engine.outcome import Finding, Verdict
from neverlost.checker.engine.search.graph import recovery
from neverlost.checker.engine.search.options import Options, SearchLimits
from neverlost.checker.questions.sweep.sweep import Sweeper
from neverlost.model.interpreters import ints
from neverlost.model.system import State, System
from neverlost.specs.configuration.keys import GROWING
from neverlost.specs.properties import properties
from neverlost.specs.property import RECOVERY, Property
from tests.support.modern import system as modern
from tests.support.program import document, neverlost
from tests.support.searches import classic, kraft_matrix

WRITABLE = properties()["recovers-writable"]
CLEARED = {"rf": 2, "min_isr": 1, "min_isr_change": 1, "crash": 2}
REMOVED = {"rf": 2, "reassign": 1, "crash": 1}


def by_hand(system: System, condition: Callable[..., Any], start: State) -> tuple[int, int] | None:
    """Depth of the nearest state from which nothing wanted can be reached without a fault, and how many such there are."""
    depths, edges = {start: 0}, list[tuple[State, State]]()
    waiting = [start]
    for state in waiting:
        for step in system.steps:
            after = ints.take(system, state, step)
            if after is None:
                continue
            if step.action.fault is None:
                edges.append((state, after))
            if after not in depths:
                depths[after] = depths[state] + 1
                waiting.append(after)
    alive = {state for state in depths if ints.evaluate(system, state, condition)}
    while more := {one for one, other in edges if other in alive} - alive:
        alive |= more
    lost = [depth for state, depth in depths.items() if state not in alive]
    return (min(lost), len(lost)) if lost else None


def found(system: System, asked: Property = WRITABLE, **options: Any) -> Finding:
    (finding,) = explore(system, [asked], Options(workers=1, **options)).findings
    return finding


@pytest.mark.parametrize(
    ("model", "given", "expected"),
    [
        ("4.1", CLEARED, "violated"),
        ("4.1", CLEARED | {"crash": 1}, "holds"),
        ("3.9", CLEARED, "holds"),
        ("4.1", REMOVED, "violated"),
        ("4.1", REMOVED | {"on": "elr-within-replicas"}, "holds"),
        ("3.9", REMOVED, "holds"),
        ("4.1", {"rf": 2, "lossy_crash": 2}, "holds"),
        ("4.1", {"rf": 2, "lossy_crash": 2, "off": "last-known-leader-election"}, "violated"),
        ("3.6", {"rf": 1, "crash": 1}, "violated"),
        ("3.7", {"rf": 1, "crash": 1}, "holds"),
        ("4.1", {"crash": 2}, "holds"),
        ("3.9", {"crash": 1, "isr_shrink": 1, "fence": 1}, "holds"),
    ],
)
def test_kafka_comes_back_or_does_not(model: str, given: dict[str, Any], expected: str) -> None:
    assert found(modern(model, **given)).verdict == expected


def asked_of(condition: Callable[..., Any]) -> Property:
    return Property("test", "", condition, (), "", kind=RECOVERY)


SMALL = {
    "cleared": (lambda: modern("4.1", **CLEARED), WRITABLE.condition),
    "off": (lambda: modern("4.1", rf=2, lossy_crash=2, off="last-known-leader-election"), WRITABLE.condition),
    "back": (lambda: modern("4.1", crash=1), WRITABLE.condition),
    "kraft": (lambda: modern("3.9", rf=2, min_isr=1, crash=1, isr_shrink=1), lambda k, s: k.all_of(s.is_running[0], s.isr[1])),
    "lossy": (lambda: modern("3.9", rf=2, min_isr=1, lossy_crash=1), lambda k, s: s.log_record[0][0] != 0),
    "kip-101": (lambda: classic("kip-101", 2, 2, 2, 1), lambda k, s: s.log_end_offset[1] > 1),
    "kip-320": (lambda: classic("kip-320", 2, 1, 1, 1), lambda k, s: s.high_watermark[0] > 0),
    "majority": (lambda: modern("majority", rf=3, min_isr=None, crash=1), lambda k, s: s.follows[2] == 1),
}


@pytest.mark.parametrize(
    ("name", "symmetry"),
    [
        *[pytest.param("cleared", each, marks=pytest.mark.slow) for each in (False, True)],
        *[(name, False) for name in SMALL if name != "cleared"],
        ("off", True),
        ("back", True),
    ],
)
def test_verdict_depth_and_trap_are_those_found_by_hand(name: str, symmetry: bool) -> None:
    make, condition = SMALL[name]
    system = make()
    finding = found(system, asked_of(condition), symmetry=symmetry)
    expected = by_hand(system, condition, system.initial_states()[0][1])
    if expected is None:
        assert (finding.verdict, finding.trace) == (Verdict.HOLDS, None)
        return
    assert finding.verdict is Verdict.VIOLATED and finding.trace is not None
    assert len(finding.trace.steps) == expected[0]
    trap = recovery.describe_trap(system, finding.trace.states[-1])
    inside = list(_quietly(system, finding.trace.states[-1]))
    assert trap.states == len(inside) <= expected[1]
    assert not any(ints.evaluate(system, each, condition) for each in inside)
    assert 1 <= sum(trap.ends) <= trap.states


def _quietly(system: System, state: State) -> Iterator[State]:
    seen, waiting = {state}, [state]
    for each in waiting:
        yield each
        for step in system.steps:
            after = ints.take(system, each, step) if step.action.fault is None else None
            if after is not None and after not in seen:
                seen.add(after)
                waiting.append(after)


def test_some_of_the_small_systems_are_violated_and_some_hold() -> None:
    verdicts = {found(make(), asked_of(condition)).verdict for make, condition in SMALL.values()}
    assert verdicts == {Verdict.HOLDS, Verdict.VIOLATED}


def test_every_configuration_of_a_search_has_its_own_verdict() -> None:
    system = kraft_matrix()
    asked = asked_of(lambda k, s: k.any_of(s.acks < 2, s.min_isr < 2, s.crash_left > 0))
    alone = [found(System(system.model, (each,)), asked) for each in system.configurations]
    together = explore(system, [asked], Options(workers=1, every_configuration=True)).findings
    assert [(each.verdict, each.trace and each.trace.steps) for each in together] == [
        (each.verdict, each.trace and each.trace.steps) for each in alone
    ]
    assert len({each.verdict for each in alone}) == 2


@pytest.mark.parametrize(
    ("version", "times", "expected"),
    [
        ("3.7", 2, "violated"),
        pytest.param("3.9", 2, "holds", marks=pytest.mark.slow),
        ("4.2", 2, "holds"),
        ("4.3", 2, "violated"),
        ("4.3", 1, "holds"),
        ("3.7", 1, "holds"),
    ],
)
def test_a_reassignment_that_gives_back_what_another_adds_ends_or_not(version: str, times: int, expected: str) -> None:
    """PartitionReassignmentReplicas.maybeCompleteReassignment: before 3.8 and since 4.3 the added replicas must be in the ISR
    that the removed ones have left, and a replica can be both."""
    system = modern(version, rf=2, reassign=times)
    without_cancelling = tuple(each for each in system.model.actions if each.name != "controller_cancel_reassignment")
    patient = System(replace(system.model, actions=without_cancelling), system.configurations)
    ended = asked_of(lambda k, s: k.not_(k.any_of(*s.is_adding, *s.is_removing)))
    finding = found(patient, ended)
    assert finding.verdict == expected
    if finding.trace is not None:
        last = finding.trace.states[-1]
        taken = [patient.steps[each].action.name for each in finding.trace.steps]
        assert taken.count("controller_reassign") == 2
        assert ints.evaluate(patient, last, lambda k, s: k.any_of(*map(k.all_of, s.is_adding, s.is_removing)))


def test_safety_is_decided_beside_it_and_in_the_order_asked() -> None:
    lost = properties()["acked-never-lost"]
    outcome = explore(modern("3.9", rf=2, min_isr=1, lossy_crash=1, isr_shrink=1), [WRITABLE, lost], Options(workers=1))
    assert [(each.property.name, each.verdict) for each in outcome.findings] == [
        ("recovers-writable", Verdict.HOLDS),
        ("acked-never-lost", Verdict.VIOLATED),
    ]


def test_stored_levels_give_the_same_answer(tmp_path: Path) -> None:
    system = modern("4.1", **CLEARED)
    options = Options(state_dir=tmp_path / "levels")
    outcome = recovery.explore(system, [WRITABLE], options, None, explore_on_disk)
    assert outcome.findings == (found(system),)
    resumed = recovery.explore(system, [WRITABLE], Options(state_dir=tmp_path / "levels", resume=True), None, explore_on_disk)
    assert resumed.findings == outcome.findings


@pytest.mark.parametrize(
    ("limits", "most", "reason"),
    [
        (SearchLimits(depth=3), recovery.MOST_STEPS, "the depth limit of 3 levels was reached"),
        (SearchLimits(), 100, "recovery needs the graph of all "),
    ],
)
def test_what_was_not_seen_is_inconclusive(
    limits: SearchLimits, most: int, reason: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recovery, "MOST_STEPS", most)
    outcome = explore(modern("4.1", **CLEARED), [WRITABLE], Options(workers=1, limits=limits))
    assert [each.verdict for each in outcome.findings] == [Verdict.INCONCLUSIVE]
    assert outcome.verdict is Verdict.INCONCLUSIVE
    assert (outcome.reason or "").startswith(reason)


def test_a_sweep_says_what_each_cell_says_alone() -> None:
    cells = [modern("4.1", **CLEARED | {"crash": crash, "min_isr_change": change}) for crash in (2, 3) for change in (0, 1)]
    given = [(each.model, each.configurations[0]) for each in cells]
    swept = Sweeper(given, [WRITABLE], Options(workers=1), GROWING).run()
    assert [swept.verdict(number) for number in range(len(cells))] == [found(each).verdict for each in cells]
    assert {each.how for decisions in swept.decisions for each in decisions} == {"explored", "replayed"}


SETTINGS = [
    "kafka.version=4.1",
    "eligible.leader.replicas=true",
    "replication.factor=2",
    "min.insync.replicas=1",
    "bounds.records=1",
    "faults.min_isr_change=1",
]
SET = [word for each in SETTINGS for word in ("--set", each)]
ASKED = ["check", *SET, "--property", "recovers-writable"]


def test_an_outage_has_its_own_exit_status_a_trap_and_a_trace_that_replays(tmp_path: Path) -> None:
    done = neverlost(*ASKED, "--set", "faults.crash=2", "--out", str(tmp_path / "out"))
    assert done.returncode == 13, done.stderr
    assert "VIOLATED     recovers-writable: cannot accept writes again after 2 stops of brokers and" in done.stdout
    assert "1 changed min.insync.replicas (3 steps)" in done.stdout
    assert re.search(
        r"from its last state \d+ states can be reached without a further fault, none of them as wanted", done.stdout
    )
    assert "nothing but a further fault leads on from here" in done.stdout
    (entry,) = json.loads((tmp_path / "out" / "result.json").read_text())["properties"]
    assert entry["trap"]["ends"] == [1] and entry["trap"]["states"] > 1
    verified = neverlost("verify", str(tmp_path / "out"))
    assert verified.returncode == 0 and "1 counterexample re-executed" in verified.stdout, verified.stderr
    trace = tmp_path / "out" / "recovers-writable.itf.json"
    again = neverlost("replay", str(trace))
    assert again.returncode == 13 and "3 steps of kraft-elr, each confirmed" in again.stdout
    cut = json.loads(trace.read_text())
    cut["states"].pop()
    trace.write_text(json.dumps(cut))
    refused = neverlost("replay", str(trace))
    assert refused.returncode == 64
    assert refused.stderr == f"neverlost: {str(trace)!r} ends in a state that does not break recovers-writable\n"


@pytest.mark.parametrize(
    ("asked", "status"), [(["stays-writable"], 13), (["stays-writable", "acked-never-lost"], 12), (["log-matching"], 0)]
)
def test_a_loss_is_worse_than_an_outage(asked: list[str], status: int) -> None:
    names = [word for each in asked for word in ("--property", each)]
    faults = ["--set", "faults.crash=1", "--set", "faults.isr_shrink=1", "--continue"]
    assert neverlost("check", *SET, *faults, *names).returncode == status


def test_no_proof_decides_recovery() -> None:
    done = neverlost("prove", *SET, "--property", "recovers-writable")
    assert (done.returncode, done.stdout) == (64, "")
    assert "is about what can still happen, which no proof here decides; use check" in done.stderr


def test_kinds_are_listed() -> None:
    kinds = {each["name"]: each["kind"] for each in document("properties")["properties"]}
    assert kinds["recovers-writable"] == "recovery" and kinds["stays-writable"] == "availability"
    assert kinds["acked-never-lost"] == "safety"
