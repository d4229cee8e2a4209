"""`roll`: which brokers may be stopped now, in which order, and what one more fault would do meanwhile."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from os import PathLike
from typing import Any, Unpack

import neverlost
from neverlost.checker.atlas import lookup
from neverlost.checker.atlas.index import shipped
from neverlost.checker.campaign.tolerance import Entry, decided
from neverlost.checker.outcome import Verdict
from neverlost.checker.search.options import Reporter
from neverlost.inputs import configurations
from neverlost.keywords import Searching, Settings
from neverlost.reports.bundle.tables import kept
from neverlost.reports.documents import tolerance as describe
from neverlost.reports.request import Request
from neverlost.results import Answer
from neverlost.specs.configuration.choose import Chosen, read_given, read_settings
from neverlost.specs.errors import InputError
from neverlost.specs.property import properties
from neverlost.specs.stop import FURTHER, Stop, stops

OUTSIDE = "start.outside_isr"
OFFLINE = "offline already"
"""What is said of a partition without a leader: no stop makes that worse, and none should be tried."""

MOST_AT_A_TIME = 9


@dataclass(frozen=True)
class RollResult(Answer):
    """For each broker what its stop does to each partition that it has a replica of, and in which order to go about it."""

    verdict: str
    brokers: Mapping[str, Mapping[str, Any]] = field(repr=False)
    order: Sequence[Sequence[str]]
    first: Sequence[Mapping[str, Any]]

    def rows(self) -> Sequence[Mapping[str, Any]]:
        """A row per broker."""
        return [{"broker": broker, **each} for broker, each in self.brokers.items()]


@kept
def roll(
    settings: Settings = None,
    *,
    files: Mapping[str, Any],
    kafka_version: str | None = None,
    at_a_time: int = 1,
    out: str | PathLike[str] | None = None,
    progress: Reporter | None = None,
    **search: Unpack[Searching],
) -> RollResult:
    """Whether each broker of a described cluster may be stopped now, in a controlled way, and how to restart them all.

    Every partition begins where it stands: its replicas that are outside the ISR may stay there.  A stop happens whatever it
    does, and then one broker at a time may suffer something further.  `at_a_time` is how many may be stopped together.
    `files` are the Kafka files of `check` by the names of its parameters.  With `out` an evidence bundle is written there.

    Errors: `InputError` for bad input, before anything is searched.
    """
    stated = [f"{key}={value}" for key, (value, _) in read_settings(settings).items()]
    given = read_given(None, settings)
    if any(key.startswith("faults.") for key in given):
        raise InputError("roll asks about stops itself: leave limits of faults out")
    if not files.get("describe"):
        raise InputError("roll needs the partitions of a cluster: give --describe FILE or --bootstrap-server HOST:PORT")
    if not 1 <= at_a_time <= MOST_AT_A_TIME:
        raise InputError(f"bad value '{at_a_time}' for --at-a-time: use a number from 1 to {MOST_AT_A_TIME}")
    records = [] if "bounds.records" in given else ["bounds.records=1"]
    every = configurations([*stated, *records], None, kafka_version, **files)
    for each in every:
        if OUTSIDE not in each.model.keys:
            raise InputError(f"model {each.model.name!r} has no {OUTSIDE}; use a modern model, or kafka.version=X.Y")
    said = _Said(every, at_a_time, Request(**search), progress)
    cluster = _Cluster(
        tuple(
            _Placed(name, each, frozenset(brokers) - set(each.out[name]), frozenset(brokers))
            for each in every
            for name, brokers in each.brokers.items()
        ),
        said,
    )
    return RollResult.of(_document(cluster, at_a_time) | _input(every))


class _Said:
    """What is said of a configuration after a stop: decided for all at once."""

    def __init__(self, every: Sequence[Chosen], at_a_time: int, request: Request, progress: Reporter | None) -> None:
        asked = [properties()[name] for name in describe.ASKED]
        questions = {
            (id(chosen), is_whole, stop): (chosen.model, self._configuration(chosen, is_whole) | stop.limits)
            for chosen in every
            for is_whole in (False, True)
            for stop in stops(min(at_a_time, chosen.configuration["replication.factor"]))
        }
        atlas = shipped()
        known = None if atlas is None else lambda *one: lookup.answers(atlas, *one)
        found = decided(list(questions.values()), asked, request.options(), request.engine, progress, known)
        self._entries: dict[Any, tuple[Entry, ...]] = dict(zip(questions, found, strict=True))

    @staticmethod
    def _configuration(chosen: Chosen, is_whole: bool) -> dict[str, Any]:
        return {**chosen.configuration, **({OUTSIDE: 0} if is_whole else {})}

    def of(self, chosen: Chosen, stop: Stop, is_whole: bool = False) -> str:
        """In words; `is_whole` where all replicas are in the ISR at first."""
        return describe.in_words(*describe.said(self._entries[id(chosen), is_whole, stop]))


@dataclass(frozen=True)
class _Placed:
    """A partition with its brokers, those in its ISR apart; it stands here once for each way in which it may be configured."""

    name: str
    chosen: Chosen
    inside: frozenset[str]
    brokers: frozenset[str]


@dataclass(frozen=True)
class _Cluster:
    partitions: tuple[_Placed, ...]
    said: _Said

    @property
    def brokers(self) -> list[str]:
        """In the order of their numbers."""
        return sorted({each for one in self.partitions for each in one.brokers}, key=lambda each: (len(each), each))

    def of(self, stopped: Iterable[str]) -> list[tuple[_Placed, int]]:
        """The partitions that have replicas on some brokers, with how many of those are in the ISR."""
        chosen = frozenset(stopped)
        return [(each, len(chosen & each.inside)) for each in self.partitions if chosen & each.brokers]

    def says(self, stopped: Iterable[str], further: str = "") -> dict[str, list[str]]:
        """What happens to which partitions when these brokers are stopped."""
        worst: dict[str, str] = {}
        for each, many in self.of(stopped):
            says = self._says(each, Stop(many, further))
            worst[each.name] = max(worst.get(each.name, says), says, key=_badness)
        return {
            says: [name for name, one in worst.items() if one == says] for says in sorted(set(worst.values()), key=_badness)
        }

    def _says(self, one: _Placed, stop: Stop) -> str:
        return self.said.of(one.chosen, stop) if one.inside else OFFLINE

    def may_stop(self, stopped: Iterable[str]) -> bool:
        """Whether nothing is lost and no writes stop."""
        return self.says(stopped).keys() <= {describe.OK}

    def first(self) -> list[dict[str, Any]]:
        """What to do before the brokers can be stopped that cannot be stopped now."""
        found: dict[str, dict[str, None]] = {}
        for each in self.partitions:
            if all(self._says(each, Stop(many)) == describe.OK for many in ((0, 1) if each.inside else (0,))):
                continue
            found.setdefault(self._remedy(each), {})[each.name] = None
        return [{"do": remedy, "partitions": list(names)} for remedy, names in found.items()]

    def _remedy(self, one: _Placed) -> str:
        if not one.inside:
            return "it is offline; bring back a replica of its last ISR or ELR"
        out = ", ".join(sorted(one.brokers - one.inside, key=lambda each: (len(each), each)))
        if out and self.said.of(one.chosen, Stop(1), is_whole=True) == describe.OK:
            return f"wait until {out} {'are' if ',' in out else 'is'} in the ISR again"
        settings = one.chosen.configuration
        factor, least = settings["replication.factor"], settings.get("min.insync.replicas", 1)
        return f"no replica can be spared even when all are in sync (RF {factor}, min ISR {least}): add one, or lower min ISR"

    def order(self, at_a_time: int) -> list[list[str]]:
        """Brokers that may be stopped together, group after group."""
        left, groups = [each for each in self.brokers if self.may_stop([each])], []
        while left:
            group: list[str] = []
            for each in left:
                if len(group) < at_a_time and self.may_stop([*group, each]):
                    group.append(each)
            left = [each for each in left if each not in group]
            groups.append(group)
        return groups


def _input(every: Sequence[Chosen]) -> dict[str, Any]:
    """Where the settings that all partitions share come from, and what was noticed about the input."""
    first, *others = ({key: one.document() for key, one in each.settings.items()} for each in every)
    shared = {key: one for key, one in first.items() if all(each.get(key) == one for each in others)}
    notices = dict.fromkeys(notice for each in every for notice in each.notices)
    return {"sources": shared, "notices": [each.document() for each in notices]}


def _badness(says: str) -> tuple[int, int]:
    """From good to bad; of two losses the one in fewer steps is worse."""
    kind, _, steps = says.partition(", ")
    order = [describe.OK, describe.STOPS, OFFLINE, describe.UNDECIDED, describe.LOST]
    return order.index(kind), -int(steps.split()[0]) if steps else 0


def _document(cluster: _Cluster, at_a_time: int) -> dict[str, Any]:
    """Brokers that may be stopped first, each with what its stop does by partitions."""
    brokers = {
        each: {
            "may_be_stopped": cluster.may_stop([each]),
            "now": cluster.says([each]),
            "then": {fault.name: cluster.says([each], fault.name) for fault in FURTHER},
        }
        for each in cluster.brokers
    }
    may = {each: one["may_be_stopped"] for each, one in brokers.items()}
    return {
        "schema": "neverlost.roll/1",
        "version": neverlost.__version__,
        "verdict": str(Verdict.HOLDS if all(may.values()) else Verdict.VIOLATED),
        "brokers": dict(sorted(brokers.items(), key=lambda each: not may[each[0]])),
        "at_a_time": at_a_time,
        "order": cluster.order(at_a_time),
        "first": cluster.first(),
    }
