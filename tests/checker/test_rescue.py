"""Advice about offline partitions, held to states that the models reach: files are made of a state, and its losses counted.

Files that contradict themselves are named, and nothing is said of their replica.
"""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from neverlost.checker.questions.rescue.offline_partition import (
    ELECT,
    UNKNOWN,
    WAIT,
    OfflinePartition,
    OffsetRange,
    RescueAdvice,
    advise,
)
from neverlost.model.interpreters import ints
from neverlost.model.kernel import NO_REPLICA
from neverlost.model.kraft.state import ELECTED
from neverlost.model.system import System
from neverlost.specs.configuration.choose import choose_each, read_settings
from neverlost.specs.errors import InputError
from neverlost.specs.inputs.recognise import described
from neverlost.specs.inputs.replica_files import EPOCHS, HIGH_WATERMARKS, LOG_ENDS, ReplicaFiles, read_replica

BREAKS = {
    "broker_crash": "killed",
    "broker_crash_lossy": "power",
    "broker_crash_unregistered": "power",
    "broker_lose_disk": "disk-gone",
    "broker_stop_cleanly": "clean",
    "broker_lose_directory_cleanly": "disk-gone",
    "controller_fence_live": "cut-off",
}
"""The steps that end a process or cut it off, as an operator names them."""
WORST = ("up", "cut-off", "clean", "killed", "power", "disk-gone")
MIN_ISR = 2
LIMITS = ("kill=3", "lossy_crash=2", "clean_stop=1", "fence=1", "isr_shrink=1", "disk_loss=1")


@dataclass
class Incident:
    """A partition without a leader: its state, how each broker went, the highest high watermark that each has had, and the
    records that an earlier leader lacked, which no election of now loses."""

    state: dict[str, Any]
    went: list[str]
    high: list[int]
    gone: set[int]


def prepare(model: str, replicas: int) -> System:
    given = [
        f"model={model}",
        f"replication.factor={replicas}",
        f"min.insync.replicas={MIN_ISR}",
        "acks=all",
        "bounds.records=3",
    ]
    (chosen,) = choose_each(read_settings([*given, *(f"faults.{each}" for each in LIMITS)]))
    return chosen.system


def log_of(state: dict[str, Any], broker: int) -> list[int]:
    return [each for each in state["log_record"][broker] if each]


def draw(system: System, source: random.Random) -> Incident:
    """Walk at random, with a preference for writes at first and for faults later, until there is no leader."""
    while True:
        state = system.initial_states()[0][1]
        brokers = range(system.sizes["replica"])
        went, high, gone = ["up" for _ in brokers], [0 for _ in brokers], set[int]()
        for at in range(60):
            steps = [each for each in source.sample(list(system.steps), len(system.steps)) if at > 12 or not each.action.fault]
            if at > 12 and source.random() < 0.5:
                steps.sort(key=lambda each: not each.action.fault)
            step, after = next(
                ((each, to) for each in steps if (to := ints.take(system, state, each)) is not None), (None, None)
            )
            if step is None or after is None:
                break
            state, now = after, system.nested(after)
            struck = BREAKS.get(step.action.name)
            if struck is not None:
                broker = step.arguments["broker"]
                went[broker] = max(went[broker], struck, key=WORST.index)
            leader = now["leader"]
            if leader != NO_REPLICA and now["is_running"][leader] and now["leader_knows"] != ELECTED:
                acked = {number for number, is_acked in enumerate(now["ghost_acked"], 1) if is_acked}
                gone |= acked - set(log_of(now, leader))
                for each in brokers:
                    if (
                        now["is_running"][each]
                        and now["isr"][each]
                        and not now["is_fenced"][each]
                        and leader in (each, now["follows"][each])
                    ):
                        went[each] = "up"
            for each in brokers:
                high[each] = max(high[each], now["high_watermark"][each])
                if went[each] == "disk-gone":
                    high[each] = 0
            if leader == NO_REPLICA and source.random() < 0.4:
                return Incident(now, went, high, gone)


def show(incident: Incident, source: random.Random) -> OfflinePartition:
    """Return what an operator sees: files of the living, at times of a broker that is down, and not always how each went."""
    state, brokers = incident.state, range(len(incident.went))
    files = {}
    for each in brokers:
        log = log_of(state, each)
        if state["is_running"][each] or source.random() < 0.2:
            epochs = tuple((record, offset) for offset, record in enumerate(log))
            files[each] = ReplicaFiles(each, epochs, len(log), source.randint(0, incident.high[each]))
    went = {each: how if source.random() < 0.8 else "unknown" for each, how in enumerate(incident.went)}
    sets = [
        tuple(each for each in brokers if is_in[each]) for is_in in (state["isr"], state.get("elr", [False] * len(brokers)))
    ]
    last = state.get("last_known_leader", NO_REPLICA)
    last_known = () if last == NO_REPLICA else (last,)
    return OfflinePartition(tuple(brokers), *sets, last_known, went, files, min_isr=source.choice((1, MIN_ISR)))


def judge(incident: Incident, seen: OfflinePartition, advice: RescueAdvice) -> bool:
    """Hold each candidate to the state, and return True if the advice was more careful than it had to be."""
    state = incident.state
    acked = {number for number, is_acked in enumerate(state["ghost_acked"], 1) if is_acked} - incident.gone
    committed = [each for each in state["ghost_committed"] if each]
    lossless = []
    for each in advice.candidates:
        log = log_of(state, each.broker)
        lost = {record for record in acked if record not in log}
        where = {committed.index(record) for record in lost if record in committed}
        assert not (each.loses_nothing and lost), (incident, seen, each)
        if each.problem is None and each.at_most is not None:
            assert all(each.at_most.first <= one and (each.at_most.end is None or one < each.at_most.end) for one in where), (
                incident,
                seen,
                each,
            )
        if each.problem is None and each.at_least is not None:
            missing = [at for at, record in enumerate(committed) if record not in log]
            assert set(range(each.at_least.first, each.at_least.end or 0)) <= set(missing), (incident, seen, each)
        lossless.append(not lost)
    if advice.says == WAIT and advice.broker is not None:
        assert acked <= set(log_of(state, advice.broker)), (incident, seen, advice)
    return advice.says in (WAIT, UNKNOWN) and any(lossless)


def hold(model: str, replicas: int, many: int) -> Counter[str]:
    system, source, counted = prepare(model, replicas), random.Random(f"{model} {replicas}"), Counter[str]()
    for _ in range(many):
        incident = draw(system, source)
        seen = show(incident, source)
        advice = advise(seen)
        counted["careful"] += judge(incident, seen, advice)
        counted[advice.says + (" safely" if any(each.loses_nothing for each in advice.candidates) else "")] += 1
        counted["problems"] += sum(each.problem is not None for each in advice.candidates)
    return counted


@pytest.mark.parametrize("model", ["kraft", "kraft-elr"])
def test_no_drawn_incident_loses_what_the_advice_says_is_kept(model: str) -> None:
    counted = hold(model, 3, 25)
    assert counted["elect safely"] and counted[WAIT] + counted[UNKNOWN], counted


@pytest.mark.slow
@pytest.mark.parametrize(
    ("model", "replicas", "many"), [("kraft", 3, 150), ("kraft-elr", 3, 150), ("kraft", 4, 100), ("kraft-elr", 4, 100)]
)
def test_none_of_500_drawn_incidents_loses_what_the_advice_says_is_kept(model: str, replicas: int, many: int) -> None:
    counted = hold(model, replicas, many)
    assert counted["elect safely"] and counted[WAIT] + counted[UNKNOWN], counted


def files_of(broker: int, end: int, high: int, *epochs: tuple[int, int], problem: str | None = None) -> ReplicaFiles:
    return ReplicaFiles(broker, epochs, end, high, problem)


ALONE = files_of(1, 140, 118, (4, 0), (7, 120))
BEHIND = files_of(2, 130, 118, (4, 0), (5, 118))


def offline(went: dict[int, str], *files: ReplicaFiles, isr: tuple[int, ...] = (1,)) -> OfflinePartition:
    return OfflinePartition((1, 2, 3), isr, (), (), went, {each.broker: each for each in files})


def test_a_killed_last_member_is_waited_for_and_elected_once_its_log_is_seen() -> None:
    waits = advise(offline({1: "killed", 2: "up"}, BEHIND))
    elects = advise(offline({1: "killed", 2: "up"}, BEHIND, ALONE))
    assert (waits.says, waits.broker) == (WAIT, 1)
    assert (elects.says, elects.broker) == (ELECT, 1)
    behind = elects.candidates[0]
    assert (behind.at_most, behind.truncates) == (OffsetRange(118, 140), {1: 118})


@pytest.mark.parametrize("went", ["power", "unknown"])
def test_a_last_member_that_may_have_lost_data_is_never_said_to_lose_nothing(went: str) -> None:
    ways = {1: went, 2: "up", 3: "disk-gone"}
    unseen, seen = advise(offline(ways, BEHIND)), advise(offline(ways, BEHIND, ALONE))
    assert (unseen.says, unseen.broker) == (UNKNOWN, 1)
    assert (seen.says, seen.broker) == (ELECT, 1)
    assert not any(each.loses_nothing for each in (*unseen.candidates, *seen.candidates))


def test_a_log_that_ends_before_its_own_high_watermark_has_lost_what_is_between() -> None:
    (found,) = advise(offline({1: "power"}, files_of(1, 100, 118, (4, 0)))).candidates
    assert (found.at_least, found.at_most) == (OffsetRange(100, 118), OffsetRange(100, None))


def test_a_contradiction_is_named_and_never_loses_nothing() -> None:
    short, stranger = files_of(1, 100, 118, (4, 0)), files_of(9, 100, 100, (4, 0))
    lies = advise(offline({1: "killed"}, short, stranger))
    assert lies.says == UNKNOWN
    says = [each.problem or "" for each in lies.candidates]
    assert says[0].startswith("its log ends at 100, below its high watermark 118") and says[1].startswith(
        "broker 9 has no replica"
    )


def write_files(folder: Path, epochs: str, end: str = "0\n1\norders 0 140\n") -> str:
    (folder / EPOCHS).write_text(epochs)
    (folder / LOG_ENDS).write_text(end)
    (folder / HIGH_WATERMARKS).write_text("0\n2\nother 0 5\norders 0 118\n")
    return str(folder)


def test_files_are_read_as_kafka_writes_them(tmp_path: Path) -> None:
    folder = write_files(tmp_path, "0\n2\n4 0\n7 120\n")
    assert read_replica(1, folder, "orders", 0) == ALONE


@pytest.mark.parametrize(
    ("epochs", "problem"),
    [
        ("0\n2\n7 0\n4 120\n", "epoch 4 at offset 120 after epoch 7"),
        ("0\n2\n4 120\n7 10\n", "epoch 7 at offset 10 after epoch 4 at offset 120"),
        ("0\n1\n4 200\n", "epoch 4 starts at 200, beyond the log end 140"),
        ("0\n0\n", "has no epochs, but the log ends at 140"),
        ("", "has no epochs, but the log ends at 140"),
    ],
)
def test_files_of_different_moments_are_a_problem_of_their_replica(tmp_path: Path, epochs: str, problem: str) -> None:
    found = read_replica(1, write_files(tmp_path, epochs), "orders", 0)
    assert found.problem is not None and problem in found.problem
    advice = advise(offline({1: "killed"}, found))
    assert (advice.says, advice.broker, advice.candidates[0].loses_nothing) == (UNKNOWN, 1, False)


@pytest.mark.parametrize(
    ("epochs", "end", "says"),
    [
        ("1\n", "0\n1\norders 0 140\n", "is no checkpoint of version 0"),
        ("0\n3\n4 0\n", "0\n1\norders 0 140\n", "says '3' entries, and 1 follow"),
        ("0\n1\n4\n", "0\n1\norders 0 140\n", "bad entry '4' in"),
        ("0\n1\n4 -1\n", "0\n1\norders 0 140\n", "bad value '-1' in"),
        ("0\n1\n4 0\n", "0\n1\nother 0 140\n", "has no orders 0"),
    ],
)
def test_a_file_that_cannot_be_read_is_an_error(tmp_path: Path, epochs: str, end: str, says: str) -> None:
    with pytest.raises(InputError, match=says):
        read_replica(1, write_files(tmp_path, epochs, end), "orders", 0)


def test_a_replica_that_was_just_added_has_an_empty_checkpoint(tmp_path: Path) -> None:
    """Kafka creates the file empty, and writes it with the first record."""
    found = read_replica(1, write_files(tmp_path, "", "0\n1\norders 0 0\n"), "orders", 0)
    assert (found.epochs, found.end, found.problem) == ((), 0, None)
    (advice,) = advise(offline({1: "up"}, replace(found, high_watermark=None), isr=(2,))).candidates
    assert not advice.loses_nothing


def test_a_description_shows_the_last_known_elr() -> None:
    text = (
        "Topic: orders\tTopicId: x\tPartitionCount: 1\tReplicationFactor: 3\tConfigs: \n"
        "\tTopic: orders\tPartition: 0\tLeader: none\tReplicas: 1,2,3\tIsr: \tElr: 3\tLastKnownElr: 2\n"
    )
    found = described(text, "topics.txt").topics["orders"].partitions[0]
    assert (found.isr, found.elr, found.last_known_elr, found.has_leader) == ((), (3,), (2,), False)
