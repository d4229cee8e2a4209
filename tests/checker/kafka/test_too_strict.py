"""Guards that are made too strict: each mutant is a program of its own, and a case sees an action that never happens."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from tests.tools import too_strict


def test_every_mutant_is_a_program_of_its_own() -> None:
    mutants = too_strict.list_mutants()
    assert len({each.name for each in mutants}) == len(mutants) > 150
    actions = {each.action for each in mutants}
    assert {"leader_ask_to_expand_isr", "controller_alter_isr", "follower_truncate", "broker_restart"} < actions
    texts = set()
    for each in mutants:
        source = each.file.read_text()
        ast.parse(changed := source[: each.begin] + each.text + source[each.end :])
        texts.add(changed)
    assert len(texts) == len(mutants) and not texts & {each.file.read_text() for each in mutants}


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "is_seen"), [("never", True), ("branch: logs agree (0)", False)])
def test_a_case_sees_a_guard_that_is_too_strict(kind: str, is_seen: bool, tmp_path: Path) -> None:
    """The clause's first operand is false in every version of the case."""
    (mutant,) = (each for each in too_strict.list_mutants() if each.name == f"leader_ask_to_expand_isr: {kind}")
    mutant.write(tmp_path)
    case = "stated-in-documents/acked-on-whole-isr-one-slow"
    done = too_strict.run(tmp_path, too_strict.__file__, "--cases", case)
    assert (done.returncode, done.stdout.strip()) == (0, case if is_seen else "")
