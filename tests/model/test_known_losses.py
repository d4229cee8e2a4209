"""Kafka's known defects in the model: each loses a record where the versions have it, and not where it is mended.

Lengths are those that a search with one added step found before the model had it, and Kafka's own classes for the late record.
"""

from __future__ import annotations

from typing import Any

import pytest

from neverlost.model.kraft.mechanisms import MECHANISMS
from neverlost.specs.defects import DEFECTS
from neverlost.specs.errors import InputError
from tests.support.modern import explored, system, verdict

ACKED = "acked-never-lost"
WORN = {"start.outside_isr": 2}
RAISED = {"rf": 2, "min_isr": 1, "min_isr_change": 1, "crash": 1, "on": "isr-answer-waits-for-config"}
OTHERS_OF_OLD = "reelection-forgets-offsets,equal-epoch-record-skipped,diverging-fetch-ignored"
"""With a leader that returns, and a late response, these lose in fewer steps."""
TWO = {"rf": 2, "min_isr": 2, "fence": 1}


@pytest.mark.parametrize(
    ("model", "steps", "given"),
    [
        ("kraft", 11, WORN | {"leader_move": 1}),
        ("kraft-elr", 11, WORN | {"leader_move": 1}),
        ("kraft", 12, WORN | {"crash": 1}),
        ("kraft-elr", 11, WORN | {"crash": 1}),
        ("kraft", 11, {"isr_shrink": 1, "leader_move": 1}),
        ("kraft", 12, {"isr_shrink": 1, "crash": 1}),
        ("4.3", 7, RAISED | {"isr_shrink": 1}),
        ("4.3", 7, RAISED | {"fence": 1}),
        ("4.3", 7, TWO | {"disk_loss": 1}),
        ("4.1", 9, TWO | {"lossy_crash": 1}),
        ("4.2", 9, TWO | {"lossy_crash": 1}),
        ("2.7", 11, {"rf": 2, "leader_move": 2, "on": OTHERS_OF_OLD}),
        ("3.8", 16, {"rf": 2, "leader_move": 4, "on": OTHERS_OF_OLD}),
        ("4.4", 13, {"rf": 2, "records": 2, "leader_move": 2}),
        ("3.8", 17, {"records": 4, "leader_move": 2, "on": "acknowledged-in-epoch-of-append"}),
    ],
)
def test_a_known_defect_loses_a_record_and_its_fix_does_not(model: str, steps: int, given: dict[str, Any]) -> None:
    (found,) = explored(system(model, **given), ACKED).findings
    assert found.trace is not None and len(found.trace.steps) == steps
    mended = {key: value for key, value in given.items() if key != "on"} | {"defects": "fixed"}
    assert verdict(model, ACKED, **mended) == "holds"


def test_since_4_3_a_directory_does_not_clear_the_elr() -> None:
    assert verdict("4.3", ACKED, **TWO, lossy_crash=1) == "holds"


LOWERED = {"rf": 2, "min_isr_change": 1, "fence": 1}


@pytest.mark.parametrize(("others", "steps"), [({"crash": 1}, 8), ({"isr_shrink": 1}, 8)])
def test_a_deposed_leader_does_not_go_by_a_minimum_that_was_lowered_since(others: dict[str, int], steps: int) -> None:
    """The metadata log is read in order; before KRaft configuration came by another way than leadership."""
    assert verdict("4.3", ACKED, **LOWERED, **others, defects="fixed") == "holds"
    before = system("4.3", **LOWERED, **others, defects="fixed", off="configuration-in-order")
    (found,) = explored(before, ACKED).findings
    assert found.trace is not None and len(found.trace.steps) == steps


@pytest.mark.parametrize(
    ("lacking", "steps", "given"),
    [
        ("min-isr-change-clears-elr", 7, {"min_isr_change": 1, "fence": 1, "crash": 1}),
        ("offline-log-not-recreated", 5, {"disk_loss": 1}),
        ("failed-start-leaves-no-marker", 7, {"lossy_crash": 1}),
    ],
)
def test_a_rule_that_every_version_with_elr_has_is_needed(lacking: str, steps: int, given: dict[str, int]) -> None:
    assert verdict("4.3", ACKED, rf=2, **given, defects="fixed") == "holds"
    (found,) = explored(system("4.3", rf=2, **given, defects="fixed", off=lacking), ACKED).findings
    assert found.trace is not None and len(found.trace.steps) == steps


def test_before_kraft_a_late_record_was_ignored() -> None:
    assert verdict("2.7", ACKED, isr_shrink=1, leader_move=1, on="reelection-forgets-offsets") == "holds"


def test_every_defect_names_a_mechanism_and_is_in_a_version() -> None:
    known = {each.name for each in MECHANISMS}
    assert {each.mends for each in DEFECTS} <= known and len({each.name for each in DEFECTS}) == len(DEFECTS)
    for each in DEFECTS:
        assert each.is_in(each.versions.split(" ", maxsplit=1)[0]), each.name


def test_a_fix_that_is_switched_off_contradicts_fixed_defects() -> None:
    with pytest.raises(InputError, match=r"^mechanism.elr-within-replicas=off in test contradicts defects=fixed: leave one of"):
        system("kraft", defects="fixed", off="elr-within-replicas")
