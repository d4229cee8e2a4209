"""Patch releases that lack a rule which the newest patch of their line has: X.Y stands for the newest, X.Y.Z for itself.

Source: the fix versions of the reports that `mechanisms.toml` names; for 4.1.0 `PartitionChangeBuilder` of 4.1.0 and 4.1.1.
"""

from __future__ import annotations

from neverlost.model.kraft.mechanisms import BY_NAME, Mechanism, parsed, version_text

LACKING = {
    "2.8.0": ("removed-partition-not-truncated",),
    "3.4.0": ("truncation-before-high-watermark",),
    "3.5.0": ("failed-start-leaves-no-marker",),
    "3.5.1": ("failed-start-leaves-no-marker",),
    "3.7.0": ("offline-log-not-recreated",),
    "3.9.0": ("response-of-older-epoch-ignored", "newer-epochs-dropped"),
    "4.0.0": ("response-of-older-epoch-ignored",),
    "4.1.0": ("last-known-leader-when-leaderless",),
}
"""The mechanisms that a patch release lacks."""


UNPATCHED = {release: frozenset(BY_NAME[each].key for each in names) for release, names in LACKING.items()}
"""Their keys."""


def has_mechanism(release: str, mechanism: Mechanism) -> bool:
    """Return True if a release has a mechanism; False for a text that is no release."""
    version = parsed(release)
    return version is not None and mechanism.is_in(version) and mechanism.key not in UNPATCHED.get(release, ())


def name_first(mechanism: Mechanism) -> str:
    """Return, joined by "and", the first release that has a mechanism, and the first that has it of each later line in which an
    earlier patch lacks it; "" if no release has it."""
    if mechanism.since is None:
        return ""
    lacking = [each for each, names in LACKING.items() if mechanism.name in names]
    first = {each.rpartition(".")[0]: f"{each.rpartition('.')[0]}.{int(each.rpartition('.')[2]) + 1}" for each in lacking}
    return " and ".join(dict.fromkeys([first.get(line := version_text(mechanism.since), line), *first.values()]))
