"""The finalized `metadata.version` of a KRaft cluster, which decides some mechanisms whatever version its brokers run.

Source: `MetadataVersion` of Kafka 4.4.0: the feature levels, `fetchRequestVersion` (15, the first with a broker's epoch, from
3.5-IV1 on) and `isLeaderEpochBumpRequiredOnIsrShrink` (until 3.6-IV0).
"""

from __future__ import annotations

from neverlost.specs.configuration.version_defaults import Version, parse_version, shown
from neverlost.specs.errors import InputError, quote
from neverlost.specs.setting import Setting

METADATA = "metadata.version"

_MANY = {"3.0": 1, "3.3": 4, "3.5": 3, "3.6": 3, "3.7": 5, "4.0": 4, "4.1": 2, "4.2": 2, "4.4": 3}
"""How many levels a release line has, where it is not one."""

_LINES = ("3.1", "3.2", "3.3", "3.4", "3.5", "3.6", "3.7", "3.8", "3.9", "4.0", "4.1", "4.2", "4.3", "4.4")
LEVELS = ("3.0-IV1", *(f"{line}-IV{each}" for line in _LINES for each in range(_MANY.get(line, 1))))
"""The names of the levels; the first is level 1."""

FIRST_OF_CLUSTERS: Version = (3, 3)
"""From here on KRaft is for production: an older cluster is asked about without a metadata version."""

DECIDES = {"mechanism.broker-epoch-in-isr": "3.5-IV1", "mechanism.shrink-keeps-leader-epoch": "3.6-IV0"}
"""Mechanisms with the first level that has them, in brokers of every later version."""

LOWEST_KNOWN = "3.4-IV0"
"""Stands for every level below those of `DECIDES`: no rule differs between them."""


def find_newest(version: Version) -> str:
    """Return the newest level that a version of Kafka has, at which its tools format a cluster."""
    return next(each for each in reversed(LEVELS) if _find_line(each) <= version[:2])


def list_lacking(level: Setting, version: Version) -> frozenset[str]:
    """Return the keys of the mechanisms that a level switches off.

    Errors: `InputError` for a level that this Kafka version does not know yet, and for what is no level.
    """
    name = f"{level.value}-IV0" if "-" not in level.value else level.value
    if name not in LEVELS and level.value != "3.0":
        raise InputError(
            f"bad value {quote(level.value)} for {METADATA} in {level.where}: use a level from {LEVELS[0]} to {LEVELS[-1]}"
        )
    place = LEVELS.index(name) if name in LEVELS else 0
    if _find_line(LEVELS[place]) > version[:2]:
        raise InputError(f"Kafka {shown(version)} has no {METADATA} {level.value} ({level.where}); give the version that runs")
    return frozenset(key for key, first in DECIDES.items() if place < LEVELS.index(first))


def _find_line(level: str) -> Version:
    return parse_version(level.partition("-")[0], METADATA)
