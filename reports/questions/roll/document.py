"""The result of `roll` as sentences."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from neverlost.checker.questions.roll.controller_stop import NO_LEADER, QUORUM
from neverlost.checker.questions.roll.rolling_restart import OFFLINE
from neverlost.checker.questions.tolerance.cell_words import ACCEPTED, LOST, OK, STOPS, UNDECIDED
from neverlost.reports.questions.roll.step import BY_BUGS, step_lines
from neverlost.reports.wording.merged_rows import name_some, pluralize
from neverlost.reports.wording.provenance import SPOKEN, notice_sentence
from neverlost.specs.setting import NoticeKind, Origin

FURTHER = {"data_loss": "loses data", "kill": "is killed", "fence": "is cut off"}
"""How a further fault reads after "another broker that"."""


def lines(document: Mapping[str, Any]) -> Iterable[str]:
    """Yield whether to go on, what stands against each broker that may not be stopped, the order, what to do first, and what
    may happen meanwhile; of one broker whether to restart it."""
    if "step" in document:
        yield from step_lines(document["step"], document["by_bugs"])
        yield from meanwhile(document)
        return
    yield verdict(document)
    is_left_out = any(each["kind"] == NoticeKind.LEFT_OUT for each in document["notices"])
    for broker, each in document["brokers"].items():
        hint = "" if is_left_out or QUORUM in each["now"].get(UNDECIDED, ()) else "; give it more time with --time-limit"
        wrong = "" if each["may_be_stopped"] else describe_stop(each["now"], document)
        if is_unknown(each):
            yield f"broker {broker}: unknown, which is not a no ({wrong}){hint}."
        elif wrong:
            yield f"broker {broker} must not be stopped: {wrong}."
    yield from order(document)
    yield from meanwhile(document)


def order(document: Mapping[str, Any]) -> Iterable[str]:
    """Yield the order in which brokers restart, what has to be done before the first, and what is not known of controllers."""
    now, later = (_restart(document.get(key, ()), document["at_a_time"]) for key in ("order", "order_then"))
    if now:
        yield f"Restart {now}; {WAIT}."
    if document.get("moved"):
        yield f"A reassignment of {name_some(document['moved'])} is under way; it need not be complete before a restart."
    for number, each in enumerate(document["first"], 1):
        mark = BY_BUGS * (set(each["partitions"]) <= set(document["by_bugs"]))
        is_any = len(each["brokers"]) == len(document["brokers"])
        *some, last = each["brokers"]
        before = "Before any restart" if is_any else f"Before a restart of {', '.join(some)}{' or ' * bool(some)}{last}"
        yield f"{number}. {before}, {_name_topics(each['partitions'], len(each['partitions']))}: {each['do']}{mark}."
    if any(each["event"] in ("isr", "reassignment") for each in document["first"]):
        yield "The guide (reports/guide/roll.md) says what to do if a replica stays away, or a reassignment does not end."
    if later:
        yield f"Once all of that is done, restart {later}; {WAIT}."
    if now or later:
        yield (
            "Wait until kafka-topics.sh --bootstrap-server HOST:PORT --describe lists none with --under-replicated-partitions"
            " or --unavailable-partitions. It is assumed that nothing which was sent before a stop is still on its way."
        )
    both = [each for each in document["controllers"] if each in document["brokers"]]
    if document["controllers"]:
        votes = f"a restart of {' or '.join(both)} takes a vote, which this answer counts" if both else "no broker here is one"
        yield f"The controllers are {', '.join(document['controllers'])}: {votes}."
    yield from (f"Not known: {each}." for each in document["not_known"])


MOST_LABELS = 3
"""The most groups of topics that are named, or whose settings are printed; of more, they stand in the document."""


def input_lines(document: Mapping[str, Any]) -> Iterable[str]:
    """Yield what is to be known of the input, then each assumed value, in a line; with its topics where it is not about all."""
    said: dict[str, list[str]] = {}
    for each in document["notices"]:
        if each["kind"] in SPOKEN:
            said.setdefault(f"{each['kind']}: {notice_sentence(each)}", []).extend(each["topics"])
    for key, value in document["assumed"].items():
        labels = [label for label, own in document["differ"].items() if own.get(key, {}).get("how") == Origin.ASSUMED]
        said[f"assumed: {key}={value}"] = labels if len(labels) <= MOST_LABELS else [f"{len(labels)} groups of topics"]
    for line, topics in said.items():
        is_named = not topics or any(each.partition(" ")[0] in line for each in topics)
        yield line if is_named else f"{line} ({name_some(topics)})"


def _restart(groups: Sequence[Sequence[str]], at_a_time: int) -> str:
    """Return which brokers restart together and in which order; of brokers that restart singly each may be the first."""
    if at_a_time > 1:
        return f"{at_a_time} at a time: " * bool(groups) + ", then ".join(" and ".join(each) for each in groups)
    return ", ".join(each for [each] in groups) + ", one at a time, in any order" * (len(groups) > 1)


def _name_topics(partitions: Collection[str], most: int = 5) -> str:
    """Return up to three partitions by name; of more, how many each topic has, for up to `most` topics."""
    many: dict[str, list[str]] = {}
    for each in partitions:
        many.setdefault(each.rpartition("-")[0], []).append(each)
    names = [f"{topic} ({len(every)} partitions)" if len(every) > 1 else every[0] for topic, every in many.items()]
    return name_some(names, most) if len(partitions) > 3 else ", ".join(partitions)


WAIT = "after each, wait until all replicas are in the ISR again"
"""What to see to between two restarts."""


def meanwhile(document: Mapping[str, Any]) -> Iterable[str]:
    """Yield where a further fault, while a broker is down, loses records, stops writes or is undecided (a line for all faults
    that do the same to the same partitions); then, unless `defects=fixed`, what known bugs mean for it."""
    is_designed = document["sources"].get("defects", {}).get("value") == "fixed"
    found: dict[tuple[str, tuple[str, ...]], list[str]] = {}
    for fault, words in FURTHER.items():
        says = [each["then"][fault] for each in document["brokers"].values()]
        left: set[str] = set()  # a partition counts by the worst that happens to it
        for kind in MEANWHILE:
            which = {name for each in says for word, names in each.items() if word.startswith(kind) for name in names} - left
            left |= which
            if which:
                found.setdefault((kind, tuple(sorted(which))), []).append(words)
    for (kind, names), faults in found.items():
        yield f"While a broker is down, another that {' or '.join(faults)} {MEANWHILE[kind]} on {_name_topics(names)}."
    yield (
        "Stop no broker while another is failing or slow. "
        "Preferred elections: the one that controllers hold by themselves after a broker returns is part of this answer. "
        "Run no kafka-leader-election.sh --election-type PREFERRED while a replica is out of an ISR."
    )
    if not is_designed and any(kind == LOST for kind, _ in found):
        yield (
            "This is about Kafka as released, with its known bugs: neverlost tolerance names them, and what avoids each. "
            "There, stops and elections are any number; here, they are one stop and one election after it."
        )


MEANWHILE = {LOST: "may lose records", UNDECIDED: "is not decided", STOPS: "stops writes"}
"""What a further fault does, the worst first."""


def describe_stop(says: dict[str, list[str]], document: Mapping[str, Any]) -> str:
    """Return what a stop does to which partitions, the worst first; an empty text if only what was accepted happens.
    Marked as that are a loss which bugs of the release alone cause (`by_bugs`), and what happens `without_stop` too."""
    found: dict[str, list[str]] = {}
    for word, name in ((word, name) for word, names in reversed(says.items()) for name in names if word not in (OK, ACCEPTED)):
        kind = word.partition(",")[0]
        is_without = name in document["without_stop"].get(kind, ())
        words = WITHOUT_STOP[kind] if is_without else WORDS.get(kind, kind)
        found.setdefault(words + BY_BUGS * (kind == LOST and name in document["by_bugs"]), []).append(name)
    return "; ".join(
        f"{each} on {_name_topics(names)}" if names != [QUORUM] or each == UNDECIDED else each for each, names in found.items()
    )


WORDS = {
    LOST: "an acknowledged record can be lost, by the stop or a preferred leader election after it",
    NO_LEADER: "no majority of the controllers would be left",
    OFFLINE: "offline already (restart it only where neverlost rescue asks for it)",
}
WITHOUT_STOP = {
    STOPS: "writes are refused already",
    LOST: "a preferred election can lose an acknowledged record with or without this stop",
}


def is_unknown(broker: Mapping[str, Any]) -> bool:
    """Return True if nothing stands against the stop of a broker but what is not decided."""
    return UNDECIDED in broker["now"] and {*broker["now"]} <= {UNDECIDED, OK, ACCEPTED}


def verdict(document: Mapping[str, Any]) -> str:
    """Return "Go" (and whether one more failure may lose records), "Unknown" or "No go", and how many may be stopped now."""
    may = [each["may_be_stopped"] for each in document["brokers"].values()]
    unknown = list(filter(is_unknown, document["brokers"].values()))
    then = [word for each in document["brokers"].values() for says in each["then"].values() for word in says]
    word = "Go" if all(may) else "Unknown" if len(unknown) == len(may) - sum(may) else "No go"
    may_stop = "are known to be safe to stop now" if word == "Unknown" else "may be stopped now"
    many, end = f"{sum(may)} of {pluralize(len(may), 'broker')}", ""
    if document["at_a_time"] == 1 and sum(may) > 1:
        many, end = (f"any one of the {len(may)} brokers", "") if all(may) else (many, ", one at a time")
    for_all = " for all" * (word == "No go" and any(may))
    is_lost_by_one_more = word == "Go" and any(each.startswith((LOST, UNDECIDED)) for each in then)
    below = ". What one more failure may lose while it is down stands below" * is_lost_by_one_more
    return f"{word}{for_all}: {many} {may_stop}{end}{below}."
