"""The gates of a cluster's network, in front of a server that answers every frame with its own correlation id."""

from __future__ import annotations

import contextlib
import socket
import struct
import threading
from collections.abc import Iterator

import pytest

from neverlost.checker.kafka.cluster.network import (
    ANSWERS,
    FETCH,
    HEARTBEAT,
    LOOPBACK,
    Network,
    find_free_port,
    open_listening_socket,
    read_frames,
)
from neverlost.checker.kafka.cluster.process import wait_until


def echo(listener: socket.socket) -> None:
    def answer(client: socket.socket) -> None:
        with contextlib.suppress(OSError):
            for frame in read_frames(client):
                client.sendall(struct.pack(">i", 4) + frame[4:8])

    with contextlib.suppress(OSError):
        while True:
            threading.Thread(target=answer, args=(listener.accept()[0],), daemon=True).start()


@pytest.fixture
def network() -> Iterator[Network]:
    listener = open_listening_socket()
    threading.Thread(target=echo, args=(listener,), daemon=True).start()
    found = Network()
    found.gate(1, int(listener.getsockname()[1]))
    yield found
    found.close()
    listener.close()


def connected(network: Network) -> socket.socket:
    return socket.create_connection((LOOPBACK, network.gates[1].port), timeout=20)


def ask(client: socket.socket, api: int, sender: bytes, correlation: int = 5) -> None:
    frame = struct.pack(">hhih", api, 0, correlation, len(sender)) + sender
    client.sendall(struct.pack(">i", len(frame)) + frame)


def answer_to(client: socket.socket) -> int:
    return int(struct.unpack(">i", next(read_frames(client)))[0])


def is_silent(client: socket.socket) -> bool:
    client.settimeout(0.4)
    try:
        return client.recv(1, socket.MSG_PEEK) == b"never"
    except TimeoutError:
        return True
    finally:
        client.settimeout(20)


def test_what_no_rule_stops_passes(network: Network) -> None:
    with connected(network) as client:
        ask(client, FETCH, b"broker-2-fetcher-0", 77)
        assert answer_to(client) == 77


def test_held_requests_are_sent_when_the_rule_is_lifted(network: Network) -> None:
    rule = network.hold(2, 1, FETCH)
    with connected(network) as held, connected(network) as other, connected(network) as beat:
        ask(held, FETCH, b"broker-2-fetcher-0", 1)
        ask(other, FETCH, b"broker-3-fetcher-0", 2)
        ask(beat, HEARTBEAT, b"2", 3)
        assert (answer_to(other), answer_to(beat)) == (2, 3)
        assert is_silent(held)
        network.lift(rule)
        assert answer_to(held) == 1


def test_an_answer_alone_can_be_held(network: Network) -> None:
    rule = network.hold(2, 1, FETCH, part=ANSWERS)
    with connected(network) as client:
        ask(client, FETCH, b"broker-2-fetcher-0")
        assert is_silent(client)
        network.lift(rule)
        assert answer_to(client) == 5


def test_a_cut_ends_the_connections_that_carry_what_it_stops(network: Network) -> None:
    with connected(network) as fetcher, connected(network) as raft:
        ask(fetcher, FETCH, b"broker-2-fetcher-0")
        ask(raft, HEARTBEAT, b"2")
        assert answer_to(fetcher) == answer_to(raft) == 5
        network.cut(2, 1, FETCH)
        assert fetcher.recv(1) == b"", "what is under way is lost"
        ask(raft, HEARTBEAT, b"2", 6)
        assert answer_to(raft) == 6


def test_what_was_held_for_a_client_that_hung_up_goes_nowhere(network: Network) -> None:
    rule = network.hold(2, 1)
    with connected(network) as client:
        ask(client, FETCH, b"broker-2-fetcher-0")
        assert is_silent(client)
    gate = network.gates[1]
    wait_until(lambda: not gate.connections, "the connection to end", 20)
    network.lift(rule)
    assert not gate.connections


def test_no_port_is_given_twice_while_nobody_listens_yet() -> None:
    assert len({find_free_port() for _ in range(600)}) == 600
