"""Every property of the modern models holds somewhere and is broken somewhere; clients' guarantees by configuration."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.modern import verdict

CLIENT = {"rf": 1, "min_isr": 1, "records": 2, "consumer_crash": 1}
LAST_REPLICA = {"isr_shrink": 2, "lossy_crash": 1}
MENDED = {"defects": "fixed"}
"""What the design keeps, without the known defects of the versions."""
STALE_LEADER = {"crash": 1, "leader_move": 1, "fence": 1}
RETRY = {"rf": 2, "leader_move": 1, "producer_retry": 1}


@pytest.mark.parametrize(
    ("name", "expected", "model", "given"),
    [
        ("leader-completeness", "violated", "3.9", LAST_REPLICA),
        ("leader-completeness", "holds", "4.3", LAST_REPLICA | MENDED),
        ("candidate-completeness", "violated", "3.9", LAST_REPLICA),
        ("candidate-completeness", "holds", "4.3", LAST_REPLICA | MENDED),
        ("candidate-completeness", "holds", "3.9", STALE_LEADER | MENDED),
        ("candidate-completeness", "violated", "3.9", STALE_LEADER),
        ("no-global-loss", "violated", "4.1", {"lossy_crash": 3}),
        ("no-global-loss", "violated", "3.9", LAST_REPLICA | {"min_isr": 1}),
        ("no-global-loss", "holds", "3.9", {"lossy_crash": 1, "fence": 1}),
        ("read-stability", "violated", "3.9", LAST_REPLICA | {"records": 2}),
        ("read-stability", "holds", "4.3", LAST_REPLICA | {"records": 2} | MENDED),
        ("hw-monotonic", "violated", "4.1", {"leader_move": 1}),
        ("hw-monotonic", "holds", "4.1", {"isr_shrink": 1}),
        ("isr-superset", "violated", "3.9", {"isr_shrink": 1, "fence": 1, "off": "pending-isr-kept"}),
        ("isr-superset", "holds", "3.9", {"isr_shrink": 1, "fence": 1, "crash": 1} | MENDED),
        ("min-isr-recovery-quorum", "violated", "4.1", {"isr_shrink": 1, "lossy_crash": 2, "crash": 1}),
        ("min-isr-recovery-quorum", "holds", "4.1", {"isr_shrink": 1, "lossy_crash": 1}),
        ("no-duplicates", "violated", "4.1", RETRY | {"idempotence": False}),
        ("no-duplicates", "holds", "4.1", RETRY | {"idempotence": True, "acks": "1"}),
        ("exactly-once", "violated", "4.1", RETRY | {"idempotence": False}),
        ("exactly-once", "violated", "4.1", RETRY | {"idempotence": True, "acks": "1"}),
        ("exactly-once", "holds", "4.1", RETRY | {"idempotence": True}),
        ("at-least-once", "violated", "4.1", CLIENT | {"commit": "before-processing"}),
        ("at-least-once", "holds", "4.1", CLIENT | {"commit": "after-processing"}),
        ("at-most-once", "violated", "4.1", CLIENT | {"commit": "after-processing"}),
        ("at-most-once", "holds", "4.1", CLIENT | {"commit": "before-processing"}),
        (
            "acked-on-min-isr",
            "holds",
            "4.1",
            {"crash": 2, "leader_move": 1, "on": "reelection-forgets-offsets,equal-epoch-record-skipped"},
        ),
        ("acked-on-min-isr", "violated", "4.1", {"crash": 2, "leader_move": 1}),
        ("acked-on-min-isr", "violated", "3.7", {"isr_shrink": 1, "reassign": 1}),
        ("acked-on-min-isr", "holds", "3.7", {"rf": 2, "reassign": 1, "on": "reassignment-keeps-min-isr"}),
        ("stays-writable", "holds", "4.1", {"crash": 1}),
        ("stays-writable", "violated", "4.1", {"crash": 2}),
        ("stays-writable", "violated", "4.1", {"rf": 2, "crash": 1}),
        ("stays-writable", "holds", "4.1", {"rf": 2, "min_isr": 1, "crash": 1}),
        ("stays-writable", "violated", "3.6", {"rf": 1}),
        ("stays-writable", "holds", "3.7", {"rf": 1}),
    ],
)
def test_properties(name: str, expected: str, model: str, given: dict[str, Any]) -> None:
    assert verdict(model, name, **given) == expected


CANCELLED = {"rf": 2, "reassign": 2, "crash": 2}
RAISED = {"rf": 2, "min_isr": 1, "min_isr_change": 1, "isr_shrink": 1, "crash": 1}
REASSIGN = {"rf": 2, "reassign": 1, "leader_move": 1}


@pytest.mark.parametrize(
    ("scenario", "expected", "model", "given"),
    [
        ("reassign-grow-shrink", "holds", "3.9", REASSIGN),
        ("reassign-completes-thin", "violated", "3.7", {"rf": 2, "reassign": 1, "lossy_crash": 1}),
        pytest.param("elr-cancelled-reassignment", "violated", "4.1", CANCELLED, marks=pytest.mark.slow),  # also a scenario
        ("elr-cancelled-reassignment", "holds", "4.1", CANCELLED | {"on": "elr-within-replicas,equal-epoch-record-skipped"}),
        ("elr-minisr-raise-race", "violated", "4.1", RAISED),
        ("elr-minisr-raise-race", "holds", "4.3", RAISED | MENDED),
        ("elr-minisr-raise-race", "holds", "4.0", RAISED | {"on": "equal-epoch-record-skipped"}),
    ],
)
def test_changes_by_an_operator(scenario: str, expected: str, model: str, given: dict[str, Any]) -> None:
    assert verdict(model, "acked-never-lost", **given) == expected, scenario
