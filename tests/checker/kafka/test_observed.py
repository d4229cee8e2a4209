"""`observe`: what a cluster showed is explained by the model, or the first thing that is not is named."""

from __future__ import annotations

import json
import random
import re
import struct
import subprocess
import uuid
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import google_crc32c
import pytest

from neverlost.checker.kafka.cluster import metadata
from neverlost.checker.kafka.cluster.batches import parse_batches
from neverlost.checker.kafka.history import metadata_log
from neverlost.checker.kafka.history.gather import gather_history
from neverlost.checker.kafka.history.history import format_history, make_history, read_history
from neverlost.checker.kafka.observe import starting_model as setting
from neverlost.checker.kafka.observe.history_verdict import HistoryVerdict, match_history
from neverlost.checker.kafka.observe.losses import find_intervals
from neverlost.checker.kafka.observe.offset_groups import OffsetGroup, RecordKey
from neverlost.checker.kafka.observe.starting_model import make_setting
from neverlost.model.kraft.mechanisms import NEWEST, version_text
from neverlost.model.observed.protocol import OBSERVED
from neverlost.model.protocols import models
from neverlost.model.system import bind
from neverlost.specs.configuration.keys import configuration
from neverlost.specs.errors import InputError
from neverlost.specs.inputs.syntax.topics_and_settings import ranges
from tests.support import program as support
from tests.support.histories import Line, Walk, broker, header, high_watermark, history, partition, plain, process, produced

ROOT = Path(__file__).resolve().parents[3]
DATA = ROOT / "tests" / "data" / "observed"


def judged(lines: list[Line], **config: Any) -> HistoryVerdict:
    return match_history(make_setting(history(lines, **config), {}))


def only(lines: list[Line], **fields: Any) -> Line:
    (found,) = [each for each in lines if fields.items() <= each.items()]
    return found


def test_a_possible_history_is_explained() -> None:
    found = judged(plain())
    assert found.verdict == "explained"
    assert sum(len(each.offsets) for each in found.groups if each.names) == 14


def leader_outside_the_isr(lines: list[Line]) -> None:
    only(lines, partition_epoch=2)["leader"] = 3


def isr_change_that_skips_a_partition_epoch(lines: list[Line]) -> None:
    for each in lines:
        if each.get("partition_epoch", 0) >= 2:
            each["partition_epoch"] += 1


def high_watermark_that_goes_backwards(lines: list[Line]) -> None:
    lines.append(high_watermark(10.3, 0, 7))


def acknowledged_record_at_another_offset(lines: list[Line]) -> None:
    only(lines, saw="read", record="r3")["offset"] = 4
    only(lines, saw="read", record="r4")["offset"] = 3


def another_record_in_its_place(lines: list[Line]) -> None:
    only(lines, saw="read", record="r3")["record"] = "r99"
    lines.append({"at": 2, "saw": "sent", "record": "r99"})


def isr_that_grows_by_a_fenced_broker(lines: list[Line]) -> None:
    only(lines, partition_epoch=2)["isr"] = [2, 3]


def acknowledged_while_under_min_isr(lines: list[Line]) -> None:
    lines.append({"at": 18, "saw": "sent", "record": "r50"})
    lines.append({"at": 18.1, "saw": "acked", "record": "r50", "acks": "all", "offset": 10})
    for each in lines:
        if each.get("offset", 0) >= 10 and each["record"] != "r50":
            each["offset"] += 1


FALSE: dict[Callable[[list[Line]], None], str] = {
    leader_outside_the_isr: "partition epoch 2: leader 3",
    isr_change_that_skips_a_partition_epoch: "partition epoch 3",
    high_watermark_that_goes_backwards: "high watermark 7",
    acknowledged_record_at_another_offset: "'r4' read at offset 3",
    another_record_in_its_place: "'r99' read at offset 3",
    isr_that_grows_by_a_fenced_broker: "ISR 2,3",
    acknowledged_while_under_min_isr: "'r50' acknowledged at offset 10",
}


@pytest.mark.parametrize("spoil", FALSE, ids=lambda each: each.__name__)
def test_a_false_observation_is_refused_and_named(spoil: Callable[[list[Line]], None]) -> None:
    from neverlost.checker.kafka.observe.history_verdict import describe_observation

    lines = plain()
    spoil(lines)
    found = judged(lines)
    assert found.refusal is not None
    assert any(FALSE[spoil] in describe_observation(each) for each in found.refusal.seen)


def test_the_nearest_explained_change_comes_first() -> None:
    lines = plain()
    leader_outside_the_isr(lines)
    refusal = judged(lines).refusal
    assert refusal is not None
    assert refusal.allowed[0].startswith("leader 2, ISR 2, fenced 1,3 at partition epoch 2")


def test_nothing_is_said_of_what_follows_a_refusal() -> None:
    lines = plain()
    explained = find_intervals(judged(lines))
    acknowledged_while_under_min_isr(lines)
    found = judged(lines)
    (refused,) = (each.refused for each in found.explanations if each.refused is not None)
    assert find_intervals(found) == [each for each in explained if each.until <= refused.earliest] != explained


def moved() -> list[Line]:
    """A replica moves from broker 1, which is down, to broker 4."""
    joint = partition(31, 1, 4, 2, [2, 3]) | {"replicas": [4, 2, 3, 1], "adding": [4], "removing": [1]}
    done = partition(33, 2, 5, 2, [2, 3, 4]) | {"replicas": [4, 2, 3]}
    lines = [broker(0, 4, "unfenced"), *plain(), joint, done, *produced(34, 14, 2), high_watermark(35, 2, 16)]
    return [*lines, {"at": 36, "saw": "read", "record": "r15", "offset": 15}]


def test_a_reassignment_is_explained_and_safe() -> None:
    found = judged(moved())
    assert found.verdict == "explained"
    last = find_intervals(found)[-1]
    assert [(each.fewest, each.most, each.lost_by) for each in last.exposures] == [(3, 3, ())]


def test_a_reassignment_that_ends_before_its_replica_is_in_sync_is_refused() -> None:
    lines = moved()
    only(lines, partition_epoch=5)["isr"] = [2, 3]
    found = judged(lines)
    assert found.refusal is not None
    assert found.refusal.seen[-1]["partition_epoch"] == 5


def test_a_removed_replica_is_waited_for_until_it_learns_of_that(monkeypatch: pytest.MonkeyPatch) -> None:
    """The old epoch commits a record after the controller has begun the next one, by a replica that is none any more."""
    joint = partition(31, 1, 5, 2, [1, 2, 3]) | {"replicas": [1, 2, 4, 3], "adding": [4], "removing": [3]}
    done = partition(33, 2, 6, 2, [1, 2, 4]) | {"replicas": [1, 2, 4]}
    lines = [broker(0, 4, "unfenced"), *plain(), broker(27, 1, "registered"), broker(28, 1, "unfenced")]
    lines += [partition(29, 1, 4, 2, [1, 2, 3]), joint, done]
    lines += [{"at": 33.1, "saw": "sent", "record": "r14"}, high_watermark(33.2, 1, 15)]
    lines += [{"at": 34, "saw": "acked", "record": "r14", "acks": "all", "offset": 14}]
    assert judged(lines).verdict == "explained"
    monkeypatch.setattr(setting, "observed_system", lambda configuration: bind(OBSERVED, configuration))
    refusal = judged(lines).refusal
    assert refusal is not None
    assert refusal.group.names == ("r14",)


def test_a_broker_that_is_back_counts_before_it_registers() -> None:
    """In the ISR as the controller has not missed it: commits wait for it, and go on when its new process fetches."""
    lines = plain()
    only(lines, partition_epoch=1).update(at=9, batch=3)
    only(lines, broker=3, state="fenced").update(batch=3)
    for each in lines:
        if each.get("record") == "r6":
            each["at"] -= 1
    refusal = judged(sorted(lines, key=at)).refusal
    assert refusal is not None
    assert refusal.seen[-1]["record"] == "r6"
    lines.append({"at": 3.5, "saw": "process", "broker": 3, "state": "started"})
    assert judged(sorted(lines, key=at)).verdict == "explained"
    only(lines, state="started")["at"] = 8.6
    assert judged(sorted(lines, key=at)).verdict == "refused", "its process was not there when r6 was acknowledged"


def at(line: Line) -> float:
    """When a line was seen; the header comes first."""
    return float(line.get("at", 0))


def test_a_reassignment_that_replaces_another_keeps_the_list_that_it_does_not_fill() -> None:
    """Given back to where it was: broker 4 is then to be added and to be removed, and no leader epoch ends."""
    lines = moved()
    given_back = {"isr": [2, 3], "replicas": [1, 2, 3, 4], "adding": [4], "removing": [4], "leader_epoch": 1}
    only(lines, partition_epoch=5).update(given_back)
    only(lines, high_watermark=16)["leader_epoch"] = 1
    assert judged(lines).verdict == "explained"
    only(lines, partition_epoch=5).update(adding=[])
    refusal = judged(lines).refusal
    assert refusal is not None
    assert refusal.seen[-1]["partition_epoch"] == 5


def sent_again(lines: list[Line]) -> HistoryVerdict:
    """The same history of a client that may send a record twice."""
    found = history(lines)
    return match_history(make_setting(replace(found, complete=found.complete - {"sent"}), {}))


def test_a_client_that_may_send_again_leaves_copies() -> None:
    lines = [*plain(), {"at": 30, "saw": "read", "record": "r9", "offset": 14}]
    assert judged(lines).verdict == "refused"
    again = sent_again(lines)
    assert again.verdict == "explained"
    twice = [offset for group in again.groups for offset in group.offsets if group.repeats]
    assert sorted(twice) == [9, 14]


def test_what_was_sent_once_is_as_safe_as_if_no_client_could_send_again() -> None:
    assert find_intervals(sent_again(plain())) == find_intervals(judged(plain()))


def test_what_could_have_been_lost() -> None:
    found = find_intervals(judged(plain()))
    alone = next(each for each in found if each.isr == (2,))
    (exposed,) = alone.exposures
    assert ranges(exposed.offsets) == "0-9"
    assert (exposed.fewest, exposed.most) == (1, 1)
    assert exposed.lost_by == ("lossy crash of 2", "disk loss of 2")
    assert found[0].exposures[0].lost_by == ()
    assert (found[0].exposures[0].fewest, found[0].exposures[0].most) == (3, 3)


def test_a_loss_is_called_a_loss() -> None:
    lines = [each for each in plain() if each["at"] < 20]
    lines.append({"at": 18, "until": 18.1, "saw": "process", "broker": 2, "state": "lost", "log_end": 8})
    found = find_intervals(judged(lines))
    lost = [each for each in found[-1].exposures if each.may_be_lost]
    assert [ranges(each.offsets) for each in lost] == ["8-9"]


@pytest.mark.parametrize("name", ["kraft", "kraft-elr"])
@pytest.mark.parametrize("seed", range(6))
def test_every_behaviour_of_the_model_is_explained(name: str, seed: int) -> None:
    """The observed model leaves nothing out: whatever a walk of the model shows is a projection of one of its behaviours."""
    given = {"min.insync.replicas": 2, "bounds.records": 3, "faults.crash": 2, "faults.lossy_crash": 1, "faults.fence": 1}
    given |= {"faults.isr_shrink": 2, "faults.leader_move": 1, "faults.disk_loss": 1}
    chosen = configuration(models()[name], {key: (value, "test") for key, value in given.items()})
    walk = Walk(bind(models()[name], chosen), seed, 60)
    keys = {"kafka.version": version_text(NEWEST), "eligible.leader.replicas": name == "kraft-elr", "election.policy": "any"}
    found = judged(walk.lines, **keys)
    assert found.verdict == "explained", found.refusal
    assert sum(each["saw"] == "partition" for each in walk.lines) > 1


@pytest.mark.slow
def test_a_mechanism_that_was_seen_cannot_be_off() -> None:
    lines = plain()
    lines[-15:] = []
    lines = [each for each in lines if each["at"] < 20]
    only(lines, partition_epoch=1)["elr"] = []
    only(lines, partition_epoch=2)["elr"] = [1]
    lines += [
        partition_dropped_from_elr(),
        {"at": 20, "saw": "broker", "source": "controller", "broker": 1, "state": "registered", "batch": 9},
    ]
    seen = history(lines, **{"kafka.version": "4.1"})
    found = match_history(make_setting(seen, {}))
    assert found.verdict == "explained"
    without = match_history(make_setting(seen, {"mechanism.unclean-shutdown-leaves-elr": ("off", "test")}))
    assert without.refusal is not None
    assert round(without.refusal.seen[-1].at - without.setting.start_at, 3) == 19
    assert match_history(make_setting(seen, {"eligible.leader.replicas": ("false", "test")})).verdict == "refused"
    assert match_history(make_setting(seen, {"mechanism.maximal-isr": ("off", "test")})).verdict == "explained"


def partition_dropped_from_elr() -> Line:
    return partition(20, 1, 3, 2, [2], elr=[], batch=9)


def test_metadata_logs_are_read() -> None:
    found = gather_history([str(DATA / "metadata-4.3.log")], [], "t", 0)
    changes = [(each["partition_epoch"], each["leader"], sorted(each["isr"])) for each in found.of("partition")]
    assert changes == [(0, 1, [1, 2, 3]), (1, 2, [2, 3]), (2, 2, [2]), (3, 2, [2, 3]), (4, 2, [1, 2, 3]), (5, 1, [1, 3])]
    assert found.complete == {"partition", "broker"}
    assert match_history(make_setting(found, {"kafka.version": ("4.3", "test")})).verdict == "explained"


OLD, NEW = uuid.UUID(int=1), uuid.UUID(int=2)
Said = tuple[str, dict[str, Any]]


def topic_made(topic_id: uuid.UUID, *changes: Said) -> list[Said]:
    """Topic t with one partition, and what follows."""
    lists = {"replicas": (1, 2), "isr": (1, 2), "removing": (), "adding": ()}
    numbers = {"number": 0, "leader": 1, "leader_epoch": 0, "partition_epoch": 0}
    return [("topic", {"name": "t", "topic_id": topic_id}), ("partition", lists | numbers | {"topic_id": topic_id}), *changes]


def min_isr(value: str | None, resource: int = 2, of: str = "t") -> Said:
    return "config", {"resource": resource, "of": of, "name": "min.insync.replicas", "value": value}


def in_log(*said: Said) -> list[metadata_log.MetadataRecord]:
    return [
        metadata_log.MetadataRecord(float(at), at, metadata.Event(at, *each), f"log offset {at}")
        for at, each in enumerate(said)
    ]


@pytest.mark.parametrize(("of_the_cluster", "expected"), [([min_isr("2", 4, "")], "2"), ([], None)])
def test_a_setting_that_was_deleted_leaves_that_of_the_cluster(of_the_cluster: list[Said], expected: str | None) -> None:
    found = in_log(*of_the_cluster, *topic_made(OLD, min_isr("3"), min_isr(None)))
    assert metadata_log.make_observations(found, "t", 0)[1].get("min.insync.replicas") == expected
    assert metadata_log.make_observations(found[:-1], "t", 0)[1]["min.insync.replicas"] == "3"


def removed(topic_id: uuid.UUID) -> Said:
    return "remove topic", {"topic_id": topic_id}


def test_a_new_topic_has_no_settings_of_a_deleted_one_of_its_name() -> None:
    other = [("topic", {"name": "u", "topic_id": uuid.UUID(int=3)}), min_isr("4", of="u")]
    image = metadata.MetadataImage()
    for each in in_log(*other, *topic_made(OLD, min_isr("3")), removed(OLD), *topic_made(NEW)):
        image.apply(each.event)
    assert "min.insync.replicas" not in image.configs.get((2, "t"), {})
    assert image.configs[2, "u"] == {"min.insync.replicas": "4"}


def test_a_deleted_topic_keeps_the_settings_that_it_had() -> None:
    found = in_log(*topic_made(OLD, min_isr("3")), removed(OLD), min_isr("2", 4, ""))
    assert metadata_log.make_observations(found, "t", 0)[1]["min.insync.replicas"] == "3"


def shrunk(topic_id: uuid.UUID) -> Said:
    return "partition change", {"number": 0, "topic_id": topic_id, "isr": (1,)}


AGAIN = in_log(
    *topic_made(OLD, min_isr("1"), shrunk(OLD)),
    ("register", {"broker": 1, "incarnation": NEW, "epoch": 1, "is_fenced": False}),
    *(removed(OLD), removed(uuid.UUID(int=9)), *topic_made(NEW)),
)
"""Offsets 0 to 8; topic t is removed at 5, and there again at 8."""


def test_of_a_topic_that_was_created_again_only_the_last_is_seen() -> None:
    seen, config = metadata_log.make_observations(AGAIN, "t", 0)
    assert [(each.at, each.saw) for each in seen] == [(4, "broker"), (8, "partition")]
    header = {"topic": "t", "config": config | {"kafka.version": "4.1"}, "complete": ["partition", "broker"]}
    assert match_history(make_setting(make_history(header, seen, "log"), {})).verdict == "explained"


def test_what_clients_saw_of_a_deleted_topic_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What was sent while there was no topic may have made it again; and a broker's process is of no topic."""
    path = tmp_path / "clients"
    monkeypatch.setattr("neverlost.checker.kafka.history.gather._read_metadata", lambda paths: AGAIN)
    later = [{"at": 5, "saw": "sent", "record": "r1"}, {"at": 9, "saw": "acked", "record": "r1", "acks": "all", "offset": 0}]
    path.write_text("\n".join(map(json.dumps, [process(2, 1, "killed"), *later])))
    found = gather_history(["log"], [str(path)], "t", 0)
    assert [each.saw for each in found.seen] == ["process", "broker", "sent", "partition", "acked"]
    path.write_text("\n".join(map(json.dumps, [*later, {"at": 4.9, "saw": "read", "record": "r0", "offset": 0}])))
    message = f"{path}:3: read of topic 't' before it was deleted (log offset 5) and created again; leave such lines out"
    with pytest.raises(InputError, match=re.escape(message)):
        gather_history(["log"], [str(path)], "t", 0)


def test_files_of_two_logs_are_not_one(tmp_path: Path) -> None:
    """The other log was written a second later; its batches have checksums of their own."""
    one, other = DATA / "metadata-4.3.log", tmp_path / "other.log"
    assert gather_history([str(one), str(one)], [], "t", 0) == gather_history([str(one)], [], "t", 0)
    body = bytearray(one.read_bytes())
    for each in parse_batches(bytes(body)):
        began = struct.unpack_from(">q", body, each.position + 27)[0]
        struct.pack_into(">q", body, each.position + 27, began + 1000)
        checked = bytes(body[each.position + metadata_log.CHECKED : each.position + each.size])
        struct.pack_into(">I", body, each.position + 17, google_crc32c.value(checked))
    other.write_bytes(body)
    with pytest.raises(InputError, match="is another record at"):
        gather_history([str(one), str(other)], [], "t", 0)


def test_a_history_is_written_and_read_again(tmp_path: Path) -> None:
    written = history(plain())
    (tmp_path / "h.jsonl").write_text(format_history(written))
    assert format_history(read_history(tmp_path / "h.jsonl")) == format_history(written)


def mutated(body: bytes, chance: random.Random) -> bytes:
    found = bytearray(body)
    for _ in range(chance.randint(1, 6)):
        at = chance.randrange(len(found))
        choice = chance.random()
        if choice < 0.4:
            found[at] = chance.randrange(256)
        elif choice < 0.7:
            del found[at : at + chance.randint(1, 40)]
        else:
            found[at:at] = chance.choice([b'"', b"{", b"]", b"-1", b"null", b"99999999999999999999", b"\n", b"\x00\xff"])
        found = found or bytearray(b"x")
    return bytes(found)


READERS: dict[str, Callable[[Path], object]] = {
    "metadata-4.3.log": lambda path: metadata_log.make_observations(metadata_log.read_entries(path), "t", 0),
    "history.jsonl": lambda path: make_setting(read_history(path), {}),
}


@pytest.mark.parametrize("name", READERS)
def test_damaged_files_are_read_or_refused_in_a_line(name: str, tmp_path: Path) -> None:
    body = format_history(history(plain())).encode() if name == "history.jsonl" else (DATA / name).read_bytes()
    chance, refused = random.Random(name), 0
    for _ in range(300):
        path = tmp_path / "damaged"
        path.write_bytes(mutated(body, chance))
        try:
            READERS[name](path)
        except InputError as problem:
            refused += 1
            assert str(problem)
    assert refused


def test_a_damaged_segment_is_refused_with_its_offset(tmp_path: Path) -> None:
    body, path = (DATA / "metadata-4.3.log").read_bytes(), tmp_path / "segment.log"
    whole = [(each.batch, each.event) for each in metadata_log.read_entries(DATA / "metadata-4.3.log")]
    starts = {each.base_offset: each.position for each in parse_batches(body)}
    last = whole[-1][0]
    path.write_bytes(body[: starts[last] + 70])
    read = [(each.batch, each.event) for each in metadata_log.read_entries(path)]
    assert read == [each for each in whole if each[0] != last], "a batch that was being written ends it"
    at = len(body) // 2
    path.write_bytes(body[:at] + bytes([body[at] ^ 1]) + body[at + 1 :])
    with pytest.raises(InputError, match="damaged"):
        metadata_log.read_entries(path)
    path.write_bytes(body[: starts[18]] + body[starts[19] :])
    with pytest.raises(InputError, match="does not come first"):
        metadata_log.read_entries(path)


def neverlost(*arguments: str) -> subprocess.CompletedProcess[str]:
    return support.neverlost("observe", *arguments)


def test_the_command_says_what_was_found(tmp_path: Path) -> None:
    path, lines = tmp_path / "h.jsonl", plain()
    path.write_text("".join(json.dumps(each) + "\n" for each in [header(), *lines]))
    done = neverlost(str(path), "--out", str(tmp_path / "out"))
    assert done.returncode == 0, done.stderr
    assert "EXPLAINED" in done.stdout and "lossy crash of 2, disk loss of 2" in done.stdout
    assert read_history(tmp_path / "out" / "history.jsonl").topic == "t"
    leader_outside_the_isr(lines)
    path.write_text("".join(json.dumps(each) + "\n" for each in [header(), *lines]))
    done = neverlost(str(path), "--json", "-")
    assert done.returncode == 21
    document = json.loads(done.stdout)
    assert document["verdict"] == "refused"
    assert document["refusal"]["seen"][-1]["says"].startswith("partition epoch 2: leader 3")
    assert document["refusal"]["seen"][-1]["place"].startswith(str(path))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "say what to observe"),
        (["--metadata-log", str(DATA / "metadata-4.3.log")], "--topic NAME is missing"),
        (["--metadata-log", str(DATA / "metadata-4.3.log"), "--topic", "u"], "topics there: t"),
        (["--metadata-log", str(DATA / "run-4.3.jsonl"), "--topic", "t"], "has no metadata records"),
        (
            ["--metadata-log", str(DATA / "metadata-4.3.log"), "--topic", "t", "--set", "faults.crash=1"],
            "is not read by observe",
        ),
        (
            ["--metadata-log", str(DATA / "metadata-4.3.log"), "--topic", "t", "--set", "start.outside_isr=1"],
            "is not read by observe",
        ),
        (["--metadata-log", str(DATA / "metadata-4.3.log"), "--topic", "t", "--kafka-version", "3.4"], "3.6 and later"),
        (["nowhere.jsonl"], "cannot read 'nowhere.jsonl'"),
    ],
)
def test_what_is_wrong_is_said_in_a_line(arguments: list[str], message: str) -> None:
    done = neverlost(*arguments)
    assert done.returncode == 64
    assert message in done.stderr and len(done.stderr.splitlines()) == 1


def test_the_first_acknowledgement_at_an_offset_names_its_own_record() -> None:
    """Two records were acknowledged at one offset, and the history has the later one first."""
    seen: Any = tuple(
        SimpleNamespace(latest=at, key=RecordKey("producer_is_notified", record)) for at, record in ((9.0, 2), (4.0, 1))
    )
    assert OffsetGroup((0,), ("a", "b"), seen).acknowledged == (4.0, 1)
    assert OffsetGroup((0,), ("a", "b"), ()).acknowledged is None
