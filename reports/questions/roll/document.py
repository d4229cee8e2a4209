"""The result of `roll` as sentences."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from neverlost.reports.wording.merged_rows import pluralize

FURTHER = {"data_loss": "loses data", "kill": "is killed", "fence": "is cut off"}
"""How a further fault reads after "if another then"."""


def lines(document: Mapping[str, Any]) -> Iterable[str]:
    """Yield a line for each broker, those that may be stopped first; then the order, and what to do first."""
    for broker, each in document["brokers"].items():
        wrong = describe_stop(each["now"])
        is_open = wrong.startswith("not decided")
        stop = f"{'may not be safe to stop' if is_open else 'must not be stopped'}: {wrong}" if wrong else "may be stopped"
        then = [f"{words}: {describe_stop(each['then'][name]) or 'ok'}" for name, words in FURTHER.items()]
        yield f"broker {broker} {stop}. If another then {'; '.join(then)}."
    yield from order(document)


def order(document: Mapping[str, Any]) -> Iterable[str]:
    """Yield the order in which to restart brokers, and what to do before."""
    groups = ", then ".join(" and ".join(each) for each in document["order"])
    if groups:
        yield f"Restart {document['at_a_time']} at a time: {groups}; go on when every ISR is what it was."
    yield from (f"Before the others, {name_partitions(each['partitions'])}: {each['do']}." for each in document["first"])


def describe_stop(says: dict[str, list[str]]) -> str:
    """Return what a stop does to which partitions, the worst first; an empty text if nothing happens."""
    return "; ".join(f"{each} on {name_partitions(names)}" for each, names in reversed(says.items()) if each != "ok")


def verdict(document: Mapping[str, Any]) -> str:
    """Return a sentence with how many brokers may be stopped now."""
    may = [each["may_be_stopped"] for each in document["brokers"].values()]
    return f"{sum(may)} of {pluralize(len(may), 'broker')} may be stopped now"


def name_partitions(partitions: list[str], most: int = 3) -> str:
    """Return the first `most` partitions by name, and how many more there are."""
    left = len(partitions) - most
    return ", ".join(partitions[:most]) + (f" and {left} more" if left > 0 else "")
