"""A short seeded run on the newest Kafka: explained as it was, refused when it is falsified.  `pytest -m kafka` runs it."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from neverlost.checker.kafka.cluster.jars import find_kafka
from neverlost.checker.kafka.history.history import History
from neverlost.checker.kafka.observe.history_verdict import match_history
from neverlost.checker.kafka.observe.losses import find_intervals
from neverlost.checker.kafka.observe.starting_model import make_setting
from tests.support.histories import FALSIFIED
from tests.support.live.live_run import LiveRunPlan, record_run

pytestmark = pytest.mark.kafka


@pytest.fixture(scope="module")
def observed() -> History:
    return record_run(
        find_kafka(version="4.3"), LiveRunPlan(seed=11, seconds=15, faults=("crash", "leader_move", "reassign"), rate=10)
    )


def test_a_run_is_explained(observed: History) -> None:
    found = match_history(make_setting(observed, {}))
    assert found.verdict == "explained", found.refusal
    assert observed.of("acked")
    assert len(find_intervals(found)) > 2


@pytest.mark.parametrize("falsify", FALSIFIED, ids=lambda each: each.__name__)
def test_the_same_run_is_refused_when_it_is_falsified(observed: History, falsify: Callable[[History], History]) -> None:
    found = match_history(make_setting(falsify(observed), {}))
    assert found.refusal is not None
    assert FALSIFIED[falsify] & {each.saw for each in found.refusal.seen}
