"""A rolling restart: what the stop of each broker does to each partition, which brokers may be stopped together, and in which
order; and what to do before a stop that may not be."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
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
    """The fewest failures beside a stop with which `writes` may stop, and a record may be lost; None if no number does it."""

    writes: int | None
    loss: int | None


def verdict_text(entries: Sequence[CellVerdict]) -> str:
    """Return the verdicts on one stop as one text; "not decided" if an allowed fault other than a leader move never struck."""
    if any(set(each.unstruck) - {LEADER_MOVE.name} for each in entries):
        return UNDECIDED
    return answer_text(*combine(entries))


def close_open(says: str, chosen: Chosen, is_whole: bool) -> str:
    """Return `says`, or "not decided" if `chosen` leaves something out, `is_whole` is False and `says` is no loss."""
    return UNDECIDED if chosen.left_out is not None and not is_whole and not says.startswith(LOST) else says


@lru_cache(maxsize=10_000)
def _look_up(model: str, configuration: tuple[tuple[str, Any], ...], has_answers: bool) -> str:
    asked = [properties()[name] for name in ASKED]
    found = look_up(models()[model], dict(configuration), asked, find_known(shipped())) if has_answers else None
    return UNDECIDED if found is None else verdict_text(found)


class LookedUpVerdicts:
    """Verdicts on stops, only looked up in the shipped answers; what these do not have is "not decided"."""

    def of(self, chosen: Chosen, stop: Stop, is_whole: bool = False) -> str:
        """Return the verdict on a stop, as text; `is_whole` takes it that all replicas are in the ISR before the stop."""
        return self._say(with_all_in_sync(chosen) if is_whole else chosen, stop.limits, is_whole)

    def ask_more(self, every: Sequence[Chosen]) -> list[str]:
        """Return for each configuration, as text, the verdict on the stop of one ISR member, looked up."""
        return [self.of(each, Stop(1)) for each in every]

    def margin(self, chosen: Chosen, stopped: int) -> Margin:
        """Return the margin while `stopped` ISR members are stopped; "not decided" counts as writes that stop and as a loss."""
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
        """Yield the verdicts on so many failures beside a stop.  For two or more, and for one if a verdict on it is not known,
        they are the tolerance table's, which speaks about any number of faults: more than is asked here."""
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
    """Return True if a reassignment of the described partitions is under way."""
    return chosen.is_standing and is_moved(chosen.configuration)


def is_asked(chosen: Chosen, stop: Stop, is_whole: bool) -> bool:
    """Return True if a stop is asked about.  With all in the ISR (`is_whole`): of at least one, without a further fault.  Else:
    any without one; with one, of one ISR member, or of none where a replica is outside the ISR."""
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
        """Return for each configuration, as text, the verdict on the stop of one ISR member; what is not known is searched."""
        asked = [(each.model, {**each.configuration, **Stop(1).limits}) for each in every]
        return [verdict_text(each) for each in decided(asked, *self._search, len)] if asked else []

    def of(self, chosen: Chosen, stop: Stop, is_whole: bool = False) -> str:
        """Return the verdict on a stop that was asked about, as text; `is_whole`: all replicas are in the ISR before it."""
        return close_open(self._words[id(chosen), is_whole, stop], chosen, is_whole)


@dataclass(frozen=True, eq=False)
class EqualPartitions:
    """Partitions with the same configuration, brokers and ISR (`inside`); `names` maps each to its number in the input.  A
    partition whose configuration is not certain is in several groups, one for each possible configuration."""

    chosen: Chosen
    inside: frozenset[str]
    brokers: frozenset[str]
    is_accepted: bool
    names: dict[str, int] = field(default_factory=dict)


def group_partitions(every: Iterable[Chosen], accept: Collection[str]) -> tuple[EqualPartitions, ...]:
    """Return the described partitions in groups that every stop treats alike; `accept` are topics whose writes may stop."""
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
    """The partitions of a cluster, in groups, with the verdicts on stops; `only` is the one broker asked about (None: all), and
    `quorum` that of the controllers (None: not known), in which brokers may vote."""

    alike: tuple[EqualPartitions, ...]
    said: StopVerdicts | LookedUpVerdicts
    only: str | None = None
    quorum: ControllerQuorum | None = None

    @property
    def brokers(self) -> list[str]:
        """The ids of all brokers that are asked about, sorted by number."""
        every = {each for one in self.alike for each in one.brokers} if self.only is None else {self.only}
        return sorted(every, key=lambda each: (len(each), each))

    def of(self, stopped: Iterable[str], further: str = "") -> Iterator[tuple[EqualPartitions, str]]:
        """Yield each group of partitions with a replica on a stopped broker, with the verdict on the stop of all, as text."""
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

    def find_without_stop(self, kind: str) -> list[str]:
        """Return the names of partitions with this kind of verdict where nobody is stopped: STOPS are those that refuse writes
        already, LOST those that a preferred election alone may lose records of."""
        found = (each for each in self.alike if each.inside and self.said.of(each.chosen, Stop(0)).startswith(kind))
        return [name for each in found for name in each.names]

    def says(self, stopped: Collection[str], further: str = "") -> dict[str, list[str]]:
        """Return, by verdict from good to bad, the names of the partitions that have it when these brokers are stopped; each
        stands once, under its worst.  Without a further fault QUORUM stands there too, if no controller may lead then."""
        worst = {name: (says, each.names[name]) for name, (says, each) in self.worst(stopped, further).items()}
        if not further and (of_quorum := self._of_quorum(stopped)) != OK:
            worst[QUORUM] = of_quorum, -1
        found: dict[str, list[str]] = {says: [] for says in sorted({says for says, _ in worst.values()}, key=measure_badness)}
        for name, (says, _) in sorted(worst.items(), key=lambda each: each[1][1]):
            found[says].append(name)
        return found

    def _of_quorum(self, stopped: Collection[str], then: bool = False) -> str:
        """Return what becomes of the quorum when these brokers are stopped (with `then`: once one voter leads and the others
        follow it); OK where it is not known, or none of them votes."""
        nodes = set(map(int, stopped))
        if self.quorum is None or not self.quorum.voters & nodes:
            return OK
        voters = self.quorum.voters
        quorum = replace(self.quorum, leader=min(voters), following=voters) if then else self.quorum
        return {True: OK, False: NO_LEADER, None: UNDECIDED}[stop_controllers(quorum, nodes).is_majority_left]

    def worst(self, stopped: Iterable[str], further: str = "") -> dict[str, tuple[str, EqualPartitions]]:
        """Return by partition the worst verdict when these brokers are stopped, and which of its groups has that verdict."""
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
        """Return True if these brokers can be stopped together without a loss, and without writes that stop, unless accepted.
        With `then`: once all replicas are in sync and all controllers follow, and if writes stop no more than by one stop."""
        chosen = frozenset(stopped)
        if self._of_quorum(chosen, then) != OK:
            return False
        if not then:
            return all(says in (OK, ACCEPTED) for _, says in self.of(chosen))
        many = ((each.chosen, {1, len(chosen & each.brokers)}) for each, _ in self.of(chosen))
        return all({self.said.of(one, Stop(each), is_whole=True) for each in two} in ({OK}, {STOPS}) for one, two in many)

    def first(self) -> list[dict[str, Any]]:
        """Return what to `do` first, and for which `partitions`, so that `brokers` that must not be stopped now may be: what is
        offline comes first, then what is waited for."""
        found: dict[FirstAct, dict[str, int]] = {}
        barred: dict[FirstAct, set[str]] = {}
        for broker in self.brokers:
            if self.quorum is not None and self._of_quorum([broker]) != OK:
                remedy = describe_remedy(self.quorum, stop_controllers(self.quorum, [int(broker)]))
                found.setdefault(remedy, {})[QUORUM] = -1
                barred.setdefault(remedy, set()).add(broker)
        for each in self.alike:
            says = {self._says(each, Stop(many)) for many in ((0, 1) if each.inside else (0,))}
            is_searched = each.chosen.left_out is None and not is_reassigned(each.chosen)
            if says <= {OK, ACCEPTED} or (is_searched and UNDECIDED in says):
                continue
            remedy = self.remedy(each)
            found.setdefault(remedy, {}).update(each.names)
            worse = (one for one in each.brokers if self._says(each, Stop(int(one in each.inside))) not in (OK, ACCEPTED))
            barred.setdefault(remedy, set()).update(worse)
        return [
            {
                "do": remedy.says,
                "event": remedy.event,
                "brokers": [each for each in self.brokers if each in barred[remedy]],
                "partitions": sorted(names, key=names.__getitem__),
            }
            for remedy, names in sorted(found.items(), key=lambda each: EVENTS.index(each[0].event))
        ]

    def remedy(self, one: EqualPartitions) -> FirstAct:
        """Return what to wait for, or to change, before a broker of this group is stopped."""
        if not one.inside:
            return FirstAct("offline; neverlost rescue says whom to bring back or to elect", "leader")
        out = tuple(sorted(one.brokers - one.inside, key=lambda each: (len(each), each)))
        then = self.said.of(one.chosen, Stop(1), is_whole=True)
        if is_reassigned(one.chosen):
            return FirstAct("wait until the reassignment is complete (kafka-reassign-partitions.sh --list)", "reassignment")
        if out and then in (OK, UNDECIDED):
            early = "; a preferred election before that can lose a record" * self.said.of(one.chosen, Stop(0)).startswith(LOST)
            says = f"wait until {' and '.join(out)} {'are' if len(out) > 1 else 'is'} in the ISR again{early}"
            return FirstAct(says, "isr", out)
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
        lower = ", or lower min ISR, after which fewer copies are sure" if least > 1 else ""
        needed = f"stopping any broker takes a replica that is needed (RF {factor}, min ISR {least})"
        return FirstAct(f"{needed}: accept that writes stop meanwhile (--accept TOPIC), or add a replica{lower}")

    def order(self, at_a_time: int, then: bool = False) -> list[list[str]]:
        """Return, in order, lists of up to `at_a_time` brokers to stop together; one that must not be stopped is in none."""
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
    """Return a sort key of a verdict's text, larger for the worse; of two losses the one in fewer steps is worse."""
    kind, _, steps = says.partition(", ")
    order = [OK, ACCEPTED, STOPS, OFFLINE, NO_LEADER, UNDECIDED, LOST]
    return order.index(kind), -int(steps.split()[0]) if steps else 0
