"""A search of Kafka's own brokers: closed spaces, losses found unasked, and mistakes of the search itself, which it notices."""

from __future__ import annotations

import json
import os
import signal
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from neverlost.checker.engine.host import processes
from neverlost.checker.kafka.conform.exploration.explore_classes import (
    ClassesSearch,
    ExplorationLimits,
    Progress,
    explore_classes,
)
from neverlost.checker.kafka.conform.exploration.explored_group import Bounds, ExploredGroup, GroupState
from neverlost.checker.kafka.conform.exploration.saved_process import RestoreError, SavedProcess
from neverlost.checker.kafka.conform.java import jvm, kafka
from neverlost.checker.kafka.conform.walk.broker_group import Log
from neverlost.checker.kafka.conform.walk.random_walk import Drawn
from neverlost.reports.questions.conform.document import read_bounds
from neverlost.specs.errors import InputError
from tests.support.explored_paths import LATE, LATE_RECORD, LATE_RECORDS, LATE_TRUNCATION, walk_path
from tests.support.program import document, interrupted, neverlost
from tests.tools import swaps
from tests.tools.simulate import simulated
from tests.tools.swaps import SWAPS

MOVED = Bounds(moves=1, kills=0)
RESTARTED = Bounds(moves=1, kills=1, lags=1)


@dataclass
class Told:
    """What a search says: its verdict, what it broke, states, transitions, paths walked again, and how it was noticed wrong."""

    verdict: str
    broken: str | None
    states: int
    transitions: int
    replayed: int
    explanation: tuple[str, ...] = ()
    mistake: str = ""


def _search(send: processes.Send, version: str, cases: list[tuple[Bounds, ExplorationLimits, int, str]]) -> list[Told]:
    """In a process with a Java of its own: what each search finds that has this mistake in it."""
    found = kafka.kafka_of_version(version, trust=version == "3.9.0")
    jvm.start(found.jars, found.java)
    told = []
    for bounds, limits, sample, mistake in cases:
        search = ClassesSearch(found, bounds, limits, sample)
        if mistake:
            MISTAKES[mistake](search)
        noticed = ""
        try:
            search.run(lambda result: None)
        except RestoreError as problem:
            noticed = str(problem)[:6]
        search.count()
        result = search.found
        numbers = (result.states, result.transitions, result.replayed)
        told.append(Told(result.verdict, result.broken, *numbers, result.explanation, noticed))
        search.close()
    return told


def searched(version: str, *cases: tuple[Bounds, ExplorationLimits, int, str]) -> list[Told]:
    *_, last = processes.run(_search, [(version, list(cases))], 1)
    assert last.kind == "result", last.value
    found: list[Told] = last.value
    return found


def _forget_delivery(search: ClassesSearch) -> None:
    """A response that is taken is never given to the follower."""
    take = search.group.take

    def lose(state: GroupState, event: Drawn) -> GroupState:
        name, arguments = event
        return take(state, ("lose" if name == "deliver" else name, arguments))._replace(spent=state.spent)

    search.group.take = lose  # type: ignore[method-assign]


def _leave_stale(field: str) -> Any:
    """A broker is put back but for one of its parts, which stays as it happens to be."""

    def spoil(search: ClassesSearch) -> None:
        restore, saver = search.group.saver.restore, search.group.saver

        def restore_most(me: int, saved: SavedProcess) -> None:
            there = saver.there.get(me)
            if there is not None and there.is_up and saved.is_up:
                saved = replace(saved, **{field: getattr(there, field)})
            restore(me, saved)

        saver.restore = restore_most  # type: ignore[method-assign]

    return spoil


def _tell_less(*place: int) -> Any:
    """States are told apart by less than what is saved of a broker."""

    def spoil(search: ClassesSearch) -> None:
        group: ExploredGroup = search.group

        def number(me: int) -> int:
            saved = group.saver.save(me)
            return group.processes.number((me, _without(saved.key, place) if saved.is_up else saved.key), saved)

        group._process_number = number  # type: ignore[method-assign]

    return spoil


def _without(key: tuple[Any, ...], place: tuple[int, ...]) -> tuple[Any, ...]:
    at, *deeper = place
    rest = _without(key[at], tuple(deeper)) if deeper else None
    return (*key[:at], rest, *key[at + 1 :])


MISTAKES: dict[str, Any] = {
    "a response is never delivered": _forget_delivery,
    "a stale high watermark": _leave_stale("mark"),
    "a stale fetch state": _leave_stale("fetch"),
    "a stale log": _leave_stale("log"),
    "a stale remote replica": _leave_stale("remote"),
    "the process tells nothing": _tell_less(1),
    "its metadata tell nothing": _tell_less(2),
    "its partition epoch tells nothing": _tell_less(3, 4),
}


@pytest.mark.kafka
def test_a_small_space_closes_and_every_path_leads_where_it_is_said_to() -> None:
    for version, states, transitions in (("3.9", 375, 834), ("4.3", 375, 834)):
        (found,) = searched(version, (MOVED, ExplorationLimits(), 1000, ""))
        assert (found.verdict, found.states, found.transitions) == ("holds", states, transitions)
        assert found.replayed > 600


@pytest.mark.kafka
def test_mistakes_of_the_search_itself_are_noticed() -> None:
    right, *wrong = searched("4.3", *[(RESTARTED, ExplorationLimits(states=1200), 20, each) for each in ("", *MISTAKES)])
    assert (right.mistake, right.verdict, right.broken) == ("", "inconclusive", None)
    assert {name: each.mistake for name, each in zip(MISTAKES, wrong, strict=True)} == dict.fromkeys(MISTAKES, "found:")


@pytest.mark.kafka
@pytest.mark.parametrize("version", ["3.9.0", "3.9.1", "3.9.2", "4.3"])
def test_a_late_response_truncates_before_its_fix_alone(version: str) -> None:
    """Fixed in 3.9.1 (KAFKA-18991)."""
    found = walk_path(version, LATE, LATE_TRUNCATION)
    kept: Log = ((1, 0),)
    assert found.committed == {1}
    if version == "3.9.0":
        assert (found.broken, found.logs) == ("committed-never-lost", [(), kept])
    else:
        assert (found.broken, found.logs) == (None, [kept, kept])


@pytest.mark.kafka
def test_a_late_record_loses_an_acknowledged_record_unless_it_is_skipped() -> None:
    shipped = walk_path("4.3", LATE_RECORDS, LATE_RECORD)
    assert (shipped.broken, shipped.acked) == ("acked-never-lost", {1, 2})
    skipped = walk_path("4.3", replace(LATE_RECORDS, skips_known_epoch=True), LATE_RECORD)
    assert (skipped.broken, skipped.acked) == (None, {1})


@pytest.mark.kafka
def test_a_power_loss_takes_the_end_of_a_log_for_good() -> None:
    """Nothing was flushed; the broker that starts again has what it kept, and the epoch of it alone."""
    bounds = Bounds(records=2, moves=0, kills=0, power_losses=1)
    lost = (("produce", (1,)), ("produce", (1,)), ("power loss", (1, 1)), ("expire", (1,)), ("start", (1,)))
    assert [walk_path("4.3", bounds, lost[:end]).logs[0] for end in (2, 3, 5)] == [((1, 0), (2, 0)), ((1, 0),), ((1, 0),)]
    (found,) = searched("4.3", (Bounds(moves=1, kills=0, power_losses=1), ExplorationLimits(), 8, ""))
    assert (found.verdict, found.broken) == ("holds", None) and found.replayed > 300


@pytest.mark.kafka
@pytest.mark.parametrize(
    ("finds", "not_found", "broken", "forbids"),
    [
        ("14139 taken out", "14139 after", "acked-never-lost", "the controller handles AlterPartition of 1: NONE"),
        ("18723 taken out", "18723 after", "log-matching", "broker 2 processes the response of 1: late"),
        ("18723 taken out", "18723 with 18991 taken out", "log-matching", "broker 2 processes the response of 1: late"),
    ],
)
def test_a_fix_that_is_taken_out_is_missed_after_an_opening(finds: str, not_found: str, broken: str, forbids: str) -> None:
    """The model names the step; and with the fix in nothing is lost in more states than that."""
    found = swaps.searched(SWAPS[finds], ExplorationLimits())
    assert (found.broken, found.explanation[0]) == (broken, f"the model forbids: {forbids}")
    other = swaps.searched(SWAPS[not_found], ExplorationLimits(states=5_000))
    assert (other.broken, other.states > found.states) == (None, True)


@pytest.mark.kafka
def test_the_model_has_every_transition_of_a_closed_search_and_needs_its_truncation() -> None:
    whole = simulated("4.3", MOVED)
    assert (whole.states, whole.transitions, whole.unexplained) == (375, 834, [])
    assert simulated("4.3", MOVED, without="follower_truncate").unexplained


@pytest.mark.kafka
def test_a_late_record_is_found_unasked() -> None:
    bounds = Bounds(moves=1, kills=0, lags=2)
    (found,) = searched("4.3", (bounds, ExplorationLimits(), 1, ""))
    assert (found.verdict, found.broken) == ("violated", "acked-never-lost")
    assert found.explanation == ("the model of this version forbids none of its steps",)


@pytest.mark.kafka
def test_a_loss_is_written_as_itf(tmp_path: Path) -> None:
    """Its last state has a leader whose log lacks an acknowledged record."""
    keys = ("bounds.records=2", "faults.kill=0", "faults.isr_shrink=2")
    settings = [part for each in keys for part in ("--set", each)]
    done = neverlost("conform", "--free", "--kafka-version", "4.3", *settings, "--out", str(tmp_path), "--quiet")
    found = json.loads((tmp_path / "trace.itf.json").read_text())
    assert (done.returncode, len(found["states"])) == (12, 12) and {*found["states"][-1]} == {*found["vars"], "#meta"}
    last, leader = found["states"][-1], found["states"][-1]["leader"]
    (log,) = (each["log"] for number, each in last["brokers"]["#map"] if number == leader)
    assert last["acked"] == {"#set": [1]} and 1 not in [each["record"] for each in log]
    again = neverlost("replay", str(tmp_path / "trace.itf.json"))
    assert again.returncode == 64 and len(again.stderr.splitlines()) == 1


@pytest.mark.kafka
@pytest.mark.slow
def test_the_late_truncation_is_found_unasked_and_the_model_names_its_step() -> None:
    (found,) = searched("3.9.0", (LATE, ExplorationLimits(), 1, ""))
    assert (found.verdict, found.broken) == ("violated", "committed-never-lost")
    assert found.explanation[0] == "the model forbids: broker 1 processes the response of 2: delivered"
    assert "follower_truncate(follower=0, leader=1): in the leader's epoch" in found.explanation
    (fixed,) = searched("3.9.2", (LATE, ExplorationLimits(), 1, ""))
    assert (fixed.verdict, fixed.broken) == ("holds", None)


@pytest.mark.kafka
@pytest.mark.slow
def test_an_acknowledgement_by_offset_is_found_unasked() -> None:
    bounds = Bounds(min_isr=2, records=2, moves=2, kills=0, stalls=1)
    (found,) = searched("4.3", (bounds, ExplorationLimits(), 1, ""))
    assert (found.verdict, found.broken) == ("violated", "acked-never-lost")
    assert found.explanation == ("the model of this version forbids none of its steps",)


@pytest.mark.kafka
@pytest.mark.slow
def test_a_thousand_restored_states_are_those_of_their_paths() -> None:
    (found,) = searched("4.3", (RESTARTED, ExplorationLimits(states=8000), 80, ""))
    assert found.verdict == "inconclusive" and found.replayed >= 1000


ASKED = ("conform", "--free", "--kafka-version", "4.3", "--set", "faults.kill=0")


@pytest.mark.kafka
def test_a_search_that_was_stopped_goes_on(tmp_path: Path) -> None:
    whole = document(*ASKED)
    kept = ("--state-dir", str(tmp_path / "kept"))
    part, rest = document(*ASKED, *kept, "--states", "100"), document(*ASKED, *kept)
    assert (part["verdict"], part["reason"]) == ("inconclusive", "the limit of 100 states was reached")
    assert part["states"]["left"] > 0
    assert all(whole[each] == rest[each] for each in ("verdict", "states", "by_event", "property", "never"))
    assert (whole["verdict"], whole["never"]) == ("holds", [])
    file = tmp_path / "kept" / "free-4.3.1.json"
    other = neverlost(*ASKED, *kept, "--set", "faults.leader_move=0")
    assert other.returncode == 64 and f"{str(file)!r} is of other bounds" in other.stderr
    stored = json.loads(file.read_text())
    file.write_text(json.dumps(stored | {"parents": [[0, ["kill", [1]]]]}))
    done = neverlost(*ASKED, *kept)
    assert done.returncode == 64 and done.stderr.count("\n") == 1 and f"{str(file)!r} is no exploration" in done.stderr


@pytest.mark.kafka
def test_an_interrupted_search_keeps_what_it_has(tmp_path: Path) -> None:
    asked = (*ASKED, "--set", "faults.leader_move=4", "--json", str(tmp_path / "found"), "--state-dir", str(tmp_path))
    done = interrupted("SIGINT", *asked)
    found = json.loads((tmp_path / "found").read_text())
    assert (done.returncode, found["reason"], found["states"]["left"] > 0) == (20, "interrupted", True)
    assert len(json.loads((tmp_path / "free-4.3.1.json").read_text())["parents"]) + 1 >= found["states"]["distinct"]


@pytest.mark.kafka
def test_a_java_that_dies_leaves_what_was_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    search = ClassesSearch.run

    def die(self: ClassesSearch, progress: Progress) -> None:
        self.limits = ExplorationLimits(states=50)
        search(self, progress)
        os.kill(os.getpid(), signal.SIGKILL)

    monkeypatch.setattr(ClassesSearch, "run", die)
    told: list[int] = []
    found = explore_classes(
        kafka.kafka_of_version("4.3"), MOVED, ExplorationLimits(), str(tmp_path), lambda now: told.append(now.states)
    )
    assert (found.verdict, found.states, found.left > 0) == ("inconclusive", told[-1], True)
    assert found.reason == "the process ended with code -9 (killed, or out of memory)"
    assert len(json.loads((tmp_path / "free-4.3.1.json").read_text())["parents"]) + 1 == told[-1]


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--free", "--set", "acks=1"], "unknown key 'acks' in --set with --free"),
        (["--free", "--set", "bounds.records=0"], "bad value '0' for bounds.records in --set: use 1 to 6"),
        (["--free", "--fix", "all"], "unknown fix 'all' in --fix"),
        (["--states", "9"], "--fix, --depth and --states go with --free"),
        (["--free", "--seed", "9"], "--seed and --state-dir go with --walks N"),
    ],
)
def test_a_free_search_reads_few_keys(arguments: list[str], says: str) -> None:
    done = neverlost("conform", "--kafka-version", "4.3", *arguments)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (64, "", 1) and says in done.stderr


def test_bounds_are_read_by_their_keys() -> None:
    given = ["replication.factor=3", "faults.isr_shrink=2", "bounds.acks_1=1"]
    assert read_bounds(given, ["equal-epoch"]) == Bounds(brokers=3, lags=2, acks_one=1, skips_known_epoch=True)
    with pytest.raises(InputError, match="use 2 to 3"):
        read_bounds(["replication.factor=4"], [])
