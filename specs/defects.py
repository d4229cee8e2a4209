"""The known defects of Kafka as shipped that the modern models know: `defects.toml`, one entry each.

A defect is a mechanism that a version lacks although its design promises what the mechanism keeps.  `defects=fixed`
switches all of these mechanisms on and leaves the version's features as they are: Kafka as designed.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from neverlost.model.kraft.mechanisms import BY_NAME, NEWEST, Mechanism, Version, parsed, version_text
from neverlost.model.toml_beside import read_toml_beside
from neverlost.specs.patch_releases import has_mechanism, name_first

NOT_REPORTED = "not reported"


@dataclass(frozen=True)
class SeenOnBrokers:
    """A published try of a counterexample on Apache Kafka's own brokers: how many of the tries reproduced it."""

    case: str
    kafka: str
    reproduced: int
    tries: int


@dataclass(frozen=True)
class Defect:
    """One defect: where it is reported, the mechanism that mends it, the first version that has it, and what goes wrong.

    `seen` are the published tries on real brokers (folders of `reports/published/reproductions`) that show it.  `needs` is
    the fewest faults at which it alone loses a record with three replicas and min.insync.replicas=2, where that is decided;
    `avoid` is what an operator can do against it.
    """

    name: str
    report: str
    mends: str
    first: Version
    says: str
    seen: tuple[SeenOnBrokers, ...] = ()
    needs: str = ""
    avoid: str = ""

    @property
    def mechanism(self) -> Mechanism:
        """The mechanism that mends the defect."""
        return BY_NAME[self.mends]

    def is_in(self, release: str) -> bool:
        """Return True if a release has it (X.Y: its newest patch); False for a text that is no release."""
        version = parsed(release)
        return version is not None and self.first <= version and not has_mechanism(release, self.mechanism)

    @property
    def mended(self) -> str:
        """Where it is mended: "in " and the first release without it, and the first of each later line of which an earlier
        patch still had it; or "in no release"."""
        fixed = self.mechanism.since
        return "in no release" if fixed is None or fixed <= self.first else f"in {name_first(self.mechanism)}"

    @property
    def versions(self) -> str:
        """The versions that have it, in words: "X until Y" (Y has it no more) or, if none mends it, "X to Y", the newest."""
        fixed = self.mechanism.since
        if fixed is None or fixed <= self.first:
            return f"{version_text(self.first)} to {version_text(NEWEST)}"
        return f"{version_text(self.first)} until {name_first(self.mechanism)}"


def _read() -> Iterator[Defect]:
    """Yield the defects of `defects.toml`."""
    for each in read_toml_beside(__name__)["defect"]:
        seen = tuple(SeenOnBrokers(*tried) for tried in each.pop("seen", ()))
        yield Defect(**{"report": NOT_REPORTED, **each, "first": tuple(each["first"]), "seen": seen})


DEFECTS = tuple(_read())
"""Every known defect, in the order of the file."""

FIXES: tuple[str, ...] = tuple(each.mechanism.key for each in DEFECTS)
"""The keys that `defects=fixed` switches on."""
