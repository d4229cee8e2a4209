"""Logs of any length: what stands for loops over offsets does the same on every log of a bounded instance, and mutants fail."""

from __future__ import annotations

import re
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from neverlost.checker.engine.proof.every_size import ParametricEncoding
from neverlost.model.interpreters import ints
from neverlost.model.interpreters.otherwise import call_otherwise
from neverlost.model.kernel import ModelError
from neverlost.model.system import State, System
from neverlost.reports.questions.prove.api import read_every_size
from neverlost.specs.any_log import open_logs, read_with_any_log
from tests.checker.prove.test_every_size import answers
from tests.checker.prove.test_induction import STRONG, kip_320, lemmas

ROOT = Path(__file__).parents[3]


@pytest.fixture(autouse=True)
def _ints_know_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """What `end_of` says, on ints."""

    def end_of(axis: str, limit: int, condition: Any) -> int:
        return max([each + 1 for each in range(limit) if condition(each)], default=0)

    monkeypatch.setattr(ints.Ints, "end_of", staticmethod(end_of), raising=False)


def reached(system: System) -> set[State]:
    found, waiting = set[State](), [state for _, state in system.initial_states()]
    while waiting:
        state = waiting.pop()
        if state not in found:
            found.add(state)
            waiting += [after for _, after in ints.successors(system, state)]
    return found


def logs(system: System) -> list[State]:
    """The initial state with every pair of logs and every pair of high watermarks, also those that no behaviour reaches."""
    one = [
        (records, epochs, end, watermark)
        for end in range(3)
        for records in product((1, 2), repeat=end)
        for epochs in product((0, 1), repeat=end)
        for watermark in range(end + 1)
    ]
    names = ("log_record", "log_epoch", "log_end_offset", "high_watermark")
    begin = system.nested(system.initial_states()[0][1]) | {"leader": [0, 0], "request_leader": [0, 0, 0]}
    begin |= {"next_leader_epoch": 2, "isr": [[1, 1], [1, 1]]}
    padded = [(records + (0,) * (2 - end), epochs + (0,) * (2 - end), end, high) for records, epochs, end, high in one]
    return [
        system.configured(
            system.configurations[0], begin | epochs | dict(zip(names, map(list, zip(*pair, strict=True)), strict=True))
        )
        for pair in product(padded, repeat=2)
        for epochs in ({"leader_epoch": [1, 0]}, {"leader_epoch": [1, 1]})
    ]


@pytest.mark.parametrize("of", [pytest.param(reached, marks=pytest.mark.slow), logs])
def test_with_logs_of_any_length_every_step_does_what_it_does_within_the_bounds(of: Any) -> None:
    """Simulation both ways: enabled in the same states, with the same state after it, and the same verdict on each state."""
    system = kip_320(2, 2, 2)
    opened, asked = open_logs(system, STRONG)
    taken, verdicts = set(), set()
    for state in of(system):
        verdicts.add(ints.evaluate(system, state, STRONG.condition))
        assert ints.evaluate(opened, state, asked.condition) == ints.evaluate(system, state, STRONG.condition)
        for one, other in zip(system.steps, opened.steps, strict=True):
            after = attempt(system, state, one)
            assert after == attempt(opened, state, other), one.label
            taken |= {one.action.name} if after else set()
    wanted = {each.name for each in system.model.actions} if of is reached else {"become_follower", "follower_fetch"}
    assert taken >= wanted and (of is reached or verdicts == {True, False})


def attempt(system: System, state: State, step: Any) -> State | str | None:
    try:
        return ints.take(system, state, step)
    except ModelError as problem:
        return str(problem)


def test_no_action_keeps_a_loop_over_the_offsets() -> None:
    """A size that is no number: what goes over it by itself ends in an error, and nothing of it is left unread."""
    reading = read_every_size(kip_320(2, 2, 1), lemmas(), STRONG)
    assert reading.unbounded == ("epochs", "records", "offsets", "replicas")
    with pytest.raises(ModelError, match="is no function that could be read otherwise"):
        call_otherwise(min, {})
    assert read_with_any_log(STRONG.condition).__code__ is STRONG.condition.__code__


PAGE = (ROOT / "reports/published/necessity-kip-320.md").read_text()
NEEDED = [(action, clause) for action, clause in re.findall(r"^\| (\w+): (.+?) \| needed \|", PAGE, re.MULTILINE)]


def test_twelve_clauses_are_needed() -> None:
    assert len(NEEDED) == 12


def is_proved(clause: tuple[str, str]) -> bool:
    reading = read_every_size(kip_320(3, 2, 2, disabled=[clause]), lemmas(), STRONG)
    return answers(reading, (), (clause[0],), patience=2.0) == {"proved"}


@pytest.mark.slow
@pytest.mark.parametrize("clause", NEEDED, ids=": ".join)
def test_without_a_needed_clause_nothing_is_proved(clause: tuple[str, str]) -> None:
    """Exploration finds a violation without it (the published page of necessity)."""
    assert not is_proved(clause)


@pytest.mark.slow
@pytest.mark.parametrize("name", [each.name for each in lemmas()])
def test_without_any_one_lemma_nothing_is_proved(name: str) -> None:
    """At three replicas each has a counterexample to induction, in logs of two (`test_induction`): it is one here, too."""
    rest = tuple(each for each in lemmas() if each.name != name)
    reading: ParametricEncoding = read_every_size(kip_320(3, 2, 2), rest, STRONG)
    kinds = {task.kind for task in reading.tasks()}
    assert "unknown" in answers(reading, tuple(kinds), patience=1.0)
