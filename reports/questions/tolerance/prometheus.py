"""What described topics survive, for Prometheus's textfile collector: gauges for each group of topics.

What is not decided has no value, and is counted in `neverlost_not_decided`: a gauge is never 0 for want of an answer.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from neverlost.checker.engine.outcome import Verdict
from neverlost.checker.questions.tolerance.cell_words import ACKED, LOST, UNDECIDED, WRITES, answer_in
from neverlost.checker.questions.tolerance.fault_budget import FaultBudget
from neverlost.reports.documents.topic_groups import brief_settings, list_topics
from neverlost.reports.questions.tolerance import document as describe
from neverlost.reports.questions.tolerance.overview import DESIGNED, SHIPPED, Entries, entries_of

MOST_SERIES = 200
"""Series of one group at most; topics beyond are counted, and not named."""

LOSERS, WRITE, OPEN, DANGER, TOPICS, TOPIC = (
    "neverlost_data_losers_survived",
    "neverlost_brokers_out_before_writes_stop",
    "neverlost_not_decided",
    "neverlost_partitions_in_danger",
    "neverlost_topics",
    "neverlost_topic",
)
GAUGES = {
    LOSERS: "Brokers that may lose data at once, beside others_out that are slow or stopped; -1: lost even if none does.",
    WRITE: "Brokers that may be out at once while writes go on; -1: refused already.",
    OPEN: "Whether this gauge has no value, since it was not decided.",
    DANGER: "Partitions that are offline, refuse writes or hang by their last replica now.",
    TOPICS: "Topics of the group.",
    TOPIC: "The topics of each group by name; the first ones, where there are many.",
}
NOW = (describe.OFFLINE, describe.REFUSES, describe.ABOVE, describe.LAST)

Series = tuple[str, dict[str, str], int]


def render(document: Mapping[str, Any]) -> str:
    """Return the text of a `.prom` file, each gauge with its series together."""
    every = [one for number, label in enumerate(document["tolerance"], 1) for one in _of_group(document, label, number)]
    lines = []
    for name, says in GAUGES.items():
        mine = [f"{name}{{{_labels(labels)}}} {value}" for each, labels, value in every if each == name]
        lines += [f"# HELP {name} {says}", f"# TYPE {name} gauge", *mine] if mine else []
    return "\n".join([*lines, ""])


def _of_group(document: Mapping[str, Any], label: str, number: int) -> Iterator[Series]:
    topics = document["topics"][label]
    variants = [each for each in (DESIGNED, SHIPPED) if f"{label} {each}" in document["settings"]]
    about = document["settings"][f"{label} {variants[0]}"]
    settings = brief_settings({"config": about["config"] | about.get("bounds", {}), "kafka.version": about["kafka.version"]})
    group = {"group": f"{number}: {list_topics(topics) or 'this configuration'}: {settings}"}
    found: list[Series] = []
    for each in variants:
        entries = entries_of(document["tolerance"][label], each)
        gauges = [(LOSERS, {"others_out": str(out)}, _losers(entries, out)) for out in (0, 1)] + [(WRITE, {}, _out(entries))]
        for name, more, value in gauges:
            labels = {**group, "kafka": each, **more}
            found += [] if value is None else [(name, labels, value)]
            found.append((OPEN, {**labels, "gauge": name}, int(value is None)))
    states = Counter(each["is"] for each in document["now"][label])
    found += [(DANGER, {**group, "state": each}, states[each]) for each in NOW if topics]
    found.append((TOPICS, group, len(topics)))
    found += [(TOPIC, {**group, "topic": each}, 1) for each in topics[: MOST_SERIES - len(found)]]
    yield from found


def _losers(entries: Entries, out: int) -> int | None:
    """Return how many brokers may lose data at once while so many others are out, and no record is lost; -1 if one is lost
    though none does; None if that is undecided, or nobody asked whether an acknowledged record is lost."""
    if any(ACKED not in (each.property.name for each in row) for row in entries.values()):
        return None
    says = [answer_in(entries, spot)[0] for spot in sorted(entries) if spot.out == out]
    found = (None if each == UNDECIDED else many - 1 for many, each in enumerate(says) if each in (LOST, UNDECIDED))
    return next(found, len(says) - 1 if says else None)


def _out(entries: Entries) -> int | None:
    """Return how many brokers may be out while writes go on; -1 if they stop anyway, None if that is undecided or not asked."""
    rows = [entries[FaultBudget(0, out)] for out in range(len(entries)) if FaultBudget(0, out) in entries]
    verdicts = [next((each.verdict for each in row if each.property.name in WRITES), Verdict.INCONCLUSIVE) for row in rows]
    stops = (
        None if each is Verdict.INCONCLUSIVE else out - 1 for out, each in enumerate(verdicts) if each is not Verdict.HOLDS
    )
    return next(stops, len(rows) - 1 if rows else None)


def _labels(labels: Mapping[str, str]) -> str:
    """Return labels as the text format writes them."""
    texts = {name: value.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n") for name, value in labels.items()}
    return ",".join(f'{name}="{text}"' for name, text in texts.items())
