"""What files say of a cluster: topics with partitions, configurations by entity, features; the same from every format."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from itertools import chain

from neverlost.specs.configuration.version_defaults import NEWEST, OLDEST, Version
from neverlost.specs.errors import InputError, quote
from neverlost.specs.inputs.syntax.documents import DocumentNode
from neverlost.specs.setting import Notice, Setting, Settings


@dataclass(frozen=True)
class DescribedPartition:
    """How one partition stands: its replicas, leader, ISR and ELR, and what a reassignment adds and removes.

    Errors: `InputError` for a broker that is in the ISR or ELR, or leads, and is no replica, and for one in both ISR and ELR.
    """

    number: int
    replicas: tuple[int, ...]
    adding: tuple[int, ...]
    isr: tuple[int, ...]
    elr: tuple[int, ...]
    has_leader: bool
    where: str
    leader: int | None = None
    removing: tuple[int, ...] = ()
    last_known_elr: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        named = (
            ("in the ISR", self.isr),
            ("in the ELR", self.elr),
            ("the leader", () if self.leader is None else (self.leader,)),
        )
        for what, brokers in named:
            if brokers != self.replicas and not set(brokers) <= set(self.replicas):
                wrong = next(each for each in brokers if each not in self.replicas)
                raise InputError(
                    f"broker {wrong} is {what} of a partition in {self.where}, and not among its replicas "
                    f"{','.join(map(str, self.replicas))}; describe again"
                )
        both = [each for each in self.elr if each in self.isr]
        if both:
            raise InputError(f"broker {both[0]} is in the ISR and in the ELR of a partition in {self.where}; describe again")

    def alike(self, number: int, where: str) -> DescribedPartition:
        """Return a partition of another number and place that stands as this one does, without checking it again."""
        found = object.__new__(DescribedPartition)
        vars(found).update(vars(self), number=number, where=where)
        return found

    @cached_property
    def is_in_sync(self) -> bool:
        """True if it has a leader, the ISR lists every replica in the order of `replicas` (False if in another order), and no
        reassignment is in progress."""
        return self.has_leader and self.isr == self.replicas and not self.is_reassigned

    @property
    def is_reassigned(self) -> bool:
        """True if a reassignment is in progress."""
        return bool(self.adding or self.removing)

    @property
    def outside(self) -> int:
        """How many replicas are not in the ISR, but for those that a reassignment is adding."""
        return len(set(self.settled) - set(self.isr)) if self.isr != self.replicas else 0

    @cached_property
    def is_offline(self) -> bool:
        """True if there is no leader, or if of the replicas that no reassignment is adding none is in the ISR."""
        return not self.is_in_sync and (not self.has_leader or self.outside == len(self.settled))

    @cached_property
    def settled(self) -> tuple[int, ...]:
        """The replicas but for those that a reassignment in progress is adding: so `TopicCommand` counts the factor."""
        return tuple(each for each in self.replicas if each not in self.adding) if self.adding else self.replicas

    @property
    def by_role(self) -> tuple[int, ...]:
        """The replicas as models number those that are alike: leader, ISR, ELR, the rest, and last those being added."""
        if self.is_in_sync and not self.elr and self.leader in (None, self.replicas[0]):
            return self.replicas
        return tuple(sorted(self.replicas, key=lambda each: (each in self.adding, -self._rank(each), each in self.removing)))

    def _rank(self, broker: int) -> int:
        return 3 if broker == self._leads else 2 if broker in self.isr else int(broker in self.elr)

    @property
    def _leads(self) -> int | None:
        """The leader's id, None without a leader; where there is one that is not named, the first of the ISR."""
        return (self.leader if self.leader is not None else next(iter(self.isr), None)) if self.has_leader else None

    @property
    def roles(self) -> str:
        """How each replica stands, in the order of `by_role`, as one text for `start.replicas`, such as `leader,isr,out`."""
        words = ("out", "elr", "isr", "leader")
        found = []
        for each in self.by_role:
            says = [words[self._rank(each)]]
            if each in self.adding:
                says = ["adding", *(word for word in says if word != "out")]
            found.append("+".join([*says, *(["removing"] if each in self.removing else [])]))
        return ",".join(found)


@dataclass
class Topic:
    """One described topic.  With `shows_broker_values` a broker printed it, so a value that is not Kafka's default
    shows even where the topic does not set it; ZooKeeper, and files that ask for a topic, show what the topic sets.
    With `is_declared` the file asks for the topic, so that it is changed there."""

    name: str
    replication_factor: Setting
    configs: Settings
    shows_broker_values: bool
    partitions: dict[int, DescribedPartition] = field(default_factory=dict)
    is_declared: bool = False

    def add(self, partition: DescribedPartition) -> None:
        """Effect: add a partition.  Errors: `InputError` if it is described already."""
        if partition.number in self.partitions:
            says = f"partition {partition.number} of topic {quote(self.name)} in {partition.where} is described twice"
            raise InputError(f"{says}; remove one")
        self.partitions[partition.number] = partition

    @property
    def place(self) -> str:
        """Where the files speak of the topic first; empty if nowhere."""
        settings = (each.where for each in self.configs.values())
        partitions = (each.where for each in self.partitions.values())
        return next(filter(None, chain((self.replication_factor.where,), settings, partitions)), "")


@dataclass
class Described:
    """What one or several files describe.

    `configs` are of topics by name, `brokers` dynamic values by broker, `cluster` their dynamic defaults, `server` the
    static values of brokers; `elr` is whether the features have ELR on.  `versions` are statements of the Kafka version,
    `metadata` the finalized `metadata.version` (never newer than the Kafka version), and `printed_by` the oldest and the newest
    Kafka whose tools can have printed the text.
    """

    topics: dict[str, Topic] = field(default_factory=dict)
    configs: dict[str, Settings] = field(default_factory=dict)
    brokers: dict[str, Settings] = field(default_factory=dict)
    cluster: Settings = field(default_factory=dict)
    server: Settings = field(default_factory=dict)
    elr: Setting | None = None
    versions: list[Setting] = field(default_factory=list)
    metadata: Setting | None = None
    printed_by: tuple[Version, Version] = (OLDEST, NEWEST)
    notices: list[Notice] = field(default_factory=list)

    def add_topic(self, topic: Topic, where: str) -> None:
        """Effect: add a topic.  Errors: `InputError` if it is described already."""
        if topic.name in self.topics:
            raise InputError(f"topic {quote(topic.name)} in {where} is described twice; remove one of them")
        self.topics[topic.name] = topic

    def add(self, other: Described) -> None:
        """Effect: add what `other` says.  Errors: `InputError` for a topic that both describe, and a setting that differs."""
        for topic in other.topics.values():
            self.add_topic(topic, topic.replication_factor.where)
        for mine, theirs in ((self.configs, other.configs), (self.brokers, other.brokers)):
            for name, settings in theirs.items():
                _join(mine.setdefault(name, {}), settings, f" of {quote(name)}")
        _join(self.cluster, other.cluster, " of the cluster")
        _join(self.server, other.server, " of the brokers")
        self.elr = _one(self.elr, other.elr, "eligible.leader.replicas.version")
        self.metadata = _one(self.metadata, other.metadata, "metadata.version")
        self.versions += other.versions
        oldest = max(self.printed_by[0], other.printed_by[0])
        self.printed_by = oldest, max(oldest, min(self.printed_by[1], other.printed_by[1]))
        self.notices += other.notices


def _join(mine: Settings, theirs: Settings, whose: str) -> None:
    for key, setting in theirs.items():
        mine[key] = _one(mine.get(key), setting, f"{key}{whose}") or setting


def _one(mine: Setting | None, theirs: Setting | None, what: str) -> Setting | None:
    if mine and theirs and mine.value != theirs.value:
        raise InputError(
            f"{what} is {quote(mine.value)} in {mine.where} and {quote(theirs.value)} in {theirs.where}; "
            "describe both again at the same time"
        )
    return mine or theirs


def ranges(numbers: Iterable[int]) -> str:
    """Return partition numbers as ranges, such as `0-3,7`."""
    found: list[list[int]] = []
    for number in sorted(numbers):
        if found and number == found[-1][1] + 1:
            found[-1][1] = number
        else:
            found.append([number, number])
    return ",".join(str(low) if low == high else f"{low}-{high}" for low, high in found)


def broker_ids(ids: list[str], label: str, where: str, shown: str) -> tuple[int, ...]:
    """Return broker ids as numbers.  Errors: `InputError` for what is no id, and for a broker that is named twice."""
    found = _numbers(tuple(ids))
    if found is None:
        raise InputError(f"bad value {quote(shown)} for {label} in {where}: use broker ids such as 1,2,3")
    if len(set(found)) != len(found):
        raise InputError(f"bad value {quote(shown)} for {label} in {where}: a broker is named twice")
    return found


@lru_cache(maxsize=10_000)
def _numbers(ids: tuple[str, ...]) -> tuple[int, ...] | None:
    """Return broker ids as numbers, None if one is none; cached, since a cluster has the same few lists again and again."""
    is_number = all(0 < len(each) < 11 and each.isascii() and each.isdigit() for each in ids)
    return tuple(map(int, ids)) if is_number else None


def whole_number(text: str, label: str, where: str) -> int:
    """Return a partition's number, or another such text, as a number.  Errors: `InputError` for anything else."""
    if not (0 < len(text) < 11 and text.isascii() and text.isdigit()):
        raise InputError(f"bad value {quote(text)} for {label} in {where}: use a partition number")
    return int(text)


_PAIR = re.compile(r"(?:^|,)\s*([A-Za-z][\w.\-]*)=")


def with_ends(found: list[re.Match[str]], text: str) -> Iterator[tuple[re.Match[str], int]]:
    """Yield each match, and where the value after it ends: at the next match, or with the text."""
    return zip(found, [*[each.start() for each in found[1:]], len(text)], strict=False)


def split_configs(text: str, where: str) -> Settings:
    """Return `a=1,b=x,y` as settings; a comma belongs to the value unless a `key=` follows it.
    Errors: `InputError` where a piece has no key, and for a key that stands twice."""
    found = list(_PAIR.finditer(text))
    if text.strip() and (not found or text[: found[0].start()].strip()):
        raise InputError(f"bad value {quote(text)} for Configs in {where}: use key=value,key=value")
    keys = [each.group(1) for each in found]
    if len(set(keys)) < len(keys):
        twice = next(each for each in keys if keys.count(each) > 1)
        raise InputError(f"{quote(twice)} stands twice in Configs in {where}; keep one of them")
    return {each.group(1): Setting(text[each.end() : end].strip(), where) for each, end in with_ends(found, text)}


@dataclass(frozen=True)
class Document:
    """A text to be read: its name for messages, and its trees where it is JSON or YAML."""

    name: str
    text: str
    trees: tuple[DocumentNode, ...] = ()
