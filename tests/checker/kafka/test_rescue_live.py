"""Offline partitions of real brokers: what `rescue` says of their files is held to what was acknowledged.

A seed draws topics, slow followers, and how each broker goes: killed, without power (its files are cut), or with its disk.
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from neverlost.checker.kafka.cluster import faults
from neverlost.checker.kafka.cluster.cluster import SEGMENT, Cluster, cluster
from neverlost.checker.kafka.cluster.jars import find_kafka
from neverlost.checker.questions.rescue.offline_partition import DISK_GONE, ELECT, POWER, WAIT
from neverlost.reports.questions.rescue.api import RescueResult, rescue

pytestmark = pytest.mark.kafka

BROKERS = (1, 2, 3)
TOPICS = 8
COPIED = ("replication-offset-checkpoint", "meta.properties")


@dataclass
class LiveIncidents:
    """A cluster after a drawn round of faults: what each topic's producer was told, and how each broker went."""

    kafka: Cluster
    place: Path
    source: random.Random
    least: dict[str, int]
    acknowledged: dict[str, dict[bytes, int]]
    went: dict[int, str]

    def produce(self, many: int) -> None:
        """Write to all topics at once; a follower that is slow leaves the ISR while the first of them waits."""
        for at in range(many):
            values = {
                topic: f"{topic} {len(told)} {at} {self.source.random()}".encode() for topic, told in self.acknowledged.items()
            }
            sent = {topic: self.kafka.send(topic, value, seconds=20) for topic, value in values.items()}
            for topic, each in sent.items():
                offset = each.wait().offset
                if offset is not None:
                    self.acknowledged[topic][values[topic]] = offset

    def lose(self, broker: int, how: str) -> None:
        self.went[broker] = how
        faults.crash(self.kafka, broker)

    def cut(self) -> None:
        """Take the end of each log of brokers without power, and the disk of others."""
        for broker, how in self.went.items():
            for topic in self.acknowledged if how == POWER else ():
                end = self.kafka.log_end(broker, topic)
                if end:
                    faults.crash_lossy(self.kafka, broker, topic, self.source.randint(max(0, end - 3), end))
            if how == DISK_GONE:
                faults.lose_disk(self.kafka, broker)

    def gather(self, topic: str, broker: int, dumped: Mapping[str, str]) -> str:
        folder = self.place / topic / f"broker-{broker}"
        folder.mkdir(parents=True)
        log = self.kafka.log_folder(broker, topic)
        for each in (*(log.parent / name for name in COPIED), log / "leader-epoch-checkpoint"):
            (folder / each.name).write_bytes(each.read_bytes())
        (folder / "dump.txt").write_text(dumped[str(log / SEGMENT)])
        return f"{broker}={folder}"

    def dump(self) -> dict[str, str]:
        """Return what kafka-dump-log.sh prints of each log."""
        logs = [
            str(self.kafka.log_folder(broker, topic) / SEGMENT)
            for topic in self.acknowledged
            for broker in BROKERS
            if self.went.get(broker) != DISK_GONE
        ]
        tool = f"{'org.apache.' if self.kafka.home.minor >= (4, 0) else ''}kafka.tools.DumpLogSegments"
        printed = self.kafka.java.run(tool, "--files", ",".join(logs))
        pieces = [each.partition("\n") for each in printed.split("Dumping ")[1:]]
        return {name.strip(): f"Dumping {name}\n{rest}" for name, _, rest in pieces}

    def describe(self, topic: str) -> str:
        found = self.kafka.partition(topic)
        sets = [",".join(map(str, each or ())) for each in (found.replicas, found.isr, found.elr, found.last_known_elr)]
        file = self.place / f"{topic}.txt"
        file.write_text(
            f"Topic: {topic}\tTopicId: x\tPartitionCount: 1\tReplicationFactor: 3\tConfigs: \n\tTopic: {topic}\tPartition: 0\t"
            "Leader: none\tReplicas: {}\tIsr: {}\tElr: {}\tLastKnownElr: {}\n".format(*sets)
        )
        return str(file)

    def ask(self, topic: str, dumped: Mapping[str, str]) -> RescueResult:
        seen = [each for each in BROKERS if self.went.get(each) != DISK_GONE and self.source.random() < 0.8]
        ways = {each: self.went.get(each, "up") for each in BROKERS if self.source.random() < 0.9}
        return rescue(
            [f"min.insync.replicas={self.least[topic]}"] if self.source.random() < 0.5 else [],
            files={"describe": self.describe(topic)},
            replicas=[self.gather(topic, each, dumped) for each in seen],
            went=[f"{broker}={how}" for broker, how in ways.items()],
        )

    def lost_by(self, topic: str, broker: int) -> list[int]:
        """Return the offsets of what was acknowledged and is not in a broker's log."""
        there = {each.value for each in self.kafka.log(broker, topic)}
        return [offset for value, offset in self.acknowledged[topic].items() if value not in there]


def draw(kafka: Cluster, place: Path, source: random.Random) -> LiveIncidents:
    """Make topics, write, let followers be slow, and take brokers away."""
    found = LiveIncidents(kafka, place, source, {}, {}, {})
    for number in range(TOPICS):
        topic, least = f"t{number}", source.choice((1, 2))
        kafka.create_topic(topic, source.sample(BROKERS, 3), {"min.insync.replicas": str(least)})
        found.least[topic], found.acknowledged[topic] = least, {}
    found.produce(4)
    slow = source.sample(BROKERS, source.choice((1, 2)))
    for each in slow:
        faults.slow_follower(kafka, each)
        found.produce(2)
    victims = [each for each in source.sample(BROKERS, 3) if each != slow[0] or source.random() < 0.4]
    for each in victims:
        found.lose(each, source.choice(("killed", POWER, POWER, DISK_GONE)))
        if source.random() < 0.4:
            kafka.wait(lambda each=each: not kafka.is_unfenced(each), f"broker {each} to be fenced", 60)
    kafka.wait(lambda: not any(kafka.is_unfenced(each) for each in victims), "the brokers to be fenced", 60)
    found.cut()
    return found


def judge(incidents: LiveIncidents, topic: str, found: RescueResult) -> None:
    """Hold each candidate to what was acknowledged."""
    if found.says == WAIT and found.broker is not None:
        assert not incidents.lost_by(topic, found.broker), found.document
    for each in found.candidates:
        lost, most = incidents.lost_by(topic, each["broker"]), each["at_most"]
        assert not (each["loses_nothing"] and lost), (lost, found.document)
        if each["problem"] is None and most is not None:
            assert all(most[0] <= offset and (most[1] is None or offset < most[1]) for offset in lost), (lost, found.document)
        if each["problem"] is None and each["at_least"] is not None:
            assert lost, found.document


@pytest.mark.parametrize("seed", [1, 2])
@pytest.mark.parametrize("version", ["4.3", "3.9"])
def test_what_is_said_of_real_files_is_what_is_lost(version: str, seed: int, tmp_path: Path) -> None:
    with cluster(find_kafka(version=version), brokers=3) as kafka:
        incidents = draw(kafka, tmp_path, random.Random(seed))
        dumped, judged = incidents.dump(), 0
        for topic in incidents.acknowledged:
            if kafka.partition(topic).leader < 0:
                judge(incidents, topic, incidents.ask(topic, dumped))
                judged += 1
        assert judged


def test_the_steps_make_a_replica_outside_the_isr_the_leader(tmp_path: Path) -> None:
    with cluster(find_kafka(version="3.9"), brokers=3) as kafka:
        incidents = LiveIncidents(kafka, tmp_path, random.Random(0), {"t": 2}, {"t": {}}, {})
        kafka.create_topic("t", [1, 2, 3], {"min.insync.replicas": "2"})
        incidents.produce(3)
        rules = [*faults.slow_follower(kafka, 2), *faults.slow_follower(kafka, 3)]
        incidents.produce(1)
        kafka.wait(lambda: kafka.partition("t").isr == (1,), "the ISR to shrink", 60)
        incidents.lose(1, DISK_GONE)
        kafka.wait(lambda: kafka.partition("t").leader < 0, "the partition to be offline", 60)
        kafka.network.lift(*rules)
        replicas = [incidents.gather("t", each, incidents.dump()) for each in (3,)]
        went = ["1=disk-gone", "2=disk-gone", "3=up"]
        found = rescue(files={"describe": incidents.describe("t")}, replicas=replicas, went=went)
        assert (found.says, found.broker) == (ELECT, 3)
        text = " ".join(command for each in found.document["do"] for command in each["run"])
        assert text.index("[3,1,2]") < text.index("--election-type UNCLEAN") < text.index("[1,2,3]")
        for order in ([3, 1, 2], [1, 2, 3]):
            faults.reassign(kafka, "t", order)
            kafka.wait(lambda order=order: kafka.partition("t").replicas == tuple(order), f"the order {order}", 30)
            if order[0] == 3:
                faults.elect_uncleanly(kafka, "t")
        kafka.wait(lambda: kafka.partition("t").leader == 3, "broker 3 to lead", 30)
        assert not incidents.lost_by("t", 3)
