"""Interrupts wait where something must be whole; none is lost."""

from __future__ import annotations

import signal
from concurrent.futures import ThreadPoolExecutor

import pytest

from neverlost.checker.engine.engines.explore import explore
from neverlost.checker.engine.host import interrupts
from neverlost.checker.engine.outcome import Verdict
from neverlost.checker.engine.search.level_search import LevelSearch
from neverlost.checker.engine.search.options import Options
from neverlost.specs.properties import guarantees
from tests.support.searches import classic


@pytest.mark.parametrize("number", interrupts.SIGNALS)
def test_an_interrupt_comes_afterwards_and_a_second_one_at_once(number: signal.Signals) -> None:
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    done: list[str] = []
    try:
        with pytest.raises(KeyboardInterrupt), interrupts.delay_interrupts():
            signal.raise_signal(number)
            done.append("after one")
        with pytest.raises(KeyboardInterrupt), interrupts.delay_interrupts():
            signal.raise_signal(number)
            signal.raise_signal(signal.SIGINT)
            done.append("after two")
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(number)
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
    assert done == ["after one"]


def test_an_interrupt_is_not_lost_in_a_failure() -> None:
    with pytest.raises(KeyboardInterrupt), interrupts.delay_interrupts():
        signal.raise_signal(signal.SIGINT)
        raise ValueError("of its own")


def test_one_within_another_waits_for_both() -> None:
    done: list[str] = []
    with pytest.raises(KeyboardInterrupt), interrupts.delay_interrupts():
        with interrupts.delay_interrupts():
            signal.raise_signal(signal.SIGINT)
        done.append("the outer one")
    assert done


def test_other_threads_may_use_it() -> None:
    def asked() -> int:
        with interrupts.delay_interrupts():
            return 1

    with ThreadPoolExecutor(1) as pool:
        assert pool.submit(asked).result(10) == 1


def test_an_interrupt_while_a_loss_is_looked_back_from_is_inconclusive(monkeypatch: pytest.MonkeyPatch) -> None:
    def look_back(search: LevelSearch) -> None:
        signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(LevelSearch, "_look_back", look_back)
    system = classic("kip-101", 2, 2, 2, 2)
    found = explore(system, guarantees(system.model), Options(workers=1))
    assert {each.verdict for each in found.findings} == {Verdict.INCONCLUSIVE}
    assert found.reason == "interrupted" and found.counts.distinct > 1000
