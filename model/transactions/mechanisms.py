"""What transactions rest on, as named switches, with the Kafka version that brought each: `mechanisms.toml`.

Those that every version has are there to be switched off: each shows what would go wrong without it.
"""

from __future__ import annotations

from neverlost.model.kraft.mechanisms import NEWEST, Version, read_mechanisms

MECHANISMS = read_mechanisms(__name__)
"""Every mechanism, in the order of `mechanisms.toml`."""

VERSION_2: Version = (4, 0)
"""From here on clusters have transaction.version=2 (KIP-890, part 2): every transaction ends with a new producer epoch."""

KEYS: tuple[str, ...] = tuple(each.key for each in MECHANISMS)


def of_version(version: Version) -> dict[str, bool | str]:
    """Return what a Kafka version has: every mechanism's key, on or off, and `transaction.version`, "1" or "2"."""
    rules: dict[str, bool | str] = {each.key: each.is_in(version) for each in MECHANISMS}
    return rules | {"transaction.version": "2" if version >= VERSION_2 else "1"}


DEFAULTS = of_version(NEWEST)
