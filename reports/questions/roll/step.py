"""The next step of a roller: may this one broker be restarted now, and how many failures are left while it is down.

Everything is looked up.  What the shipped answers do not have is not decided, and then the answer is never `allow`.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypedDict

from neverlost.checker.questions.roll.broker_stop import FirstAct
from neverlost.checker.questions.roll.controller_stop import NO_LEADER, QUORUM, describe_remedy, stop_controllers
from neverlost.checker.questions.roll.rolling_restart import Margin
from neverlost.checker.questions.tolerance.cell_words import LOST, UNDECIDED
from neverlost.reports.wording.merged_rows import name_some, pluralize
from neverlost.specs.errors import InputError, quote
from neverlost.specs.inputs.formats.kafka_metadata_quorum import ControllerQuorum, find_quorum
from neverlost.specs.inputs.sources import ROLES, ZOOKEEPER
from neverlost.specs.inputs.syntax.properties import read_properties

ALLOW, DENY, WAIT_FOR = "allow", "deny", "wait-for"


class WaitDocument(TypedDict):
    """What to wait for: that `brokers` are in the ISR of `partitions` (isr), that a reassignment is complete, that there is a
    leader, or that `brokers` follow as controllers (if there are none: that a controller leads)."""

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
class StepReason:
    """A verdict other than `ok`, on which partitions, and what is to be done first."""

    verdict: str
    partitions: tuple[str, ...]
    remedy: FirstAct


@dataclass(frozen=True)
class Controllers:
    """The quorum as it is described, and whether properties of brokers say that they are controllers too; None: not known."""

    quorum: ControllerQuorum | None
    is_combined: bool | None

    def has_vote(self, node: str) -> bool:
        """Return True if a node is among the voters; False if no quorum is described."""
        return self.quorum is not None and int(node) in self.quorum.voters

    def not_known(self, node: str | None = None) -> str:
        """Return what is not known of the controllers while a broker is down, of any or of `node`; empty if that is known."""
        if self.quorum is not None or self.is_combined is False:
            return ""
        who = "a broker" if node is None else f"broker {node}"
        says = f"whether {who} is a controller too, and if a majority of the controllers is left"
        if self.is_combined:
            says = "brokers are controllers too (process.roles), and their quorum is not described"
        return f"{says}: give what kafka-metadata-quorum.sh describe --replication prints with --describe"


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


def make_step(
    node: str, reasons: Sequence[StepReason], margins: Sequence[Margin], controllers: Controllers, brokers: Collection[str]
) -> StepDocument:
    """Return the answer about a broker: deny if one reason cannot be waited for, else wait-for if there are any, else allow."""
    quorum, not_known = controllers.quorum, []
    found, every = list(reasons), list(margins)
    if quorum is None:
        if controllers.is_combined:
            found.append(StepReason(UNDECIDED, (QUORUM,), FirstAct(controllers.not_known(node))))
        elif controllers.is_combined is None:
            not_known.append(controllers.not_known(node))
    elif quorum.voters & set(map(int, brokers)) or controllers.has_vote(node):
        stop = stop_controllers(quorum, [int(node)])
        every.append(Margin(stop.until_none_leads, stop.until_loss))
        if not stop.is_majority_left:
            verdict = UNDECIDED if stop.is_majority_left is None else NO_LEADER
            found.append(StepReason(verdict, (QUORUM,), describe_remedy(quorum, stop)))
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


WORDS = {
    ALLOW: "Allow: {} may be restarted now.",
    DENY: "Deny: {} must not be stopped.",
    WAIT_FOR: "Wait for: {} may be restarted later.",
}


OPEN = "Not decided: whether {} may be stopped now."
BY_BUGS = " (by known bugs of this release, not as Kafka is designed)"


def step_lines(step: StepDocument, by_bugs: Collection[str]) -> Iterator[str]:
    """Yield the answer, what stands against it and if bugs alone do it, the margin, and what is not known."""
    undecided = [each["verdict"] == UNDECIDED for each in step["reasons"]]
    node = f"{'node' if step['is_controller'] else 'broker'} {step['broker']}"
    yield (OPEN if step["says"] == DENY and all(undecided) else WORDS[step["says"]]).format(node)
    for each in step["reasons"]:
        mark = BY_BUGS * (each["verdict"] == LOST and set(each["partitions"]) <= set(by_bugs))
        yield f"{name_some(each['partitions'])}: {each['verdict']}{mark}; {each['do']}."
    many = [step["margin"][each] for each in ("until_writes_stop", "until_loss")]
    writes, loss = ("no number of failures" if each is None else pluralize(each, "failure") for each in many)
    if not any(undecided):
        yield f"While it is down: {writes} of others until writes may stop, {loss} until a record may be lost."
    yield from (f"Not known: {each}." for each in step["not_known"])
