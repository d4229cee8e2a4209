"""Claims: files are read strictly, and a verdict follows from what the cases say, never from the file."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from neverlost.checker.questions.corpus.decided_cases import judge
from neverlost.specs.cases.case import Case
from neverlost.specs.cases.claim import (
    HOLDS,
    ONLY_IF,
    OUTSIDE,
    VIOLATED,
    Claim,
    choose_claims,
    list_cases,
    read_source,
    sources,
)
from neverlost.specs.cases.scenario import scenarios
from neverlost.specs.errors import InputError
from tests.support.program import ROOT, neverlost

GOOD = """
title = "A book"

[[claim]]
id = "one"
line = "7"
quote = "never loses"
truth = "It does."
kind = "guarantee"
expected = "only-if"
shows = ["acks1-planned-move/acks-all"]
limits = ["acks1-planned-move/move"]
"""


def claim(kind: str, **roles: str) -> Claim:
    return Claim("a/b", "1", "q", True, "t", kind, HOLDS, {role: tuple(names.split()) for role, names in roles.items()})


FOUND = {"good": "holds", "bad": "violated"}


@pytest.mark.parametrize(
    ("kind", "roles", "expected"),
    [
        ("guarantee", {"shows": "good"}, HOLDS),
        ("guarantee", {"shows": "good", "limits": "bad"}, ONLY_IF),
        ("guarantee", {"shows": "good", "breaks": "bad"}, VIOLATED),
        ("guarantee", {"breaks": "bad"}, VIOLATED),
        ("definition", {"shows": "good"}, HOLDS),
        ("definition", {"shows": "good", "breaks": "bad"}, VIOLATED),
        ("possibility", {"shows": "bad"}, HOLDS),
        ("possibility", {"shows": "bad", "limits": "good"}, ONLY_IF),
        ("possibility", {"breaks": "good"}, VIOLATED),
        ("necessity", {"without": "bad", "with": "good"}, HOLDS),
        ("necessity", {"without": "good", "with": "good"}, VIOLATED),
        ("necessity", {"without": "bad", "with": "bad"}, VIOLATED),
        ("comparison", {"without": "bad", "with": "good", "limits": "bad"}, ONLY_IF),
    ],
)
def test_the_verdict_follows_from_the_cases(kind: str, roles: dict[str, str], expected: str) -> None:
    assert claim(kind, **roles).verdict(FOUND) == expected


@pytest.mark.parametrize(
    ("kind", "roles", "misplayed"),
    [
        ("guarantee", {"shows": "good", "limits": "bad"}, []),
        ("guarantee", {"shows": "bad"}, ["bad"]),
        ("guarantee", {"shows": "good", "limits": "good"}, ["good"]),
        ("possibility", {"shows": "good"}, ["good"]),
        ("necessity", {"without": "good", "with": "bad"}, ["good", "bad"]),
    ],
)
def test_a_case_that_does_not_play_its_role_is_named(kind: str, roles: dict[str, str], misplayed: list[str]) -> None:
    assert sorted(set(claim(kind, **roles).misplayed(FOUND))) == sorted(misplayed)


def test_every_claim_expects_what_the_scenarios_expect() -> None:
    found = {f"{each.id}/{case.name}": case.expected for each in scenarios().values() for case in each.cases}
    every = choose_claims([])
    wrong = {each.id: each.verdict(found) for each in every if each.verdict(found) != each.expected}
    assert wrong == {} and {each.id: each.misplayed(found) for each in every if each.misplayed(found)} == {}


PROPOSAL = "kip-acks-min-isr"
"""The one source whose sentences are about rules that no version has."""
PROPOSED = ("longest-log", "fenced-longest-log")


def test_no_claim_is_decided_by_a_rule_that_no_version_has() -> None:
    """A mechanism that is switched makes a protocol that no version has, a mutant or a remedy: only what a part is needed for
    is decided without it."""
    cases = list_cases()
    for claim in choose_claims([]):
        for name in claim.cases:
            keys = cases[name].keys
            switched = [key for key in keys if key.startswith("mechanism.")] + [f"{each}" for each in cases[name].disabled]
            assert switched == [] or claim.role_of(name) == "without", f"{claim.id} is decided by {name}"
            if not claim.id.startswith(PROPOSAL):
                proposed = keys.get("acks") == "min.insync.replicas" and keys.get("kafka.version") != "0.8"
                assert not proposed and keys.get("election.policy") not in PROPOSED, f"{claim.id} is decided by {name}"


def test_what_breaks_a_guarantee_stands_beside_what_shows_it() -> None:
    """What the sentence is right about and what it is wrong about are both shown, wherever the corpus has both."""
    alone = [each.id for each in choose_claims([]) if each.kind == "guarantee" and each.roles and "shows" not in each.roles]
    assert alone == ["effective-kafka/highest-leo", "effective-kafka/acks1-tolerated"]


def test_no_case_contradicts_what_a_sentence_states() -> None:
    """The sentences whose limits did: acks=all for a sentence about acks=1, without ids for one about ids, and their like."""
    stated = {each.id.partition("/")[2]: each for each in choose_claims([])}
    for name in ("acks1-loss", "commit-unprocessed", "crash-before-commit", "at-most-once", "same-as-acks1"):
        assert stated[name].premises and stated[name].expected == HOLDS, name
    for name in ("one-intact", "isr-of-two", "hundred-replicas", "one-need-not-ack", "acks-all-controls", "raises-exception"):
        assert stated[name].roles["breaks"] and stated[name].expected == VIOLATED, name


def test_what_is_no_quotation_is_called_a_paraphrase() -> None:
    found = choose_claims([])
    assert sum(each.is_quoted for each in found) == 46 and all(each.says for each in found)


def test_all_five_documents_are_there() -> None:
    assert set(sources()) == {
        "confluent-replication",
        "course-lecture",
        "definitive-guide",
        "effective-kafka",
        "kip-acks-min-isr",
    }
    found = choose_claims([])
    assert len(found) >= 130 and {each.expected for each in found} == {HOLDS, ONLY_IF, VIOLATED, OUTSIDE}
    assert all(each.outside for each in found if each.expected == OUTSIDE)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('line = "7"\n', "", "line is missing in claim 'one' of claims invented.toml"),
        ("acks1-planned-move/move", "acks1-planned-move/moves", "did you mean 'acks1-planned-move/move'"),
        ('expected = "only-if"', 'expected = "true"', "unknown expected 'true'"),
        ('expected = "only-if"', 'expected = "outside"', "needs either cases, or the reason"),
        ('shows = ["acks1-planned-move/acks-all"]\n', "", "needs either cases, or the reason"),
        ("shows", "with", "a guarantee has shows, breaks, limits"),
        ("limits", 'breaks = ["acks1-planned-move/acks-all"]\nlimits', "has two roles"),
        ("limits", 'premises = { acks = "all" }\nlimits', "acks=1, but the sentence states acks=all"),
        ("limits", "premises = { faults.leader_move = '..1' }\nlimits", "faults.leader_move=2, but the sentence states"),
        (
            'kind = "guarantee"\nexpected = "only-if"\nshows',
            'kind = "necessity"\nexpected = "holds"\nwith',
            "as many cases with as without, and differs",
        ),
        ('quote = "never loses"', f'quote = "{"long " * 40}"', "quote at most 140"),
        ('quote = "never loses"\n', "", "needs either a quote, in its source's words, or a paraphrase"),
        ('quote = "never loses"', 'quote = "never loses"\nparaphrase = "keeps"', "needs either a quote"),
        ('"guarantee"', '"rumour"', "unknown kind 'rumour'"),
        ('kind = "guarantee"\n', "", "kind is missing"),
    ],
)
def test_a_malformed_claim_is_one_clear_line(tmp_path: Path, old: str, new: str, message: str) -> None:
    assert old in GOOD
    path = tmp_path / "invented.toml"
    path.write_text(GOOD.replace(old, new, 1), encoding="utf-8")
    with pytest.raises(InputError) as problem:
        read_source(path)
    assert message in str(problem.value)


def test_the_command_shows_what_decided() -> None:
    done = neverlost("claims", "kip-acks-min-isr/fastest-follower", "course-lecture/quiz")
    assert done.returncode == 0, done.stderr
    assert "wait only for the fastest follower" in done.stdout and "violated in" in done.stdout
    assert "2 claims: 1 hold, 0 hold only under conditions that they leave out, 0 are violated, 1 are outside" in done.stdout


def test_a_pair_differs_in_what_it_compares_only(tmp_path: Path) -> None:
    pair = GOOD.replace("guarantee", "comparison").replace('expected = "only-if"', 'expected = "holds"')
    pair = pair.replace("shows", "with").replace("limits", "without") + 'differs = ["acks"]\n'
    path = tmp_path / "invented.toml"
    path.write_text(pair, encoding="utf-8")
    with pytest.raises(InputError, match="are no pair: take one property, and settings that differ in acks only"):
        read_source(path)


def test_a_case_that_holds_for_want_of_anything_to_break_it_is_named() -> None:
    """Nobody stops, so the partition always has a leader, and an operator has no reason for an unclean election."""
    keys = {"kafka.version": "3.9", "replication.factor": 2, "min.insync.replicas": 2, "bounds.records": 1}
    never = Case("never", {**keys, "faults.unclean_election": 1}, "acked-never-lost", "holds", "here")
    ever = Case("ever", {**keys, "faults.crash": 1}, "acked-never-lost", "holds", "here")
    found = judge({each.name: each for each in (never, ever)})
    assert found["ever"].never_happened == [] and found["ever"].is_expected
    assert found["never"].never_happened == ["no unclean_election"]


def test_the_page_links_every_claim_to_its_cases(tmp_path: Path) -> None:
    done = neverlost("claims", "kip-acks-min-isr/fastest-follower", "course-lecture/quiz", "--out", str(tmp_path))
    assert done.returncode == 0, done.stderr
    text = (tmp_path / "report.md").read_text()
    rows = [line for line in text.splitlines() if line.startswith(("| fastest-follower", "| quiz"))]
    assert [row.split(" | ")[4] for row in sorted(rows)] == ["holds", "outside the models"]
    published = ROOT / "reports" / "published"
    links = re.findall(r"\]\(([^)]+)\)", text)
    assert links and all((published / each).exists() for each in links)


def test_the_command_answers_with_a_document_and_refuses_unknown_names() -> None:
    found = json.loads(neverlost("claims", "course-lecture/strong-acks", "--json", "-").stdout)
    (one,) = found["claims"]
    assert (found["schema"], one["verdict"], one["expected"]) == ("neverlost.claims/1", "only-if", "only-if")
    assert {each["case"]: (each["role"], each["verdict"]) for each in one["tests"]} == {
        "acks1-leader-crash/clean-crash": ("without", "violated"),
        "rf3-minisr2-one-crash/clean": ("with", "holds"),
    }
    assert (one["kind"], one["differs"], one["misplayed"]) == ("comparison", ["acks"], [])
    assert {each["verdict"] for each in one["limits"]} == {"violated"} and len(one["limits"]) == 4
    assert neverlost("claims", "course-lectures").returncode == 64
