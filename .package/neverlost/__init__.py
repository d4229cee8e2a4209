"""neverlost: can this Kafka configuration lose an acknowledged message, and how?

Everything is imported when it is first used: the name of this module alone costs nothing.
"""

from __future__ import annotations

from importlib import import_module

TYPE_CHECKING = False  # as in `typing`, which takes longer to import than all of this
if TYPE_CHECKING:
    from typing import Any

    from neverlost.reports.questions.check.api import check, explore
    from neverlost.reports.questions.export.api import Export, export_tla
    from neverlost.reports.questions.nines.api import NinesResult, nines
    from neverlost.reports.questions.prove.api import ProofResult, prove
    from neverlost.reports.questions.replay.api import Replay, replay
    from neverlost.reports.questions.rescue.api import RescueResult, rescue
    from neverlost.reports.questions.roll.api import RollResult, roll
    from neverlost.reports.questions.sweep.api import SweepResult, sweep
    from neverlost.reports.questions.tolerance.api import ToleranceResult, tolerance
    from neverlost.reports.questions.verify.api import Verification, verify
    from neverlost.reports.request.inputs import KafkaFilesWarning
    from neverlost.reports.request.running_cluster import running_cluster
    from neverlost.reports.results.results import Answer, PropertyVerdict, Result, States, Trace
    from neverlost.specs.errors import InputError

__version__ = "0.2.0"

__all__ = [
    "Answer",
    "Export",
    "InputError",
    "KafkaFilesWarning",
    "NinesResult",
    "Observation",
    "ProofResult",
    "PropertyVerdict",
    "Replay",
    "RescueResult",
    "Result",
    "RollResult",
    "States",
    "SweepResult",
    "ToleranceResult",
    "Trace",
    "Verification",
    "check",
    "explore",
    "export_tla",
    "nines",
    "observe",
    "prove",
    "replay",
    "rescue",
    "roll",
    "running_cluster",
    "sweep",
    "tolerance",
    "verify",
]

HOMES = {
    "neverlost.reports.questions.verify.api": ("Verification", "verify"),
    "neverlost.reports.questions.check.api": ("check", "explore"),
    "neverlost.reports.questions.export.api": ("Export", "export_tla"),
    "neverlost.reports.request.inputs": ("KafkaFilesWarning",),
    "neverlost.reports.questions.observe.api": ("Observation", "observe"),
    "neverlost.reports.questions.nines.api": ("NinesResult", "nines"),
    "neverlost.reports.request.running_cluster": ("running_cluster",),
    "neverlost.reports.questions.prove.api": ("ProofResult", "prove"),
    "neverlost.reports.results.results": ("Answer", "PropertyVerdict", "Result", "States", "Trace"),
    "neverlost.specs.errors": ("InputError",),
    "neverlost.reports.questions.rescue.api": ("RescueResult", "rescue"),
    "neverlost.reports.questions.roll.api": ("RollResult", "roll"),
    "neverlost.reports.questions.sweep.api": ("SweepResult", "sweep"),
    "neverlost.reports.questions.tolerance.api": ("ToleranceResult", "tolerance"),
    "neverlost.reports.questions.replay.api": ("Replay", "replay"),
}
"""The module of each name."""


def __getattr__(name: str) -> Any:
    for home, names in HOMES.items():
        if name in names:
            return getattr(import_module(home), name)
    raise AttributeError(f"module 'neverlost' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
