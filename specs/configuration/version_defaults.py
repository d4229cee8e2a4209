"""Kafka's releases, what a setting is worth in each where nothing sets it, and how Kafka reads a value.

Source: the release tags of apache/kafka; `ServerConfigs`, `LogConfig` and `ProducerConfig` at these tags; KIP-679 (acks=all
from 3.0), KAFKA-13598 (idempotence not effective in 3.0.0 and 3.1.0), KIP-966 (eligible leader replicas, on from 4.1).
"""

from __future__ import annotations

import re

from neverlost.model.toml_beside import read_toml_beside
from neverlost.specs.configuration.keys import KEYS
from neverlost.specs.errors import InputError, quote
from neverlost.specs.setting import Notice, NoticeKind, Origin, Setting, Settings

Version = tuple[int, ...]
LONGEST = 2**63 - 1

RELEASES: dict[Version, int] = {tuple(map(int, line.split("."))): last for line, last in read_toml_beside(__name__).items()}
"""Every release line with its last patch; before 1.0 a line has three numbers."""

OLDEST: Version = (0, 8)
NEWEST: Version = max(RELEASES)
LAST_WITH_ZOOKEEPER: Version = (3, 9)

MAINTAINED: Version = (3, 9)
"""From this line on there may be patches that are newer than the table."""

ELR = "eligible.leader.replicas"
FIRST_WITH_ELR: Version = (4, 0)
ELR_BY_DEFAULT: Version = (4, 1)
"""From here on clusters are formatted with eligible leader replicas; those that were upgraded to it have them off."""

ELR_IS_OPEN = Notice(
    NoticeKind.ASSUMED,
    "whether eligible leader replicas are on is not known: both are answered",
    remedy=f"give what kafka-features.sh describe prints with --describe, or --set {ELR}=true or false",
)

WITHOUT_VERSION: Version = (4, 0)
"""What is assumed where no version is given: the newest whose new clusters have no eligible leader replicas."""


def shown(version: Version) -> str:
    """Return a version as people write it, such as `3.9`."""
    return ".".join(map(str, version))


_OF_SCALA = re.compile(r"^(kafka_)?2\.1[0-3]-")
"""What stands before Kafka's version in the name of its archive: the version of Scala."""


def without_scala(text: str) -> str:
    """Return Kafka's version from its archive's name, `3.9.0` from `2.13-3.9.0` (Scala's first); any other text as it is."""
    return _OF_SCALA.sub("", text.strip())


def of_confluent_platform(version: Version) -> Version | None:
    """Return the Kafka version that a version of Confluent Platform carries; None if the number is none of its versions.

    Source: Confluent's table of supported versions and interoperability (5.0 is 2.0, 6.0 is 2.6, 7.0 is 3.0, 8.0 is 4.0).
    """
    major, minor = version[:2]
    carried = {5: (2, minor), 6: (2, 6 + minor), 7: (3, minor), 8: (4, minor)}.get(major)
    return carried if carried in RELEASES else None


def parse_version(text: str, where: str = "--kafka-version") -> Version:
    """Return a version such as `3.9` or `3.0.1` as a tuple of its numbers, without Scala's (`2.13-3.9.0`).

    Before 1.0, where lines have three numbers (`0.8.2`), the first two alone (`0.8`) are taken as well.
    Errors: `InputError` for another form, or a version that Kafka never had; from 3.9 on every number of a patch is taken.
    """
    number = without_scala(text)
    if not re.fullmatch(r"[0-9]{1,2}(\.[0-9]{1,2}){1,3}", number):
        raise InputError(f"bad value {quote(text)} for {where}: use a version such as 3.9 or 3.0.1")
    version = tuple(map(int, number.split(".")))
    length = 3 if version[0] == 0 else 2
    line, patch = version[:length], version[length:]
    if version[0] == 0 and len(version) == 2 and any(each[:2] == version for each in RELEASES):
        return version
    last = RELEASES.get(line)
    carried = None if last is not None else of_confluent_platform(version)
    if carried is not None:
        name, newest = shown(carried), shown((*carried, RELEASES[carried]))
        give = name if newest == f"{name}.0" else f"{name}.0, or {name} if yours has the fixes of {newest}"
        says = f"Confluent Platform {shown(version[:2])} is Kafka {name}: give {give}"
        raise InputError(f"there is no Kafka {number} ({where}); {says}")
    if last is None or len(patch) > 1 or (patch and patch[0] > last and line < MAINTAINED):
        raise InputError(f"there is no Kafka {number} ({where}); did you mean {shown(_find_nearest(version))!r}? {_BETWEEN}")
    return version


_BETWEEN = f"releases go from 0.8 to {shown(max(RELEASES))}, and 2.0, 3.0 and 4.0 came after 1.1, 2.8 and 3.9"


def _find_nearest(version: Version) -> Version:
    """Return, to suggest it, the last release of a version's line, or if there is no such line, the line before it."""
    line = max((each for each in RELEASES if each <= version), default=min(RELEASES))
    return (*line, RELEASES[line]) if version[: len(line)] == line else line


def parse_whole(setting: Setting, key: str, low: int, high: int) -> int:
    """Return a number in a range, parsed as Java does: a plus sign and leading zeros are allowed.

    Errors: `InputError` with the key, the place and the range.
    """
    text = setting.value.strip()
    if len(text) > 30 or not re.fullmatch(r"[+-]?[0-9]+", text) or not low <= int(text) <= high:
        beyond = f"from {low} to {high}" if high < 100 else f"of at least {low}"
        raise InputError(f"bad value {quote(setting.value)} for {key} in {setting.where}: use a whole number {beyond}")
    return int(text)


def parse_truth(setting: Setting, key: str) -> bool:
    """Return True for `true` and False for `false`, in upper or lower case as in Kafka.

    Errors: `InputError` for anything else.
    """
    found = {"true": True, "false": False}.get(setting.value.strip().lower())
    if found is None:
        raise InputError(f"bad value {quote(setting.value)} for {key} in {setting.where}: use true or false")
    return found


def canonical(contract_key: str, setting: Setting, spelled: str = "") -> Setting:
    """Return a topic or broker setting with its value as the configuration key `contract_key` has it: `flush.messages` is `1`
    or, for any greater number, `default`.  `spelled` is its name in the file, for messages.

    Errors: `InputError` for a value that Kafka refuses, or that is beyond what the model can hold.
    """
    key = spelled or contract_key
    if contract_key == "flush.messages":
        value = "1" if parse_whole(setting, key, 1, LONGEST) == 1 else "default"
    elif KEYS[contract_key].kind == "flag":
        value = str(parse_truth(setting, key)).lower()
    else:
        value = str(parse_whole(setting, key, KEYS[contract_key].low, KEYS[contract_key].high))
    return Setting(value, setting.where, setting.how)


OF_TOPICS_AND_PRODUCERS = (
    "min.insync.replicas",
    "unclean.leader.election.enable",
    "flush.messages",
    "acks",
    "enable.idempotence",
)
"""The settings whose default is Kafka's wherever a version is named; replication.factor, which is 1 there, is not one."""


def list_defaults(version: Version | None) -> Settings:
    """Return Kafka's defaults of a version; for None those of `WITHOUT_VERSION`, marked as assumed where versions differ."""
    known = version or WITHOUT_VERSION
    found = {
        "replication.factor": "1",
        "min.insync.replicas": "1",
        "unclean.leader.election.enable": str(known < (0, 11)).lower(),
        "flush.messages": "default",
        ELR: str(known >= ELR_BY_DEFAULT).lower(),
        "acks": "all" if known >= (3, 0) else "1",
        "enable.idempotence": str(has_idempotence_by_default(known)).lower(),
    }
    return {key: _find_default(key, value, version) for key, value in found.items()}


def open_elr(version: Version) -> tuple[Setting, Setting]:
    """Return the two settings of eligible leader replicas, on and then off, as assumed for a version that has them."""
    on, off = f"assumed on, as in clusters formatted at {shown(version)}", "assumed off, as in clusters upgraded to it"
    return Setting("true", on, Origin.ASSUMED), Setting("false", off, Origin.ASSUMED)


def _find_default(key: str, value: str, version: Version | None) -> Setting:
    if version:
        return Setting(value, f"Kafka {shown(version)}'s default", Origin.DEFAULT)
    if key in ("replication.factor", "min.insync.replicas", "flush.messages"):
        return Setting(value, "Kafka's default", Origin.DEFAULT)
    return Setting(value, f"Kafka {shown(WITHOUT_VERSION)}'s default; no version is given", Origin.ASSUMED)


def has_idempotence_by_default(version: Version) -> bool:
    """Return True if producers of a version are idempotent by default; 3.0 and 3.1 count as 3.0.0 and 3.1.0, which are not."""
    return version >= (3, 0, 1) and not (3, 1) <= version < (3, 1, 1)
