"""An interrupt at any call while a search changes hands leaves its loss shown, and what it covered; two of them, the latter."""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import _base, thread
from contextlib import contextmanager, suppress
from pathlib import Path
from types import CodeType, FrameType
from typing import Any, NamedTuple

import numpy as np
import pytest

from neverlost.checker.engine.compiled import programs
from neverlost.checker.engine.engines import memory
from neverlost.checker.engine.engines.memory import MemorySearch
from neverlost.checker.engine.host.processes import INTERRUPTED
from neverlost.checker.engine.outcome import Outcome, Verdict
from neverlost.checker.engine.search.options import Options
from neverlost.checker.engine.search.owned_states import OwnedStates
from neverlost.checker.engine.search.visited_states import StateSet
from neverlost.model.interpreters.llvm import OptimizationLevel, compile_program
from neverlost.specs.properties import guarantees
from tests.support.searches import classic, essence


class Place(NamedTuple):
    """From where something is called, or where it begins."""

    code: CodeType
    line: int
    called: str

    @property
    def is_python_s(self) -> bool:
        """Whether it is where an interrupt may leave a lock of Python's own locked, which nothing can be done about."""
        return self.code.co_filename in (threading.__file__, *(each.__file__ for each in (_base, thread)))


class Calls:
    """Sees from where the main thread calls meanwhile, and interrupts it at one of these places, `times` times at once."""

    def __init__(self, at: Place | None = None, times: int = 1) -> None:
        self.at, self.times = at, times
        self.places: dict[Place, None] = {}

    def __call__(self, frame: FrameType, event: str, called: Any) -> None:
        place = Place(frame.f_code, frame.f_lineno, getattr(called, "__name__", ""))
        if event not in ("call", "c_return") or place in self.places:
            return
        self.places[place] = None
        if place == self.at:
            for _ in range(self.times):
                signal.raise_signal(signal.SIGINT)

    @contextmanager
    def watched(self) -> Iterator[None]:
        sys.setprofile(self)
        try:
            yield
        finally:
            sys.setprofile(None)


OPTIONS = Options(keep_going=True, workers=2)


def to_machine_code(calls: Calls) -> Outcome:
    """A search that goes on in machine code as soon as there is a loss."""

    class Search(MemorySearch):
        def _share(self) -> None:
            if self.found and isinstance(self.workers, OwnedStates):
                with calls.watched():
                    self._compile(self.workers)
                assert not isinstance(self.workers, OwnedStates)

    return Search(SYSTEM, guarantees(SYSTEM.model), OPTIONS, None, None).run()


SYSTEM = classic("kip-101", 2, 2, 2, 2)


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Compiled code is there."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    asked = guarantees(SYSTEM.model)
    text = programs.emit_program(SYSTEM, asked, None)
    code = bytes([OptimizationLevel.GOOD]) + compile_program(text, OptimizationLevel.NONE)
    programs.write(programs.find_cached_file(text), code)
    monkeypatch.setattr(programs, "emit_program", lambda *_: text)
    monkeypatch.setattr(memory, "WORTH_COMPILING", 0)


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize("times", [1, 2])
@pytest.mark.parametrize("every", [pytest.param(5, marks=pytest.mark.slow), 90])
def test_an_interrupt_at_any_call_of_a_handover(every: int, times: int) -> None:
    whole = Calls()
    answer = to_machine_code(whole)
    losses = [each for each in answer.findings if each.trace]
    assert answer.reason is None and losses
    covered = set()
    places = [each for each in whole.places if times == 1 or not each.is_python_s]
    for place in places[::every]:
        calls = Calls(place, times)
        found = to_machine_code(calls)
        if place not in calls.places:  # such as what was imported
            assert essence(found) == essence(answer)
            continue
        assert found.reason == INTERRUPTED
        shown = [each for each in found.findings if each.trace]
        assert all(each in losses for each in shown) and (len(shown) == len(losses) or times == 2)
        assert {each.verdict for each in found.findings} <= {Verdict.VIOLATED, Verdict.INCONCLUSIVE}
        covered.add(found.counts)
    assert len(covered) == 1


def test_an_interrupt_while_states_are_moved() -> None:
    """What was there before can be read afterwards."""

    def moved(calls: Calls) -> None:
        states = StateSet(1)
        states.add(np.arange(10_000, dtype=np.uint64)[np.newaxis])
        before = states.slice(0, 10_000).tolist()
        with suppress(KeyboardInterrupt), calls.watched():
            states.add(np.arange(10_000, 90_000, dtype=np.uint64)[np.newaxis])
        assert states.slice(0, 10_000).tolist() == before
        assert states.find(states.slice(0, len(states))).tolist() == [*range(len(states))]

    moved(whole := Calls())
    assert len(whole.places) > 20
    for place in whole.places:
        moved(Calls(place))
