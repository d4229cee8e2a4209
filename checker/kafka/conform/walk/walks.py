"""The part `walks`: random walks of Kafka's own brokers, each of which the model of the version has to explain.

Walks are done a batch at a time; a batch that is done is kept in the state directory, if there is one, and not done again.
"""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from functools import cached_property
from pathlib import Path
from typing import Any

from neverlost.checker.engine.digest import model_digest
from neverlost.checker.engine.host.whole_files import write_text
from neverlost.checker.kafka.conform.cases.comparison import Difference, Tally
from neverlost.checker.kafka.conform.java.kafka import Kafka
from neverlost.checker.kafka.conform.walk.broker_group import BrokerGroup, BrokerSight, GroupSight
from neverlost.checker.kafka.conform.walk.explain_walk import FEW, MOST, Unexplained, WalkExplainer, share_machine_code
from neverlost.checker.kafka.conform.walk.random_walk import WEIGHTS, RandomWalk, WalkEvent
from neverlost.model.kraft.mechanisms import parsed, version_text
from neverlost.model.kraft.state import ELECTED
from neverlost.model.protocols.kraft import MODEL
from neverlost.specs.defects import DEFECTS
from neverlost.specs.errors import InputError, describe_misreading

PART, BATCH, LARGEST, BATCHES = "walks", 100, 10_000, 20
"""Walks of a batch, at least and at most (Kafka's registries keep 40 kB of each), and how many batches there are between: a
Java gets faster with time."""

MANY = 500
"""The fewest walks of a batch for which compiling the steps saves time."""

PLAIN, SHORT, SEED = 200, 100, 1
"""Walks of plain `conform` and of its short form, and the seed."""

OLDEST = (3, 9)
"""The first version that is walked: before it, the model has other truncations and requests than are followed here."""

LOST = "lost: "
"""How the count of walks that lose a record begins, before the defects that explain it."""

FATES = ("answer", "deliver", "alter", "produce")
"""Events whose fate is counted by itself."""

Steps = list[tuple[WalkEvent, GroupSight]]


def counted(event: WalkEvent) -> str:
    """Return the name by which an event is counted, with its fate for one of `FATES`."""
    return f"{event.name}: {event.fate}" if event.name in FATES and event.fate else event.name


class WalkJudge:
    """Walks of one min.insync.replicas, and the models that have to explain them."""

    def __init__(self, kafka: Kafka, min_isr: int, fixed: Sequence[str] = ()) -> None:
        self.kafka, self.min_isr = kafka, min_isr
        self.group = BrokerGroup(min_isr)
        self.explainer = WalkExplainer(kafka, min_isr, fixed)

    @cached_property
    def others(self) -> dict[str, WalkExplainer]:
        """By the name of each known defect of the version, an explainer whose model lacks it; left out where no walk can tell
        its model from that of the version."""
        known = [each for each in DEFECTS if each.is_in(self.kafka.minor)]
        others = {each.name: WalkExplainer(self.kafka, self.min_isr, [each.mechanism.name]) for each in known}
        return {name: each for name, each in others.items() if each.is_told_apart_from(self.explainer)}

    def walk(self, seed: int, number: int) -> tuple[Steps, Unexplained | None]:
        """Do one walk, as far as the model explains it; return its events, and the first that it does not explain, or None."""
        steps: Steps = []
        self.explainer.begin()
        found = None
        for event, view in RandomWalk(self.group, seed, number).run():
            steps.append((event, view))
            found = found or self.explainer.follow(event, view)
            if found is not None:
                found = explain(self.explainer, steps)
                if found is not None:
                    break
        self.group.end()
        return steps, found

    def guilty(self, steps: Steps) -> list[str]:
        """Return the name of each known defect such that the model without it does not explain a walk."""
        return [name for name, other in self.others.items() if explain(other, steps, FEW) and explain(other, steps)]


def explain(explainer: WalkExplainer, steps: Steps, kept: int = MOST) -> Unexplained | None:
    """Follow a walk with at most `kept` states of the model at once; return the first event that none explains, or None."""
    explainer.begin(kept)
    found = next((found for event, view in steps if (found := explainer.follow(event, view)) is not None), None)
    explainer.keep_few()
    return found


def lost_record(view: GroupSight) -> int | None:
    """Return an acknowledged record that the elected leader lacks; None if it lacks none, or nobody leads yet."""
    if ELECTED in view.leader_knows:
        return None
    log = {record for record, _ in view.brokers[view.leader - 1].log}
    return next((each for each in sorted(view.acked) if each not in log), None)


def compare(kafka: Kafka, seed: int, first: int, count: int, state_dir: str | None = None) -> Tally:
    """Do `count` walks from number `first` on, three of four with min.insync.replicas 2, the others with 1; return their
    tally, and write it into `state_dir`, if any.  An older Kafka than `OLDEST` is a gap."""
    begun = time.monotonic()
    tally = Tally(PART)
    if (parsed(kafka.minor) or OLDEST) < OLDEST:
        tally.gaps.append(f"random walks of three brokers: from {version_text(OLDEST)} on")
        return tally
    judges = {min_isr: WalkJudge(kafka, min_isr) for min_isr in (1, 2)}
    compiled: list[Any] = []
    if count >= MANY:
        compiled = share_machine_code(each for judge in judges.values() for each in (judge.explainer, *judge.others.values()))
    for number in range(first, first + count):
        judge = judges[1 if number % 4 == 3 else 2]
        steps, found = judge.walk(seed, number)
        tally.cases += 1
        tally.calls += len(steps) - 1
        tally.by_event.update({counted(event) for event, _ in steps[1:]})
        if found is not None:
            tally.differences.append(difference(judge, seed, number, steps, found))
        elif any(lost_record(view) is not None for _, view in steps):
            defects = " or ".join(judge.guilty(steps)) or "no known defect"
            tally.by_event[f"{LOST}{defects}"] += 1
    for each in (*compiled, *(judge.group for judge in judges.values())):
        each.close()
    tally.seconds = time.monotonic() - begun
    if state_dir is not None:
        write_text(_file(state_dir, kafka, seed, first, count), json.dumps(_stored(tally)))
    return tally


def difference(judge: WalkJudge, seed: int, number: int, steps: Steps, found: Unexplained) -> Difference:
    """Return an unexplained walk: its events with what was seen after each, and the steps of the model that are refused."""
    setting = f"min.insync.replicas={judge.min_isr}, walk {number} of seed {seed}"
    case = f"{counted(found.event)}; event {len(steps) - 1} of the walk: {'; '.join(found.differences)}"
    lines = tuple(f"{event} | {shown(view)}" for event, view in steps[1:])
    return Difference(PART, "a walk that the model does not explain", setting, case, lines, found.refused)


def shown(view: GroupSight) -> str:
    """Return what is seen of a group, in one line."""
    acked = f", acknowledged {sorted(view.acked)}" if view.acked else ""
    return f"ISR {sorted(view.isr)}{acked}; " + "; ".join(map(_broker_shown, view.brokers))


def _broker_shown(broker: BrokerSight) -> str:
    log = " ".join(f"{record}/{epoch}" for record, epoch in broker.log)
    follows = f" {broker.follows}" if broker.follows else ""
    known = f" ISR {sorted(broker.isr)}" if broker.isr else ""
    return f"{broker.state}{follows} [{log}] HW {broker.high_watermark}{known}"


def rare(by_event: Mapping[str, int], cases: int) -> list[str]:
    """Return those of the listed events and fates that were counted less than once in a hundred walks (`cases`)."""
    named = [name for name in WEIGHTS if name not in FATES]
    named += [f"answer: {each}" for each in ("NONE", "DIVERGING_EPOCH", "FENCED_LEADER_EPOCH", "UNKNOWN_LEADER_EPOCH")]
    named += [f"deliver: {each}" for each in ("delivered", "late", "broken")]
    named += [f"produce: {each}" for each in ("NONE", "NOT_ENOUGH_REPLICAS")]
    named += [f"alter: {each}" for each in ("NONE", "INELIGIBLE_REPLICA", "INVALID_UPDATE_VERSION", "FENCED_LEADER_EPOCH")]
    return [name for name in named if by_event.get(name, 0) * 100 < cases]


# batches that are done


def _file(state_dir: str, kafka: Kafka, seed: int, first: int, count: int) -> Path:
    return Path(state_dir) / f"walks-{kafka.version}-{seed}-{first}-{count}.json"


NUMBERS = ("part", "cases", "calls", "seconds")


def _stored(tally: Tally) -> dict[str, Any]:
    numbers = {name: getattr(tally, name) for name in NUMBERS}
    return {
        "model": model_digest(MODEL),
        **numbers,
        "by_event": tally.by_event,
        "differences": [asdict(each) for each in tally.differences],
    }


def read_batch(state_dir: str | None, kafka: Kafka, seed: int, first: int, count: int) -> Tally | None:
    """Return the tally of a batch, None if it is not done.  Errors: `InputError` for another file, or one of another model."""
    path = None if state_dir is None else _file(state_dir, kafka, seed, first, count)
    if path is None or not path.is_file():
        return None
    try:
        stored: Mapping[str, Any] = json.loads(path.read_text())
        if stored["model"] != model_digest(MODEL):
            raise InputError(f"{str(path)!r} is of another model than today's: name another --state-dir")
        numbers = {name: stored[name] for name in NUMBERS}
        differences = [_difference(each) for each in stored["differences"]]
        return Tally(**numbers, by_event=Counter(stored["by_event"]), differences=differences)
    except (ValueError, KeyError, TypeError, AttributeError) as problem:
        raise InputError(f"{str(path)!r} is no batch of walks ({describe_misreading(problem)}): remove it") from None


def _difference(stored: Mapping[str, Any]) -> Difference:
    texts = {name: stored[name] for name in ("part", "method", "setting", "case")}
    return Difference(**texts, kafka=tuple(stored["kafka"]), model=tuple(stored["model"]))


def batches(walks: int) -> Iterator[tuple[int, int]]:
    """Yield the first number and the count of each batch of so many walks."""
    size = min(max(BATCH, -(-walks // BATCHES)), LARGEST)
    for first in range(0, walks, size):
        yield first, min(size, walks - first)


def batch_name(seed: int, first: int, count: int) -> str:
    """Return the name of a batch of walks in a report, such as `0 to 99 of seed 1`."""
    return f"{first} to {first + count - 1} of seed {seed}"
