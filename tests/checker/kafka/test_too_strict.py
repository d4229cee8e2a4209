"""Guards that are made too strict: each mutant is a program of its own, and a case or a row sees what never happens."""

from __future__ import annotations

import ast

import pytest

from tests.tools import too_strict


def _mutant(name: str) -> too_strict.Mutant:
    (found,) = (each for each in too_strict.list_mutants() if each.name == name)
    return found


def test_every_mutant_is_a_program_of_its_own() -> None:
    mutants = too_strict.list_mutants()
    assert len({each.name for each in mutants}) == len(mutants) > 200
    assert {each.kind for each in mutants} == {*too_strict.KINDS}
    actions = {each.action for each in mutants}
    assert actions > too_strict.ACTIONS
    assert {"cleanly_electable", "has_longest_log"} < actions
    texts = {each.source for each in mutants}
    assert len(texts) == len(mutants) and not texts & {each.file.read_text() for each in mutants}
    for each in texts:
        ast.parse(each)


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "is_seen"), [("never", True), ("branch: logs agree (0)", False)])
def test_a_case_sees_a_guard_that_is_too_strict(kind: str, is_seen: bool) -> None:
    """The clause's first operand is false in every version of the case."""
    case = "stated-in-documents/acked-on-whole-isr-one-slow"
    found = too_strict.judge(
        _mutant(f"leader_ask_to_expand_isr: {kind}"), too_strict.STAGES["corpus"], {case: too_strict.trace(case)}
    )
    assert found == (f"the corpus: {case}" if is_seen else None)


@pytest.mark.parametrize(("kind", "seen"), [("never", "its_log_is_empty"), ("branch: has a replica (0)", "it_follows_nobody")])
def test_a_row_sees_a_guard_that_is_too_strict(kind: str, seen: str) -> None:
    """Clauses that a mutant in a copy of this process lost are whole in this process."""
    rows = {name: too_strict.trace(name) for name, row in too_strict.BY_NAME.items() if row.action == "broker_delete_replica"}
    mutant = _mutant(f"broker_delete_replica: {kind}")
    assert too_strict.judge(mutant, too_strict.STAGES["rows"], rows) == f"what may happen: broker_delete_replica, {seen}"
    known = [too_strict.witness(name, rows) for name in rows]
    assert all(each is not None and each.is_kept(mutant.action) for each in known)
