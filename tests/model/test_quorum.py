"""The controller quorum: what its rules are for, and what public specifications found without them.

Source of the expectations: TLC on Vanlightly/raft-tlaplus at 69ad9d60 (KRaft.tla, RaftFsync.tla, with the changes named).
There a request, its handling and the handling of its answer are steps of their own, and so are taking the lead and advancing
the commit index; here they are one, so that the same counterexample is shorter.
"""

from __future__ import annotations

from typing import Any

import pytest

from neverlost.checker.engine.engines.explore import explore
from neverlost.checker.engine.outcome import replay
from neverlost.checker.engine.search.options import Options
from neverlost.model.interpreters import ints
from neverlost.specs.properties import properties
from tests.support.modern import explored, system

KEYS: dict[str, Any] = {"min_isr": None, "acks": None, "bounds.max_leader_epoch": 2}
CHANGES, OBSERVERS, EPOCHS = "bounds.voter_changes", "quorum.observers", "bounds.max_leader_epoch"
MAJORITY = "quorum-commits-on-majority"
KEPT, ONE, ONCE, SAME = "quorum-keeps-acked", "one-leader-per-epoch", "votes-once-per-epoch", "log-matching"


def quorum(**given: Any) -> Any:
    return system("kraft-quorum", **(KEYS | given))


@pytest.mark.parametrize(
    ("name", "published", "steps", "given"),
    [
        pytest.param(ONE, 9, 6, {"kill": 1, "off": "durable-votes", "bounds.max_leader_epoch": 1}, id="forgets votes"),
        pytest.param(KEPT, 16, 10, {"off": "vote-log-check"}, id="no log check"),
        pytest.param(KEPT, 7, 5, {"rf": 1, "lossy_crash": 1, "off": "flush-before-commit"}, id="no fsync, alone"),
        pytest.param(
            KEPT, 19, 14, {"rf": 2, "lossy_crash": 2, "off": "flush-before-commit,flush-before-fetch"}, id="no fsync, two"
        ),
        pytest.param(KEPT, 8, 3, {"rf": 2, "off": "majority-quorum"}, id="half a quorum"),
        pytest.param(ONE, 4, 2, {"rf": 2, "off": "majority-quorum"}, id="half a quorum elects two"),
        pytest.param(MAJORITY, 6, 1, {"rf": 2, "off": "majority-quorum"}, id="half a quorum commits"),
        pytest.param(MAJORITY, 8, 4, {"rf": 2, "off": "count-on-fetch"}, id="counted as sent"),
    ],
)
def test_what_public_specifications_lose_is_lost_here(name: str, published: int, steps: int, given: dict[str, Any]) -> None:
    bound = quorum(**given)
    (finding,) = explored(bound, name).findings
    assert finding.verdict.value == "violated"
    assert len(finding.trace.steps) == steps <= published
    state = finding.trace.states[0]
    for number, after in zip(finding.trace.steps, finding.trace.states[1:], strict=True):
        state = ints.take(bound, state, bound.steps[number])
        assert state == after
    assert not ints.evaluate(bound, state, properties()[name].condition)


@pytest.mark.parametrize(
    ("steps", "given"),
    [
        pytest.param(10, {"rf": 3, CHANGES: 2, "off": "one-change-at-a-time"}, id="two changes at a time"),
        pytest.param(9, {"rf": 2, CHANGES: 1, "off": "removed-leader-not-counted"}, id="KAFKA-16530"),
        pytest.param(3, {"rf": 1, "on": "snapshots", "off": "delete-to-snapshot"}, id="KAFKA-14238"),
        pytest.param(7, {"rf": 1, "on": "snapshots", "lossy_crash": 1, "off": "snapshot-forced"}, id="KAFKA-15312"),
        pytest.param(9, {"rf": 3, "off": "count-on-fetch"}, id="counted as sent"),
    ],
)
def test_what_is_lost_without_a_rule(steps: int, given: dict[str, Any]) -> None:
    found = explore(quorum(**given), [properties()[KEPT]], Options(workers=1))
    (finding,) = found.findings
    assert finding.trace is not None and len(finding.trace.steps) == steps
    assert replay(found.system, finding.trace, properties()[KEPT])


@pytest.mark.slow
def test_four_voters_need_a_commit_of_the_leaders_own_epoch_before_a_change() -> None:
    """Two leaders take one voter each out of four: the majorities of what is left do not meet.  Raft, single-server changes."""
    changing = quorum(rf=4, off="change-after-own-commit", **{CHANGES: 2, EPOCHS: 3})
    (finding,) = explore(changing, [properties()[KEPT]], Options(workers=1, symmetry=True)).findings
    assert finding.trace is not None and len(finding.trace.steps) == 17
    assert replay(changing, finding.trace, properties()[KEPT])


@pytest.mark.parametrize(
    "given",
    [
        {"rf": 1, "kill": "any", "lossy_crash": "any"},
        {"rf": 2, "kill": "any", "lossy_crash": "any"},
        {"rf": 3},
        {"rf": 3, "on": "pre-vote"},
        {"rf": 3, "on": "directory-ids", "disk_loss": 1, "bounds.max_leader_epoch": 1},
        {"rf": 2, CHANGES: 1, "kill": "any"},
        {"rf": 2, CHANGES: 1, "off": "change-after-own-commit"},
        {"rf": 1, OBSERVERS: 1, CHANGES: 2, "kill": "any"},
        {"rf": 2, OBSERVERS: 1, CHANGES: 2, "on": "directory-ids", "disk_loss": 1, EPOCHS: 1},
        {"rf": 2, "on": "snapshots", "kill": "any", "lossy_crash": "any"},
    ],
)
def test_every_guarantee_holds(given: dict[str, Any]) -> None:
    assert [each.verdict.value for each in explored(quorum(**given)).findings] == ["holds"] * 4


def test_every_action_fires() -> None:
    stopping = quorum(rf=2, kill=1, lossy_crash=1, disk_loss=1, off="flush-before-fetch,flush-before-commit")
    changing = quorum(rf=2, **{OBSERVERS: 1, CHANGES: 2, EPOCHS: 1})
    losing = quorum(rf=2, lossy_crash=1, disk_loss=1, on="snapshots", off="snapshot-forced")
    fired = {name for each in (stopping, quorum(), changing, losing) for name in explored(each, ONE).fired}
    assert fired == {each.name for each in stopping.model.actions}


@pytest.mark.parametrize(
    ("expected", "given"),
    [
        ("violated", {"rf": 2, "min_isr": 1, "disk_loss": 1}),
        ("holds", {"rf": 2, "min_isr": 2, "disk_loss": 1, "quorum.voters": 1}),
        ("violated", {"rf": 2, "min_isr": 1, "disk_loss": 1, "quorum.voters": 1}),
        ("violated", {"rf": 2, "min_isr": 1, "off": "learn-committed"}),
        ("holds", {"rf": 3, "min_isr": 1}),
    ],
)
def test_what_losing_metadata_loses(expected: str, given: dict[str, Any]) -> None:
    """Where directories stay and decisions wait for their commit, the quorum is the one controller of the models."""
    bound = system("kraft-composed", **({"acks": None, "bounds.records": 1, "bounds.max_leader_epoch": 2} | given))
    (finding,) = explored(bound, "data-outlives-metadata").findings
    assert finding.verdict.value == expected


def test_every_action_of_the_composed_model_fires() -> None:
    bound = system("kraft-composed", acks=None, rf=2, min_isr=1, kill=1, disk_loss=1, **{"bounds.max_leader_epoch": 1})
    assert set(explored(bound, "log-matching").fired) >= {
        "controller_shrink",
        "controller_elect",
        "brokers_learn",
        "leader_append",
        "follower_fetch",
        "leader_acknowledge",
    }
