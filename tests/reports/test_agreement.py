"""`check --agree`: independent ways to a verdict, in the document and the citation; one that differs ends in 22."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from typing import Any

import pytest

import neverlost
from neverlost.checker.engine.host import interrupts
from neverlost.checker.engine.proof import bounded_search
from neverlost.checker.questions.check import agreement
from neverlost.reports import cli
from neverlost.reports.page.render import cite

LOSING = {"model": "truncate-to-hw", "replication.factor": 2}
SAFE = {"model": "kip-320", "replication.factor": 2, "bounds.records": 1, "bounds.max_leader_epoch": 1}
AT_HAND = "explicit search, a second engine, bounded search, the definition"


@pytest.mark.parametrize(("settings", "verdict"), [(LOSING, "violated"), (SAFE, "holds")])
def test_every_way_at_hand_agrees_and_the_citation_says_so(settings: dict[str, Any], verdict: str) -> None:
    found = neverlost.check(settings, properties=["weak-isr"], agree=True).document
    assert found["verdict"] == verdict
    assert [each["agrees"] for each in found["agreement"]] == [True] * 4 + [None] * 2
    assert cite(found, found["properties"][0], found).endswith(f"{found['id']}; agreed: {AT_HAND}]")


@pytest.mark.parametrize("settings", [LOSING, SAFE])
def test_a_solver_that_gives_up_neither_agrees_nor_differs(settings: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    original = bounded_search.check

    def give_up(*given: Any, **more: Any) -> bounded_search.BoundedResult:
        return original(*given, **more, seconds=0)

    monkeypatch.setattr(bounded_search, "check", give_up)
    found = neverlost.check(settings, properties=["weak-isr"], agree=True).document
    (asked,) = [each for each in found["agreement"] if each["way"] == "bounded search"]
    assert asked["agrees"] is None and "gave up at step 0 of" in asked["says"]


@pytest.fixture
def handlers() -> Iterator[None]:
    """What signals do is as it was when the program has run in this process."""
    before = {each: signal.getsignal(each) for each in interrupts.SIGNALS}
    yield
    for each, handler in before.items():
        signal.signal(each, handler)


@pytest.mark.usefixtures("handlers")
def test_a_way_that_differs_is_its_own_exit_status(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(agreement, "count_reachable", lambda system, properties: 1)
    settings = [part for key, value in SAFE.items() for part in ("--set", f"{key}={value}")]
    monkeypatch.setattr("sys.argv", ["neverlost", "check", *settings, "--property", "weak-isr", "--agree"])
    with pytest.raises(SystemExit) as ended:
        cli.main()
    assert ended.value.code == 22
    assert "DISAGREES    the definition: 1 states walked one by one" in capsys.readouterr().out
