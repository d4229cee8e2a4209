"""The answers about one state of a partition, as the document of `--json` and as lines for people.

Sentences of the model number records and offsets from the first that is shown; here they have the names of the figure.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from neverlost.checker.engine.outcome import Behaviour, Outcome, Verdict, worst
from neverlost.checker.questions.coverage import list_never_struck
from neverlost.checker.questions.state.single_state import FaultEffect, SingleState
from neverlost.model.faults import BY_NAME, DISK_LOSS, KILL, LOSSY_CRASH
from neverlost.model.kernel import NO_REPLICA
from neverlost.model.sentences import sentences
from neverlost.model.system import System
from neverlost.reports.terminal.results import summary
from neverlost.specs.configuration.choose import Chosen
from neverlost.specs.configuration.keys import shown
from neverlost.specs.configuration.partition_state import Figure

SCHEMA = "neverlost.state/1"
RECORD, OFFSET = re.compile(r"\bm(\d+)\b"), re.compile(r"(offset |HW(?: of \S+)? |-> )(\d+)")
STRUCK = {KILL.name: "is killed", LOSSY_CRASH.name: "loses power", DISK_LOSS.name: "loses its disk"}


def answer_document(figure: Figure, chosen: Chosen, found: SingleState, explored: Outcome | None) -> dict[str, Any]:
    """Return what is said of a state under one configuration: records, elections, single faults, and what was explored."""
    said = summary(chosen.configuration, chosen.release)
    effects = [_effect(figure, each) for each in found.effects]
    verdicts = [each["verdict"] for each in effects] + [Verdict.VIOLATED for _ in found.broken]
    verdicts += [str(each.verdict) for each in explored.findings] if explored else []
    return {
        "model": chosen.model.name,
        "config": {name: shown(value) for name, value in chosen.configuration.items()},
        "summary": f"Kafka {chosen.release}: {said}" if chosen.release else f"model {chosen.model.name}: {said}",
        "verdict": str(worst(verdicts, explored.reason if explored else None)),
        "records": sorted(
            (_record(figure, found, number) for number in range(1, len(figure.records) + 1)), key=lambda each: each["offset"]
        ),
        "broken_now": [{"name": each.name, "says": each.says} for each in found.broken],
        "elections": [
            {
                "when": f"broker {figure.brokers[each.broker]} {each.when}",
                "may_be_elected": [figure.brokers[broker] for broker in each.may],
                "elected": [figure.brokers[broker] for broker in each.elected],
            }
            for each in found.elections
        ],
        "single_faults": effects,
        "explored": _explored(figure, explored) if explored else None,
    }


def shown_state(figure: Figure) -> dict[str, Any]:
    """Return the state that a figure's file shows, for the document."""
    state = figure.state
    return {
        "file": figure.where,
        "leader": _name(figure, state.leader),
        "isr": [figure.brokers[each] for each in sorted(state.isr)],
        "elr": [figure.brokers[each] for each in sorted(state.elr)],
        "brokers": [
            {"broker": name, "up": runs, "log": [figure.records[each - 1] for each in log], "log_end": figure.offset(len(log))}
            for name, runs, log in zip(figure.brokers, state.runs, state.logs, strict=True)
        ],
    }


def _name(figure: Figure, broker: int) -> str | None:
    return None if broker == NO_REPLICA else figure.brokers[broker]


def _record(figure: Figure, found: SingleState, number: int) -> dict[str, Any]:
    holders = {figure.brokers[each]: log.index(number) for each, log in enumerate(figure.state.logs) if number in log}
    return {
        "record": figure.records[number - 1],
        "offset": figure.offset(min(holders.values())),
        "brokers": list(holders),
        "committed": number in found.committed,
        "readable": number in found.readable,
        "acknowledged": number in found.acknowledged,
    }


def _effect(figure: Figure, each: FaultEffect) -> dict[str, Any]:
    return {
        "broker": figure.brokers[each.broker],
        "fault": each.fault,
        "is_down": each.is_down,
        "verdict": str(each.verdict),
        "lost": [figure.records[record - 1] for record in each.lost],
        "steps": _steps(figure, each.system, each.trace) if each.trace else [],
    }


def _explored(figure: Figure, outcome: Outcome) -> dict[str, Any]:
    return {
        "properties": [
            {
                "name": each.property.name,
                "verdict": str(each.verdict),
                "steps": _steps(figure, outcome.system, each.trace) if each.trace else [],
            }
            for each in outcome.findings
        ],
        "states": outcome.counts.distinct,
        "never_happened": list(list_never_struck(outcome.system, outcome.fired)),
        "reason": outcome.reason,
    }


def _steps(figure: Figure, system: System, trace: Behaviour) -> list[str]:
    """Return the steps of a behaviour in sentences, with the names of the figure."""

    def name(match: re.Match[str]) -> str:
        number = int(match[1])
        return figure.records[number - 1] if number <= len(figure.records) else f"new record {number - len(figure.records)}"

    said = sentences(system, trace.states, trace.steps, figure.brokers)[1:]
    moved = [OFFSET.sub(lambda match: f"{match[1]}{figure.offset(int(match[2]))}", each) for each in said]
    return [RECORD.sub(name, each) for each in moved]


def lines(document: Mapping[str, Any]) -> Iterator[str]:
    """Yield the lines that people read: the state, and the answers about it."""
    state = document["state"]
    isr, elr = (", ".join(state[each]) or "empty" for each in ("isr", "elr"))
    down = ", ".join(each["broker"] for each in state["brokers"] if not each["up"])
    leader = f"leader {state['leader']}" if state["leader"] else "no leader"
    yield f"{leader}, ISR {isr}{f', ELR {elr}' if state['elr'] else ''}{f', down: {down}' if down else ''}"
    for answer in document["answers"]:
        yield ""
        yield from _answer_lines(answer)


def _answer_lines(answer: Mapping[str, Any]) -> Iterator[str]:
    yield answer["summary"]
    for each in answer["records"]:
        words = [word if each[word] else f"not {word}" for word in ("committed", "readable", "acknowledged")]
        yield f"  {each['record']} at offset {each['offset']}, on {', '.join(each['brokers'])}: {', '.join(words)}"
    for each in answer["broken_now"]:
        yield f"broken in this state already: {each['name']} ({each['says']})"
    for each in answer["elections"]:
        yield f"if {each['when']}: {_elected(each)}"
    yield "one fault and nothing else:"
    for each in answer["single_faults"]:
        lost = f"can lose acknowledged {', '.join(each['lost'])}" if each["lost"] else "nothing that was acknowledged is lost"
        yield f"  {_struck(each)}: {'not decided' if each['verdict'] == Verdict.INCONCLUSIVE else lost}"
    for each in (one for one in answer["single_faults"] if one["steps"]):
        yield f"how {each['lost'][0]} is lost when {_struck(each)}:"
        yield from (f"  {number}. {step}" for number, step in enumerate(each["steps"], 1))
        break
    if answer["explored"] is not None:
        yield from _explored_lines(answer["explored"])


def _elected(election: Mapping[str, Any]) -> str:
    if not election["may_be_elected"]:
        return "no broker may be elected, the partition has no leader"
    may, elected = (" or ".join(election[each]) for each in ("may_be_elected", "elected"))
    return f"{may} may be elected" + (f"; in assignment order or by the set policy it is {elected}" if may != elected else "")


def _struck(effect: Mapping[str, Any]) -> str:
    return f"broker {effect['broker']}{', which is down,' if effect['is_down'] else ''} {STRUCK[effect['fault']]}"


def _explored_lines(explored: Mapping[str, Any]) -> Iterator[str]:
    yield f"with the faults that were set, {explored['states']} states:"
    is_broken = any(each["verdict"] == Verdict.VIOLATED for each in explored["properties"])
    for each in explored["properties"]:
        ended = " (the search ended at the violation)" if each["verdict"] == Verdict.INCONCLUSIVE and is_broken else ""
        yield f"  {each['verdict'].upper():12} {each['name']}{ended}"
        yield from (f"    {number}. {step}" for number, step in enumerate(each["steps"], 1))
    for fault in explored["never_happened"]:
        yield f"  never happened, so nothing is said about it: {BY_NAME[fault].one}"
    if explored["reason"]:
        yield f"  {explored['reason']}"
