"""A majority quorum under the faults of the modern models: what it survives, what it does not."""

from __future__ import annotations

from typing import Any

import pytest

from neverlost.model.system import bind
from neverlost.specs.properties import properties
from tests.support.modern import explored, system

KEYS = {"rf": 3, "records": 1, "acks": "all", "min_isr": None}


@pytest.mark.parametrize(
    ("name", "expected", "given"),
    [
        ("acked-never-lost", "holds", {"crash": 2}),
        ("acked-never-lost", "holds", {"rf": 5, "crash": 2}),
        ("committed-never-lost", "holds", {"records": 2, "crash": 1, "leader_move": 2}),
        ("log-matching", "holds", {"records": 2, "crash": 1, "leader_move": 2}),
        ("read-stability", "holds", {"records": 2, "crash": 1, "leader_move": 2}),
        ("single-leader-per-epoch", "holds", {"records": 2, "crash": 1, "leader_move": 2}),
        ("acked-never-lost", "violated", {"acks": "1", "leader_move": 1}),
        ("acked-never-lost", "violated", {"lossy_crash": 1}),
        ("acked-never-lost", "violated", {"disk_loss": 1, "flush": "1"}),
        ("acked-never-lost", "holds", {"lossy_crash": 2, "crash": 1, "flush": "1"}),
        ("no-global-loss", "violated", {"lossy_crash": 1}),
        ("no-global-loss", "holds", {"crash": 1, "leader_move": 1}),
    ],
)
def test_majority(name: str, expected: str, given: dict[str, Any]) -> None:
    (finding,) = explored(system("majority", **(KEYS | given)), name).findings
    assert finding.verdict.value == expected


def test_every_action_fires() -> None:
    bound = system("majority", **(KEYS | {"records": 2, "crash": 1, "lossy_crash": 1, "disk_loss": 1, "leader_move": 1}))
    assert set(explored(bound).fired) == {each.name for each in bound.model.actions}


def test_without_the_better_log_rule_a_short_log_wins() -> None:
    rule = "no voter has a better log"
    bound = system("majority", **(KEYS | {"crash": 1}), disabled=(("voters_replace_dead_leader", rule),))
    (finding,) = explored(bound, "acked-never-lost").findings
    assert finding.verdict.value == "violated"


def test_writes_come_back_only_if_brokers_start_again() -> None:
    bound, name = system("majority", **(KEYS | {"kill": 2})), "quorum-recovers-writable"
    model, restart = bound.model, properties()[name].violated_by.removeprefix("majority-")
    others = tuple(each for each in model.actions if each.name != restart)
    without = bind(model.differing(model.name, model.summary, actions=others), *bound.configurations)
    assert [explored(each, name).findings[0].verdict.value for each in (bound, without)] == ["holds", "violated"]
    assert len(others) + 1 == len(model.actions)
