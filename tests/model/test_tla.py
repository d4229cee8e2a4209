"""Exported TLA+: expressions are what ints computes, TLC's recorded counts are ours, and its behaviours are replayed.

Rows marked `tlc` start TLC itself: `TLC="java -cp OUT:JARS tlc2.TLC" pytest -m tlc`.
"""

from __future__ import annotations

import operator
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import neverlost
from neverlost.model.interpreters import ints
from neverlost.model.interpreters.tla import Expression, Tla, TlaView, operator_name, variable_fields
from neverlost.model.protocols import models
from neverlost.model.system import State, Step, System
from neverlost.reports.counterexample.tlc import QUESTION
from neverlost.specs.errors import InputError
from tests.model.test_interpreters import defined, named, rich_system, walk
from tests.support import program, tlc

SMALL = 60_000
"""Rows with more states are slow."""
LOSS = {
    "replication.factor": 2,
    "min.insync.replicas": 1,
    "bounds.records": 1,
    "faults.isr_shrink": 1,
    "faults.lossy_crash": 1,
}


OPERATORS: dict[str, Callable[..., Any]] = {
    "/\\": lambda *conditions: all(conditions),
    "\\/": lambda *conditions: any(conditions),
    "~": operator.not_,
    "=": operator.eq,
    "#": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "+": operator.add,
    "-": operator.sub,
}
CONSTANTS = {"TRUE": True, "FALSE": False}


class Evaluation:
    """What TLA+ expressions are in one state: a second reading of the operators, apart from ints."""

    def __init__(self, system: System, state: State) -> None:
        values = zip(system.slots, state, strict=True)
        self.slots = {slot.name: bool(value) if slot.field.kind == "flag" else value for slot, value in values}
        self.known: dict[int, Any] = {}

    def __call__(self, value: Any) -> Any:
        if isinstance(value, str):
            return CONSTANTS[value] if value in CONSTANTS else int(value)
        if not isinstance(value, Expression):
            return value
        if id(value) not in self.known:
            self.known[id(value)] = self.computed(value)
        return self.known[id(value)]

    def computed(self, value: Expression) -> Any:
        if value.operator == "variable":
            return self.slots[str(value.operands[0])]
        if value.operator == "IF":
            condition, then, otherwise = value.operands
            return self(then if self(condition) else otherwise)
        operands = [self(each) for each in value.operands]
        kinds = {isinstance(each, bool) for each in operands}
        assert kinds == {True} if value.operator in ("/\\", "\\/", "~") else len(kinds) == 1, "TLC refuses what is mixed"
        return OPERATORS[value.operator](*operands)


def step_of(system: System, step: Step) -> tuple[list[Any], dict[int, Any]]:
    """The guard and the effect of a step as expressions."""
    view = TlaView(system)
    guard = [condition for _, condition in step.run(Tla, view)]
    if system.model.normalise is not None:
        system.model.normalise(Tla, view)
    return guard, view.values


@pytest.mark.parametrize("name", named(models()))
def test_every_step_and_property_is_what_ints_computes(name: str) -> None:
    system = rich_system(name)
    steps = [(each, *step_of(system, each)) for each in system.steps]
    states = random.Random(5).sample(walk(system, 5, 400), 12)
    taken = 0
    for state in states:
        evaluate = Evaluation(system, state)
        for step, guard, effect in steps:
            after = ints.take(system, state, step)
            assert all(evaluate(each) for each in guard) == (after is not None), step.label
            if after is not None:
                taken += 1
                changed = {slot: int(evaluate(value)) for slot, value in effect.items()}
                assert tuple(changed.get(slot, old) for slot, old in enumerate(state)) == after
        for each in defined(system):
            condition = each.condition(Tla, TlaView(system))
            assert evaluate(condition) == ints.evaluate(system, state, each.condition), each.name
    assert taken > 12


MARKED = [pytest.param(each, marks=pytest.mark.slow if each["distinct"] > SMALL else ()) for each in tlc.rows()]


@pytest.mark.parametrize("row", MARKED, ids=lambda row: row["model"])
def test_the_counts_are_those_that_tlc_counted(row: dict[str, Any]) -> None:
    states = neverlost.explore(row["model"], row["settings"]).states
    assert states is not None
    assert (states.distinct, states.depth, states.left) == (row["distinct"], row["depth"], 0)


def test_the_guide_shows_the_recorded_counts() -> None:
    page = (program.ROOT / "reports/guide/tlc.md").read_text()
    shown = [line.split(" | ") for line in page.splitlines() if line.startswith("| `")]
    counts = [
        (model.strip("| `"), *map(int, (each.rstrip(" |").replace(",", "") for each in rest))) for model, _, *rest in shown
    ]
    assert counts == [(row["model"], row["distinct"], row["depth"], row["seconds"]) for row in tlc.rows()]


def test_at_least_twenty_instances_of_all_kinds_are_counted() -> None:
    recorded = tlc.rows()
    assert len(recorded) >= 20
    assert {"kip-320", "kraft", "kraft-elr", "majority", "kraft-quorum", "transactions"} <= {each["model"] for each in recorded}
    assert any("any" in str(value) for each in recorded for value in each["settings"].values())


@pytest.mark.tlc
@pytest.mark.parametrize("row", tlc.rows(), ids=lambda row: row["model"])
def test_tlc_counts_the_same_states(row: dict[str, Any], tmp_path: Path) -> None:
    assert tlc.count(tlc.export(row, tmp_path)) == (row["distinct"], row["depth"], row["generated"])


@pytest.mark.tlc
def test_a_guard_dropped_in_the_text_changes_what_tlc_counts(tmp_path: Path) -> None:
    row = next(each for each in tlc.rows() if each["model"] == "kraft" and "faults.crash" in each["settings"])
    module = tlc.export(row, tmp_path)
    text = module.read_text()
    dropped = text.replace("  /\\ is_running[0]  \\* broker is running\n", "", 1)
    assert dropped != text
    module.write_text(dropped)
    assert tlc.count(module)[0] > row["distinct"]


@pytest.mark.tlc
def test_what_tlc_finds_is_replayed(tmp_path: Path) -> None:
    neverlost.export_tla("kraft", LOSS, out=tmp_path, properties=["acked-never-lost"])
    output = tmp_path / "out.txt"
    output.write_text(tlc.run(tmp_path / "kraft.tla"))
    found = neverlost.replay(output)
    ours = neverlost.check({"model": "kraft", **LOSS}, properties=["acked-never-lost"])
    assert [(each.name, each.steps) for each in found.properties] == [(each.name, each.steps) for each in ours.properties]


BEHAVIOUR = """TLC2 Version 2026
Error: Invariant acked_never_lost is violated.
Error: The behavior up to this point is:
{}
"""


def printed(system: System, states: list[State], operators: list[str]) -> str:
    """States as TLC prints them: functions by their elements, over two lines."""

    def text(value: Any) -> str:
        if isinstance(value, list):
            return "( " + " @@\n  ".join(f"{number} :> {text(each)}" for number, each in enumerate(value)) + " )"
        return str(value).upper()

    blocks = []
    for number, (state, name) in enumerate(zip(states, ["Initial predicate", *operators], strict=True), start=1):
        nested = system.nested(state)
        lines = [f"/\\ {each} = {text(nested[each])}" for each in variable_fields(system)]
        where = "" if number == 1 else " line 9, col 3 to line 12, col 7 of module kraft"
        blocks.append("\n".join([f"State {number}: <{name}{where}>", *lines]) + "\n")
    return BEHAVIOUR.format("\n".join(blocks))


@pytest.fixture
def behaviour(tmp_path: Path) -> Path:
    """A loss that we found, written as TLC writes it, beside the exported module."""
    neverlost.export_tla("kraft", LOSS, out=tmp_path, properties=["acked-never-lost"])
    result = neverlost.check({"model": "kraft", **LOSS}, properties=["acked-never-lost"])
    found = result.counterexamples["acked-never-lost"]
    steps = [found.system.steps[number] for number in found.trace.steps]
    path = tmp_path / "out.txt"
    path.write_text(printed(found.system, [*found.trace.states], [operator_name(each) for each in steps]))
    return path


def test_a_behaviour_as_tlc_prints_it_is_replayed(behaviour: Path) -> None:
    done = program.neverlost("replay", str(behaviour))
    assert done.returncode == 12 and "acked-never-lost is violated in the last state" in done.stdout


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("is violated.", "holds.", "has no violated invariant of ours"),
        ("<leader_append_0 line", "<leader_append_1 line", "is refused by its guard"),
        ("<leader_append_0 line", "<leader_jumps_0 line", "has unknown action 'leader_jumps_0'"),
        ("/\\ leader = 0", "/\\ leader = 1", "is not an initial state"),
        ("/\\ leader = 0", "/\\ leader = x", "which no exported module has"),
        ("/\\ leader = 0\n", "", "leader in state 0"),
    ],
)
def test_another_behaviour_is_refused(behaviour: Path, old: str, new: str, says: str) -> None:
    behaviour.write_text(behaviour.read_text().replace(old, new, 1))
    with pytest.raises(InputError, match=says):
        neverlost.replay(behaviour)


def test_what_is_missing_is_said_in_one_line(behaviour: Path, tmp_path: Path) -> None:
    (tmp_path / QUESTION).unlink()
    done = program.neverlost("replay", str(behaviour))
    assert done.returncode == 64 and "give the directory of neverlost export with --tla DIR" in done.stderr
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize(
    ("given", "says"),
    [
        (("--tla", "kraft9", "--out", "x"), "unknown model 'kraft9'"),
        (("--tla", "kraft", "--set", "kafka.version=4.3", "--out", "x"), "write --tla kraft-elr"),
        (("--tla", "kip-320", "--property", "exactly-once", "--out", "x"), "is not defined for model 'kip-320'"),
    ],
)
def test_bad_input_writes_nothing(tmp_path: Path, given: tuple[str, ...], says: str) -> None:
    done = program.neverlost("export", *given, cwd=tmp_path)
    assert done.returncode == 64 and says in done.stderr and not list(tmp_path.iterdir())
