"""A Spark task that holds a part of a search's states in its memory, as one member of a team; see `team`.

Members expand what they own of a level and put each successor into a box for its owner.  When a box is full, or nothing
is left to expand, every member sends every other one its box, and inserts what came.  Nothing is sorted or written, and
a state is sent once at most.  The driver asks from time to time how far they are, and closes the level.
"""

from __future__ import annotations

import json
import socket
import struct
import time
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from numpy.typing import NDArray

from neverlost.checker.engine.compiled.compiled_search import CompiledSearch, Part
from neverlost.checker.engine.compiled.programs import Programs
from neverlost.checker.engine.disk.level_tasks import SearchDescription
from neverlost.checker.engine.host.resources import ResourceExhausted, used_memory
from neverlost.checker.engine.search.level_report import LevelReport
from neverlost.checker.engine.search.owned_states import OwnedStates
from neverlost.checker.engine.search.workers import answer
from neverlost.checker.engine.spark import links
from neverlost.checker.engine.storage.levels import StateFile, Store
from neverlost.checker.engine.storage.sorted_states import keyed, sorted_distinct
from neverlost.model.interpreters.machine_code import Rows
from neverlost.model.system import Words

SILENT = 1.0
"""Seconds after which members say how far they are."""

HEADER = struct.Struct("<q??")
"""How many states follow, whether the sender has more to expand, and whether the driver waits."""


class Shard(CompiledSearch):
    """The states that one member owns: one thread, and a box for every member."""

    def __init__(self, search: SearchDescription, number: int, members: int) -> None:
        system, asked = search.load()
        local = OwnedStates(system, asked, search.symmetry)
        super().__init__(local, Programs(system, asked, local.symmetry), 1, part=Part(number, members))

    def begin(self, levels: int, decided: NDArray[np.bool_] | None) -> None:
        """Go on from so many levels in the tables, without the configurations that are decided."""
        self.decided, self._level = decided, levels - 1
        self._advance([rows for rows in self._states_of(levels - 1) if len(rows)])
        self._start()

    def work(self) -> bool:
        """Expand until a box is full, and insert what stays here; whether there is more."""
        self._compare()
        self._reserve(0)
        self._growth.forget()
        self._expand(0)
        self._absorb(0, *self.box(self.part.number))
        return self._waiting.left > 0

    def box(self, owner: int) -> tuple[Rows, int]:
        """Return what is in the box for a member, and how many states that is; it is empty afterwards."""
        return self.boxes.empty(0, owner)

    def put(self, rows: Rows) -> None:
        """Insert what another member sent."""
        self._absorb(0, rows, len(rows))

    def _written(self, store: Store, depth: int) -> StateFile:
        """Return a level in the form in which jobs look states up."""
        return self._keyed(store, depth, [self._rows(each) for each in self._states_of(depth)])

    def keep(self, location: str, depth: int) -> list[StateFile]:
        """Write the frontier, of which nothing is expanded yet, to a store."""
        return [self._keyed(Store.attach(location), depth, [self._rows(each) for each in self._waiting.blocks])]

    def _keyed(self, store: Store, depth: int, blocks: Sequence[Rows]) -> StateFile:
        rows = np.concatenate([np.empty((0, self.system.words), np.uint64), *blocks])
        return store.write_level(depth, sorted_distinct(keyed(np.ascontiguousarray(rows.T))))


class Worker:
    """What the driver calls."""

    def __init__(
        self, search: SearchDescription, number: int, peers: Sequence[socket.socket | None], driver: socket.socket
    ) -> None:
        try:
            self.owned = Shard(search, number, len(peers))
        except (ImportError, OSError, RuntimeError) as problem:
            raise ResourceExhausted(f"there is no machine code in a task: {problem}") from None
        self.number, self.peers, self.driver = number, peers, driver
        self._sender = ThreadPoolExecutor(1)

    def take(self, number: int, description: NDArray[np.uint64]) -> None:
        """Have a table that the driver had; its content follows."""
        links.filled(self.driver, self.owned.tables.put(number, description).data)

    def begin(self, levels: int, decided: NDArray[np.bool_] | None) -> None:
        """Go on from what was taken."""
        self.owned.begin(levels, decided)

    def round(self) -> dict[str, Any]:
        """Work on the level with the others for a while."""
        started, is_going_on = time.monotonic(), True
        while is_going_on:
            has_more = self.owned.work()
            is_going_on = self._exchanged(has_more, self.number == 0 and time.monotonic() - started > SILENT)
        return self.counts()

    def _exchanged(self, has_more: bool, is_late: bool) -> bool:
        """Send every other member its states and insert what comes; whether all go on at once.

        At each step every member sends to one and receives from one, so that none waits for another in a circle.
        """
        total = len(self.peers)
        turns = range(1, total)
        sending = self._sender.submit(self._send, [(self.number + turn) % total for turn in turns], has_more, is_late)
        arrived = []
        for turn in turns:
            peer = self.peers[(self.number - turn) % total]
            assert peer is not None
            count, more, late = self._received(peer)
            arrived.append(count)
            has_more, is_late = has_more or more, is_late or late
        sending.result()
        for rows in arrived:
            self.owned.put(rows)
        return has_more and not is_late

    def _send(self, order: Sequence[int], has_more: bool, is_late: bool) -> None:
        for owner in order:
            box, count = self.owned.box(owner)
            peer = self.peers[owner]
            assert peer is not None
            peer.sendall(HEADER.pack(count, has_more, is_late))
            peer.sendall(box[:count].data.cast("B") if count else b"")

    def _received(self, peer: socket.socket) -> tuple[Rows, bool, bool]:
        header = bytearray(HEADER.size)
        links.filled(peer, memoryview(header))
        count, more, late = HEADER.unpack(header)
        rows = np.empty((count, self.owned.system.words), np.uint64)
        if count:
            links.filled(peer, rows.data.cast("B"))
        return rows, more, late

    def close(self) -> None:
        """End what runs beside this."""
        self._sender.shutdown()
        self.owned.close()

    def close_level(self) -> LevelReport:
        """Finish the level; what it brought here."""
        return self.owned.close_level()

    def forget(self, decided: NDArray[np.bool_]) -> None:
        """Stop expanding these configurations."""
        self.owned.forget(decided)

    def parents(self, targets: Sequence[Words], depth: int) -> dict[Words, tuple[Words, int]]:
        """Of each target that has one here, the smallest predecessor."""
        return self.owned.predecessors(targets, depth)

    def keep(self, location: str, depth: int) -> StateFile:
        """Write this part of the frontier to a store."""
        return self.owned.keep(location, depth)[0]

    def keep_levels(self, location: str, depths: Sequence[int]) -> list[StateFile]:
        """Write this part of some levels to a store."""
        return [file for files in self.owned.keep_levels(location, depths) for file in files]

    def counts(self) -> dict[str, Any]:
        """This member's part of the counts, and the bytes of memory that its process uses."""
        generated, distinct, waiting, fired = self.owned.counts()
        return {
            "generated": generated,
            "distinct": distinct,
            "waiting": waiting,
            "fired": Counter(fired),
            "memory": used_memory(),
        }


def serve(text: str) -> None:
    """Be a member of the team that a description is of, until the driver is done.

    Errors: `ResourceExhausted` where the driver cannot be reached.
    """
    given = json.loads(text)
    key, bind = bytes.fromhex(given["key"]), given["bind"]
    with _reached((given["host"], given["port"]), key) as driver, socket.create_server((bind, 0)) as door:
        pipe = links.piped(driver)
        pipe.send(door.getsockname()[1])
        number, addresses = pipe.recv()
        search = SearchDescription.of(given["search"])
        answer(pipe, lambda: Worker(search, number, _met(door, key, number, addresses), driver))


def _reached(address: links.Address, key: bytes) -> socket.socket:
    try:
        return links.connected(address, key)
    except OSError as problem:
        raise ResourceExhausted(f"a task cannot reach the driver at {address[0]}:{address[1]}: {problem}") from None


def _met(door: socket.socket, key: bytes, number: int, addresses: Sequence[links.Address]) -> list[socket.socket | None]:
    """Return a connection to every other member: to those before this one it connects, those after it come."""
    peers: list[socket.socket | None] = [None] * len(addresses)
    door.settimeout(links.PROVES_WITHIN)
    for other, address in enumerate(addresses[:number]):
        link = links.connected((address[0], address[1]), key)
        link.sendall(number.to_bytes(2, "little"))
        peers[other] = link
    while None in peers[number + 1 :]:
        came = links.accepted(door, key)
        if came is not None:
            said = bytearray(2)
            links.filled(came[0], memoryview(said))
            peers[int.from_bytes(said, "little")] = came[0]
    return peers
