"""The sentences about verdicts, each a template with a meaning: of which properties, within which faults, with which verdict.

Screen, page, citation, JSON and gate take their text from here.  A sentence is made from decided verdicts alone: one that they
do not bear out is an `EngineError`, so it is never printed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from neverlost.checker.engine.outcome import EngineError, Verdict
from neverlost.model import faults
from neverlost.model.any_number import AnyNumber
from neverlost.reports.wording.merged_rows import pluralize
from neverlost.specs.configuration.keys import shown
from neverlost.specs.property import Property

TEMPLATES = {
    "safe whatever else": "{keeps} while {data}, however often and however many others are {out}.",
    "safe up to": "{keeps_all} with {spot}{fewer}.",
    "without a disk": "Brokers that are {out} are enough to {break_it}: no disk has to fail.",
    "broken": "{breaks} with {spot}.",
    "writes stop": "{breaks} with {spot}{kept}.",
    "open": "Not decided{of}: {spot}.",
    "holds": "{says}",
    "not decided": "it is not decided whether {says}",
    "violated": "{failure} {after}",
    "cited holds": "{property} holds in every reachable state",
    "cited proof": "{property} is proved by induction",
    "cited violated": "{property} is violated in {steps} with {faults}",
    "cited open": "{property} is undecided",
    "survives": "survives any {budgets}{most}",
    "survives nothing": "holds without faults, the only case that was tried",
    "breaks": "{failure} {at}",
    "undecided": "undecided {at}",
    "never struck": "this says nothing about {faults}: allowed, but never happened",
    "never a second": "it compares two {things}, and there is one",
}
"""The text of each kind of sentence."""

EVENTS = {each.name: (each.one, each.many) for each in faults.FAULTS} | {
    "crash": ("stop of a broker", "stops of brokers"),
    "kill": ("kill of a broker", "kills of brokers"),
    "out": ("outage of a broker", "outages of brokers"),
    "at_once": ("broker impaired at once", "brokers impaired at once"),
}
"""One event and several, by the kind of fault: how often it happened, not how many brokers suffer at once."""

IMPAIRING = frozenset(each.name for each in faults.FAULTS if each.impairs == faults.BROKER)
ORDER = {name: place for place, name in enumerate(EVENTS)}
PREFIX, SECOND = "faults.", "second_"

Budget = tuple[tuple[str, int | AnyNumber], ...]
"""Faults with how often each may happen (`at_once`: how many brokers they may impair together); others are left out."""


@dataclass(frozen=True)
class Sentence:
    """A sentence with its meaning: with each of the `faults` all `properties` hold, or each has a behaviour that violates at
    least one of them, or nothing is decided.  `faults` are cells of a tolerance table, or budgets."""

    kind: str
    properties: tuple[str, ...]
    verdict: Verdict
    faults: tuple[Any, ...]
    words: Mapping[str, str] = field(repr=False, hash=False)

    def __str__(self) -> str:
        return TEMPLATES[self.kind].format(**self.words)


def say(
    kind: str, names: Iterable[str], verdict: Verdict, decided: Mapping[Any, Verdict], within: Sequence[Any], **words: str
) -> Sentence:
    """Return a sentence about the faults `within`.  Errors: `EngineError` where `decided`, the verdicts by faults, is not the
    verdict that it says."""
    if not within or any(decided.get(each) is not verdict for each in within):
        raise EngineError(f"a sentence {kind!r} that no verdict bears out")
    return Sentence(kind, tuple(names), verdict, tuple(within), words)


def say_verdict(asked: Property, verdict: Verdict, counts: Mapping[str, int] | None = None) -> Sentence:
    """Return the verdict on one property in one configuration: what holds, what is not decided, or what a counterexample with
    so many faults does."""
    if verdict is not Verdict.VIOLATED:
        kind = "holds" if verdict is Verdict.HOLDS else "not decided"
        return Sentence(kind, (asked.name,), verdict, ((),), {"says": asked.says})
    known = sorted_faults(counts or {})
    after = f"after {fault_words(known)}" if known else "without any fault"
    words = {"failure": asked.failure or "is broken", "after": after}
    return Sentence("violated", (asked.name,), verdict, (known,), words)


def cite_verdict(entry: Mapping[str, Any], is_proof: bool = False) -> Sentence:
    """Return the sentence with which the citation of a verdict begins; `is_proof` says that it was proved by induction."""
    name, verdict = entry["name"], Verdict(entry["verdict"])
    if verdict is Verdict.VIOLATED:
        known = sorted_faults(entry["faults"])
        words = {"steps": pluralize(entry["steps"], "step"), "faults": fault_words(known) or "no fault"}
        return Sentence("cited violated", (name,), verdict, (known,), {"property": name, **words})
    kind = "cited open" if verdict is Verdict.INCONCLUSIVE else "cited proof" if is_proof else "cited holds"
    return Sentence(kind, (name,), verdict, ((),), {"property": name})


def say_limits(counts: Mapping[str, int], configuration: Mapping[str, Any]) -> str:
    """Return in words how many of these faults may happen at once, of those that may happen any number of times; else ""."""
    limits = {name: str(shown(configuration.get(PREFIX + name, ""))).partition(",")[0] for name, _ in sorted_faults(counts)}
    most = {name: limit.removeprefix("any:") for name, limit in limits.items() if limit.startswith("any:")}
    written = fault_words(tuple((name, int(limit)) for name, limit in most.items() if limit.isdecimal()))
    return f", never more than {written} at once" if written else ""


def say_never(names: Sequence[str]) -> str:
    """Return of which allowed faults a verdict says nothing, since they never struck, and that there is one of what it compares
    two of; nothing if there are none."""
    single = [f"{each.removeprefix(SECOND)}s" for each in names if each.startswith(SECOND)]
    many = [EVENTS.get(each, (each, each))[1] for each in names if not each.startswith(SECOND)]
    said = [TEMPLATES["never struck"].format(faults=" and ".join(many))] if many else []
    return "; ".join(said + ([TEMPLATES["never a second"].format(things=single[0])] if single else []))


def say_survived(
    names: Sequence[str],
    safe: Sequence[Budget],
    broken: Mapping[Property, Sequence[Budget]],
    undecided: Sequence[Budget],
    at_once: Mapping[Budget, int],
) -> list[Sentence]:
    """Return what a setting survives: the largest budgets within which all properties hold, the smallest numbers of faults that
    break each (with so many brokers impaired `at_once`), and what is not decided."""
    said, budgets = [], [each for each in safe if each]
    if budgets:
        most = "" if broken or undecided else ", the most that was tried"
        words = {"budgets": ", or any ".join(map(fault_words, budgets)), "most": most}
        said.append(Sentence("survives", tuple(names), Verdict.HOLDS, tuple(budgets), words))
    elif safe and not broken and not undecided:
        said.append(Sentence("survives nothing", tuple(names), Verdict.HOLDS, ((),), {}))
    alike: dict[tuple[Budget, ...], list[Property]] = {}
    for asked, fewest in broken.items():
        alike.setdefault(tuple(fewest), []).append(asked)
    for fewest, several in alike.items():
        failure = " and ".join(each.failure or f"breaks {each.name}" for each in several)
        words = {"failure": failure, "at": " or ".join(_after(each, at_once.get(each)) for each in fewest)}
        said.append(Sentence("breaks", tuple(each.name for each in several), Verdict.VIOLATED, fewest, words))
    if undecided:
        at = " or ".join(f"with {fault_words(each)}" if each else "without any fault" for each in undecided)
        said.append(Sentence("undecided", tuple(names), Verdict.INCONCLUSIVE, tuple(undecided), {"at": at}))
    return said


def _after(counts: Budget, at_once: int | None) -> str:
    """Return the faults of a counterexample; of several that impair brokers, how many are impaired at once."""
    struck = sum(many for name, many in counts if isinstance(many, int) and name in IMPAIRING)
    impaired = f" ({at_once} impaired at once)" if struck > 1 and at_once is not None else ""
    return f"after {fault_words(counts)}{impaired}" if counts else "without any fault"


def say_left_out(cells: int) -> str:
    """Return in words how many cells a rule leaves out, in which a property holds vacuously."""
    are = "is" if cells == 1 else "are"
    return f"{pluralize(cells, 'cell')} in which it holds vacuously {are} left out"


def sorted_faults(counts: Mapping[str, int | AnyNumber]) -> Budget:
    """Return numbers of faults by kind, without `faults.` and without zeros, in the declared order of kinds."""
    found = {name.removeprefix(PREFIX): count for name, count in counts.items() if count}
    return tuple(sorted(found.items(), key=lambda each: (ORDER.get(each[0], len(ORDER)), each)))


def fault_words(counts: Budget) -> str:
    """Return numbers of faults as text, such as `1 lossy crash and 2 kills of brokers`."""
    parts = [_fault(name, limit) for name, limit in counts]
    return " and ".join([", ".join(parts[:-1]), parts[-1]] if len(parts) > 1 else parts)


def _fault(name: str, limit: int | AnyNumber) -> str:
    one, many = EVENTS.get(name, (name, name))
    if isinstance(limit, int):
        return f"{limit} {many if limit > 1 else one}"
    if limit.counts_as:
        return f"number of {many}, each counted as a {EVENTS[limit.counts_as][0]}"
    if limit.beside:
        return f"number of {many}, at once " + ", ".join(
            f"{n} beside {lost} that lose data" for lost, n in enumerate(limit.beside)
        )
    return f"number of {many}" + ("" if limit.at_once is None else f", {limit.at_once} at once")
