"""What `rescue` says of a partition without a leader: a document whose sentences are what people read."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import neverlost
from neverlost.checker.questions.rescue.offline_partition import (
    DISK_GONE,
    ELECT,
    POWER,
    UNKNOWN,
    WAIT,
    Candidate,
    OfflinePartition,
    OffsetRange,
    RescueAdvice,
    find_least_bad,
)
from neverlost.specs.inputs.syntax.topics_and_settings import DescribedPartition, Topic

SCHEMA = "neverlost.rescue/1"
AT = "--bootstrap-server HOST:PORT"
WENT = {
    "up": "runs",
    "clean": "was shut down cleanly",
    "killed": "was killed, which takes nothing from its log",
    "cut-off": "was cut off, which takes nothing from its log",
    POWER: "lost power, which may take the end of its log",
    DISK_GONE: "lost its disk",
    UNKNOWN: "went in an unknown way, so it may have lost power",
}


@dataclass(frozen=True)
class RescueSubject:
    """The partition as described, and what is assumed; `safe_if_copied` is a broker, and the min.insync.replicas with which its
    election would lose nothing, if it had always been set; or None.  `leading` are brokers that lead other partitions."""

    topic: Topic
    partition: DescribedPartition
    assumed: Mapping[str, str]
    safe_if_copied: tuple[int, int] | None
    leading: frozenset[int]

    @property
    def name(self) -> str:
        return f"{self.topic.name}-{self.partition.number}"

    @property
    def options(self) -> str:
        return f"--topic {self.topic.name} --partition {self.partition.number}"


def make_document(subject: RescueSubject, seen: OfflinePartition, advice: RescueAdvice) -> dict[str, Any]:
    """Return the result document: what to do, why, what each election loses, and what that rests on."""
    least_bad = find_least_bad(seen, advice.candidates)
    best = advice.broker if advice.says == ELECT else least_bad
    ordered = sorted(advice.candidates, key=lambda each: (each.broker != best, each.problem is not None))
    return {
        "schema": SCHEMA,
        "version": neverlost.__version__,
        "partition": subject.name,
        "replicas": list(seen.replicas),
        "isr": list(seen.isr),
        "elr": list(seen.elr),
        "last_known_elr": list(seen.last_known_elr),
        "went": {str(each): seen.went.get(each, UNKNOWN) for each in seen.replicas},
        "says": advice.says,
        "broker": advice.broker,
        "loses_nothing": advice.says == WAIT or any(each.loses_nothing for each in advice.candidates),
        "headline": _headline(seen, advice),
        "why": [*_why(seen, advice), *_hints(subject, seen, advice, least_bad)],
        "do": list(_steps(subject, seen, advice)),
        "candidates": [
            {
                "broker": each.broker,
                "loses_nothing": each.loses_nothing,
                "at_least": _pair(each.at_least),
                "at_most": _pair(each.at_most),
                "may_have_read": _pair(each.may_have_read),
                "problem": each.problem,
                "truncates": {str(broker): end for broker, end in each.truncates.items()},
                "sentences": list(_candidate(seen, each)),
            }
            for each in ordered
        ],
        "rests_on": list(_premises(seen, advice.candidates)),
        "assumed": dict(subject.assumed),
    }


def lines(document: Mapping[str, Any]) -> Iterator[str]:
    """Yield what people read, the answer first."""
    yield f"{document['partition']} has no leader. {document['headline']}"
    yield from (f"  {each}" for each in document["why"])
    if document["do"]:
        yield "Do this:"
    for number, each in enumerate(document["do"], 1):
        yield f"  {number}. {each['says']}"
        yield from (f"       {command}" for command in each["run"])
    for each in document["candidates"]:
        headline, *more = each["sentences"]
        yield headline
        yield from (f"  {one}" for one in more)
    yield from document["rests_on"]


def verdict(document: Mapping[str, Any]) -> Iterator[str]:
    yield f"{document['partition']}: {document['headline']}"


def _pair(offsets: OffsetRange | None) -> list[int | None] | None:
    return None if offsets is None else [offsets.first, offsets.end]


def _offsets(offsets: OffsetRange) -> str:
    if offsets.end is None:
        return f"offsets from {offsets.first} on"
    last = offsets.end - 1
    return f"offset {last}" if offsets.first == last else f"offsets {offsets.first} to {last}"


def _list(brokers: Iterable[int]) -> str:
    *first, last = map(str, brokers)
    return f"{', '.join(first)} and {last}" if first else last


def _name(brokers: Sequence[int]) -> str:
    return f"broker{'s' * (len(brokers) > 1)} {_list(brokers)}"


def _headline(seen: OfflinePartition, advice: RescueAdvice) -> str:
    broker, acked = advice.broker, "nothing that was acknowledged"
    if advice.says == WAIT:
        return f"Wait for broker {broker}: its log has every acknowledged record, so none is lost."
    if advice.says == UNKNOWN:
        if broker is None:
            return "It cannot be known whom to elect: no log is left to look at."
        return f"It cannot be known whom to elect without the log of broker {broker}."
    (chosen,) = (each for each in advice.candidates if each.broker == broker)
    loses = (
        f"it loses {acked}"
        if chosen.at_most is None
        else f"it may lose {_offsets(chosen.at_most)}"
        + ", and no other replica is known to lose less" * (len(seen.replicas) > 1)
    )
    elect = "Let" if broker in seen.members and not (seen.elr or seen.last_known_elr) else "Elect"
    return f"{elect} broker {broker}{' lead' if elect == 'Let' else ''}: {loses}."


def _role(seen: OfflinePartition, broker: int) -> str:
    if broker in seen.isr:
        return "is in the last ISR"
    if broker in seen.elr:
        return "is in the ELR"
    return "is the last known leader" if broker in seen.members else "is not in the last ISR"


def _why(seen: OfflinePartition, advice: RescueAdvice) -> Iterator[str]:
    broker = advice.broker
    if broker is not None:
        yield f"Broker {broker} {_role(seen, broker)} and {WENT[seen.went.get(broker, UNKNOWN)]}."
    is_safe = any(each.loses_nothing for each in advice.candidates)
    if advice.says == ELECT and is_safe and broker not in seen.members and seen.copies > 1:
        copies = f"Each acknowledged record was on {seen.copies} replicas"
        yield f"{copies}, so it is in a log that was seen, and broker {broker} has all of these."
    if advice.says == UNKNOWN and broker is not None:
        if broker in seen.files:
            (problem,) = (each.problem for each in advice.candidates if each.broker == broker)
            yield f"Its files cannot be believed: {str(problem).partition(';')[0]}."
            yield f"Gather them again, all in one moment (neverlost rescue --script), and give --replica {broker}=FOLDER."
        else:
            yield f"Two histories fit: broker {broker} has acknowledged records that no other log has, or it has none such."
            yield f"Gather its files (neverlost rescue --script) and give --replica {broker}=FOLDER."
        if broker not in seen.went:
            ways = "up, killed, power, or disk-gone if its log directory is lost or has failed"
            yield f"Say how it went as well (--went {broker}=HOW): {ways}."


def _hints(subject: RescueSubject, seen: OfflinePartition, advice: RescueAdvice, least_bad: int | None) -> Iterator[str]:
    if subject.safe_if_copied is not None:
        broker, many = subject.safe_if_copied
        always = f"min.insync.replicas of {subject.topic.name} was {many} whenever a record was written"
        again = f"run this command again with --set min.insync.replicas={many}, which changes nothing in Kafka"
        if broker == advice.broker:
            yield f"If {always}, it loses nothing that was acknowledged, and the steps are the same."
        else:
            begin = "If you cannot wait, find" if advice.says == WAIT else "First find"
            yield f"{begin} out if {always}: then broker {broker} loses nothing that was acknowledged."
            yield f"If it was, {again}. kafka-configs.sh shows its present value only."
    if advice.broker in subject.leading.intersection(seen.members):
        failed = "look in its server.log for a log directory that has failed"
        yield f"Broker {advice.broker} leads other partitions of this description, so it runs: {failed}."
    if advice.says == UNKNOWN and least_bad is not None:
        gone = f"{advice.broker}={DISK_GONE}"
        yield f"If its log is only out of reach, wait. If it is gone for good, run this command again with --went {gone}."
        yield f"Until then elect nobody, not even broker {least_bad}, which loses least of those that are seen."


def _candidate(seen: OfflinePartition, each: Candidate) -> Iterator[str]:
    if each.problem is not None:
        yield f"If broker {each.broker} is elected, it cannot be known what is lost: {each.problem}."
        return
    yield f"If broker {each.broker} is elected, {_loss(each)}"
    if each.at_most is not None and each.at_most.end is None and seen.files[each.broker].end > each.at_most.first:
        own = OffsetRange(each.at_most.first, seen.files[each.broker].end)
        yield f"What broker {each.broker} has at {_offsets(own)} may differ from what was acknowledged there."
    if each.may_have_read is not None:
        without = "; none of them was acknowledged" if each.loses_nothing else ""
        read = _offsets(each.may_have_read)
        yield f"Consumers may have read records at {read} that broker {each.broker} does not have{without}."
    for broker, end in each.truncates.items():
        lost = OffsetRange(end, seen.files[broker].end)
        if lost.size:
            yield f"When broker {broker} follows the new leader, it drops its {_offsets(lost)}."
    unseen = [one for one in seen.replicas if one not in seen.files and seen.went.get(one) != DISK_GONE]
    if unseen and not each.loses_nothing:
        follows, drop = ("follows", "it drops") if len(unseen) == 1 else ("follow", "they drop")
        yield f"When {_name(unseen)} {follows} the new leader, {drop} what broker {each.broker} does not have."


def _loss(each: Candidate) -> str:
    least, most = each.at_least, each.at_most
    if most is None:
        read = "" if least is None else f", but {_offsets(least)} are, which consumers may have read"
        return f"nothing that was acknowledged is lost{read}."
    if least is not None:
        sure = f"at least {_offsets(least)} {'is' if least.size == 1 else 'are'} lost"
        if most.end is None:
            return f"{sure}, and all later ones may be: no log that was seen shows how many there are."
        return f"{sure}, and at most {_offsets(most)} ({most.size:.0f} records)."
    if most.end is None:
        return f"{_offsets(most)} may be lost, and perhaps none: no log that was seen shows how many there are."
    return f"at most {_offsets(most)} {'is' if most.size == 1 else 'are'} lost ({most.size:.0f} records), and perhaps none."


def _step(says: str, *run: str) -> dict[str, Any]:
    """Return what to do, and the commands that do it."""
    return {"says": says, "run": list(run)}


def _steps(subject: RescueSubject, seen: OfflinePartition, advice: RescueAdvice) -> Iterator[dict[str, Any]]:
    broker, name = advice.broker, subject.name
    kept = [each for each in seen.replicas if seen.went.get(each) != DISK_GONE]
    setting = subject.topic.configs.get("unclean.leader.election.enable")
    if setting is not None and setting.value == "true":
        off = f"kafka-configs.sh {AT} --alter --entity-type topics --entity-name {subject.topic.name}"
        yield _step(
            "Switch off the elections that the controller makes by itself, of any replica that runs.",
            f"{off} --add-config unclean.leader.election.enable=false",
        )
    is_member, is_known = broker in seen.members, advice.says != UNKNOWN and broker is not None
    rivals = [each for each in seen.members if each != broker and not (is_member and seen.is_intact(each))]
    if rivals and is_known:
        them = "them" if len(rivals) > 1 else "it"
        empty = ", also with a new, empty disk" if any(each not in kept for each in rivals) else ""
        says = f"Keep {_name(rivals)} stopped until broker {broker} leads, for the controller would elect {them}{empty}."
        yield _step(says)
    if kept:
        save = f"cp -a LOG_DIR/{name} SAFE_PLACE/"
        here = [each for each in kept if each in seen.files or seen.went.get(each) in ("up", "cut-off")]
        later = [each for each in kept if each not in here]
        whose = ", and of ".join(
            [*([_name(here)] if here else []), *([f"{_name(later)}, before a start or restart"] if later else [])]
        )
        yield _step(f"Save the folder {name} of {whose}{', each in a place of its own' * (len(kept) > 1)}.", save)
    if broker is None:
        yield _step(
            "Get a log back if you can (a directory that failed can often still be read), give it with --replica, ask again."
        )
        yield _step(
            "If there is none, its records are lost: start a replica with an empty log directory. If it does not lead:",
            f"kafka-leader-election.sh {AT} --election-type UNCLEAN {subject.options}",
        )
        return
    if not is_known:
        yield _step("Start or restart no broker with a replica of it, and elect nobody, until neverlost rescue names a broker.")
        return
    runs = seen.went.get(broker, UNKNOWN) in ("up", "cut-off")
    if broker in subject.leading and (is_member or not runs):
        yield _step(f"Mend the log directory if it has failed, and restart broker {broker}, which opens it only then.")
    elif runs:
        yield _step(f"See that broker {broker} runs and reaches the controller: its server.log says if it is fenced.")
    else:
        yield _step(f"Start broker {broker}.")
    if is_member:
        yield _step(f"Wait until the controller elects broker {broker}, which needs no command: it {_role(seen, broker)}.")
    if is_member and (seen.elr or seen.last_known_elr):
        leaves = "a broker that did not stop cleanly leaves the ELR when it starts"
        yield _step(f"If it leads after a minute, skip to the last step. If it does not, go on: {leaves}.")
    if not is_member or seen.elr or seen.last_known_elr:
        yield from _elect_uncleanly(subject, seen, broker)
    running = {broker, *subject.leading, *(each for each, how in seen.went.items() if how in ("up", "cut-off"))}
    stopped = [each for each in seen.replicas if each not in running]
    start = f" Only then start {_name(stopped)}." if stopped else ""
    yield _step(f"See that broker {broker} leads.{start}", _look_at(subject))


def _look_at(subject: RescueSubject) -> str:
    return f"kafka-topics.sh {AT} --describe --topic {subject.topic.name}"


def _elect_uncleanly(subject: RescueSubject, seen: OfflinePartition, broker: int) -> Iterator[dict[str, Any]]:
    """Yield the steps of an unclean election of this broker.  The controller takes the first replica of the assignment that
    runs, so this one is written first there or, if a reassignment is under way, those before it are stopped."""
    topic, number = subject.topic.name, subject.partition.number
    order = [broker, *(each for each in seen.replicas if each != broker)]
    is_moved, is_reassigned = order != list(seen.replicas), subject.partition.is_reassigned
    reassign = f"kafka-reassign-partitions.sh {AT} --reassignment-json-file order.json --execute"
    if is_moved and is_reassigned:
        ahead = seen.replicas[: seen.replicas.index(broker)]
        says = f"Stop {_name(ahead)}: the controller takes the first replica that runs, and a reassignment is under way."
        yield _step(says)
    elif is_moved:
        says = f"Write broker {broker} first in the assignment, because the controller takes the first replica that runs."
        yield _step(says, f"echo '{_assignment(topic, number, order)}' > order.json", reassign)
    elect = f"kafka-leader-election.sh {AT} --election-type UNCLEAN {subject.options}"
    looks = [_look_at(subject)] if is_moved else []  # before the old order is written; else the next step looks
    yield _step(f"Elect broker {broker}: UNCLEAN means only that it may be outside the ISR.", elect, *looks)
    if is_moved and not is_reassigned:
        before = _assignment(topic, number, list(seen.replicas))
        yield _step("Write the replicas in their old order again.", f"echo '{before}' > order.json", reassign)


def _assignment(topic: str, number: int, replicas: list[int]) -> str:
    placed = {"version": 1, "partitions": [{"topic": topic, "partition": number, "replicas": replicas}]}
    return json.dumps(placed, separators=(",", ":"))


def _premises(seen: OfflinePartition, candidates: Sequence[Candidate]) -> Iterator[str]:
    """Yield what the answer means for consumers, and what it rests on, as sentences."""
    if any(each.may_have_read is not None for each in candidates):
        yield (
            "A consumer that read what is gone reads from there again, or misses what is written there anew: its committed "
            "offset and its auto.offset.reset decide which."
        )
    sets = {"ISR": seen.isr, "ELR": seen.elr, "last known leader": seen.last_known_elr}
    record = ", ".join(f"{word} {_list(each)}" for word, each in sets.items() if each) or "an empty ISR and ELR"
    ways = ", ".join(f"{each} {seen.went.get(each, UNKNOWN)}" for each in seen.replicas)
    yield f"This rests on the controller's record ({record}) and on how the brokers went ({ways})."
    yield "It counts on Kafka as designed. A bug of your Kafka version may lose more: neverlost tolerance names its bugs."
    if seen.acks == "all":
        yield "It is about acks=all. With acks=1 an acknowledged record may be on the last leader only: ask with --set acks=1."
    yield "Producers send again what was not acknowledged: without enable.idempotence=true a record may be there twice."
    is_bounded = any(each.loses_nothing or (each.at_most is not None and each.at_most.end is not None) for each in candidates)
    if seen.copies > 1 and is_bounded:
        always = f"min.insync.replicas was {seen.copies} whenever a record was written"
        yield f"It holds if {always}, and if no reassignment of the partition was cancelled after that."
    if seen.is_flushed:
        yield "It holds if flush.messages was 1 whenever a record was written."
