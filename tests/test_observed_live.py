"""A short seeded run on the newest Kafka: explained as it was, refused when it is falsified.  `pytest -m kafka` runs it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from reports.cluster.jars import kafka_home
from reports.observed.history import History, Seen
from reports.observed.judgement import judge
from reports.observed.live import Plan, run
from reports.observed.losses import stretches
from reports.observed.setting import setting_of

pytestmark = pytest.mark.kafka


@pytest.fixture(scope="module")
def observed() -> History:
    return run(kafka_home(version="4.3"), Plan(seed=11, seconds=15, faults=("crash", "leader_move"), rate=10))


def falsified(history: History, number: int, **fields: object) -> History:
    seen = list(history.seen)
    one: Seen = seen[number]
    seen[number] = replace(one, says={**one.says, **fields})
    return replace(history, seen=tuple(seen))


def test_a_run_is_explained(observed: History) -> None:
    found = judge(setting_of(observed, {}))
    assert found.verdict == "explained", found.refusal
    assert observed.of("acked")
    assert len(stretches(found)) > 2


def test_the_same_run_with_a_false_leader_is_refused(observed: History) -> None:
    changes = [number for number, each in enumerate(observed.seen) if each.saw == "partition"]
    number = next(each for each in changes[1:] if len(observed.seen[each]["isr"]) < 3 or each == changes[-1])
    others = [each for each in observed.seen[number]["replicas"] if each != observed.seen[number]["leader"]]
    found = judge(setting_of(falsified(observed, number, leader=others[-1]), {}))
    assert found.verdict == "refused"


def test_the_same_run_with_a_high_watermark_that_goes_back_is_refused(observed: History) -> None:
    shown = [number for number, each in enumerate(observed.seen) if each.saw == "high_watermark"]
    earlier, last = (observed.seen[each] for each in shown[-2:])
    assert earlier["leader_epoch"] == last["leader_epoch"]
    lowered = earlier["high_watermark"] - 1
    assert lowered >= 0
    assert judge(setting_of(falsified(observed, shown[-1], high_watermark=lowered), {})).verdict == "refused"
