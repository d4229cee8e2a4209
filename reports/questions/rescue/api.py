"""`rescue` decides for a partition without a leader whom to elect, for whom to wait, and what is lost."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from os import PathLike
from typing import Any

from neverlost.checker.questions.rescue.offline_partition import WENT, OfflinePartition, RescueAdvice, advise
from neverlost.reports.bundle.keep import writes_bundle
from neverlost.reports.questions.rescue.document import RescueSubject, lines, make_document
from neverlost.reports.request.keywords import Settings
from neverlost.reports.results.results import Answer
from neverlost.specs.configuration.choose import read_settings
from neverlost.specs.configuration.keys import key_of
from neverlost.specs.errors import InputError, quote, unknown
from neverlost.specs.inputs.recognise import read_described
from neverlost.specs.inputs.replica_files import read_replica
from neverlost.specs.inputs.syntax.topics_and_settings import Described, DescribedPartition, Topic

ACKS, MIN_ISR, FLUSH = "acks", "min.insync.replicas", "flush.messages"


@dataclass(frozen=True, repr=False)
class RescueResult(Answer):
    """What to do about a partition without a leader, and what the election of each replica loses."""

    says: str
    broker: int | None
    loses_nothing: bool
    candidates: Sequence[Mapping[str, Any]] = field(repr=False)

    def rows(self) -> Sequence[Mapping[str, Any]]:
        return self.candidates

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {next(lines(self.document))}>"


@writes_bundle
def rescue(
    settings: Settings = None,
    *,
    files: Mapping[str, Any] | None = None,
    topic: str | None = None,
    partition: int | None = None,
    replicas: Sequence[str] = (),
    went: Sequence[str] = (),
    out: str | PathLike[str] | None = None,
) -> RescueResult:
    """Decide whom a partition without a leader may elect.  `files` has the description of the topic, `replicas` are texts
    `BROKER=FOLDER` with a replica's files, `went` texts `BROKER=HOW`.  Settings are `acks`, `min.insync.replicas` and
    `flush.messages` while the records were written.  Errors: `InputError` for bad input, and a partition with a leader."""
    named = (files or {}).get("describe") or []
    paths = [named] if isinstance(named, str) else list(named)
    if len(paths) != 1:
        raise InputError("rescue needs one --describe FILE: what kafka-topics.sh --describe prints of the topic now")
    described = read_described(paths[0], "--describe")
    found, one = _find_partition(described, topic, partition)
    ways = {broker: _way(each, how) for broker, (each, how) in _pairs("--went", went, "HOW").items()}
    stranger = next((each for each in ways if each not in one.replicas), None)
    if stranger is not None:
        known = ", ".join(map(str, one.replicas))
        raise InputError(f"--went names broker {stranger}, which is no replica ({known}); leave it out")
    given = _read_own_settings(settings)
    folders = _pairs("--replica", replicas, "FOLDER")
    seen = OfflinePartition(
        one.replicas,
        one.isr,
        one.elr,
        one.last_known_elr,
        ways,
        {broker: read_replica(broker, folder, found.name, one.number) for broker, (_, folder) in folders.items()},
        acks=str(given.get(ACKS, "all")),
        min_isr=int(given.get(MIN_ISR, 1)),
        is_flushed=given.get(FLUSH) == "1",
    )
    advice = advise(seen)
    safer = None if MIN_ISR in given else _find_safe_if_copied(seen, advice, found)
    assumed = {} if ACKS in given else {ACKS: "all"}
    leading = frozenset(
        each.leader for topic in described.topics.values() for each in topic.partitions.values() if each.leader is not None
    )
    return RescueResult.of(make_document(RescueSubject(found, one, assumed, safer, leading), seen, advice))


def _find_safe_if_copied(seen: OfflinePartition, advice: RescueAdvice, topic: Topic) -> tuple[int, int] | None:
    """Return which broker to elect or wait for if min.insync.replicas had always been what is described (2 if nothing is), and
    that number.  None if every candidate could lose something even then, or if some candidate loses nothing anyway."""
    shown = topic.configs[MIN_ISR].value if MIN_ISR in topic.configs else "2"
    if not shown.isdecimal() or int(shown) > len(seen.replicas) or any(each.loses_nothing for each in advice.candidates):
        return None
    then = advise(replace(seen, min_isr=int(shown)))
    is_safe = any(each.loses_nothing for each in then.candidates)
    return (then.broker, int(shown)) if is_safe and then.broker is not None else None


def _find_partition(described: Described, topic: str | None, number: int | None) -> tuple[Topic, DescribedPartition]:
    if topic is not None and topic not in described.topics:
        raise unknown("topic", topic, described.topics, "--describe")
    every = [(one, each) for one in described.topics.values() for each in one.partitions.values() if topic in (None, one.name)]
    every = [each for each in every if number in (None, each[1].number)]
    offline = [each for each in every if not each[1].has_leader]
    if len(offline) == 1:
        return offline[0]
    if offline:
        names = [f"{one.name}-{each.number}" for one, each in offline]
        more = f" and {len(names) - 5} more" if len(names) > 5 else ""
        raise InputError(f"{', '.join(names[:5])}{more} have no leader: ask about one with --topic and --partition")
    if len(every) == 1:
        one, led = every[0]
        says = (
            f"broker {led.leader} leads {one.name}-{led.number} in {led.where}" if led.leader is not None else "it has a leader"
        )
        raise InputError(f"{says}: nobody has to be elected; if that broker is gone, describe again when there is no leader")
    raise InputError(f"no partition{'' if number is None else f' {number}'} without a leader is described; describe again")


def _pairs(option: str, texts: Iterable[str], what: str) -> dict[int, tuple[str, str]]:
    """Return each text `BROKER=VALUE` and its value, by broker.  Errors: `InputError` for anything else, and a broker twice."""
    found: dict[int, tuple[str, str]] = {}
    for text in [texts] if isinstance(texts, str) else texts:
        name, equals, value = text.partition("=")
        if not (name.isascii() and name.isdecimal() and len(name) < 11 and equals and value):
            example = "1=killed" if what == "HOW" else "1=rescue/broker-1"
            raise InputError(f"bad value {quote(text)} for {option}: write BROKER={what}, such as {example}")
        if int(name) in found:
            raise InputError(
                f"{option} names broker {name} twice: {quote(found[int(name)][0])} and {quote(text)}; leave one out"
            )
        found[int(name)] = (text, value)
    return found


def _way(text: str, how: str) -> str:
    if how not in WENT:
        raise unknown("way to go", how, WENT, f"--went {quote(text)}")
    return how


def _read_own_settings(settings: Settings) -> dict[str, Any]:
    found = {}
    for name, (value, where) in read_settings(settings).items():
        if name not in (ACKS, MIN_ISR, FLUSH):
            raise unknown("setting", name, (ACKS, MIN_ISR, FLUSH), where)
        found[name] = key_of(name, where).parse(value, where)
    return found
