"""Random walks of Kafka's own brokers: the model explains them, and it does not where what they need is taken out of it."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from neverlost.checker.engine.host import processes
from neverlost.checker.kafka.conform.java import jvm, kafka
from neverlost.checker.kafka.conform.walk import walks
from neverlost.checker.kafka.conform.walk.broker_group import FIRST
from neverlost.checker.kafka.conform.walk.explain_walk import PlainLayout, PlainView, WalkExplainer, share_machine_code
from neverlost.checker.kafka.conform.walk.random_walk import OPENINGS, SENTENCES, WEIGHTS, WalkEvent, fetched, take_event
from neverlost.checker.kafka.conform.walk.replica_fetcher import ONE
from neverlost.model.interpreters.ints import Ints, successors, take
from neverlost.model.kernel import Model, larger
from neverlost.model.kraft.broker import follower as following
from neverlost.model.kraft.broker.log import agreed_end, truncate_to
from neverlost.model.protocols.kraft import MODEL
from neverlost.model.system import State, System, bind
from neverlost.specs.configuration.choose import choose, read_settings
from neverlost.specs.defects import DEFECTS
from tests.support.program import neverlost

NEEDED = {
    "late bytes of an older epoch": "older-epochs-dropped",
    "a request that stands still": "acknowledged-in-epoch-of-append",
    "a fetch before registration": "unregistered-fetch-refused",
    "a refused request comes again": "refusal-outdates-copies",
    "a late record of an ISR change": "equal-epoch-record-skipped",
}
"""Openings with the remedy of the defect that they need; that of newer epochs is in all versions that are run here."""

LOST = {
    "late bytes of an older epoch": 1,
    "a request that stands still": 1,
    "a refused request comes again": 2,
    "a late record of an ISR change": 2,
}
"""Openings that lose an acknowledged record, with its number."""


def _truncate_no_further(k: Any, s: Any, follower: int, leader: int) -> Iterator[tuple[str, Any]]:
    """The action with a guard that is too strict: never below the follower's own high watermark."""
    yield "in the leader's epoch", following.is_answered(k, s, follower, leader)
    yield "bound: logs diverge", k.not_(following.logs_agree(k, s, follower, leader))
    truncate_to(k, s, follower, larger(k, agreed_end(k, s, follower, leader), s.high_watermark[follower]))


def strict() -> Model:
    """The model with that action."""
    action = replace(following.follower_truncate, body=_truncate_no_further)
    return MODEL.differing("strict", "strict", replacing={"follower_truncate": action})


def _walk_openings(send: processes.Send, version: str) -> dict[str, dict[str, Any]]:
    """In a process with a Java of its own: what each opening loses, and after which event each model does not explain it."""
    found = kafka.kafka_of_version(version)
    jvm.start(found.jars, found.java)
    judge = walks.WalkJudge(found, 2)
    models = {name: WalkExplainer(found, 2, [name]) for name in NEEDED.values()}
    models |= {"as it is": judge.explainer, "strict": WalkExplainer(found, 2, (), strict())}
    results: dict[str, dict[str, Any]] = {}
    for name, opening in OPENINGS.items():
        judge.group.begin()
        steps = [(WalkEvent("begin"), judge.group.view())]
        for event in opening:
            steps.append((take_event(judge.group, *event), judge.group.view()))
        read_by_kafka = [_log_by_kafka(each.broker.log) for each in judge.group.processes.values() if each.broker is not None]
        judge.group.end()
        ends = {each: walks.explain(model, steps) for each, model in models.items()}
        results[name] = {each: end and walks.counted(end.event) for each, end in ends.items()}
        results[name] |= {"lost": walks.lost_record(steps[-1][1]), "logs": [each.log for each in steps[-1][1].brokers]}
        results[name]["logs by Kafka"] = read_by_kafka
        results[name]["guilty"] = judge.guilty(steps) if results[name]["lost"] else []
    return results


def _log_by_kafka(log: Any) -> list[tuple[int, int]]:
    """The records of a log of one segment with their epochs, read by Kafka's classes."""
    batches = [(int(batch.partitionLeaderEpoch()), batch) for batch in log.activeSegment().log().batches()]
    values = [(record.value(), epoch) for epoch, batch in batches for record in batch]
    return [(int(value.get(value.position())) - FIRST + 1, epoch) for value, epoch in values]


def _compare_twice(send: processes.Send, version: str) -> list[dict[str, Any]]:
    """In a process with a Java of its own: what is counted in some walks, with plain lists and with machine code."""
    found = kafka.kafka_of_version(version)
    jvm.start(found.jars, found.java)
    tallies = []
    for many in (walks.MANY, 1):
        walks.MANY = many
        tallies.append(walks.compare(found, 1, 0, 16))
    return [{"calls": each.calls, "by event": dict(each.by_event), "differences": each.differences} for each in tallies]


@pytest.fixture(scope="module", params=["3.9", "4.1", "4.3", "4.4"])
def opened(request: pytest.FixtureRequest) -> dict[str, dict[str, Any]]:
    *_, last = processes.run(_walk_openings, [(request.param,)], 1)
    assert last.kind == "result", last.value
    found: dict[str, dict[str, Any]] = last.value
    return found


@pytest.mark.kafka
def test_the_model_explains_known_findings_and_names_the_defect(opened: dict[str, dict[str, Any]]) -> None:
    assert {name: each["as it is"] for name, each in opened.items()} == dict.fromkeys(OPENINGS)
    assert {name: each["lost"] for name, each in opened.items()} == {name: LOST.get(name) for name in OPENINGS}
    guilty = {name: each["guilty"] for name, each in opened.items() if each["lost"]}
    assert guilty == {
        "late bytes of an older epoch": ["late-bytes-of-older-epoch"],
        "a request that stands still": ["acknowledged-by-offset"],
        "a refused request comes again": ["refused-request-committed-later"],
        "a late record of an ISR change": ["late-record-forgets-request"],
    }


@pytest.mark.kafka
def test_a_log_is_read_from_its_bytes_as_kafka_reads_it(opened: dict[str, dict[str, Any]]) -> None:
    shown = {name: [list(log) for log in each["logs"]] for name, each in opened.items()}
    assert shown == {name: each["logs by Kafka"] for name, each in opened.items()}
    assert [(3, 1), (2, 0)] in shown["late bytes of an older epoch"]


@pytest.mark.kafka
def test_machine_code_explains_the_walks_that_plain_lists_explain() -> None:
    *_, last = processes.run(_compare_twice, [("4.3",)], 1)
    assert last.kind == "result", last.value
    plain, compiled = last.value
    assert plain == compiled and plain["calls"] > 800 and not plain["differences"]


@pytest.mark.kafka
def test_late_bytes_are_those_that_stand_there_now(opened: dict[str, dict[str, Any]]) -> None:
    """Of the slice that was answered follower 2 gets another leader's record; one of a newer epoch is dropped (KAFKA-18723)."""
    assert opened["late bytes of an older epoch"]["logs"][1] == ((3, 1), (2, 0))
    assert opened["late bytes of a newer epoch"]["logs"] == [((3, 1), (4, 1)), ((1, 0),), ((3, 1), (4, 1))]


@pytest.mark.kafka
def test_without_a_mechanism_the_same_walk_is_unexplained(opened: dict[str, dict[str, Any]]) -> None:
    unexplained = {name: [remedy for remedy in NEEDED.values() if each[remedy]] for name, each in opened.items()}
    assert unexplained == {name: [NEEDED[name]] if name in NEEDED else [] for name in OPENINGS}
    assert opened["late bytes of an older epoch"]["older-epochs-dropped"] == "deliver: late"
    assert opened["a request that stands still"]["acknowledged-in-epoch-of-append"] == "thread goes on"


FETCHED_EARLY = OPENINGS["a fetch before registration"]

HANDLED_LATE = (
    *FETCHED_EARLY,
    *(("send", (2, 1)), ("expire", (2,)), ("register", (2,)), ("answer", (2, 1))),
    *(("kill", (2,)), ("expire", (2,)), ("start", (2,)), ("alter", (1, 0))),
)
"""The fetch of before a registration is handled after it, and what the leader asks for is committed after a further restart."""

KNOWN_BEFORE = (
    *FETCHED_EARLY,
    *(("send", (2, 1)), ("kill", (3,)), ("produce acks=1", (1,)), ("answer", (2, 1)), ("alter", (1, 0)), ("kill", (1,))),
    *(("expire", (3,)), ("expire", (1,)), ("expire", (2,)), ("register", (2,)), ("start", (3,))),
    *(("send", (3, 1)), ("answer", (3, 2)), ("deliver", (3, 2))),
)
"""Broker 2 learns before it registers that a record is committed; it leads with that high watermark, and tells broker 3."""


LED_HALF_TRUNCATED = (
    *(("produce", (1,)), *fetched(2, 1, ONE), *fetched(3, 1, ONE), ("produce", (1,)), ("produce", (1,))),
    *(("move leader", (2,)), ("metadata", (2,)), ("produce acks=1", (2,)), ("move leader", (1,)), ("metadata", (1,))),
    *(("produce", (1,)), ("move leader", (2,)), ("metadata", (2,)), ("metadata", (1,)), *fetched(1, 2)),
    *(("send", (1, ONE)), ("move leader", (1,)), ("metadata", (2,)), ("metadata", (1,)), ("metadata", (3,))),
    *(("answer", (1, 2)), ("deliver", (1, 2)), *fetched(3, 1)),
    *(("move leader", (3,)), ("metadata", (3,)), ("metadata", (1,))),
)
"""Broker 1 does not know the epoch that leader 2 names: it keeps all records of older ones, more than 2 has, and leads."""


HIGH_WATERMARK_ALONE = (
    *(("produce", (1,)), *fetched(2, 1), *fetched(3, 1), *fetched(2, 1), *fetched(3, 1)),
    *(("kill", (3,)), ("expire", (3,)), ("start", (3,)), ("send", (3, 1)), ("produce", (1,)), ("answer", (3, 1))),
    *(("move leader", (2,)), ("metadata", (2,)), ("metadata", (1,)), ("send", (1, 2)), ("produce", (2,)), ("answer", (1, 2))),
    *(("deliver", (1, 2)), *fetched(1, 2), ("deliver", (3, 1))),
)
"""Broker 1 copies a record of a newer epoch before its response to 3 is sent: 3 drops it, and takes the high watermark."""


class _Forgetting(WalkExplainer):
    """Takes it that a process that registers has high watermark 0, and that a late response without records brings none."""

    def _knowing_more(self, states: Any, view: Any, late: Any) -> Iterator[Any]:
        return iter(())


def _walk_and_explain(send: processes.Send, version: str, events: tuple[Any, ...]) -> dict[str, Any]:
    """In a process with a Java of its own: the first event of a walk that is unexplained, as seen and as seen with less."""
    found = kafka.kafka_of_version(version)
    jvm.start(found.jars, found.java)
    judge = walks.WalkJudge(found, 2)
    judge.group.begin()
    steps = [(WalkEvent("begin"), judge.group.view())]
    for event in events:
        steps.append((take_event(judge.group, *event), judge.group.view()))
    judge.group.end()
    no_epochs = [(event, replace(view, names_no_epoch=frozenset())) for event, view in steps]
    mended = WalkExplainer(found, 2, ["unregistered-fetch-refused"])
    ends = {
        "explained": (judge.explainer, steps),
        "epoch unseen": (judge.explainer, no_epochs),
        "nothing known before": (_Forgetting(found, 2), steps),
        "mended": (mended, steps),
    }
    results = {name: (end := walks.explain(*given)) and walks.counted(end.event) for name, given in ends.items()}
    return results | {"last": walks.counted(steps[-1][0])}


@pytest.mark.kafka
@pytest.mark.parametrize("version", ["3.9", "4.3"])
def test_a_fetch_of_before_a_registration_may_be_handled_after_it(version: str) -> None:
    *_, last = processes.run(_walk_and_explain, [(version, HANDLED_LATE)], 1)
    assert last.kind == "result", last.value
    wanted = {"explained": None, "epoch unseen": "alter: NONE", "nothing known before": None, "mended": "start"}
    assert last.value == wanted | {"last": "alter: NONE"}


@pytest.mark.kafka
@pytest.mark.parametrize("version", ["3.9", "4.1", "4.3"])
def test_a_broker_leads_with_the_high_watermark_that_it_learned_before_it_registered(version: str) -> None:
    *_, last = processes.run(_walk_and_explain, [(version, KNOWN_BEFORE)], 1)
    assert last.kind == "result", last.value
    wanted = {"explained": None, "epoch unseen": None, "nothing known before": "deliver: delivered", "mended": "start"}
    assert last.value == wanted | {"last": "deliver: delivered"}


@pytest.mark.kafka
@pytest.mark.parametrize("version", ["3.9", "4.3"])
def test_a_log_that_is_truncated_to_an_older_epoch_than_was_named_is_led_from(version: str) -> None:
    *_, last = processes.run(_walk_and_explain, [(version, LED_HALF_TRUNCATED)], 1)
    assert last.kind == "result", last.value
    wanted = {"explained": None, "epoch unseen": None, "nothing known before": None, "mended": None}
    assert last.value == wanted | {"last": "metadata"}


@pytest.mark.kafka
@pytest.mark.parametrize("version", ["3.9", "4.4"])
def test_a_late_response_brings_a_high_watermark_without_the_records_that_are_dropped(version: str) -> None:
    """No loss is behind it: `tests/model/test_reductions.py` lets followers know a true high watermark at any time."""
    *_, last = processes.run(_walk_and_explain, [(version, HIGH_WATERMARK_ALONE)], 1)
    assert last.kind == "result", last.value
    wanted = {"explained": None, "epoch unseen": None, "nothing known before": "deliver: late", "mended": None}
    assert last.value == wanted | {"last": "deliver: late"}


@pytest.mark.kafka
def test_a_follower_that_keeps_what_it_knows_as_committed_is_seen(opened: dict[str, dict[str, Any]]) -> None:
    """Mutant 2 of the findings, of which comparisons of what the model has see nothing."""
    assert [name for name, each in opened.items() if each["strict"]] == ["a late record of an ISR change"]
    assert opened["a late record of an ISR change"]["strict"] == "deliver: delivered"


@pytest.mark.kafka
def test_walks_are_kept_and_not_done_again(tmp_path: Path) -> None:
    asked = ("conform", "--kafka-version", "4.3", "--walks", "12", "--workers", "1", "--state-dir", str(tmp_path / "state"))
    first, again = (neverlost(*asked, "--json", str(tmp_path / name), timeout=300) for name in ("1.json", "2.json"))
    found = [json.loads((tmp_path / name).read_text()) for name in ("1.json", "2.json")]
    assert (first.returncode, again.returncode) == (0, 0) and found[0]["parts"] == found[1]["parts"]
    assert found[0]["parts"][0]["cases"] == 12 and found[0]["parts"][0]["calls"] > 500
    assert found[0]["parts"][0]["by_event"]["answer: NONE"] == 12 and found[1]["seconds"] < found[0]["seconds"]
    kept = tmp_path / "state" / "walks-4.3.1-1-0-12.json"
    kept.write_text("{}")
    done = neverlost(*asked)
    assert done.returncode == 64 and f"{str(kept)!r} is no batch of walks" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--seed", "3"], "--seed and --state-dir go with --walks N"),
        (["--walks", "0"], "bad value 0 for --walks: use 1 or more"),
        (["--walks", "9", "--part", "leader"], "--walks goes with --kafka-version or --classpath"),
        (["--walks", "9", "--free"], "--walks goes with --kafka-version or --classpath"),
    ],
)
def test_bad_input_is_one_line(arguments: list[str], says: str) -> None:
    done = neverlost("conform", "--kafka-version", "4.3", *arguments)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (64, "", 1) and says in done.stderr


def test_every_event_has_a_weight_and_a_sentence() -> None:
    assert set(WEIGHTS) == set(SENTENCES) - {"power loss"}  # which walks do not draw
    assert {name for opening in OPENINGS.values() for name, _ in opening} <= set(WEIGHTS)


def test_what_hardly_a_walk_has_is_named() -> None:
    usual = {"answer: NONE": 100, "deliver: broken": 1, **dict.fromkeys(WEIGHTS, 50)}
    found = walks.rare(usual, 101)
    assert "answer: NONE" not in found and "send" not in found
    assert "deliver: broken" in found and "alter: INELIGIBLE_REPLICA" in found and "answer" not in found


def _random_states(system: System, count: int) -> Iterator[State]:
    """Yield the states of random walks of a model."""
    drawn = random.Random(1)
    while count:
        state = system.initial_states()[0][1]
        for _ in range(60):
            yield state
            following_states = [after for _, after in successors(system, state) if after != state]
            state = drawn.choice(following_states)
        count -= 1


def test_steps_on_plain_lists_are_those_of_the_defining_interpreter() -> None:
    text = "model=kraft replication.factor=3 min.insync.replicas=2 bounds.records=4 faults.leader_move=any faults.kill=any"
    chosen = choose(read_settings(f"{text} faults.isr_shrink=any faults.lossy_crash=any".split()))
    system = bind(chosen.model, chosen.configuration)
    layout = PlainLayout(system, system.initial_states()[0][1])
    compared = 0
    for state in _random_states(system, 4):
        expected = {step.label: after for step, after in successors(system, state)}
        for step in system.steps:
            view: Any = PlainView(layout, state)
            after = None
            if all(condition for _, condition in step.run(Ints, view)):
                assert system.model.normalise is not None
                system.model.normalise(Ints, view)
                after = layout.state(view, state)
            assert after == expected.get(step.label), step.label
            compared += after is not None
    assert compared > 500


def _made_up(version: str) -> kafka.Kafka:
    """A version without its jars: for the model of it."""
    return kafka.Kafka(version, (), Path())


@pytest.mark.slow
def test_machine_code_takes_the_steps_of_the_defining_interpreter() -> None:
    explainers = [WalkExplainer(_made_up("4.3.1"), 2, fixed) for fixed in ((), ("refusal-outdates-copies",))]
    plain = [WalkExplainer(_made_up("4.3.1"), 2, fixed) for fixed in ((), ("refusal-outdates-copies",))]
    compiled = share_machine_code(explainers)
    assert len(compiled) == 2
    taken = 0
    for fast, slow in zip(explainers, plain, strict=True):
        system = slow.system
        for state in _random_states(system, 1):
            expected = {take(system, state, step) for step in system.steps} - {None}
            numbers = range(len(system.steps))
            by_lists = slow._successors(system.pack(state), numbers, False)
            assert {system.unpack(each) for each in by_lists} == expected
            assert fast.compiled is not None
            found = fast.compiled.successors([fast.packing.pack(state)], numbers)
            assert {fast.packing.unpack(each) for each in found} == expected
            taken += len(expected)
    for each in compiled:
        each.close()
    assert taken > 500


@pytest.mark.parametrize("version", ["3.9.2", "4.3.1"])
def test_a_walk_is_asked_about_the_defects_that_it_can_tell(version: str) -> None:
    """The others are of reassignments, eligible leader replicas and configurations, of which walks have none."""
    usual = WalkExplainer(_made_up(version), 2)
    known = [each for each in DEFECTS if each.is_in(_made_up(version).minor)]
    remedied = {each.name: WalkExplainer(_made_up(version), 2, [each.mechanism.name]) for each in known}
    told = {each.mechanism.name for each in known if remedied[each.name].is_told_apart_from(usual)}
    assert told == {*NEEDED.values(), "reelection-forgets-offsets"} and len(known) > len(told)
    assert not WalkExplainer(_made_up(version), 2).is_told_apart_from(usual)
    assert WalkExplainer(_made_up(version), 1).is_told_apart_from(usual)


def test_many_walks_are_done_in_few_batches() -> None:
    assert list(walks.batches(250)) == [(0, 100), (100, 100), (200, 50)]
    many = list(walks.batches(100_001))
    assert len(many) == walks.BATCHES and many[0] == (0, 5001) and sum(many[-1]) == 100_001
    assert {count for _, count in walks.batches(10**6)} == {10_000}
