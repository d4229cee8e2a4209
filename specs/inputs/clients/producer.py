"""The acks and idempotence that a producer ends up with, from what its file sets.

Source: `ProducerConfig.postProcessAndValidateIdempotenceConfigs`, `KafkaProducer.configureAcks` before 3.0, and
librdkafka's `rd_kafka_conf_finalize` and CONFIGURATION.md.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from neverlost.specs.configuration.version_defaults import WITHOUT_VERSION, Version, parse_truth, parse_whole
from neverlost.specs.errors import InputError, quote
from neverlost.specs.inputs.clients.read import Client
from neverlost.specs.setting import Notice, NoticeKind, Origin, Setting, Settings

IN_FLIGHT = "max.in.flight.requests.per.connection"
LARGEST_INT = 2**31 - 1
IDEMPOTENCE_SINCE: Version = (0, 11)
REFUSED_SINCE: Version = (4, 0)
"""From here a producer whose default idempotence conflicts with `max.in.flight…` does not start."""

NOT_MODELLED = {
    "retries": "how often a producer retries is not modelled: faults.producer_retry says whether it does",
    "transactional.id": "transactions are not modelled; the idempotence that this implies is",
    "delivery.timeout.ms": "time is not modelled: a write that times out is one that was not acknowledged",
    "message.timeout.ms": "time is not modelled: a write that times out is one that was not acknowledged",
    "request.timeout.ms": "time is not modelled: a write that times out is one that was not acknowledged",
}


@dataclass(frozen=True)
class Producer:
    """The acks and idempotence with which a producer runs, and what was noticed about its settings."""

    acks: Setting
    idempotence: Setting
    notices: tuple[Notice, ...]


def parse_acks(setting: Setting) -> str:
    """Return `0`, `1` or `all`; `-1` is `all` too.  Errors: `InputError` for anything else, which Kafka refuses."""
    found = {"all": "all", "-1": "all", "0": "0", "1": "1"}.get(setting.value.strip())
    if found is None:
        raise InputError(f"bad value {quote(setting.value)} for acks in {setting.where}: use all, -1, 0 or 1")
    return found


def _conflicts(acks: Setting, given: Settings, limit: int) -> list[str]:
    """Return the settings that conflict with idempotence, as `retries=0 (PLACE)`; more requests in flight than `limit` do."""
    found = [f"acks={acks.value} ({acks.where})"] if "acks" in given and acks.value != "all" else []
    if "retries" in given and parse_whole(given["retries"], "retries", 0, LARGEST_INT) == 0:
        found.append(f"retries=0 ({given['retries'].where})")
    if IN_FLIGHT in given and parse_whole(given[IN_FLIGHT], IN_FLIGHT, 1, LARGEST_INT) > limit:
        found.append(f"{IN_FLIGHT}={given[IN_FLIGHT].value.strip()} ({given[IN_FLIGHT].where})")
    return found


def producer(given: Settings, version: Version | None, default: Mapping[str, Setting], refuses: bool = False) -> Producer:
    """Return the producer that results from settings under the Java client's names.

    Idempotence that is asked for, by itself or by `transactional.id`, turns an acks that is not set into `all`.  Where
    idempotence conflicts with another setting, a notice says one of two things.  Kafka refuses to start the producer: if
    idempotence is asked for, or `refuses` (librdkafka), or from 4.0 on if max.in.flight… conflicts.  Else the producer drops
    idempotence, which was only the default.

    Errors: `InputError` for a malformed setting.
    """
    known = version or WITHOUT_VERSION
    knows_idempotence = known >= IDEMPOTENCE_SINCE
    acks = Setting(parse_acks(given["acks"]), given["acks"].where, given["acks"].how) if "acks" in given else default["acks"]
    asked = _asked_for(given) if knows_idempotence else None
    idempotence = asked or default["enable.idempotence"]
    conflicts = _conflicts(acks, given, 1 if known < (1, 0) else 5)
    notices = _list_not_modelled(given, NOT_MODELLED)
    is_refused = asked or refuses or (known >= REFUSED_SINCE and any(each.startswith(IN_FLIGHT) for each in conflicts))
    if idempotence.value == "true" and conflicts and is_refused:
        why = asked.where if asked else "on by default"
        says = f"Kafka refuses to start a producer with idempotence ({why}) and {', '.join(conflicts)}"
        notices.append(Notice(NoticeKind.WARNING, says, remedy="set one of them otherwise"))
    elif idempotence.value == "true" and conflicts:
        says = f"enable.idempotence is not set and does not go with {', '.join(conflicts)}: the producer drops it"
        notices.append(Notice(NoticeKind.WARNING, says))
        idempotence = Setting("false", given.get("acks", acks).where, Origin.DEFAULT)
    elif idempotence.value == "true" and asked and "acks" not in given:
        acks = Setting("all", asked.where, asked.how)
    if "transactional.id" in given and idempotence.value == "false" and knows_idempotence:
        says = "Kafka refuses to start a producer with transactional.id and no idempotence"
        notices.append(Notice(NoticeKind.WARNING, says, given["transactional.id"].where, "remove enable.idempotence=false"))
    return Producer(acks, idempotence, tuple(notices))


def _asked_for(given: Settings) -> Setting | None:
    """Return `enable.idempotence` as the file sets it, if it does; else true if it sets a `transactional.id`; else None."""
    asked = given.get("enable.idempotence")
    if asked:
        return Setting(str(parse_truth(asked, "enable.idempotence")).lower(), asked.where, asked.how)
    named = given.get("transactional.id")
    return Setting("true", named.where, named.how) if named else None


def _list_not_modelled(given: Settings, says: Mapping[str, str]) -> list[Notice]:
    """Return a notice of each setting that no answer depends on; `says` why, by key."""
    known = [(key, given[key], why) for key, why in says.items() if key in given]
    return [Notice(NoticeKind.NOT_MODELLED, f"{key}={each.value.strip()}: {why}", each.where) for key, each, why in known]


def consumer_notices(given: Settings) -> list[Notice]:
    """Return notices of a consumer's settings that are not modelled, and a warning unless they set enable.auto.commit=false."""
    found, key = _list_not_modelled(given, CONSUMER_NOT_MODELLED), "enable.auto.commit"
    if key in given and not parse_truth(given[key], key):
        return found
    says = f"{key}=true commits what was polled: it is after-processing only where every record of a poll is processed first"
    remedy = "otherwise use --set consumer.commit=before-processing"
    return [*found, Notice(NoticeKind.WARNING, says, given[key].where if key in given else "the default", remedy)]


def assumed_producer(version: Version | None, default: Mapping[str, Setting]) -> Producer:
    """Return the producer where no file shows one: a Java client of the cluster's version that sets nothing."""
    known = (default["acks"], default["enable.idempotence"])
    acks, idempotence = (Setting(each.value, f"{each.where}; no producer is shown", Origin.ASSUMED) for each in known)
    says = f"no producer file is given: assuming acks={acks.value}"
    remedy = "give --producer-properties FILE, --applications FILE, or --set acks=..."
    return Producer(acks, idempotence, (Notice(NoticeKind.ASSUMED, says, default["acks"].where, remedy),))


def decide(clients: Iterable[Client], version: Version | None, default: Mapping[str, Setting]) -> Producer:
    """Return one producer for several clients: the one with the least safe acks decides, of such the one without idempotence.

    Its notices are those of all clients, one more where the clients differ, and one more where the file of the client that
    decides does not set acks.  Errors: as `producer`.
    """
    every = [(each, producer(each.settings, version, default, not each.dialect.has_java_client)) for each in clients]
    decisive, found = min(every, key=lambda each: (_SAFER.index(each[1].acks.value), each[1].idempotence.value == "true"))
    notices = [notice for each, one in every for notice in (*one.notices, *each.notices)]
    if len({(one.acks.value, one.idempotence.value) for _, one in every}) > 1:
        others = ", ".join(f"{each.shown}: acks={one.acks.value}" for each, one in every if each is not decisive)
        says = f"the producers differ ({others}): {decisive.shown} decides with acks={found.acks.value}, the least safe of them"
        notices.append(Notice(NoticeKind.WARNING, says, found.acks.where, "give each its own file to judge it alone"))
    if found.acks.how != Origin.FILE:
        says = f"acks is not set for {decisive.shown}: taken as {found.acks.value}"
        remedy = "set it in the file, or with --set acks=...: clients of another version may have another default"
        notices.append(Notice(NoticeKind.ASSUMED, says, found.acks.where, remedy))
    return Producer(found.acks, found.idempotence, tuple(dict.fromkeys(notices)))


_SAFER = ("0", "1", "all")


CONSUMER_NOT_MODELLED = {
    "isolation.level": "transactions are not modelled: consumers read to the high watermark",
    "auto.offset.reset": "where a consumer without a committed offset begins is not modelled",
}
