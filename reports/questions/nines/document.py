"""Bounds of loss as documents and sentences: ranges, the most frequent exit from the safe region, what matters most, what is
assumed."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import Any

from neverlost.checker.engine.host.resources import ResourceExhausted
from neverlost.checker.engine.outcome import Verdict
from neverlost.checker.questions.nines import bounds
from neverlost.checker.questions.nines.bounds import Bound, NoBound
from neverlost.checker.questions.nines.chain import LOST, OR
from neverlost.checker.questions.nines.configuration_nines import ConfigurationNines, Shipped
from neverlost.checker.questions.nines.rates import KINDS, TAIL, YEAR, Range, Rates
from neverlost.checker.questions.question_id import question_id
from neverlost.reports.counterexample.affected import Affected
from neverlost.reports.questions.tolerance import document as tolerance_document
from neverlost.reports.wording.merged_rows import pluralize
from neverlost.specs.configuration.choose import Chosen
from neverlost.specs.configuration.keys import shown
from neverlost.specs.defects import DEFECTS
from neverlost.specs.setting import Notice, NoticeKind, assumed, sources

SCHEMA = "neverlost.nines/1"

ACKED = "acked-never-lost"

ONE_RACK = Notice(NoticeKind.ASSUMED, "all replicas are in one rack, since broker.rack names none", "", "set broker.rack=a,b,c")

ASSUMPTIONS = (
    "The probability of loss is a bound: leaving the region that was decided counts as a loss, although often nothing is lost.",
    "The time without writes is an estimate: it counts every state in which the table says that writes stop, at its upper end"
    " also what is not decided, and assumes that they go on when that state is over.",
    "Episodes come and end independently of each other, at rates that do not change (exponential times); what strikes several"
    " replicas at once is in the rates of racks and of the site, and in the probability of a common cause.",
    "An impaired replica counts until it is in sync again; that time has to be part of each duration. Every replica is in sync"
    " when the year begins.",
    "Both ends of a range have every rate and duration at that end; where planned restarts wait for the others, a value between"
    " may do slightly worse, because they wait less.",
    "One partition. Partitions on the same replicas share their episodes: the bound of a topic is that of each of its sets of"
    " replicas, added up, and not that of each partition.",
    "Kafka as designed. As released, the race of a known bug counts as a loss, as often as its two events fall into its window"
    " by chance; with more replicas it does so more often. Restarts one after the other, and leaders that move back by"
    " themselves, make it more frequent too: give your own rate under [defects].",
    "Decided for the records that the question names, and any number of faults; a controller quorum keeps its metadata.",
    "Not in it: defects outside the model, operators' mistakes, deletion, loss of the controllers' own metadata.",
)
"""What a reviewer has to know about the numbers, in the output's own words."""

LATENCY = {
    "0": "the producer waits for nothing",
    "1": "the producer waits for the leader",
    "all": "the producer waits for the ISR",
}
"""What an acknowledgement waits for, by `acks`."""


def document(answers: Mapping[str, Any], given: Mapping[str, Rates], version: str) -> dict[str, Any]:
    """Return the result document; its verdict is inconclusive if any configuration has too little decided."""
    undecided = any(each["verdict"] == str(Verdict.INCONCLUSIVE) for each in answers.values())
    return {
        "schema": SCHEMA,
        "version": version,
        "verdict": str(Verdict.INCONCLUSIVE if undecided else Verdict.HOLDS),
        "nines": _rounded(answers),
        "rates": _rounded({name: rates(each) for name, each in given.items()}),
        "assumptions": list(ASSUMPTIONS),
    }


DIGITS = 9
"""How many digits of a number are kept: the last ones of a sum differ between versions of Python and NumPy."""


def _rounded(found: Any) -> Any:
    if isinstance(found, float):
        return float(f"{found:.{DIGITS}g}")
    if isinstance(found, Mapping):
        return {name: _rounded(each) for name, each in found.items()}
    return [_rounded(each) for each in found] if isinstance(found, list) else found


def answer(judged: ConfigurationNines) -> dict[str, Any]:
    """Return the bound of one configuration as JSON.  Units: probabilities in a year, seconds a year, fractions of 1."""
    chosen, found = judged.chosen, judged.first
    unnamed = [] if (racks := chosen.configuration["broker.rack"]) else [ONE_RACK]
    across = f", {pluralize(len(set(racks)), 'rack')}" if racks else ""
    about = {
        "heading": tolerance_document.heading(chosen.configuration, chosen.release, chosen.subjects) + across,
        "label": label(chosen),
        "copies": chosen.configuration["replication.factor"],
        "latency": latency(chosen),
        "notices": [notice.document() for notice in (*chosen.notices, *unnamed)],
        "assumed": assumed([chosen.settings]),
        "sources": sources(chosen.settings),
    }
    if isinstance(found, NoBound):
        return about | {"verdict": str(found.verdict), "why": found.why, "region": None, "loss_in_a_year": None, "nines": None}
    by_rates = {name: _numbers(each) for name, each in judged.found.items() if isinstance(each, Bound)}
    return about | {
        "verdict": str(Verdict.HOLDS),
        **_numbers(found),
        "by_rates": by_rates,
        "region": _region_document(chosen, found),
        "racks": list(found.subject.racks),
        "exits": [
            {"during": list(each.during), "then": each.cause, "to": list(each.to), "share": each.share} for each in found.exits
        ],
        "influences": [{"episode": each.episode, "what": each.what, "factor": each.factor} for each in found.influences],
        "as_shipped": _shipped_document(judged.shipped),
    }


def label(chosen: Chosen) -> str:
    """Return the topics and the settings that matter most, in a few words."""
    racks = len(set(chosen.configuration["broker.rack"])) or 1
    named = ", ".join(chosen.subjects) if chosen.brokers else ""
    parts = tolerance_document.setting(chosen.configuration, chosen.release, ()).partition(": ")[2]
    flushed = ["flushed"] if chosen.configuration["flush.messages"] == "1" else []
    return f"{named + ': ' if named else ''}{', '.join([parts, *flushed, pluralize(racks, 'rack')])}"


def _region_document(chosen: Chosen, found: Bound) -> dict[str, Any]:
    decided = found.subject.decided
    configuration = {**chosen.configuration, **decided.question}
    return {
        "out_beside": list(decided.region.out_beside),
        "kills_count_as": decided.kills_count_as,
        "is_largest": decided.is_largest,
        "faults": {key: shown(value) for key, value in decided.question.items() if value},
        "property": ACKED,
        "verdict": "holds",
        "records": configuration["bounds.records"],
        "id": question_id(chosen.model, configuration, [ACKED]),
    }


def _shipped_document(shipped: Shipped) -> dict[str, Any]:
    return {
        "defects": list(shipped.defects),
        "verdict": str(shipped.verdict),
        "steps": shipped.steps,
        "by_rates": {name: _numbers(each) for name, each in shipped.bounds.items()},
        "not_priced": list(shipped.not_priced),
    }


def _numbers(found: Bound) -> dict[str, Any]:
    return {
        "loss_in_a_year": _range(found.loss),
        "nines": {"low": nines(found.loss.high), "high": nines(found.loss.low)},
        "writes_refused_seconds_a_year": _range(Range(found.refused.low * YEAR, found.refused.high * YEAR)),
    }


def describe_change(changed: Mapping[str, str], before: Chosen, judged: ConfigurationNines) -> dict[str, Any]:
    """Describe a change of settings: the bound after it as designed and as released, and the cost in copies and latency."""
    after, found = judged.chosen, judged.first
    if isinstance(found, NoBound):
        bounded: dict[str, Any] = dict.fromkeys(("loss_in_a_year", "nines", "writes_refused_seconds_a_year"))
        bounded |= {"verdict": str(found.verdict), "why": found.why}
    else:
        bounded = {"verdict": str(Verdict.HOLDS), **_numbers(found), "as_shipped": _shipped_document(judged.shipped)}
    return {
        "changes": ", ".join(f"{key}={value}" for key, value in changed.items()),
        **bounded,
        "copies": after.configuration["replication.factor"] - before.configuration["replication.factor"],
        "latency": latency(after) if latency(after) != latency(before) else None,
    }


def ratio(before: Bound | NoBound, after: Bound | NoBound, rates: Rates) -> dict[str, float] | None:
    """Return how many times as high `after` is as `before` at equal rates; None if either of them is no bound, or is 0."""
    if isinstance(before, NoBound) or isinstance(after, NoBound):
        return None
    with suppress(ResourceExhausted):
        found = bounds.ratio(before.subject, after.subject, rates)
        return None if found is None else _range(found)
    return None


def latency(chosen: Chosen) -> str:
    """Return what an acknowledgement waits for."""
    acks = LATENCY.get(str(chosen.configuration["acks"]), LATENCY["all"])
    return f"{acks} and for the disk" if chosen.configuration["flush.messages"] == "1" else acks


def _range(found: Range) -> dict[str, float]:
    return {"low": found.low, "high": found.high}


def nines(probability: float) -> float | None:
    """Return -log10 of a probability of loss (the number of nines); None if it is 0."""
    return -math.log10(probability) if probability else None


def rates(given: Rates) -> dict[str, Any]:
    """Return rates as JSON.  Units: occurrences a year, seconds, fractions of 1."""
    episodes = {
        each.name: {
            "rate": _range(each.rate),
            "seconds": _range(Range(each.duration.low * YEAR, each.duration.high * YEAR)),
            "common": _range(each.common),
            "waits": each.waits,
            "source": each.source,
        }
        for each in given.episodes
    }
    seconds = Range(given.detection.low * YEAR, given.detection.high * YEAR)
    tail = {"tail": {key: _range(getattr(given.tail, key)) for key in TAIL}} if given.tail else {}
    return episodes | {
        **tail,
        "detection": {"seconds": _range(seconds)},
        "defects": {name: _range(each) for name, each in given.defects.items()},
        "windows": {
            name: {
                "first": list(each.first),
                "then": list(each.then),
                "of_same_broker": each.of_same_broker,
                "seconds": _range(Range(each.within.low * YEAR, each.within.high * YEAR)),
                "source": each.source,
            }
            for name, each in given.windows.items()
        },
    }


def amount(affected: Affected, tail: Mapping[str, Any]) -> str:
    """Say how many records such a loss takes at most, by the table [tail] of the rates; empty if it takes no end of a log."""
    times = {"unflushed": affected.is_unflushed, "behind": affected.is_unfetched}
    seconds = min((tail[key]["high"] for key, applies in times.items() if applies), default=None)
    if seconds is None:
        return ""
    records = math.ceil(tail["written"]["high"] * seconds)
    return f"At most {records:,} records, what is written in {seconds:,.3g} s: by written, unflushed and behind of [tail]."


def rows(subject: str, found: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return a bound as rows of a table, one for each set of rates."""
    return [
        {
            "subject": subject,
            "rates": name,
            "loss_low": each["loss_in_a_year"]["low"],
            "loss_high": each["loss_in_a_year"]["high"],
            "nines_low": each["nines"]["low"],
            "nines_high": each["nines"]["high"],
            "refused_seconds_low": each["writes_refused_seconds_a_year"]["low"],
            "refused_seconds_high": each["writes_refused_seconds_a_year"]["high"],
            "id": found["region"]["id"],
        }
        for name, each in found.get("by_rates", {}).items()
    ]


def sentences(found: Mapping[str, Any]) -> list[str]:
    """Return a bound as sentences that a design review can cite."""
    if found["region"] is None:
        return [_unbounded(found), *compared(found)]
    loss, refused = found["loss_in_a_year"], found["writes_refused_seconds_a_year"]
    lines = [
        f"An acknowledged record is lost in a year with a probability of at most {_probability(loss)} "
        f"({nines_text(found['nines'])}).",
        f"Writes are refused {_between(refused, _time)} a year.",
    ]
    if len(found["by_rates"]) > 1:
        first, *others = found["by_rates"]
        lines[0] = f"At the rates of {first}: {lines[0]}"
        lines += [f"At the rates of {name}: {_bound(found['by_rates'][name])}." for name in others]
    lines.append(_region(found["region"]))
    if found["exits"]:
        lines.append(_exit(found["exits"][0], found["region"]["is_largest"]))
    if found["influences"]:
        lines.append("Most sensitive to: " + ", ".join(_influence(each) for each in found["influences"][:3]) + ".")
    return [*lines, *_as_shipped(found["as_shipped"]), *compared(found)]


def _unbounded(found: Mapping[str, Any]) -> str:
    if found["verdict"] == str(Verdict.INCONCLUSIVE):
        return f"Not decided, so nothing is bounded: {found['why']}."
    return "No bound: a record can be lost while no broker is impaired, however seldom one is. See neverlost tolerance."


def _bound(found: Mapping[str, Any]) -> str:
    loss, refused = found["loss_in_a_year"], found["writes_refused_seconds_a_year"]
    return f"at most {_probability(loss)} ({nines_text(found['nines'])}); writes are refused {_between(refused, _time)} a year"


def _region(region: Mapping[str, Any]) -> str:
    names = [
        (f"{pluralize(out, 'broker')} out" * bool(out), f"{lost} that lost data" * bool(lost))
        for lost, out in enumerate(region["out_beside"])
    ]
    parts = [" and ".join(filter(None, each)) or "none" for each in names]
    kills = "one that lost data" if region["kills_count_as"] == LOST else "one that is out"
    within = f"Nothing is lost while no more is impaired at once than {'; or '.join(parts)}, however often"
    more = "" if region["is_largest"] else " More may hold: larger regions are not decided, so the bound may be far too high."
    return f"{within}; a killed broker counts as {kills} ({region['id']}).{more}"


def _exit(found: Mapping[str, Any], is_largest: bool) -> str:
    during = (", and " if OR in str(found["during"]) else " and ").join(describe_episode(each) for each in found["during"])
    lost, out = found["to"]
    return (
        f"Most likely way {'to a loss' if is_largest else 'out of what is decided'} "
        f"({found['share']:.0%} of all): {during + ', and meanwhile ' if during else ''}"
        f"{describe_episode(found['then'])}; then {lost} lost data and {pluralize(out, 'other')} out. --show prints it."
    )


def compared(found: Mapping[str, Any]) -> list[str]:
    """Return a sentence for each compared change: the bound with it, and how many times as high that is at equal rates."""
    return [f"{_changed(each)}." for each in found.get("compared", ())]


def _ratio(found: Mapping[str, float] | None) -> str:
    if found is None:
        return "no ratio to the first bound is known"
    times = _between(found, lambda each: f"{each:,.0f}" if each >= 10 else f"{each:.2g}")
    either, one = "lower at some of the rates tried, higher at others", "at none of the rates tried"
    where = either if found["low"] < 1 < found["high"] else f"{'lower' if found['high'] > 1 else 'higher'} {one}"
    return "at equal rates the same bound" if times == "1" else f"at equal rates {times} times the first bound: {where}"


def _changed(found: Mapping[str, Any]) -> str:
    if found["loss_in_a_year"] is None:
        why = f"not decided: {found['why']}" if found["why"] else "no bound: lost while no broker is impaired"
        return f"With {found['changes']}: {why}"
    copies = found["copies"]
    costs = [f"{pluralize(abs(copies), 'replica')} {'more' if copies > 0 else 'less'}"] if copies else []
    costs += [found["latency"]] if found["latency"] else []
    said = [_bound(found), *costs, _ratio(found["ratio"]), f"as released {shipped_words(found)}"]
    return f"With {found['changes']}: {'; '.join(said)}"


def _as_shipped(found: Mapping[str, Any]) -> list[str]:
    defects = ", ".join(found["defects"])
    if not found["defects"]:
        return ["As released: the same; no known bug makes a difference."]
    if found["verdict"] == str(Verdict.HOLDS):
        return [f"As released: the same, decided with its known bugs ({defects})."]
    decided = "bugs can" if found["verdict"] == str(Verdict.VIOLATED) else "not decided; these bugs may"
    lines = [f"As released, {decided} lose a record inside that region: {defects}."]
    for name, each in found["by_rates"].items():
        at = f" at the rates of {name}" if len(found["by_rates"]) > 1 else ""
        lines.append(f"With these bugs, each as often as its two events meet by chance{at}: {_bound(each)}.")
    without = ", ".join(found["not_priced"])
    return lines if found["by_rates"] else [*lines, f"No bound as released: give a rate for {without} under [defects]."]


def describe_episode(episode: str) -> str:
    """Describe what happens in a kind of episode."""
    defect = next((each for each in DEFECTS if each.name == episode), None)
    return f"the race of {defect.name}" if defect is not None else OR.join(KINDS[each].says for each in episode.split(OR))


def _influence(found: Mapping[str, Any]) -> str:
    what = "how often" if found["what"] == "rate" else "how long a replica is away after"
    return f"{what} {describe_episode(found['episode'])} (+1 % adds {found['factor']:.1f} % to the bound)"


def _between(found: Mapping[str, float], text: Any) -> str:
    low, high = text(found["low"]), text(found["high"])
    return low if low == high else f"{low} to {high}"


def _probability(found: Mapping[str, float]) -> str:
    """Return a range of probabilities as text, in percent as all others on the screen."""
    return _between(found, lambda each: f"{each:.0%}" if each >= 0.01 else f"{100 * each:.1g}%")


def nines_text(found: Mapping[str, float | None]) -> str:
    if found["low"] is None:
        return "nothing that is in the rates leads to a loss"
    low, high = ("no loss" if each is None else f"{each:.1f}" for each in (found["low"], found["high"]))
    return f"{low} nines" if low == high else f"{low} to {high} nines"


def _time(seconds: float) -> str:
    for unit, size in (("days", 86_400.0), ("hours", 3600.0), ("minutes", 60.0)):
        if seconds >= 2 * size:
            return f"{seconds / size:.0f} {unit}"
    return f"{seconds:.0f} seconds"


def sort_key(found: Mapping[str, Any]) -> tuple[float, float]:
    """Return a sort key that puts the worst first: no bound or undecided, then the fewest nines."""
    if found["nines"] is None:
        return -1.0, -1.0
    low, high = (math.inf if each is None else each for each in (found["nines"]["low"], found["nines"]["high"]))
    return low, high


def cell(found: Mapping[str, Any], rates_name: str) -> str:
    """Return a configuration's nines at some rates in a few words, or that there is no bound, or that it is not decided."""
    if found["nines"] is None:
        return "not decided" if found["verdict"] == str(Verdict.INCONCLUSIVE) else "no bound"
    return nines_text(found["by_rates"][rates_name]["nines"])


def shipped_words(found: Mapping[str, Any]) -> str:
    """Return in a few words the bound with known defects: its nines at the first rates, "the same" if they make no difference,
    or "no bound" with the defects that have no rate; "" if there is no bound even as designed."""
    shipped = found.get("as_shipped")
    if shipped is None:
        return ""
    if shipped["verdict"] == str(Verdict.HOLDS):
        return "the same"
    if shipped["by_rates"]:
        return nines_text(next(iter(shipped["by_rates"].values()))["nines"])
    return f"no bound: {', '.join(shipped['not_priced'])}"


def list_rate(episode: str, found: Mapping[str, Any]) -> tuple[str, ...]:
    """Return an episode's rate as texts: what happens, how often a year (with the probability of a common cause, and whether it
    waits), how long it lasts, and the source."""
    common = f", common cause {_between(found['common'], '{:.0%}'.format)}" if found["common"]["high"] else ""
    often = f"{_between(found['rate'], '{:.2g}'.format)}{common}{', waits' if found['waits'] else ''}"
    return describe_episode(episode), often, _between(found["seconds"], _time), found["source"].replace("`", "")


def list_bounds(found: Mapping[str, Any], names: Iterable[str]) -> list[str]:
    """Return a configuration's bounds as texts: its nines at each set of rates, for how long writes are refused in a year, and
    its nines as shipped; a dash for what is not bounded."""
    refused = _between(found["writes_refused_seconds_a_year"], _time) if found["nines"] else "-"
    return [*(cell(found, each) for each in names), refused, shipped_words(found) or "-"]
