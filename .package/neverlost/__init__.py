"""neverlost: can this Kafka configuration lose an acknowledged message, and how?

Everything is imported when it is first used: the name of this module alone costs nothing.
"""

from __future__ import annotations

from importlib import import_module

TYPE_CHECKING = False  # as in `typing`, which takes longer to import than all of this
if TYPE_CHECKING:
    from typing import Any

    from neverlost.reports.api.bundles import Verification, verify
    from neverlost.reports.api.checks import check, explore
    from neverlost.reports.api.clusters import running_cluster
    from neverlost.reports.api.inputs import KafkaFilesWarning
    from neverlost.reports.api.likelihood import NinesResult, nines
    from neverlost.reports.api.proofs import ProofResult, prove
    from neverlost.reports.api.results import Answer, PropertyVerdict, Result, States, Trace
    from neverlost.reports.api.sweeps import SweepResult, sweep
    from neverlost.reports.api.tolerances import ToleranceResult, tolerance
    from neverlost.reports.api.traces import Replay, replay
    from neverlost.specs.errors import InputError

__version__: str
"""The installed version; `0+source` where only the source is there."""

__all__ = [
    "Answer",
    "InputError",
    "KafkaFilesWarning",
    "NinesResult",
    "Observation",
    "ProofResult",
    "PropertyVerdict",
    "Replay",
    "Result",
    "States",
    "SweepResult",
    "ToleranceResult",
    "Trace",
    "Verification",
    "check",
    "explore",
    "nines",
    "observe",
    "prove",
    "replay",
    "running_cluster",
    "sweep",
    "tolerance",
    "verify",
]

HOMES = {
    "neverlost.reports.api.bundles": ("Verification", "verify"),
    "neverlost.reports.api.checks": ("check", "explore"),
    "neverlost.reports.api.inputs": ("KafkaFilesWarning",),
    "neverlost.reports.api.observations": ("Observation", "observe"),
    "neverlost.reports.api.likelihood": ("NinesResult", "nines"),
    "neverlost.reports.api.clusters": ("running_cluster",),
    "neverlost.reports.api.proofs": ("ProofResult", "prove"),
    "neverlost.reports.api.results": ("Answer", "PropertyVerdict", "Result", "States", "Trace"),
    "neverlost.specs.errors": ("InputError",),
    "neverlost.reports.api.sweeps": ("SweepResult", "sweep"),
    "neverlost.reports.api.tolerances": ("ToleranceResult", "tolerance"),
    "neverlost.reports.api.traces": ("Replay", "replay"),
}
"""The module of each name."""


def __getattr__(name: str) -> Any:
    if name == "__version__":
        return _version()
    for home, names in HOMES.items():
        if name in names:
            return getattr(import_module(home), name)
    raise AttributeError(f"module 'neverlost' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__, "__version__"])


def _version() -> str:
    from importlib import metadata

    try:
        return metadata.version("neverlost")
    except metadata.PackageNotFoundError:
        return "0+source"
