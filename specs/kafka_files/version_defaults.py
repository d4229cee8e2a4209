"""What Kafka takes a setting for: its spelling and range, its default in a version, and the producer's own rules.

Source: `ServerConfigs`, `LogConfig`, `ProducerConfig` and `KafkaProducer` at the release tags; KIP-679 (acks=all from
3.0), KAFKA-13598 (idempotence not effective in 3.0.0 and 3.1.0), KIP-966 (eligible leader replicas, on from 4.1).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from neverlost.specs.configuration.keys import KEYS
from neverlost.specs.errors import InputError
from neverlost.specs.kafka_files.properties import Setting, Settings, quoted

Version = tuple[int, ...]
OLDEST, NEWEST_MAJOR = (0, 8), 4
ASSUMED: Version = (4, 0)
"""What is meant without a version: the newest without eligible leader replicas, whose flag no file shows."""

IN_FLIGHT = "max.in.flight.requests.per.connection"
LONGEST = 2**63 - 1


def parse_version(text: str) -> Version:
    """`3.9` or `3.0.1` as numbers.

    Errors: `InputError` for another form, or a version that Kafka never had.
    """
    if not re.fullmatch(r"[0-9]{1,2}(\.[0-9]{1,2}){1,3}", text.strip()):
        raise InputError(f"bad value {quoted(text)} for --kafka-version: use a version such as 3.9 or 3.0.1")
    version = tuple(map(int, text.strip().split(".")))
    if version < OLDEST or version[0] > NEWEST_MAJOR:
        raise InputError(f"bad value {quoted(text)} for --kafka-version: use a version from 0.8 to {NEWEST_MAJOR}.x")
    return version


def _number(value: str, low: int, high: int) -> int | None:
    """A number as Java parses it (a plus sign and leading zeros are allowed)."""
    text = value.strip()
    if len(text) > 30 or not re.fullmatch(r"[+-]?[0-9]+", text):
        return None
    return int(text) if low <= int(text) <= high else None


def whole(setting: Setting, key: str, low: int, high: int) -> int:
    """A number in a range.

    Errors: `InputError` with the key, the place and the range.
    """
    found = _number(setting.value, low, high)
    if found is None:
        beyond = f"from {low} to {high}" if high < 100 else f"of at least {low}"
        raise InputError(f"bad value {quoted(setting.value)} for {key} in {setting.where}: use a whole number {beyond}")
    return found


def truth(setting: Setting, key: str) -> bool:
    """A boolean; Kafka knows `true` and `false` in any case.

    Errors: `InputError` for anything else.
    """
    found = {"true": True, "false": False}.get(setting.value.strip().lower())
    if found is None:
        raise InputError(f"bad value {quoted(setting.value)} for {key} in {setting.where}: use true or false")
    return found


def canonical(contract_key: str, setting: Setting, spelled: str = "") -> Setting:
    """The contract's value of a topic or broker setting; `spelled` is the name that the file uses for the key.

    Errors: `InputError` for a value that Kafka refuses, or that is beyond what the model can hold.
    """
    key = spelled or contract_key
    if contract_key == "flush.messages":
        value = "1" if whole(setting, key, 1, LONGEST) == 1 else "default"
    elif KEYS[contract_key].kind == "flag":
        value = str(truth(setting, key)).lower()
    else:
        value = str(whole(setting, key, KEYS[contract_key].low, KEYS[contract_key].high))
    return Setting(value, setting.where)


def defaults(version: Version | None) -> Settings:
    """Kafka's defaults of a version; without one, those of the newest without eligible leader replicas."""
    where = f"Kafka {'.'.join(map(str, version))}'s defaults" if version else "Kafka's defaults"
    known = version or ASSUMED
    found = {
        "replication.factor": "1",
        "min.insync.replicas": "1",
        "unclean.leader.election.enable": str(known < (0, 11)).lower(),
        "flush.messages": "default",
        "eligible.leader.replicas": str(known >= (4, 1)).lower(),
        "acks": "all" if known >= (3, 0) else "1",
        "enable.idempotence": str(has_idempotence_by_default(known)).lower(),
    }
    return {key: Setting(value, where) for key, value in found.items()}


def has_idempotence_by_default(version: Version) -> bool:
    """3.0.0 and 3.1.0 declare it without doing it; `3.0` is read as `3.0.0`."""
    return version >= (3, 0, 1) and not (3, 1) <= version < (3, 1, 1)


@dataclass(frozen=True)
class Producer:
    """What a producer does with its settings; `given` are the contract keys that the file sets."""

    acks: Setting
    idempotence: Setting
    given: frozenset[str]
    warnings: tuple[str, ...]


def _acks(setting: Setting) -> str:
    found = {"all": "all", "-1": "all", "0": "0", "1": "1"}.get(setting.value.strip().lower())
    if found is None:
        raise InputError(f"bad value {quoted(setting.value)} for acks in {setting.where}: use all, -1, 0 or 1")
    return found


def _conflicts(acks: str, given: Settings, version: Version) -> list[str]:
    """What idempotence does not go with, as Kafka says it."""
    limit = 1 if version < (1, 0) else 5
    found = [f"acks={acks} ({given['acks'].where})"] if "acks" in given and acks != "all" else []
    if "retries" in given and whole(given["retries"], "retries", 0, 2**31 - 1) == 0:
        found.append(f"retries=0 ({given['retries'].where})")
    if IN_FLIGHT in given and whole(given[IN_FLIGHT], IN_FLIGHT, 1, 2**31 - 1) > limit:
        found.append(f"{IN_FLIGHT}={given[IN_FLIGHT].value.strip()} ({given[IN_FLIGHT].where})")
    return found


def producer(given: Settings, version: Version | None, default: Mapping[str, Setting]) -> Producer:
    """The acks and idempotence that a producer with these settings ends up with.

    Idempotence (asked for, or by `transactional.id`) turns an acks that is not set into `all`.  Where it conflicts
    with another setting Kafka refuses to start the producer if it was asked for, and drops it if it was a default.

    Errors: `InputError` for a malformed setting.
    """
    known = version or ASSUMED
    acks = Setting(_acks(given["acks"]), given["acks"].where) if "acks" in given else default["acks"]
    asked = given.get("enable.idempotence") if known >= (0, 11) else None
    idempotence = default["enable.idempotence"]
    if asked:
        idempotence = Setting(str(truth(asked, "enable.idempotence")).lower(), asked.where)
    elif "transactional.id" in given and known >= (0, 11):
        asked = given["transactional.id"]
        idempotence = Setting("true", asked.where)
    conflicts = _conflicts(acks.value, given, known)
    warnings: list[str] = []
    refused = asked or (known >= (4, 0) and any(each.startswith(IN_FLIGHT) for each in conflicts))
    if idempotence.value == "true" and refused and conflicts:
        why = asked.where if asked else "on by default"
        warnings.append(f"Kafka refuses to start a producer with idempotence ({why}) and {', '.join(conflicts)}")
    elif idempotence.value == "true" and conflicts:
        warnings.append(f"enable.idempotence is not set and does not go with {', '.join(conflicts)}: the producer drops it")
        idempotence = Setting("false", given.get("acks", acks).where)
    elif idempotence.value == "true" and asked and "acks" not in given:
        acks = Setting("all", asked.where)
    if "transactional.id" in given and idempotence.value == "false" and known >= (0, 11):
        where = given["transactional.id"].where
        warnings.append(f"Kafka refuses to start a producer with transactional.id ({where}) and no idempotence")
    keys = {"acks": acks, "enable.idempotence": idempotence}
    return Producer(acks, idempotence, frozenset(key for key, each in keys.items() if each != default[key]), tuple(warnings))


def consumer_warnings(settings: Settings) -> list[str]:
    """What a consumer's file says about when offsets are committed; the rest is in the application's code."""
    key = "enable.auto.commit"
    if key in settings and not truth(settings[key], key):
        return []
    where = f" ({settings[key].where})" if key in settings else " (Kafka's default)"
    return [
        f"{key}=true{where} commits what was polled: it is after-processing only where every record of a poll is "
        "processed before the next one; otherwise use --set consumer.commit=before-processing"
    ]
