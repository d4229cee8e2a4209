"""A short run of Kafka 4.3.1, recorded with seed 8, 30 seconds, crash, lossy_crash and leader_move, two records a second."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

import neverlost
from neverlost.checker.kafka.history.history import History, read_history
from neverlost.checker.kafka.observe import starting_model as setting
from neverlost.checker.kafka.observe.history_verdict import describe_observation, match_history
from neverlost.checker.kafka.observe.losses import find_intervals
from neverlost.checker.kafka.observe.starting_model import make_setting
from neverlost.model.observed.protocol import OBSERVED
from neverlost.model.system import bind
from neverlost.specs.inputs.syntax.topics_and_settings import ranges
from tests.support.histories import FALSIFIED
from tests.support.program import DATA

HISTORY = DATA / "observed" / "run-4.3.jsonl"


@pytest.fixture(scope="module")
def recorded() -> History:
    return read_history(HISTORY)


def test_it_is_explained_and_says_what_was_lost(recorded: History) -> None:
    found = match_history(make_setting(recorded, {}))
    assert found.verdict == "explained"
    moments = find_intervals(found)
    crash = next(each for each in moments if each.event == "broker 2 crashes, its log cut at 10")
    lost = {ranges(each.offsets): each.may_be_lost for each in crash.exposures}
    assert lost == {"0-4,6-9": False, "10-23": True}
    down = next(each for each in moments if each.event.startswith("partition epoch 4"))
    assert down.exposures[0].lost_by == ("disk loss of 2",), "the only disk is one of a broker that is down"


def test_its_page_says_when_what_could_have_been_lost(tmp_path: Path) -> None:
    neverlost.observe(HISTORY, out=tmp_path)
    page = (tmp_path / "report.html").read_text()
    assert "<h1>The model explains what was seen of observed-0.</h1>" in page
    assert "One further fault could have lost acknowledged records in 18 of 24 intervals." in page
    assert "unclean.leader.election.enable=false" in page
    row = page.partition("broker 2 crashes, its log cut at 10")[2]
    assert row.index("lossy crash of 2, disk loss of 2") < row.index("none needed: may be lost")


@pytest.mark.parametrize("falsify", FALSIFIED, ids=lambda each: each.__name__)
def test_it_is_refused_when_it_is_falsified(recorded: History, falsify: Callable[[History], History]) -> None:
    found = match_history(make_setting(falsify(recorded), {}))
    assert found.refusal is not None
    assert FALSIFIED[falsify] & {each.saw for each in found.refusal.seen}


def test_it_needs_brokers_that_remember_their_high_watermark(recorded: History, monkeypatch: pytest.MonkeyPatch) -> None:
    forgetful = tuple(each for each in OBSERVED.actions if each.name != "broker_remember_high_watermark")
    monkeypatch.setattr(
        setting, "observed_system", lambda configuration: bind(replace(OBSERVED, actions=forgetful), configuration)
    )
    found = match_history(make_setting(recorded, {}))
    assert found.refusal is not None
    assert describe_observation(found.refusal.seen[-1]) == "the leader of epoch 3 shows high watermark 10"


def test_a_mechanism_is_missed_or_is_not_shown(recorded: History) -> None:
    without = match_history(make_setting(recorded, {"eligible.leader.replicas": ("false", "test")}))
    assert without.refusal is not None
    assert 18.6 <= without.refusal.seen[-1].at - without.setting.start_at < 18.7
    unneeded = {"mechanism.fenced-replicas-kept-out": ("off", "test")}
    assert match_history(make_setting(recorded, unneeded)).verdict == "explained"
