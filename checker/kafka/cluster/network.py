"""The cluster's network: in front of every node's internal listener stands a gate, a proxy that can block its traffic.

A gate forwards Kafka's requests and answers frame by frame.  It reads two things only, the number of the request's API and
the client id that says which node sent it, so that traffic from one node to another can be cut, or one kind of
request held back and let through later.  Nothing of a frame is changed.

Source: RequestHeader.json, and the client ids of ReplicaFetcherThread (`broker-N-fetcher-M`), KafkaNetworkChannel
(`raft-client-N`) and NodeToControllerChannelManager (`N`).
"""

from __future__ import annotations

import contextlib
import random
import re
import select
import socket
import struct
import threading
from collections import Counter, deque
from collections.abc import Iterator
from dataclasses import dataclass, field

FETCH, ALTER_PARTITION, HEARTBEAT = 1, 56, 63
"""API numbers, for `TrafficRule.api`."""

BOTH, REQUESTS, ANSWERS = "both", "requests", "answers"
"""What of an exchange a rule stops, for `TrafficRule.part`."""

SENDER = re.compile(rb"^(?:broker-(\d+)-fetcher-.*|raft-client-(\d+)|(\d+))$")
LOOPBACK = "127.0.0.1"
PORTS = range(12000, 30000)
"""Below the ports that the system gives to outgoing connections: a broker that restarts must find its own free."""


@dataclass(frozen=True)
class TrafficRule:
    """A rule that blocks traffic: its source and API (None: any), its target, and whether requests, answers or both."""

    source: int | None
    target: int
    api: int | None = None
    part: str = BOTH

    def stops(self, source: int | None, target: int, api: int, is_answer: bool) -> bool:
        """Return True if the rule blocks a frame; an answer has the source, the target and the API of its request."""
        asked = self.target == target and self.source in (None, source) and self.api in (None, api)
        return asked and self.part in (BOTH, ANSWERS if is_answer else REQUESTS)


class Network:
    """The gates in front of a cluster's nodes, and the rules that block traffic through them now."""

    def __init__(self) -> None:
        self.rules: set[TrafficRule] = set()
        self.changed = threading.Condition()
        self.waiting: Counter[tuple[int | None, int, int, bool]] = Counter()
        """Frames that are held now: who asked, whom, what, and whether it is the answer."""
        self.gates: dict[int, Gate] = {}

    def gate(self, node: int, target_port: int) -> int:
        """Open a gate in front of a node; return the port at which others reach it."""
        self.gates[node] = Gate(self, node, target_port)
        return self.gates[node].port

    def stops(self, source: int | None, target: int, api: int, is_answer: bool) -> bool:
        """Return True if some rule in force blocks a frame; an answer has the source, the target and the API of its request."""
        return any(rule.stops(source, target, api, is_answer) for rule in tuple(self.rules))

    def hold(self, source: int | None, target: int, api: int | None = None, part: str = BOTH) -> TrafficRule:
        """Block traffic from now on, and return the rule; blocked frames are sent when it is lifted."""
        rule = TrafficRule(source, target, api, part)
        with self.changed:
            self.rules.add(rule)
        return rule

    def is_holding(self, rule: TrafficRule) -> bool:
        """Return True if a frame is waiting that this rule blocks."""
        return any(count and rule.stops(*frame) for frame, count in tuple(self.waiting.items()))

    def cut(self, source: int | None, target: int, api: int | None = None) -> TrafficRule:
        """Block traffic, close the connections that carry it, so that frames under way are lost, and return the rule."""
        rule = self.hold(source, target, api)
        self.gates[target].close_connections(rule)
        return rule

    def lift(self, *rules: TrafficRule) -> None:
        """Lift these rules, or all if none is named, and send the frames that no other rule blocks."""
        with self.changed:
            self.rules -= set(rules or self.rules)
            self.changed.notify_all()

    def close(self) -> None:
        self.lift()
        for gate in self.gates.values():
            gate.close()


@dataclass(eq=False)
class Connection:
    """One connection through a gate: its two sockets, the node that asks (None: another client), the APIs asked so far, and by
    correlation id those of unanswered requests."""

    client: socket.socket
    server: socket.socket
    source: int | None = None
    apis: set[int] = field(default_factory=set)
    asked: dict[int, int] = field(default_factory=dict)

    def close(self) -> None:
        for each in (self.client, self.server):
            with contextlib.suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)


class Gate:
    """A proxy in front of one node; a frame that a rule blocks waits in it."""

    def __init__(self, network: Network, node: int, target_port: int) -> None:
        self.network, self.node, self.target_port = network, node, target_port
        self.connections: set[Connection] = set()
        self.is_open = True
        self.listener = open_listening_socket()
        self.port = int(self.listener.getsockname()[1])
        threading.Thread(target=self._accept, name=f"gate-{node}", daemon=True).start()

    def close_connections(self, rule: TrafficRule) -> None:
        """Close the connections over which some request has come that a rule would block, with what else they carry."""
        for each in tuple(self.connections):
            apis = tuple(each.apis) or (-1,)
            if any(rule.stops(each.source, self.node, api, False) for api in apis):
                each.close()

    def close(self) -> None:
        """Stop listening, and close every connection through this gate."""
        self.is_open = False
        with contextlib.suppress(OSError):
            self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()
        for each in tuple(self.connections):
            each.close()

    def _accept(self) -> None:
        while self.is_open:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            try:
                server = socket.create_connection((LOOPBACK, self.target_port), timeout=5)
            except OSError:
                client.close()
                continue
            server.settimeout(None)
            for each in (client, server):
                each.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            connection = Connection(client, server)
            self.connections.add(connection)
            for pump in (self._pump_requests, self._pump_answers):
                threading.Thread(target=pump, args=(connection,), daemon=True).start()

    def _pump_requests(self, connection: Connection) -> None:
        with self._ending(connection):
            for frame in read_frames(connection.client):
                api, correlation, source = parse_request_header(frame)
                connection.source = source if connection.source is None else connection.source
                connection.apis.add(api)
                connection.asked[correlation] = api
                self._wait(connection, api, is_answer=False)
                connection.server.sendall(struct.pack(">i", len(frame)) + frame)

    def _pump_answers(self, connection: Connection) -> None:
        with self._ending(connection):
            for frame in read_frames(connection.server):
                api = connection.asked.pop(struct.unpack_from(">i", frame)[0], -1)
                self._wait(connection, api, is_answer=True)
                connection.client.sendall(struct.pack(">i", len(frame)) + frame)

    def _wait(self, connection: Connection, api: int, is_answer: bool) -> None:
        """Wait until no rule blocks the frame.  Errors: `ConnectionError` if the client has hung up meanwhile; the frame is
        dropped then."""
        frame = connection.source, self.node, api, is_answer
        with self.network.changed:
            self.network.waiting[frame] += 1
            try:
                while self.network.stops(*frame):
                    self.network.changed.wait(0.2)
                    if has_hung_up(connection.client):
                        raise ConnectionError("hung up while its traffic was held")
            finally:
                self.network.waiting[frame] -= 1

    @contextlib.contextmanager
    def _ending(self, connection: Connection) -> Iterator[None]:
        """Close the connection when the block, which serves one direction, ends; a broken connection is no error."""
        try:
            yield
        except (OSError, struct.error):
            pass
        finally:
            connection.close()
            self.connections.discard(connection)


def read_frames(source: socket.socket) -> Iterator[bytes]:
    """Yield the frames of a connection, without the length that is sent before each, until the connection ends."""
    while True:
        head = _read_exactly(source, 4)
        if head is None:
            return
        body = _read_exactly(source, struct.unpack(">i", head)[0])
        if body is None:
            return
        yield body


def _read_exactly(source: socket.socket, count: int) -> bytes | None:
    found = bytearray()
    while len(found) < count:
        part = source.recv(min(count - len(found), 1 << 16))
        if not part:
            return None
        found += part
    return bytes(found)


def parse_request_header(frame: bytes) -> tuple[int, int, int | None]:
    """Return the API, the correlation id, and the node that sends the request (None for any other client)."""
    api, _, correlation, length = struct.unpack_from(">hhih", frame)
    match = SENDER.match(frame[10 : 10 + max(length, 0)])
    return api, correlation, int(next(each for each in match.groups() if each)) if match else None


def has_hung_up(client: socket.socket) -> bool:
    """Return True if the other side has closed a connection, or it is broken."""
    try:
        readable, _, _ = select.select([client], [], [], 0)
        return bool(readable) and client.recv(1, socket.MSG_PEEK | socket.MSG_DONTWAIT) == b""
    except (OSError, ValueError):
        return True


_given: deque[int] = deque(maxlen=1000)
"""The ports that this process was given last.  A node listens seconds later: without this, two nodes could have one port."""


def open_listening_socket() -> socket.socket:
    """Return a socket that listens on a port of PORTS that was not given lately.  Errors: `OSError` if there is none."""
    for port in random.sample(sorted(set(PORTS).difference(_given)), 200):
        found = socket.socket()
        try:
            found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            found.bind((LOOPBACK, port))
            found.listen(64)
            _given.append(port)
            return found
        except OSError:
            found.close()
    raise OSError("no free port")


def find_free_port() -> int:
    with open_listening_socket() as probe:
        return int(probe.getsockname()[1])
