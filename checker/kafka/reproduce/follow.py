"""A counterexample tried on a cluster: each stage of its plan is done, each target waited for, and the partition read."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime

from neverlost.checker.kafka.cluster import faults
from neverlost.checker.kafka.cluster.batches import Record
from neverlost.checker.kafka.cluster.clients import Sending
from neverlost.checker.kafka.cluster.cluster import Cluster
from neverlost.checker.kafka.cluster.network import ALTER_PARTITION, FETCH, HEARTBEAT, Rule
from neverlost.checker.kafka.cluster.process import ClusterError, Unmet
from neverlost.checker.kafka.reproduce.plan import Holds, Plan, Stage, Target
from neverlost.model.scene import DOWN, LEADER, Lane, Scene

FILLER = b"m0"
"""A record that slow followers lack.  Kafka drops no follower that has everything, however late its fetches are."""

STILL = 20
"""Seconds after which what has not changed will not: thrice what it takes to miss a broker, more than to drop a follower."""

Notify = Callable[[str], None]


@dataclass(frozen=True)
class Moment:
    """What the cluster looked like when a stage was over, or could not be finished."""

    says: str
    seconds: float
    scene: Scene


@dataclass(frozen=True)
class Divergence:
    """Where reality and the model went different ways: the steps of the stage, what the model has there, what was seen."""

    first: int
    last: int
    says: str
    seen: tuple[str, ...]


@dataclass
class Outcome:
    """What came of it.  By record: when and at which offset it was `acknowledged`, `read_before` the end."""

    divergence: Divergence | None = None
    moments: list[Moment] = field(default_factory=list)
    acknowledged: dict[int, tuple[str, int | None]] = field(default_factory=dict)
    refused: dict[int, str] = field(default_factory=dict)
    read_before: dict[int, int] = field(default_factory=dict)
    read: list[Record] | None = None
    logs: dict[int, list[Record]] = field(default_factory=dict)
    leader: int = -1
    done: list[str] = field(default_factory=list)
    seconds: float = 0

    @property
    def lost(self) -> tuple[int, ...]:
        """Records that were acknowledged or read, and that a consumer cannot read at the end, nor the leader has on its disk.

        A leader without its followers may have a record above its high watermark.  While there is no leader nothing is lost
        yet.
        """
        there = {number_of(each) for each in [*(self.read or []), *self.logs.get(self.leader, [])]}
        return tuple(sorted((self.acknowledged.keys() | self.read_before.keys()) - there)) if self.read is not None else ()

    def is_reproduced(self, expected: frozenset[int]) -> bool:
        """Whether every step was seen, and the records that the counterexample loses are lost."""
        return self.divergence is None and expected <= set(self.lost)


def number_of(record: Record) -> int | None:
    """The model's number of a record that we wrote; 0 for a filler, None for one that is not ours."""
    match = re.fullmatch(rb"m(\d+)", record.value or b"")
    return int(match[1]) if match else None


class Run:
    """One try of a plan, on a topic of its own."""

    def __init__(self, cluster: Cluster, plan: Plan, topic: str, notify: Notify, patience: float = 60) -> None:
        self.cluster, self.plan, self.topic, self.notify, self.patience = cluster, plan, topic, notify, patience
        self.outcome = Outcome()
        self.sendings: dict[int, Sending] = {}
        self.rules: set[Rule] = set()
        self.produced = 0
        self.started = time.monotonic()

    def run(self) -> Outcome:
        """Do all of it; every fault is undone before the partition is read."""
        self.started = time.monotonic()
        configs = self.plan.topic_configs
        self.cluster.create_topic(self.topic, self.plan.replicas, configs)
        shown = " ".join(f"{name}={value}" for name, value in configs.items())
        self._note(f"create topic {self.topic} on {','.join(map(str, self.plan.replicas))} with {shown}")
        self._reach(self.plan.begin)
        self._remember("the beginning")
        for stage in self.plan.stages:
            if not self._stage(stage):
                break
        self._recover()
        self.outcome.seconds = time.monotonic() - self.started
        return self.outcome

    def _stage(self, stage: Stage) -> bool:
        """Whether the stage went as the model did."""
        try:
            self._hold(stage.during)
            self._operate(stage)
            self._hold(stage.holds)
            self._elect_by_hand(stage.target)
            self._reach(stage.target, slowly=stage.operation == "start")
        except ClusterError as problem:
            seen = problem.seen if isinstance(problem, Unmet) else str(problem)
            self.outcome.divergence = Divergence(stage.first, stage.last, "; ".join(stage.says), tuple(seen.split("\n")))
            self._remember("; ".join(stage.says))
            return False
        self._remember("; ".join(stage.says))
        return True

    # what flows

    def _hold(self, holds: Holds) -> None:
        """Cut what must not flow from now on, then let flow what may."""
        wanted = rules(self.cluster, holds)
        for rule in wanted - self.rules:
            if rule.answers_only:
                self.cluster.network.hold(rule.source, rule.target, rule.api, rule.answers_only)
            else:
                self.cluster.network.cut(rule.source, rule.target, rule.api)
        if self.rules - wanted:
            self.cluster.network.lift(*(self.rules - wanted))
        self.rules = wanted

    # what is done

    def _operate(self, stage: Stage) -> None:
        broker, argument = stage.broker, stage.argument
        match stage.operation:
            case "produce":
                self._produce(broker)
            case "lag":
                self._lag(broker, argument[0])
            case "move":
                self._note(f"elect broker {broker}, now first in the assignment, as the preferred leader")
                faults.move_leader(self.cluster, self.topic, broker)
            case "reassign":
                self._reassign(argument)
            case "cancel":
                self._note("cancel the reassignment")
                faults.cancel_reassignment(self.cluster, self.topic)
            case "set-min-isr":
                self._set_min_isr(argument[0])
            case "learn":
                self._note(f"broker {broker} may read the metadata log again")
            case "silence" | "reconnect":
                self._note(f"broker {broker}'s heartbeats {'are lost' if stage.operation == 'silence' else 'arrive again'}")
            case "crash":
                self._note(f"kill -9 broker {broker}")
                faults.crash(self.cluster, broker)
            case "crash-lossy":
                self._crash_lossy(broker, argument[0])
            case "lose-disk":
                self._note(f"kill -9 broker {broker}, wipe its log directory and format it")
                faults.lose_disk(self.cluster, broker)
            case "stop":
                self._note(f"shut broker {broker} down")
                faults.stop(self.cluster, broker, lambda: self._hand_over(stage))
            case "start":
                self._note(f"start broker {broker}")
                faults.start(self.cluster, broker)

    def _produce(self, broker: int) -> None:
        self.produced += 1
        self._note(f"produce m{self.produced} to broker {broker} with acks={self.plan.acks}")
        value = f"m{self.produced}".encode()
        self.sendings[self.produced] = self.cluster.send(self.topic, value, self.plan.acks, self.patience * 3, to=broker)

    def _lag(self, follower: int, leader: int) -> None:
        """Make a follower lack something, and wait until the leader wants to drop it."""
        mark = self.cluster.brokers[leader].process.mark
        self._note(f"the fetches of broker {follower} to broker {leader} are blocked")
        if self.cluster.log_end(follower, self.topic) >= self.cluster.log_end(leader, self.topic):
            self._note(f"produce m0 to broker {leader} with acks=1, which broker {follower} lacks")
            self.cluster.send(self.topic, FILLER, "1", self.patience, to=leader).wait()
        pattern = rf"Partition {self.topic}-0 broker={leader}\] Shrinking ISR"
        self.cluster.wait(
            lambda: self.cluster.said(leader, pattern, mark),
            f"leader {leader} to drop broker {follower}",
            self.patience,
            lambda: f"leader {leader} did not ask to drop broker {follower}",
        )

    def _reassign(self, replicas: tuple[int, ...]) -> None:
        order = [each for each in self.cluster.partition(self.topic).replicas if each in replicas]
        order += [each for each in replicas if each not in order]
        self._note(f"reassign to {','.join(map(str, order))}")
        faults.reassign(self.cluster, self.topic, order)

    def _set_min_isr(self, least: int) -> None:
        self._note(f"set min.insync.replicas of the topic to {least}")
        self.cluster.admin.set_topic_config(self.topic, "min.insync.replicas", str(least))

    def _crash_lossy(self, broker: int, kept: int) -> None:
        offset = self._ours(broker)[kept].offset
        self._note(f"kill -9 broker {broker}, and lose its log from offset {offset} on")
        for each in faults.crash_lossy(self.cluster, broker, self.topic, offset):
            self.notify(f"     {each}")

    def _hand_over(self, stage: Stage) -> None:
        """A broker that shuts down waits until the others have read that it leads no more; it need not read so itself."""
        broker = stage.broker
        self.cluster.wait(lambda: self.cluster.partition(self.topic).leader != broker, f"leader {broker} to hand over", 60)
        self._hold(stage.holds.besides(stage.during.of(broker)))

    def _elect_by_hand(self, target: Target) -> None:
        """Before 3.9 a KRaft controller does not look at a topic's unclean.leader.election.enable (KAFKA-12670)."""
        is_unclean = target.leader is not None and target.leader not in self.cluster.partition(self.topic).isr
        if not (is_unclean and self.plan.is_unclean_allowed and self.cluster.home.minor < (3, 9)):
            return
        self.cluster.wait(
            lambda: self.cluster.partition(self.topic).leader < 0, "the partition to have no leader", self.patience
        )
        self._note("ask for an unclean election, which Kafka before 3.9 does not hold by itself")
        faults.elect_uncleanly(self.cluster, self.topic)

    def _note(self, what: str) -> None:
        self.outcome.done.append(f"{time.monotonic() - self.started:6.1f} s  {what}")
        self.notify(self.outcome.done[-1])

    # what is seen

    def _reach(self, target: Target, slowly: bool = False) -> None:
        """Wait until the cluster looks as the model does; a broker that starts gets three times as long.

        Errors: `Unmet` with every difference that is left when time is up, or when none of them has changed for long.
        """
        times = 3 if slowly else 1
        left, since = [""], time.monotonic()

        def is_there() -> bool:
            nonlocal left, since
            found = self.differences(target)
            if found != left:
                left, since = found, time.monotonic()
            elif found and time.monotonic() - since > STILL * times:
                raise Unmet("a difference from the model to change", STILL * times, "\n".join(found))
            return not found

        said = "the cluster to look as the model does"
        self.cluster.wait(is_there, said, self.patience * times, lambda: "\n".join(left))

    def differences(self, target: Target) -> list[str]:
        """What is not as the model has it, a sentence each."""
        self._listen()
        now = self.cluster.partition(self.topic)
        leader = None if now.leader < 0 else now.leader
        found = []
        if leader != target.leader:
            found.append(f"{_led(leader)}, in the model {_led(target.leader)}")
        pairs = [("the ISR", now.isr, target.isr), ("the replicas are", now.replicas, target.replicas)]
        if self.plan.compares_elr:
            pairs.append(("the ELR", now.elr, target.elr))
        for name, seen, wanted in pairs:
            if set(seen) != set(wanted):
                found.append(f"{name} {_members(seen)}, in the model {_members(wanted)}")
        found += self._fencing(target)
        if not found and leader is not None:
            found += self._knowledge(leader, target)
        found += self._logs(target)
        found += self._clients(target)
        return found

    def _fencing(self, target: Target) -> list[str]:
        found = [f"broker {each} is not fenced yet" for each in target.fenced if self.cluster.is_unfenced(each)]
        alive = [each for each in target.running if each not in target.fenced]
        return found + [f"broker {each} is fenced" for each in alive if not self.cluster.is_unfenced(each)]

    def _knowledge(self, leader: int, target: Target) -> list[str]:
        """The leader must have applied its leadership, and know the newest partition epoch, where the model's does."""
        now = self.cluster.partition(self.topic)
        leader_epoch, partition_epoch = known_epochs(self.cluster, leader, self.topic)
        if target.has_applied_leadership and leader_epoch != now.leader_epoch:
            return [f"leader {leader} has not applied its leadership in leader epoch {now.leader_epoch}"]
        if target.is_up_to_date and partition_epoch < now.partition_epoch:
            return [f"leader {leader} knows partition epoch {partition_epoch} of {now.partition_epoch}"]
        return []

    def _logs(self, target: Target) -> list[str]:
        found = []
        for broker, wanted in target.logs.items():
            seen = tuple(number_of(each) for each in self._ours(broker))
            if seen != wanted:
                found.append(f"broker {broker} has {_records(seen)}, in the model {_records(wanted)}")
        return found

    def _ours(self, broker: int) -> list[Record]:
        """A broker's records that the model knows."""
        return [each for each in self.cluster.log(broker, self.topic) if number_of(each)]

    def _clients(self, target: Target) -> list[str]:
        found = []
        for record in target.acknowledged:
            if record not in self.outcome.acknowledged:
                refusal = self.outcome.refused.get(record)
                found.append(f"m{record} is {f'refused: {refusal}' if refusal else 'not acknowledged'}")
        wanted = () if self.plan.broken != "committed-never-lost" else target.committed
        return found + [f"m{each} cannot be read by a consumer" for each in wanted if each not in self.outcome.read_before]

    def _listen(self) -> None:
        """Take in what was acknowledged to producers, and what consumers can read."""
        for record, sending in self.sendings.items():
            answer = sending.answer
            if answer is None or record in self.outcome.acknowledged or record in self.outcome.refused:
                continue
            if answer.is_acknowledged:
                self.outcome.acknowledged[record] = (_clock(answer.at), answer.offset)
                self._note(f"m{record} is acknowledged" + ("" if answer.offset is None else f" at offset {answer.offset}"))
            else:
                self.outcome.refused[record] = str(answer.error)
                self._note(f"m{record} is refused: {answer.error}")
        if self.plan.broken == "committed-never-lost":
            self._watch_high_watermarks()

    def _watch_high_watermarks(self) -> None:
        """A record below the current leader's high watermark can be read; a consumer reads it to be sure."""
        for broker in self.cluster.brokers:
            high = self.cluster.high_watermark(broker, self.topic) or 0
            visible = [
                each for each in self._ours(broker) if each.offset < high and number_of(each) not in self.outcome.read_before
            ]
            if visible and self.cluster.partition(self.topic).leader == broker:
                for record in self.cluster.consume(self.topic):
                    number = number_of(record)
                    if number and number not in self.outcome.read_before:
                        self.outcome.read_before[number] = record.offset
                        self._note(f"a consumer reads m{number} at offset {record.offset}")

    # the end

    def _recover(self) -> None:
        """Unblock everything, start what is down, and read the partition once it has a leader."""
        self._note("unblock the network and start every broker")
        self.cluster.network.lift()
        self.rules = set()
        for sending in self.sendings.values():
            sending.close()
        for broker, node in self.cluster.brokers.items():
            if not node.process.is_running:
                faults.start(self.cluster, broker)
        self.cluster.wait(lambda: all(map(self.cluster.is_unfenced, self.cluster.brokers)), "every broker to be back", 120)
        try:
            self.cluster.wait(self._is_whole, "every replica to be in sync", self.patience)
        except Unmet:
            self._note(f"not every replica is in sync: {self._line()}")
        if self.cluster.partition(self.topic).leader >= 0:
            self.outcome.read = self.cluster.consume(self.topic)
            self._note(f"read from the beginning: {_standing(self.outcome.read)}")
        else:
            self._note("the partition has no leader: it is offline, and nothing can be read")
        self.outcome.leader = self.cluster.partition(self.topic).leader
        self.outcome.logs = {broker: self.cluster.log(broker, self.topic) for broker in self.cluster.brokers}
        self._remember("every fault undone, every broker running", keep_promises=True)

    def _is_whole(self) -> bool:
        now = self.cluster.partition(self.topic)
        ends = {self.cluster.log_end(each, self.topic) for each in now.replicas}
        return set(now.isr) == set(now.replicas) and now.leader >= 0 and len(ends) == 1

    def _line(self) -> str:
        now = self.cluster.partition(self.topic)
        elr = f", ELR {_members(now.elr)}" if now.elr else ""
        return f"{_led(None if now.leader < 0 else now.leader)}, ISR {_members(now.isr)}{elr}"

    def _remember(self, says: str, keep_promises: bool = True) -> None:
        self.outcome.moments.append(Moment(says, time.monotonic() - self.started, self.scene()))

    def scene(self) -> Scene:
        """The cluster as the pictures draw it."""
        now = self.cluster.partition(self.topic)
        return Scene(
            leader=None if now.leader < 0 else now.leader - 1,
            epoch=now.leader_epoch,
            isr=tuple(sorted(each - 1 for each in now.isr)),
            lanes=tuple(self._lane(each) for each in self.cluster.brokers),
            acked=frozenset(self.outcome.acknowledged),
            committed=frozenset(self.outcome.read_before),
            elr=tuple(sorted(each - 1 for each in now.elr)),
            fenced=tuple(each - 1 for each in self._fenced()),
        )

    def _fenced(self) -> tuple[int, ...]:
        return tuple(each for each in self.cluster.brokers if not self.cluster.is_unfenced(each))

    def _lane(self, broker: int) -> Lane:
        now = self.cluster.partition(self.topic)
        log = tuple(
            (number, each.leader_epoch)
            for each in self.cluster.log(broker, self.topic)
            if (number := number_of(each)) is not None
        )
        is_running = self.cluster.brokers[broker].process.is_running
        if not is_running:
            return Lane(broker - 1, DOWN, log)
        epoch, _ = known_epochs(self.cluster, broker, self.topic)
        role = LEADER if now.leader == broker else "replica" if broker in now.replicas else "no replica"
        high = self.cluster.high_watermark(broker, self.topic)
        return Lane(broker - 1, role, log, high, None if epoch < 0 else epoch, is_leader=now.leader == broker)


EPOCHS = (
    r"Leader {partition} with .*starts at leader epoch (?P<leader>\d+) .*with partition epoch (?P<partition>\d+)",
    r"Follower {partition} starts at leader epoch (?P<leader>\d+) .*with partition epoch (?P<partition>\d+)",
    r"Partition {partition} broker=\d+\] ISR updated to .* version updated to (?P<partition>\d+)",
    r"Skipped the become-.* for {partition} .*partitionEpoch=(?P<partition>\d+)",
)
"""What brokers print when they learn of a partition's state, in Partition.scala of 3.3 to 4.x."""


def known_epochs(cluster: Cluster, broker: int, topic: str) -> tuple[int, int]:
    """The leader epoch and the partition epoch that a broker has last acted on; -1 for none since it started."""
    process = cluster.brokers[broker].process
    printed = process.printed(process.started_at)
    leader_epoch = partition_epoch = -1
    for pattern in EPOCHS:
        for match in re.finditer(pattern.format(partition=re.escape(f"{topic}-0")), printed):
            values = match.groupdict()
            leader_epoch = max(leader_epoch, int(values.get("leader") or -1))
            partition_epoch = max(partition_epoch, int(values["partition"]))
    return leader_epoch, partition_epoch


def rules(cluster: Cluster, holds: Holds) -> set[Rule]:
    """A plan's holds as rules of the network."""
    found = {Rule(each, other, FETCH) for each in holds.fetches for other in cluster.brokers if other != each}
    for controller in cluster.controllers:
        found |= {Rule(each, controller, FETCH) for each in holds.metadata}
        found |= {Rule(each, controller, HEARTBEAT) for each in holds.heartbeats}
        found |= {Rule(each, controller, ALTER_PARTITION) for each in holds.isr_requests}
        found |= {Rule(each, controller, ALTER_PARTITION, answers_only=True) for each in holds.isr_answers}
    return found


def _led(leader: int | None) -> str:
    return "no broker leads" if leader is None else f"broker {leader} leads"


def _members(brokers: tuple[int, ...]) -> str:
    return ",".join(map(str, sorted(brokers))) or "none"


def _records(numbers: tuple[int | None, ...]) -> str:
    return "[" + " ".join(f"m{each}" for each in numbers) + "]"


def _standing(records: list[Record]) -> str:
    return ", ".join(f"{(each.value or b'').decode()} at offset {each.offset}" for each in records) or "nothing is there"


def _clock(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
