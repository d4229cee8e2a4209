"""The settings that the atlas answers for, in chapters: what most clusters have, and what is quickly decided, first."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import Any

from neverlost.checker.questions.atlas.index import ANSWERED, TABLE
from neverlost.checker.questions.roll.broker_stop import Stop, stops
from neverlost.checker.questions.tolerance.fault_budget import FaultBudget, fault_budgets
from neverlost.checker.questions.tolerance.region import all_but_one, kills_count_as, usual
from neverlost.model.any_number import AnyNumber
from neverlost.model.faults import LEADER_MOVE
from neverlost.model.kraft.mechanisms import MECHANISMS, Version, version_text
from neverlost.specs.configuration.choose import Chosen, choose
from neverlost.specs.configuration.metadata_version import LOWEST_KNOWN, METADATA
from neverlost.specs.configuration.version_defaults import ELR

ACKED, SAFE, WRITES = TABLE[:1], TABLE[:2], TABLE[2:]
RECOVERS = ANSWERED[len(TABLE) :]

WITH_ELR: Version = (4, 0)
"""The first version that may have eligible leader replicas."""

ON_BY_DEFAULT: Version = (4, 1)
"""The first whose new clusters have them."""

DECIDED_BY_LEVEL: Version = (3, 5)
"""The first version with a mechanism that the cluster's metadata.version decides."""

BOTH = ("false", "true")

SEARCH, INDUCTION, NO_RETURN = "search", "induction", "no return"
"""How questions are decided: by a search of everything; by the lemmas that were written for them; or by a search of those
behaviours in which no replica comes back, which finds losses and nothing else."""

Wanted = Callable[[Chosen, FaultBudget], bool]
"""Which spots of a table a chapter is about."""


@dataclass(frozen=True)
class Chapter:
    """Settings that are decided in the same way: every combination of the values of some keys, in every version.

    `defects` says whether Kafka is meant as shipped, as designed or both; `most_impaired` leaves out spots of more brokers;
    `together` is how many questions share a search at most, and one of more than `most_states` is given up: what it would
    decide is not decided.  `how` they are decided is one of three ways, and `wanted` leaves out spots.  `is_old` is
    about clusters whose metadata.version is older than each that decides a mechanism, which may be where nothing says it.
    """

    name: str
    replicas: Sequence[int]
    keys: Mapping[str, Sequence[str]]
    asked: Sequence[str] = TABLE
    outside: bool = False
    defects: Sequence[str] = ("shipped", "fixed")
    more: Mapping[str, AnyNumber] = field(default_factory=dict)
    most_impaired: int = 9
    together: int = 12
    most_states: int = 0
    how: str = SEARCH
    wanted: Wanted = lambda chosen, spot: True
    is_old: bool = False

    def questions(self) -> Iterator[tuple[Chosen, Mapping[str, Any]]]:
        """Yield every setting with each of its fault limits, the newest versions first."""
        for replicas, of_version in product(self.replicas, self.versions()):
            minimum = [str(each) for each in range(1, replicas + 1)]
            outside = [str(each) for each in range(1, replicas)] if self.outside else ["0"]
            axes = {"min.insync.replicas": minimum, "start.outside_isr": outside} | dict(self.keys)
            for values in product(*axes.values()):
                chosen = _chosen(of_version | dict(zip(axes, values, strict=True)) | {"replication.factor": str(replicas)})
                for limits in self.limits(chosen):
                    yield chosen, limits

    def versions(self) -> list[dict[str, str]]:
        """Return the versions that it is about."""
        return old_clusters(self.defects) if self.is_old else versions(self.defects)

    def limits(self, chosen: Chosen) -> Iterator[Mapping[str, Any]]:
        """Yield the fault limits of each cell of the tolerance table, without cells that impair too many brokers."""
        replicas = chosen.configuration["replication.factor"] - chosen.configuration["start.outside_isr"]
        for spot in fault_budgets(replicas):
            if spot.losing + spot.out <= self.most_impaired and self.wanted(chosen, spot):
                yield dict(self.more) | spot.limits


def _chosen(given: Mapping[str, str]) -> Chosen:
    return choose({key: (value, "the atlas") for key, value in given.items()})


def versions(defects: Sequence[str], oldest: Version = (0, 8)) -> list[dict[str, str]]:
    """Return each version that brought or ended a mechanism, newest first, as shipped and as designed, with and without ELR."""
    changes = {
        version for each in MECHANISMS for version in (each.since, each.until) if version is not None and version >= oldest
    }
    found = []
    for version in sorted(changes | {ON_BY_DEFAULT}, reverse=True):
        for each in defects:
            for elr in reversed(BOTH) if version >= WITH_ELR else BOTH[:1]:
                found.append({"kafka.version": version_text(version), "defects": each, ELR: elr})
    return found


def old_clusters(defects: Sequence[str]) -> list[dict[str, str]]:
    """Return the versions with a metadata version older than those that decide a mechanism; others have no such choice."""
    return [each | {METADATA: LOWEST_KNOWN} for each in versions(defects, DECIDED_BY_LEVEL) if each[ELR] == BOTH[0]]


USUAL: dict[str, tuple[str, ...]] = {
    "acks": ("all",),
    "unclean.leader.election.enable": ("false",),
    "flush.messages": ("default",),
}
"""What the first question about a topic is."""

EVERY: dict[str, tuple[str, ...]] = {
    "acks": ("all", "1", "0"),
    "unclean.leader.election.enable": BOTH,
    "flush.messages": ("default", "1"),
}
"""Every value of these keys."""

OF_TOPICS = EVERY | {"acks": ("all",)}
"""Every value of the keys of a topic."""

DESIGNED = ("fixed",)
"""Only Kafka as designed."""


def loses_all(chosen: Chosen, spot: FaultBudget) -> bool:
    """Return True if a cell impairs every replica, and as many of them lose data as the controller keeps eligible."""
    asked = chosen.configuration
    remembered = asked["min.insync.replicas"] if asked["eligible.leader.replicas"] else 1
    return bool(spot.losing >= remembered and spot.losing + spot.out == asked["replication.factor"])


def leaves_too_few(chosen: Chosen, spot: FaultBudget) -> bool:
    """Return True if fewer than min.insync.replicas are left unimpaired."""
    left = chosen.configuration["replication.factor"] - spot.losing - spot.out
    return bool(left < chosen.configuration["min.insync.replicas"])


FLUSHED: dict[str, tuple[str, ...]] = {"flush.messages": ("1",)}
ONE: dict[str, tuple[str, ...]] = {"bounds.records": ("1",)}
TWO: dict[str, tuple[str, ...]] = {"bounds.records": ("2",)}


@dataclass(frozen=True)
class RegionChapter(Chapter):
    """The regions of fault limits that the bounds of `nines` rest on."""

    def limits(self, chosen: Chosen) -> Iterator[Mapping[str, Any]]:
        """Yield the fault limits of its region, and of nothing else."""
        yield usual(chosen.configuration).limits(kills_count_as(chosen.configuration))


@dataclass(frozen=True)
class UnimpairedChapter(Chapter):
    """The region in which one replica is always unimpaired."""

    def limits(self, chosen: Chosen) -> Iterator[Mapping[str, Any]]:
        """Yield the fault limits of that region."""
        yield all_but_one(chosen.configuration["replication.factor"])[1]


@dataclass(frozen=True)
class StopChapter(Chapter):
    """The questions of a rolling restart: up to two brokers are stopped, and one at a time suffers a further fault."""

    def limits(self, chosen: Chosen) -> Iterator[Mapping[str, Any]]:
        """Yield the fault limits of every such question, without the election after a return (`RoundTripChapter` has that)."""
        for stop in stops(min(2, chosen.configuration["replication.factor"])):
            yield {key: limit for key, limit in stop.limits.items() if key != LEADER_MOVE.key}


@dataclass(frozen=True)
class RoundTripChapter(Chapter):
    """The questions of a roller: one broker stops, returns and is elected as preferred leader."""

    def versions(self) -> list[dict[str, str]]:
        """Return the versions that it is about, each also with a metadata version that was never raised."""
        return [*versions(self.defects), *old_clusters(self.defects)]

    def limits(self, chosen: Chosen) -> Iterator[Mapping[str, Any]]:
        """Yield the fault limits, for a replica outside the ISR and for a member of it."""
        yield from (Stop(stopped).limits for stopped in (0, 1))


CHAPTERS = (
    Chapter("one or two replicas", (1, 2), EVERY | ONE, ANSWERED, together=100),
    Chapter("three replicas", (3,), USUAL | ONE),
    Chapter("one or two replicas, two records", (1, 2), EVERY | TWO, ANSWERED, together=50),
    Chapter("two replicas, one outside the ISR", (2,), EVERY | ONE, ANSWERED, outside=True, together=50),
    Chapter("three replicas, other settings", (3,), EVERY | ONE),
    Chapter("three replicas, some outside the ISR", (3,), USUAL | ONE, outside=True, together=48),
    RegionChapter("regions, as designed", (1, 2, 3), USUAL | ONE, ACKED, defects=("fixed",), together=1),
    RegionChapter("regions, as shipped", (1, 2, 3), USUAL | ONE, ACKED, defects=("shipped",), together=1),
    RegionChapter("regions, every record flushed", (1, 2, 3), USUAL | FLUSHED | ONE, ACKED, defects=("fixed",), together=1),
    StopChapter("brokers are stopped", (1, 2, 3), USUAL | ONE, together=48),
    StopChapter("brokers are stopped, some are outside the ISR", (2, 3), USUAL | ONE, outside=True, together=48),
    Chapter("three replicas and kills", (3,), USUAL | ONE, more={"faults.kill": AnyNumber()}, together=48),
    Chapter("three replicas and leader moves", (3,), USUAL | ONE, more={"faults.leader_move": AnyNumber()}, together=6),
    Chapter("old metadata version: one or two replicas", (1, 2), EVERY | ONE, is_old=True, together=100),
    Chapter("old metadata version: one of two outside the ISR", (2,), EVERY | ONE, outside=True, is_old=True, together=50),
    Chapter("old metadata version: three replicas", (3,), OF_TOPICS | ONE, is_old=True, together=48),
    Chapter("old metadata version: three, some outside the ISR", (3,), USUAL | ONE, outside=True, is_old=True, together=48),
    StopChapter("old metadata version: brokers are stopped", (1, 2, 3), USUAL | ONE, is_old=True, together=48),
    StopChapter("old metadata version: stopped, outside the ISR", (2, 3), USUAL | ONE, outside=True, is_old=True, together=48),
    StopChapter("brokers of five are stopped", (5,), USUAL | ONE, defects=("shipped",), together=1),
    StopChapter("old metadata version: brokers of five", (5,), USUAL | ONE, defects=("shipped",), is_old=True, together=1),
    Chapter("three replicas recover", (3,), USUAL | ONE, RECOVERS, together=1),
    Chapter("four replicas, as designed: proofs", (4,), USUAL | ONE, defects=DESIGNED, together=100, how=INDUCTION),
    Chapter("four replicas, as designed: losses", (4,), USUAL | ONE, SAFE, defects=DESIGNED, how=NO_RETURN, wanted=loses_all),
    Chapter("five replicas, as designed: proofs", (5,), USUAL | ONE, defects=DESIGNED, together=100, how=INDUCTION),
    Chapter("five replicas, as designed: losses", (5,), USUAL | ONE, SAFE, defects=DESIGNED, how=NO_RETURN, wanted=loses_all),
    Chapter("four and five, as designed: writes", (4, 5), USUAL | ONE, WRITES, defects=DESIGNED, wanted=leaves_too_few),
    Chapter("four replicas", (4,), USUAL | ONE, together=1, most_states=3_000_000),
    Chapter("five replicas, one impaired", (5,), USUAL | ONE, most_impaired=1, together=3),
    Chapter("five replicas, up to two impaired", (5,), USUAL | ONE, most_impaired=2, together=1, most_states=8_000_000),
    Chapter("five replicas", (5,), USUAL | ONE, together=1, most_states=1_500_000),
    Chapter("two records, as designed: proofs", (3,), USUAL | TWO, defects=DESIGNED, together=100, how=INDUCTION),
    Chapter("two records, as designed: losses", (3,), USUAL | TWO, SAFE, defects=DESIGNED, how=NO_RETURN, wanted=loses_all),
    Chapter("two records, as designed: writes", (3,), USUAL | TWO, WRITES, defects=DESIGNED, wanted=leaves_too_few),
    Chapter("three replicas, two records", (3,), USUAL | TWO, together=1),
    RoundTripChapter("one broker stops and returns", (1, 2, 3, 4, 5), USUAL | ONE, together=12),
    RoundTripChapter("one stops and returns, some are outside the ISR", (2, 3, 4), USUAL | ONE, outside=True, together=12),
    UnimpairedChapter("one of four unimpaired: proofs", (4,), USUAL | ONE, ACKED, defects=DESIGNED, together=4, how=INDUCTION),
    UnimpairedChapter("one of five unimpaired: proofs", (5,), USUAL | ONE, ACKED, defects=DESIGNED, together=4, how=INDUCTION),
    RegionChapter("regions of four: proofs", (4,), USUAL | ONE, ACKED, defects=DESIGNED, together=4, how=INDUCTION),
    RegionChapter("regions of five: proofs", (5,), USUAL | ONE, ACKED, defects=DESIGNED, together=4, how=INDUCTION),
    Chapter(
        "old metadata version: four and five, as designed: proofs",
        (4, 5),
        USUAL | ONE,
        defects=DESIGNED,
        together=100,
        how=INDUCTION,
        is_old=True,
    ),
    Chapter(
        "old metadata version: four and five, as designed: losses",
        (4, 5),
        USUAL | ONE,
        SAFE,
        defects=DESIGNED,
        how=NO_RETURN,
        wanted=loses_all,
        is_old=True,
    ),
    Chapter(
        "old metadata version: four and five, as designed: writes",
        (4, 5),
        USUAL | ONE,
        WRITES,
        defects=DESIGNED,
        wanted=leaves_too_few,
        is_old=True,
    ),
    Chapter("old metadata version: four replicas", (4,), USUAL | ONE, together=1, most_states=3_000_000, is_old=True),
)
"""In the order in which they are decided; what an earlier chapter has decided is not decided again."""
