"""Claims: files are read strictly, and a verdict follows from what the cases say, never from the file."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

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
expected = "only-if"
tests = ["acks1-planned-move/acks-all"]
limits = ["acks1-planned-move/move"]
"""


def claim(kind: str, tests: str, limits: str) -> Claim:
    return Claim("a/b", "1", "q", True, "t", kind, HOLDS, tuple(tests.split()), tuple(limits.split()))


@pytest.mark.parametrize(
    ("kind", "tests", "limits", "expected"),
    [
        ("guarantee", "good", "", HOLDS),
        ("guarantee", "good", "good", HOLDS),
        ("guarantee", "good", "good bad", ONLY_IF),
        ("guarantee", "good bad", "", VIOLATED),
        ("guarantee", "bad", "good", VIOLATED),
        ("possibility", "bad", "", HOLDS),
        ("possibility", "bad", "good", ONLY_IF),
        ("possibility", "good", "bad", VIOLATED),
    ],
)
def test_the_verdict_follows_from_the_cases(kind: str, tests: str, limits: str, expected: str) -> None:
    assert claim(kind, tests, limits).verdict({"good": "holds", "bad": "violated"}) == expected


def test_every_claim_expects_what_the_scenarios_expect() -> None:
    found = {f"{each.id}/{case.name}": case.expected for each in scenarios().values() for case in each.cases}
    wrong = {each.id: each.verdict(found) for each in choose_claims([]) if each.verdict(found) != each.expected}
    assert wrong == {}


PROPOSAL = "kip-acks-min-isr"
"""The one source whose sentences are about rules that no version has."""


def test_no_claim_is_decided_by_a_rule_that_no_version_has() -> None:
    """A mechanism that is switched makes a protocol that no version has, a mutant or a remedy."""
    cases = list_cases()
    for claim in choose_claims([]):
        for name in claim.cases:
            keys = cases[name].keys
            switched = [key for key in keys if key.startswith("mechanism.")] + [f"{each}" for each in cases[name].disabled]
            assert switched == [], f"{claim.id} is decided by {name}"
            if not claim.id.startswith(PROPOSAL):
                proposed = keys.get("acks") == "min.insync.replicas" and keys.get("kafka.version") != "0.8"
                assert not proposed and keys.get("election.policy") != "longest-log", f"{claim.id} is decided by {name}"


def test_a_test_that_breaks_a_guarantee_stands_beside_one_that_keeps_it() -> None:
    """What the sentence is right about and what it is wrong about are both shown, wherever the corpus has both."""
    cases = list_cases()
    shown = [
        {cases[name].expected for name in claim.cases}
        for claim in choose_claims([])
        if claim.kind == "guarantee" and claim.expected in (VIOLATED, ONLY_IF)
    ]
    assert sum(len(each) == 2 for each in shown) >= len(shown) - 6


def test_what_is_no_quotation_is_called_a_paraphrase() -> None:
    found = choose_claims([])
    assert sum(each.is_quoted for each in found) == 53 and all(each.says for each in found)


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
        ('expected = "only-if"', 'expected = "outside"', "needs either tests, or the reason"),
        ('tests = ["acks1-planned-move/acks-all"]\n', "", "needs either tests, or the reason"),
        ('quote = "never loses"', f'quote = "{"long " * 40}"', "quote at most 140"),
        ('quote = "never loses"\n', "", "needs either a quote, in its source's words, or a paraphrase"),
        ('quote = "never loses"', 'quote = "never loses"\nparaphrase = "keeps"', "needs either a quote"),
        ("limits", 'kind = "rumour"\nlimits', "unknown kind 'rumour'"),
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
    assert "2 claims: 0 hold, 0 hold only under conditions that they leave out, 1 are violated, 1 are outside" in done.stdout


@pytest.mark.parametrize(
    "name",
    [
        "kip-acks-min-isr/one-need-not-ack",
        "confluent-replication/controller-fails-over",
        "kip-acks-min-isr/idempotence-contract",
    ],
)
def test_a_claim_whose_cases_decide_another_sentence_has_no_verdict(name: str) -> None:
    """acks=all decided with the proposed acks, a fail-over without a failure, idempotence with cases that have the same
    verdict without it: such a claim says that it is being corrected."""
    done = neverlost("claims", name, "--json", "-")
    (one,) = json.loads(done.stdout)["claims"]
    assert done.returncode == 0 and (one["verdict"], one["tests"]) == ("outside", [])
    assert one["outside"].startswith("Under correction: ")


def test_the_page_links_every_claim_to_its_cases(tmp_path: Path) -> None:
    done = neverlost("claims", "kip-acks-min-isr/fastest-follower", "course-lecture/quiz", "--out", str(tmp_path))
    assert done.returncode == 0, done.stderr
    text = (tmp_path / "report.md").read_text()
    rows = [line for line in text.splitlines() if line.startswith(("| fastest-follower", "| quiz"))]
    assert [row.split(" | ")[3] for row in sorted(rows)] == ["**violated**", "outside the models"]
    published = ROOT / "reports" / "published"
    links = re.findall(r"\]\(([^)]+)\)", text)
    assert links and all((published / each).exists() for each in links)


def test_the_command_answers_with_a_document_and_refuses_unknown_names() -> None:
    found = json.loads(neverlost("claims", "course-lecture/strong-acks", "--json", "-").stdout)
    (one,) = found["claims"]
    assert (found["schema"], one["verdict"], one["expected"]) == ("neverlost.claims/1", "only-if", "only-if")
    assert {each["case"]: each["verdict"] for each in one["limits"]} == {
        "minisr1-isr-shrunk/lossy-crash": "violated",
        "unclean-election-loss/acked": "violated",
        "late-record-forgets-request/one-crash": "violated",
    }
    assert neverlost("claims", "course-lectures").returncode == 64
