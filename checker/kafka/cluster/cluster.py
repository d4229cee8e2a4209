"""A Kafka cluster on loopback: controllers and brokers as processes with their own folders and ports.

    with cluster(find_kafka(version="3.9"), brokers=3) as kafka:
        kafka.create_topic("t", [1, 2, 3], {"min.insync.replicas": "2"})
        kafka.produce("t", b"m1", acks="all")
        kafka.partition("t").isr

Whatever happens inside, the processes are gone and the folder is removed afterwards.
"""

from __future__ import annotations

import contextlib
import signal
import threading
import uuid
from base64 import urlsafe_b64encode
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

from neverlost.checker.engine.host import scratch
from neverlost.checker.kafka.cluster.batches import Record, parse_batches
from neverlost.checker.kafka.cluster.clients import Admin, ProduceResult, Sending, fetch_all
from neverlost.checker.kafka.cluster.jars import KafkaHome
from neverlost.checker.kafka.cluster.metadata import LOG, BrokerRegistration, MetadataImage, PartitionRecord
from neverlost.checker.kafka.cluster.network import LOOPBACK, Network, find_free_port
from neverlost.checker.kafka.cluster.process import ClusterError, Java, Process, wait_until

FIRST_CONTROLLER = 101
SEGMENT = "00000000000000000000.log"

SETTINGS = {
    "num.network.threads": "1",
    "num.io.threads": "2",
    "background.threads": "2",
    "log.cleaner.enable": "false",
    "offsets.topic.replication.factor": "1",
    "offsets.topic.num.partitions": "1",
    "auto.create.topics.enable": "false",
    "auto.leader.rebalance.enable": "false",
    "replica.fetch.wait.max.ms": "100",
    "replica.fetch.backoff.ms": "200",
    "replica.high.watermark.checkpoint.interval.ms": "200",
    "replica.lag.time.max.ms": "3000",
    "broker.heartbeat.interval.ms": "500",
    "broker.session.timeout.ms": "6000",
    "initial.broker.registration.timeout.ms": "120000",
}
"""Small and quick; times are long enough for a busy machine not to trip over them."""

STARTUP = 180
"""Seconds until a cluster that is not ready is a failure."""


@dataclass
class KafkaNode:
    number: int
    folder: Path
    process: Process
    port: int
    internal_port: int
    gate_port: int
    directories: list[Path]
    """Its log directories; with more than one, metadata has a place beside them."""
    further_ports: Mapping[str, int] = field(default_factory=dict)

    @property
    def data(self) -> Path:
        """The node's first log directory."""
        return self.directories[0]


@dataclass
class Cluster:
    """The nodes of a Kafka cluster, running or not, and what they, its log files and its clients say; made by `cluster`."""

    home: KafkaHome
    folder: Path
    settings: Mapping[str, str]
    features: Mapping[str, int]
    further_listeners: Mapping[str, str] = field(default_factory=dict)
    directories: int = 1
    network: Network = field(default_factory=Network)
    brokers: dict[int, KafkaNode] = field(default_factory=dict)
    controllers: dict[int, KafkaNode] = field(default_factory=dict)
    cluster_id: str = ""
    java: Java = field(init=False)
    commands: list[str] = field(default_factory=list)
    admin: Admin = field(init=False)
    _metadata: MetadataImage = field(default_factory=MetadataImage)

    def __post_init__(self) -> None:
        self.java = Java(self.home, self.folder)
        self.admin = Admin(lambda: self.bootstrap)
        self.cluster_id = self.cluster_id or make_random_id()

    # starting and stopping

    def start(self, brokers: int, controllers: int) -> None:
        """Make, format and start brokers (number 1 on) and controllers (101 on); wait until all brokers are unfenced, and the
        admin client sees them.  Errors: `ConditionNotMet` if that takes longer than `STARTUP` seconds."""
        for number in range(FIRST_CONTROLLER, FIRST_CONTROLLER + controllers):
            self.controllers[number] = self._node(number)
        for number in range(1, brokers + 1):
            self.brokers[number] = self._node(number)
        for node in self.nodes:
            self.configure(node)
        with ThreadPoolExecutor(max_workers=4) as pool:
            list(pool.map(self.format, self.nodes))
        for node in self.nodes:
            node.process.start()
        self.wait(lambda: all(self.is_unfenced(each) for each in self.brokers), "every broker to register", STARTUP)
        self.wait(lambda: len(self.admin.brokers()) == brokers, "the admin client to see every broker", STARTUP)

    @property
    def nodes(self) -> list[KafkaNode]:
        """All nodes of the cluster: controllers, then brokers."""
        return [*self.controllers.values(), *self.brokers.values()]

    def _node(self, number: int) -> KafkaNode:
        folder = self.folder / (f"controller-{number}" if number >= FIRST_CONTROLLER else f"broker-{number}")
        folder.mkdir()
        internal = find_free_port()
        process = Process(self.java, folder / "server.properties", folder / "server.log")
        further = {name: find_free_port() for name in self.further_listeners}
        several = self.directories if number < FIRST_CONTROLLER else 1
        directories = [folder / ("data" if each == 0 else f"data-{each}") for each in range(several)]
        return KafkaNode(
            number, folder, process, find_free_port(), internal, self.network.gate(number, internal), directories, further
        )

    def configure(self, node: KafkaNode) -> None:
        """Write server.properties: other nodes reach this node through its gate, clients reach a broker directly."""
        voters = ",".join(f"{each.number}@{LOOPBACK}:{each.gate_port}" for each in self.controllers.values())
        here = node.number in self.controllers
        protocols = {"CONTROLLER": "PLAINTEXT", "CLIENT": "PLAINTEXT", "INTERNAL": "PLAINTEXT", **self.further_listeners}
        lines = {
            "process.roles": "controller" if here else "broker",
            "node.id": str(node.number),
            "controller.quorum.voters": voters,
            "controller.listener.names": "CONTROLLER",
            "listener.security.protocol.map": ",".join(f"{name}:{protocol}" for name, protocol in protocols.items()),
            "log.dirs": ",".join(map(str, node.directories)),
            **SETTINGS,
            **self.settings,
        }
        if self.directories > 1 and not here:
            lines["metadata.log.dir"] = str(node.folder / "metadata")
        if here:
            lines["listeners"] = f"CONTROLLER://{LOOPBACK}:{node.internal_port}"
            if self.home.minor >= (3, 9):
                lines["advertised.listeners"] = f"CONTROLLER://{LOOPBACK}:{node.gate_port}"
        else:
            lines["inter.broker.listener.name"] = "INTERNAL"
            ports = {"CLIENT": node.port, **node.further_ports, "INTERNAL": node.internal_port}
            lines["listeners"] = ",".join(f"{name}://{LOOPBACK}:{port}" for name, port in ports.items())
            ports["INTERNAL"] = node.gate_port
            lines["advertised.listeners"] = ",".join(f"{name}://{LOOPBACK}:{port}" for name, port in ports.items())
        (node.folder / "server.properties").write_text("".join(f"{name}={value}\n" for name, value in lines.items()))

    def format(self, node: KafkaNode) -> None:
        """Format the log directories that are not formatted yet, as kafka-storage.sh does."""
        features = [part for name, level in self.features.items() for part in ("--feature", f"{name}={level}")]
        where = ["-t", self.cluster_id, "-c", str(node.folder / "server.properties")]
        self.java.run("kafka.tools.StorageTool", "format", "--ignore-formatted", *where, *features)

    def stop(self) -> None:
        for node in reversed(self.nodes):
            node.process.kill()
        self.network.close()

    # what the controller holds

    @property
    def metadata(self) -> MetadataImage:
        """Return what the longest metadata log of a controller says by now; what was appended to it is read first."""
        logs = [node.data / LOG for node in self.controllers.values()]
        there = [path for path in logs if path.exists()]
        if there:
            self._metadata.follow(max(there, key=lambda path: path.stat().st_size))
        return self._metadata

    def partition(self, topic: str, number: int = 0) -> PartitionRecord:
        """Return a partition as the controllers' metadata log on disk has it.  Errors: `ClusterError` where it has none."""
        found = self.metadata.partition(topic, number)
        if found is None:
            raise ClusterError(f"partition {topic}-{number} does not exist")
        return found

    def registration(self, broker: int) -> BrokerRegistration | None:
        """Return a broker's registration in the controllers' metadata log; None if it has none."""
        return self.metadata.brokers.get(broker)

    def is_unfenced(self, broker: int) -> bool:
        found = self.registration(broker)
        return found is not None and not found.is_fenced

    # what brokers hold

    def log_folder(self, broker: int, topic: str, number: int = 0) -> Path:
        """Return the folder in which a broker stores a partition; in its first log directory if it does not have the
        partition."""
        places = [each / f"{topic}-{number}" for each in self.brokers[broker].directories]
        return next((each for each in places if each.exists()), places[0])

    def log(self, broker: int, topic: str, number: int = 0) -> list[Record]:
        """Return the records in the first segment of a broker's partition, unflushed ones too, without control records;
        an empty list if the broker has no such file."""
        path = self.log_folder(broker, topic, number) / SEGMENT
        if not path.exists():
            return []
        return [record for batch in parse_batches(path.read_bytes()) if not batch.is_control for record in batch.records]

    def log_end(self, broker: int, topic: str, number: int = 0) -> int:
        """Return the offset after a replica's last record, control records not counted; 0 without records."""
        found = self.log(broker, topic, number)
        return found[-1].offset + 1 if found else 0

    def high_watermark(self, broker: int, topic: str, number: int = 0) -> int | None:
        """Return a replica's high watermark as last checkpointed, which a running broker does every 0.2 s; None if never."""
        path = self.log_folder(broker, topic, number).parent / "replication-offset-checkpoint"
        with contextlib.suppress(OSError):
            for line in path.read_text().splitlines()[2:]:
                name, partition, offset = line.rsplit(" ", 2)
                if (name, int(partition)) == (topic, number):
                    return int(offset)
        return None

    def find_printed(self, broker: int, pattern: str, since: int = 0) -> bool:
        """Return True if a broker has printed text that matches a pattern since a mark of its log."""
        return self.brokers[broker].process.find_printed(pattern, since) is not None

    # what clients do

    @property
    def bootstrap(self) -> str:
        """Return, joined by commas, clients' addresses of the brokers that run and are not paused; of all if there are none."""
        running = [node for node in self.brokers.values() if node.process.is_running and not node.process.is_paused]
        return ",".join(f"{LOOPBACK}:{node.port}" for node in running or self.brokers.values())

    def create_topic(self, topic: str, replicas: Sequence[int], configs: Mapping[str, str] | None = None) -> PartitionRecord:
        """Create a topic of one partition with this assignment; return the partition once a broker has begun to lead it."""
        self.admin.create_topic(topic, list(replicas), dict(configs or {}))
        self.wait(lambda: self.metadata.partition(topic) is not None, f"topic {topic}", 30)
        found = self.partition(topic)
        self.wait(lambda: self.high_watermark(found.leader, topic) is not None, f"broker {found.leader} to lead {topic}", 30)
        return found

    def produce(self, topic: str, value: bytes, acks: str = "all", seconds: float = 30, **settings: object) -> ProduceResult:
        """Send one record to partition 0 and return the answer, which may be a refusal."""
        return self.send(topic, value, acks, seconds, None, **settings).wait()

    def send(
        self, topic: str, value: bytes, acks: str = "all", seconds: float = 30, to: int | None = None, **settings: object
    ) -> Sending:
        """Send one record to partition 0, not awaiting its answer; to broker `to`, if given, once that says that it leads."""
        return Sending(self.bootstrap if to is None else self.address(to), topic, value, acks, seconds, to, **settings)

    def address(self, broker: int, listener: str | None = None) -> str:
        """Return the address at which clients reach a broker, on its plain listener or a further one."""
        node = self.brokers[broker]
        return f"{LOOPBACK}:{node.port if listener is None else node.further_ports[listener]}"

    def consume(self, topic: str, seconds: float = 30) -> list[Record]:
        """Return what a consumer reads of partition 0, from its beginning to its end or to the first open transaction."""
        return fetch_all(self.bootstrap, topic, seconds)

    def wait(
        self, happens: Callable[[], object], what: str, seconds: float = 60, seen: Callable[[], object] | None = None
    ) -> None:
        """Wait for a condition.  Errors: `ConditionNotMet` when it takes too long, with what `seen` (else `state`) returns."""
        wait_until(lambda: bool(happens()), what, seconds, seen or self.state)

    def state(self) -> str:
        """Return, for errors, a line with the partitions' leaders and ISRs, the nodes that ended, and the fenced brokers."""
        ended = [node for node in self.nodes if node.process.popen is not None and not node.process.is_running]
        parts = [f"{key[0].hex[:4]}-{key[1]}: {one.leader=} {one.isr=}" for key, one in self.metadata.partitions.items()]
        parts += [f"{node.folder.name} is not running: {find_last_words(node)}" for node in ended]
        fenced = [each.broker for each in self.metadata.brokers.values() if each.is_fenced]
        return "; ".join([*parts, f"fenced {fenced}"])


def find_last_words(node: KafkaNode) -> str:
    """Return the last error line that a node printed, else its last line, else "nothing printed"; at most 300 characters."""
    lines = node.process.read_log().splitlines()
    errors = [line for line in lines if " ERROR " in line or " FATAL " in line or "Exception" in line]
    return (errors or lines or ["nothing printed"])[-1][:300]


def make_random_id() -> str:
    """Return a random cluster id as kafka-storage.sh random-uuid makes them; it never begins like an option."""
    while True:
        found = urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=")
        if not found.startswith("-"):
            return found


@contextlib.contextmanager
def cluster(
    home: KafkaHome,
    brokers: int = 3,
    controllers: int = 1,
    settings: Mapping[str, str] | None = None,
    features: Mapping[str, int] | None = None,
    further_listeners: Mapping[str, str] | None = None,
    directories: int = 1,
) -> Iterator[Cluster]:
    """Run a cluster while the context is open.  `settings` go into every server.properties, `features` to kafka-storage.sh
    format; `further_listeners` are names with security protocols, beside the plain one for clients.  Each broker has
    `directories` log directories.  Errors: `ClusterError` when it does not become ready."""
    scratch.clear()
    with scratch.hold_folder("kafka-cluster") as folder, interrupt_on_sigterm():
        given = dict(settings or {}), dict(features or {}), dict(further_listeners or {})
        found = Cluster(home, Path(folder), *given, directories)
        try:
            found.start(brokers, controllers)
            yield found
        finally:
            found.stop()


@contextlib.contextmanager
def interrupt_on_sigterm() -> Iterator[None]:
    """Make SIGTERM interrupt as Ctrl-C does while the context is open, so that processes are cleaned up; in any thread but
    the main one, change nothing."""

    def interrupt(number: int, frame: object) -> None:
        raise KeyboardInterrupt

    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGTERM, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
