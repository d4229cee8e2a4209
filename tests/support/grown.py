"""Pairs of configurations, drawn by a seed, of which the second allows stronger faults or flushes less (Law B)."""

from __future__ import annotations

import random
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from neverlost.checker.engine.engines.explore import explore
from neverlost.checker.engine.search.options import Options, SearchLimits
from neverlost.model.protocols import models
from neverlost.model.system import System, bind
from neverlost.specs.configuration.keys import configuration
from neverlost.specs.errors import InputError
from neverlost.specs.properties import list_defined, properties
from neverlost.specs.property import RECOVERY
from tests.support.modern import system

Given = dict[str, Any]
NUMBER = "number"
"""How a pair differs that differs by how often, and not by what."""

STRONGER = (
    *(("kill", each) for each in ("lossy_crash", "data_loss", "crash")),
    ("lossy_crash", "data_loss"),
    ("disk_loss", "data_loss"),
)
"""Kinds that one model or another has, each with a stronger one."""

OF_BROKERS = (("isr_shrink", "out"), ("fence", "out"), ("clean_stop", "out"))


@dataclass(frozen=True)
class Pair:
    """A weaker and a stronger question, and how they differ."""

    how: str
    weaker: System
    stronger: System


@dataclass(frozen=True)
class Drawing:
    """A model's settings, the kinds that stand beside the one that grows, and how it may grow."""

    name: str
    settings: Callable[[random.Random], Given]
    beside: tuple[str, ...]
    ways: tuple[Callable[[random.Random], tuple[str, Given, Given]], ...]

    def pair(self, chance: random.Random) -> Pair | None:
        """Draw a pair; None where its limits contradict each other."""
        settings = self.settings(chance)
        is_number = chance.random() < 0.2
        how, one, other = (_larger if is_number else chance.choice(self.ways))(chance)
        more = {each: chance.choice((1, 1, "any")) for each in self.beside if chance.random() < 0.3}
        try:
            return Pair(how, *(system(self.name, **{**settings, **more, **each}) for each in (one, other)))
        except InputError:
            return None


def _limits(chance: random.Random, *kinds: str) -> Given:
    """The same kind of limit for each of some kinds."""
    limit = chance.choice((1, 1, 2, "any", "any:1"))
    return dict.fromkeys(kinds, limit)


def _larger(chance: random.Random) -> tuple[str, Given, Given]:
    """A larger limit of the same kind."""
    kind = chance.choice(("kill", "lossy_crash", "disk_loss", "data_loss"))
    small, large = chance.choice(((1, 2), (1, 3), (1, "any"), ("any:1", "any:2"), ("any:1", "any")))
    return NUMBER, {kind: small}, {kind: large}


def _kinds(pairs: tuple[tuple[str, str], ...]) -> Callable[[random.Random], tuple[str, Given, Given]]:
    def stronger(chance: random.Random) -> tuple[str, Given, Given]:
        weak, strong = chance.choice(pairs)
        limit = _limits(chance, weak)[weak]
        return f"{weak} to {strong}", {weak: limit}, {strong: limit}

    return stronger


def _one_more_kind(chance: random.Random) -> tuple[str, Given, Given]:
    """Another kind beside the one that is there."""
    weak = _limits(chance, chance.choice(("lossy_crash", "data_loss")))
    return "one more kind", weak, weak | {"kill": chance.choice((1, "any"))}


def _unflushed(chance: random.Random) -> tuple[str, Given, Given]:
    losing = _limits(chance, chance.choice(("lossy_crash", "data_loss")))
    return "flush.messages", losing | {"flush": "1"}, losing


def _quorum_unflushed(chance: random.Random) -> tuple[str, Given, Given]:
    losing = _limits(chance, chance.choice(("lossy_crash", "data_loss")))
    rules = chance.choice(("flush-before-fetch", "flush-before-commit", "flush-before-fetch,flush-before-commit"))
    return "flush rules", losing, losing | {"off": rules}


def _flush_and_kind(chance: random.Random) -> tuple[str, Given, Given]:
    how, weak, strong = _kinds((("kill", "lossy_crash"), ("lossy_crash", "data_loss")))(chance)
    return f"flush.messages, {how}", weak | {"flush": "1"}, strong


def _at_once(chance: random.Random) -> tuple[str, Given, Given]:
    kinds = dict.fromkeys(chance.sample(("kill", "lossy_crash", "disk_loss"), 2), "any")
    return "at once", kinds | {"faults.at_once": 1}, kinds | {"faults.at_once": chance.choice((0, 2))}


def _racks(chance: random.Random) -> tuple[str, Given, Given]:
    racks: Given = {"rf": 2, "min_isr": 1, "racks": chance.choice(("a,a", "a,b"))}
    weak, strong = chance.choice(
        (
            ({"rack_loss": 1, "flush": "1"}, {"rack_loss": 1}),
            ({"rack_loss": "any", "flush": "1"}, {"rack_loss": "any"}),
            ({"rack_loss": 1}, {"rack_loss": 2}),
            ({"rack_loss": "any:1"}, {"rack_loss": "any"}),
            ({"rack_down": "any"}, {"clean_stop": "any"}),
            ({"rack_down": "any:1"}, {"rack_down": "any"}),
            ({"rack_cut": "any"}, {"fence": "any"}),
        )
    )
    return "racks", racks | weak, racks | strong


def _kraft(chance: random.Random) -> Given:
    return {
        "rf": (rf := chance.choice((1, 2, 2, 2, 3))),
        "min_isr": chance.choice(range(1, rf + 1)),
        "records": chance.choice((1, 1, 2)) if rf < 3 else 1,
        "acks": chance.choice(("all", "all", "1")),
        "unclean": chance.choice((False, False, True)),
        "defects": chance.choice(("fixed", "shipped")),
    }


def _majority(chance: random.Random) -> Given:
    return {
        "rf": chance.choice((1, 2, 3)),
        "min_isr": None,
        "records": chance.choice((1, 1, 2)),
        "acks": chance.choice(("all", "all", "1")),
    }


def _quorum(chance: random.Random) -> Given:
    off = chance.choice(("", "durable-votes", "vote-log-check", "own-epoch-commit"))
    return (
        {"rf": chance.choice((1, 2, 2)), "min_isr": None, "acks": None, "records": 1}
        | ({"mechanism." + off: False} if off else {})
        | {"bounds.max_leader_epoch": chance.choice((1, 2))}
    )


KRAFT_WAYS = (
    _kinds(STRONGER),
    _kinds(STRONGER),
    _kinds(OF_BROKERS),
    _one_more_kind,
    _unflushed,
    _flush_and_kind,
    _at_once,
    _racks,
)
DRAWINGS = {
    each.name: each
    for each in (
        Drawing("kraft", _kraft, ("isr_shrink", "fence", "leader_move"), KRAFT_WAYS),
        Drawing("kraft-elr", _kraft, ("isr_shrink", "fence", "leader_move"), KRAFT_WAYS),
        Drawing(
            "majority", _majority, ("leader_move",), (_kinds(STRONGER), _one_more_kind, _unflushed, _flush_and_kind, _at_once)
        ),
        Drawing("kraft-quorum", _quorum, (), (_kinds(STRONGER), _one_more_kind, _quorum_unflushed, _at_once)),
    )
}


def _counted(model: str, chance: random.Random) -> Pair:
    """A pair of a model whose faults are only counted: another kind, or one more of the same."""
    found = models()[model]
    kinds = chance.sample([each for each in found.keys if each.startswith("faults.")], 2)
    is_number = chance.random() < 0.2
    few = {kinds[0]: 1} if is_number or chance.random() < 0.7 else {}
    more = {kinds[0]: 2} if is_number else few | {kinds[1]: 1}
    sizes = {"bounds.producers": chance.choice((1, 1, 2)), "bounds.partitions": 1, "bounds.transactions": chance.choice((1, 2))}
    given = ({key: (value, "test") for key, value in (sizes | each).items()} for each in (few, more))
    return Pair(NUMBER if is_number else "one more kind", *(bind(found, configuration(found, each)) for each in given))


def draw(model: str, chance: random.Random) -> Pair | None:
    """Draw a pair; None where its limits contradict each other."""
    return DRAWINGS[model].pair(chance) if model in DRAWINGS else _counted(model, chance)


def shortest(bound: System, most_states: int) -> dict[str, int] | None:
    """The steps of a shortest counterexample to each property that is violated (recovery apart); None with more states."""
    asked = [properties()[each] for each in list_defined(bound, sorted(properties()))]
    asked = [each for each in asked if each.kind != RECOVERY]
    found = explore(bound, asked, Options(keep_going=True, workers=1, limits=SearchLimits(states=most_states)))
    if found.reason is not None:
        return None
    return {each.property.name: len(each.trace.steps) for each in found.findings if each.trace is not None}


@dataclass
class Found:
    """What pairs showed: how they differ, what is wrong, and how many had a property violated on the weaker side."""

    pairs: Counter[str] = field(default_factory=Counter)
    violated: int = 0
    wrong: list[str] = field(default_factory=list)
    slowest: float = 0.0


def examine(model: str, pairs: int, most_states: int, seed: int) -> Found:
    """Draw pairs until so many have at most `most_states` states on both sides, and compare what is violated."""
    chance, found = random.Random(f"{model} {seed}"), Found()
    while found.pairs.total() < pairs:
        pair = draw(model, chance)
        if pair is None or (pair.how == NUMBER and found.pairs[NUMBER] >= pairs // 4):
            continue
        begun = time.monotonic()
        before = shortest(pair.weaker, most_states)
        after = shortest(pair.stronger, most_states) if before is not None else None
        if before is None or after is None:
            continue
        found.slowest = max(found.slowest, time.monotonic() - begun)
        found.pairs[pair.how] += 1
        found.violated += bool(before)
        found.wrong += [
            f"{name}: {steps} steps, then {after.get(name)}: {dict(pair.weaker.configurations[0])}, {pair.how}"
            for name, steps in before.items()
            if after.get(name, steps + 1) > steps
        ]
    return found
