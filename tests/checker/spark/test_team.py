"""Members that hold a search's states, in threads instead of Spark's tasks; with Spark, see `test_spark.py`."""

from __future__ import annotations

import socket
import threading
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import asdict
from itertools import pairwise
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest

from neverlost.checker.engine.compiled import compiled_search as team
from neverlost.checker.engine.compiled import programs
from neverlost.checker.engine.compiled.table_text import TABLES
from neverlost.checker.engine.disk.level_tasks import SearchDescription
from neverlost.checker.engine.engines.explore import explore
from neverlost.checker.engine.outcome import EngineError
from neverlost.checker.engine.search.options import Options
from neverlost.checker.engine.search.owned_states import OwnedStates
from neverlost.checker.engine.spark import links
from neverlost.checker.engine.spark import worker as member
from neverlost.checker.engine.spark.jobs import SparkJobs
from neverlost.checker.engine.spark.worker import Worker
from neverlost.checker.engine.spark.worker_pool import Team
from neverlost.checker.engine.storage.levels import Store, meta_of
from neverlost.model.system import System
from neverlost.specs.properties import guarantees
from tests.support.searches import classic

KEY = b"of this search"


@contextmanager
def members(system: System, total: int, symmetry: bool = False) -> Iterator[tuple[list[Worker], list[socket.socket]]]:
    """Members that are connected to each other, and the driver's ends."""
    about = SearchDescription.about("", system, guarantees(system.model), symmetry)
    with ExitStack() as stack:
        peers: list[list[socket.socket | None]] = [[None] * total for _ in range(total)]
        for one in range(total):
            for other in range(one):
                peers[one][other], peers[other][one] = map(stack.enter_context, socket.socketpair())
        pairs = [tuple(map(stack.enter_context, socket.socketpair())) for _ in range(total)]
        found = [Worker(about, number, peers[number], pairs[number][0]) for number in range(total)]
        for each in found:
            stack.callback(each.close)
        yield found, [end for _, end in pairs]


def together(pool: ThreadPoolExecutor, all_members: list[Worker], method: str, *arguments: Any) -> list[Any]:
    running = [pool.submit(getattr(each, method), *arguments) for each in all_members]
    return [each.result(60) for each in running]


def first_levels(system: System, levels: int) -> team.CompiledSearch:
    """What one process has found of the first levels."""
    local = OwnedStates(system, guarantees(system.model), False)
    local.absorb(np.array([system.pack(state) for _, state in system.initial_states()], np.uint64).T)
    local.expansion.generated = local.known
    local.close_level()
    native = team.CompiledSearch(local, programs.Programs(system, guarantees(system.model)), 1)
    native.continue_from(local)
    for _ in range(1, levels):
        while native.round():
            pass
        native.close_level()
    return native


@pytest.mark.parametrize("total", [1, 2, 3, 5])
@pytest.mark.parametrize("levels", [1, 6])
def test_members_find_what_one_process_finds(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, total: int, levels: int) -> None:
    """Levels, counts, violations and predecessors, however many rounds a level takes; and what they write of it."""
    monkeypatch.setattr(team, "CHUNK", 1)
    monkeypatch.setattr(member, "SILENT", 0.0)
    system = classic("kip-101", 3, 1, 1, 1)
    wanted = explore(system, guarantees(system.model), Options(workers=1, keep_going=True))
    native = first_levels(system, levels)
    before = native.counts()
    store = Store.create(tmp_path / "levels", meta_of(system, guarantees(system.model)))
    with members(system, total) as (found, drivers), ThreadPoolExecutor(total) as pool:
        for number in range(TABLES):
            description, content = native.tables.taken(number)
            sending = pool.submit(drivers[number % total].sendall, content)
            found[number % total].take(number, description)
            sending.result(10)
        assert len(native.tables) == 0 and not len(native.tables.collect(0, 0)), "nothing is read there any more"
        together(pool, found, "begin", levels, None)
        for each in found:
            each.owned.boxes.capacity = 32
        sizes, rounds, violations = [], 0, {}
        while True:
            while any(each["waiting"] for each in together(pool, found, "round")):
                rounds += 1
            first, *others = together(pool, found, "close_level")
            for each in others:
                first = first.merge(each)
            violations |= {key: words for key, words in first.violations.items() if key not in violations}
            if not first.new:
                break
            sizes.append(first.new)
        counted = together(pool, found, "counts")
        assert sum(each["distinct"] for each in counted) == wanted.counts.distinct
        assert before[0] + sum(each["generated"] for each in counted) == wanted.counts.generated
        fired = sum((each["fired"] for each in counted), Counter(before[3]))
        assert dict(sorted(fired.items())) == wanted.fired
        growth = [after - before for (_, before), (_, after) in pairwise(wanted.growth)]
        assert sizes == growth[levels - 1 :]
        assert rounds > len(sizes), "levels take several rounds"
        assert all(each["distinct"] for each in counted), "every member owns some"
        depths = range(wanted.counts.depth)
        kept = zip(*together(pool, found, "keep_levels", str(tmp_path / "levels"), depths), strict=True)
        rows = [sum(file.rows for file in files) for files in kept]
        assert rows == [1, *growth]
        assert violations, "there is something to look back from"
        for trace in (each.trace for each in wanted.findings if each.trace):
            *_, last_but_one, last = (system.pack(state) for state in trace.states)
            answers = together(pool, found, "parents", [last], len(trace.steps) - 1)
            assert min(each[last] for each in answers if last in each) == (last_but_one, trace.steps[-1])
    assert store.words == system.words


def test_a_member_with_another_source_is_refused() -> None:
    system = classic("kip-320", 2, 1, 1, 1)
    about = SearchDescription.about("", system, guarantees(system.model), False)
    given = {**asdict(about), "digest": "sha256:other"}
    with pytest.raises(EngineError, match="an executor has another version of kip-320 than the driver"):
        Worker(SearchDescription.of(given), 0, [None], socket.socket())


class TestLinks:
    """Nothing is read from an end that does not know the key."""

    def test_both_ends_know_the_key(self) -> None:
        with socket.create_server(("127.0.0.1", 0)) as door, ThreadPoolExecutor(1) as pool:
            coming = pool.submit(links.connected, door.getsockname(), KEY)
            came = links.accepted(door, KEY)
            assert came is not None
            with came[0] as here, coming.result(10) as there:
                there.sendall(b"twelve bytes")
                room = bytearray(12)
                links.filled(here, memoryview(room))
            assert (bytes(room), came[1]) == (b"twelve bytes", "127.0.0.1")

    @pytest.mark.parametrize("said", [b"", b"\xff\xff\xff\xff", b"\0\0\0\x10not what is asked"])
    def test_a_stranger_is_turned_away(self, said: bytes) -> None:
        with socket.create_server(("127.0.0.1", 0)) as door, socket.create_connection(door.getsockname()) as stranger:
            stranger.sendall(said)
            stranger.shutdown(socket.SHUT_WR)
            assert links.accepted(door, KEY) is None

    def test_another_key_is_turned_away(self) -> None:
        with socket.create_server(("127.0.0.1", 0)) as door, ThreadPoolExecutor(1) as pool:
            coming = pool.submit(links.connected, door.getsockname(), b"of another search")
            assert links.accepted(door, KEY) is None
            with pytest.raises(OSError, match="the other end does not know the key"):
                coming.result(10)

    def test_a_silent_stranger_is_not_waited_for(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(links, "PROVES_WITHIN", 1)
        with socket.create_server(("127.0.0.1", 0)) as door, socket.create_connection(door.getsockname()):
            assert links.accepted(door, KEY) is None

    def test_an_end_that_is_gone_is_noticed(self) -> None:
        one, other = socket.socketpair()
        with one:
            other.close()
            with pytest.raises(EOFError, match="the other end is gone"):
                links.filled(one, memoryview(bytearray(8)))


def test_a_peer_that_is_gone_ends_the_round() -> None:
    with members(classic("kip-320", 2, 1, 1, 1), 2) as ((one, other), _):
        for peer in other.peers:
            if peer is not None:
                peer.close()
        one.begin(1, None)
        with pytest.raises((EOFError, OSError)):
            one.round()


def test_a_team_that_is_closed_early_waits_for_the_spark_that_it_started() -> None:
    """A daemon thread that the interpreter's end cuts off would leave Java and its folders behind."""

    class Slow:
        master, begun, stopped = "local[1]", threading.Event(), threading.Event()

        @property
        def parallelism(self) -> int:
            self.begun.set()
            closing.wait(10)
            self.stopped.set()
            raise RuntimeError("not needed any more")

    closing = threading.Event()
    jobs = Slow()
    team = Team(cast(SparkJobs, jobs), None)
    team.prepare()
    assert jobs.begun.wait(10)
    threading.Timer(0.2, closing.set).start()
    team.close()
    assert jobs.stopped.is_set() and team.is_settled
