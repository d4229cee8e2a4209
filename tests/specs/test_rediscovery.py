"""Kafka's own fixes found again: a well-formed list of what the newest rules have, and nothing is found in nothing."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from neverlost.checker.questions.necessity.necessity import VariantVerdict
from neverlost.model.kraft.mechanisms import MECHANISMS, NEWEST
from neverlost.specs.errors import InputError
from tests.tools.publish.rediscovery import Fix, Plan, is_found, page, read_plan, rediscovered, shortened, standard

NOTHING = Fix("nothing", "never", "2021", "nothing is taken out", {"mechanism.maximal-isr": "on"}, "")


def test_the_list_is_fixed_and_well_formed() -> None:
    plan = read_plan()
    assert len({each.id for each in plan.fixes}) == len(plan.fixes) >= 14
    assert all(bool(each.off) != bool(each.missing) for each in plan.fixes)
    assert all("2021" <= each.merged <= "2026" for each in plan.fixes)


def test_what_is_taken_out_is_in_the_newest_rules() -> None:
    newest = {each.key for each in MECHANISMS if each.is_in(NEWEST)} | {"eligible.leader.replicas"}
    for fix in read_plan().fixes:
        assert set(fix.off) <= newest, fix.id
        assert all(value in ("off", False) for value in fix.off.values()), fix.id


def test_the_grid_is_the_same_for_all_and_names_no_property_of_one_model() -> None:
    plan = read_plan()
    assert [each.name for each in standard(plan)][:2] == ["acked-never-lost", "committed-never-lost"]
    assert 0 < len(shortened(plan).grid) < len(plan.grid) and all(key not in keys for keys in plan.grid for key in ("acks",))


def small(*ids: str) -> Plan:
    """Two replicas, one record, at most two faults of three kinds: a grid of seconds."""
    plan = read_plan()
    kinds = {f"faults.{each}" for each in ("lossy_crash", "isr_shrink", "fence")}
    few = [
        {**keys, "bounds.records": 1}
        for keys in shortened(plan).grid
        if keys["min.insync.replicas"] == 2 and {key for key in keys if key.startswith("faults.")} <= kinds
    ]
    return Plan(tuple(each for each in plan.fixes if each.id in ids), tuple(few), plan.properties)


def test_a_fix_is_found_and_nothing_is_found_in_nothing() -> None:
    plan = small("KAFKA-15581", "KAFKA-16541")
    found: list[tuple[Fix, VariantVerdict | None]] = rediscovered(replace(plan, fixes=(*plan.fixes, NOTHING)), workers=2)
    assert {fix.id: is_found(judgement) for fix, judgement in found} == {
        "KAFKA-15581": True,
        "KAFKA-16541": False,
        "nothing": False,
    }
    text = page(replace(plan, fixes=(*plan.fixes, NOTHING)), found)
    assert "1 of 2 within the models, 1 of 3 in all" in text and "outside the models" in text and "**not found**" in text


@pytest.mark.slow
def test_the_short_form_finds_most() -> None:
    plan = shortened(read_plan())
    found = rediscovered(plan, workers=2)
    assert sum(is_found(judgement) for _, judgement in found) >= 5


def test_a_malformed_plan_is_one_clear_line(tmp_path: Path) -> None:
    path = tmp_path / "plan.toml"
    path.write_text('models = ["kraft"]\nproperties = []\n[[fix]]\nid = "KAFKA-1"\n', encoding="utf-8")
    with pytest.raises(InputError, match="fixed is missing in fix 1 of rediscovery plan"):
        read_plan(path)
