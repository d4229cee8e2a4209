"""Necessity: what breaks without a part, what makes no sense without it, and what is explained."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from neverlost.checker.engine.engines.explore import explore
from neverlost.checker.questions.necessity.examined_model import Budget, _planned, examine
from neverlost.checker.questions.necessity.necessity import (
    Need,
    clause_variants,
    clauses_of,
    find_used_clauses,
    judged,
    profiles,
    without,
)
from neverlost.model.kernel import BOUND
from neverlost.reports.commands.necessity import SECONDS_EACH
from neverlost.reports.terminal.progress import PartsProgress
from neverlost.specs.cases.necessity_plan import NecessityPlan, find_plan, read_plan
from neverlost.specs.errors import InputError
from neverlost.specs.properties import properties
from tests.support.program import neverlost
from tests.support.searches import classic

SMALL = ("model=kip-320", "replication.factor=2", "bounds.records=1", "bounds.log_size=1", "bounds.max_leader_epoch=2")
LATE = "mechanism.equal-epoch-record-skipped=on"
"""Without it the pending ISR is forgotten, maximal or not."""
PLANS = ("kip-320", "kraft-elr")


def needs(*settings: str, only: tuple[str, ...] = ()) -> dict[str, Need]:
    found = examine(None, settings, None, only, Budget(workers=2, seconds_each=SECONDS_EACH), PartsProgress())
    return {each.variant.name: each.need for each in found.judgements}


def test_each_kind_of_need_on_a_small_model() -> None:
    found = needs(*SMALL)
    assert found["leader_advance_high_watermark: ISR has the record"] is Need.NEEDED
    assert found["become_leader: request is newer"] is Need.NEEDED
    assert found["follower_fetch: leader has more"] is Need.STRUCTURAL
    assert found["leader_expand_isr: outside the leader's ISR"] is Need.IDLE
    assert found["controller_elect_leader: not the leader already"] is Need.UNNEEDED
    assert not any(BOUND in name for name in found)


def test_a_mechanism_is_switched_off_too() -> None:
    given = ("kafka.version=3.9", "replication.factor=3", "min.insync.replicas=2", "bounds.records=1")
    found = needs(*given, LATE, "faults.isr_shrink=1", "faults.crash=1", only=("mechanism.maximal-isr", "mechanism.strict"))
    assert found == {"mechanism.maximal-isr": Need.NEEDED, "mechanism.strict-high-watermark": Need.UNNEEDED}


def test_a_limit_leaves_a_part_undecided() -> None:
    system = classic("kip-320", 3, 2, 2, 2)
    kept = profiles([("all", system)], [properties()["strong-isr"]], 1)
    assert kept[0].question.properties and kept[0].distinct == 123_311
    (variant,) = [each for each in clause_variants(kept) if each.name == "leader_shrink_isr: not caught up"]
    (judgement,) = judged(kept, [variant], 1, seconds_each=0.01)
    assert judgement.need is Need.UNDECIDED


def test_a_clause_that_never_holds_a_step_back_alone_changes_nothing() -> None:
    """Each clause is switched off, and the same states are searched for again: where one is not used there are as many."""
    system = classic("kip-320", 2, 1, 1, 2)
    used = find_used_clauses(system)
    unused = [pair for pair in clauses_of(system) if pair not in used]
    assert ("leader_write", "presumes leadership") in used and len(unused) >= 3
    whole = explore(system).counts.distinct
    assert [explore(without(system, *pair)).counts.distinct for pair in unused] == [whole] * len(unused)


def test_clauses_that_only_bound_the_exploration_are_left_out() -> None:
    found = clauses_of(classic("kip-320", 2, 1, 1, 1))
    assert ("leader_write", "presumes leadership") in found and ("leader_write", "bound: record left") not in found


@pytest.mark.parametrize("model", PLANS)
def test_a_plan_names_parts_that_exist_and_keeps_its_properties(model: str) -> None:
    plan = find_plan(model)
    assert plan is not None
    systems = [system for _, system in _planned(plan)]
    parts = {f"{action}: {clause}" for system in systems for action, clause in clauses_of(system)}
    parts |= {key for system in systems for key in system.configurations[0] if key.startswith("mechanism.")}
    clauses = [each.partition(": ") for each in parts if ": " in each]
    wide = {f"{action}: *" for action, _, _ in clauses} | {f"*: {clause}" for _, _, clause in clauses}
    assert set(plan.explained) <= parts | wide


def test_what_is_said_of_a_part_comes_before_what_is_said_of_its_action_and_of_its_clause() -> None:
    said = {"*: electable": "clause", "step: *": "action", "step: electable": "part", "mechanism.fenced-fetch": "mechanism"}
    found = NecessityPlan("kraft", (), (), said).explain(
        ["step: electable", "step: requested", "other: electable", "other: requested", "mechanism.fenced-fetch"]
    )
    assert found == {
        "step: electable": "part",
        "step: requested": "action",
        "other: electable": "clause",
        "mechanism.fenced-fetch": "mechanism",
    }


def test_a_malformed_plan_is_one_clear_line(tmp_path: Path) -> None:
    path = tmp_path / "kip-320.toml"
    path.write_text('[[profile]]\nname = "a"\n[profile.config]\nbounds.records = 1\n[explained]\n"x: y" = ""\n')
    with pytest.raises(InputError, match=r"bad value '' for 'x: y' in \[explained\]"):
        read_plan(path)
    path.write_text("")
    with pytest.raises(InputError, match="has no profile"):
        read_plan(path)


def test_the_command_answers_with_a_document_and_a_page(tmp_path: Path) -> None:
    settings = [part for each in SMALL for part in ("--set", each)]
    done = neverlost("necessity", *settings, "--only", "become_leader", "--json", "-", "--out", str(tmp_path))
    found = json.loads(done.stdout)
    assert done.returncode == 0 and found["schema"] == "neverlost.necessity/1"
    assert {each["need"] for each in found["parts"]} >= {"needed"}
    page = (tmp_path / "necessity-kip-320.md").read_text()
    assert "| become_leader: request is newer | needed | weak-isr breaks in 6 steps" in page
    lossy = ["--set", "kafka.version=3.9", "--set", "faults.lossy_crash=3", "--set", "replication.factor=1"]
    wrong = neverlost("necessity", *lossy, "--property", "acked-never-lost")
    assert wrong.returncode == 64 and "no property holds in kraft" in wrong.stderr
    calm = neverlost("necessity", "--set", "kafka.version=3.9")
    assert calm.returncode == 64 and calm.stderr.startswith("neverlost: nothing may fail here (every faults.* is 0)")


@pytest.mark.slow
@pytest.mark.parametrize("model", PLANS)
def test_every_part_of_a_published_model_is_needed_or_explained(model: str) -> None:
    found = examine(None, (f"model={model}",), None, (), Budget(workers=2, seconds_each=SECONDS_EACH), PartsProgress())
    assert [each.variant.name for each in found.judgements if not found.is_explained(each)] == []
    assert not any(each.need is Need.UNDECIDED for each in found.judgements)


@pytest.mark.slow
@pytest.mark.parametrize("model", PLANS)
def test_what_is_said_of_a_whole_action_is_of_one_that_never_happens(model: str) -> None:
    """A reason for every clause of an action that happens would hide a clause that nobody has looked at."""
    plan = find_plan(model)
    assert plan is not None
    fired = {name for _, system in _planned(plan) for name, times in explore(system).fired.items() if times}
    assert not {f"{name}: *" for name in fired} & set(plan.explained)
