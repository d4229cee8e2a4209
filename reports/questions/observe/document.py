"""The result document of `observe`: whether the model explains a history, and what could have been lost."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import neverlost
from neverlost.checker.engine.digest import model_digest
from neverlost.checker.kafka.observe.history_verdict import HistoryVerdict, describe_observation
from neverlost.checker.kafka.observe.losses import Exposure, Interval
from neverlost.model.observed.protocol import OBSERVED
from neverlost.specs.configuration.keys import is_setting, shown
from neverlost.specs.inputs.syntax.topics_and_settings import ranges

SCHEMA = "neverlost.observation/1"

MEANING = "for every offset, the model has a behaviour that shows what was seen of it, of the controller and of the brokers"
"""What it means that the model explains a history."""


def document(judgement: HistoryVerdict, intervals: Sequence[Interval]) -> dict[str, Any]:
    setting, refusal = judgement.setting, judgement.refusal
    found: dict[str, Any] = {
        "schema": SCHEMA,
        "verdict": judgement.verdict,
        "reason": judgement.reason,
        "topic": setting.history.topic,
        "partition": setting.history.partition,
        "about": dict(setting.history.about),
        "complete": sorted(setting.history.complete),
        "config": {name: shown(value) for name, value in setting.configuration.items() if is_setting(name)},
        "observations": len(setting.history.seen),
        "offsets": sum(len(each.offsets) for each in judgement.groups if each.names),
        "offset_groups": len(judgement.groups),
        "states": judgement.states,
        "identity": "exact",
        "refusal": None,
        "unsaid": judgement.unsaid,
        "intervals": [_interval(setting.start_at, each) for each in intervals],
        "model": OBSERVED.name,
        "model_digest": model_digest(OBSERVED),
        "version": neverlost.__version__,
    }
    if refusal is not None:
        found["refusal"] = {
            "seen": [{"at": each.at, "says": describe_observation(each), "place": each.place} for each in refusal.seen],
            "offset": refusal.group.tracked.offset,
            "records": list(refusal.group.names),
            "allowed": list(refusal.allowed),
        }
    return found


def _interval(start: float, interval: Interval) -> dict[str, Any]:
    return {
        "since": round(interval.since - start, 3),
        "until": round(interval.until - start, 3),
        "event": interval.event,
        "leader": interval.leader,
        "isr": list(interval.isr),
        "elr": list(interval.elr),
        "acknowledged": [_exposure(each) for each in interval.exposures],
    }


def _exposure(exposure: Exposure) -> dict[str, Any]:
    return {
        "offsets": ranges(exposure.offsets),
        "eligible_copies": [exposure.fewest, exposure.most],
        "lost_by": list(exposure.lost_by),
        "may_be_lost": exposure.may_be_lost,
        "sent_twice": exposure.repeats,
    }
