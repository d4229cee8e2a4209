"""What an operator can change so that a configuration loses less: the settings to try, and the command for each.

Which of them suffice is for a search to decide; nothing here claims that one does.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import combinations
from typing import Any

from neverlost.model.faults import OF_RACKS
from neverlost.model.kraft.mechanisms import NEWEST, parsed, version_text
from neverlost.model.protocols.kraft_standing import is_moved
from neverlost.specs.configuration.choose import Chosen
from neverlost.specs.defects import DEFECTS, Defect
from neverlost.specs.inputs.internal_topics import internal_topic
from neverlost.specs.setting import Origin

Changes = Mapping[str, str]
"""Keys with their new values."""

ELR, LEAST, FACTOR, VERSION, FIXED = (
    "eligible.leader.replicas",
    "min.insync.replicas",
    "replication.factor",
    "kafka.version",
    "defects",
)
OUTSIDE = "start.outside_isr"
"""How many replicas are outside the ISR now: no setting, but what an operator sees to first."""

FLUSH = "flush.messages"
IDEMPOTENCE, COMMIT, RACKS = "enable.idempotence", "consumer.commit", "broker.rack"
OF_PROPERTIES: Mapping[str, Mapping[str, str]] = {
    "exactly-once": {IDEMPOTENCE: "true"},
    "no-duplicates": {IDEMPOTENCE: "true"},
    "at-least-once": {COMMIT: "after-processing"},
    "at-most-once": {COMMIT: "before-processing"},
}
"""What clients set that matters for some properties only, with the value that helps each."""

OF_TOPICS = (LEAST, "unclean.leader.election.enable", FLUSH)
"""What `kafka-configs.sh` changes of a topic."""

COST = {
    OUTSIDE: 0,
    "acks": 1,
    IDEMPOTENCE: 1,
    COMMIT: 1,
    "unclean.leader.election.enable": 1,
    LEAST: 2,
    ELR: 4,
    RACKS: 6,
    FACTOR: 8,
    FLUSH: 16,
    VERSION: 16,
}
"""How much of a change each is: a setting, then replicas to add, then what costs throughput or an upgrade."""

COST_OF_STOPPING = 7
"""What it costs more if one replica out of the ISR stops the writes."""

DRAWBACKS = {
    FLUSH: "an fsync for every batch; measure before you use it",
    FACTOR: "partitions have to be reassigned, and each copy takes its disk",
    "acks": "the producer waits for the ISR",
    IDEMPOTENCE: "brokers remember each producer's last batches",
    RACKS: "partitions have to be reassigned, and replication goes from rack to rack",
    "unclean.leader.election.enable": "a partition whose ISR is gone stays offline until one of its members is back",
    VERSION: "an upgrade of every broker",
}
"""What a change costs."""

MOST_AT_ONCE = 3
SERVER = "--bootstrap-server HOST:PORT"


@dataclass(frozen=True)
class Command:
    """What makes a change: a `line` for a shell, or a line of the user's own file at `where`."""

    line: str
    where: str = ""

    def document(self) -> dict[str, str]:
        """Return the command as a result document has it, a dictionary."""
        return {"line": self.line, "where": self.where}


def candidates(chosen: Chosen, names: Iterable[str] = ()) -> list[Changes]:
    """Return sets of one to three changes to try, with those that help the properties `names`; none makes a setting less safe.
    Sets that flush every record come last; else fewer changes come before more, then cheaper ones before others."""
    single = [*_single(chosen), *_of_properties(chosen, names)]
    found = [
        {key: value for change in several for key, value in change.items()}
        for count in range(1, MOST_AT_ONCE + 1)
        for several in combinations(single, count)
        if len({key for change in several for key in change}) == sum(map(len, several))
    ]
    factor, acks = int(chosen.configuration[FACTOR]), str(chosen.configuration.get("acks"))
    return sorted(
        (each for each in found if _makes_sense(each, acks)),
        key=lambda each: (FLUSH in each, len(each), cost(each, factor), int(each.get(LEAST, "0"))),
    )


def cost(changes: Changes, factor: int) -> int:
    """Return how much of a change it is: the sum by `COST`, and more if writes then stop with one replica out of the ISR.
    `factor` is the present number of replicas."""
    return sum(COST[key] for key in changes) + (COST_OF_STOPPING if _stops_writes(changes, factor) else 0)


def _stops_writes(changes: Changes, factor: int) -> bool:
    return LEAST in changes and int(changes[LEAST]) >= int(changes.get(FACTOR, factor))


def drawbacks(changes: Changes, factor: int) -> list[str]:
    """Return what the changes cost, in words; `factor` is the present number of replicas."""
    found = ["writes stop while one replica is out of the ISR"] if _stops_writes(changes, factor) else []
    return found + [says for key, says in DRAWBACKS.items() if key in changes]


def strongest(found: Iterable[Changes]) -> Changes:
    """Return the changes as one, each key with the greatest of its numbers, or for other texts the first of its values: if this
    does not help, none of the changes does."""
    every: dict[str, str] = {}
    for each in found:
        for key, value in each.items():
            is_number = value.isdigit() and every.get(key, "0").isdigit()
            if key not in every or (is_number and int(value) > int(every[key])):
                every[key] = value
    return every


def in_words(changes: Changes) -> list[str]:
    """Return each change as people write it, such as `acks=all`."""
    return ["every replica in the ISR" if key == OUTSIDE else f"{key}={value}" for key, value in changes.items()]


def moved_in(now: Mapping[str, Any]) -> bool:
    """Return True if a configuration begins in the middle of a reassignment."""
    return "start.replicas" in now and is_moved(now)


def request(changes: Changes, now: Mapping[str, object]) -> str:
    """Return the changes as one sentence that asks for them, each setting with its present value."""
    settings = [
        f"{key}={value} (now {_written(now.get(key))})" for key, value in changes.items() if key not in (OUTSIDE, VERSION)
    ]
    first = "let the reassignment finish" if moved_in(now) else "get every replica back into the ISR"
    found = [f"first {first}"] if OUTSIDE in changes else []
    found += [f"upgrade to Kafka {changes[VERSION]} (the newest here; {ELR} is there from 4.1)"] if VERSION in changes else []
    found += [f"set {' and '.join(settings)}"] if settings else []
    text = ", then ".join(found)
    return text[:1].upper() + text[1:]


def _written(value: object) -> str:
    """Return the present value of a setting as people write it: `true` for True."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def _makes_sense(changes: Changes, acks: str) -> bool:
    """Return False if the changes upgrade Kafka and do not switch ELR on, or if they set idempotence or a flush of every record
    and acks (as they set it, else at present, `acks`) is not `all`; else True."""
    is_alone = {FLUSH, IDEMPOTENCE} & changes.keys() and changes.get("acks", acks) != "all"
    return not (VERSION in changes and ELR not in changes) and not is_alone


def _single(chosen: Chosen) -> Iterable[Changes]:
    now, model = chosen.configuration, chosen.model
    factor = int(now[FACTOR])
    if now.get(OUTSIDE) or chosen.is_standing:
        yield {OUTSIDE: "0"}
    if "acks" in model.keys and now["acks"] in ("0", "1"):
        yield {"acks": "all"}
    if now.get("unclean.leader.election.enable"):
        yield {"unclean.leader.election.enable": "false"}
    if LEAST in model.keys:
        yield from ({LEAST: str(each)} for each in range(int(now[LEAST]) + 1, max(factor, 3) + 1) if each <= max(factor, 2))
    if factor < 3 and not now.get("broker.rack"):
        yield {FACTOR: "3"}
    version = parsed(chosen.release) if chosen.release else None
    if version and not now.get(ELR) and ELR in model.keys:
        yield {ELR: "true"}
        if version < (4, 1):
            yield {VERSION: version_text(NEWEST)}
    if now.get(FLUSH) == "default":
        yield {FLUSH: "1"}


def _of_properties(chosen: Chosen, names: Iterable[str]) -> Iterable[Changes]:
    """Yield what clients can change for these properties, and, where replicas share racks that may fail, a rack for each."""
    now = chosen.configuration
    wanted = {(key, value) for name in names for key, value in OF_PROPERTIES.get(name, {}).items() if key in now}
    yield from ({key: value} for key, value in sorted(wanted) if _written(now[key]) != value)
    racks = now.get(RACKS, ())
    if len(set(racks)) < len(racks) and any(now.get(each.key) for each in OF_RACKS):
        yield {RACKS: ",".join("abcdefg"[: len(racks)])}


def is_upgrade(changes: Changes) -> bool:
    """Return True if the changes bring another Kafka version, or ELR, and so other defects: then nothing says that safer
    settings lose no more than before."""
    return VERSION in changes or ELR in changes


def defects_in(chosen: Chosen) -> list[Defect]:
    """Return the known defects of the Kafka version that was asked for; none if there was none."""
    stated = chosen.settings.get(VERSION)
    release = chosen.release or (stated.value if stated else "")
    return [each for each in DEFECTS if each.is_in(release)]


def is_possible(chosen: Chosen, changes: Changes) -> bool:
    """Return True if the changes go together: min ISR is at most the replicas (a new one: those in the ISR, or writes would
    stop at once), and ELR, if it is changed, has Kafka 4.1 or later."""
    factor = int(changes.get(FACTOR, chosen.configuration[FACTOR]))
    least = int(changes.get(LEAST, chosen.configuration.get(LEAST, 1)))
    outside = int(changes.get(OUTSIDE, chosen.configuration.get(OUTSIDE, 0))) if LEAST in changes else 0
    version = parsed(changes.get(VERSION, chosen.release or "")) or (0, 0)
    return least <= factor - outside and (ELR not in changes or version >= (4, 1))


def commands(chosen: Chosen, changes: Changes) -> list[Command]:
    """Return what to type, or to write where, for each change: first what sees to the ISR, then the topic's settings, then the
    rest."""
    found: list[Command] = []
    if OUTSIDE in changes:
        tool = "reassign-partitions.sh" if moved_in(chosen.configuration) else "topics.sh"
        what = "--list" if moved_in(chosen.configuration) else "--describe --under-replicated-partitions"
        found.append(Command(f"kafka-{tool} {SERVER} {what}  # until none is listed"))
    of_topics = {key: value for key, value in changes.items() if key in OF_TOPICS}
    if of_topics:
        found += _of_topics(chosen, of_topics)
    if FACTOR in changes:
        found += _more_replicas(chosen, changes[FACTOR])
    found += _own_keys(chosen, changes)
    if "acks" in changes:
        setting = chosen.settings.get("acks")
        where = setting.where if setting is not None and setting.how == Origin.FILE else "every producer's configuration"
        found.append(Command(f"acks={changes['acks']}", where))
    if IDEMPOTENCE in changes:
        found.append(Command(f"{IDEMPOTENCE}={changes[IDEMPOTENCE]}", "every producer's configuration"))
    if COMMIT in changes:
        after = changes[COMMIT].partition("-")[0]
        found.append(Command(f"# the consumer commits an offset {after} it processes the record", "every consumer's code"))
    if RACKS in changes:
        plan = f"kafka-reassign-partitions.sh {SERVER} --execute --reassignment-json-file plan.json"
        found.append(Command(f"{plan}  # with each replica in another rack"))
    if VERSION in changes:
        found.append(Command(f"# upgrade to Kafka {changes[VERSION]}"))
    if ELR in changes:
        found.append(Command(f"kafka-features.sh {SERVER} upgrade --feature {ELR}.version=1"))
    return found


def _of_topics(chosen: Chosen, changes: Changes) -> list[Command]:
    text = ",".join(f"{key}={value}" for key, value in changes.items())
    found = [
        Command(", ".join(f"{key}: {value}" for key, value in changes.items()), place.where)
        for place in chosen.places.values()
        if place.is_declared
    ]
    declared = {subject for subject, place in chosen.places.items() if place.is_declared}
    names = dict.fromkeys(topic_of(each) for each in chosen.subjects or ("TOPIC",) if each not in declared)
    return found + [
        Command(f"kafka-configs.sh {SERVER} --alter --entity-type topics --entity-name {shlex.quote(name)} --add-config {text}")
        for name in names
    ]


def _more_replicas(chosen: Chosen, factor: str) -> list[Command]:
    declared = [each.where for each in chosen.places.values() if each.is_declared]
    if declared:
        return [Command(f"replicas: {factor}", where) for where in declared]
    plan = f"kafka-reassign-partitions.sh {SERVER} --execute --reassignment-json-file plan.json"
    return [Command(f"{plan}  # with {factor} replicas for each partition")]


def _own_keys(chosen: Chosen, changes: Changes) -> list[Command]:
    """Return the lines, in the files of Kafka's own programs, that change the replication factor or the min ISR of the topics
    that these create from then on."""
    known = filter(None, (internal_topic(topic_of(each)) for each in chosen.subjects))
    lines = [
        (key, changes[of], each.file)
        for each in known
        for key, of in ((each.factor, FACTOR), (each.least, LEAST))
        if of in changes
    ]
    return [Command(f"{key}={value}", where) for key, value, where in dict.fromkeys(lines) if key]


def topic_of(subject: str) -> str:
    """Return the topic of `orders` or of `orders (partitions 0-3)`."""
    return subject.partition(" (")[0]
