"""The election that asks enough replicas for their logs: each part of its rule is needed, and others do not feel it."""

from __future__ import annotations

from typing import Any

import pytest

from neverlost.checker.engine.engines.explore import explore
from neverlost.checker.engine.outcome import Verdict
from neverlost.checker.engine.search.options import Options
from neverlost.model.kernel import Value, count
from neverlost.model.kraft.broker import high_watermark
from neverlost.model.kraft.controller import leader_election, operator, partition_change
from neverlost.model.kraft.controller.leader_election import Electorate, answers
from neverlost.model.kraft.state import minimum_isr
from neverlost.specs.errors import InputError
from neverlost.specs.properties import properties
from tests.support.modern import system

ACKED = "acked-never-lost"
ASKING = {"acks": "min.insync.replicas", "policy": "fenced-longest-log", "defects": "fixed"}


def lost(**given: Any) -> int | None:
    """The steps of the shortest loss, or None where nothing is lost."""
    asked = [properties()[ACKED]]
    found = explore(system("3.9", **{**ASKING, **given}), asked, Options(workers=1)).findings[0]
    assert found.verdict in (Verdict.HOLDS, Verdict.VIOLATED)
    return len(found.trace.steps) if found.trace else None


CASES: list[dict[str, Any]] = [
    {"leader_move": 1},
    {"leader_move": 1, "isr_shrink": 1},
    {"kill": 1, "isr_shrink": 1},
    {"leader_move": 3, "records": 2},
    {"lossy_crash": 2},
]


@pytest.mark.parametrize("given", CASES, ids=str)
def test_nothing_is_lost(given: dict[str, Any]) -> None:
    assert lost(**given) is None


def isr_and_a_minimum(k: Any, s: Any, of: Electorate) -> Value:
    """ISR - min ISR + 1 answers, by the ISR of before the change: what the ISR has now says nothing of who had copies."""
    return count(k, list(s.isr)) - minimum_isr(k, s) + 1


@pytest.mark.parametrize(
    ("given", "steps"),
    [({"leader_move": 1, "isr_shrink": 1}, 7), ({"kill": 1, "isr_shrink": 1}, 8), ({"leader_move": 1}, None)],
)
def test_to_count_the_answers_by_the_isr_loses_a_record_after_a_shrink(
    monkeypatch: pytest.MonkeyPatch, given: dict[str, int], steps: int | None
) -> None:
    monkeypatch.setattr(leader_election, "needed_answers", isr_and_a_minimum)
    assert lost(**given) == steps


def test_a_log_that_is_read_before_older_epochs_are_refused_is_not_the_last_word(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (partition_change, operator):
        monkeypatch.setattr(module, "refuse_older_epochs", lambda k, s, broker: None)
    assert lost(leader_move=1) == 5


def test_copies_of_an_older_epoch_alone_are_no_acknowledgement(monkeypatch: pytest.MonkeyPatch) -> None:
    """Raft's paper has it as its figure 8: a log that ends in an epoch between the two wins the next election."""
    with_any_epoch = high_watermark._copies

    def copies(k: Any, s: Any, leader: int, offset: int) -> Value:
        enough = with_any_epoch(k, s, leader, offset) >= minimum_isr(k, s, leader)
        high_watermark.acknowledge(k, s, s.log_record[leader][offset], enough)
        return with_any_epoch(k, s, leader, offset)

    monkeypatch.setattr(high_watermark, "_copies", copies)
    assert lost(leader_move=2, records=2) is None
    assert lost(leader_move=3, records=2) == 11


def test_an_outcome_says_who_is_elected_and_who_answered() -> None:
    bound = system("3.9", **ASKING)
    view: Any = type("Asked", (), {"sizes": bound.sizes})()
    found = [answers(view, outcome) for outcome in range(bound.sizes["elected"])]
    assert len({(elected, tuple(sorted(answered))) for elected, answered in found}) == len(found) == 12
    assert all(elected == answered[0] for elected, answered in found)


@pytest.mark.parametrize("policy", ["any", "preferred", "longest-log"])
def test_other_policies_ask_nobody(policy: str) -> None:
    bound = system("3.9", policy=policy)
    view: Any = type("Unasked", (), {"sizes": bound.sizes})()
    assert [answers(view, each) for each in range(bound.sizes["elected"])] == [(0, []), (1, []), (2, [])]


def test_a_record_that_is_sent_again_is_refused_where_its_epoch_counts() -> None:
    with pytest.raises(InputError, match=r"set bounds\.records=1"):
        system("3.9", **ASKING, producer_retry=1, records=2)
