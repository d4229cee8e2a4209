"""`tolerance` decides how many brokers may lose data, while how many others are out, before a record is lost or writes stop."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, partial
from itertools import product
from os import PathLike
from typing import Any, Unpack

import neverlost
from neverlost.checker.engine.outcome import Behaviour, Verdict, worst
from neverlost.checker.engine.search.options import Options, Reporter
from neverlost.checker.questions.atlas import lookup
from neverlost.checker.questions.atlas.index import Atlas, shipped
from neverlost.checker.questions.tolerance import tolerance as tolerance_search
from neverlost.checker.questions.tolerance.fault_budget import AXES, OF_MEMBERS, FaultBudget, spots_of
from neverlost.checker.questions.tolerance.tolerance import CellVerdict, Tolerance
from neverlost.model.any_number import AnyNumber
from neverlost.model.kernel import Sizes
from neverlost.model.kraft.mechanisms import BY_NAME
from neverlost.model.plain import plain
from neverlost.model.protocols import models
from neverlost.model.system import System, bind
from neverlost.reports.bundle.keep import writes_bundle
from neverlost.reports.documents import result as describe_outcome
from neverlost.reports.questions.tolerance import document as describe
from neverlost.reports.request.inputs import describe_subject, make_labels, read_configurations, select_topics
from neverlost.reports.request.keywords import Searching, Settings
from neverlost.reports.request.run_options import RunOptions
from neverlost.reports.results.results import Answer
from neverlost.specs.configuration import keys
from neverlost.specs.configuration.canonical import sizes_of
from neverlost.specs.configuration.choose import (
    OURS,
    OUTSIDE,
    Chosen,
    change_settings,
    read_given,
    read_settings,
    say_what_is_left_out,
)
from neverlost.specs.errors import InputError
from neverlost.specs.inputs import remedies
from neverlost.specs.properties import choose_properties, list_defined, require_fields
from neverlost.specs.property import SAFETY, Property
from neverlost.specs.setting import Notice, NoticeKind, assumed, sources

Path = str | PathLike[str]

RECORDS = "bounds.records"
"""The key that says how many records a table is about: one, unless more are asked for."""

LOOKED_UP = ("kill", "leader_move")
"""Other faults of which the atlas says what they change."""


@dataclass(frozen=True)
class ToleranceSubject:
    """A configuration with its table; a configuration as designed and the same as shipped have one `label`.  `beside` are
    tables in which another fault, by its name, may happen any number of times; `advice` is the change that helps most with the
    table after it, which does not name the faults that never struck."""

    label: str
    chosen: Chosen
    table: Tolerance
    beside: Mapping[str, Tolerance]
    advice: tuple[remedies.Changes, Tolerance] | None = None

    @property
    def difference(self) -> str:
        """The settings that distinguish this configuration from other ones of the same topics, as text; else empty."""
        return self.label.removeprefix(describe_subject(self.chosen))


@dataclass(frozen=True, repr=False)
class ToleranceResult(Answer):
    """A table for each configuration: a verdict for each number of brokers that lose data while a number of others are out."""

    verdict: str
    tolerance: Mapping[str, Sequence[Mapping[str, Any]]] = field(repr=False)
    subjects: tuple[ToleranceSubject, ...] = field(repr=False)

    def __repr__(self) -> str:
        if describe.get_main(self.subjects[0].table) is None or not any(each.chosen.subjects for each in self.subjects):
            return super().__repr__()
        from neverlost.reports.questions.tolerance.overview import overview

        return f"<ToleranceResult {self.verdict.upper()}: {overview(self.document).headline[0]}>"

    def rows(self) -> Sequence[Mapping[str, Any]]:
        return [{"subject": subject, **row} for subject, rows in self.tolerance.items() for row in rows]


@writes_bundle
def tolerance(
    settings: Settings = None,
    *,
    config: Path | None = None,
    kafka_version: str | None = None,
    properties: Iterable[str] | None = None,
    also: Settings = None,
    beside: Iterable[str] | None = None,
    again: bool = False,
    out: Path | None = None,
    progress: Reporter | None = None,
    topics: Sequence[str] | None = None,
    files: Mapping[str, Any] | None = None,
    decided: Callable[[Sequence[ToleranceSubject], int], None] | None = None,
    **search: Unpack[Searching],
) -> ToleranceResult:
    """Decide the table of a configuration, or of each distinct one of a described cluster.  `settings`, `config`,
    `kafka_version` and `topics` are those of `check`, and `files` its Kafka files by the names of its parameters
    (`{"describe": "topics.txt"}`), without limits of faults: the table varies them. `also` allows other faults everywhere,
    such as `{"faults.kill": "any"}`; `beside` names faults of which it is said what they change.
    What the atlas knows is looked up, unless it is to be decided `again`. Unless `defects` says which, there are two tables
    for each configuration: Kafka as designed, and as shipped with its known defects. `decided` is called with the tables about
    the same topics as soon as they are there, and how many such groups there are: what is looked up first, the worst of it
    first. With `out` an evidence bundle is written into that directory. Errors: `InputError` for bad input; for a fault in
    `beside` that contradicts a configuration only after a first table."""
    request = RunOptions(**search)
    every = list(read_subjects(settings, config, kafka_version, files or {}, topics or ()))
    more = [_parse_other_limits(each, also) for each in every]
    for name, each in product(beside or (), every):
        keys.key_of(f"faults.{name}", "--with", each.model.keys)
    tables = Tables(properties, request, progress, None if again else shipped(), every)
    labels, made = make_labels(every), dict[int, ToleranceSubject]()
    groups = {label: [number for number, other in enumerate(labels) if other == label] for label in labels}

    def make(numbers: Sequence[int]) -> list[ToleranceSubject]:
        for each in numbers:
            is_advised = each == numbers[0]  # as designed, where both are asked: no setting mends a bug
            made[each] = _subject(labels[each], every[each], more[each], tuple(beside or ()), tables, is_advised)
        return [made[each] for each in numbers]

    known: list[list[int]] = []
    unknown_yet: list[list[int]] = []
    for numbers in groups.values():
        is_known = all(tables.is_known(every[each], more[each]) for each in numbers)
        (known if is_known else unknown_yet).append(numbers)
    known.sort(key=lambda numbers: -max(tables.how_many_lost(every[each], more[each]) for each in numbers))
    unknown_yet.sort(key=lambda numbers: max(tables.estimate_effort(every[each]) for each in numbers))
    for numbers in (*known, *unknown_yet):
        group = make(numbers)
        if decided is not None:
            decided(group, len(groups))
    found = [made[number] for number in range(len(every))]
    document = _document(found)
    return ToleranceResult.of(document, subjects=tuple(found))


def read_subjects(
    settings: Settings, config: Path | None, version: str | None, files: Mapping[str, Any], topics: Sequence[str] = ()
) -> Iterator[Chosen]:
    """Yield each distinct configuration as designed and as shipped (or only as `defects` says).  Errors: `InputError` for
    limits of faults that are set, and for models that have not the keys which a table varies."""
    given = read_given(config, settings)
    named = models().get(str(given["model"][0])) if "model" in given else None
    has_default = RECORDS in given or (named is not None and RECORDS not in named.keys)
    every = read_configurations(given if has_default else {RECORDS: (1, OURS), **given}, version, **files)
    every = select_topics(every, topics) if topics else every
    for each in every:
        limited = [name for name, value in each.configuration.items() if name.startswith("faults.") and value]
        if limited:
            raise InputError(f"{limited[0]} is set: tolerance varies the faults itself; allow others with --also")
        missing = [key for key in AXES if key not in each.model.keys]
        if "acks" not in each.model.keys or (missing and not set(OF_MEMBERS) <= set(each.model.keys)):
            raise InputError(
                f"model {each.model.name!r} has no {(*missing, 'acks')[0]}; use a modern model, or kafka.version=X.Y"
            )
    for each in merge_equal(every):
        if "defects" not in given and "defects" in each.model.keys:
            yield change_settings(each, {"defects": "fixed"})
        yield say_what_is_left_out(warn_if_one_record_hides_losses(each))


def is_as_designed(chosen: Chosen) -> bool:
    """Return True if a configuration is Kafka as designed, without the known defects of its version."""
    return bool(chosen.configuration.get("defects") == "fixed")


STATES_AS_SHIPPED, STATES_OF_STANDING, STATES_OF_DANGER = 1_000_000, 60_000, 4_000_000
"""The most states of all searches together: about Kafka as shipped beside the same as designed; about partitions that begin as
they stand (offline, moved, or on their last replicas) and are moved or as shipped beside; about the others of these and, among
many tables, all with a replica outside the ISR, or with more than `MOST_REPLICAS` that the atlas does not know.  Such a table
is searched no further once a cell of it is not decided."""

MOST_REPLICAS = 3
"""The most replicas of which a table or a region is searched in seconds."""

FEW = 4
"""Of more tables than these, those as shipped beside the same as designed are looked up only."""

DIVERGING = BY_NAME["diverging-fetch-ignored"].key
"""Without this rule (Kafka before 3.0 as shipped) a loss may need logs that diverge, which takes two records (decision 056)."""


def warn_if_one_record_hides_losses(chosen: Chosen) -> Chosen:
    """Return the configuration, with a warning if a table for one record may miss a loss in it."""
    if chosen.configuration[RECORDS] > 1 or chosen.configuration.get(DIVERGING, True):
        return chosen
    says = "one record cannot show what logs that diverge lose, as before 3.0 as shipped: a table without a loss may have one"
    return replace(chosen, notices=(*chosen.notices, Notice(NoticeKind.WARNING, says, "", f"--set {RECORDS}=2 decides it")))


def merge_equal(every: Sequence[Chosen]) -> list[Chosen]:
    """Merge configurations that mean the same; each remaining one has the topics and notices of all that it stands for."""
    found: dict[str, list[Chosen]] = {}
    for each in every:
        racks = sorted(each.configuration.get("broker.rack", ()))
        asked = plain(lookup.question(each.model, each.configuration))
        key = json.dumps([each.model.name, racks, asked, each.left_out is None], sort_keys=True)
        found.setdefault(key, []).append(each)
    return [
        replace(
            same[0],
            settings={
                key: each.cited_for((one.subjects, one.settings.get(key)) for one in same)
                for key, each in same[0].settings.items()
            },
            subjects=tuple(dict.fromkeys(name for each in same for name in each.subjects)),
            notices=tuple(dict.fromkeys(notice for each in same for notice in each.notices)),
            brokers={name: one for each in same for name, one in each.brokers.items()},
            places={name: one for each in same for name, one in each.places.items()},
            out={name: one for each in same for name, one in each.out.items()},
        )
        for same in found.values()
    ]


def _parse_other_limits(chosen: Chosen, also: Settings) -> dict[str, Any]:
    """Parse the limits of other faults that are allowed everywhere.  Errors: `InputError` for a key that is no limit of a
    fault, or that the table varies, and for limits that contradict the configuration."""
    more: dict[str, Any] = {}
    for name, (raw, where) in read_settings(also).items():
        key = name if name.startswith("faults.") else f"faults.{name}"
        if key in AXES:
            raise InputError(f"{key} in {where}: the table varies it; name another fault")
        more[key] = keys.key_of(key, where, chosen.model.keys).parse(raw, where)
    _require_sense(chosen, more)
    return more


def _require_sense(chosen: Chosen, more: Mapping[str, Any]) -> None:
    wrong = _contradiction(chosen, more)
    if wrong is not None:
        raise InputError(wrong)


@dataclass
class Tables:
    """Computes and caches tables, of `every` configuration of a question; after an interrupt only known answers are used."""

    names: Iterable[str] | None
    request: RunOptions
    progress: Reporter | None
    atlas: Atlas | None
    every: Sequence[Chosen] = ()

    def __post_init__(self) -> None:
        self._made: dict[str, Tolerance] = {}
        self._sizes: set[tuple[str, Sizes]] = set()
        self._asked: dict[tuple[int, Sizes], list[Property]] = {}
        self._options = replace(self.request, orbits=True).options()
        self._has_both = {is_as_designed(each) for each in self.every} == {True, False}
        self._limited = sum(map(self._is_limited, self.every))

    def of(self, chosen: Chosen, more: Mapping[str, Any], known_only: bool = False, strikes: bool = True) -> Tolerance | None:
        """Return a configuration's table; if it leaves something out, safety that holds in it is undecided.  None if
        `known_only` and it would need a search.  Without `strikes`, it may not name the faults that never struck."""
        asked = {**chosen.configuration, **more}
        sizes = chosen.model.name, sizes_of(chosen.model, asked)
        is_near = sizes in self._sizes
        if known_only and not (is_near or self.is_known(chosen, more)):
            return None
        key = json.dumps([chosen.model.name, plain(lookup.question(chosen.model, asked)), strikes])
        if key not in self._made:
            if known_only and is_near and not self.is_known(chosen, more):
                return None
            question, wanted = (chosen.model, chosen.configuration), self.asked(chosen)
            found, options, known = Tolerance(*question, more, {}), self._options_for(chosen), lookup.find_known(self.atlas)
            for spots in self._in_steps(chosen):
                is_open = bool(found.entries) and self._is_limited(chosen) and not describe.is_decided(found)
                limits, engine = None if is_open else options, self.request.engine
                part = tolerance_search.tolerance(*question, wanted, limits, more, engine, self.progress, known, spots, strikes)
                found = replace(found, entries={**found.entries, **part.entries})
            self._sizes.add(sizes)
            self._made[key] = found = replace(found, entries={spot: found.entries[spot] for spot in sorted(found.entries)})
            if found.is_interrupted:
                self._options = self._options.out_of_time()
        found = self._made[key] if chosen.left_out is None else self._made[key].undecided()
        return replace(found, configuration=chosen.configuration, more=more)

    def _options_for(self, chosen: Chosen) -> Options | None:
        """Return the options of the next search, or None if there is to be no search.  A limit that is set here is a number of
        states, not of seconds, so that every machine decides the same."""
        if self._is_limited(chosen):
            is_small = remedies.moved_in(chosen.configuration) or self._is_beside(chosen)
            states = (STATES_OF_STANDING if is_small else STATES_OF_DANGER) // max(self._limited, 1)
        elif self._is_beside(chosen) and len(self.every) > FEW:
            return None
        elif self._is_beside(chosen):
            states = STATES_AS_SHIPPED // len(self.every)
        else:
            return self._options
        return replace(self._options, limits=replace(self._options.limits, states=states))

    def _is_limited(self, chosen: Chosen) -> bool:
        """Return True for a table of partitions as they stand and, among many, of one outside the ISR and of more than
        `MOST_REPLICAS` that the atlas does not know."""
        if chosen.is_standing or len(self.every) <= FEW or self._is_beside(chosen):
            return chosen.is_standing
        is_large = chosen.configuration["replication.factor"] > MOST_REPLICAS
        return bool(chosen.configuration.get(OUTSIDE)) or (is_large and not self.is_known(chosen, {}))

    def _is_beside(self, chosen: Chosen) -> bool:
        """Return True for Kafka as shipped where the same is asked as designed."""
        return self._has_both and not is_as_designed(chosen)

    def _in_steps(self, chosen: Chosen) -> list[list[FaultBudget]]:
        """Return the cells that each search decides: all in one, or, where it is limited, one each, few brokers first."""
        spots = spots_of(chosen.configuration)
        if not self._is_limited(chosen):
            return [spots]
        return [[each] for each in sorted(spots, key=lambda spot: (spot.losing + spot.out, spot.out))]

    def estimate_effort(self, chosen: Chosen) -> tuple[bool, int, int]:
        """Return a sort key of what a table takes: first if it is in danger now, then its searches, then initial states."""
        return not chosen.is_standing, len(self._in_steps(chosen)), len(list(chosen.model.initial(chosen.configuration)))

    def how_many_lost(self, chosen: Chosen, more: Mapping[str, Any]) -> int:
        """Return in how many cells of its table a record can be lost, or nothing is decided."""
        table = self.of(chosen, more)
        assert table is not None
        return describe.count_losses(table)

    def asked(self, chosen: Chosen) -> list[Property]:
        """Return the properties that a table decides.  Errors: `InputError` for a property that the model does not define."""
        layout = id(chosen.model), sizes_of(chosen.model, chosen.configuration)
        if layout not in self._asked:
            system = bind(chosen.model, chosen.configuration)
            asked = choose_properties(chosen.model, self.names or list_defined(system, describe.OF_TABLES))
            require_fields(system, asked)
            self._asked[layout] = asked
        return self._asked[layout]

    def is_known(self, chosen: Chosen, more: Mapping[str, Any]) -> bool:
        """Return True if the atlas covers every cell of this table.  It looks at the cells with the most faults only: the
        atlas is built so that an answer there comes with all smaller ones."""
        known, model = lookup.find_known(self.atlas), chosen.model
        if known is None or _contradiction(chosen, more) is not None:
            return False
        most = chosen.configuration["replication.factor"] - chosen.configuration.get("start.outside_isr", 0)
        corners = (FaultBudget(losing, most - losing) for losing in range(most + 1))
        asked, table = self.asked(chosen), Tolerance(model, chosen.configuration, more, {})
        return all(known(model, table.asked(each), asked) is not None for each in corners)


def _contradiction(chosen: Chosen, more: Mapping[str, Any]) -> str | None:
    return chosen.model.contradiction({**chosen.configuration, **FaultBudget(1, 1).limits_among(chosen.model.keys), **more})


def _subject(
    label: str, chosen: Chosen, more: Mapping[str, Any], beside: Sequence[str], tables: Tables, is_advised: bool
) -> ToleranceSubject:
    table = tables.of(chosen, more)
    assert table is not None
    others, is_advised = {}, is_advised and not more and AXES[1] in chosen.model.keys
    is_advised = is_advised and chosen.left_out is None and (not chosen.is_standing or remedies.moved_in(chosen.configuration))
    for name in dict.fromkeys((*beside, *LOOKED_UP)):
        limit = {f"faults.{name}": AnyNumber()}
        if name in beside:
            _require_sense(chosen, {**more, **limit})
        elif f"faults.{name}" in more or f"faults.{name}" not in chosen.model.keys:
            continue
        found = tables.of(chosen, {**more, **limit}, known_only=name not in beside)
        if found is not None:
            others[name] = found
    return ToleranceSubject(label, chosen, table, others, _find_advice(chosen, table, tables) if is_advised else None)


def _find_advice(chosen: Chosen, table: Tolerance, tables: Tables) -> tuple[remedies.Changes, Tolerance] | None:
    """Return the cheapest change that ends every loss with at most one broker that loses data and one that is out, if there is
    such a loss; else one with which a loss takes more brokers; else one with which fewer cells lose a record; else None.  Only
    changes are tried that flush nothing more, stop no writes earlier, and whose table the atlas knows."""
    lost, danger = describe.count_losses(table), describe.danger(table.entries)
    near, found = [each for each in table.entries if each.is_within(FaultBudget(1, 1))], dict[int, Any]()
    is_at_risk = not all(describe.is_safe(table, each) for each in near)
    for changes in remedies.candidates(chosen, tables.names or ()):
        if "flush.messages" in changes or not remedies.is_possible(chosen, changes):
            continue
        try:
            other = tables.of(change_settings(chosen, changes), {}, known_only=True, strikes=False)
        except InputError:
            continue
        if (
            other is None
            or describe.stops_earlier(other, table)
            or sum(not describe.is_safe(other, each) for each in table.entries) >= lost
        ):
            continue
        is_mended = is_at_risk and all(describe.is_safe(other, each) for each in near)
        rank = 0 if is_mended else 1 if describe.danger(other.entries) > danger else 2
        found.setdefault(rank, (changes, other))
        if rank == 1 - is_at_risk:
            break
    return found[min(found)] if found else None


def counterexample(table: Tolerance, spot: FaultBudget) -> tuple[System, Property, Behaviour] | None:
    """Return the shortest counterexample of a cell or None, a lost record first; search for it if the verdict was looked up."""
    violated = [each for each in table.entries.get(spot, ()) if each.verdict is Verdict.VIOLATED]
    if not violated:
        return None
    entries = violated
    if any(each.trace is None for each in violated):
        wanted = [each.property for each in violated]
        searched = tolerance_search.tolerance(table.model, table.configuration, wanted, Options(), table.more, only=[spot])
        entries = list(searched.entries[spot])
    shortest = min(entries, key=lambda each: (each.property.kind != SAFETY, each.steps or 0))
    return (table.system(spot), shortest.property, shortest.trace) if shortest.trace is not None else None


def _document(found: Sequence[ToleranceSubject]) -> dict[str, Any]:
    rows: dict[str, list[dict[str, Any]]] = {}
    for each in found:
        for one in (each.table, *each.beside.values()):
            rows.setdefault(each.label, []).extend(describe.rows(one))
    verdicts = [each.verdict for one in found for entries in one.table.entries.values() for each in entries]
    complete = all(describe.is_decided(each.table) for each in found)
    apart = {f"{each.label} {describe.variant(each.chosen.configuration)}": each for each in found}
    return {
        "schema": "neverlost.tolerance/1",
        "version": neverlost.__version__,
        "verdict": str(worst(verdicts) if verdicts else Verdict.HOLDS) if complete else str(Verdict.INCONCLUSIVE),
        "tolerance": rows,
        "topics": {each.label: list(each.chosen.subjects) for each in found},
        "settings": {
            name: describe_outcome.question_document(each.chosen.model, each.chosen.configuration)
            | {"kafka.version": each.chosen.release, "assumed": assumed([each.chosen.settings])}
            for name, each in apart.items()
        },
        "assumed": assumed(each.chosen.settings for each in found),
        "advice": {
            each.label: {
                "changes": dict(each.advice[0]),
                "commands": [one.document() for one in remedies.commands(each.chosen, each.advice[0])],
                "says": " ".join((said := describe.advice(each.advice[0], each.table, each.advice[1])).lines()),
                "gains": said.gains,
                "costs": list(said.costs),
            }
            for each in found
            if each.advice is not None
        },
        "now": {each.label: partitions_now(each.chosen) for each in found},
        "bugs": {
            each.label: [one.name for one in describe.defects_that_matter(each.table, each.chosen)]
            for each in found
            if describe.variant(each.chosen.configuration) == "as shipped"
        },
        "sources": {each.label: sources(each.chosen.settings) for each in reversed(found)},
        "notices": {each.label: [notice.document() for notice in each.chosen.notices] for each in found},
        "says": {
            name: describe.sentences(each.table) + [describe.changes(one, each.table, its) for one, its in each.beside.items()]
            for name, each in apart.items()
        },
        "smallest": {name: describe.smallest(each.table, each.beside) for name, each in apart.items()},
    }


def partitions_now(chosen: Chosen) -> list[dict[str, Any]]:
    """Return the described partitions that are not as they should be, each with its state and the brokers in sync now."""
    state_of, here = cache(partial(_state, chosen)), chosen.brokers
    return [
        {"partition": name, "is": state, "in_sync": [each for each in here[name] if each not in out]}
        for name, out in chosen.out.items()
        if (state := state_of(len(here[name]) - len(out))) is not None
    ]


def _state(chosen: Chosen, in_sync: int) -> str | None:
    """Return how a partition stands that has so many replicas in sync; None if it is as it should be."""
    factor = chosen.configuration["replication.factor"]
    least = chosen.configuration.get("min.insync.replicas", 1)
    if chosen.configuration.get(BY_NAME["effective-min-isr"].key, True):
        least = min(least, factor)
    if in_sync == 0:
        return describe.OFFLINE
    if in_sync < least and str(chosen.configuration["acks"]) not in ("0", "1"):
        return describe.ABOVE if in_sync == factor else describe.REFUSES
    if in_sync == 1 < factor:
        return describe.LAST
    return describe.BEHIND if in_sync < factor else None


__all__ = ["CellVerdict", "FaultBudget", "ToleranceResult", "ToleranceSubject", "tolerance"]
