"""Connections between the driver and the tasks that hold a search's states, and between these tasks.

Both ends prove to each other that they know the search's key before anything else is read.
"""

from __future__ import annotations

import socket
import struct
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from multiprocessing import AuthenticationError
from multiprocessing.connection import Connection, answer_challenge, deliver_challenge

PROVES_WITHIN = 10
"""Seconds that the other end has to show that it knows the key."""

BUFFER = 1 << 22
"""Bytes that may be on their way."""

Address = tuple[str, int]


def connected(address: Address, key: bytes) -> socket.socket:
    """Return a connection to an address.

    Errors: `OSError` where nothing listens there, or something that does not know the key.
    """
    link = socket.create_connection(address, PROVES_WITHIN)
    with _proving(link) as pipe:
        answer_challenge(pipe, key)
        deliver_challenge(pipe, key)
    return link


def accepted(door: socket.socket, key: bytes) -> tuple[socket.socket, str] | None:
    """Who comes to a door, and from where; None where that is a stranger.

    Errors: `TimeoutError` where the door has a time limit, and it has passed.
    """
    link, address = door.accept()
    try:
        with _proving(link) as pipe:
            deliver_challenge(pipe, key)
            answer_challenge(pipe, key)
    except OSError:
        link.close()
        return None
    return link, address[0]


@contextmanager
def _proving(link: socket.socket) -> Iterator[Connection]:
    """The connection for as long as both ends prove what they know.

    Errors: `OSError` where one does not.
    """
    link.settimeout(None)  # the system's own limit, so that descriptors keep waiting
    link.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, struct.pack("ll", PROVES_WITHIN, 0))
    pipe = piped(link)
    try:
        yield pipe
    except (AuthenticationError, EOFError, ValueError, AssertionError) as problem:
        raise OSError(f"the other end does not know the key: {problem}") from None
    finally:
        pipe.close()
    link.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, struct.pack("ll", 0, 0))
    link.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    for side in (socket.SO_SNDBUF, socket.SO_RCVBUF):
        with suppress(OSError):
            link.setsockopt(socket.SOL_SOCKET, side, BUFFER)


def piped(link: socket.socket) -> Connection:
    """Return a connection as a pipe, to be closed by itself."""
    return Connection(link.dup().detach())


def filled(link: socket.socket, room: memoryview) -> None:
    """Read as many bytes as there is room for.

    Errors: `EOFError` where the other end is gone.
    """
    while room:
        count = link.recv_into(room)
        if not count:
            raise EOFError("the other end is gone")
        room = room[count:]
