"""Which records a loss can take, as a sentence: derived from the steps, and nothing where they do not say it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

import neverlost
from neverlost.model.snapshot import BrokerView, ClusterSnapshot
from neverlost.reports.counterexample.affected import NOTHING_SAID, find_affected
from tests.support.program import neverlost as program

LOST_DISK = {"min.insync.replicas": 1, "faults.isr_shrink": 2, "faults.disk_loss": 1}
UNCLEAN = {"min.insync.replicas": 1, "faults.isr_shrink": 2, "faults.kill": 1, "unclean.leader.election.enable": True}
SENT = {"acks": "0", "faults.kill": 1}
BOTH = {"acks": "1", "faults.kill": 1, "faults.lossy_crash": 1}


def shortest(given: dict[str, Any]) -> Any:
    settings = {"kafka.version": "3.9", "bounds.records": 1, "defects": "fixed", **given}
    trace = neverlost.check(settings, properties="acked-never-lost").trace
    assert trace is not None
    return trace.counterexample


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"min.insync.replicas": 2, "faults.lossy_crash": 3}, "brokers 1,3 have appended since their last flush"),
        (
            {"min.insync.replicas": 1, "faults.isr_shrink": 2, "faults.lossy_crash": 1},
            "broker 1 has appended since its last flush",
        ),
        (LOST_DISK, "every acknowledged record, because broker 1 comes back with an empty directory"),
        (UNCLEAN, "any acknowledged record that broker 2 has not fetched."),
        (SENT, "any record that has not reached the leader yet."),
        (BOTH, "broker 2 has not fetched and broker 1 has appended since its last flush"),
    ],
)
def test_the_rule_is_that_of_the_steps(given: dict[str, Any], says: str) -> None:
    found = shortest(given)
    assert says in found.timeline.affected.says
    losses = {found.system.steps[each].action.fault for each in found.trace.steps} & {"lossy_crash", "disk_loss"}
    assert found.timeline.affected.is_unflushed == ("flush" in says) == ("lossy_crash" in losses) and ("directory" in says) == (
        losses == {"disk_loss"}
    )


def test_a_log_that_is_cut_without_a_reason_gives_no_rule() -> None:
    """The last leader had the record, and nobody whom it followed was without it."""
    found = shortest(UNCLEAN)
    whole, cut = BrokerView(0, "leader", ((1, 1),), is_leader=True), BrokerView(1, "follower", (), follows=0)
    scene = ClusterSnapshot(leader=0, epoch=1, isr=(0, 1), lanes=(whole, replace(cut, log=((1, 1),))), acked=frozenset({1}))
    end = replace(scene, lanes=(replace(whole, is_leader=False), replace(cut, is_leader=True)))
    quiet = next(number for number, each in enumerate(found.system.steps) if each.action.fault is None)
    trace = replace(found.trace, states=found.trace.states[:2], steps=(quiet,))
    assert find_affected(found.system, trace, [scene, end], frozenset({1}), ("1", "2")) == NOTHING_SAID
    never = replace(scene, lanes=(whole, cut))
    unfetched = find_affected(found.system, trace, [never, end], frozenset({1}), ("1", "2"))
    assert "2 has not fetched" in unfetched.says and unfetched.is_unfetched


def test_the_screen_has_it_below_the_loss() -> None:
    given = [each for key, value in LOST_DISK.items() for each in ("--set", f"{key}={value}")]
    done = program("check", "--set", "kafka.version=3.9", "--set", "bounds.records=1", "--set", "defects=fixed", *given)
    lines = done.stdout.splitlines()
    (place,) = (number for number, line in enumerate(lines) if line.startswith("violates acked-never-lost"))
    assert lines[place + 1].startswith("That can be every acknowledged record") and done.returncode == 12


def test_what_another_leader_has_is_not_lost_and_a_record_that_stays_gives_no_rule() -> None:
    """Broker 2 leads with m2, which no other has, and without m1; a record in the leader's log is no cause to look for."""
    given = {"kafka.version": "2.0", "min.insync.replicas": 2, "bounds.records": 2, "acks": "all", "faults.leader_move": 3}
    trace = neverlost.check(given, properties="read-stability").trace
    assert trace is not None
    found = trace.counterexample.timeline
    leader = next(lane for lane in found.last.scene.lanes if lane.is_leader)
    assert found.lost == {1} and leader.records == {2} and leader.broker == 1
    lanes = tuple(replace(lane, log=((1, 1), (2, 2))) if lane.is_leader else lane for lane in found.last.scene.lanes)
    ends = [each.scene for each in found.frames[:-1]] + [replace(found.last.scene, lanes=lanes)]
    assert find_affected(trace.counterexample.system, trace.counterexample.trace, ends, frozenset({1}), ("1", "2", "3")) == (
        NOTHING_SAID
    )
