"""A rolling restart: what the stop of each broker does to each partition, which brokers may be stopped together, and in which
order; and what to do before a stop that may not be."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property, lru_cache
from typing import Any

from neverlost.checker.engine.search.options import Options, Reporter
from neverlost.checker.questions.atlas.index import shipped
from neverlost.checker.questions.atlas.lookup import find_known
from neverlost.checker.questions.roll.broker_stop import FURTHER, FirstAct, Stop, stops
from neverlost.checker.questions.roll.controller_stop import NO_LEADER, QUORUM, describe_remedy, stop_controllers
from neverlost.checker.questions.tolerance.cell_words import ACCEPTED, ASKED, LOST, OK, STOPS, UNDECIDED, answer_text, combine
from neverlost.checker.questions.tolerance.fault_budget import FaultBudget
from neverlost.checker.questions.tolerance.tolerance import CellVerdict, decided, look_up
from neverlost.model.faults import LEADER_MOVE
from neverlost.model.protocols import models
from neverlost.model.protocols.kraft_standing import is_moved
from neverlost.specs.configuration.choose import OUTSIDE, Chosen, change_settings, with_all_in_sync
from neverlost.specs.inputs.formats.kafka_metadata_quorum import ControllerQuorum
from neverlost.specs.properties import properties

EVENTS = ("leader", "controllers", "isr", "reassignment", None)
"""What is waited for before a stop, in the order in which it is done; None: nothing, something is changed or accepted."""

OFFLINE = "offline already"
"""What is said of a partition without a leader: no stop makes that worse, and none should be tried."""


@dataclass(frozen=True)
class Margin:
    """The fewest failures beside a stop with which `writes` may stop, and with which a record may be lost; None: none do."""

    writes: int | None
    loss: int | None


def verdict_text(entries: Sequence[CellVerdict]) -> str:
    """Return verdicts after a stop as one text; "not decided" where an allowed fault other than a leader move never struck."""
    if any(set(each.unstruck) - {LEADER_MOVE.name} for each in entries):
        return UNDECIDED
    return answer_text(*combine(entries))


def close_open(says: str, chosen: Chosen, is_whole: bool) -> str:
    """Return `says`, or "not decided" where `chosen` leaves something out, `is_whole` is False and `says` is no loss."""
    return UNDECIDED if chosen.left_out is not None and not is_whole and not says.startswith(LOST) else says


@lru_cache(maxsize=10_000)
def _look_up(model: str, configuration: tuple[tuple[str, Any], ...], has_answers: bool) -> str:
    asked = [properties()[name] for name in ASKED]
    found = look_up(models()[model], dict(configuration), asked, find_known(shipped())) if has_answers else None
    return UNDECIDED if found is None else verdict_text(found)


class LookedUpVerdicts:
    """Verdicts on stops, looked up in the shipped answers; what these do not have is not decided."""

    def of(self, chosen: Chosen, stop: Stop, is_whole: bool = False) -> str:
        """Return the verdict after a stop, as text; with `is_whole` all replicas are in the ISR before the stop."""
        return self._say(with_all_in_sync(chosen) if is_whole else chosen, stop.limits, is_whole)

    def ask_more(self, every: Sequence[Chosen]) -> list[str]:
        """Return, as texts, the verdict on the stop of one ISR member for each of these configurations."""
        return [self.of(each, Stop(1)) for each in every]

    def margin(self, chosen: Chosen, stopped: int) -> Margin:
        """Return the margin beside `stopped` ISR members; what is not decided counts as writes that stop, and as a loss."""
        others = chosen.configuration["replication.factor"] - chosen.configuration[OUTSIDE] - stopped
        writes = loss = None
        for failures in range(others + 1):
            says = set(self._after(chosen, stopped, failures))
            if writes is None and says != {OK}:
                writes = failures
            if any(each.startswith((LOST, UNDECIDED)) for each in says):
                loss = failures
                break
        return Margin(writes, loss)

    def _after(self, chosen: Chosen, stopped: int, failures: int) -> Iterator[str]:
        """Yield the verdicts on so many failures beside a stop.  Two or more, and one that is not decided, are asked of the
        tolerance table: that speaks about any number of faults, which is more than is asked here."""
        if failures == 0:
            yield self.of(chosen, Stop(stopped))
            return
        one = [self.of(chosen, Stop(stopped, each.name)) for each in FURTHER] if failures == 1 else [UNDECIDED]
        if UNDECIDED not in one:
            yield from one
            return
        for losing in range(failures + 1):
            spot = FaultBudget(losing, stopped + failures - losing)
            yield self._say(chosen, spot.limits)

    def _say(self, chosen: Chosen, limits: Mapping[str, Any], is_whole: bool = False) -> str:
        asked = tuple({**chosen.configuration, **limits}.items())
        return close_open(_look_up(chosen.model.name, asked, shipped() is not None), chosen, is_whole)


def is_reassigned(chosen: Chosen) -> bool:
    """Return True if a reassignment of its partitions is under way."""
    return chosen.is_standing and is_moved(chosen.configuration)


def is_asked(chosen: Chosen, stop: Stop, is_whole: bool) -> bool:
    """Return True if a stop is asked about.  With all in the ISR (`is_whole`): of some, without a further fault.  As it is: any
    without one; with one, of one ISR member, or of none where a replica is outside the ISR."""
    if is_whole:
        return stop.stopped > 0 and not stop.further
    return not stop.further or stop.stopped == 1 or (stop.stopped == 0 and any(chosen.out.values()))


class StopVerdicts:
    """The verdicts on all stops asked about, decided when this is made; `notify` gets each configuration once it is decided."""

    def __init__(
        self,
        every: Sequence[Chosen],
        at_a_time: int,
        options: Options,
        engine: str,
        progress: Reporter | None,
        notify: Callable[[Chosen], None],
    ) -> None:
        questions = {
            (id(chosen), is_whole, stop): (begins.model, {**begins.configuration, **stop.limits})
            for chosen in every
            for is_whole, begins in ((False, chosen), (True, with_all_in_sync(chosen)))
            for stop in stops(min(at_a_time, chosen.configuration["replication.factor"]))
            if is_asked(chosen, stop, is_whole)
        }
        waiting = list(every)

        def tell(numbers: Collection[int]) -> None:
            left = {asked for number, (asked, *_) in enumerate(questions) if number not in numbers}
            for each in [each for each in waiting if id(each) not in left]:
                waiting.remove(each)
                notify(each)

        asked = [properties()[name] for name in ASKED]
        self._search = asked, options, engine, progress, find_known(shipped())
        found = decided(list(questions.values()), *self._search, tell)
        self._words = {key: verdict_text(entries) for key, entries in zip(questions, found, strict=True)}

    def ask_more(self, every: Sequence[Chosen]) -> list[str]:
        """Return, as texts, the verdict on the stop of one ISR member for each of these configurations."""
        asked = [(each.model, {**each.configuration, **Stop(1).limits}) for each in every]
        return [verdict_text(each) for each in decided(asked, *self._search, len)] if asked else []

    def of(self, chosen: Chosen, stop: Stop, is_whole: bool = False) -> str:
        """Return the verdict after a stop, as text; with `is_whole` all replicas are in the ISR before the stop."""
        return close_open(self._words[id(chosen), is_whole, stop], chosen, is_whole)


@dataclass(frozen=True, eq=False)
class EqualPartitions:
    """Partitions with the same configuration, brokers and ISR; `names` maps each partition to its number in the input.  A
    partition whose configuration is not certain stands in one for each possible configuration."""

    chosen: Chosen
    inside: frozenset[str]
    brokers: frozenset[str]
    is_accepted: bool
    names: dict[str, int] = field(default_factory=dict)


def group_partitions(every: Iterable[Chosen], accept: Collection[str]) -> tuple[EqualPartitions, ...]:
    """Return the described partitions in groups that a stop treats alike; `accept` are topics whose writes may stop."""
    found: dict[Any, EqualPartitions] = {}
    numbers: dict[str, int] = {}
    for each in every:
        for name, brokers in each.brokers.items():
            inside = frozenset(brokers).difference(each.out[name])
            key = id(each), inside, frozenset(brokers), name.rpartition("-")[0] in accept
            found.setdefault(key, EqualPartitions(each, *key[1:])).names[name] = numbers.setdefault(name, len(numbers))
    return tuple(found.values())


@dataclass(frozen=True)
class DescribedCluster:
    """The partitions of a cluster, in groups, with the verdicts on stops; with `only` one broker is asked about.  A `quorum` is
    that of the controllers, where it is known and brokers may vote in it."""

    alike: tuple[EqualPartitions, ...]
    said: StopVerdicts | LookedUpVerdicts
    only: str | None = None
    quorum: ControllerQuorum | None = None

    @property
    def brokers(self) -> list[str]:
        """All brokers that are asked about, sorted by number."""
        every = {each for one in self.alike for each in one.brokers} if self.only is None else {self.only}
        return sorted(every, key=lambda each: (len(each), each))

    def of(self, stopped: Iterable[str], further: str = "") -> Iterator[tuple[EqualPartitions, str]]:
        """Yield each group of partitions that has replicas on a stopped broker, with the verdict on it, as text."""
        chosen = frozenset(stopped)
        for each in self.alike:
            if chosen & each.brokers:
                yield each, self._says(each, Stop(len(chosen & each.inside), further))

    @cached_property
    def by_bugs(self) -> list[str]:
        """The names of partitions that may lose a record at the stop of one ISR member by bugs of the release alone."""
        shipping = (each for each in self.alike if each.inside and each.chosen.configuration.get("defects") == "shipped")
        lost = [each for each in shipping if self.said.of(each.chosen, Stop(1)).startswith(LOST)]
        says = self.said.ask_more([change_settings(each.chosen, {"defects": "fixed"}) for each in lost])
        return [name for each, word in zip(lost, says, strict=True) if word in (OK, STOPS) for name in each.names]

    @cached_property
    def refusing(self) -> list[str]:
        """The names of partitions that refuse writes already, before any stop."""
        refuses = (each for each in self.alike if each.inside and self.said.of(each.chosen, Stop(0)) == STOPS)
        return [name for each in refuses for name in each.names]

    def says(self, stopped: Collection[str], further: str = "") -> dict[str, list[str]]:
        """Return the names of partitions by what happens to them when these brokers are stopped, from good to bad; a partition
        counts by its worst verdict.  Without a further fault the quorum of controllers counts too, if it may have no leader."""
        worst = {name: (says, each.names[name]) for name, (says, each) in self.worst(stopped, further).items()}
        if not further and (of_quorum := self._of_quorum(stopped)) != OK:
            worst[QUORUM] = of_quorum, -1
        found: dict[str, list[str]] = {says: [] for says in sorted({says for says, _ in worst.values()}, key=measure_badness)}
        for name, (says, _) in sorted(worst.items(), key=lambda each: each[1][1]):
            found[says].append(name)
        return found

    def _of_quorum(self, stopped: Collection[str]) -> str:
        """Return what becomes of the quorum when these brokers are stopped; OK where it is not known, or none of them votes."""
        nodes = set(map(int, stopped))
        if self.quorum is None or not self.quorum.voters & nodes:
            return OK
        return {True: OK, False: NO_LEADER, None: UNDECIDED}[stop_controllers(self.quorum, nodes).is_majority_left]

    def worst(self, stopped: Iterable[str], further: str = "") -> dict[str, tuple[str, EqualPartitions]]:
        """Return the worst that happens to each partition when these brokers are stopped, and which of its groups says so."""
        found: dict[str, tuple[str, EqualPartitions]] = {}
        for each, says in self.of(stopped, further):
            for name in each.names:
                if name not in found or measure_badness(says) > measure_badness(found[name][0]):
                    found[name] = says, each
        return found

    def _says(self, one: EqualPartitions, stop: Stop) -> str:
        says = self.said.of(one.chosen, stop) if one.inside else OFFLINE
        return ACCEPTED if one.is_accepted and says == STOPS else says

    def may_stop(self, stopped: Iterable[str], then: bool = False) -> bool:
        """Return True if these brokers can be stopped without a loss, and without writes that stop unless that is accepted;
        `then` is once every replica is in sync and every controller follows, and accepted is what the stop of any one broker
        does."""
        chosen = frozenset(stopped)
        if not then:
            return self._of_quorum(chosen) == OK and all(says in (OK, ACCEPTED) for _, says in self.of(chosen))
        if self.quorum is not None and 2 * len(self.quorum.voters - set(map(int, chosen))) <= len(self.quorum.voters):
            return False
        many = ((each.chosen, {1, len(chosen & each.brokers)}) for each, _ in self.of(chosen))
        return all({self.said.of(one, Stop(each), is_whole=True) for each in two} in ({OK}, {STOPS}) for one, two in many)

    def first(self) -> list[dict[str, Any]]:
        """Return what to do first (`do`) for which `partitions`, so that brokers that must not be stopped now may be: what is
        offline comes first, then what is waited for."""
        found: dict[FirstAct, dict[str, int]] = {}
        if self.quorum is not None:
            stopped = [stop_controllers(self.quorum, [int(each)]) for each in self.brokers if self._of_quorum([each]) != OK]
            for controllers in stopped:
                found.setdefault(describe_remedy(self.quorum, controllers), {})[QUORUM] = -1
        for each in self.alike:
            says = {self._says(each, Stop(many)) for many in ((0, 1) if each.inside else (0,))}
            is_searched = each.chosen.left_out is None and not is_reassigned(each.chosen)
            if says <= {OK, ACCEPTED} or (is_searched and UNDECIDED in says):
                continue
            found.setdefault(self.remedy(each), {}).update(each.names)
        return [
            {"do": remedy.says, "partitions": sorted(names, key=names.__getitem__)}
            for remedy, names in sorted(found.items(), key=lambda each: EVENTS.index(each[0].event))
        ]

    def remedy(self, one: EqualPartitions) -> FirstAct:
        """Return what to wait for, or to change, before a stop."""
        if not one.inside:
            return FirstAct("offline; neverlost rescue says whom to bring back or to elect", "leader")
        out = tuple(sorted(one.brokers - one.inside, key=lambda each: (len(each), each)))
        then = self.said.of(one.chosen, Stop(1), is_whole=True)
        if is_reassigned(one.chosen):
            return FirstAct("wait until the reassignment is complete", "reassignment")
        if out and then in (OK, UNDECIDED):
            return FirstAct(f"wait until {', '.join(out)} {'are' if len(out) > 1 else 'is'} in the ISR again", "isr", out)
        settings = one.chosen.configuration
        factor, least = settings["replication.factor"], settings.get("min.insync.replicas", 1)
        if then.startswith(LOST):
            if settings["acks"] in ("0", "1"):
                return FirstAct(
                    f"a stop can lose a record with acks={settings['acks']}, even when all are in sync: use acks=all"
                )
            says = f"a stop can lose a record even when all are in sync (RF {factor}, min ISR {least}): see neverlost tolerance"
            return FirstAct(says)
        if then == UNDECIDED:
            return FirstAct("the shipped answers do not decide it: ask without --broker, which searches")
        lower = ", or lower min ISR" if least > 1 else ""
        needed = f"stopping any broker takes a replica that is needed (RF {factor}, min ISR {least}): add one{lower}"
        return FirstAct(f"{needed}, or accept that writes stop meanwhile (--accept TOPIC)")

    def order(self, at_a_time: int, then: bool = False) -> list[list[str]]:
        """Return groups of up to `at_a_time` brokers that may be stopped together, in order; who must not stop is left out."""
        left, groups = [each for each in self.brokers if self.may_stop([each], then)], []
        while left:
            group: list[str] = []
            for each in left:
                if len(group) < at_a_time and self.may_stop([*group, each], then):
                    group.append(each)
            left = [each for each in left if each not in group]
            groups.append(group)
        return groups


@cache
def measure_badness(says: str) -> tuple[int, int]:
    """Return a sort key from good to bad; of two losses the one in fewer steps is worse."""
    kind, _, steps = says.partition(", ")
    order = [OK, ACCEPTED, STOPS, OFFLINE, NO_LEADER, UNDECIDED, LOST]
    return order.index(kind), -int(steps.split()[0]) if steps else 0
