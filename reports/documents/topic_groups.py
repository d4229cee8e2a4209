"""Groups a result on many topics by answer: topics with the same answer together, the worst first, with what to change."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from neverlost.checker.engine.outcome import Verdict
from neverlost.reports.wording.merged_rows import pluralize
from neverlost.reports.wording.sentences import say_limits, say_never, say_verdict
from neverlost.specs.configuration.keys import shown
from neverlost.specs.inputs.remedies import topic_of
from neverlost.specs.properties import properties
from neverlost.specs.setting import NoticeKind

EXPLAINED = "; neverlost explain NAME says what avoids it"
ORDER = ("violated", "inconclusive", "holds")
"""Verdicts from bad to good."""

Cell = Mapping[str, Any]


@dataclass(frozen=True)
class Group:
    """The cells of a result that have one answer; `numbers` are their indices (from 0) in the document."""

    numbers: tuple[int, ...]
    cells: tuple[Cell, ...]

    @property
    def verdict(self) -> str:
        return str(self.cells[0]["verdict"])

    @property
    def topics(self) -> list[str]:
        """The topics that have this answer, each once."""
        return list(dict.fromkeys(topic for each in self.cells for topic in each.get("topics", ())))

    @property
    def settings(self) -> str:
        """The different configurations of the group in few words, as one text."""
        return "; ".join(dict.fromkeys(brief_settings(each) for each in self.cells))

    @property
    def cause(self) -> str:
        """The shortest violation: property, what it loses and faults; else why it is undecided, or what never happened."""
        return cause(self.cells[0])

    @property
    def remedy(self) -> Mapping[str, Any] | None:
        """The document's entry on a remedy, also if no change helps; None if none was looked for; the same for all cells."""
        found: Mapping[str, Any] | None = self.cells[0].get("remedy")
        return found

    @property
    def change(self) -> str:
        """What to change, or why nothing helps, in words; an empty text if no remedy was looked for."""
        return "" if self.remedy is None else str(self.remedy["says"])

    @property
    def commands(self) -> list[Mapping[str, str]]:
        """Return the commands that make the change for all topics of the group, each once."""
        listed = [command for each in self.cells for command in (each.get("remedy") or {}).get("commands", ())]
        return list({(each["where"], each["line"]): each for each in listed}.values())


def group_by_answer(document: Mapping[str, Any]) -> list[Group]:
    """Return the groups of a result, the worst verdict first; among equals the shortest violation, then the most topics."""
    found: dict[str, list[int]] = {}
    cells = document.get("cells", [document])
    for number, cell in enumerate(cells):
        found.setdefault(_answer(cell), []).append(number)
    listed = [Group(tuple(numbers), tuple(cells[each] for each in numbers)) for numbers in found.values()]
    return sorted(listed, key=lambda each: (*badness(each.cells[0]), -len(each.topics)))


def count_verdicts(cells: Sequence[Cell]) -> str:
    """Say how many topics (configurations, where no topic is named) violate something, and of how many it is not decided."""
    worst: dict[str, str] = {}
    for number, each in enumerate(sorted(cells, key=badness, reverse=True)):
        worst |= dict.fromkeys(map(topic_of, each.get("topics") or [f" {number}"]), str(each["verdict"]))
    many = Counter(worst.values())
    what = pluralize(len(worst), "topic" if any(each.get("topics") for each in cells) else "configuration")
    unknown = f"; of {many['inconclusive']} that is not decided" if many["inconclusive"] else ""
    return f"{many['violated'] or 'None'} of {what} {'violate' if many['violated'] > 1 else 'violates'} what was asked{unknown}"


def badness(cell: Cell) -> tuple[int, int]:
    """Return a sort key that puts the worst verdict first, and of two violated cells that with the shorter violation."""
    return ORDER.index(cell["verdict"]), shortest(cell)[0]


def _answer(cell: Cell) -> str:
    """Return a text that is equal for cells of one group: verdicts, violations, remedy, and why something is undecided."""
    listed = [[each["name"], each["verdict"], each.get("steps"), each.get("faults")] for each in cell["properties"]]
    remedy = cell.get("remedy") or {}
    return json.dumps([listed, remedy.get("changes"), remedy.get("holds_as_designed"), cell.get("reason")], sort_keys=True)


def shortest(cell: Cell) -> tuple[int, Mapping[str, Any] | None]:
    """Return how many steps the shortest violation of a cell has, and the entry of its property; (0, None) without one."""
    broken = [each for each in cell["properties"] if each["verdict"] == "violated"]
    found = min(broken, key=lambda each: each["steps"], default=None)
    return (0, None) if found is None else (found["steps"], found)


def cause(cell: Cell) -> str:
    """Return in words the shortest violation of a cell, why it is undecided, or what never happened if it holds; or empty."""
    _, broken = shortest(cell)
    if broken is not None:
        within = say_limits(broken["faults"], cell.get("config", {}))
        return f"{broken['name']}: {say_verdict(properties()[broken['name']], Verdict.VIOLATED, broken['faults'])}{within}"
    if cell["verdict"] == "inconclusive":
        return str(cell.get("reason") or "")
    return say_never(list(dict.fromkeys(name for each in cell["properties"] for name in list_unstruck(cell, each))))


def list_unstruck(cell: Cell, entry: Mapping[str, Any]) -> list[str]:
    """Return, for a property that holds, the allowed faults that never struck, and what it compares though there is only one of
    it: the verdict says nothing about these.  Empty for a property that does not hold."""
    if entry["verdict"] != "holds":
        return []
    return list(dict.fromkeys((*(cell.get("never") or {}).get("faults", ()), *entry.get("never", ()))))


def brief_settings(cell: Cell) -> str:
    """Return a configuration as one text, in the words of operators, such as `RF 3, min ISR 2, acks=all`."""
    config = cell["config"]
    parts = [f"RF {config['replication.factor']}"] if "replication.factor" in config else []
    parts += [f"min ISR {config['min.insync.replicas']}"] if "min.insync.replicas" in config else []
    parts += [f"acks={config['acks']}"] if "acks" in config else []
    parts += ["unclean election"] if config.get("unclean.leader.election.enable") else []
    parts += ["ELR"] if config.get("eligible.leader.replicas") else []
    parts += ["flushed"] if str(config.get("flush.messages")) == "1" else []
    outside = config.get("start.outside_isr") or 0
    parts += [f"{pluralize(outside, 'replica')} outside the ISR now"] if outside else []
    parts += list(filter(None, (say_reassignment(config), say_racks(config))))
    version = cell.get("kafka.version") or cell.get("settings", {}).get("kafka.version", {}).get("value")
    parts += [f"Kafka {version}"] if version else []
    parts += [cell["differs"].strip("() ")] if cell.get("differs") else []
    return ", ".join(parts)


def say_reassignment(configuration: Mapping[str, Any]) -> str:
    """Return in words how many replicas a reassignment that is under way adds and removes; empty without one."""
    words = str(shown(configuration.get("start.replicas", ""))).replace("+", ",").split(",")
    return ", ".join(f"{words.count(word)} {said}" for word, said in MOVES.items() if word in words)


def say_racks(configuration: Mapping[str, Any]) -> str:
    """Return in words how many replicas are in the fullest rack; empty if each has its own, or no rack is known."""
    racks = [each for each in str(shown(configuration.get("broker.rack", ""))).split(",") if each]
    most = max(map(racks.count, racks), default=1)
    return f"{most} of {len(racks)} replicas in one rack" if most > 1 else ""


MOVES = {"adding": "being added now", "removing": "being removed now"}


def remedy_lines(remedy: Mapping[str, Any]) -> list[str]:
    """Return sentences: what to change, or why nothing helps; its price, and what the release's bugs have to do with it."""
    names = " with ".join(f"{each['name']} ({each['report']})" for each in remedy["defects"]) or "several bugs together"
    if not remedy["changes"]:
        lines = [f"{remedy['says'][:1].upper()}{remedy['says'][1:]}."]
    else:
        bugs = "; bugs of this release lose records all the same" * remedy["only_as_designed"]
        judged = "with the known bugs of this release" if remedy.get("as_released") else f"as Kafka is designed{bugs}"
        lines = [f"{remedy['request']} (verified, {judged})."]
        lines += [f"Gains: {remedy['gains']}."] if remedy.get("gains") else []
        lines += [f"Costs: {'; '.join(remedy['drawbacks'])}."] if remedy["drawbacks"] else []
        if remedy["holds_as_designed"]:
            lines.append(f"Your settings are right without it: this Kafka loses it by {names}{EXPLAINED}.")
    if remedy["undecided"]:
        lines.append(f"{pluralize(remedy['undecided'], 'cheaper change')} could not be decided in the time there was.")
    return lines


def list_topics(topics: Sequence[str], most: int = 3) -> str:
    """Return the first `most` topics and how many more there are, or all with one more at most; parts of a topic count once."""
    left = {topic_of(each) for each in topics[most:]} - {topic_of(each) for each in topics[:most]}
    if len(topics) <= most + 1 or not left:
        return ", ".join(topics)
    return f"{', '.join(topics[:most])} and {len(left)} more"


def general_notices(document: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Return the notices about the whole input, each once, and not those about some topics, which stand beside the topics."""
    listed = [each for cell in document.get("cells", [document]) for each in cell.get("notices", ()) if not each["topics"]]
    return list({json.dumps(each, sort_keys=True): each for each in listed}.values())


def notices_of(group: Group) -> list[Mapping[str, Any]]:
    """Return the notices that name topics, of a group's cells, each once; why it is no `holds` warns if it is violated."""
    listed = [each for cell in group.cells for each in cell.get("notices", ()) if each["topics"]]
    if group.verdict == "violated":
        listed = [{**each, "kind": str(NoticeKind.WARNING)} if each["kind"] == NoticeKind.LEFT_OUT else each for each in listed]
    return list({json.dumps(each, sort_keys=True): each for each in listed}.values())
