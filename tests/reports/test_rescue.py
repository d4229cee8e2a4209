"""`neverlost rescue` from files to its sentences: the three answers, the steps, the script, and what is no incident."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from neverlost.reports.questions.rescue.api import RescueResult, rescue
from neverlost.reports.questions.rescue.document import lines
from neverlost.reports.questions.verify import verify
from neverlost.specs.errors import InputError
from tests.support import forger
from tests.support.program import ROOT, neverlost

BATCH = (
    "baseOffset: {0} lastOffset: {1} count: 1 baseSequence: -1 lastSequence: -1 producerId: -1 producerEpoch: -1 "
    "partitionLeaderEpoch: {2} isTransactional: false isControl: false deleteHorizonMs: OptionalLong.empty position: 0 "
    "CreateTime: 1 size: 71 magic: 2 compresscodec: none crc: 1 isvalid: true\n"
)
LOGS = {1: (((4, 0), (5, 118), (7, 130)), 140, 118), 2: (((4, 0), (5, 118)), 130, 118), 3: (((4, 0),), 118, 110)}
"""The leader epochs, the log end and the high watermark of each broker's log: each log has all of the next one."""

DESCRIPTION = (
    "Topic: orders\tTopicId: x\tPartitionCount: 1\tReplicationFactor: 3\tConfigs: {configs}\n"
    "\tTopic: orders\tPartition: 0\tLeader: {leader}\tReplicas: 1,2,3\tIsr: {isr}\tElr: {elr}\tLastKnownElr: {last}\n"
)


def describe(
    place: Path, isr: str = "1", elr: str = "", last: str = "", leader: str = "none", configs: str = "min.insync.replicas=2"
) -> str:
    file = place / "describe.txt"
    file.write_text(DESCRIPTION.format(isr=isr, elr=elr, last=last, leader=leader, configs=configs))
    return str(file)


def gather(place: Path, broker: int) -> str:
    """Write a broker's folder as the script does, and return it as `--replica` takes it."""
    epochs, end, high = LOGS[broker]
    folder = place / "rescue" / f"broker-{broker}"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "leader-epoch-checkpoint").write_text(f"0\n{len(epochs)}\n" + "".join(f"{each} {at}\n" for each, at in epochs))
    (folder / "replication-offset-checkpoint").write_text(f"0\n1\norders 0 {high}\n")
    (folder / "meta.properties").write_text(f"version=1\nnode.id={broker}\n")
    ends = [start for _, start in epochs[1:]] + [end]
    batches = [BATCH.format(start, until - 1, epoch) for (epoch, start), until in zip(epochs, ends, strict=True)]
    (folder / "dump.txt").write_text("Dumping 00000000000000000000.log\nLog starting offset: 0\n" + "".join(batches))
    return f"{broker}={folder}"


def ask(place: Path, description: str, seen: str, went: str, *settings: str) -> RescueResult:
    """Ask about the brokers of `seen`, such as "12"; `went` is such as "1=power 2=up"."""
    replicas = [gather(place, int(each)) for each in seen]
    return rescue(list(settings), files={"describe": description}, replicas=replicas, went=went.split())


@pytest.mark.parametrize(
    ("isr", "seen", "went", "settings", "says", "loses"),
    [
        ("1", "23", "1=killed 2=up 3=up", (), ("wait", 1), {2: [118, None], 3: [118, None]}),
        ("1", "123", "1=killed 2=up 3=up", (), ("elect", 1), {1: None, 2: [130, 140], 3: [118, 140]}),
        ("1", "123", "1=power 2=up 3=up", (), ("elect", 1), {1: [118, None], 2: [118, None], 3: [118, None]}),
        ("1", "23", "1=power 2=up 3=up", (), ("unknown", 1), {2: [118, None], 3: [118, None]}),
        ("1", "23", "2=up 3=up", (), ("unknown", 1), {2: [118, None], 3: [118, None]}),
        ("1", "23", "1=disk-gone 2=up 3=up", (), ("elect", 2), {2: [118, None], 3: [118, None]}),
        ("1", "23", "1=disk-gone 2=up 3=up", ("min.insync.replicas=2",), ("elect", 2), {2: None, 3: [118, 130]}),
        ("1", "23", "1=disk-gone 2=up", ("min.insync.replicas=2",), ("elect", 2), {2: [118, None], 3: [118, None]}),
        ("1", "23", "1=killed 2=up 3=up", ("acks=1",), ("unknown", 1), {2: [118, None], 3: [118, None]}),
        ("1", "123", "1=killed 2=up 3=up", ("acks=1",), ("elect", 1), {1: None, 2: [130, 140], 3: [118, 140]}),
        ("1", "123", "1=power 2=up 3=up", ("flush.messages=1",), ("elect", 1), {1: None, 2: [130, 140], 3: [118, 140]}),
        ("1,2", "12", "1=killed 2=killed 3=disk-gone", (), ("elect", 1), {1: None, 2: None}),
        ("1,3", "13", "1=disk-gone 3=power 2=disk-gone", (), ("elect", 1), {1: [118, None], 3: [118, None]}),
    ],
)
def test_each_incident_has_its_answer(
    tmp_path: Path, isr: str, seen: str, went: str, settings: tuple[str, ...], says: tuple[str, int], loses: dict[int, Any]
) -> None:
    found = ask(tmp_path, describe(tmp_path, isr), seen, went, *settings)
    assert (found.says, found.broker) == says
    assert {each["broker"]: each["at_most"] for each in found.candidates} == loses


@pytest.mark.parametrize(
    ("went", "settings", "status"),
    [
        ("1=killed 2=up 3=up", (), 0),
        ("1=disk-gone 2=up 3=up", (), 12),
        ("1=power 2=up 3=up", (), 20),
        ("1=disk-gone 2=up 3=up", ("--set", "min.insync.replicas=2"), 0),
    ],
)
def test_the_exit_status_says_whether_anything_is_lost(
    tmp_path: Path, went: str, settings: tuple[str, ...], status: int
) -> None:
    for each in (2, 3):
        gather(tmp_path, each)
    (tmp_path / "rescue" / "broker-2" / "describe.txt").write_text(Path(describe(tmp_path)).read_text())
    ways = [part for each in went.split() for part in ("--went", each)]
    done = neverlost("rescue", str(tmp_path / "rescue"), *ways, *settings, "--json", "-")
    assert done.returncode == status, done.stderr
    assert json.loads(done.stdout)["schema"] == "neverlost.rescue/1"


def text(found: RescueResult) -> str:
    return "\n".join(lines(found.document))


def test_a_replica_outside_the_isr_is_elected_by_putting_it_first(tmp_path: Path) -> None:
    found = ask(
        tmp_path, describe(tmp_path, configs="unclean.leader.election.enable=true"), "3", "1=disk-gone 2=disk-gone 3=up"
    )
    commands = [command for each in found.document["do"] for command in each["run"]]
    order, elect = (next(at for at, each in enumerate(commands) if word in each) for word in ("[3,1,2]", "UNCLEAN"))
    assert "unclean.leader.election.enable=false" in commands[0] and "cp -a LOG_DIR/orders-0" in commands[1]
    assert order < elect < len(commands) - 1 and "[1,2,3]" in "".join(commands[elect:])


def test_a_member_is_started_and_those_that_may_have_lost_data_stay_stopped(tmp_path: Path) -> None:
    said = text(ask(tmp_path, describe(tmp_path, isr="1,2"), "3", "1=killed 2=power 3=up"))
    assert "Keep broker 2 stopped until broker 1 leads" in said and "UNCLEAN" not in said


def test_with_elr_a_killed_member_may_need_a_command(tmp_path: Path) -> None:
    said = text(ask(tmp_path, describe(tmp_path, isr="", elr="2", last="1"), "3", "1=power 2=killed 3=up"))
    assert "Broker 2 is in the ELR and was killed" in said
    assert said.index("If it leads after a minute") < said.index("[2,1,3]") < said.index("UNCLEAN")


def test_while_nothing_is_known_no_step_starts_or_elects_a_broker(tmp_path: Path) -> None:
    found = ask(tmp_path, describe(tmp_path), "23", "1=power 2=up 3=up")
    assert [each["says"].split()[0] for each in found.document["do"]] == ["Save", "Start"]
    assert "Start or restart no broker with a replica of it" in found.document["do"][-1]["says"]


def test_without_any_log_or_disk_it_is_said(tmp_path: Path) -> None:
    found = ask(tmp_path, describe(tmp_path), "", "1=disk-gone 2=disk-gone 3=disk-gone")
    assert (found.says, found.broker) == ("unknown", None) and "no log is left" in text(found)
    first, then = found.document["do"]
    assert first["says"].startswith("Get a log back if you can") and then["says"].startswith(
        "If there is none, its records are lost"
    )
    assert "--election-type UNCLEAN --topic orders --partition 0" in then["run"][0]


def test_a_broker_that_leads_other_partitions_runs(tmp_path: Path) -> None:
    topics = Path(describe(tmp_path, isr="1"))
    hint = "Broker 1 leads other partitions of this description, so it runs"
    assert hint not in text(ask(tmp_path, str(topics), "", ""))
    other = "Topic: other\tPartitionCount: 1\tReplicationFactor: 1\tConfigs: \n"
    other += "\tTopic: other\tPartition: 0\tLeader: 1\tReplicas: 1\tIsr: 1\n"
    topics.write_text(topics.read_text() + other)
    assert hint in text(ask(tmp_path, str(topics), "", ""))
    for how in ("clean", "up"):
        steps = [each["says"] for each in ask(tmp_path, str(topics), "", f"1={how}").document["do"]]
        assert "Mend the log directory if it has failed, and restart broker 1, which opens it only then." in steps
        assert not any(each.startswith(("Start broker 1", "See that broker 1 runs")) for each in steps)


def test_a_broker_with_an_empty_disk_is_kept_stopped_before_anything_else(tmp_path: Path) -> None:
    first, *_, last = ask(tmp_path, describe(tmp_path), "23", "1=disk-gone 2=up 3=up").document["do"]
    assert first["says"].startswith("Keep broker 1 stopped until broker 2 leads") and "with a new, empty disk" in first["says"]
    assert last["says"] == "See that broker 2 leads. Only then start broker 1."


def test_what_would_be_safe_with_more_copies_is_a_question(tmp_path: Path) -> None:
    """It comes first only where the answer decides what to do."""
    always = "min.insync.replicas of orders was 2 whenever a record was written"
    for seen, went, says in (
        ("23", "1=disk-gone 2=up 3=up", f"If {always}, it loses nothing that was acknowledged, and the steps are the same."),
        ("23", "1=killed 2=up 3=up", f"If you cannot wait, find out if {always}: then broker 2 loses nothing"),
        ("23", "1=power 2=up 3=up", f"First find out if {always}: then broker 2 loses nothing"),
    ):
        assert says in text(ask(tmp_path, describe(tmp_path), seen, went))
        with_one = describe(tmp_path, configs="min.insync.replicas=1")
        assert always not in text(ask(tmp_path, with_one, seen, went))


@pytest.mark.parametrize(
    ("file", "content", "problem"),
    [
        ("leader-epoch-checkpoint", "0\n2\n5 0\n4 118\n", "epoch 4 at offset 118 after epoch 5"),
        ("leader-epoch-checkpoint", "0\n1\n4 0\n", "says epoch 4 at offset 118, and the log has epoch 5 there"),
        ("meta.properties", "node.id=3\n", "is of broker 3; give the folder of broker 2"),
        ("log-end-offset", "0\n1\norders 0 131\n", "says 131, and"),
        ("replication-offset-checkpoint", "0\n1\norders 0 140\n", "below its high watermark 140"),
        ("offsets.txt", "orders:0:140\n", "below its high watermark 140"),
        (
            "log-dirs.json",
            'Received\n{"version":1,"brokers":[{"broker":2,"logDirs":[{"logDir":"/d","error":"KafkaStorageException",'
            '"partitions":[]}]}]}\n',
            "shows no directory orders-0 on broker 2, and /d has KafkaStorageException",
        ),
    ],
)
def test_files_that_contradict_each_other_are_named_and_nothing_rests_on_them(
    tmp_path: Path, file: str, content: str, problem: str
) -> None:
    gather(tmp_path, 2)
    (tmp_path / "rescue" / "broker-2" / file).write_text(content)
    replicas = [f"2={tmp_path / 'rescue' / 'broker-2'}", gather(tmp_path, 3)]
    found = rescue(
        ["min.insync.replicas=2"],
        files={"describe": describe(tmp_path, isr="2")},
        replicas=replicas,
        went=["1=up", "2=killed", "3=up"],
    )
    candidate, other = sorted(found.candidates, key=lambda each: each["broker"])
    assert problem in candidate["problem"] and (found.says, found.broker) == ("unknown", 2)
    assert not candidate["loses_nothing"] and "cannot be known" in text(found)
    assert other["at_least"] is None and not other["loses_nothing"], "nothing rests on files that are not believed"


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ("", "has no line 'Log starting offset: N'"),
        ("Log starting offset: 0\noffset: 5 position: 0\n", "line 2 is not what kafka-dump-log.sh --files prints"),
        ("Log starting offset: 0\n" + BATCH.format(0, 9, 4)[:-12], "line 2 is not what kafka-dump-log.sh --files prints"),
        ("Log starting offset: 5\n" + BATCH.format(0, 9, 4), "line 2 does not follow the line before"),
    ],
)
def test_a_dump_that_is_cut_or_something_else_is_an_error(tmp_path: Path, content: str, says: str) -> None:
    replica = gather(tmp_path, 2)
    (tmp_path / "rescue" / "broker-2" / "dump.txt").write_text(content)
    with pytest.raises(InputError, match=says):
        rescue(files={"describe": describe(tmp_path)}, replicas=[replica])


def test_a_log_ends_before_its_first_batch_that_is_not_valid(tmp_path: Path) -> None:
    replica = gather(tmp_path, 1)
    dump = tmp_path / "rescue" / "broker-1" / "dump.txt"
    *whole, last = dump.read_text().splitlines()
    dump.write_text("\n".join([*whole, last.replace("isvalid: true", "isvalid: false"), ""]))
    found = rescue(files={"describe": describe(tmp_path)}, replicas=[replica, gather(tmp_path, 2)], went=["1=power", "2=up"])
    assert {each["broker"]: each["truncates"] for each in found.candidates} == {1: {"2": 130}, 2: {"1": 130}}


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ((), "rescue needs one --describe FILE"),
        (("--describe", "LED"), "broker 1 leads orders-0 in"),
        (("--describe", "FILE", "--topic", "order"), "unknown topic 'order' in --describe; did you mean 'orders'?"),
        (("--describe", "FILE", "--partition", "7"), "no partition 7 without a leader is described"),
        (("--describe", "FILE", "--went", "9=up"), "--went names broker 9, which is no replica (1, 2, 3)"),
        (("--describe", "FILE", "--went", "1=gone"), "unknown way to go 'gone'"),
        (("--describe", "FILE", "--went", "killed"), "bad value 'killed' for --went: write BROKER=HOW, such as 1=killed"),
        (("--describe", "FILE", "--went", "1=up", "--went", "1=power"), "--went names broker 1 twice"),
        (("--describe", "FILE", "--replica", "1=/nowhere"), "cannot read --replica '/nowhere/leader-epoch-checkpoint'"),
        (("--describe", "FILE", "--set", "min.isr=2"), "unknown setting 'min.isr'"),
        (("NOWHERE",), "no folder broker-N in 'NOWHERE'"),
    ],
)
def test_what_is_no_incident_is_refused(tmp_path: Path, arguments: tuple[str, ...], says: str) -> None:
    led = tmp_path / "led"
    led.mkdir()
    places = {"FILE": describe(tmp_path), "LED": describe(led, leader="1")}
    done = neverlost("rescue", *(places.get(each, each) for each in arguments))
    assert (done.returncode, done.stdout) == (64, "") and says in done.stderr and done.stderr.count("\n") == 1


def test_several_partitions_without_a_leader_are_listed(tmp_path: Path) -> None:
    file = Path(describe(tmp_path))
    head, line = file.read_text().replace("PartitionCount: 1", "PartitionCount: 2").splitlines()
    file.write_text("\n".join([head, line, line.replace("Partition: 0", "Partition: 1"), ""]))
    with pytest.raises(InputError, match="orders-0, orders-1 have no leader: ask about one"):
        rescue(files={"describe": str(file)})
    assert rescue(files={"describe": str(file)}, partition=1).document["partition"] == "orders-1"


def test_the_script_gathers_what_the_command_reads(tmp_path: Path) -> None:
    tools, root = tmp_path / "bin", tmp_path / "data"
    replica = root / "orders-0"
    replica.mkdir(parents=True)
    tools.mkdir()
    gather(tmp_path / "made", 1)
    made = tmp_path / "made" / "rescue" / "broker-1"
    (replica / "leader-epoch-checkpoint").write_bytes((made / "leader-epoch-checkpoint").read_bytes())
    for name in ("meta.properties", "replication-offset-checkpoint"):
        (root / name).write_bytes((made / name).read_bytes())
    head, *_ = (replica / f"{at:020}.log" for at in (0, 118))
    head.write_text("")
    (replica / f"{118:020}.log").write_text("")
    dumped = "Log starting offset: 118\n" + "".join(BATCH.format(at, at, 5 if at < 130 else 7) for at in range(118, 140))
    for tool, said in (("kafka-dump-log.sh", dumped), ("kafka-topics.sh", Path(describe(tmp_path)).read_text())):
        (tools / f"{tool}.txt").write_text(said)
        (tools / tool).write_text('#!/bin/sh\necho "$@" >> "$0.asked"\ncat "$0.txt"\n')
        (tools / tool).chmod(0o755)
    (tools / "kafka-log-dirs.sh").write_text("#!/bin/sh\nexit 1\n")
    (tools / "kafka-log-dirs.sh").chmod(0o755)
    before = sorted((each, each.stat().st_mtime_ns) for each in root.rglob("*"))
    script = neverlost("rescue", "--script").stdout
    environment = {"PATH": f"{tools}:{os.environ['PATH']}", "BOOTSTRAP": "here:9092"}
    command = ["sh", "-s", "orders", "0", str(tmp_path / "empty"), str(root)]
    done = subprocess.run(command, input=script, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0 and "rescue/broker-1" in done.stdout, done.stderr
    assert before == sorted((each, each.stat().st_mtime_ns) for each in root.rglob("*"))
    assert f"{118:020}.log" in (tools / "kafka-dump-log.sh.asked").read_text()
    gathered = tmp_path / "rescue" / "broker-1"
    assert len((gathered / "dump.txt").read_text().splitlines()) == 5 and not (gathered / "log-dirs.json").exists()
    asked = neverlost("rescue", "rescue", "--went", "1=killed", "--json", "-", cwd=tmp_path)
    (candidate,) = json.loads(asked.stdout)["candidates"]
    assert (asked.returncode, candidate["loses_nothing"], candidate["problem"]) == (0, True, None)


def test_a_bundle_is_derived_again_and_a_forged_one_is_refused(tmp_path: Path) -> None:
    replicas, out = [gather(tmp_path, each) for each in (2, 3)], tmp_path / "out"
    given = {"files": {"describe": describe(tmp_path)}, "replicas": replicas, "went": ["1=disk-gone", "2=up"]}
    rescue(**given, out=out)
    assert neverlost("verify", str(out)).returncode == 0
    assert "offsets from 118 on may be lost" in (out / "report.md").read_text()
    files = verify.open_bundle(str(out))
    same, forged = (forger.rewritten(files, "result.json", lambda found, to=to: {**found, "broker": to}) for to in (2, 3))
    assert forger.refused(same) is None
    assert "result.json" in str(forger.refused(forged))


def test_the_guide_shows_what_the_command_prints(tmp_path: Path) -> None:
    for each in (2, 3):
        gather(tmp_path, each)
    found = rescue(
        files={"describe": describe(tmp_path)},
        replicas=[f"{each}={tmp_path / 'rescue' / f'broker-{each}'}" for each in (2, 3)],
        went=["1=disk-gone", "2=up", "3=up"],
    )
    assert text(found) in (ROOT / "reports" / "guide" / "rescue.md").read_text()
