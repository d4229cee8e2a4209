"""Finds the mechanisms that a history needs: matches it again with each one switched off."""

from __future__ import annotations

from neverlost.checker.kafka.history.history import History
from neverlost.checker.kafka.observe.history_verdict import HistoryVerdict, describe_observation, match_history
from neverlost.checker.kafka.observe.starting_model import make_setting
from neverlost.model.kraft.mechanisms import MECHANISMS
from neverlost.specs.configuration.choose import Given

NOT_SHOWN = "this history does not show it: it is explained without it"


def match_without_mechanisms(history: History, given: Given, with_all: HistoryVerdict) -> dict[str, str]:
    """Return, for each mechanism, and ELR, that is on which observation is not explained without it, or that the history does
    not show it; nothing for a history that is not explained."""
    if with_all.verdict != "explained":
        return {}
    found = {}
    for each in MECHANISMS:
        if with_all.setting.configuration[each.key]:
            found[each.name] = match_with_keys(history, given | {each.key: ("off", "--mechanisms")}, with_all.setting.until)
    if with_all.setting.configuration["eligible.leader.replicas"]:
        off = {"eligible.leader.replicas": ("false", "--mechanisms")}
        found["eligible.leader.replicas"] = match_with_keys(history, given | off, with_all.setting.until)
    return found


def match_with_keys(history: History, given: Given, until: float = float("inf")) -> str:
    """Return the verdict on the history with these keys, in words; `NOT_SHOWN` if the model with them explains it."""
    judged = match_history(make_setting(history, given, until))
    if judged.refusal is None:
        return NOT_SHOWN if judged.verdict == "explained" else f"inconclusive: {judged.reason}"
    first = judged.refusal.seen[-1]
    return f"refused at {first.at - judged.setting.start_at:.3f} s: {describe_observation(first)}"
