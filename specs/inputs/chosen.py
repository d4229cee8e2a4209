"""The configurations to ask about: the one that a user gives, or each distinct one of Kafka's own files."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from neverlost.model.kernel import Configuration
from neverlost.specs.configuration.choose import VERSION, Chosen, Given, choose, choose_each, stand
from neverlost.specs.configuration.version_defaults import without_scala
from neverlost.specs.errors import InputError
from neverlost.specs.setting import Notice, NoticeKind, Origin, Setting, of_kind

if TYPE_CHECKING:
    from neverlost.specs.inputs.effective_settings import ClusterConfiguration

KafkaFiles = Mapping[str, Any]
"""What `read_cluster` reads, by the names of its parameters; None is not given."""


OF_PRODUCERS = ("acks", "enable.idempotence")
"""What is given about an application's producer says nothing of the topics that Kafka's own programs write."""


def chosen_configurations(given: Given, files: KafkaFiles, version: str | None = None) -> tuple[list[Chosen], list[str]]:
    """Return the configurations, each with its notices, and a sentence for each notice that a user must see.

    Given keys win over files; without files there are no sentences.  `version` is that of `--kafka-version`, if it is given.
    Errors: `InputError` for a wrong key, value or file, and for given keys that name another version.
    """
    given = _with_version(given, version)
    named = {option: path for option, path in files.items() if path is not None}
    if not named:
        return choose_each(given), []
    from neverlost.specs.inputs.effective_settings import read_cluster

    found = []
    for each in read_cluster(**named, kafka_version=given.get(VERSION, (None,))[0], given=given.keys()):
        stated = {key: value for key, value in given.items() if not (each.is_internal and key in OF_PRODUCERS)}
        chosen = choose(stated, subjects=each.topics, offered=each.settings)
        brokers = each.brokers(chosen.model.symmetric(chosen.configuration))
        standing = None if any(key.startswith("start.") for key in given) else _stand(each, chosen)
        if standing is not None:
            chosen, brokers = standing, each.brokers(True)
        noticed = (*chosen.notices, *each.notices)
        notices = (*noticed, *_not_read(each.settings, given, chosen), *_about_standing(each, chosen))
        found.append(replace(chosen, notices=notices, brokers=brokers, places=each.places, out=each.out))
    every = (notice for each in found for notice in each.notices)
    return found, list(map(str, of_kind(every, NoticeKind.WARNING, NoticeKind.ASSUMED, NoticeKind.LEFT_OUT)))


def _with_version(given: Given, version: str | None) -> Given:
    """Return the keys with this version; unchanged for None.  Errors: `InputError` where they give a different one already."""
    if version is None:
        return given
    version = without_scala(version)
    value, where = given.get(VERSION, (version, ""))
    if str(value) != version:
        raise InputError(f"{VERSION} is {value} in {where} and {version} in --kafka-version; give the version that runs")
    return given | {VERSION: (version, "--kafka-version")}


def _stand(cluster: ClusterConfiguration, chosen: Chosen) -> Chosen | None:
    """Return the configuration that begins as the first partition stands now.  Return None if no partition is being reassigned
    and none is one of `_hanging`, or if no model can begin so."""
    if not (_moved(cluster) or _hanging(cluster, chosen.configuration)):
        return None
    partition = next(iter(cluster.partitions.values()))[0]
    outside = 0 if partition.is_in_sync else len(set(partition.settled) - set(partition.isr))
    stored = min(chosen.configuration["bounds.records"], MOST_STORED)
    values = {"start.replicas": partition.roles, "start.outside_isr": str(outside), "start.stored": str(stored)}
    return stand(chosen, {key: Setting(value, partition.where) for key, value in values.items()})


MOST_STORED = 2
"""Records at most that are stored when a search begins: another is as good as one of these."""


def _moved(cluster: ClusterConfiguration) -> list[str]:
    return [name for name, (each, _) in cluster.partitions.items() if each.is_reassigned]


def _hanging(cluster: ClusterConfiguration, configuration: Configuration) -> list[str]:
    """Return the names of the partitions that take no new records, so that only stored ones are at stake: those that are
    offline or, unless acks is 0 or 1, have fewer replicas in sync than min.insync.replicas."""
    least = min(configuration.get("min.insync.replicas", 1), configuration["replication.factor"])
    needs_isr = str(configuration.get("acks")) not in ("0", "1")
    return [
        name
        for name, (each, _) in cluster.partitions.items()
        if each.is_offline or (needs_isr and len(each.settled) - each.outside < least)
    ]


def _about_standing(cluster: ClusterConfiguration, chosen: Chosen) -> Iterator[Notice]:
    """Yield at most one notice of a reassignment and one of `_hanging` partitions: of the first such, and how many more.

    It is a warning where the question begins as they stand.  Else it is of kind `LEFT_OUT`: `holds` is no answer about them.
    If the first hanging partition is offline, its notice is always `LEFT_OUT`: what brokers that are down have kept is unknown.
    """
    moved, hanging = _moved(cluster), _hanging(cluster, chosen.configuration)
    kind, left_out = (
        (NoticeKind.WARNING, "") if chosen.is_standing else (NoticeKind.LEFT_OUT, ", and is not part of the question")
    )
    if moved:
        first = cluster.partitions[moved[0]][0]
        changes = (("adding", first.adding), ("removing", first.removing))
        what = ", ".join(f"{verb} {_listed(brokers)}" for verb, brokers in changes if brokers)
        says = f"{moved[0]}: a reassignment is in progress ({what}){left_out}{_and_more(moved)}"
        yield Notice(kind, says, first.where, "ask again when it is done" if left_out else "", cluster.topics)
    if hanging:
        first = cluster.partitions[hanging[0]][0]
        least = min(chosen.configuration.get("min.insync.replicas", 1), chosen.configuration["replication.factor"])
        holders = [each for each in first.settled if each in first.isr or each in first.elr]
        by = f"hang by broker{'s' * (len(holders) > 1)} {_listed(holders)}" if holders else "are on no replica that may lead"
        now = "offline" if first.is_offline else f"{len(first.settled) - first.outside} in sync, min.insync.replicas={least}"
        says = f"{hanging[0]} ({now}): records already stored {by}{left_out.replace('is', 'are')}{_and_more(hanging)}"
        remedy = "bring the other replicas back into the ISR first"
        if first.is_offline:
            remedy = "neverlost rescue says whom to bring back or to elect"
            kept = "what brokers that are down have kept is not shown, so a loss can be found here and not ruled out"
            kind, says = NoticeKind.LEFT_OUT, f"{says}; {kept}"
        yield Notice(kind, says, first.where, remedy, cluster.topics)


def _listed(brokers: Iterable[int]) -> str:
    return ",".join(map(str, brokers))


def _and_more(names: Sequence[str]) -> str:
    many = "1 more partition is" if len(names) == 2 else f"{len(names) - 1} more partitions are"
    return f"; {many} in the same state" if len(names) > 1 else ""


def _not_read(settings: Mapping[str, Setting], given: Given, chosen: Chosen) -> tuple[Notice, ...]:
    """Return a warning for each key that a file sets and the model does not read, unless the key is given too."""
    return tuple(
        Notice(NoticeKind.WARNING, f"{key}={each.value} is not read by model {chosen.model.name}", each.where)
        for key, each in sorted(settings.items())
        if each.how == Origin.FILE and key not in given and key not in chosen.settings
    )
