"""The next step of a roller: may this one broker be restarted now, and how many failures are left while it is down.

Everything is looked up.  What the shipped answers do not have is not decided, and then the answer is never `allow`.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, TypedDict

from neverlost.checker.questions.atlas.index import shipped
from neverlost.checker.questions.atlas.lookup import find_known
from neverlost.checker.questions.roll.broker_stop import FURTHER, Stop
from neverlost.checker.questions.roll.controller_stop import stop_controller
from neverlost.checker.questions.tolerance.fault_budget import FaultBudget
from neverlost.checker.questions.tolerance.tolerance import CellVerdict, look_up
from neverlost.model.protocols import models
from neverlost.reports.questions.tolerance import document as tolerance_document
from neverlost.reports.wording.merged_rows import name_some, pluralize
from neverlost.reports.wording.table_words import LOST, OK, UNDECIDED
from neverlost.specs.configuration.choose import OUTSIDE, Chosen, with_all_in_sync
from neverlost.specs.errors import InputError, quote
from neverlost.specs.inputs.formats.kafka_metadata_quorum import ControllerQuorum, find_quorum
from neverlost.specs.inputs.sources import ROLES, ZOOKEEPER
from neverlost.specs.inputs.syntax.properties import read_properties
from neverlost.specs.properties import properties

ALLOW, DENY, WAIT_FOR = "allow", "deny", "wait-for"
QUORUM = "the controller quorum"


class WaitDocument(TypedDict):
    """What to wait for: that `brokers` are in the ISR of `partitions` (isr), that a reassignment is complete, that there is a
    leader, or that `brokers` follow as controllers."""

    event: str
    brokers: list[str]
    partitions: list[str]


class ReasonDocument(TypedDict):
    """Why a restart is not allowed: the verdict of its partitions, and what to do first."""

    verdict: str
    partitions: list[str]
    do: str


class MarginDocument(TypedDict):
    """While the broker is down: the number of failures of others with which writes may stop, or a record may be lost.  Fewer do
    neither; None: no number of them does."""

    until_writes_stop: int | None
    until_loss: int | None


class StepDocument(TypedDict):
    """`says` is allow, deny or wait-for.  `is_controller` is None where it is not known."""

    broker: str
    says: str
    is_controller: bool | None
    reasons: list[ReasonDocument]
    wait_for: list[WaitDocument]
    margin: MarginDocument
    not_known: list[str]


@dataclass(frozen=True)
class FirstAct:
    """An act before a stop; an `event` is one to wait for."""

    says: str
    event: str | None = None
    brokers: tuple[str, ...] = ()


@dataclass(frozen=True)
class StepReason:
    """A verdict other than `ok`, on which partitions."""

    verdict: str
    partitions: tuple[str, ...]
    remedy: FirstAct


@dataclass(frozen=True)
class Margin:
    """See `MarginDocument`."""

    writes: int | None
    loss: int | None


@dataclass(frozen=True)
class Controllers:
    """The quorum as it is described, and whether the properties of a node say that it is a controller too."""

    quorum: ControllerQuorum | None
    is_combined: bool | None

    def has_vote(self, node: str) -> bool:
        """Return True if a node is among the voters."""
        return self.quorum is not None and int(node) in self.quorum.voters


def read_node(broker: int | None, pod: str | None) -> str | None:
    """Return the id of the broker, if one is asked about.  Errors: `InputError` for both, and for what has no number."""
    if broker is not None and pod is not None:
        raise InputError(f"--broker {broker} and --pod {quote(pod)} name the broker twice: leave one out")
    if pod is not None:
        found = re.fullmatch(r".*-([0-9]{1,10})", pod)
        if found is None:
            raise InputError(f"bad value {quote(pod)} for --pod: its name has to end in the broker's id, such as kafka-2")
        return str(int(found[1]))
    if broker is not None and (isinstance(broker, bool) or not str(broker).isdecimal()):
        raise InputError(f"bad value {quote(str(broker))} for --broker: use a broker's id, such as 2")
    return None if broker is None else str(int(broker))


def read_controllers(files: Mapping[str, Any]) -> Controllers:
    """Return what the described cluster and the properties of its brokers show of the controllers."""
    described, static = (
        [named] if isinstance(named, str) or not isinstance(named, Sequence) else named
        for named in (files.get("describe") or [], files.get("server_properties") or [])
    )
    settings = [read_properties(each, "--server-properties") for each in static]
    roles = [each[ROLES].value for each in settings if ROLES in each]
    is_separate = bool(roles) or any(ZOOKEEPER in each for each in settings)
    return Controllers(find_quorum(described), any("controller" in each for each in roles) if is_separate else None)


def verdict_text(entries: Sequence[CellVerdict]) -> str:
    """Return verdicts after a stop as text; a stop that never happens is not known to be safe."""
    if any(each.unstruck for each in entries):
        return UNDECIDED
    return tolerance_document.answer_text(*tolerance_document.combine(entries))


def close_open(says: str, chosen: Chosen, is_whole: bool) -> str:
    """Return the text, or that nothing is decided where the question leaves something out and no loss was found."""
    return UNDECIDED if chosen.left_out is not None and not is_whole and not says.startswith(LOST) else says


@lru_cache(maxsize=10_000)
def _look_up(model: str, configuration: tuple[tuple[str, Any], ...], has_answers: bool) -> str:
    asked = [properties()[name] for name in tolerance_document.ASKED]
    found = look_up(models()[model], dict(configuration), asked, find_known(shipped())) if has_answers else None
    return UNDECIDED if found is None else verdict_text(found)


class LookedUpVerdicts:
    """Verdicts of the shipped answers: of a stop with the return, and the preferred leader election after it."""

    def of(self, chosen: Chosen, stop: Stop, is_whole: bool = False) -> str:
        """Return the verdict after a stop, as text; with `is_whole` all replicas are in the ISR before the stop."""
        begins = with_all_in_sync(chosen) if is_whole else chosen
        asked = stop if stop.further else replace(stop, is_rebalanced=True)
        return self._say(begins, asked.limits, is_whole)

    def margin(self, chosen: Chosen, stopped: int) -> Margin:
        """Return how many more failures there may be, where so many members of the ISR are stopped."""
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
        """Yield the verdicts on so many failures beside a stop.  What loses data at one time is out at another, and what the
        table says of any number of either is more than what is asked here."""
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


def make_step(
    node: str, reasons: Sequence[StepReason], margins: Sequence[Margin], controllers: Controllers, brokers: Collection[str]
) -> StepDocument:
    """Return the answer: deny before wait-for, and that before allow."""
    quorum, not_known = controllers.quorum, []
    found, every = list(reasons), list(margins)
    if quorum is None:
        tool = "give what kafka-metadata-quorum.sh describe --replication prints with --describe"
        if controllers.is_combined:
            remedy = FirstAct(f"brokers are controllers too (process.roles), and their quorum is not described: {tool}")
            found.append(StepReason(UNDECIDED, (QUORUM,), remedy))
        elif controllers.is_combined is None:
            not_known.append(f"whether broker {node} is a controller too, and if a majority of the controllers is left: {tool}")
    elif quorum.voters & set(map(int, brokers)) or controllers.has_vote(node):
        stop = stop_controller(quorum, int(node))
        every.append(Margin(stop.until_none_leads, stop.until_loss))
        if stop.is_majority_left is None:
            says = "which controllers follow is not shown: give what describe --replication prints"
            found.append(StepReason(UNDECIDED, (QUORUM,), FirstAct(says)))
        elif not stop.is_majority_left:
            found.append(StepReason("no controller leads", (QUORUM,), _remedy_of(quorum, stop.wait_for)))
    is_denied = any(each.remedy.event is None for each in found)
    return {
        "broker": node,
        "says": DENY if is_denied else WAIT_FOR if found else ALLOW,
        "is_controller": controllers.has_vote(node)
        if quorum is not None
        else (None if controllers.is_combined else controllers.is_combined),
        "reasons": [{"verdict": each.verdict, "partitions": list(each.partitions), "do": each.remedy.says} for each in found],
        "wait_for": [
            {"event": each.remedy.event, "brokers": list(each.remedy.brokers), "partitions": list(each.partitions)}
            for each in found
            if each.remedy.event is not None
        ],
        "margin": {
            "until_writes_stop": min((each.writes for each in every if each.writes is not None), default=None),
            "until_loss": min((each.loss for each in every if each.loss is not None), default=None),
        },
        "not_known": not_known,
    }


def _remedy_of(quorum: ControllerQuorum, waits: Sequence[int]) -> FirstAct:
    if waits:
        names = tuple(map(str, waits))
        return FirstAct(
            f"wait until {', '.join(names)} {'follow' if len(names) > 1 else 'follows'} as controller", "controllers", names
        )
    if quorum.leader is None:
        return FirstAct("wait until a controller leads", "controllers")
    return FirstAct(
        f"{pluralize(len(quorum.voters), 'controller')} vote, and no majority of them would be left: add voters first"
    )


WORDS = {
    ALLOW: "Allow: broker {} may be restarted now.",
    DENY: "Deny: broker {} must not be stopped.",
    WAIT_FOR: "Wait for: broker {} may be restarted later.",
}


def step_lines(step: StepDocument) -> Iterator[str]:
    """Yield the answer, what stands against it, the margin, and what is not known."""
    yield WORDS[step["says"]].format(step["broker"])
    for each in step["reasons"]:
        yield f"{name_some(each['partitions'])}: {each['verdict']}; {each['do']}."
    writes, loss = (_many(each) for each in (step["margin"]["until_writes_stop"], step["margin"]["until_loss"]))
    yield f"While it is down: {writes} of others until writes may stop, {loss} until a record may be lost."
    yield from (f"Not known: {each}." for each in step["not_known"])


def _many(failures: int | None) -> str:
    return "no number of failures" if failures is None else pluralize(failures, "failure")
