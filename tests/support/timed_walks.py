"""Timed random walks of the protocol model: years in which faults come at rates, and how many of them lose a record.

Every step of the protocol is taken at one speed; a fault strikes at its episode's rate; and the mark that it leaves on a
broker has to end, after an exponential time, before any step may bring that broker back in sync.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from neverlost.checker.questions.nines.chain import Strike
from neverlost.model.interpreters.columns import Successors, evaluate_condition, pack_rows
from neverlost.model.kraft.sizes import racks
from neverlost.model.system import Step, System
from neverlost.specs.property import Property


@dataclass(frozen=True)
class Walked:
    """So many walks lost a record; `impaired_years`: how long an impairment lasted on average, with the protocol's part."""

    walks: int
    lost: int
    impaired_years: float


def struck(step: Step, rack_of: Sequence[int]) -> tuple[int, ...]:
    """The brokers that a fault strikes: one, those of a rack, or none."""
    if "rack" in step.arguments:
        return tuple(broker for broker, rack in enumerate(rack_of) if rack == step.arguments["rack"])
    one = step.arguments.get("follower", step.arguments.get("broker"))
    return () if one is None else (one,)


def walk(
    system: System, asked: Property, strikes: Mapping[str, Strike], walks: int, years: float, speed: float, seed: int
) -> Walked:
    """Walks from the first state; `strikes` by the name of the fault, each on a broker or on a rack.

    `speed` is how often a year a protocol step happens.
    """
    chance = np.random.default_rng(seed)
    replicas, rack_of = system.sizes["replica"], racks(system.configurations[0])
    expand = Successors(system)
    first = system.initial_states()[0][1]
    states = pack_rows(system, [first] * walks)
    ends = np.zeros((replicas, walks))
    time = np.zeros(walks)
    lost, total_time, onsets = 0, 0.0, 0
    before = _impaired(system, states, replicas)
    while states.shape[1]:
        many = states.shape[1]
        totals, chosen = ends.sum(axis=0), np.full(many, -2)
        after, hit = states.copy(), np.zeros((replicas, many), bool)
        ended = _pick(ends, chance)
        variants = _variants(system, expand, states, rack_of)
        for number, rows, words in expand.of(states):
            step = system.steps[number]
            fault = step.action.fault
            if fault is None:
                now = _impaired(system, words, replicas)
                blocked = ((ends[:, rows] > 0) & before[:, rows] & ~now).any(axis=0)
                moved = (words != states[:, rows]).any(axis=0)
                weight = np.where(moved & ~blocked, speed, 0.0)
            elif fault in strikes:
                weight = strikes[fault].rate / variants[fault, struck(step, rack_of)][rows]
            else:
                continue
            totals[rows] += weight
            takes = chance.random(len(rows)) * np.maximum(totals[rows], 1e-300) < weight
            place = rows[takes]
            chosen[place], after[:, place] = number, words[:, takes]
            hit[:, place] = False
            if fault is not None:
                hit[np.ix_(struck(step, rack_of), place)] = True
        waits = chance.exponential(1 / np.maximum(totals, 1e-9))
        time += waits
        total_time += float((before * waits).sum())
        stays = time < years
        for broker in range(replicas):
            is_end = (chosen == -2) & (ended == broker)
            ends[broker, is_end] = 0.0
        for broker, place in np.argwhere(hit):
            fault = system.steps[chosen[place]].action.fault
            known = ends[broker, place]
            rate = 1 / strikes[str(fault)].duration
            ends[broker, place] = min(known, rate) if known else rate
        states = after
        now = _impaired(system, states, replicas)
        onsets += int((now & ~before).sum())
        broken = stays & ~evaluate_condition(system, states, asked.condition)
        lost += int(broken.sum())
        keep = stays & ~broken
        states, ends, time, before = np.ascontiguousarray(states[:, keep]), ends[:, keep], time[keep], now[:, keep]
    return Walked(walks, lost, total_time / max(onsets, 1))


def _impaired(system: System, states: Any, replicas: int) -> Any:
    """Which brokers are impaired in each state."""
    return np.array(
        [
            evaluate_condition(system, states, lambda k, s, each=each: s.sizes.is_impaired(k, s, each))
            for each in range(replicas)
        ],
        dtype=bool,
    ).reshape(replicas, states.shape[1])


def _variants(
    system: System, expand: Successors, states: Any, rack_of: Sequence[int]
) -> dict[tuple[str, tuple[int, ...]], Any]:
    """In how many ways each fault may strike each broker or rack: they share its rate."""
    found: dict[tuple[str, tuple[int, ...]], Any] = {}
    numbers: Sequence[int] = [number for number, step in enumerate(system.steps) if step.action.fault is not None]
    for number, rows, _ in expand.of(states, numbers):
        step = system.steps[number]
        counts = found.setdefault((str(step.action.fault), struck(step, rack_of)), np.zeros(states.shape[1]))
        counts[rows] += 1
    return found


def _pick(ends: Any, chance: np.random.Generator) -> Any:
    """Which of the marks ends, if one does."""
    totals = ends.cumsum(axis=0)
    return (chance.random(ends.shape[1]) * np.maximum(totals[-1], 1e-300) >= totals).sum(axis=0)
