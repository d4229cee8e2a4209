"""A tolerance for people and programs: a table that fits a screen, a sentence per boundary, a row per decided question."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from neverlost.checker.campaign.tolerance import Spot, Tolerance
from neverlost.checker.digest import question_id
from neverlost.checker.outcome import Verdict
from neverlost.model.kernel import Configuration
from neverlost.model.limits import AT_ONCE
from neverlost.reports.documents.merged_rows import many
from neverlost.specs.configuration.keys import shown
from neverlost.specs.defects import DEFECTS
from neverlost.specs.property import AVAILABILITY, SAFETY

OK, STOPS, LOST, UNDECIDED = "ok", "writes stop", "LOST", "not decided"
"""What a spot of the table says; the first three are ordered from good to bad."""

ASKED = ("acked-never-lost", "committed-never-lost", "stays-writable")
"""What a table is about."""


def answer(found: Tolerance, spot: Spot) -> tuple[str, int | None]:
    """What a spot of the table says, and the steps of the shortest loss."""
    decisions = found.decisions[spot]
    lost = [each for each in decisions if each.property.kind == SAFETY and each.verdict is Verdict.VIOLATED]
    if lost:
        return LOST, min(len(each.trace.steps) for each in lost if each.trace is not None)
    if any(each.property.kind == SAFETY and each.verdict is Verdict.INCONCLUSIVE for each in decisions):
        return UNDECIDED, None
    if any(each.property.kind == AVAILABILITY and each.verdict is Verdict.VIOLATED for each in decisions):
        return STOPS, None
    if any(each.verdict is Verdict.INCONCLUSIVE for each in decisions):
        return UNDECIDED, None
    return OK, None


def words(found: Tolerance, spot: Spot) -> str:
    """A spot of the table as text."""
    says, steps = answer(found, spot)
    return f"{says}, {many(steps, 'step')}" if steps is not None else says


def table(found: Tolerance) -> list[str]:
    """The table, line by line: a row for each number of brokers that lose data, a column for each number of others out."""
    replicas = found.configuration["replication.factor"]
    columns = [f"{out}" for out in range(replicas + 1)]
    rows = [[f"{losing}", *cells_of(found, losing)] for losing in range(replicas + 1)]
    lines = [["lose data", *columns], *rows]
    widths = [max(len(line[place]) for line in lines if place < len(line)) for place in range(replicas + 2)]
    head = " " * (widths[0] + 2) + "others slow, fenced or shut down, at once"
    body = ["  ".join(text.ljust(width) for text, width in zip(line, widths, strict=False)).rstrip() for line in lines]
    return [head, *body]


def cells_of(found: Tolerance, losing: int) -> list[str]:
    """A row of the table; a dash where there are not so many replicas."""
    replicas = found.configuration["replication.factor"]
    return [words(found, Spot(losing, out)) if losing + out <= replicas else "-" for out in range(replicas + 1)]


def sentences(found: Tolerance) -> list[str]:
    """The boundaries of the table, as a design review can cite them; each names the faults that it speaks about."""
    replicas = found.configuration["replication.factor"]
    says = {spot: answer(found, spot)[0] for spot in found.decisions}
    safe = [spot for spot in sorted(says) if says[spot] in (OK, STOPS)]
    whole = [losing for losing in range(replicas + 1) if all(Spot(losing, out) in safe for out in range(replicas + 1 - losing))]
    most = next((losing - 1 for losing in range(replicas + 2) if losing not in whole), replicas)
    lines = [_safe_sentence(most)] if most >= 0 else ["Brokers that are slow, fenced or shut down are enough to lose a record."]
    for losing in range(max(most, 0) + 1, replicas + 1):
        outs = [spot.out for spot in safe if spot.losing == losing]
        if outs and outs == list(range(len(outs))):
            most_out = max(outs)
            lines.append(
                f"Nothing acknowledged is lost while {_losing(losing)} and {_others(most_out)}"
                + (", or fewer." if most_out > 1 else ".")
            )
    first = [
        spot
        for spot in sorted(says)
        if says[spot] == LOST and not any(_within(other, spot) and says[other] == LOST for other in says if other != spot)
    ]
    lines += [
        f"A record can be lost when {_losing(spot.losing)} while {_others(spot.out)}: {words(found, spot)[6:]}."
        for spot in first
    ]
    stops = [
        spot
        for spot in sorted(says)
        if says[spot] != OK and not any(_within(other, spot) and says[other] != OK for other in says if other != spot)
    ]
    lines += [f"Writes stop when {_losing(spot.losing)} while {_others(spot.out)}." for spot in stops if says[spot] == STOPS]
    lines += [
        f"Not decided: {_losing(spot.losing)} while {_others(spot.out)}." for spot in sorted(says) if says[spot] == UNDECIDED
    ]
    return lines


def _within(one: Spot, other: Spot) -> bool:
    return one.losing <= other.losing and one.out <= other.out


def _safe_sentence(most: int) -> str:
    data = (
        "no broker loses data" if most == 0 else f"at most {many(most, 'broker')} at a time lose{'s' if most == 1 else ''} data"
    )
    return f"No acknowledged record is lost while {data}, however often and however many others are slow, fenced or shut down."


def _losing(number: int) -> str:
    if number == 0:
        return "no broker loses data"
    return "1 broker at a time loses data" if number == 1 else f"{number} brokers lose data at once"


def _others(number: int) -> str:
    return "no other is out" if number == 0 else f"{many(number, 'other')} {'is' if number == 1 else 'are'} out"


def rows(found: Tolerance, defects: str) -> list[dict[str, Any]]:
    """One row for each decided question."""
    found_rows = []
    for spot, number in found.cells.items():
        configuration = found.sweep.cells[number][1]
        for each in found.decisions[spot]:
            found_rows.append(
                {
                    "faults": fault_limits(configuration),
                    "at_once": configuration.get(AT_ONCE) or None,
                    "losing": spot.losing,
                    "out": spot.out,
                    "property": each.property.name,
                    "verdict": str(each.verdict),
                    "steps": len(each.trace.steps) if each.trace is not None else None,
                    "records": configuration["bounds.records"],
                    "defects": defects,
                    "id": question_id(found.model, configuration, [each.property.name]),
                    "source": "search",
                    "trace": None,
                }
            )
    return found_rows


def fault_limits(configuration: Configuration) -> dict[str, Any]:
    """The limits of the faults that may happen."""
    limits = {name: value for name, value in configuration.items() if name.startswith("faults.") and name != AT_ONCE and value}
    return {name.removeprefix("faults."): shown(value) for name, value in limits.items()}


def heading(configuration: Mapping[str, Any], release: str | None, subjects: Sequence[str]) -> str:
    """What a table is about, in a line."""
    named = ", ".join(subjects) if subjects else "this configuration"
    parts = [f"RF {configuration['replication.factor']}"]
    parts += [f"min ISR {configuration['min.insync.replicas']}"] if "min.insync.replicas" in configuration else []
    parts += [f"acks={configuration['acks']}"]
    parts += ["unclean election"] if configuration.get("unclean.leader.election.enable") else []
    parts += ["ELR"] if configuration.get("eligible.leader.replicas") else []
    parts += [f"Kafka {release}"] if release else []
    return f"{named}: {', '.join(parts)}, {variant(configuration)}"


def variant(configuration: Mapping[str, Any]) -> str:
    """Whether the known defects of the version are in."""
    return "as designed" if configuration.get("defects") == "fixed" else "as shipped"


def is_same(one: Tolerance, other: Tolerance) -> bool:
    """Whether two tables say the same of every spot."""
    return all(answer(one, spot) == answer(other, spot) for spot in one.decisions)


def known_defects(configuration: Mapping[str, Any]) -> list[str]:
    """The known defects that a configuration has, with where they are reported."""
    present = [each for each in DEFECTS if configuration.get(each.mechanism.key) is False]
    return [f"{each.name} ({each.report})" for each in present]


def assumptions(configuration: Mapping[str, Any]) -> list[str]:
    """What a table takes for granted, in the words of its output."""
    records = many(configuration["bounds.records"], "record")
    lines = [f"Decided for {records} and any number of faults, all replicas in sync at first. Assumed: a controller quorum."]
    if configuration.get("flush.messages") != "1":
        lines.append("Being in sync is not being on disk: replicas on one power domain can lose data together (last row).")
    return lines
