"""What changed between Kafka versions, as named switches of the modern model: `mechanisms.toml`, one entry each.

`mechanisms_of("3.9")` is the set that a version has; `mechanism.NAME = on|off` changes one.  A mechanism is on from the
version that brought it; `until` is the first version without it; `since=None` marks a safer rule that no version has.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from neverlost.model.toml_beside import read_toml_beside

Version = tuple[int, int]

FIRST, LAST = (0, 8), (4, 99)
"""The versions that the catalogue speaks about."""


PREFIX = "mechanism."
"""How the keys of mechanisms begin."""


@dataclass(frozen=True)
class Mechanism:
    """One rule of the protocol: the first version with it, the first without it again, where it is written, and what it does.

    One that `is_structural` decides which fields and steps there are (`sizes.py`); every other is a frozen flag of the
    state, which guards and effects read by the mechanism's name.
    """

    name: str
    since: Version | None
    source: str
    says: str
    is_structural: bool = False
    until: Version | None = None

    def is_in(self, version: Version) -> bool:
        """Return True if a version has the rule: from `since` on and before `until`; False where `since` is None."""
        return self.since is not None and self.since <= version and (self.until is None or version < self.until)

    @property
    def key(self) -> str:
        """The configuration key that switches the mechanism: `mechanism.NAME`."""
        return PREFIX + self.name

    @property
    def flag(self) -> str:
        """The name of the frozen flag that says whether the mechanism is on: its own, with `_` for `-`."""
        return self.name.replace("-", "_")


def read_mechanisms(module: str) -> tuple[Mechanism, ...]:
    """Return the mechanisms of the TOML file that lies beside a module and has its name, in the order of the file."""
    return tuple(
        Mechanism(
            name,
            _read_version(each, "since"),
            each["source"],
            each["says"],
            "is_structural" in each,
            _read_version(each, "until"),
        )
        for name, each in read_toml_beside(module).items()
    )


def _read_version(entry: Mapping[str, Any], key: str) -> Version | None:
    return (entry[key][0], entry[key][1]) if key in entry else None


MECHANISMS = read_mechanisms(__name__)
"""Every mechanism, in the order of `mechanisms.toml`."""

BY_NAME = {each.name: each for each in MECHANISMS}

NEWEST: Version = (4, 4)
"""The version that is meant, by the models `kraft` and `kraft-elr` too, where nothing else is said."""

FLAGS: tuple[Mechanism, ...] = tuple(each for each in MECHANISMS if not each.is_structural)
"""The mechanisms that are frozen flags."""

KEYS: tuple[str, ...] = tuple(each.key for each in MECHANISMS)
"""The keys that switch mechanisms."""

DEFAULTS: dict[str, bool] = {each.key: each.is_in(NEWEST) for each in MECHANISMS}
"""What the models assume for each key."""


def parsed(version: str) -> Version | None:
    """Return the first two numbers of a version: (0, 10) for `0.10.2`; None for a text that is no version from 0.8 to 4.99."""
    parts = version.split(".")
    if len(parts) < 2 or not all(part.isascii() and part.isdigit() and len(part) < 4 for part in parts[:2]):
        return None
    found = (int(parts[0]), int(parts[1]))
    return found if FIRST <= found <= LAST else None


def version_text(version: Version) -> str:
    """Return a version as people write it: `4.1` for (4, 1)."""
    return ".".join(map(str, version))


def mechanisms_of(version: str) -> dict[str, bool]:
    """Return by key `mechanism.NAME`, for every mechanism, whether a Kafka version has it.

    Errors: `ValueError` for a text that `parsed` takes for no version.
    """
    found = parsed(version)
    if found is None:
        raise ValueError("use a Kafka version from 0.8 to 4.x, such as 3.9")
    return {each.key: each.is_in(found) for each in MECHANISMS}


def model_of(version: str, given: Mapping[str, tuple[Any, str]]) -> str:
    """Return the modern model that a version means, `kraft-elr` or `kraft` (for a text that is no version, `kraft`).

    ELR is on from 4.1 on (EligibleLeaderReplicasVersion); where `given` has `eligible.leader.replicas`, that alone decides.
    """
    has_elr = (parsed(version) or FIRST) >= (4, 1)
    if "eligible.leader.replicas" in given:
        has_elr = str(given["eligible.leader.replicas"][0]).strip().lower() in ("true", "on")
    return "kraft-elr" if has_elr else "kraft"


def is_on(configuration: Mapping[str, Any], name: str) -> bool:
    """Return True if a configuration has mechanism `name` on; where it does not say, if the version `NEWEST` has it."""
    return bool(configuration.get(f"mechanism.{name}", DEFAULTS[f"mechanism.{name}"]))
