"""The corpus of known scenarios: its files are read strictly, its verdicts are the expected ones, differences are reported."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from neverlost.checker.questions.corpus.decided_cases import CaseResult, judge
from neverlost.reports.questions.corpus.document import found_text
from neverlost.specs.cases.case import Case
from neverlost.specs.cases.scenario import GROUPS, Scenario, read_scenario, scenarios
from neverlost.specs.errors import InputError
from tests.support.program import interrupted, neverlost

GOOD = """
title = "A title"
group = "A"
source = "somewhere"
marks = "S"
versions = "all"

[[case]]
name = "one"
property = "acked-never-lost"
expected = "violated"
steps = 1
[case.config]
kafka.version = "3.9"
replication.factor = 2
min.insync.replicas = 2
acks = "0"
bounds.records = 1
"""


def written(folder: Path, text: str) -> Path:
    path = folder / "invented.toml"
    path.write_text(text, encoding="utf-8")
    return path


def differing(judged: dict[str, CaseResult]) -> dict[str, str]:
    return {name: f"{each.case.expected}, but {found_text(each)}" for name, each in judged.items() if not each.is_expected}


def some(scenario: Scenario, how_many: int | None) -> dict[str, Case]:
    return {f"{scenario.id}/{case.name}": case for case in scenario.cases[:how_many]}


def test_a_case_of_every_twelfth_scenario_is_as_expected() -> None:
    cases = {name: case for each in list(scenarios().values())[::12] for name, case in some(each, 1).items() if not case.slow}
    assert differing(judge(cases, seconds=300)) == {}


@pytest.mark.slow
def test_every_case_is_as_expected() -> None:
    cases = {name: case for each in scenarios().values() for name, case in some(each, None).items()}
    assert differing(judge(cases)) == {}


def test_the_corpus_is_large_and_covers_every_group() -> None:
    found = scenarios().values()
    assert len(found) >= 130
    assert sum(bool(each.cases) for each in found) >= 80
    assert {each.group for each in found if each.cases} == set(GROUPS)
    assert {case.expected for each in found for case in each.cases} == {"holds", "violated"}


NAMED = {
    "lossy": ("lossy_crash",),
    "crash": ("crash", "lossy_crash"),
    "crashes": ("crash", "lossy_crash"),
    "stop": ("clean_stop", "crash"),
    "stops": ("clean_stop", "crash"),
    "move": ("leader_move", "coordinator_move"),
    "moves": ("leader_move", "coordinator_move"),
    "shrink": ("isr_shrink",),
    "fence": ("fence",),
    "wipe": ("disk_loss",),
    "retry": ("producer_retry", "marker_retry"),
}
NUMBERS = {"one": 1, "two": 2, "three": 3}


def least(words: list[str], place: int) -> int:
    """How many faults a name promises: `two-clean-crashes` promises two."""
    before = [word for word in words[:place] if word not in ("clean", "lossy")]
    return NUMBERS.get(before[-1], 1) if before else 1


def test_a_case_has_the_faults_that_its_name_says() -> None:
    """The faults are the limits of the search; a name that says a number needs that many of them."""
    for scenario in scenarios().values():
        for case in scenario.cases:
            words = case.name.split("-")
            for place, word in enumerate(words):
                allowed = sum(int(case.keys.get(f"faults.{kind}", 0)) for kind in NAMED.get(word, ()))
                assert word not in NAMED or allowed >= least(words, place), case.where


SAID = {r"^(\d\.\d+(?:\.\d+)?)": "kafka.version", r"rf-?(\d)": "replication.factor", r"min-isr-(\d)": "min.insync.replicas"}


def test_a_case_has_the_version_and_the_sizes_that_its_name_says() -> None:
    for scenario in scenarios().values():
        for case in scenario.cases:
            for pattern, key in SAID.items():
                said = re.search(pattern, case.name)
                of_model = str(case.keys.get("model", "")).partition("-")[2] if key == "kafka.version" else ""
                assert said is None or said[1] in (str(case.keys.get(key)), of_model), case.where


def test_a_scenario_file_is_read_as_written(tmp_path: Path) -> None:
    found = read_scenario(written(tmp_path, GOOD))
    (case,) = found.cases
    assert (found.id, found.group, case.steps) == ("invented", "A", 1)
    assert case.keys == {
        "kafka.version": "3.9",
        "replication.factor": 2,
        "min.insync.replicas": 2,
        "acks": "0",
        "bounds.records": 1,
    }


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('title = "A title"\n', "", "title is missing in scenario invented.toml"),
        ('title = "A title"', "title = 3", "bad value 3 for title"),
        ('group = "A"', 'group = "Z"', "unknown group 'Z'"),
        ('marks = "S"', 'mark = "S"', "marks is missing"),
        ('versions = "all"', 'versions = "all"\nhello = 1', "unknown key 'hello'"),
        ("acked-never-lost", "acked-never-lots", "did you mean 'acked-never-lost'"),
        ('expected = "violated"', 'expected = "maybe"', "unknown expected 'maybe'"),
        ('expected = "violated"', 'expected = "holds"', "only a violated case has steps"),
        ("steps = 1", "steps = true", "bad value True for steps"),
        ('kafka.version = "3.9"\n', "", "no model in case 'one' of scenario invented.toml"),
        ("[case.config]", '[[case.config]]\nx = "y"\n[case.other]', "bad value"),
        ("[[case]]", "[[case", "cannot read scenario"),
        ("[[case]]", 'outside = "not modelled"\n[[case]]', "needs either cases or the reason"),
        ("steps = 1", 'disabled = ["no colon"]', "write 'action: clause'"),
    ],
)
def test_a_malformed_scenario_is_one_clear_line(tmp_path: Path, old: str, new: str, message: str) -> None:
    assert old in GOOD
    with pytest.raises(InputError) as problem:
        read_scenario(written(tmp_path, GOOD.replace(old, new, 1)))
    assert message in str(problem.value) and "\n" not in str(problem.value).split(": Expected")[0]


def test_a_wrong_expectation_is_found(tmp_path: Path) -> None:
    wrong = read_scenario(written(tmp_path, GOOD.replace('expected = "violated"\nsteps = 1', 'expected = "holds"')))
    assert differing(judge(some(wrong, None))) == {"invented/one": "holds, but violated in 1 step (no faults)"}
    longer = read_scenario(written(tmp_path, GOOD.replace("steps = 1", "steps = 3")))
    assert list(differing(judge(some(longer, None)))) == ["invented/one"]
    unknown_key = read_scenario(written(tmp_path, GOOD.replace("bounds.records", "bounds.recrods")))
    with pytest.raises(InputError, match=r"did you mean 'bounds\.records'"):
        judge(some(unknown_key, None))


def test_the_command_prints_expected_against_found(tmp_path: Path) -> None:
    out = tmp_path / "out"
    done = neverlost("scenarios", "acks1-planned-move", "stale-controller", "--out", str(out))
    assert done.returncode == 0, done.stderr
    assert "violated in 3 steps (leader_move 1)" in done.stdout
    assert "2 scenarios, 1 with cases, 1 outside the models; 4 cases: 4 as expected, 0 different, 0 undecided" in done.stdout
    assert neverlost("replay", str(out / "acks1-planned-move-move.itf.json")).returncode == 12


def test_the_command_answers_with_a_document_and_refuses_unknown_ids() -> None:
    found = json.loads(neverlost("scenarios", "elr-minisr1", "--json", "-").stdout)
    assert found["schema"] == "neverlost.scenarios/1" and found["counts"]["different"] == 0
    assert [each["verdict"] for each in found["scenarios"][0]["cases"]] == ["violated", "violated", "holds"]
    wrong = neverlost("scenarios", "elr-minisr-1")
    assert wrong.returncode == 64 and "did you mean 'elr-minisr1'" in wrong.stderr


def test_a_time_limit_leaves_cases_undecided() -> None:
    done = neverlost("scenarios", "kip320-stale-follower", "--time-limit", "0.01")
    assert done.returncode == 20 and "undecided" in done.stdout


@pytest.mark.parametrize("ending", ["SIGINT", "SIGTERM"])
def test_an_interrupted_run_keeps_what_was_decided(ending: str, tmp_path: Path) -> None:
    result = tmp_path / "found.json"
    asked = ("scenarios", "acks1-planned-move", "--workers", "1", "--out", str(tmp_path / "out"), "--json", str(result))
    done = interrupted(ending, *asked)
    assert (done.returncode, done.stderr) == (20, "")
    found = json.loads(result.read_text())
    first, *others = found["scenarios"][0]["cases"]
    assert first["as_expected"] and found["counts"]["as_expected"] == 1
    assert others and {each["reason"] for each in others} == {"interrupted"}
    assert [each.name for each in (tmp_path / "out").glob("*.itf.json")] == ["acks1-planned-move-move.itf.json"]
