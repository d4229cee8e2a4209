"""Verdicts and traces as values: the worst of several verdicts, and steps that are followed."""

from __future__ import annotations

from dataclasses import replace

import pytest

from neverlost.checker.engine.outcome import Behaviour, EngineError, Verdict, find_same_steps, follow_steps, replay, worst
from neverlost.model.protocols import models
from neverlost.model.system import System, bind
from neverlost.specs.configuration.choose import choose

HOLDS, VIOLATED, INCONCLUSIVE = Verdict.HOLDS, Verdict.VIOLATED, Verdict.INCONCLUSIVE


@pytest.mark.parametrize(
    ("verdicts", "reason", "expected"),
    [
        ([], None, HOLDS),
        ([], "a limit", INCONCLUSIVE),
        ([HOLDS, HOLDS], None, HOLDS),
        ([HOLDS, HOLDS], "a limit", INCONCLUSIVE),
        ([HOLDS, INCONCLUSIVE], None, INCONCLUSIVE),
        ([INCONCLUSIVE, VIOLATED, HOLDS], "a limit", VIOLATED),
        (["holds", "violated"], None, VIOLATED),
        (["holds", "anything else"], None, INCONCLUSIVE),
    ],
)
def test_the_worst_of_several_verdicts(verdicts: list[Verdict | str], reason: str | None, expected: Verdict) -> None:
    assert worst(verdicts, reason) is expected


def system_of(replicas: int = 3) -> System:
    chosen = choose({"bounds.records": ("1", "test"), "replication.factor": (str(replicas), "test")}, "truncate-to-hw")
    return bind(models()["truncate-to-hw"], chosen.configuration)


def behaviour(system: System, length: int) -> Behaviour:
    """The lowest step that leads to a state not seen yet, again and again."""
    trace = follow_steps(system, system.initial_states()[0][1], [])
    while len(trace.steps) < length:
        longer = (follow_steps(system, trace.states[0], (*trace.steps, number)) for number in range(len(system.steps)))
        trace = next(each for each in longer if len(set(each.states)) == len(trace.states) + 1)
    return trace


def test_steps_are_followed_as_far_as_they_can_be_taken() -> None:
    system = system_of()
    trace = behaviour(system, 4)
    start = trace.states[0]
    refused = next(number for number in range(len(system.steps)) if not follow_steps(system, start, [number]).steps)
    assert follow_steps(system, start, [*trace.steps[:2], None, trace.steps[2]]) == Behaviour(trace.states[:3], trace.steps[:2])
    assert follow_steps(system, start, [refused, *trace.steps]) == Behaviour(trace.states[:1], ())
    assert replay(system, trace) == trace


def test_a_trace_that_does_not_follow_is_refused() -> None:
    system = system_of()
    trace = behaviour(system, 4)
    swapped = replace(trace, states=(*trace.states[:2], trace.states[1], *trace.states[3:]))
    longer = replace(trace, states=(*trace.states, trace.states[0]))
    for wrong, label in [(swapped, system.steps[trace.steps[1]].label), (longer, "no step")]:
        with pytest.raises(EngineError) as refusal:
            replay(system, wrong)
        assert str(refusal.value) == f"{label} does not lead from a state of the trace to its next one"


def test_steps_have_the_same_label_in_another_system() -> None:
    small, large = system_of(2), system_of(3)
    trace = behaviour(small, 3)
    numbers = find_same_steps(small, trace, large)
    assert [large.steps[each].label for each in numbers if each is not None] == [
        small.steps[each].label for each in trace.steps
    ]
    assert None in find_same_steps(large, Behaviour(large.initial_states()[0][1:], tuple(range(len(large.steps)))), small)
