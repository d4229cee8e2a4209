"""The modern model against what is known of Kafka; scenario names are those of the corpus."""

from __future__ import annotations

import random
from typing import Any

import pytest

from neverlost.checker.engine.engines.explore import explore
from neverlost.checker.engine.search.options import Options
from neverlost.model.interpreters import ints
from neverlost.model.interpreters.columns import Successors, pack_rows
from neverlost.model.system import System, bind
from neverlost.specs.errors import InputError
from neverlost.specs.properties import properties
from tests.support import strict
from tests.support.modern import explored, faults, system, verdict

ACKED, COMMITTED = "acked-never-lost", "committed-never-lost"
NO_LATE_RECORD = "equal-epoch-record-skipped"
"""The case is about another rule than the record that a leader replays after its answer (the defect of that name)."""


@pytest.mark.parametrize(
    ("scenario", "name", "expected", "given"),
    [
        ("acks1-planned-move", ACKED, "violated", {"acks": "1", "leader_move": 1}),
        ("acks1-planned-move", COMMITTED, "holds", {"acks": "1", "leader_move": 1}),
        ("acks1-leader-crash", ACKED, "violated", {"acks": "1", "crash": 1}),
        ("acks1-stale-leader", ACKED, "violated", {"acks": "1", "fence": 1}),
        ("acks1-stale-leader", ACKED, "holds", {"acks": "all", "fence": 1}),
        ("minisr1-isr-shrunk", ACKED, "violated", {"min_isr": 1, "isr_shrink": 2, "lossy_crash": 1}),
        ("minisr1-isr-shrunk", ACKED, "violated", {"rf": 2, "min_isr": 1, "isr_shrink": 1, "lossy_crash": 1}),
        ("minisr1-isr-shrunk", ACKED, "holds", {"min_isr": 1, "isr_shrink": 2, "crash": 1, "on": NO_LATE_RECORD}),
        ("minisr1-full-isr", ACKED, "holds", {"min_isr": 1, "crash": 2}),
        ("rf3-minisr2-one-crash", ACKED, "holds", {"lossy_crash": 1}),
        ("rf3-minisr2-two-clean-crashes", ACKED, "holds", {"crash": 2}),
        ("last-replica-standing", ACKED, "violated", {"isr_shrink": 2, "lossy_crash": 1}),
        ("last-replica-standing", COMMITTED, "violated", {"isr_shrink": 2, "lossy_crash": 1}),
        ("fsync-each-message", ACKED, "holds", {"isr_shrink": 2, "lossy_crash": 1, "flush": "1", "on": NO_LATE_RECORD}),
        ("all-replicas-power-loss", ACKED, "violated", {"lossy_crash": 3}),
        ("unclean-election-loss", ACKED, "violated", {"isr_shrink": 2, "crash": 1, "unclean": True}),
        ("unclean-disabled-offline", ACKED, "holds", {"isr_shrink": 2, "crash": 1, "unclean": False, "on": NO_LATE_RECORD}),
    ],
)
def test_known_verdicts(scenario: str, name: str, expected: str, given: dict[str, Any]) -> None:
    assert verdict("kraft", name, **given) == expected, scenario


def test_the_planned_move_needs_no_failure() -> None:
    assert faults("kraft", ACKED, acks="1", leader_move=1) == {"leader_move": 1}


@pytest.mark.parametrize("name", ["log-matching", "single-leader-per-epoch"])
def test_divergent_tails_never_disagree_below_the_high_watermark(name: str) -> None:
    """Unless a leader that is elected again counts what its followers have truncated (reelected-leader-counts-lost-copies)."""
    assert verdict("kraft", name, records=2, leader_move=2, crash=1, on="reelection-forgets-offsets") == "holds"


def behaviour(bound: System, names: set[str] | None = None) -> set[tuple[int, ...]]:
    """Every reachable state, without the configuration; with `names` only these fields of it."""
    kept = [at for at, slot in enumerate(bound.slots) if (not slot.field.frozen if names is None else slot.field.name in names)]
    waiting = [state for _, state in bound.initial_states()]
    seen = set(waiting)
    for state in waiting:
        more = {after for _, after in ints.successors(bound, state)} - seen
        seen |= more
        waiting += more
    return {tuple(state[at] for at in kept) for state in seen}


@pytest.mark.parametrize(
    ("model", "outside", "given"),
    [
        ("3.9", 1, {"rf": 2, "lossy_crash": 1, "leader_move": 1}),
        ("4.1", 1, {"rf": 2, "lossy_crash": 1, "leader_move": 1}),
        ("2.7", 1, {"rf": 2, "lossy_crash": 1}),
        ("4.1", 2, {"min_isr": 3}),
        ("4.1", 2, {"min_isr": 2}),
    ],
)
def test_a_search_that_begins_with_replicas_outside_the_isr_is_one_that_first_drops_them(
    model: str, outside: int, given: dict[str, Any]
) -> None:
    """What it reaches is reached from a full ISR with so many slow followers more, and it is not all of that."""
    worn = behaviour(system(model, **given, **{"start.outside_isr": outside}))
    full = behaviour(system(model, **given, isr_shrink=outside))
    assert worn < full


@pytest.mark.parametrize(
    ("outside", "expected", "given"),
    [
        (0, "holds", {"isr_shrink": 1, "lossy_crash": 1, "on": NO_LATE_RECORD}),
        (1, "violated", {"isr_shrink": 1, "lossy_crash": 1}),
        (1, "holds", {"isr_shrink": 1, "crash": 1, "on": NO_LATE_RECORD}),
        (2, "holds", {"lossy_crash": 1, "on": NO_LATE_RECORD}),
        (2, "violated", {"lossy_crash": 1, "min_isr": 1}),
        (2, "violated", {"racks": "a,b,c", "rack_loss": 1, "min_isr": 1}),
    ],
)
def test_a_worn_partition_needs_fewer_faults(outside: int, expected: str, given: dict[str, Any]) -> None:
    assert verdict("3.9", ACKED, **given, **{"start.outside_isr": outside}) == expected


@pytest.mark.parametrize(("policy", "starts"), [("any", 1), ("preferred", 6)])
def test_where_replicas_are_not_alike_anyone_may_be_outside(policy: str, starts: int) -> None:
    begun = [state for _, state in system("3.9", policy=policy, **{"start.outside_isr": 1}).initial_states()]
    assert len(set(begun)) == starts


def test_the_isr_is_never_empty() -> None:
    with pytest.raises(InputError, match=r"^start.outside_isr is 3, but replication.factor is 3: leave a replica in the ISR$"):
        system("3.9", **{"start.outside_isr": 3})


RICH = {"records": 2, "crash": 1, "lossy_crash": 1, "isr_shrink": 1, "fence": 1, "leader_move": 1}


def walk(bound: System, seed: int, length: int) -> list[tuple[int, ...]]:
    """States of a random walk."""
    chance = random.Random(seed)
    state = bound.initial_states()[0][1]
    states = [state]
    for _ in range(length):
        after = [found for _, found in ints.successors(bound, state)]
        if not after:
            break
        state = chance.choice(after)
        states.append(state)
    return states


@pytest.mark.parametrize("policy", ["any", "preferred", "fenced-longest-log"])
def test_ints_columns_and_strict_agree_on_random_walks(policy: str) -> None:
    bound = system("kraft", **RICH, policy=policy, unclean=True)
    states = sorted({state for seed in range(20) for state in walk(bound, seed, 40)})
    expected = {
        (row, number, bound.pack(after))
        for row, state in enumerate(states)
        for number, step in enumerate(bound.steps)
        if (after := ints.take(bound, state, step)) is not None
    }
    found = {
        (int(row), number, tuple(int(word) for word in words[:, at]))
        for number, rows, words in Successors(bound).of(pack_rows(bound, states))
        for at, row in enumerate(rows)
    }
    assert found == expected
    for state in states[:60]:
        for step in bound.steps:
            assert strict.take(bound, state, step) == ints.take(bound, state, step)


def test_every_action_fires() -> None:
    fired: set[str] = set()
    for model, given in (
        ("kraft", {"crash": 1, "lossy_crash": 1, "isr_shrink": 1}),
        ("kraft", {"rf": 2, "clean_stop": 1}),
        (
            "kraft",
            {"rf": 2, "disk_loss": 1, "rack_loss": 1, "acks": "0", "off": "pending-isr-kept", "leader_move": 1, "fence": 1},
        ),
        ("4.1", {"rf": 2, "disk_loss": 1, "off": "offline-log-not-recreated,failed-start-leaves-no-marker"}),
        ("kraft", {"rf": 2, "consumer_crash": 1, "producer_retry": 1, "commit": "before-processing", "idempotence": False}),
        ("kraft", {"rf": 2, "consumer_crash": 1, "min_isr": 1, "lossy_crash": 1, "isr_shrink": 1}),
        ("kraft", {"rf": 1, "reassign": 1, "crash": 1, "unclean": True}),
        ("kraft", {"rf": 1, "reassign": 1, "crash": 1, "unclean_election": 1}),
        ("2.1", {"rf": 2, "crash": 1}),
        ("2.7", {"rf": 2, "min_isr": 1, "records": 2, "leader_move": 1, "isr_shrink": 1, "min_isr_change": 1}),
        ("3.8", {"records": 4, "leader_move": 2}),
        ("4.4", {"isr_shrink": 1, "fence": 1, "request_copy": 1}),
    ):
        fired |= set(explored(system(model, **given), "acked-never-lost").fired)
    assert fired == {each.name for each in system("kraft").model.actions}


def test_a_clause_that_is_switched_off_breaks_the_epochs() -> None:
    bound = system("kraft", leader_move=1, disabled=(("broker_follow", "leadership is applied"),))
    (finding,) = explored(bound, "single-leader-per-epoch").findings
    assert finding.verdict.value == "violated"


def test_one_search_decides_configurations_with_different_budgets() -> None:
    cells = [{"isr_shrink": 0, "lossy_crash": 1}, {"isr_shrink": 2, "lossy_crash": 0}, {"isr_shrink": 2, "lossy_crash": 1}]
    alone = [system("kraft", **each, on="unregistered-fetch-refused") for each in cells]
    together = bind(alone[0].model, *[each.configurations[0] for each in alone])
    asked = [properties()[ACKED]]
    found = explore(together, asked, Options(every_configuration=True, workers=1))
    assert [each.verdict.value for each in found.findings] == ["holds", "holds", "violated"]
    # a cell is left once it is violated, so only those that hold have complete counts
    counts = [explore(each, asked, Options(keep_going=True, workers=1)).counts.distinct for each in alone]
    assert list(found.distinct_by_configuration)[:2] == counts[:2]


@pytest.mark.parametrize("clause", ["bound: the request was handled", "bound: brings something"])
@pytest.mark.parametrize(
    "given",
    [
        {"isr_shrink": 2, "lossy_crash": 1},
        {"records": 2, "crash": 1, "leader_move": 1},
        {"fence": 1, "lossy_crash": 1, "leader_move": 1},
        {"fence": 1, "leader_move": 1, "off": "pending-isr-kept"},
        {"isr_shrink": 1, "crash": 1, "off": "maximal-isr"},
        {"isr_shrink": 1, "leader_move": 1, "crash": 1, "off": "leader-epoch-start"},
    ],
)
def test_clauses_that_only_reduce_change_no_verdict(clause: str, given: dict[str, Any]) -> None:
    """Decision 012: without them there are more states and the same verdicts."""
    whole = explored(system("kraft", **given), ACKED, COMMITTED)
    more = explored(system("kraft", **given, disabled=(("follower_take_response", clause),)), ACKED, COMMITTED)
    assert [each.verdict for each in more.findings] == [each.verdict for each in whole.findings]
    assert more.counts.generated >= whole.counts.generated
