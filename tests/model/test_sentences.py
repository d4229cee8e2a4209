"""A step's sentence names what changed and why it matters; expectations are what Kafka does, written by hand."""

from __future__ import annotations

from dataclasses import replace

import pytest

from neverlost.model.sentences import beliefs_of, changes, is_stale, metadata_of, name_step, numbered
from neverlost.model.snapshot import DOWN, FOLLOWER, LEADER, NOT_APPLIED, STALE, STALE_LEADER, BrokerView, ClusterSnapshot
from neverlost.model.system import bind
from neverlost.specs.configuration.choose import choose, read_settings

NAMES = ("101", "105", "104")
EMPTY: tuple[tuple[int, int | None], ...] = ()
M1 = ((1, None),)


def scene(*lanes: BrokerView, **about: object) -> ClusterSnapshot:
    found = ClusterSnapshot(leader=0, epoch=None, isr=(0, 1, 2), lanes=lanes, min_isr=2)
    return replace(found, **about)  # type: ignore[arg-type]


def leader(log: tuple[tuple[int, int | None], ...] = EMPTY, hw: int = 0, **about: object) -> BrokerView:
    return replace(BrokerView(0, LEADER, log, hw, isr=(0, 1, 2), is_leader=True, follows=0), **about)  # type: ignore[arg-type]


def follower(number: int, log: tuple[tuple[int, int | None], ...] = EMPTY) -> BrokerView:
    return BrokerView(number, FOLLOWER, log, 0, follows=0)


def said(before: ClusterSnapshot, after: ClusterSnapshot, actor: int | None = None) -> str:
    return "; ".join(changes(before, after, NAMES, actor))


def test_a_high_watermark_and_what_it_acknowledges() -> None:
    followers = follower(1, M1), follower(2, M1)
    before = scene(leader(M1), *followers)
    after = scene(leader(M1, 1), *followers, acked=frozenset({1}))
    assert said(before, after, actor=0) == "HW 0 -> 1; m1 acknowledged"


def test_an_acknowledgement_that_rests_on_a_stale_isr() -> None:
    followers = follower(1, M1), follower(2)
    before = scene(leader(M1, isr=(0, 1)), *followers, isr=(0,), knowledge=STALE)
    after = replace(before, lanes=(leader(M1, 1, isr=(0, 1)), *followers), acked=frozenset({1}))
    assert said(before, after, 0) == "HW 0 -> 1; m1 acknowledged by the stale ISR=101,105, while the controller has ISR=101"


def test_a_high_watermark_that_counts_on_a_fetch_offset_of_a_follower_that_has_truncated() -> None:
    """Partition.makeLeader keeps the offsets of a leader that never knew another one."""
    stale = leader(M1, role=STALE_LEADER, is_leader=False, fetched=((2, 1),))
    before = scene(stale, follower(1), follower(2), isr=(0, 2), knowledge=NOT_APPLIED)
    assert beliefs_of(stale, before, NAMES)[1] == "remembers fetch offset 1 of 104 (stale: its log has changed)"
    lanes = leader(M1, 1, isr=(0, 2)), follower(1), follower(2)
    after = scene(*lanes, isr=(0, 2), acked=frozenset({1}))
    assert said(before, after, 0).endswith(
        "HW 0 -> 1 by the remembered fetch offset 1 of 104, past m1, which ISR member 104 lacks; "
        "m1 acknowledged, though only 101 has it"
    )


def test_a_change_that_a_leader_forgets_although_the_controller_has_committed_it() -> None:
    """A record with the partition epoch that the leader has already; a request that was not committed goes without a word."""
    asking = leader(isr=(0, 2), pending=("add", 1))
    before = scene(asking, follower(1), follower(2))
    after = replace(before, lanes=(replace(asking, pending=None), *before.lanes[1:]))
    assert said(before, after, 0) == "forgets its pending change to add 105, which the controller has committed"
    assert said(replace(before, isr=(0, 2)), replace(after, isr=(0, 2)), 0) == ""


def test_a_leader_that_wins_again_without_what_was_acknowledged() -> None:
    """A majority's leader that has lost its log and is elected by voters that never had it: same leader, new term."""
    lanes = leader(isr=None), follower(1), follower(2, M1)
    before = scene(*lanes, epoch=0, isr=(), min_isr=None, acked=frozenset({1}), authority="quorum")
    assert said(before, replace(before, epoch=1), 0) == "101 leads again, though it lacks acknowledged m1"


def test_a_fence_without_an_eligible_leader() -> None:
    down = BrokerView(0, DOWN, M1)
    before = scene(down, follower(1), follower(2), isr=(0,))
    assert said(before, replace(before, leader=None, fenced=(0,)), 0) == "no eligible leader is left"


@pytest.mark.parametrize(
    ("before", "origin"),
    [
        ({"isr": (0, 1)}, "leadership moves from 101 to 105"),
        ({"isr": (0,), "elr": (1,)}, "leadership moves from 101 to 105 from the ELR"),
        ({"isr": (0,)}, "leadership moves from 101 to 105 uncleanly, from outside the ISR"),
        ({"isr": (), "leader": None, "last_known_leader": 1}, "105 is elected leader as the last known leader"),
    ],
)
def test_where_an_elected_leader_comes_from(before: dict[str, object], origin: str) -> None:
    lanes = BrokerView(0, DOWN, EMPTY), follower(1), follower(2)
    assert origin in said(scene(*lanes, **before), scene(*lanes, leader=1, isr=(1,)))


def test_an_elected_leader_that_lacks_what_was_acknowledged() -> None:
    lanes = BrokerView(0, DOWN, EMPTY), follower(1, M1), follower(2)
    before = scene(*lanes, leader=None, isr=(2,), acked=frozenset({1}))
    after = replace(before, leader=2)
    assert said(before, after) == "104 is elected leader as the last member of the ISR, though it lacks acknowledged m1"


def test_leaving_and_joining_the_isr() -> None:
    lanes = leader(), follower(1), follower(2)
    before = scene(*lanes)
    after = scene(*lanes, isr=(0,), elr=(2,), knowledge=STALE)
    assert said(before, after) == (
        "105 leaves the ISR; 104 leaves the ISR for the ELR; the ISR is below min.insync.replicas=2; "
        "leader 101 does not know yet"
    )
    assert said(scene(*lanes, isr=(0,)), before) == "105 joins the ISR; 104 joins the ISR"


def test_records_that_are_truncated_and_lost() -> None:
    before = scene(leader(M1, 1), follower(1, M1), follower(2), acked=frozenset({1}))
    assert said(before, replace(before, lanes=(leader(M1, 1), follower(1), follower(2))), 1) == "truncates acknowledged m1"
    gone = replace(before, lanes=(BrokerView(0, DOWN, EMPTY), follower(1), follower(2)))
    assert said(before, gone, 0) == "loses acknowledged m1, the last copy; 105 truncates acknowledged m1, the last copy"


def test_who_still_believes_it_is_leader() -> None:
    before = scene(leader(), follower(1), follower(2))
    old = leader(role=STALE_LEADER, is_leader=False)
    after = scene(old, follower(1), follower(2), leader=1, knowledge=NOT_APPLIED)
    assert said(before, after) == "leadership moves from 101 to 105; 101 still believes it is leader"
    assert "leader 105 has not applied its leadership yet" in metadata_of(after, NAMES)


def test_what_a_leader_knows_is_marked_when_it_is_stale() -> None:
    lane = leader(pending=("remove", 2))
    current, behind = scene(lane, follower(1), follower(2)), scene(lane, follower(1), follower(2), isr=(0, 1))
    assert beliefs_of(lane, current, NAMES) == ["ISR=101,105,104", "AlterPartition pending: remove 104"]
    assert beliefs_of(lane, behind, NAMES)[0] == "ISR=101,105,104 stale"
    assert [is_stale(each) for each in beliefs_of(lane, behind, NAMES)] == [True, False]


def test_names_of_brokers() -> None:
    assert numbered(3) == ("1", "2", "3")
    assert numbered(4, NAMES) == (*NAMES, "new")


def test_an_election_among_logs_is_named_by_who_is_elected() -> None:
    """An outcome says who is elected and which others answered: with three replicas it is a number up to 11."""
    asked = "kafka.version=3.9 acks=min.insync.replicas election.policy=fenced-longest-log faults.kill=1"
    chosen = choose(read_settings(asked.split()))
    system = bind(chosen.model, chosen.configuration)
    steps = [each for each in system.steps if each.action.name == "controller_fence_dead" and each.arguments["outcome"] >= 0]
    assert len({each.arguments["outcome"] for each in steps}) > 3
    assert {name_step(system, each, NAMES).rpartition("outcome=")[2] for each in steps} == {"101)", "105)", "104)"}
