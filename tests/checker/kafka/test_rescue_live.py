"""Offline partitions of real brokers: what `rescue` says of their files is held to what was acknowledged.

A seed draws topics, slow followers, and how each broker goes: killed, without power (its files are cut), with its disk, or cut
off by the gates in front of every node while it runs on.  Before that there may be an unclean election, or a reassignment that
is complete or still in progress.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from neverlost.checker.kafka.cluster import faults
from neverlost.checker.kafka.cluster.cluster import SEGMENT, Cluster, cluster
from neverlost.checker.kafka.cluster.jars import find_kafka
from neverlost.checker.questions.rescue.offline_partition import DISK_GONE, ELECT, POWER, UNKNOWN, WAIT
from neverlost.reports.questions.rescue.api import RescueResult, rescue
from tests.support.live import disturbances

pytestmark = pytest.mark.kafka

BROKERS = (1, 2, 3)
ADDED = 4
"""The broker to which a reassignment moves replicas."""

CUT_OFF = "cut-off"
KILLS, CUTS, MOVES, UNCLEAN = ("kills", "cut networks", "reassignments", "unclean elections")
SEEDS = {KILLS: (1, 2, 4), CUTS: (1,), MOVES: (1,), UNCLEAN: (1, 2)}
GRID = [(version, history, seed) for version in ("4.3", "3.9") for history, seeds in SEEDS.items() for seed in seeds]
TOPICS = 8
LOSSES = 15
"""How many incidents of the grid have to lose something whoever is elected."""

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
    gone: dict[str, set[bytes]] = field(default_factory=dict)
    """Acknowledged records that an unclean election has lost already."""

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
        if how != CUT_OFF:
            faults.crash(self.kafka, broker)
            return
        others = [each.number for each in self.kafka.nodes if each.number != broker]
        for one, other in [(broker, each) for each in others] + [(each, broker) for each in others]:
            self.kafka.network.cut(one, other)

    def reassign(self, topic: str) -> None:
        """Move one replica to the broker that is added."""
        kept = self.source.sample(BROKERS, 2)
        faults.reassign(self.kafka, topic, [*kept, ADDED])

    def elect_uncleanly(self, slow: list[int]) -> None:
        """Kill a broker that is alone in the ISR of some topics, and elect slow followers in its place."""
        alone = [each.isr[0] for each in map(self.kafka.partition, self.acknowledged) if len(each.isr) == 1]
        if not alone:
            return
        victim = self.source.choice(alone)
        self.lose(victim, "killed")
        self.kafka.wait(lambda: not self.kafka.is_unfenced(victim), "the broker to be fenced", 60)
        self.kafka.network.lift()
        for topic in [each for each in self.acknowledged if self.kafka.partition(each).leader < 0]:
            faults.elect_uncleanly(self.kafka, topic)
            self.kafka.wait(lambda topic=topic: self.kafka.partition(topic).leader > 0, f"a leader of {topic}", 60)
            there = {each.value for each in self.kafka.log(self.kafka.partition(topic).leader, topic)}
            self.gone[topic] = self.acknowledged[topic].keys() - there
        self.produce(2)
        for each in slow:
            disturbances.slow_follower(self.kafka, each)
        self.produce(1)

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
            for broker in self.kafka.brokers
            if self.went.get(broker) != DISK_GONE and self.kafka.log_folder(broker, topic).exists()
        ]
        tool = f"{'org.apache.' if self.kafka.home.minor >= (4, 0) else ''}kafka.tools.DumpLogSegments"
        printed = self.kafka.java.run(tool, "--files", ",".join(logs))
        pieces = [each.partition("\n") for each in printed.split("Dumping ")[1:]]
        return {name.strip(): f"Dumping {name}\n{rest}" for name, _, rest in pieces}

    def describe(self, topic: str) -> str:
        found = self.kafka.partition(topic)
        every = (found.replicas, found.isr, found.elr, found.last_known_elr)
        sets = [",".join(map(str, each or ())) for each in every]
        moves = (("Adding", found.adding), ("Removing", found.removing))
        sets.append("".join(f"\t{verb} Replicas: {','.join(map(str, each))}" for verb, each in moves if each))
        file = self.place / f"{topic}.txt"
        file.write_text(
            f"Topic: {topic}\tTopicId: x\tPartitionCount: 1\tReplicationFactor: 3\tConfigs: \n\tTopic: {topic}\tPartition: 0\t"
            "Leader: none\tReplicas: {}\tIsr: {}\tElr: {}\tLastKnownElr: {}{}\n".format(*sets)
        )
        return str(file)

    def ask(self, topic: str, dumped: Mapping[str, str]) -> RescueResult:
        replicas = self.kafka.partition(topic).replicas
        there = [each for each in replicas if str(self.kafka.log_folder(each, topic) / SEGMENT) in dumped]
        seen = [each for each in there if self.went.get(each) != DISK_GONE and self.source.random() < 0.8]
        ways = {each: self.went.get(each, "up") for each in replicas if self.source.random() < 0.9}
        return rescue(
            [f"min.insync.replicas={self.least[topic]}"] if self.source.random() < 0.5 else [],
            files={"describe": self.describe(topic)},
            replicas=[self.gather(topic, each, dumped) for each in seen],
            went=[f"{broker}={how}" for broker, how in ways.items()],
        )

    def lost_by(self, topic: str, broker: int) -> list[int]:
        """Return the offsets of what was acknowledged, not lost before, and is not in a broker's log."""
        there = {each.value for each in self.kafka.log(broker, topic)} | self.gone.get(topic, set())
        return [offset for value, offset in self.acknowledged[topic].items() if value not in there]


def draw(kafka: Cluster, place: Path, source: random.Random, history: str) -> LiveIncidents:
    """Make topics, write, let followers be slow, and take brokers away."""
    found = LiveIncidents(kafka, place, source, {}, {}, {})
    for number in range(TOPICS):
        topic, least = f"t{number}", source.choice((1, 2))
        kafka.create_topic(topic, source.sample(BROKERS, 3), {"min.insync.replicas": str(least)})
        found.least[topic], found.acknowledged[topic] = least, {}
    found.produce(4)
    moved = [each for each in found.acknowledged if history == MOVES and source.random() < 0.8]
    for each in moved[::2]:
        found.reassign(each)
        kafka.wait(lambda each=each: not kafka.partition(each).adding, f"the reassignment of {each}", 60)
    slow = source.sample(BROKERS, source.choice((1, 2)))
    for each in slow:
        disturbances.slow_follower(kafka, each)
        found.produce(2)
    if moved:
        disturbances.slow_follower(kafka, ADDED)
    for each in moved[1::2]:
        found.reassign(each)
    if history == UNCLEAN:
        found.elect_uncleanly(slow)
    living = [each for each in kafka.brokers if each not in found.went]
    victims = [each for each in source.sample(living, len(living)) if each != slow[0] or source.random() < 0.4]
    for each in victims:
        ways = (CUT_OFF, CUT_OFF, POWER, DISK_GONE) if history == CUTS else ("killed", POWER, POWER, DISK_GONE)
        found.lose(each, source.choice(ways))
        if source.random() < 0.4:
            kafka.wait(lambda each=each: not kafka.is_unfenced(each), f"broker {each} to be fenced", 60)
    kafka.wait(lambda: not any(kafka.is_unfenced(each) for each in victims), "the brokers to be fenced", 60)
    found.cut()
    return found


def judge(incidents: LiveIncidents, topic: str, found: RescueResult, tally: Counter[str]) -> None:
    """Hold each candidate to what was acknowledged, and count."""
    if found.says == WAIT and found.broker is not None:
        assert not incidents.lost_by(topic, found.broker), found.document
    tally.update(["incidents", f"says {found.says}"])
    for each in found.candidates:
        lost, most = incidents.lost_by(topic, each["broker"]), each["at_most"]
        tally.update(["replicas"] + ["replicas that lack something"] * bool(lost))
        assert not (each["loses_nothing"] and lost), (lost, found.document)
        if each["problem"] is None and most is not None:
            assert all(most[0] <= offset and (most[1] is None or offset < most[1]) for offset in lost), (lost, found.document)
        if each["problem"] is None and each["at_least"] is not None:
            assert lost or incidents.gone.get(topic), found.document
    replicas = incidents.kafka.partition(topic).replicas
    every = [incidents.lost_by(topic, each) for each in replicas if incidents.went.get(each) != DISK_GONE]
    tally["losses"] += all(every)
    tally["elections that lose"] += found.says == ELECT and bool(incidents.lost_by(topic, found.broker or 0))
    is_careful = found.says == UNKNOWN and not all(incidents.lost_by(topic, each["broker"]) for each in found.candidates)
    tally["cannot be known, though a replica that is seen loses nothing"] += is_careful


@pytest.fixture(scope="module")
def tallies() -> Iterator[dict[tuple[str, str, int], Counter[str]]]:
    """The counts of each round; those of the whole grid, if all of it has run, have enough losses."""
    found: dict[tuple[str, str, int], Counter[str]] = {}
    yield found
    whole: Counter[str] = Counter()
    for each, tally in found.items():
        print("\n", *each, dict(tally))
        whole.update(tally)
    print("\n", dict(whole))
    assert found.keys() != set(GRID) or whole["losses"] >= LOSSES, whole


@pytest.mark.parametrize(("version", "history", "seed"), GRID)
def test_what_is_said_of_real_files_is_what_is_lost(
    version: str, history: str, seed: int, tmp_path: Path, tallies: dict[tuple[str, str, int], Counter[str]]
) -> None:
    with cluster(find_kafka(version=version), brokers=4 if history == MOVES else 3) as kafka:
        incidents = draw(kafka, tmp_path, random.Random(seed), history)
        dumped, tally = incidents.dump(), Counter[str]()
        for topic in incidents.acknowledged:
            if kafka.partition(topic).leader < 0:
                judge(incidents, topic, incidents.ask(topic, dumped), tally)
        assert tally["incidents"]
        tallies[version, history, seed] = tally


def test_the_steps_make_a_replica_outside_the_isr_the_leader(tmp_path: Path) -> None:
    with cluster(find_kafka(version="3.9"), brokers=3) as kafka:
        incidents = LiveIncidents(kafka, tmp_path, random.Random(0), {"t": 2}, {"t": {}}, {})
        kafka.create_topic("t", [1, 2, 3], {"min.insync.replicas": "2"})
        incidents.produce(3)
        rules = [*disturbances.slow_follower(kafka, 2), *disturbances.slow_follower(kafka, 3)]
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
