"""From counterexamples to plans, scripts and reports of tries, without a cluster; `-m kafka` tries one on a real one."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from neverlost.checker.engine.outcome import Behaviour
from neverlost.checker.kafka.cluster import clients
from neverlost.checker.kafka.cluster.batches import Record
from neverlost.checker.kafka.cluster.network import ALTER_PARTITION, ANSWERS, FETCH, TrafficRule
from neverlost.checker.kafka.cluster.process import ClusterError, ConditionNotMet, Java, Process, wait_until
from neverlost.checker.kafka.cluster.requests import encode_request, find_refusal
from neverlost.checker.kafka.reproduce import follow as reproduce
from neverlost.checker.kafka.reproduce.attempt import Attempt, AttemptOutcome, Divergence, Moment
from neverlost.checker.kafka.reproduce.death_order import order_by_session_expiry
from neverlost.checker.kafka.reproduce.reproduction_plan import ReproductionPlan, plan_stages
from neverlost.checker.kafka.reproduce.traffic_blocks import TrafficBlocks, make_network_rules
from neverlost.model.snapshot import BrokerView, ClusterSnapshot
from neverlost.model.system import System
from neverlost.reports.counterexample.timeline import timeline
from neverlost.reports.questions.reproduce import evidence
from neverlost.reports.questions.reproduce.script import render_script
from neverlost.specs.errors import InputError
from neverlost.specs.properties import properties
from tests.support import copies
from tests.support.modern import explored, system
from tests.tools.publish import reproductions

ROOT = Path(__file__).resolve().parents[3]
LAST_STANDING: dict[str, Any] = {"isr_shrink": 2, "lossy_crash": 1}


@cache
def found(model: str, name: str, given: tuple[tuple[str, Any], ...]) -> tuple[System, Behaviour]:
    bound = system(model, **dict(given))
    (finding,) = explored(bound, name).findings
    assert finding.trace is not None
    return bound, finding.trace


def planned(model: str, name: str = "acked-never-lost", **given: Any) -> ReproductionPlan:
    bound, trace = found(model, name, tuple(given.items()))
    return plan_stages(bound, properties()[name], trace)


def test_the_last_replica_standing_in_five_stages() -> None:
    made = planned("3.9", **LAST_STANDING)
    assert [(stage.operation, stage.broker, stage.first, stage.last) for stage in made.stages] == [
        ("lag", 3, 1, 3),
        ("lag", 2, 4, 5),
        ("produce", 1, 6, 8),
        ("crash-lossy", 1, 9, 10),
        ("start", 1, 11, 12),
    ]
    produced = made.stages[2]
    assert produced.target.acknowledged == (1,)
    assert produced.target.isr == (1,)
    assert dict(produced.target.logs) == {1: (1,), 2: (1,), 3: ()}
    assert not produced.target.is_up_to_date, "the leader does not know yet that broker 2 is out"


def test_what_a_stage_must_not_let_through() -> None:
    made = planned("3.9", **LAST_STANDING)
    first, second, produced = (stage.holds for stage in made.stages[:3])
    assert (first.fetches, first.metadata) == ((3,), ()), "broker 2 goes on fetching while 3 is dropped"
    assert (second.fetches, second.metadata, second.isr_answers) == ((2, 3), (1,), (1,))
    assert (produced.fetches, produced.metadata) == ((3,), (1,)), "broker 2 must get the record, 3 must not"


def test_an_old_leader_and_its_follower_do_not_read_the_metadata_that_ends_it() -> None:
    made = planned("3.9", acks="1", leader_move=1)
    move, produce = made.stages
    assert (move.operation, move.broker, move.holds.metadata) == ("move", 2, (1, 3))
    assert (produce.operation, produce.broker, produce.holds.metadata) == ("produce", 1, (1, 3))
    assert made.acks == "1"


def test_the_assignment_has_leaders_in_the_order_of_their_election() -> None:
    made = planned("3.9", acks="1", crash=1)
    assert made.replicas == (1, 2, 3)
    assert made.stages[-1].target.leader == 2


def test_a_log_directory_is_taken_out_of_a_broker_that_was_shut_down() -> None:
    """The record is in one directory of two, and the clean-shutdown file of the other is enough."""
    made = planned("4.3", rf=2, disk_loss=1, fence=1)
    assert [(each.operation, each.broker) for each in made.stages][-2:] == [("stop-and-take-out", 1), ("start", 1)]
    assert made.directories == 2 and made.stages[-1].target.logs[1] == ()
    by_hand = render_script(made)
    assert "end 1 TERM\non 1 \"sed -i '/^log.dirs=/s#$DATA,\\?##' server.properties\"" in by_hand


def test_a_replica_is_moved_to_another_directory_where_the_controller_is_to_be_notified_of_one() -> None:
    made = planned("4.1", rf=2, lossy_crash=1, fence=1)
    (assigned,) = [each for each in made.stages if each.operation == "assign-directory"]
    assert made.directories == 2 and assigned.target.elr == ()
    assert '"log_dirs": ["any", "\'"$OTHER"\'"]' in render_script(made)


def test_a_broker_learns_one_thing_before_it_must_not_learn_the_next() -> None:
    """Raised min ISR: the leader knows the ISR from the answer, while the metadata with the configuration is held."""
    made = planned("4.1", rf=2, min_isr=1, min_isr_change=1, isr_shrink=1, crash=1, on="configuration-before-isr")
    raised, lag = made.stages[:2]
    assert (raised.operation, raised.holds.metadata) == ("set-min-isr", (1,))
    assert (lag.operation, lag.holds.metadata, lag.holds.isr_answers) == ("lag", (1,), ())


def test_a_late_record_is_asked_for_before_the_next_change_and_read_after_it() -> None:
    made = planned("4.3", isr_shrink=1, leader_move=1)
    dropped, added, replayed, moved, *_ = made.stages
    assert dropped.operation == "lag" and dropped.holds.metadata == (1,) and dropped.holds.isr_answers == ()
    assert (added.during.metadata, added.during.metadata_answers, added.during.fetches) == ((), (1,), (2,))
    assert (added.holds.metadata_answers, added.holds.fetches, added.holds.isr_answers) == ((1,), (), (1,))
    assert (replayed.operation, replayed.broker, replayed.first, replayed.last) == ("replay", 1, 6, 6)
    assert (replayed.holds.metadata_requests, replayed.holds.fetches) == ((1,), (2,)), "2 would be asked for again"
    assert 1 in moved.holds.metadata and made.stages[-1].target.acknowledged == (1,)
    assert "60000" in made.server_settings["controller.quorum.request.timeout.ms"]


def test_a_record_waits_while_a_publication_is_applied() -> None:
    """The new ISR is in force before the new minimum, for milliseconds: the record must be there already."""
    made = planned("4.3", rf=2, min_isr=1, min_isr_change=1, isr_shrink=1, clean_stop=1, on="isr-answer-waits-for-config")
    assert [each.operation for each in made.stages] == ["set-min-isr", "lag", "produce", "learn", "stop"]
    produced, learned = made.stages[2:4]
    assert produced.holds.metadata == (1,) and produced.target.acknowledged == ()
    assert (learned.holds.metadata, learned.holds.isr_answers) == ((), (1,)) and learned.target.acknowledged == (1,)


def test_a_broker_that_ends_does_not_get_at_the_last_what_was_held_back() -> None:
    """Its heartbeats pass, though, and others may read that a leader which stops leads no more: it waits for that."""
    raised = planned("4.1", rf=2, min_isr=1, min_isr_change=1, isr_shrink=1, crash=1, on="configuration-before-isr")
    produced, stopped = raised.stages[-2:]
    assert (stopped.operation, stopped.broker) == ("stop", 1)
    assert 1 in produced.holds.metadata
    assert (stopped.during.metadata, stopped.holds.metadata) == ((1,), ())
    assert stopped.holds.besides(stopped.during.of(1)) == stopped.during
    crashed = planned("3.9", **LAST_STANDING).stages[3]
    assert (crashed.operation, crashed.during.metadata, crashed.holds.metadata) == ("crash-lossy", (1,), ())
    assert TrafficBlocks().besides(TrafficBlocks(fetches=(2,), heartbeats=(1,))) == TrafficBlocks(fetches=(2,))


def test_a_broker_that_is_missed_first_dies_first() -> None:
    """F3: in the model's shortest trace broker 1 dies first, and is missed after broker 2; the steps are put in order."""
    bound, trace = found("4.3", "acked-never-lost", (("rf", 2), ("crash", 1), ("lossy_crash", 1)))
    ordered = order_by_session_expiry(bound, trace)
    assert (ordered.states[-1], sorted(ordered.steps)) == (trace.states[-1], sorted(trace.steps))
    stages = plan_stages(bound, properties()["acked-never-lost"], ordered).stages
    assert [(stage.operation, stage.broker) for stage in stages] == [
        ("produce", 1),
        ("crash", 2),
        ("crash-lossy", 1),
        ("start", 1),
        ("start", 2),
    ]
    assert [stage.target.fenced for stage in stages] == [(), (2,), (1, 2), (2,), ()]
    assert order_by_session_expiry(bound, ordered) == ordered


def test_an_operator_needs_a_broker_that_runs() -> None:
    """F8: min ISR is raised while both replicas are down."""
    made = planned("4.3", "led-when-all-run", rf=2, min_isr=1, min_isr_change=1, crash=2)
    assert (made.brokers, made.replicas) == (3, (1, 2))
    assert planned("4.1", rf=2, min_isr=1, min_isr_change=1, isr_shrink=1, crash=1, on="configuration-before-isr").brokers == 2


def test_followers_lag_soon_only_where_the_trace_has_slow_ones() -> None:
    assert planned("3.9", **LAST_STANDING).server_settings["replica.lag.time.max.ms"] == "3000"
    assert planned("3.9", acks="1", crash=1).server_settings["replica.lag.time.max.ms"] == "60000"


def test_steps_that_cannot_be_brought_about_are_refused_by_number() -> None:
    with pytest.raises(InputError, match=r"^step 1 \(.*acks=0.*\) cannot be brought about on a cluster yet$"):
        planned("3.9", acks="0")


def test_a_beginning_that_a_cluster_does_not_have_is_refused() -> None:
    with pytest.raises(
        InputError, match=r"^the trace begins with replicas outside the ISR or moved; a cluster is started with all"
    ):
        planned("3.9", isr_shrink=1, lossy_crash=1, **{"start.outside_isr": 1})


@pytest.mark.parametrize(
    ("model", "given"), [("majority", {"lossy_crash": 1}), ("kraft-quorum", {"bounds.max_leader_epoch": 1, "kill": 1})]
)
def test_a_model_without_an_isr_is_refused(model: str, given: dict[str, Any]) -> None:
    bound = system(model, rf=1, min_isr=None, acks=None, **given)
    with pytest.raises(
        InputError, match=f"^a trace of {model} has no ISR to carry out; reproduce traces of kraft and kraft-elr$"
    ):
        plan_stages(bound, properties()["log-matching"], Behaviour((bound.initial_states()[0][1],), ()))


def test_holds_become_rules_of_the_network() -> None:
    class Nodes:
        brokers = dict.fromkeys((1, 2, 3))
        controllers = dict.fromkeys((101,))

    made = planned("3.9", **LAST_STANDING)
    assert make_network_rules(Nodes(), made.stages[1].holds) == {  # type: ignore[arg-type]
        *(TrafficRule(one, other, FETCH) for one in (2, 3) for other in (1, 2, 3) if one != other),
        TrafficRule(1, 101, FETCH),
        TrafficRule(1, 101, ALTER_PARTITION, part=ANSWERS),
    }


def test_the_script_is_shell_and_names_every_step() -> None:
    text = render_script(planned("3.9", **LAST_STANDING))
    bash = shutil.which("bash")
    assert bash is not None
    subprocess.run([bash, "-n"], input=text, text=True, check=True)
    for number in range(1, 13):
        assert f"\n# {number}. " in text
    for line in (
        "--replica-assignment 1:2:3 --config min.insync.replicas=2",
        "produce 1 m1 all &",
        'end 1 KILL\nlose_from 1 m1\nfor each in $CONTROLLERS; do undeafen 1 "$each"; done\nwait_for none 1\n',
        'deafen 1 "$each"',
        "--from-beginning",
    ):
        assert line in text


def test_reassignments_and_changes_of_the_configuration_in_the_script() -> None:
    thin = render_script(planned("3.7", "acked-on-min-isr", isr_shrink=1, reassign=1))
    assert '"replicas": [1, 2]' in thin
    assert "kafka-reassign-partitions.sh" in thin
    raised = render_script(
        planned("4.1", rf=2, min_isr=1, min_isr_change=1, isr_shrink=1, crash=1, on="configuration-before-isr")
    )
    assert "--add-config min.insync.replicas=2" in raised
    assert "eligible.leader.replicas.version=1" in raised


def scene() -> ClusterSnapshot:
    return ClusterSnapshot(0, 1, (0,), tuple(BrokerView(each, "replica", ()) for each in range(3)))


def report_of(outcome: AttemptOutcome) -> evidence.ReproductionReport:
    bound, trace = found("3.9", "acked-never-lost", tuple(LAST_STANDING.items()))
    broken = properties()["acked-never-lost"]
    outcome.moments.append(Moment("the beginning", 0.1, scene()))
    return evidence.ReproductionReport(plan_stages(bound, broken, trace), timeline(bound, broken, trace), outcome, "3.9.1", {})


def record(offset: int, value: bytes) -> Record:
    return Record(offset, 0, None, value)


def test_a_loss_says_what_stands_at_the_offset_now() -> None:
    outcome = AttemptOutcome(acknowledged={1: ("2026-01-01T00:00:00.000Z", 1)}, read=[record(0, b"m0")])
    said = report_of(outcome)
    assert said.is_reproduced
    assert said.verdict() == [
        "reproduced on Kafka 3.9.1: violates acked-never-lost: acknowledged record m1 is lost",
        "  m1: acknowledged at 2026-01-01T00:00:00.000Z at offset 1; LOST: the log ends at 1",
    ]
    outcome.read.append(record(1, b"m0"))  # type: ignore[union-attr]
    assert said.verdict()[1].endswith("LOST: m0 stands there now")
    assert said.document()["lost"] == ["m1"]


def test_a_divergence_names_the_steps_and_what_was_seen() -> None:
    divergence = Divergence(9, 10, "broker 1 crashes", ("broker 2 leads, in the model no broker leads",))
    said = report_of(AttemptOutcome(divergence, acknowledged={1: ("now", 2)}, read=[record(2, b"m1")]))
    assert said.verdict() == [
        "not reproduced on Kafka 3.9.1: it diverges from the trace at steps 9 to 10 (broker 1 crashes)",
        "  seen: broker 2 leads, in the model no broker leads",
        "  m1: acknowledged at now at offset 2; still there, at offset 2",
    ]
    assert said.document()["diverged"]["steps"] == [9, 10]


def test_too_few_copies_are_reproduced_though_the_record_is_still_read() -> None:
    """One slow follower, m1 acknowledged on two disks, and one of the two loses it."""
    given = {"isr_shrink": 1, "lossy_crash": 1}
    bound, trace = found("3.9", "acked-on-min-isr", tuple(given.items()))
    broken = properties()["acked-on-min-isr"]
    made = plan_stages(bound, broken, trace)
    crashed = made.stages[-1]
    assert crashed.operation == "crash-lossy"
    assert made.stages[-2].target.logs[crashed.broker] == (1,), "it hits a broker that has the record"
    assert sorted(map(len, crashed.target.logs.values())) == [0, 0, 1]
    outcome = AttemptOutcome(acknowledged={1: ("now", 0)}, read=[record(0, b"m1")])
    said = evidence.ReproductionReport(made, timeline(bound, broken, trace), outcome, "3.9.1", {})
    assert said.verdict() == [
        "reproduced on Kafka 3.9.1: violates acked-on-min-isr",
        "  m1: acknowledged at now at offset 0; still there, at offset 0",
    ]


def test_an_offline_partition_has_lost_nothing_yet() -> None:
    said = report_of(AttemptOutcome(acknowledged={1: ("now", 0)}, read=None, logs={1: [record(0, b"m1")], 2: []}))
    assert not said.is_reproduced
    assert said.document()["offline"]
    assert said.verdict()[1].endswith("the partition is offline, the record is on the disk of broker 1")


def test_every_step_seen_but_nothing_lost_is_not_reproduced() -> None:
    said = report_of(AttemptOutcome(acknowledged={1: ("now", 0)}, read=[record(0, b"m1")]))
    assert said.verdict()[0] == "not reproduced on Kafka 3.9.1: every step was seen, but no loss as expected"


def test_the_evidence_is_one_folder(tmp_path: Path) -> None:
    said = report_of(AttemptOutcome(acknowledged={1: ("now", 0)}, read=[]))
    evidence.save_evidence(said, "{}", {"broker-1": "a line\n"}, tmp_path)
    assert sorted(each.relative_to(tmp_path).as_posix() for each in tmp_path.rglob("*") if each.is_file()) == [
        "cluster.svg",
        "logs/broker-1.log",
        "model.svg",
        "plan.sh",
        "reproduction.json",
        "reproduction.md",
        "trace.itf.json",
    ]
    assert json.loads((tmp_path / "reproduction.json").read_text())["schema"] == evidence.SCHEMA
    assert "Kafka 3.9.1: reproduced" in (tmp_path / "cluster.svg").read_text()


class Clients:
    """A client library whose brokers answer one after the other who leads."""

    KafkaException = OSError

    def __init__(self, *answers: int) -> None:
        self.answers, self.made = list(answers), list[Any]()

    def Producer(self, settings: dict[str, Any]) -> Any:
        answer, partitions = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0], {}
        partitions[0] = SimpleNamespace(leader=answer)
        made = SimpleNamespace(settings=settings, produced=[], poll=lambda seconds: None)
        made.list_topics = lambda topic, timeout: SimpleNamespace(topics={topic: SimpleNamespace(partitions=partitions)})
        made.produce = lambda topic, value, **more: made.produced.append(value)
        self.made.append(made)
        return made


def test_a_record_for_an_old_leader_asks_no_other_who_leads(monkeypatch: pytest.MonkeyPatch) -> None:
    library = Clients(2, 1)
    monkeypatch.setattr(clients, "import_client", lambda: library)
    clients.Sending("127.0.0.1:1", "t", b"m1", "1", 1, leader=1)
    first, second = library.made
    assert (first.produced, second.produced) == ([], [b"m1"]), "only the producer that got the answer that 1 leads"
    assert second.settings["topic.metadata.refresh.interval.ms"] == -1
    clients.Sending("127.0.0.1:1", "t", b"m1", "1", 1)
    assert library.made[2].settings["topic.metadata.refresh.interval.ms"] == 500, "who leads may be asked again"


def test_a_broker_that_does_not_lead_for_its_clients_gets_no_record(monkeypatch: pytest.MonkeyPatch) -> None:
    library = Clients(2)
    monkeypatch.setattr(clients, "import_client", lambda: library)
    monkeypatch.setattr(clients, "ANSWERING", 0)
    with pytest.raises(ClusterError, match="broker 1 answers clients that broker 2 leads"):
        clients.Sending("127.0.0.1:1", "t", b"m1", "1", 1, leader=1)
    assert not any(each.produced for each in library.made)


def test_what_does_not_change_any_more_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """As long as differences change there is something to wait for."""
    seen = [["the ISR 1,2"], ["the ISR 1"], ["no broker leads"]]
    monkeypatch.setattr(reproduce, "find_differences", lambda attempt, target: seen.pop(0) if len(seen) > 1 else seen[0])
    cluster: Any = SimpleNamespace(wait=wait_until)
    made = planned("3.9", **LAST_STANDING)
    monkeypatch.setattr(reproduce, "STILL", 0)
    with pytest.raises(ConditionNotMet, match="no broker leads") as problem:
        reproduce.reach(Attempt(cluster, made, "t", print), made.begin)
    assert problem.value.seconds == 0
    seen[:] = [["the ISR 1,2"], []]
    reproduce.reach(Attempt(cluster, made, "t", print), made.begin)


def test_the_published_table_is_what_the_evidence_came_to() -> None:
    folder = ROOT / "reports" / "published" / "reproductions"
    assert reproductions.table(folder) in (folder / "README.md").read_text()
    assert {case.name for case in reproductions.CASES} >= {each.name for each in folder.iterdir() if each.is_dir()}


def test_the_reassignment_request_and_its_refusal() -> None:
    body = encode_request("t", [1, 2], 1000)
    assert body[:8] == b"\x00\x2d\x00\x00\x00\x00\x00\x01"
    assert body.endswith(b"\x02\x02t\x02\x00\x00\x00\x00\x03\x00\x00\x00\x01\x00\x00\x00\x02\x00\x00\x00")
    assert encode_request("t", None, 1000).endswith(b"\x02\x02t\x02\x00\x00\x00\x00\x00\x00\x00\x00")
    name = "a" * 249
    longest = encode_request(name, [1] * 200, 1000).partition(b"\0\0\x03\xe8\x02")[2]
    assert longest.startswith(b"\xfa\x01" + name.encode() + b"\2" + bytes(4) + b"\xc9\x01" + b"\0\0\0\1" * 200)
    fine = b"\0\0\0\1\0" + b"\0\0\0\0" + b"\0\0\0" + b"\2\2t\2" + b"\0\0\0\0" + b"\0\0\0" + b"\0\0\0"
    assert find_refusal(fine) is None
    assert find_refusal(fine.replace(b"\2\2t\2\0\0\0\0\0\0", b"\2\2t\2\0\0\0\0\0\x55")) == "error 85"
    assert find_refusal(b"") == "the connection was closed"


def neverlost(*arguments: str, **more: str) -> subprocess.CompletedProcess[str]:
    return copies.run(arguments, ROOT, more or os.environ, 300)


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("found")
    given = ["kafka.version=3.9", "min.insync.replicas=2", "faults.isr_shrink=2", "faults.lossy_crash=1", "bounds.records=1"]
    options = [part for each in given for part in ("--set", each)]
    assert neverlost("check", *options, "--property", "acked-never-lost", "--out", str(folder)).returncode == 12
    return str(folder / "acked-never-lost.itf.json")


def test_a_dry_run_needs_neither_java_nor_kafka(saved: str) -> None:
    ran = neverlost("reproduce", saved, "--dry-run", PATH="")
    assert (ran.returncode, ran.stderr) == (0, "")
    assert "lose_from 1 m1" in ran.stdout


@pytest.mark.parametrize(
    ("more", "says"),
    [
        ([], "say which Kafka: either --kafka-home DIR or --kafka-version X.Y"),
        (["--kafka-version", "four"], "bad value 'four' for --kafka-version: write X.Y"),
        (["--dry-run", "--set", "bounds.records=2"], "--set bounds.records cannot differ from the trace: only acks,"),
        (["--kafka-version", "3.9", "--times", "0"], "bad value '0' for --times: use a number from 1 to 100"),
        (["--kafka-version", "3.9", "--controllers", "2"], "bad value '2' for --controllers: use 1 or 3"),
    ],
)
def test_bad_usage_is_one_line(saved: str, more: list[str], says: str) -> None:
    ran = neverlost("reproduce", saved, *more)
    assert ran.returncode == 64
    assert ran.stderr.startswith("neverlost: ")
    assert ran.stderr.count("\n") == 1
    assert says in ran.stderr


@pytest.mark.kafka
def test_a_machine_without_maven_gets_one_line_and_keeps_nothing(saved: str, tmp_path: Path) -> None:
    ran = neverlost("reproduce", saved, "--kafka-version", "3.9", PATH="", HOME=str(tmp_path))
    assert (ran.returncode, ran.stderr.count("\n")) == (64, 1)
    assert "install Maven, or give --kafka-home DIR" in ran.stderr or "a Kafka broker needs Java 17" in ran.stderr
    assert list(tmp_path.iterdir()) == []


def left_behind(place: Path) -> list[str]:
    """Files in a folder for temporary ones, and processes that were started with something there."""
    processes = []
    for each in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):
            processes += [str(each)] if str(place).encode() in each.read_bytes() else []
    return [*processes, *map(str, place.iterdir())]


@pytest.mark.kafka
def test_the_last_replica_standing_is_reproduced(saved: str, tmp_path: Path) -> None:
    out, place = tmp_path / "out", tmp_path / "temporary"
    place.mkdir()
    environment = {**os.environ, "TMPDIR": str(place)}
    ran = neverlost("reproduce", saved, "--kafka-version", "3.9", "--out", str(out), **environment)
    assert ran.returncode == 0, ran.stderr
    document = json.loads((out / "reproduction.json").read_text())
    assert (document["reproduced"], document["lost"]) == (True, ["m1"])
    assert document["acknowledged"]["m1"]["offset"] is not None
    assert "LOST" in ran.stdout
    assert left_behind(place) == []


@pytest.mark.kafka
def test_ctrl_c_in_the_middle_of_a_try_leaves_nothing(saved: str, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "neverlost", "reproduce", saved, "--kafka-version", "3.9", "--out", str(tmp_path / "out")]
    place = tmp_path / "temporary"
    place.mkdir()
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env={**os.environ, "TMPDIR": str(place)}) as running:
        assert running.stderr is not None
        assert any("create topic" in line for line in running.stderr), "brokers run, and the first step comes"
        assert left_behind(place)
        running.send_signal(signal.SIGINT)
        said = running.stderr.read()
    assert running.returncode == 20
    assert "Traceback" not in said and said.endswith("neverlost: interrupted\n")
    assert left_behind(place) == []
    assert not (tmp_path / "out").exists()


def test_a_server_that_does_not_shut_down_is_killed_and_its_last_words_are_reported(tmp_path: Path) -> None:
    class Stubborn:
        def command(self, *arguments: str) -> list[str]:
            return ["sh", "-c", "trap '' TERM; echo waiting for controlled shutdown; while :; do sleep 1; done"]

    server = Process(cast(Java, Stubborn()), tmp_path / "broker-2.properties", tmp_path / "log")
    server.start()
    wait_until(lambda: server.find_printed("waiting"), "it to run", 20)
    with pytest.raises(ClusterError, match=r"^broker-2 did not shut down within 1 s: waiting for controlled shutdown$"):
        server.stop(seconds=1)
    assert not server.is_running
