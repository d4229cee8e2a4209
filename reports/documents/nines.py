"""A bound of loss for people and programs: ranges, the way out that is most frequent, what matters most, what is assumed."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from neverlost.checker.digest import question_id
from neverlost.checker.nines.bounds import Bound
from neverlost.checker.nines.chain import LOST
from neverlost.reports.documents import tolerance as table
from neverlost.reports.documents.merged_rows import many
from neverlost.specs.configuration.choose import Chosen
from neverlost.specs.configuration.keys import shown
from neverlost.specs.rates.rates import KINDS, YEAR, Range, Rates

SCHEMA = "neverlost.nines/1"

ACKED = "acked-never-lost"

ASSUMPTIONS = (
    "The probability of loss is a bound: leaving the region that was decided counts as a loss, although often nothing is lost.",
    "The time without writes is an estimate: it counts every state in which the table says that writes stop, and assumes that"
    " they go on when that state is over.",
    "Episodes come and end independently of each other, at rates that do not change (exponential times); what strikes several"
    " replicas at once is in the rates of racks and of the site.",
    "An impaired replica counts until it is in sync again; that time has to be part of each duration.",
    "One partition. Partitions on the same replicas share their episodes: the bound of a topic is that of each of its sets of"
    " replicas, added up, and not that of each partition.",
    "Kafka as designed: known defects are named and not priced, because it is not known how often their races happen.",
    "Not in it: defects outside the model, operators' mistakes, deletion, loss of the controllers' own metadata.",
)
"""What a reviewer has to know about the numbers, in the output's own words."""


def answer(chosen: Chosen, found: Bound) -> dict[str, Any]:
    """A bound as JSON.  Units: probabilities in a year, seconds a year, parts."""
    configuration = {**chosen.configuration, **found.subject.decided.question}
    return {
        "heading": table.heading(chosen.configuration, chosen.release, chosen.subjects),
        "loss_in_a_year": _range(found.loss),
        "nines": {"low": nines(found.loss.high), "high": nines(found.loss.low)},
        "writes_refused_seconds_a_year": _refused(found),
        "region": {
            "out_beside": list(found.subject.decided.region.out_beside),
            "kills_count_as": found.subject.decided.kills_count_as,
            "faults": {key: shown(value) for key, value in found.subject.decided.question.items() if value},
            "property": ACKED,
            "verdict": "holds",
            "records": configuration["bounds.records"],
            "id": question_id(chosen.model, configuration, [ACKED]),
        },
        "racks": list(found.subject.racks),
        "exits": [
            {"during": list(each.during), "then": each.cause, "to": list(each.to), "share": each.share} for each in found.exits
        ],
        "influences": [{"episode": each.episode, "what": each.what, "factor": each.factor} for each in found.influences],
        "known_defects": list(table.known_defects({**chosen.configuration, "defects": "shipped"})),
    }


def change(changes: Mapping[str, str], found: Bound | None) -> dict[str, Any]:
    """A change of settings and the bound after it; None where nothing is bounded."""
    return {
        "changes": dict(changes),
        "loss_in_a_year": None if found is None else _range(found.loss),
        "writes_refused_seconds_a_year": None if found is None else _refused(found),
    }


def _refused(found: Bound) -> dict[str, float]:
    return _range(Range(found.refused.low * YEAR, found.refused.high * YEAR))


def _range(found: Range) -> dict[str, float]:
    return {"low": found.low, "high": found.high}


def nines(probability: float) -> float | None:
    """How many nines a probability of loss leaves; None for none lost."""
    return -math.log10(probability) if probability else None


def rates(given: Rates) -> dict[str, Any]:
    """The rates that were used.  Units: a year's number, seconds."""
    return {
        each.name: {
            "rate": _range(each.rate),
            "seconds": _range(Range(each.duration.low * YEAR, each.duration.high * YEAR)),
            "source": each.source,
        }
        for each in given.episodes
    } | {"detection": {"seconds": _range(Range(given.detection.low * YEAR, given.detection.high * YEAR))}}


def row(subject: str, found: Mapping[str, Any]) -> dict[str, Any]:
    """A bound as a row of a table."""
    return {
        "subject": subject,
        "loss_low": found["loss_in_a_year"]["low"],
        "loss_high": found["loss_in_a_year"]["high"],
        "nines_low": found["nines"]["low"],
        "nines_high": found["nines"]["high"],
        "refused_seconds_low": found["writes_refused_seconds_a_year"]["low"],
        "refused_seconds_high": found["writes_refused_seconds_a_year"]["high"],
        "id": found["region"]["id"],
    }


def sentences(found: Mapping[str, Any]) -> list[str]:
    """A bound as a design review can cite it, line by line."""
    loss, refused = found["loss_in_a_year"], found["writes_refused_seconds_a_year"]
    lines = [
        f"An acknowledged record is lost in a year with a probability of at most {_between(loss, _probability)} "
        f"({_nines(found['nines'])}).",
        f"Writes are refused {_between(refused, _time)} a year.",
        _region(found["region"]),
    ]
    if found["exits"]:
        lines.append(_exit(found["exits"][0]))
    if found["influences"]:
        lines.append("What matters most: " + ", ".join(_influence(each) for each in found["influences"][:3]) + ".")
    lines += [_change(each) for each in found.get("changes", ())]
    if found["known_defects"]:
        lines.append(f"Not priced: {many(len(found['known_defects']), 'known defect')}, {', '.join(found['known_defects'])}.")
    return lines


def _region(region: Mapping[str, Any]) -> str:
    parts = [f"{out} out beside {lost} that lost data" for lost, out in enumerate(region["out_beside"])]
    kills = "as one that lost data" if region["kills_count_as"] == LOST else "as one that is out"
    return (
        f"Decided: nothing is lost with at most {', or '.join(parts)}, a killed broker counted {kills}, "
        f"any number of times ({region['id']})."
    )


def _exit(found: Mapping[str, Any]) -> str:
    during = " and ".join(_says(each) for each in found["during"])
    lost, out = found["to"]
    return (
        f"Most often it is left so: {during + ', and meanwhile ' if during else ''}{_says(found['then'])} "
        f"({found['share']:.0%} of all ways; then {lost} lost data and {many(out, 'other')} out: --show {lost},{out})."
    )


def _change(found: Mapping[str, Any]) -> str:
    what = ", ".join(f"{key}={value}" for key, value in found["changes"].items())
    loss, refused = found["loss_in_a_year"], found["writes_refused_seconds_a_year"]
    if loss is None:
        return f"With {what}: no bound was found."
    return f"With {what}: at most {_between(loss, _probability)}; writes are refused {_between(refused, _time)} a year."


def _says(episode: str) -> str:
    return KINDS[episode][2]


def _influence(found: Mapping[str, Any]) -> str:
    what = "how often" if found["what"] == "rate" else "how long it takes after"
    return f"{what} {_says(found['episode'])} (1 % more: {found['factor']:.1f} % more)"


def _between(found: Mapping[str, float], text: Any) -> str:
    low, high = text(found["low"]), text(found["high"])
    return low if low == high else f"{low} to {high}"


def _probability(value: float) -> str:
    return f"{value:.1g}" if value < 0.01 else f"{value:.0%}"


def _nines(found: Mapping[str, float | None]) -> str:
    if found["low"] is None:
        return "nothing that is in the rates leads to a loss"
    low, high = ("no loss" if each is None else f"{each:.1f}" for each in (found["low"], found["high"]))
    return f"{low} nines" if low == high else f"{low} to {high} nines"


def _time(seconds: float) -> str:
    for unit, size in (("days", 86_400.0), ("hours", 3600.0), ("minutes", 60.0)):
        if seconds >= 2 * size:
            return f"{seconds / size:.0f} {unit}"
    return f"{seconds:.0f} seconds"
